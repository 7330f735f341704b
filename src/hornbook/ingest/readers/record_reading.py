"""How every record of ours is read: facts from JSON, and what keeps it from counting."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from hornbook.ingest.problems import Problems
from hornbook.ingest.readers.protocol import Reading, SourceFile
from hornbook.model import Activation, Category, Scope, Severity

Said = Mapping[str, object]
Fact = tuple[str, str]
DAMAGED = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading facts from a record may raise when it is not as we write it."""


def _nothing(_said: Said, _name: str) -> Iterator[str]:
    yield from ()


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of records: `broken` says why one is not as it was written, given its file's name."""

    family: str
    category: Category
    scope: Scope
    facts: Callable[[Said], Iterable[Fact]]
    broken: Callable[[Said, str], Iterator[str]] = _nothing


def read_record(file: SourceFile, kind: RecordKind) -> Reading:
    """Return what a record says; one that is damaged or altered is kept, with a problem."""
    problems = Problems(file.parts.path)
    problems.extend(file.parts.problems)
    facts: tuple[Fact, ...] = ()
    try:
        said = record_of(file)
        facts = tuple(dict.fromkeys(kind.facts(said)))
        broken = "; ".join(kind.broken(said, file.path.stem))
        if broken:
            facts = ()
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
