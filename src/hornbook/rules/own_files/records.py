"""How every record of ours is read: facts from JSON, and what keeps it from counting."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

from hornbook.rules.document import Fact, Part, Problems
from hornbook.rules.readers.protocol import Reading, SourceFile
from hornbook.vocabulary.terms import Activation, Category, Scope, Severity

Said = Mapping[str, object]
DAMAGED = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading facts from a record may raise when it is not as we write it."""


def _nothing(_said: Said, _name: str) -> Iterator[str]:
    yield from ()


def _no_parts(_said: Said) -> Iterator[Part]:
    yield from ()


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of records: `broken` says why one is not as it was written, given its file's name."""

    family: str
    category: Category
    scope: Scope
    facts: Callable[[Said], Iterable[Fact]]
    broken: Callable[[Said, str], Iterator[str]] = _nothing
    parts: Callable[[Said], Iterator[Part]] = _no_parts


def read_record(file: SourceFile, kind: RecordKind) -> Reading:
    """Return what a record says; one that is damaged or altered is kept, with a problem."""
    problems = Problems(file.parts.path)
    problems.extend(file.parts.problems)
    facts: tuple[Fact, ...] = ()
    parts: tuple[Part, ...] = ()
    try:
        said = record_of(file)
        facts, parts = tuple(dict.fromkeys(kind.facts(said))), tuple(kind.parts(said))
        broken = "; ".join(kind.broken(said, file.path.stem))
        if broken:
            facts, parts = (), ()
            problems.error(1, "altered_record", altered(kind.family, broken))
    except DAMAGED as problem:
        problems.error(1, "bad_record", damaged(kind.family, problem))
    return Reading(
        path=file.parts.path,
        tool="record",
        desired_id=f"{kind.family}.{file.path.stem}",
        title=f"{kind.family.capitalize()} {file.path.stem}",
        category=kind.category,
        activation=Activation.MANUAL,
        severity=Severity.INFO,
        scope=kind.scope,
        mime_type="application/json",
        head=file.parts.head,
        body=file.parts.body,
        body_line=1,
        facts=facts,
        parts=parts,
        problems=problems.told(),
    )


def record_of(file: SourceFile) -> Said:
    """The object that a record holds.

    Raises:
        ValueError: It is not JSON.
        TypeError: It is no object.
    """
    said = json.loads(file.parts.head + file.parts.body)
    if not isinstance(said, dict):
        raise TypeError("it is no object")
    return said


def altered(family: str, broken: str) -> str:
    """What to say of a record that is not as it was written."""
    return (
        f"The {family} is not as Hornbook wrote it and does not count ({broken}): restore it from "
        "git, or delete it."
    )


def damaged(family: str, problem: Exception) -> str:
    """What to say of a record that cannot be read."""
    return f"It is not a record of a {family} as Hornbook writes it ({problem!r}): delete it."


RECORD, RECEIPT = "record_sha256", "receipt_sha256"
JUDGED = (
    "outcome",
    "rejection_type",
    "route",
    "base",
    "head",
    "rules",
    "findings",
    "problems",
    "warnings",
    "feedback",
)
"""What of a recorded review is its judgement."""

Facts = Mapping[str, object]


def seal_of(facts: Facts, key: str = RECORD) -> str:
    """The hash over a record without the hash itself."""
    return digest({name: value for name, value in facts.items() if name != key})


def sealed(facts: Facts) -> dict[str, object]:
    """The facts as JSON has them, with their seal."""
    plain: dict[str, object] = json.loads(json.dumps(facts))
    return {**plain, RECORD: seal_of(plain)}


def digest(value: object) -> str:
    """The hash of a JSON value, however it is laid out."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def hashes_of(record: Facts) -> dict[str, object]:
    """The hashes of what a recorded review is made of: the answers, and the judgement."""
    return {
        "reviews": [digest(each) for each in printed_in(record)],
        "judgement": digest({name: record.get(name) for name in JUDGED}),
    }


def printed_in(record: Facts) -> list[str]:
    """What the reviewers printed, as a recorded review has it."""
    reviews = record.get("reviews")
    listed = reviews if isinstance(reviews, list) else []
    return [str(each.get("printed")) for each in listed if isinstance(each, dict)]


def unsealed(record: Facts, key: str = RECORD) -> str:
    """Why a record is not as it was written; empty if it is."""
    if key not in record:
        return f"it has no {key}"
    if record[key] != seal_of(record, key):
        return f"it was edited: its {key} is another one"
    return ""


def broken_seals(record: Facts) -> Iterator[str]:
    """Why a recorded review is not as it was written, part by part."""
    said = unsealed(record)
    if said:
        yield said
    known = record.get("hashes")
    told = known if isinstance(known, dict) else {}
    names = {"reviews": "what the reviewers printed", "judgement": "the judgement"}
    for name, actual in hashes_of(record).items():
        if told.get(name) != actual:
            yield f"the hash of {names[name]} is another one"
    ids, receipts = record.get("receipts"), told.get("receipts")
    if not isinstance(receipts, list) or ids != [f"receipt.{str(e)[:16]}" for e in receipts]:
        yield "its receipts are not those that it has the hashes of"
