"""What the data of a plan's events must be, field by field: whatever else a log holds."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hornbook.execute.events import Data, Event
from hornbook.model.plan import RISK_SEVERITIES

TEXTS = ("title", "situation", "mission", "execution", "coordination")
GROUPS = ("in", "out", "do_not_touch")

_SHA256 = re.compile(r"[0-9a-f]{64}")

Check = Callable[[object], str | None]
"""Says what is wrong with a value; None if nothing is."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A field of an event that is not what its kind demands."""

    seq: int
    event: str
    kind: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"event {self.seq} ({self.event[:12]}, {self.kind}), `{self.field}`: {self.message}"


def violations(events: Iterable[Event]) -> tuple[Violation, ...]:
    """Every field of some events that is not what its kind demands; kinds we do not know pass."""
    return tuple(found for event in events for found in faults(event))


def faults(event: Event) -> list[Violation]:
    """Every field of an event that is not what its kind demands."""
    said: list[tuple[str, str]] = []
    required, optional = FIELDS.get(event.kind, ({}, {}))
    for name, check in {**required, **optional}.items():
        if name not in event.data:
            said += [(name, "it is missing")] if name in required else []
            continue
        wrong = check(event.data[name])
        said += [(name, wrong)] if wrong is not None else []
    return [Violation(event.seq, event.hash, event.kind, name, wrong) for name, wrong in said]


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
        missing = [name for name in _TASK if name not in task]
        wrong = f"{missing[0]} is missing" if missing else _parts(task, _TASK)
        if wrong:
            return f"task {place}: {wrong}"
    return None


def _artifacts(value: object) -> str | None:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return f"{value!r} is no list of artifacts"
    for each in value:
        path, digest = each.get("path"), each.get("sha256")
        if not isinstance(path, str) or not path or path[0] == "/" or ".." in path.split("/"):
            return f"the path {path!r} does not lie below the root"
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            return f"{path} has the sha256 {digest!r}, which is none"
    return None


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
