"""What an agent says beside its work: a form in the text of its answer, as fenced JSON."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hornbook.model.agents import Subtask

KEYS = ("continuation", "decisions", "risks", "files", "escalate")
_FENCE = re.compile(r"^(`{3,}|~{3,})json[ \t]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_DECISION = ("decision", "reason", "impact")
_RISK = ("id", "severity", "text")

Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Said:
    """What the forms of an answer say; `problems` names what could not be read."""

    subtask: Subtask | None = None
    decisions: tuple[Triple, ...] = ()
    risks: tuple[Triple, ...] = ()
    files: tuple[str, ...] | None = None
    escalation: str | None = None
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _Form:
    subtask: Subtask | None = None
    decisions: list[Triple] = field(default_factory=list)
    risks: list[Triple] = field(default_factory=list)
    files: list[str] | None = None
    escalation: str | None = None
    problems: list[str] = field(default_factory=list)


def said_in(text: str) -> Said:
    """Read every fenced JSON object that has one of our keys; any other JSON is prose."""
    form = _Form()
    for found in _objects(text, form.problems):
        unknown = sorted(found.keys() - set(KEYS))
        if unknown:
            form.problems.append(f"unknown key {', '.join(unknown)}: known are {', '.join(KEYS)}.")
        if "continuation" in found:
            _continue(found["continuation"], form)
        form.decisions += _triples(found.get("decisions", []), "decisions", _DECISION, form)
        form.risks += _triples(found.get("risks", []), "risks", _RISK, form)
        if "files" in found:
            form.files = (form.files or []) + _texts(found["files"], "files", form)
        if "escalate" in found:
            form.escalation = str(found["escalate"]).strip() or "the agent gave no reason"
    return Said(
        form.subtask,
        tuple(form.decisions),
        tuple(form.risks),
        None if form.files is None else tuple(form.files),
        form.escalation,
        tuple(form.problems),
    )


def _objects(text: str, problems: list[str]) -> Iterator[dict[str, object]]:
    for fence in _FENCE.finditer(text):
        try:
            found = json.loads(fence[2])
        except ValueError as problem:
            if any(f'"{key}"' in fence[2] for key in KEYS):
                problems.append(f"a form is not JSON: {problem}.")
            continue
        if isinstance(found, dict) and not found.keys().isdisjoint(KEYS):
            yield found


def _continue(value: object, form: _Form) -> None:
    if not isinstance(value, dict) or not str(value.get("description") or "").strip():
        form.problems.append("`continuation` has no description: say what is to be done first.")
        return
    unknown = sorted(value.keys() - {"description", "files", "criteria"})
    if unknown:
        form.problems.append(f"unknown key {', '.join(unknown)} in `continuation`.")
    if form.subtask is not None:
        form.problems.append("`continuation` stands twice: ask for one subtask at a time.")
        return
    files = _texts(value.get("files", []), "continuation.files", form)
    criteria = _texts(value.get("criteria", []), "continuation.criteria", form)
    form.subtask = Subtask(str(value["description"]).strip(), tuple(files), tuple(criteria))


def _texts(value: object, name: str, form: _Form) -> list[str]:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return list(value)
    form.problems.append(f"`{name}` is no list of texts.")
    return []


def _triples(value: object, name: str, keys: tuple[str, ...], form: _Form) -> list[Triple]:
    if not isinstance(value, list):
        form.problems.append(f"`{name}` is no list.")
        return []
    found: list[Triple] = []
    for entry in value:
        if isinstance(entry, dict) and all(str(entry.get(key) or "").strip() for key in keys):
            first, second, third = (str(entry[key]).strip() for key in keys)
            found.append((first, second, third))
        else:
            form.problems.append(f"an entry of `{name}` lacks one of {', '.join(keys)}.")
    return found
