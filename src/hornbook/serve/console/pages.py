"""The pages behind `/graphql` and `/docs`: each one file that loads nothing from elsewhere.

A page is its HTML with the style sheet and its script put where a comment names them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path

from hornbook.graph.snapshot import Snapshot
from hornbook.rules.document import Problem

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
PAGE_HEADERS = {"content-security-policy": _POLICY, "cache-control": "no-cache"}
_FOLDER = Path(__file__).parent
_INLINED = re.compile(r"/\* ([a-z]+\.(?:css|js)) \*/")


@cache
def text_of(name: str) -> str:
    """A file of this folder, with the files that it names put into it."""
    text = (_FOLDER / name).read_text(encoding="utf-8")
    return _INLINED.sub(lambda found: f"\n{text_of(found[1])}", text)


def query_page() -> bytes:
    """The editor for GraphQL: a query, its answer, and the schema's own words."""
    return text_of("graphql.html").encode()


def docs_page() -> str:
    """The REST interface as `/openapi.json` describes it."""
    return text_of("rest.html")


SHOWN = 50
_LINKS = '<a href="/graphql">GraphQL</a><a href="/docs">REST</a>'
_RANK = {"error": 0, "warning": 1, "info": 2}


def status_page(root: Path, snapshot: Snapshot, *, pages: bool) -> str:
    """The page as HTML; `pages` says whether there are others, as for those at this machine."""
    entries = snapshot.catalog.entries
    problems = _worst_first(problem for entry in entries for problem in entry.problems)
    figures = (
        ("documents", len(entries)),
        ("rules", len(snapshot.rules.enforced)),
        ("triples", sum(entry.triples for entry in entries)),
        ("problems", len(problems)),
    )
    shown = "".join(f"<div><strong>{count}</strong>{name}</div>" for name, count in figures)
    folder = str(root) if pages else root.name
    links = _LINKS if pages else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Hornbook – {escape(root.name)}</title>
<meta name="viewport" content="width=device-width"><style>
{text_of("page.css")}</style></head><body>
<header><h1>Hornbook</h1><code>{escape(folder)}</code><nav>{links}</nav></header>
<div class="figures">{shown}</div>
<p class="muted">graph <code>{escape(snapshot.version[:12]) or "nothing is ingested yet"}</code></p>
<h2>What is ingested</h2>{_kinds(snapshot)}
<h2>Problems</h2>{_problems(problems)}
<h2>Where to ask</h2>{_places()}
</body></html>
"""


def _worst_first(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda each: (_RANK.get(each.level, 3), each.path, each.line or 0))


def _kinds(snapshot: Snapshot) -> str:
    counts = Counter(
        (str(entry.category), str(entry.activation)) for entry in snapshot.catalog.entries
    )
    if not counts:
        return "<p>Nothing yet: run <code>hornbook ingest</code>.</p>"
    rows = "".join(
        f"<tr><td>{escape(category)}</td><td>{escape(activation)}</td><td>{count}</td></tr>"
        for (category, activation), count in sorted(counts.items())
    )
    return f"<table><tr><th>category</th><th>activation</th><th>documents</th></tr>{rows}</table>"


def _problems(problems: Sequence[Problem]) -> str:
    if not problems:
        return "<p>None.</p>"
    rows = "".join(
        f'<tr><td class="{escape(each.level)}">{escape(each.level)}</td>'
        f"<td><code>{escape(each.path)}{f':{each.line}' if each.line else ''}</code></td>"
        f"<td>{escape(each.message)}</td></tr>"
        for each in problems[:SHOWN]
    )
    more = len(problems) - SHOWN
    rest = f"<p>and {more} more: <code>hornbook ingest --json</code></p>" if more > 0 else ""
    return f"<table>{rows}</table>{rest}"


def _places() -> str:
    places = (
        ("POST /graphql", "GraphQL, also as a stream of events or over a WebSocket"),
        ("GET|POST /sparql", "SPARQL 1.1, read-only"),
        ("/api/v1", "REST"),
        ("POST /mcp", "the Model Context Protocol, for agents"),
        ("/healthz, /readyz, /metrics", "for those who run it"),
    )
    rows = "".join(
        f"<tr><td><code>{place}</code></td><td>{what}</td></tr>" for place, what in places
    )
    return f"<table>{rows}</table>"
