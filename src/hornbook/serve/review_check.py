"""Reads a review, its receipt and its gates from JSON, and has them judged."""

from collections.abc import Sequence

import msgspec

from hornbook.errors import UsageError
from hornbook.review.judgement import Judgement
from hornbook.workspace import Workspace

MOST = 20


def check_review(work: Workspace, review: object, receipt: object, gates: object) -> Judgement:
    """What follows from a review, or from several in a list; the same for receipts.

    Nothing is recorded.

    Raises:
        UsageError: One of them is not what it should be, or git does not have the commits.
    """
    from hornbook.review.check import read_gates  # noqa: PLC0415  # loads the readers, which other queries do without
    from hornbook.review.printed_review import PrintedReview  # noqa: PLC0415  # the same

    reviews = [
        PrintedReview(f"review {number}", _printed(each))
        for number, each in enumerate(_several(review, "review"), 1)
    ]
    receipts = []
    for each in _several(receipt, "receipt"):
        if not isinstance(each, dict):
            raise UsageError("the receipt is no object: give the receipt.json of the packet.")
        receipts.append(each)
    report = read_gates(msgspec.json.encode(gates)) if gates is not None else None
    return work.check_review(reviews, receipts, gates=report)


def _several(value: object, name: str) -> Sequence[object]:
    found = value if isinstance(value, list) else [value]
    if not 1 <= len(found) <= MOST:
        raise UsageError(f"there are {len(found)} of {name}: give 1 to {MOST}.")
    return found


def _printed(review: object) -> bytes:
    if isinstance(review, str):
        return review.encode("utf-8", "replace")
    return msgspec.json.encode(review)
