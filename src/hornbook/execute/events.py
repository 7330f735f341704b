"""Events: appended, hash-chained records of what happened to a plan.

An event's hash is the sha256 of its canonical JSON without the hash itself, and each event holds
the hash of the one before it: whoever knows the last one knows them all.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from hornbook.errors import UsageError

SCHEMA = 1
START = "0" * 64
"""What the first event of a plan has in the place of an earlier one's hash."""

# Data comes from JSON: mypy has no finite type for it.
Data = Mapping[str, Any]

_FIELDS = ("schema", "plan", "seq", "kind", "at", "key", "actor", "data", "previous", "hash")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of event: what it means, the data it must carry, and what it may."""

    name: str
    meaning: str
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to a plan; nothing in it ever changes."""

    schema: int
    plan: str
    seq: int
    kind: str
    at: str
    key: str
    actor: str
    data: Data
    previous: str
    hash: str

    @property
    def line(self) -> str:
        """The event as canonical JSON in one line, its end included."""
        return canonical({**_facts(self), "hash": self.hash}) + "\n"


@dataclass(frozen=True, slots=True)
class Fault:
    """The first line of a log that is not what it should be, and why."""

    line: int
    message: str


def canonical(value: object) -> str:
    """The one JSON text of a value: sorted keys, no blanks.

    Raises:
        UsageError: The value is not JSON, or holds half of a surrogate pair.
    """
    try:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
        )
        text.encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise UsageError(f"an event cannot hold this ({problem}): give it plain JSON.") from problem
    # JSON escapes all control characters but these, at which text tools would break the line.
    for character in "\x7f\x85\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def digest(value: object) -> str:
    """The sha256 of a value's canonical JSON."""
    return sha256(canonical(value).encode()).hexdigest()


def next_event(
    previous: Event | None, *, plan: str, kind: str, data: Data, key: str, actor: str, at: str
) -> Event:
    """The event that follows `previous` in a plan's log.

    Raises:
        UsageError: The data is not plain JSON.
    """
    plain = json.loads(canonical(data))
    facts = {
        "schema": SCHEMA,
        "plan": plan,
        "seq": 1 if previous is None else previous.seq + 1,
        "kind": kind,
        "at": at,
        "key": key,
        "actor": actor,
        "data": plain,
        "previous": START if previous is None else previous.hash,
    }
    return Event(**facts, hash=digest(facts))


def check_kind(kind: str, data: Data, kinds: Mapping[str, Kind]) -> None:
    """Refuse an event of a kind that is not known, or without the data of its kind.

    Raises:
        UsageError: It is one.
    """
    if kind not in kinds:
        raise UsageError(f"no event has the kind {kind!r}: known are {', '.join(sorted(kinds))}.")
    known = kinds[kind]
    missing = sorted(known.required - data.keys())
    unknown = sorted(data.keys() - known.required - known.optional)
    if missing or unknown:
        said = [f"lacks {', '.join(missing)}"] if missing else []
        said += [f"has unknown {', '.join(unknown)}"] if unknown else []
        raise UsageError(f"the data of an event {kind!r} {' and '.join(said)}.")


def read_event(line: str) -> Event:
    """The event in a line of an export.

    Raises:
        ValueError: The line is not one; the message says why.
    """
    try:
        facts = json.loads(line)
    except RecursionError as problem:
        raise ValueError("it is nested too deeply") from problem
    fault = _ill_formed(facts)
    if fault is not None:
        raise ValueError(fault)
    event = Event(**facts)
    if event.line.rstrip("\n") != line.rstrip("\n"):
        raise ValueError("it is not in canonical form: it was edited")
    return event


def _ill_formed(facts: object) -> str | None:
    """Why a JSON value is no event."""
    if not isinstance(facts, dict) or set(facts) != set(_FIELDS):
        return f"it must have exactly the keys {', '.join(_FIELDS)}"
    for name, value in facts.items():
        kind = {"schema": int, "seq": int, "data": dict}.get(name, str)
        if type(value) is not kind:
            return f"`{name}` is {value!r}, which is no {kind.__name__}"
    if facts["schema"] > SCHEMA:
        return f"it has schema {facts['schema']}, this Hornbook knows {SCHEMA}: update Hornbook"
    return None


def read_lines(text: str) -> tuple[list[Event], Fault | None]:
    """The events of an export up to the first line that is none, and what is wrong with that."""
    events: list[Event] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            continue
        try:
            events.append(read_event(line))
        except (ValueError, UsageError) as problem:
            return events, Fault(number, str(problem))
    return events, None


def verify(events: Sequence[Event]) -> Fault | None:
    """The first event that breaks the chain, by its place in the log; None if it is whole."""
    previous: Event | None = None
    keys: set[str] = set()
    for number, event in enumerate(events, 1):
        message = _broken(event, previous, keys)
        if message is not None:
            return Fault(number, message)
        keys.add(event.key)
        previous = event
    return None


def _broken(event: Event, previous: Event | None, keys: Iterable[str]) -> str | None:
    expected = START if previous is None else previous.hash
    checks = (
        (event.schema <= SCHEMA, f"its schema {event.schema} is newer than {SCHEMA}"),
        (
            previous is None or event.plan == previous.plan,
            f"it belongs to the plan {event.plan!r}",
        ),
        (
            event.seq == (1 if previous is None else previous.seq + 1),
            f"its number is {event.seq}",
        ),
        (event.key not in keys, f"its key {event.key!r} was used before"),
        (event.previous == expected, "it does not follow the event before it"),
        (event.hash == digest(_facts(event)), "its content does not have the hash that it states"),
    )
    return next((message for holds, message in checks if not holds), None)


def _facts(event: Event) -> dict[str, object]:
    return {
        "schema": event.schema,
        "plan": event.plan,
        "seq": event.seq,
        "kind": event.kind,
        "at": event.at,
        "key": event.key,
        "actor": event.actor,
        "data": dict(event.data),
        "previous": event.previous,
    }
