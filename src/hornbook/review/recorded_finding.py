"""A violation that a recorded review found, by the review's id and the rule's."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hornbook.errors import NotFound, UsageError
from hornbook.review.judgement import Status
from hornbook.review.review_history import read_record
from hornbook.rules.own_files.records import unsealed

_REFERENCE = re.compile(
    r"(?:review\.)?(?P<run>[a-z0-9][a-z0-9-]*)\.(?P<number>\d+)(?::(?P<sop>.+))?"
)


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """One place where a rule is violated; without a path the review named none."""

    path: str | None
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class RecordedFinding:
    """What a review said of one rule, or unit of a large one, that a change violates."""

    review: str
    sop_id: str
    check_id: str
    severity: str
    places: tuple[FoundPlace, ...]
    feedback: str
    base: str | None
    head: str | None

    @property
    def reference(self) -> str:
        """How it is named in a plan and at the command line."""
        return f"{self.review}:{self.check_id}"

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is about, each once."""
        return tuple(dict.fromkeys(each.path for each in self.places if each.path))


def recorded_finding(records: Path, reference: str) -> RecordedFinding:
    """The violation that a reference names: `REVIEW`, or `REVIEW:RULE` where there are several.

    Raises:
        UsageError: It is no reference, or the review found no such violation, or more than one.
        NotFound: There is no such record.
        UsageError: The record is not as it was written.
    """
    named = _REFERENCE.fullmatch(reference.strip())
    if named is None:
        raise UsageError(
            f"{reference!r} names no finding: write REVIEW or REVIEW:RULE, such as "
            "review.tax-t1-1.1:source.doc.sops.errors; `hornbook reviews` lists reviews."
        )
    review = f"review.{named['run']}.{named['number']}"
    record = _record(records / "reviews" / f"{named['run']}.{named['number']}.json", review)
    found: dict[str, list[Mapping[str, Any]]] = {}
    for each in record["findings"]:
        if each["status"] == Status.VIOLATED:
            found.setdefault(str(each.get("unit") or each["sop_id"]), []).append(each)
    check_id = _chosen(review, found, named["sop"])
    first = found[check_id][0]
    return RecordedFinding(
        review=review,
        sop_id=str(first["sop_id"]),
        check_id=check_id,
        severity=str(first["severity"]),
        places=tuple(
            FoundPlace(each["path"], each["line"], str(each["message"])) for each in found[check_id]
        ),
        feedback=str(record.get("feedback") or ""),
        base=record.get("base"),
        head=record.get("head"),
    )


def _record(path: Path, review: str) -> dict[str, Any]:  # a JSON object
    record = read_record(path)
    if record is None:
        raise NotFound(f"there is no review {review!r}: `hornbook reviews` lists them.")
    broken = unsealed(record)
    if broken:
        raise UsageError(f"{path}: the record is not as it was written: {broken}.")
    return dict(record)


def _chosen(review: str, found: Mapping[str, object], wanted: str | None) -> str:
    """The one rule that is meant: by its id, or by the end of it."""
    if not found:
        raise UsageError(f"{review} found no violation: there is nothing to fix.")
    fitting = [
        each for each in found if wanted is None or each == wanted or each.endswith(f".{wanted}")
    ]
    if len(fitting) == 1:
        return fitting[0]
    said = "found no violation of that rule" if not fitting else "found several violations"
    listed = ", ".join(f"{review}:{each}" for each in sorted(found))
    raise UsageError(f"{review} {said}: name one of {listed}.")
