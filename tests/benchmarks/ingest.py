"""Ingest against its floor, again without changes, and after an edit of one chunk."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyoxigraph as ox
from markdown_it import MarkdownIt

from hornbook import Workspace
from hornbook.graph.oxigraph import OxigraphStore, copy_closed
from hornbook.graph.store import NamedGraph
from hornbook.text.tokens import counter
from tests.benchmarks.documents import repository


def seconds(work: Callable[[], object]) -> float:
    """How long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def floor(paths: list[Path], nquads: bytes, store: Path) -> float:
    """Parse, tokenise and bulk-load the same bytes: what no ingest can do without."""
    parser = MarkdownIt("commonmark").enable("table")
    count = counter("cl100k")
    count("warm")

    def work() -> None:
        for path in paths:
            text = path.read_text(encoding="utf-8")
            parser.parse(text)
            count(text)
        loaded = ox.Store(str(store))
        loaded.bulk_load(nquads, format=ox.RdfFormat.N_QUADS)
        loaded.flush()

    return seconds(work)


def walk(root: Path) -> float:
    """Walk a folder and stat every file: the floor of looking for changes."""

    def work() -> None:
        for folder, _, names in os.walk(root):
            for name in names:
                (Path(folder) / name).stat()

    return min(seconds(work) for _ in range(3))


def edit(root: Path, path: Path, word: str) -> float:
    """Change one word in one chunk and ingest."""
    path.write_text(path.read_text(encoding="utf-8").replace("Rule ", f"{word} ", 1))
    with Workspace.open(root) as work:
        return seconds(work.ingest)


def commit_of_an_edit(root: Path, document_id: str, scratch: Path) -> tuple[float, float]:
    """Writing an edit of one chunk by difference, and inserting the whole document anew."""
    with Workspace.open(root) as work:
        published = (work.places.store / "CURRENT").read_text()
        copy_closed(work.places.store / "generations" / published / "graph", scratch / "edited")
        names = work.snapshot().store.names
        lines = work.snapshot().store.statements(names.graph(document_id))
    place = next(number for number, line in enumerate(lines) if "/content>" in line)
    edits = [
        [*lines[:place], lines[place].replace("Part", f"Part{turn}"), *lines[place + 1 :]]
        for turn in range(20)
    ]
    store = OxigraphStore.writable(scratch / "edited", names)
    graphs = [NamedGraph(names.graph(document_id), tuple(each)) for each in edits]
    changed = min(seconds(partial(store.replace, [graph])) for graph in graphs)
    store.close()
    raw = ox.Store(str(scratch / "edited"))
    inserts = []
    for turn in range(20):
        body = " . ".join(line.replace("/id/source/", f"/id/x{turn}/") for line in lines)
        update = f"INSERT DATA {{ GRAPH <urn:x> {{ {body} }} }}"
        inserts.append(seconds(partial(raw.update, update)))
    return changed, min(inserts)


def measure(count: int) -> dict[str, float]:
    """The ratios at one number of documents."""
    root = Path(tempfile.mkdtemp(prefix="hornbook-bench-"))
    try:
        paths = repository(root, count)
        with Workspace.open(root) as work:
            full = seconds(lambda: work.ingest([root / "docs"]))
            nquads = work.export()
        bottom = floor(paths, nquads, root / "floor")
        with Workspace.open(root) as work:
            work.ingest()
            again = min(seconds(work.ingest) for _ in range(3))
        looking = walk(root / "docs")
        edits = [edit(root, paths[n], f"Rule{n}") for n in range(5)]
        changed, inserted = commit_of_an_edit(root, "source.doc.sops.team0000-rule-000007", root)
        return {
            "full ingest, s": full,
            "documents a second": count / full,
            "ingest / floor": full / bottom,
            "again / full": again / full,
            "edit of one chunk / insert of the document": changed / inserted,
            "ingest after an edit / walk and stat": min(edits) / looking,
        }
    finally:
        shutil.rmtree(root, ignore_errors=True)
