"""Whether the cost of bounded questions grows with the number of documents."""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hornbook import Workspace
from hornbook.graph.selection import Filter
from hornbook.graph.snapshot import Snapshot
from hornbook.graph.statements import iri


def _small(number: int) -> str:
    return f"---\napplies_to: 'area{number}/**'\n---\n# Rule {number}\n\nText {number}.\n"


def _repository(count: int) -> Path:
    root = Path(tempfile.mkdtemp(prefix="hornbook-bench-"))
    for number in range(count):
        path = root / f"docs/sops/team{number // 100}/rule-{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_small(number), encoding="utf-8")
    return root


def _questions(snapshot: Snapshot) -> dict[str, Callable[[], object]]:
    some = snapshot.ids[40:140]
    one = snapshot.ids[77]
    store = snapshot.store
    return {
        "entity": lambda: store.rows("entity", subject=store.names.term(one)),
        "describe (100 ids)": lambda: snapshot.describe(some),
        "document": lambda: store.rows("document", graph=iri(store.names.graph(one))),
        "inbound": lambda: store.rows("inbound", objects=store.names.term(one)),
        "outbound": lambda: store.rows("outbound", subjects=store.names.term(one)),
        "revisions": lambda: store.rows("revisions", document=store.names.term(one)),
        "meta": lambda: store.rows("meta", graph=iri(store.names.meta_graph)),
        "why of one file": lambda: snapshot.why(["area77/a.py"]),
        "page of 100 by predicate prefix": lambda: snapshot.select(
            Filter(predicate_prefix="source.doc.sops"), 100, some[0]
        ),
    }


def _times(count: int) -> dict[str, float]:
    root = _repository(count)
    try:
        with Workspace.open(root) as work:
            work.ingest([root / "docs"])
            found = {}
            for name, ask in _questions(work.snapshot()).items():
                ask()
                times = []
                for _ in range(15):
                    start = time.perf_counter()
                    ask()
                    times.append(time.perf_counter() - start)
                found[name] = min(times)
            return found
    finally:
        shutil.rmtree(root, ignore_errors=True)


def measure() -> dict[str, float]:
    """The cost at 10k documents against the cost at 1k."""
    small, large = _times(1_000), _times(10_000)
    return {f"{name}: 10k / 1k": large[name] / small[name] for name in small}
