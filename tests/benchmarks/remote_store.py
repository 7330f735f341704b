"""A store that somebody else runs against the embedded one: ingest, an edit, a page, in one run.

`python -m tests.benchmarks.remote_store 100000` is the part of `make soak` that is about size.
"""

import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hornbook import Workspace
from hornbook.graph.remote.endpoint import Endpoint
from tests.kit.graph_stores import oxigraph_server, remote_config
from tests.kit.servers import client

FOLDER = ".hornbook/sources/docs/sops"
PAGE = (
    "query($after: String) { entities("
    'filter: { predicatePrefix: "source.doc.sops" }, first: 100, after: $after'
    ") { id triples { predicate object } } }"
)
ROUNDS = 15
MOST = 5
"""An edit may send so many times its document's statements, the manifest's difference aside."""


def rule(number: int, more: str = "") -> str:
    """A small SOP of one chunk."""
    return (
        f'---\napplies_to: "src/part{number % 997}/**/*.go"\nseverity: warning\n'
        f"keywords: [part{number % 97}, errors]\n---\n\n# Rule {number}\n\n"
        f"What part {number} returns says which operation failed.\n\n"
        f"## Requirements\n1. Wrap error {number}\n2. Name the operation\n{more}"
    )


def seconds(work: Callable[[], object]) -> float:
    """How long something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ingest(root: Path) -> int:
    """Ingest, and how many documents there are."""
    with Workspace.open(root) as work:
        return work.ingest().documents


def statements_in(texts: list[str]) -> tuple[int, int]:
    """How many statements updates have, those of documents and those of the manifest."""
    documents = manifest = 0
    for text in texts:
        for graph, data in re.findall(r"INSERT DATA \{ GRAPH <([^>]+)> \{ (.*) \} \}", text):
            count = data.count(" . ") + 1
            if "/_page/" in graph or "/_generation@" in graph:
                manifest += count
            else:
                documents += count
    return documents, manifest


def edit(root: Path, word: str) -> float:
    """How long the ingest of one edited document takes."""
    (root / FOLDER / "rule-7.md").write_text(rule(7, f"\n{word}\n"))
    return seconds(lambda: ingest(root))


def page(root: Path) -> tuple[float, list[object]]:
    """How long a page of 100 rules over GraphQL takes, by the median, and the pages.

    Each page is another one, so that none was answered before.
    """
    times, pages = [], list[object]()
    with client(root) as asked:
        asked.post("/graphql", json={"query": "{ __typename }"})
        for number in range(ROUNDS):
            body = {"query": PAGE, "variables": {"after": f"source.doc.sops.rule-{10 + number}"}}
            start = time.perf_counter()
            answer = asked.post("/graphql", json=body)
            times.append(time.perf_counter() - start)
            assert answer.status_code == 200, answer.text
            pages.append(answer.json()["data"]["entities"])
    return statistics.median(times), pages


def measure(count: int) -> dict[str, float]:
    """Ratios of the remote store to the embedded one, and what an edit sends."""
    with tempfile.TemporaryDirectory(prefix="hornbook-remote-") as name:
        place = Path(name)
        embedded, remote = place / "embedded", place / "remote"
        (embedded / FOLDER).mkdir(parents=True)
        for number in range(count):
            (embedded / FOLDER / f"rule-{number}.md").write_text(rule(number))
        shutil.copytree(embedded, remote)
        with oxigraph_server(place / "oxigraph") as server:
            (embedded / ".hornbook/config.yaml").write_text("repository: bench-1a2b3c\n")
            config = remote_config(server.url, "bench-1a2b3c")
            (remote / ".hornbook/config.yaml").write_text(config)
            return _measured(embedded, remote, count)


def _measured(embedded: Path, remote: Path, count: int) -> dict[str, float]:
    here = seconds(lambda: ingest(embedded))
    print(f"embedded: {here:.1f} s", file=sys.stderr, flush=True)
    there = seconds(lambda: ingest(remote))
    print(f"remote: {there:.1f} s", file=sys.stderr, flush=True)
    texts: list[str] = []
    plain = Endpoint.update

    def noted(self: Endpoint, text: str) -> None:
        texts.append(text)
        plain(self, text)

    Endpoint.update = noted  # type: ignore[method-assign]  # to see what is sent
    try:
        edited_there = edit(remote, "Edited.")
    finally:
        Endpoint.update = plain  # type: ignore[method-assign]  # as it was
    edited_here = edit(embedded, "Edited.")
    documents, manifest = statements_in(texts)
    with Workspace.open(remote) as work:
        entries = work.snapshot().catalog.entries
        own = next(each.triples for each in entries if each.path.endswith("/rule-7.md"))
        ids = [each.id for each in entries][:: max(1, count // 100)]
        sample = [work.snapshot().document(each) for each in ids]
    with Workspace.open(embedded) as work:
        assert sample == [work.snapshot().document(each) for each in ids]
    assert len(entries) == count
    assert documents <= MOST * own, f"an edit sent {documents} statements, of {own}"
    page_there, answer = page(remote)
    page_here, expected = page(embedded)
    assert answer == expected
    return {
        "documents": count,
        "ingest, remote / embedded": there / here,
        "ingest of one edit, remote / embedded": edited_there / edited_here,
        "seconds of that edit, remote": edited_there,
        "statements sent for one edit / its own": documents / own,
        "statements of the manifest sent for it": manifest,
        "kilobytes of updates sent for it": sum(map(len, texts)) / 1000,
        "GraphQL page of 100, remote / embedded": page_there / page_here,
        "milliseconds of that page, remote": page_there * 1000,
    }


def main() -> None:
    """Print the figures for so many documents."""
    for name, value in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000).items():
        print(f"| {name} | {value:.3g} |", flush=True)


if __name__ == "__main__":
    main()
