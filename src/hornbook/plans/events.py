"""Events: appended, hash-chained records of what happened to a plan.

An event's hash is the sha256 of its canonical JSON without the hash itself, and each event holds
the hash of the one before it: whoever knows the last one knows them all.

Events of the first schema say who acted in one word, `actor`. Those of the second have a principal
beside it, which says how that was known. The hash of an event covers what its schema has, so that
logs of both, and logs that go from one to the other, stay valid.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from hornbook.errors import UsageError
from hornbook.plans.plan import RISK_SEVERITIES, TaskType
from hornbook.plans.principal import Principal, read_principal, unknown

SCHEMA = 2
START = "0" * 64
"""What the first event of a plan has in the place of an earlier one's hash."""

# Data comes from JSON: mypy has no finite type for it.
Data = Mapping[str, Any]

_FIELDS = ("schema", "plan", "seq", "kind", "at", "key", "actor", "data", "previous", "hash")
_WITH_PRINCIPAL = 2
"""The schema from which on events have a principal."""


@dataclass(frozen=True, slots=True)
class EventKind:
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
    principal: Principal

    @property
    def line(self) -> str:
        """The event as canonical JSON in one line, its end included."""
        return canonical({**_facts(self), "hash": self.hash}) + "\n"


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An event of some plan, and the repository that it happened in."""

    repository: str
    seq: int
    plan: str
    run: str | None
    kind: str
    at: str
    actor: str
    principal: Principal
    data: Mapping[str, Any]  # each kind of event has its own facts
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some of the events; `next` is the place to go on from, if there are more.

    `dropped` is how many logs are not kept any more, whose events are not among these.
    """

    items: tuple[AuditEvent, ...]
    next: str | None
    total: int
    verified: bool
    dropped: int


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
    previous: Event | None, *, plan: str, kind: str, data: Data, key: str, by: Principal, at: str
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
        "actor": by.id,
        "data": plain,
        "previous": START if previous is None else previous.hash,
    }
    return Event(**facts, principal=by, hash=digest({**facts, "principal": by.facts()}))


def check_kind(kind: str, data: Data, kinds: Mapping[str, EventKind]) -> None:
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
        misfits = [f"lacks {', '.join(missing)}"] if missing else []
        misfits += [f"has unknown {', '.join(unknown)}"] if unknown else []
        raise UsageError(f"the data of an event {kind!r} {' and '.join(misfits)}.")


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
    told = facts.pop("principal", None)
    principal = unknown(facts["actor"]) if told is None else read_principal(told)
    event = Event(**facts, principal=principal)
    if event.line.rstrip("\n") != line.rstrip("\n"):
        raise ValueError("it is not in canonical form: it was edited")
    return event


def _ill_formed(facts: object) -> str | None:
    """Why a JSON value is no event."""
    fields = _fields(facts)
    if not isinstance(facts, dict) or set(facts) != set(fields):
        return f"it must have exactly the keys {', '.join(fields)}"
    for name, value in facts.items():
        kind = {"schema": int, "seq": int, "data": dict, "principal": dict}.get(name, str)
        if type(value) is not kind:
            return f"`{name}` is {value!r}, which is no {kind.__name__}"
    if facts["schema"] > SCHEMA:
        return f"it has schema {facts['schema']}, this Hornbook knows {SCHEMA}: update Hornbook"
    if "principal" in facts and facts["principal"].get("id") != facts["actor"]:
        return f"`actor` is {facts['actor']!r}, which is not the id of its principal"
    return None


def _fields(facts: object) -> tuple[str, ...]:
    """The keys that an event of its schema has."""
    schema = facts.get("schema") if isinstance(facts, dict) else None
    later = isinstance(schema, int) and schema >= _WITH_PRINCIPAL
    return (*_FIELDS, "principal") if later else _FIELDS


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
    return verify_following((), events)


def verify_following(known: Sequence[Event], events: Sequence[Event]) -> Fault | None:
    """The first event that does not go on with a chain that is known to be whole."""
    previous = known[-1] if known else None
    keys = {event.key for event in known}
    for number, event in enumerate(events, len(known) + 1):
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
    later = event.schema >= _WITH_PRINCIPAL
    told = {"principal": event.principal.facts()} if later else {}
    return {
        **told,
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


TEXTS = ("title", "situation", "mission", "execution", "coordination")
GROUPS = ("in", "out", "do_not_touch")

_SHA256 = re.compile(r"[0-9a-f]{64}")

Check = Callable[[object], str | None]
"""Says what is wrong with a value; None if nothing is."""


@dataclass(frozen=True, slots=True)
class SchemaViolation:
    """A field of an event that is not what its kind demands."""

    seq: int
    event: str
    kind: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"event {self.seq} ({self.event[:12]}, {self.kind}), `{self.field}`: {self.message}"


def violations(events: Iterable[Event]) -> tuple[SchemaViolation, ...]:
    """Every field of some events that is not what its kind demands; kinds we do not know pass."""
    return tuple(found for event in events for found in faults(event))


def faults(event: Event) -> list[SchemaViolation]:
    """Every field of an event that is not what its kind demands."""
    wrong_fields: list[tuple[str, str]] = []
    required, optional = FIELDS.get(event.kind, ({}, {}))
    for name, check in {**required, **optional}.items():
        if name not in event.data:
            wrong_fields += [(name, "it is missing")] if name in required else []
            continue
        wrong = check(event.data[name])
        wrong_fields += [(name, wrong)] if wrong is not None else []
    return [SchemaViolation(event.seq, event.hash, event.kind, *each) for each in wrong_fields]


def artifacts_of(event: Event) -> dict[str, str] | None:
    """The artifacts that an event names, path to sha256; None if it names none that can be read."""
    listed = event.data.get("artifacts")
    if not listed or _artifacts(listed) is not None:
        return None
    return {each["path"]: each["sha256"] for each in listed}


def _text(value: object) -> str | None:
    return None if isinstance(value, str) else f"{value!r} is no text"


def _words(value: object) -> str | None:
    wrong = _text(value)
    return wrong if wrong or str(value).strip() else "it is blank"


def _reference(value: object) -> str | None:
    return None if value is None else _words(value)


def _severity(value: object) -> str | None:
    known = ", ".join(RISK_SEVERITIES)
    return None if value in RISK_SEVERITIES else f"{value!r} is none of {known}"


def _texts(value: object) -> str | None:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return None
    return f"{value!r} is no list of texts"


def _constraints(value: object) -> str | None:
    if not isinstance(value, dict):
        return f"{value!r} has no lists {', '.join(GROUPS)}"
    wrong = ((name, _texts(value[name])) for name in GROUPS if name in value)
    return next((f"{name}: {message}" for name, message in wrong if message), None)


def _changes(value: object) -> str | None:
    if not isinstance(value, dict):
        return f"{value!r} names no part of a plan"
    return _parts(value, _PLAN_TEXT)


def _number(value: object) -> str | None:
    return None if type(value) is int and value > 0 else f"{value!r} is no number from 1"


def _numbers(value: object) -> str | None:
    if isinstance(value, list) and not any(map(_number, value)):
        return None
    return f"{value!r} is no list of numbers"


def _tasks(value: object) -> str | None:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return f"{value!r} is no list of tasks"
    for place, task in enumerate(value, 1):
        missing = next((name for name in _TASK if name not in task), None)
        wrong = _parts(task, _TASK_KNOWN) if missing is None else f"{missing} is missing"
        if wrong:
            return f"task {place}: {wrong}"
    return None


def _task_type(value: object) -> str | None:
    return None if value in set(TaskType) else f"{value!r} is no type of a task"


def _artifacts(value: object) -> str | None:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return f"{value!r} is no list of artifacts"
    for each in value:
        path, digest = each.get("path"), each.get("sha256")
        if not _lies_below_root(path):
            return f"the path {path!r} does not lie below the root"
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            return f"{path} has the sha256 {digest!r}, which is none"
    return None


def _lies_below_root(path: object) -> bool:
    return isinstance(path, str) and path != "" and path[0] != "/" and ".." not in path.split("/")


def _hashes(value: object) -> str | None:
    if isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
        return None
    return f"{value!r} does not have a text for each path"


def _parts(value: Data, known: Mapping[str, Check]) -> str | None:
    wrong = ((name, known[name](value[name])) for name in known if name in value)
    return next((f"{name}: {message}" for name, message in wrong if message), None)


_PLAN_TEXT: Mapping[str, Check] = {**dict.fromkeys(TEXTS, _text), "constraints": _constraints}
_TASK: Mapping[str, Check] = {
    "number": _number,
    "title": _text,
    "description": _text,
    "files": _texts,
    "creates": _texts,
    "criteria": _texts,
    "depends_on": _numbers,
    "line": _number,
}
_TASK_KNOWN: Mapping[str, Check] = {**_TASK, "type": _task_type, "finding": _text}
"""The same with what most tasks say nothing of."""
FIELDS: Mapping[str, tuple[Mapping[str, Check], Mapping[str, Check]]] = {
    "plan.explored": (_PLAN_TEXT, {"supersedes": _reference}),
    "plan.edited": ({}, _PLAN_TEXT),
    "plan.promoted": ({}, {}),
    "plan.amended": ({"changes": _changes, "reason": _words}, {}),
    "plan.superseded": ({"by": _words}, {}),
    "plan.imported": ({"origin": _words, "files": _hashes}, {"artifacts": _artifacts}),
    "decision.recorded": (
        {"decision": _words, "reason": _words, "impact": _words},
        {"supersedes": _reference, "at": _words},
    ),
    "risk.recorded": ({"id": _words, "severity": _severity, "text": _words}, {"at": _words}),
    "invariant.proposed": ({"text": _words, "reason": _words}, {}),
    "invariant.promoted": ({"id": _words}, {}),
    "plan.tried": ({"try": _number, "answer": _text, "findings": _texts}, {}),
    "tasks.generated": ({"tasks": _tasks}, {}),
}
"""For each kind the fields that it must have and those that it may have."""
