"""How reviewers have done, as recorded reviews and git tell it.

A reviewer goes by the name that its reviews were recorded with, and by the model that the packet
was made for. What the records do not tell is None, never zero: nobody can have been wrong in
changes of which nothing is known. Whether a review was right is known of canaries, and of approved
changes that were reverted later.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from hornbook.review.judgement import Review, Ruling, Status, Verdict
from hornbook.review.printed_review import read_review

_PASS = re.compile(r"-\d+$")
_ENDING = re.compile(r"\.(?:json|md|txt|jsonl|log)$")


@dataclass(frozen=True, slots=True)
class Canaries:
    """How many planted violations a reviewer was given, and how many it found."""

    given: int
    found: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of the reviews that were so confident and whose truth is known, how many were right."""

    confidence: float
    right: int
    of: int


@dataclass(frozen=True, slots=True)
class ReviewerRecord:
    """How one reviewer has done with one model; `reviews` are those of real changes.

    `agreement` is the share of other reviewers' verdicts on the same change that were the same.
    """

    reviewer: str
    model: str | None
    reviews: int
    canaries: Canaries
    not_applicable_rate: float | None
    agreement: float | None
    overruled: int | None
    reverted: int | None
    calibration: tuple[Calibration, ...]


@dataclass(frozen=True, slots=True)
class GivenReview:
    """What a reviewer said of one change, in one packet or over its passes.

    `found` is whether it found what was planted; None for a change into which nothing was.
    """

    reviewer: str
    model: str | None
    change: tuple[str, str]
    outcome: str
    parts: tuple[Review, ...]
    found: bool | None = None

    @property
    def head(self) -> str:
        """The commit that was reviewed."""
        return self.change[1]

    @property
    def verdict(self) -> Verdict | None:
        """What it comes to; None if nothing could be read."""
        said = {part.verdict for part in self.parts}
        return Verdict.REJECTED if Verdict.REJECTED in said else next(iter(said), None)

    @property
    def is_approval(self) -> bool:
        """Whether it helped a real change through."""
        approves = self.verdict is Verdict.APPROVED and self.outcome == Ruling.APPROVED
        return approves and self.found is None

    @property
    def confidence(self) -> float | None:
        """How sure it is where it is least so."""
        return min((p.confidence for p in self.parts if p.confidence is not None), default=None)


Record = Mapping[str, object]


def given_reviews(
    records: Iterable[Record], models: Mapping[str, str | None]
) -> Iterator[GivenReview]:
    """The reviews that records hold; `models` has those of receipts, by the ids of these."""
    for record in records:
        names = [str(each) for each in _listed(record, "receipts")]
        model = next(filter(None, map(models.get, names)), None)
        by_reviewer: dict[str, list[Mapping[str, object]]] = defaultdict(list)
        for each in _dicts(record, "reviews"):
            by_reviewer[_reviewer(str(each.get("name")), record)].append(each)
        for reviewer, printed in by_reviewer.items():
            read = (read_review(str(each.get("printed")).encode()).review for each in printed)
            yield GivenReview(
                reviewer,
                model,
                (str(record.get("base")), str(record.get("head"))),
                str(record.get("outcome")),
                tuple(each for each in read if each is not None),
                _found(record, [str(each.get("name")) for each in printed]),
            )


def _reviewer(name: str, record: Record) -> str:
    """Who reviewed: in a run the agent, else what the file is called that the review came in."""
    if record.get("run"):
        return _PASS.sub("", name)
    return _ENDING.sub("", name.rpartition("/")[2])


def _found(record: Record, names: Collection[str]) -> bool | None:
    """Whether these reviews found what was planted; where there are several, misses are named."""
    canary = record.get("canary")
    if not isinstance(canary, Mapping):
        return None
    if canary.get("found") or len(_listed(record, "reviews")) == 1:
        return bool(canary.get("found"))
    missed = [
        str(each.get("message"))
        for each in _dicts(record, "problems")
        if each.get("code") == "missed_canary"
    ]
    return not any(said.startswith(f"{name}: ") for said in missed for name in names)


def _listed(record: Record, key: str) -> list[object]:
    found = record.get(key)
    return found if isinstance(found, list) else []


def _dicts(record: Record, key: str) -> Iterator[Mapping[str, object]]:
    yield from (each for each in _listed(record, key) if isinstance(each, dict))


def reviewer_records(
    reviews: Collection[GivenReview], reverted: Collection[str] | None
) -> list[ReviewerRecord]:
    """How each reviewer has done with each model; `reverted` are heads that were taken back.

    They are None where git cannot tell.
    """
    by_who: dict[tuple[str, str | None], list[GivenReview]] = defaultdict(list)
    by_change: dict[tuple[str, str], list[GivenReview]] = defaultdict(list)
    for each in reviews:
        by_who[each.reviewer, each.model].append(each)
        by_change[each.change].append(each)
    ordered = sorted(by_who, key=lambda who: (who[0], who[1] or ""))
    return [_record(by_who[who], by_change, reverted) for who in ordered]


def _record(
    own: list[GivenReview],
    by_change: Mapping[tuple[str, str], list[GivenReview]],
    reverted: Collection[str] | None,
) -> ReviewerRecord:
    real = [each for each in own if each.found is None]
    tried = [each for each in own if each.found is not None]
    approved = {each.head for each in real if each.is_approval}
    known = reverted is not None and bool(approved)
    statuses = [entry.status for each in real for part in each.parts for entry in part.entries]
    others = [
        each.verdict is other.verdict
        for each in own
        for other in by_change[each.change]
        if other.reviewer != each.reviewer and each.verdict and other.verdict
    ]
    return ReviewerRecord(
        own[0].reviewer,
        own[0].model,
        len(real),
        Canaries(len(tried), sum(each.found is True for each in tried)),
        _share(sum(each is Status.NOT_APPLICABLE for each in statuses), len(statuses)),
        _share(sum(others), len(others)),
        None,  # no record says yet what a person decided against a review
        len(approved.intersection(reverted or ())) if known else None,
        tuple(_calibration(own, reverted or ())),
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _calibration(own: Iterable[GivenReview], reverted: Collection[str]) -> Iterator[Calibration]:
    """By confidence, rounded to a tenth: the reviews of which the truth is known."""
    truths: dict[float, list[bool]] = defaultdict(list)
    for each in own:
        if each.confidence is None:
            continue
        if each.found is not None:
            truths[round(each.confidence, 1)].append(each.found)
        elif each.is_approval and each.head in reverted:
            truths[round(each.confidence, 1)].append(False)
    for confidence in sorted(truths):
        yield Calibration(confidence, sum(truths[confidence]), len(truths[confidence]))


def approved_heads(reviews: Iterable[GivenReview]) -> frozenset[str]:
    """The commits that reviews helped through."""
    return frozenset(each.head for each in reviews if each.is_approval)
