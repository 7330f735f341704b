"""The status page: what is ingested, its problems, and a place to ask."""

from html import escape

from hornbook.workspace.snapshot import Snapshot

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin-bottom: 0; } h2 { font-size: 1.05rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; vertical-align: top; }
th, td { border-bottom: 1px solid #8884; }
code, textarea, pre { font: 13px/1.45 ui-monospace, monospace; }
textarea { width: 100%; height: 7rem; box-sizing: border-box; padding: .6rem; }
pre { background: #8881; padding: .8rem; overflow: auto; max-height: 28rem; }
.error { color: #c22; } .warning { color: #b70; } .muted { opacity: .65; }
"""

_QUERY = """{ entities(filter: { predicatePrefix: "source.doc.sops" }) {
    id triples { predicate object } } }"""

_SCRIPT = """
const ask = async () => {
  const answer = await fetch('/graphql', { method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: document.getElementById('query').value }) });
  document.getElementById('answer').textContent = JSON.stringify(await answer.json(), null, 2);
};
document.getElementById('ask').addEventListener('click', ask);
"""


def status_page(snapshot: Snapshot) -> str:
    """The page as HTML."""
    entries = snapshot.catalog.entries
    problems = [problem for entry in entries for problem in entry.problems]
    kinds: dict[tuple[str, str], int] = {}
    for entry in entries:
        key = (entry.category, entry.activation)
        kinds[key] = kinds.get(key, 0) + 1
    counts = "".join(
        f"<tr><td>{escape(category)}</td><td>{escape(activation)}</td><td>{count}</td></tr>"
        for (category, activation), count in sorted(kinds.items())
    )
    told = "".join(
        f"<tr><td class={escape(each.level)}>{escape(each.level)}</td>"
        f"<td><code>{escape(each.path)}{f':{each.line}' if each.line else ''}</code></td>"
        f"<td>{escape(each.message)}</td></tr>"
        for each in problems[:50]
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Hornbook</title>
<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>
<h1>Hornbook</h1>
<p class="muted">{len(entries)} documents,
 graph <code>{escape(snapshot.version[:12] or "empty")}</code>
 · GraphQL at <code>/graphql</code></p>
<h2>What is ingested</h2>
<table><tr><th>category</th><th>activation</th><th>documents</th></tr>{counts}</table>
<h2>Problems ({len(problems)})</h2>
<table>{told or "<tr><td>none</td></tr>"}</table>
<h2>Ask</h2>
<textarea id="query" aria-label="GraphQL query">{escape(_QUERY)}</textarea>
<p><button id="ask">Run</button></p>
<pre id="answer" aria-live="polite"></pre>
<script>{_SCRIPT}</script>
</body></html>
"""
