"""What recorded reviews say over time: which rules are violated, and which nobody cites."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hornbook.commits.git import blobs, files_at, inside_repository
from hornbook.graph.snapshot import Snapshot
from hornbook.graph.store import GraphStore
from hornbook.plans.events import Event
from hornbook.plans.run_kinds import CANARY, CHECKED
from hornbook.review.judgement import Finding, ReviewProblem
from hornbook.settings.places import Places
from hornbook.vocabulary import predicates as p

if TYPE_CHECKING:
    from hornbook.review.reviewers import ReceiptFacts, ReviewersReport


@dataclass(frozen=True, slots=True)
class PastReview:
    """A recorded review: its outcome and when it was given."""

    id: str
    outcome: str
    at: str
    receipts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """How often a rule was kept, violated or waved away, and when it was last looked at."""

    id: str
    violated: int
    passed: int
    not_applicable: int
    last: str | None
    doubted: int = 0
    """How many of these answers carry a warning, such as evidence outside the change."""


def past_reviews(
    store: GraphStore, revision: str | None = None, *, without: Collection[str] = ()
) -> list[PastReview]:
    """The recorded reviews, newest first; with a revision, those that it judged.

    Those `without` are left out: their records cannot be believed.
    """
    if revision is not None:
        rows = store.rows("reviews_under", revision=store.names.term(revision))
        found = {review: PastReview(review, outcome, at) for review, outcome, at in rows}
    else:
        found = {}
        for review, outcome, at, receipt in store.rows("reviews"):
            known = found.get(review, PastReview(review, outcome, at))
            receipts = tuple(sorted({*known.receipts, *filter(None, (receipt,))}))
            found[review] = PastReview(review, outcome, at, receipts)
    for review in without:
        found.pop(review, None)
    return sorted(found.values(), key=lambda each: (each.at, each.id), reverse=True)


def rule_records(
    snapshot: Snapshot, since: str, *, without: Collection[str] = ()
) -> list[RuleRecord]:
    """Every rule in force with its answers since a time, the most violated first.

    A rule with no `last` was not cited since then; one that reviews get as another, since the text
    is the same, is left out. Reviews `without` do not count.
    """
    counts: dict[str, Counter[str]] = {rule.id: Counter() for rule in snapshot.rules.enforced}
    last: dict[str, str] = {}
    for rule, answer, review, at in snapshot.store.rows("rule_answers"):
        if at >= since and rule in counts and review not in without:
            counts[rule][answer] += 1
            last[rule] = max(at, last.get(rule, ""))
    texts = {each.text_and_place for each in snapshot.rules.enforced if each.id in last}
    listed = [
        each.id
        for each in snapshot.rules.enforced
        if each.id in last or each.text_and_place not in texts
    ]
    return sorted(
        (_record(rule, counts[rule], last) for rule in listed),
        key=lambda each: (-each.violated, -each.passed - each.not_applicable, each.id),
    )


def _record(rule: str, counted: Counter[str], last: dict[str, str]) -> RuleRecord:
    return RuleRecord(
        id=rule,
        violated=counted[p.REVIEW_VIOLATED.name],
        passed=counted[p.REVIEW_PASSED.name],
        not_applicable=counted[p.REVIEW_NOT_APPLICABLE.name],
        last=last.get(rule),
        doubted=counted[p.REVIEW_DOUBTED.name],
    )


Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A recorded review that cannot be believed: where it lies, and why."""

    id: str
    path: str
    message: str


def read_records(places: Places) -> dict[str, Record | None]:
    """The recorded reviews by id; none for a file that is no record."""
    paths = sorted((places.records / "reviews").glob("*.json"))
    return {f"review.{path.stem}": read_record(path) for path in paths}


def of_canaries(records: Mapping[str, Record | None]) -> list[str]:
    """The records of changes into which a violation was planted: they say nothing of the rules."""
    return [name for name, record in records.items() if record is not None and "canary" in record]


def reviewers_since(
    places: Places, since: str, *, without: Collection[str] = (), overruled: Collection[str] = ()
) -> "ReviewersReport":
    """How reviewers have done since a time; records `without` do not count.

    `overruled` are those that a person decided against.

    Raises:
        UsageError: Git cannot tell what was reverted.
    """
    records = [
        record
        for name, record in read_records(places).items()
        if record is not None and name not in without and str(record.get("at", "")) >= since
    ]
    paths = (places.records / "receipts").glob("*.json")
    receipts = {f"receipt.{path.stem}": receipt_facts(read_record(path) or {}) for path in paths}
    return _report(places.root, records, receipts, None, overruled)


def reviewers_at(root: Path, commit: str) -> "ReviewersReport":
    """How reviewers have done by the records that a commit holds, and what it knows of reverts.

    Records that are not as they were written do not count.

    Raises:
        UsageError: Git cannot tell what was reverted.
    """
    from hornbook.rules.own_files.records import broken_seals  # noqa: PLC0415  # loads every reader

    folders = {name: f".hornbook/records/{name}/" for name in ("reviews", "receipts")}
    held = files_at(root, commit)
    wanted = {path: blob for path, blob in held.items() if path.startswith(tuple(folders.values()))}
    data = blobs(root, wanted.values())
    read = {path: _parsed(data[blob]) for path, blob in wanted.items()}
    found = {path: record for path, record in read.items() if record is not None}
    records = [
        record
        for path, record in found.items()
        if path.startswith(folders["reviews"]) and not any(broken_seals(record))
    ]
    receipts = {
        f"receipt.{Path(path).stem}": receipt_facts(record)
        for path, record in found.items()
        if path.startswith(folders["receipts"])
    }
    return _report(root, records, receipts, commit)


def _report(
    root: Path,
    records: Sequence[Record],
    receipts: "Mapping[str, ReceiptFacts]",
    at: str | None,
    overruled: Collection[str] = (),
) -> "ReviewersReport":
    from hornbook.commits.history import reverted  # noqa: PLC0415  # only this needs it
    from hornbook.review.reviewers import (  # noqa: PLC0415  # the same
        ReviewersReport,
        approved_heads,
        given_reviews,
        missed_by_all,
        reviewer_records,
    )

    reviews = list(given_reviews(records, receipts, overruled))
    known = inside_repository(root)
    back = reverted(root, approved_heads(reviews), at) if known else None
    return ReviewersReport(tuple(reviewer_records(reviews, back)), missed_by_all(reviews))


def receipt_facts(receipt: Record) -> "ReceiptFacts":
    """What a receipt says of its packet."""
    from hornbook.review.reviewers import ReceiptFacts  # noqa: PLC0415  # only this needs it

    model, told = receipt.get("model"), receipt.get("told")
    refute = isinstance(told, dict) and told.get("refute") is True
    return ReceiptFacts(model if isinstance(model, str) else None, refute)


def read_record(path: Path) -> Record | None:
    """What a record says; none if the file is none."""
    try:
        return _parsed(path.read_bytes())
    except OSError:
        return None


def _parsed(data: bytes) -> Record | None:
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def of_runs(records: Mapping[str, Record | None]) -> bool:
    """Whether a record says that it is of a run, so that events may tell of it."""
    return any(record is not None and record.get("run") for record in records.values())


def bad_records(
    records: Mapping[str, Record | None], events: Iterable[Event] = ()
) -> list[BadRecord]:
    """The records that are not as they were written, and why.

    `events` are those of the runs that are known here. A record of a run that is not among them
    is only held against its own hashes.
    """
    from hornbook.rules.own_files.records import RECORD  # noqa: PLC0415  # loads every reader

    known = list(events)
    runs = {event.data.get("run") for event in known}
    judged = [event for event in known if event.kind in {CHECKED, CANARY}]
    told = {str(e.data.get("record")): e.data.get(RECORD) for e in judged}
    return [
        BadRecord(name, f".hornbook/records/reviews/{name.removeprefix('review.')}.json", said)
        for name, record in records.items()
        for said in ["; ".join(_wrong(name, record, runs, told))]
        if said
    ]


def _wrong(
    name: str, record: Record | None, runs: set[object], told: Mapping[str, object]
) -> Iterator[str]:
    from hornbook.rules.own_files.records import RECORD, broken_seals  # noqa: PLC0415  # the same

    if record is None:
        yield "it is not JSON as Hornbook writes it"
        return
    if record.get("id") != name:
        yield f"it is the record of {record.get('id')}"
    yield from broken_seals(record)
    if record.get("run") in runs and record.get("run") is not None and name not in told:
        yield f"no event of run {record['run']} tells of it"
    if told.get(name) is not None and told[name] != record.get(RECORD):
        yield "it is not what the event of its run has the hash of"


# Records as values


@dataclass(frozen=True, slots=True)
class ReviewFinding(Finding):
    """A finding of a recorded review."""

    review_id: str = ""


@dataclass(frozen=True, slots=True)
class RecordedReview:
    """A review as its record has it: who reviewed what, what was made of it, and why."""

    id: str
    at: str
    outcome: str
    rejection_type: str | None
    route: str | None
    base: str | None
    head: str | None
    run: str | None
    plan: str | None
    task: str | None
    receipts: tuple[str, ...]
    reviewers: tuple[str, ...]
    rules: tuple[str, ...]
    findings: tuple[ReviewFinding, ...]
    problems: tuple[ReviewProblem, ...]
    warnings: tuple[ReviewProblem, ...]
    feedback: str
    canary: bool

    @property
    def order(self) -> str:
        """What reviews are ordered by: the time, then the id."""
        return f"{self.at} {self.id}"


@dataclass(frozen=True, slots=True)
class ReceiptUnit:
    """A section of a large rule that a packet holds as a question of its own."""

    id: str
    sop_id: str
    title: str
    severity: str
    tokens: int
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordedReceipt:
    """A receipt that was kept: what a reviewer was handed.

    `verified` says that it is as it was written: its own hash holds.
    """

    id: str
    base: str | None
    head: str | None
    files: tuple[str, ...]
    rules: tuple[str, ...]
    units: tuple[ReceiptUnit, ...]
    tokens: int
    counter: str
    sha256: str | None
    model: str | None
    verified: bool


def recorded_review(name: str, said: Record) -> RecordedReview:
    """A review from its record, which is as it was written."""
    return RecordedReview(
        id=name,
        at=str(said.get("at", "")),
        outcome=str(said.get("outcome", "")),
        rejection_type=_text(said.get("rejection_type")),
        route=_text(said.get("route")),
        base=_text(said.get("base")),
        head=_text(said.get("head")),
        run=_text(said.get("run")),
        plan=_text(said.get("plan")),
        task=_text(said.get("task")),
        receipts=_texts(said.get("receipts")),
        reviewers=tuple(str(each.get("name", "")) for each in _objects(said.get("reviews"))),
        rules=tuple(str(each.get("id", "")) for each in _objects(said.get("rules"))),
        findings=tuple(_finding(name, each) for each in _objects(said.get("findings"))),
        problems=tuple(map(_problem, _objects(said.get("problems")))),
        warnings=tuple(map(_problem, _objects(said.get("warnings")))),
        feedback=str(said.get("feedback") or ""),
        canary="canary" in said,
    )


def recorded_receipt(name: str, said: Record) -> RecordedReceipt:
    """A receipt from its record."""
    from hornbook.rules.own_files.records import RECEIPT, unsealed  # noqa: PLC0415  # the same

    tokens = said.get("tokens")
    return RecordedReceipt(
        id=name,
        base=_text(said.get("base")),
        head=_text(said.get("head")),
        files=_texts(said.get("files")),
        rules=_texts(said.get("sop_ids")),
        units=tuple(map(_unit, _objects(said.get("units")))),
        tokens=tokens if isinstance(tokens, int) else 0,
        counter=str(said.get("counter") or ""),
        sha256=_text(said.get("prompt_sha256")),
        model=_text(said.get("model")),
        verified=not unsealed(said, RECEIPT),
    )


def _finding(review: str, said: Record) -> ReviewFinding:
    line, side = said.get("line"), said.get("old_side")
    return ReviewFinding(
        sop_id=str(said.get("sop_id") or ""),
        severity=str(said.get("severity", "")),
        status=str(said.get("status", "")),
        path=_text(said.get("path")),
        line=line if isinstance(line, int) else None,
        message=str(said.get("message", "")),
        unit=_text(said.get("unit")),
        old_side=side if isinstance(side, bool) else None,  # records of before do not say
        review_id=review,
    )


def _problem(said: Record) -> ReviewProblem:
    return ReviewProblem(
        str(said.get("code", "")), _text(said.get("sop_id")), str(said.get("message", ""))
    )


def _unit(said: Record) -> ReceiptUnit:
    tokens = said.get("tokens")
    return ReceiptUnit(
        id=str(said.get("id", "")),
        sop_id=str(said.get("sop_id", "")),
        title=str(said.get("title", "")),
        severity=str(said.get("severity", "")),
        tokens=tokens if isinstance(tokens, int) else 0,
        files=_texts(said.get("files")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _objects(value: object) -> Sequence[Record]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else ()
