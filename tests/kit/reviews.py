"""Reviews of the change in `review_cases`: their receipts, their judgement, their records."""

import json
from datetime import UTC, datetime
from pathlib import Path

from hornbook import Workspace
from hornbook.context.receipt import own_hash, receipt
from hornbook.gates.gate import GateReport
from hornbook.review.judgement import Judgement
from hornbook.review.printed_review import PrintedReview
from hornbook.review.review_record import JudgedReview
from tests.kit import review_cases as cases

GOOD = json.dumps(cases.GOOD).encode()
Receipt = dict[str, object]


def prepared(root: Path, span: str = "main..work") -> list[Receipt]:
    with Workspace.open(root) as work:
        packet = work.review_packet(diff=span)
        packets = packet.passes() if packet.context.passes else [packet]
        return [receipt(each.context, each.made_for) for each in packets]


def check(
    root: Path, receipts: list[Receipt], *printed: bytes, gates: GateReport | None = None
) -> Judgement:
    reviews = [PrintedReview(f"review {n}", data) for n, data in enumerate(printed, 1)]
    with Workspace.open(root) as work:
        return work.check_review(reviews, receipts, gates=gates)


def codes(judgement: Judgement) -> set[str]:
    return {problem.code for problem in judgement.problems}


def resigned(facts: Receipt, **changes: object) -> Receipt:
    forged = {**facts, **changes}
    return {**forged, "receipt_sha256": own_hash(forged)}


AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 6, 1, tzinfo=UTC)
PATTERN = {
    "name": "Wrap errors",
    "pattern": "Every error is wrapped.",
    "applies_to": "handlers/*.go",
}
WITH_PATTERN = json.dumps({**cases.GOOD, "patterns": [PATTERN]}).encode()
REJECTION = cases.REJECTED[0].printed


def recorded(root: Path, printed: bytes, at: datetime = AT) -> Path:
    receipts = prepared(root)
    with Workspace.open(root) as work:
        reviews = [PrintedReview("review", printed)]
        judgement = work.check_review(reviews, receipts)
        work.record_receipt(receipts[0])
        return work.record_review(JudgedReview(judgement, reviews, receipts), at=at)
