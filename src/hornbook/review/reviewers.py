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
from itertools import combinations

from hornbook.review.calibration import Calibration, Threshold, threshold
from hornbook.review.judgement import Review, Ruling, Status, Verdict
from hornbook.review.opinions import REFUTING
from hornbook.review.printed_review import read_review

_PASS = re.compile(r"-\d+$")
_ENDING = re.compile(r"\.(?:json|md|txt|jsonl|log)$")


@dataclass(frozen=True, slots=True)
class Canaries:
    """How many planted violations a reviewer was given, and how many it found."""

    given: int
    found: int


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
    overruled: int
    reverted: int | None
    calibration: tuple[Calibration, ...]
    threshold: Threshold


SHARED = 10
"""How many findings two reviewers must share before anything is estimated."""


@dataclass(frozen=True, slots=True)
class MissedEstimate:
    """How many violations two reviewers of the same changes both missed, as far as can be told.

    `found` are those that one of them or both found, `shared` those that both did.
    """

    missed: float | None
    found: int
    shared: int
    reviewers: tuple[str, ...]
    method: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class ReviewersReport:
    """How each reviewer has done, and what they seem to miss together."""

    reviewers: tuple[ReviewerRecord, ...]
    missed: MissedEstimate


@dataclass(frozen=True, slots=True)
class ReceiptFacts:
    """What a receipt says of its packet: the model, and whether it is one to refute by."""

    model: str | None
    refute: bool = False


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
    overruled: bool = False

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
    def violated(self) -> frozenset[str]:
        """The rules and sections that it says are violated."""
        return frozenset(
            entry.sop_id
            for part in self.parts
            for entry in part.entries
            if entry.status is Status.VIOLATED
        )

    @property
    def confidence(self) -> float | None:
        """How sure it is where it is least so."""
        return min((p.confidence for p in self.parts if p.confidence is not None), default=None)


Record = Mapping[str, object]


def given_reviews(
    records: Iterable[Record],
    receipts: Mapping[str, ReceiptFacts],
    overruled: Collection[str] = (),
) -> Iterator[GivenReview]:
    """The reviews that records hold; `receipts` are known by their ids.

    `overruled` are the ids of records that a person decided against.
    """
    for record in records:
        names = [str(each) for each in _listed(record, "receipts")]
        packets = [receipts[name] for name in names if name in receipts]
        by_reviewer: dict[str, list[Mapping[str, object]]] = defaultdict(list)
        for each in _dicts(record, "reviews"):
            name = reviewer_name(str(each.get("name")), in_run=bool(record.get("run")))
            by_reviewer[name].append(each)
        for reviewer, printed in by_reviewer.items():
            read = (read_review(str(each.get("printed")).encode()).review for each in printed)
            yield GivenReview(
                reviewer,
                model_of(reviewer, packets),
                (str(record.get("base")), str(record.get("head"))),
                str(record.get("outcome")),
                tuple(each for each in read if each is not None),
                _found(record, [str(each.get("name")) for each in printed]),
                overruled=str(record.get("id")) in overruled,
            )


def reviewer_name(name: str, *, in_run: bool) -> str:
    """Who reviewed: in a run the agent, else what the file is called that the review came in."""
    if in_run:
        return _PASS.sub("", name)
    return _ENDING.sub("", name.rpartition("/")[2])


def model_of(reviewer: str, packets: Iterable[ReceiptFacts]) -> str | None:
    """The model that a reviewer's packet was made for, of those of the change."""
    known = [each for each in packets if each.model]
    own = [each for each in known if each.refute == reviewer.endswith(REFUTING)]
    return next((each.model for each in own or known), None)


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
    calibration = tuple(_calibration(own, reverted or ()))
    return ReviewerRecord(
        own[0].reviewer,
        own[0].model,
        len(real),
        Canaries(len(tried), sum(each.found is True for each in tried)),
        _share(sum(each is Status.NOT_APPLICABLE for each in statuses), len(statuses)),
        _share(sum(others), len(others)),
        sum(each.overruled for each in real),
        len(approved.intersection(reverted or ())) if known else None,
        calibration,
        threshold(calibration),
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


def missed_by_all(reviews: Iterable[GivenReview]) -> MissedEstimate:
    """What the two reviewers who share most findings both missed, by Chapman's estimator.

    A finding is a rule, or a section of one, that is violated in a real change. Only changes that
    both reviewed count.
    """
    changes: dict[str, set[tuple[str, str]]] = defaultdict(set)
    findings: dict[str, set[tuple[tuple[str, str], str]]] = defaultdict(set)
    for each in reviews:
        if each.found is None:
            changes[each.reviewer].add(each.change)
            findings[each.reviewer].update((each.change, unit) for unit in each.violated)
    estimates = [
        _chapman((one, two), *(_within(findings[who], changes[one] & changes[two]) for who in pair))
        for pair in combinations(sorted(changes), 2)
        for one, two in [pair]
        if changes[one] & changes[two]
    ]
    nobody = MissedEstimate(
        None, 0, 0, (), CHAPMAN, "no two reviewers have reviewed the same change"
    )
    return max(estimates, key=lambda each: each.shared, default=nobody)


CHAPMAN = "Chapman's estimator for two reviewers"
Findings = set[tuple[tuple[str, str], str]]


def _within(findings: Findings, changes: Collection[tuple[str, str]]) -> Findings:
    return {each for each in findings if each[0] in changes}


def _chapman(pair: tuple[str, str], one: Findings, two: Findings) -> MissedEstimate:
    shared, found = len(one & two), len(one | two)
    if shared < SHARED:
        said = f"they share {shared} findings, and {SHARED} are needed"
        return MissedEstimate(None, found, shared, pair, CHAPMAN, said)
    everything = (len(one) + 1) * (len(two) + 1) / (shared + 1) - 1
    return MissedEstimate(round(everything - found, 1), found, shared, pair, CHAPMAN, None)
