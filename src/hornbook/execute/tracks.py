"""Reads the files of a track: specification, plan, decisions and risks as another layout has them.

Whatever is not understood stays in the text of the plan or is told with its line.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hornbook.execute.plan_text import outside_fences
from hornbook.model.plan import RISK_SEVERITIES, Constraints
from hornbook.text.constraint_bullets import KINDS, read_bullet

NOT_STATED = "not stated"

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FIELD = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?\**(?P<name>[A-Za-z][A-Za-z ]{0,20}?)\**[ \t]*:\**[ \t]*(?P<value>.*)"
)
_TAGGED = re.compile(
    r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\**(?P<id>[A-Za-z]+-?\d+)\**[ \t:.-]*)?"
    r"(?:[\[(]\**(?P<severity>low|medium|high|critical)\**[\])][ \t]*:?[ \t]*)?(?P<text>\S.*)",
    re.IGNORECASE,
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")

SITUATION = frozenset({"situation", "background", "context", "problem", "current state"})
MISSION = frozenset({"mission", "goal", "goals", "objective", "objectives", "intent"})
CRITERIA = frozenset({"criteria", "success criteria", "acceptance criteria", "acceptance"})
COORDINATION = frozenset({"coordination", "dependencies", "risks/dependencies"})


@dataclass(frozen=True, slots=True)
class Specification:
    """What a SPEC.md says: its title, the situation, and the mission with its criteria."""

    title: str
    situation: str
    mission: str


@dataclass(frozen=True, slots=True)
class Approach:
    """What a PLAN.md says: how it is done, how far it reaches, what it depends on."""

    execution: str
    constraints: Constraints
    coordination: str


@dataclass(frozen=True, slots=True)
class Notes:
    """The entries of a record, and the lines that belong to none."""

    entries: tuple[Mapping[str, str], ...]
    strays: tuple[tuple[int, str], ...] = ()
    assumed: tuple[str, ...] = ()
    """What an entry did not say and was filled in."""


def read_specification(text: str) -> Specification:
    """Situation, mission and criteria of a SPEC.md; other sections are part of the situation."""
    title, sections = _sections(text)
    found: dict[str, list[str]] = {"situation": [], "mission": [], "criteria": []}
    for heading, body in sections:
        name = heading.lower().rstrip(":")
        if name in CRITERIA:
            found["criteria"].append(_items(body))
        elif name in MISSION:
            found["mission"].append(body)
        elif name in SITUATION or not heading:
            found["situation"].append(body)
        else:
            found["situation"].append(f"### {heading}\n\n{body}".strip())
    mission = found["mission"]
    if found["criteria"]:
        mission = [*mission, "Success criteria:\n\n" + "\n".join(found["criteria"])]
    return Specification(title, _joined(found["situation"]), _joined(mission))


def read_approach(text: str) -> Approach:
    """The steps of a PLAN.md, with the constraints and dependencies that it names."""
    _, sections = _sections(text)
    execution: list[str] = []
    coordination: list[str] = []
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for heading, body in sections:
        name = heading.lower().rstrip(":")
        if name == "constraints":
            rest = _taken(body, found)
            execution += [f"### {heading}\n\n{rest}"] if rest else []
        elif name in COORDINATION:
            coordination.append(body)
        elif not heading or name in {"execution", "plan", "steps", "tasks"}:
            execution.append(body)
        else:
            execution.append(f"### {heading}\n\n{body}".strip())
    constraints = Constraints(*(tuple(found[kind]) for kind in KINDS))
    return Approach(_joined(execution), constraints, _joined(coordination))


def read_decisions(text: str) -> Notes:
    """The decisions of a record, each with decision, reason and impact, and its time if stated."""
    return _notes(text, "decision", {"reason", "impact"}, {"at", "date", "time", "id"})


def read_risks(text: str) -> Notes:
    """The risks of a record: entries of fields, or bullets such as `- R1 [high]: text`."""
    fields = _notes(text, "risk", set(), {"severity", "id", "at", "date", "mitigation"})
    entries: list[Mapping[str, str]] = list(fields.entries)
    strays, assumed = [], list(fields.assumed)
    for line, words in fields.strays:
        found = _TAGGED.fullmatch(words)
        if found is None:
            strays.append((line, words))
            continue
        severity = {"severity": found["severity"].lower()} if found["severity"] else {}
        name = {"id": found["id"]} if found["id"] else {}
        entries.append({"risk": found["text"], **severity, **name})
    made = []
    for number, entry in enumerate(entries, 1):
        said = dict(entry)
        if said.get("severity", "").lower() not in RISK_SEVERITIES:
            assumed.append(f"risk {number} has no severity that is known: medium is assumed")
            said["severity"] = "medium"
        said["severity"] = said["severity"].lower()
        said.setdefault("id", f"R{number}")
        made.append(said)
    return Notes(tuple(made), tuple(strays), tuple(assumed))


def _notes(text: str, first: str, required: set[str], optional: set[str]) -> Notes:
    entries: list[dict[str, str]] = []
    strays: list[tuple[int, str]] = []
    dated = ""
    last = ""
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            when = _TIME.search(heading[2])
            dated, last = (when[0] if when else dated), ""
            strays += [] if when or number == 1 else [(number, line)]
            continue
        field = _FIELD.fullmatch(line)
        name = field["name"].lower() if field is not None else ""
        if field is not None and name == first:
            entries.append({first: field["value"], **({"at": dated} if dated else {})})
            last = first
        elif field is not None and entries and last and name in required | optional:
            last = "at" if name in {"date", "time"} else name
            entries[-1][last] = field["value"]
        elif line.strip() and last and line[0] in " \t":
            entries[-1][last] += f"\n{line.strip()}"
        elif line.strip():
            strays.append((number, line))
            last = ""
    return _completed(entries, strays, first, required)


def _completed(
    entries: Sequence[dict[str, str]],
    strays: Sequence[tuple[int, str]],
    first: str,
    required: Iterable[str],
) -> Notes:
    assumed = []
    for number, entry in enumerate(entries, 1):
        for name in (first, *sorted(required)):
            if not entry.get(name, "").strip():
                entry[name] = NOT_STATED
                assumed.append(f"{first} {number} does not state its {name}")
    return Notes(tuple(entries), tuple(strays), tuple(assumed))


def _sections(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The title of a text, and its sections by their headings; the first has none."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    title = ""
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line, outside in zip(lines, outside_fences(lines), strict=True):
        heading = _HEADING.fullmatch(line) if outside else None
        if heading is not None and len(heading[1]) == 1 and not title:
            title = heading[2]
        elif heading is not None and len(heading[1]) <= 2:
            sections.append((heading[2], []))
        else:
            sections[-1][1].append(line)
    found = [(name, "\n".join(body).strip()) for name, body in sections]
    return title, [(name, body) for name, body in found if name or body]


def _items(body: str) -> str:
    """Criteria as items that the check of a plan reads."""
    lines = [line for line in body.split("\n") if line.strip()]
    listed = any(re.match(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]", line) for line in lines)
    return "\n".join(lines if listed else [f"- {line.strip()}" for line in lines])


def _taken(body: str, found: dict[str, list[str]]) -> str:
    """What of a text is no constraint; the constraints are added to `found`."""
    rest = []
    for line in body.split("\n"):
        bullet = read_bullet(line)
        if bullet is None:
            rest.append(line)
        else:
            found[bullet[0]] += bullet[1]
    return "\n".join(rest).strip()


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())
