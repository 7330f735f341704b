"""Assembling a review against the reads and the one count that no assembly can do without."""

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hornbook import Workspace
from hornbook.graph.statements import iri
from hornbook.text.tokens import counter
from tests.benchmarks.documents import ENDINGS, WORDS

FILES = 20


def _rule(number: int) -> str:
    ending = ENDINGS[number % len(ENDINGS)]
    text = " ".join(WORDS[:20])
    return (
        f'---\ncategory: sop\napplies_to: "area{number % 997}/part{number // 997}/**/*.{ending}"\n'
        f"severity: error\n---\n# Rule {number}\n\n{text}\n\n## Requirements\n1. {text}\n"
    )


def _best(work: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _times(count: int) -> tuple[float, float]:
    root = Path(tempfile.mkdtemp(prefix="hornbook-bench-"))
    try:
        for number in range(count):
            path = root / f"docs/sops/team{number // 100}/rule-{number:06}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_rule(number), encoding="utf-8")
        files = [f"area{n}/part0/a.{ENDINGS[n % len(ENDINGS)]}" for n in range(FILES)]
        count_tokens = counter("cl100k")
        with Workspace.open(root) as work:
            work.ingest([root / "docs"])
            context = work.review_context(files)
            assert context.text is not None, context.reasons
            text, store = context.text, work.snapshot().store
            graphs = [iri(store.names.graph(each)) for each in context.sop_ids]

            def floor() -> None:
                for graph in graphs:
                    store.rows("document", graph=graph)
                count_tokens(text)

            return _best(lambda: work.review_context(files)), _best(floor)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def measure(sizes: Sequence[int] = (1_000, 10_000)) -> dict[str, float]:
    """The ratios for twenty files at each number of rules, and from each to the next."""
    found: dict[str, float] = {}
    before: tuple[int, float] | None = None
    for rules in sizes:
        review, floor = _times(rules)
        found[f"review of 20 files at {rules} rules, ms"] = review * 1000
        found[f"review / reads and one count, {rules} rules"] = review / floor
        if before is not None:
            found[f"review at {rules} rules / at {before[0]}"] = review / before[1]
        before = (rules, review)
    return found
