"""Our own records of reviews and of the conventions that were learned from them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from hornbook.errors import BadGlob
from hornbook.rules.document import Part, Pattern, Problems
from hornbook.rules.own_files.records import (
    DAMAGED,
    RECEIPT,
    RecordKind,
    Said,
    altered,
    broken_seals,
    damaged,
    read_record,
    record_of,
    unsealed,
)
from hornbook.rules.readers.protocol import Reading, SourceFile
from hornbook.text.globs import parse
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.terms import Activation, Category, Scope, Severity, Standing

REVIEWS = PurePosixPath(".hornbook/records/reviews")
CONVENTIONS = PurePosixPath(".hornbook/records/conventions")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_STATUSES = {
    "passed": p.REVIEW_PASSED,
    "violated": p.REVIEW_VIOLATED,
    "not_applicable": p.REVIEW_NOT_APPLICABLE,
}
Facts = tuple[tuple[str, str], ...]


class ReviewReader:
    """Reads recorded reviews: the outcome, what was said of each rule, and what it rests on."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a recorded review."""
        return path.parent == REVIEWS and path.suffix == ".json"

    def read(self, file: SourceFile) -> Reading:
        """Return what the record says; one that is damaged is kept, with a problem."""
        kind = RecordKind(
            "review", Category.REVIEW, Scope.CODE, _review_facts, _broken, _review_parts
        )
        return read_record(file, kind)


class ConventionReader:
    """Reads learned conventions; only one that a person promoted is about any file."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a learned convention."""
        return path.parent == CONVENTIONS and path.suffix == ".json"

    def read(self, file: SourceFile) -> Reading:
        """Return what the record says; one that is damaged is kept, with a problem."""
        problems = Problems(file.parts.path)
        problems.extend(file.parts.problems)
        record: Mapping[str, object] = {}
        facts: Facts = ()
        patterns: tuple[Pattern, ...] = ()
        try:
            record = record_of(file)
            facts = _convention_facts(record)
            broken = unsealed(record) or _other_name(record, file.path.stem)
            if broken:
                problems.error(1, "altered_record", altered("convention", broken))
            glob = str(record["applies_to"])
            parse(glob)
            patterns = () if broken else (Pattern(glob, glob, None),)
        except BadGlob as problem:
            problems.error(1, "bad_glob", f"{problem} Retire the convention.")
        except DAMAGED as problem:
            problems.error(1, "bad_record", damaged("convention", problem))
        promoted = record.get("standing") == Standing.PROMOTED and bool(patterns)
        return Reading(
            path=file.parts.path,
            tool=self.tool,
            desired_id=f"convention.{file.path.stem}",
            title=str(record.get("name", file.path.stem)),
            category=Category.CONVENTION,
            activation=Activation.GLOB if promoted else Activation.MANUAL,
            severity=Severity.INFO,
            scope=Scope.CODE,
            mime_type="application/json",
            head=file.parts.head,
            body=file.parts.body,
            body_line=1,
            patterns=patterns,
            summary=str(record.get("pattern", "")),
            facts=facts,
            problems=problems.told(),
        )


def _other_name(record: Mapping[str, object], name: str) -> str:
    slug = record.get("slug")
    return "" if slug == name else f"it is convention.{slug}"


def _broken(record: Mapping[str, object], name: str) -> Iterator[str]:
    """Why a recorded review does not count."""
    if record.get("id") != f"review.{name}":
        yield f"it is {record.get('id')}"
    yield from broken_seals(record)


def _review_facts(record: Mapping[str, object]) -> Facts:
    found = [
        (p.REVIEW_OUTCOME.name, str(record["outcome"])),
        (p.GENERATED_AT.name, _time(record["at"])),
    ]
    for predicate, key, prefix in (
        (p.REVIEW_REJECTION_TYPE, "rejection_type", ""),
        (p.REVIEW_RUN, "run", "run."),
        (p.DERIVED_FROM, "plan", ""),
    ):
        if record.get(key):
            found.append((predicate.name, f"{prefix}{record[key]}"))
    found += [(p.REVIEW_RECEIPT.name, str(each)) for each in _list(record["receipts"])]
    for rule in _list(record["rules"]):
        found.append((p.DERIVED_FROM.name, str(rule["revision"])))
        statuses = map(str, _list(rule["statuses"]))
        found += [(_STATUSES[status].name, str(rule["id"])) for status in statuses]
    rules = _documents(record)
    named = [str(w["sop_id"]) for w in _list(record.get("warnings", [])) if w.get("sop_id")]
    doubted = dict.fromkeys(rules.get(each, each) for each in named)
    found += [(p.REVIEW_DOUBTED.name, each) for each in doubted]
    return tuple(found)


def _documents(record: Said) -> dict[str, str]:
    """The document that each unit of the rules belongs to."""
    return {
        str(unit["id"]): str(rule["id"])
        for rule in _list(record["rules"])
        for unit in _list(rule.get("units", []))
    }


def _review_parts(record: Said) -> Iterator[Part]:
    """What the judgement rests on, and what was wrong with the review, one by one."""
    for each in _list(record["findings"]):
        yield _part("finding", each, _FINDING)
    rules = {str(rule["id"]): str(rule["id"]) for rule in _list(record["rules"])}
    rules |= _documents(record)
    for each in _list(record["problems"]):
        # A reviewer may have answered something that is no rule.
        yield _part("objection", {**each, "sop_id": rules.get(str(each["sop_id"]))}, _OBJECTION)


def _part(kind: str, said: Said, keys: Mapping[str, p.Predicate]) -> Part:
    facts = ((keys[key].name, said.get(key)) for key in keys)
    return Part(kind, tuple((name, str(value)) for name, value in facts if value is not None))


_FINDING = {
    "sop_id": p.FINDING_RULE,
    "unit": p.FINDING_UNIT,
    "severity": p.FINDING_SEVERITY,
    "status": p.FINDING_STATUS,
    "path": p.FINDING_PATH,
    "line": p.FINDING_LINE,
    "message": p.FINDING_MESSAGE,
}
_OBJECTION = {"code": p.PROBLEM_CODE, "sop_id": p.PROBLEM_RULE, "message": p.PROBLEM_MESSAGE}


def _convention_facts(record: Mapping[str, object]) -> Facts:
    found = [
        (p.CONVENTION_STANDING.name, Standing(str(record["standing"]))),
        (p.GENERATED_AT.name, _time(record["at"])),
    ]
    found += [(p.DERIVED_FROM.name, str(each)) for each in _list(record["reviews"])]
    found += [(p.CONVENTION_EVIDENCE.name, str(each["path"])) for each in _list(record["evidence"])]
    return tuple(dict.fromkeys(found))


def _time(value: object) -> str:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise ValueError(f"{value!r} is no time in UTC")
    return value


def _list(value: object) -> "list[dict[str, object]]":
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return value


RECEIPTS = PurePosixPath(".hornbook/records/receipts")


class ReceiptReader:
    """Reads receipts: which revisions of which rules a context was made from."""

    tool = "record"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a receipt."""
        return path.parent == RECEIPTS and path.suffix == ".json"

    def read(self, file: SourceFile) -> Reading:
        """Return what the receipt says; one that is damaged is kept, with a problem."""
        kind = RecordKind("receipt", Category.RECEIPT, Scope.CODE, _facts, _broken_receipt)
        return read_record(file, kind)


def _broken_receipt(receipt: Said, _name: str) -> Iterator[str]:
    broken = unsealed(receipt, RECEIPT)
    if broken:
        yield broken


def _facts(receipt: Said) -> tuple[tuple[str, str], ...]:
    found = [(p.RECEIPT_PROMPT.name, str(receipt["prompt_sha256"]))]
    for predicate, key in ((p.RECEIPT_BASE, "base"), (p.RECEIPT_HEAD, "head")):
        if receipt.get(key) is not None:
            found.append((predicate.name, str(receipt[key])))
    files, sections = receipt["files"], receipt["sections"]
    if not isinstance(files, list) or not isinstance(sections, list):
        raise TypeError("files and sections must be lists")
    found += [(p.RECEIPT_FILE.name, str(file)) for file in files]
    for section in sections:
        if section["name"] in {"sops", "decisions", "conventions"}:
            found += [(p.DERIVED_FROM.name, str(item["revision"])) for item in section["items"]]
    return tuple(found)
