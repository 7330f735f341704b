"""The list of logs that were dropped: `.hornbook/dropped.jsonl`, a chain of its own.

Each line says which plan's log is gone, how many events it had, from when to when, the hash of its
last one, and who dropped it when. That hash is all of the old chain that is kept. Each line holds
the hash of the one before it, as events do. Whoever can write the file can add a line to it: so
nothing is deleted because of one, a log that is in force is not hidden by one
(`dropped_claims.py`), and a head shows which lines came after it was taken.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from hornbook.disk import append_whole
from hornbook.plans.events import START, Event, Fault, canonical, digest

DROPPED = "dropped.jsonl"


@dataclass(frozen=True, slots=True)
class DroppedLog:
    """A log that is not kept any more: `events` it had, and `head` is the hash of the last."""

    number: int
    plan: str
    events: int
    first_at: str
    last_at: str
    head: str
    at: str
    principal: str
    previous: str
    hash: str


_KINDS = {"number": int, "events": int}


def dropped_after(
    before: DroppedLog | None, events: Iterable[Event], *, at: str, principal: str
) -> DroppedLog:
    """What is kept of a log, as the line that follows `before`."""
    told = list(events)
    facts = {
        "number": 1 if before is None else before.number + 1,
        "plan": told[0].plan,
        "events": told[-1].seq,
        "first_at": told[0].at,
        "last_at": told[-1].at,
        "head": told[-1].hash,
        "at": at,
        "principal": principal,
        "previous": START if before is None else before.hash,
    }
    return DroppedLog(**facts, hash=digest(facts))  # type: ignore[arg-type]  # the fields, by name


def read_dropped(state: Path) -> tuple[list[DroppedLog], Fault | None]:
    """The logs that were dropped, oldest first, up to the first line that does not go on."""
    try:
        text = (state / DROPPED).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return [], None
    found: list[DroppedLog] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            found.append(_read(line, found[-1] if found else None))
        except ValueError as problem:
            return found, Fault(number, str(problem))
    return found, None


def _read(line: str, before: DroppedLog | None) -> DroppedLog:
    facts = json.loads(line)
    names = set(DroppedLog.__dataclass_fields__)
    if not isinstance(facts, dict) or set(facts) != names:
        raise ValueError(f"it must have exactly the keys {', '.join(sorted(names))}")
    for name, value in facts.items():
        if type(value) is not _KINDS.get(name, str):
            raise ValueError(f"`{name}` is {value!r}")
    entry = DroppedLog(**facts)
    stated = {name: value for name, value in facts.items() if name != "hash"}
    if entry.hash != digest(stated) or canonical(facts) != line:
        raise ValueError("its content does not have the hash that it states")
    follows = (1, START) if before is None else (before.number + 1, before.hash)
    if (entry.number, entry.previous) != follows:
        raise ValueError("it does not follow the line before it")
    return entry


def note_dropped(state: Path, entry: DroppedLog) -> None:
    """Write down that a log is dropped, before it is."""
    append_whole(state / DROPPED, f"{canonical(asdict(entry))}\n".encode())


def dropped_logs(state: Path) -> dict[str, list[DroppedLog]]:
    """The logs that were dropped, by plan."""
    found: dict[str, list[DroppedLog]] = {}
    for entry in read_dropped(state)[0]:
        found.setdefault(entry.plan, []).append(entry)
    return found
