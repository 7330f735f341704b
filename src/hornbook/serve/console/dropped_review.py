"""A review that somebody drops onto the page of a change, told apart from what lies beside it."""

import json
from collections.abc import Sequence

from hornbook.context.receipt import SCHEMA
from hornbook.errors import UsageError
from hornbook.gates.gate import GateReport
from hornbook.review.check import read_gates
from hornbook.review.printed_review import PrintedReview
from hornbook.review.review_record import JudgedReview
from hornbook.serve.answers import MOST_REVIEWS
from hornbook.serve.console.packet_files import PacketFiles
from hornbook.serve.http.forms import FormFile, SentForm
from hornbook.settings.places import Places
from hornbook.workspace import Workspace


def judge_dropped(work: Workspace, span: str, sent: SentForm, packet: PacketFiles) -> JudgedReview:
    """What follows from a review that was dropped or pasted, as `hornbook review check` says it.

    Files are known by what they hold: a receipt by its schema, gate results by their gates, and
    everything else is a review. Without a receipt those count that were kept for just this packet.

    Raises:
        UsageError: There is no review, or no receipt that says what its reviewer was given.
    """
    receipts, gates, reviews = _told_apart(sent.files)
    pasted = sent.fields.get("review", "").strip()
    if pasted:
        reviews.append(PrintedReview("pasted", pasted.encode()))
    if not 1 <= len(reviews) <= MOST_REVIEWS:
        raise UsageError(
            f"there are {len(reviews)} reviews: drop 1 to {MOST_REVIEWS}, or paste one."
        )
    found = receipts or _kept(work.places, packet)
    judgement = work.check_review(reviews, found, gates=gates, diff=span)
    return JudgedReview(judgement, reviews, found, gates)


def _kept(places: Places, packet: PacketFiles) -> Sequence[dict[str, object]]:
    if not packet.kept(places):
        raise UsageError(
            "no receipt says what the reviewer was given: drop the packet's receipt.json beside "
            "the review, or keep the packet's receipt here before."
        )
    return packet.receipts


def _told_apart(
    files: Sequence[FormFile],
) -> tuple[list[dict[str, object]], GateReport | None, list[PrintedReview]]:
    receipts: list[dict[str, object]] = []
    results: list[FormFile] = []
    reviews: list[PrintedReview] = []
    for file in files:
        facts = _object(file.data)
        if facts.get("schema") == SCHEMA:
            receipts.append(facts)
        elif isinstance(facts.get("gates"), list) and "passed" in facts:
            results.append(file)
        else:
            reviews.append(PrintedReview(file.name or "review", file.data))
    if len(results) > 1:
        raise UsageError(f"there are {len(results)} gate results: drop one of them.")
    return receipts, read_gates(results[0].data) if results else None, reviews


def _object(data: bytes) -> dict[str, object]:
    """The JSON object that a file is; what is none is a text."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
