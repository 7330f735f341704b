"""What is recorded of a change: reviews, what each says of every rule, and the gates they knew."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hornbook.disk import to_seconds
from hornbook.review.evidence.places import meant, read_places
from hornbook.review.judgement import Citation
from hornbook.review.printed_review import read_review
from hornbook.review.review_history import read_records
from hornbook.review.review_record import JudgedReview, Occasion, record_facts
from hornbook.workspace import Workspace


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """What one reviewer said of one rule, and the places that the evidence names."""

    reviewer: str
    rule: str
    status: str
    evidence: str
    violations: tuple[str, ...]
    places: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class ChangeReview:
    """A recorded review of a change; with `broken` it is not as it was written."""

    id: str
    record: Mapping[str, Any]
    entries: tuple[RuleEntry, ...]
    broken: str
    explanation: tuple[str, ...] = ()
    """What the judgement rests on in words, where it was just made."""

    @property
    def gates(self) -> Sequence[Mapping[str, Any]]:
        """How each gate ended that the judgement knew."""
        return (self.record.get("gates") or {}).get("gates") or ()


def last_outcomes(work: Workspace) -> dict[tuple[str, str], str]:
    """How the newest recorded review of each change ended, by the two commits of the change."""
    broken = {each.id for each in work.bad_records()}
    records = [
        record
        for name, record in read_records(work.places).items()
        if record is not None and name not in broken and "canary" not in record
    ]
    return {
        (str(each.get("base")), str(each.get("head"))): str(each.get("outcome"))
        for each in sorted(records, key=lambda each: str(each.get("at")))
    }


def reviews_of(
    work: Workspace, base: str, head: str, changed: Sequence[str]
) -> tuple[ChangeReview, ...]:
    """The recorded reviews of a change, the newest first."""
    records = {
        name: record
        for name, record in read_records(work.places).items()
        if record is not None and (record.get("base"), record.get("head")) == (base, head)
    }
    if not records:
        return ()
    broken = {each.id: each.message for each in work.bad_records()}
    found = [
        ChangeReview(name, record, _entries(record, changed), broken.get(name, ""))
        for name, record in records.items()
    ]
    return tuple(
        sorted(found, key=lambda each: (str(each.record.get("at")), each.id), reverse=True)
    )


def unrecorded(judged: JudgedReview, changed: Sequence[str]) -> ChangeReview:
    """A judgement that was just made, shown as it would be recorded."""
    now = datetime.now(UTC)
    facts = record_facts(judged, Occasion(now), to_seconds(now))
    record = json.loads(json.dumps(facts))
    return ChangeReview("", record, _entries(record, changed), "", judged.judgement.explanation)


def _entries(record: Mapping[str, Any], changed: Sequence[str]) -> tuple[RuleEntry, ...]:
    known = frozenset(changed)

    def named(path: str) -> str | None:
        return meant(path, known.__contains__, changed)

    found = []
    for printed in record.get("reviews") or ():
        review = read_review(str(printed.get("printed", "")).encode()).review
        for entry in review.entries if review is not None else ():
            places = (*entry.citations, *read_places(entry.evidence, named).places)
            found.append(
                RuleEntry(
                    reviewer=str(printed.get("name", "")),
                    rule=entry.sop_id,
                    status=str(entry.status),
                    evidence=entry.evidence,
                    violations=entry.violations,
                    places=tuple(dict.fromkeys(places)),
                )
            )
    return tuple(found)
