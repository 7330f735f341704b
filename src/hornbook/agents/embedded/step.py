"""One step of the embedded developer: its task, its record, and what it remembers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final

from hornbook.agents.assignment import Assignment, RuleViolation
from hornbook.agents.embedded.fitting import RECENT, one_line
from hornbook.errors import UsageError
from hornbook.gates.gate import GateResult, GateStatus
from hornbook.plans.plan import Constraints
from hornbook.plans.working_memory import MAX_ITEMS


class Schema(StrEnum):
    """The shapes of the current state."""

    FIX_VIOLATION = "fix_violation"
    IMPLEMENT_FEATURE = "implement_feature"
    WRITE_TESTS = "write_tests"


SCHEMA_TOKENS: Final[dict[Schema, int]] = {
    Schema.FIX_VIOLATION: 6000,
    Schema.IMPLEMENT_FEATURE: 8000,
    Schema.WRITE_TESTS: 6000,
}
"""The most tokens that both messages of a step may have together, for each schema."""

TOKEN_BUDGET: Final[dict[str, int]] = {
    "system_prompt": 1000,
    "task_frame": 500,
    "current_state": 4500,
    "recent_actions": 1000,
    "verification_status": 200,
    "available_actions": 800,
}
"""The most tokens of each part of a step: 8000 in all."""


class Phase(StrEnum):
    """What the developer is at; each phase has its own system prompt."""

    FIX_VIOLATION = "fix_violation"
    IMPLEMENT_RED = "implement_red"
    IMPLEMENT_GREEN = "implement_green"
    REFINE = "refine"

    @property
    def schema(self) -> Schema:
        """The shape of the current state in this phase."""
        if self is Phase.FIX_VIOLATION:
            return Schema.FIX_VIOLATION
        return Schema.WRITE_TESTS if self is Phase.IMPLEMENT_RED else Schema.IMPLEMENT_FEATURE


_SCHEMA_PHASES: Final = {
    "implement_feature": Phase.IMPLEMENT_GREEN,
    "write_tests": Phase.IMPLEMENT_RED,
}


def phase_of(name: str) -> Phase:
    """The phase called `name`; `implement_feature` and `write_tests` name theirs by its schema.

    Raises:
        UsageError: No phase has that name.
    """
    if name in _SCHEMA_PHASES:
        return _SCHEMA_PHASES[name]
    if name in set(Phase):
        return Phase(name)
    known = [*Phase, *_SCHEMA_PHASES]
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {str(near[0])!r}? " if near else ""
    raise UsageError(f"no phase {name!r}: {hint}Use one of {', '.join(known)}.")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that the specification asks for, and what shows that it is there.

    Its criteria are called `AC-1`, `AC-2` and so on, and can be loaded by these names.
    """

    id: str
    description: str
    acceptance_criteria: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepTask:
    """A task as its steps see it; it does not change while they run.

    `specification` is the whole text that the developer was given, of which `spec_section` loads
    a part; `files` are those to create or to modify.
    """

    id: str
    goal: str
    phase: Phase
    success_criteria: tuple[str, ...] = ()
    scope: Constraints = field(default=Constraints())
    files: tuple[str, ...] = ()
    title: str = ""
    requirements: tuple[Requirement, ...] = ()
    constraints: tuple[str, ...] = ()
    test_requirements: tuple[str, ...] = ()
    violation: RuleViolation | None = None
    feedback: str = ""
    specification: str = ""

    @property
    def limits(self) -> tuple[str, ...]:
        """The constraints that the frame of a step tells: those that its schema does not."""
        told_below = self.phase.schema is Schema.IMPLEMENT_FEATURE
        return (*scope_lines(self.scope), *(() if told_below else self.constraints))

    @property
    def named_parts(self) -> dict[str, str]:
        """The requirements and criteria by what the context calls them, each whole."""
        found: dict[str, str] = {}
        for each in self.requirements:
            listed = (f"- {text}" for text in each.acceptance_criteria)
            found[each.id] = "\n".join([each.description, "", *listed]).strip()
            parts = (text.partition(": ") for text in each.acceptance_criteria)
            found |= {name: said for name, _, said in parts}
        return found


def scope_lines(scope: Constraints) -> tuple[str, ...]:
    """The scope of a plan in the words of its template."""
    parts: Sequence[tuple[str, tuple[str, ...]]] = (
        ("IN", scope.inside),
        ("OUT", scope.outside),
        ("DO NOT TOUCH", scope.do_not_touch),
    )
    return tuple(f"{word}: {', '.join(globs)}" for word, globs in parts if globs)


GOAL_CHARACTERS: Final = 300
_TASK: Final = re.compile(r"^# The task\n+(.*?)(?=^# |\Z)", re.MULTILINE | re.DOTALL)
_LIST: Final = r"^{}:\n((?:[-*] .*\n?)+)"
_SCOPE: Final = re.compile(r"(?:IN|OUT|DO NOT TOUCH): ")
_LISTED: Final = (
    "Acceptance criteria",
    "Constraints",
    "These commands must pass",
    "What they said before the work began",
)


def task_of(assignment: Assignment) -> StepTask:
    """The task of an assignment; its goal is the first paragraph under `# The task`.

    Raises:
        UsageError: The assignment's phase is not known.
    """
    found = _TASK.search(assignment.prompt)
    told = found[1] if found else assignment.prompt
    criteria = assignment.criteria or _listed(told, _LISTED[0])
    named = tuple(f"AC-{number}: {text}" for number, text in enumerate(criteria, 1))
    goal = _goal(told) or assignment.task_id
    asked = Requirement("REQ-1", _described(told) or goal, named)
    scope = scope_lines(assignment.constraints)
    return StepTask(
        id=assignment.task_id,
        goal=goal,
        phase=phase_of(assignment.phase),
        success_criteria=criteria,
        scope=assignment.constraints,
        files=assignment.files,
        title=goal,
        requirements=(asked,),
        constraints=tuple(
            line for line in _listed(told, _LISTED[1]) if not (scope and _SCOPE.match(line))
        ),
        test_requirements=tuple(f"{gate} must pass" for gate in _listed(told, _LISTED[2])),
        violation=assignment.violation,
        feedback=assignment.feedback,
        specification=assignment.prompt,
    )


def _goal(told: str) -> str:
    paragraphs = (part.strip() for part in re.split(r"\n\s*\n", told))
    first = next((part for part in paragraphs if part and not part.startswith("#")), "")
    return one_line(first, GOAL_CHARACTERS)


def _described(told: str) -> str:
    """The task in its own words: all that stands before its lists."""
    lists = re.compile(rf"^(?:{'|'.join(_LISTED)}):$", re.MULTILINE)
    return lists.split(told, maxsplit=1)[0].strip()


def _listed(told: str, heading: str) -> tuple[str, ...]:
    found = re.search(_LIST.format(re.escape(heading)), told, re.MULTILINE)
    lines = found[1].split("\n") if found else []
    return tuple(line[2:].strip() for line in lines if line.strip())


class Result(StrEnum):
    """How an action ended: `failing` says that it was done and required gates still fail."""

    SUCCESS = "success"
    FAILING = "failing"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file that a step changed: hashes of its bytes; without `before` it was created."""

    path: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step: the action that was asked for, what came of it, and what it cost.

    `gates` are the results of the gates that ran in it; `loads` is the key under which what it
    found is shown in the next steps. Step 0 holds the gates before anything was done.
    """

    step: int
    action: str
    parameters: tuple[tuple[str, str], ...] = ()
    target: str = ""
    result: Result = Result.SUCCESS
    summary: str = ""
    error: str | None = None
    change: FileEdit | None = None
    gates: tuple[GateResult, ...] = field(default=())
    loads: str | None = None
    tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    currency: str | None = None
    at: str = ""

    @property
    def given(self) -> dict[str, str]:
        """The parameters by name."""
        return dict(self.parameters)


def as_json(record: StepRecord) -> dict[str, Any]:  # a JSON object
    """The record as a line of `actions.jsonl` holds it."""
    return {**asdict(record), "parameters": record.given}


def from_json(data: Mapping[str, Any]) -> StepRecord:  # a JSON object
    """The record that a line of `actions.jsonl` holds.

    Raises:
        KeyError, TypeError, ValueError: It is not such an object.
    """
    change = data.get("change")
    gates = tuple(
        GateResult(
            **{
                **gate,
                "status": GateStatus(gate["status"]),
                "failing": tuple(gate.get("failing", ())),
            }
        )
        for gate in data["gates"]
    )
    return StepRecord(
        **{
            **data,
            "parameters": tuple((str(key), str(item)) for key, item in data["parameters"].items()),
            "result": Result(data["result"]),
            "change": None if change is None else FileEdit(**change),
            "gates": gates,
        }
    )


LOADED_ITEMS: Final = MAX_ITEMS - RECENT
EXPIRES_AFTER_STEPS: Final = 3


@dataclass(frozen=True, slots=True)
class LoadedItem:
    """What a step asked to see in the steps after it; a pinned item stays until it is cleared."""

    key: str
    record: StepRecord
    pinned: bool = False

    def expired(self, step: int) -> bool:
        """Whether the item is gone by the time that `step` is asked."""
        return not self.pinned and step - self.record.step > EXPIRES_AFTER_STEPS


def _without_cleared(items: list[LoadedItem], record: StepRecord) -> list[LoadedItem]:
    """The items without the one that the record names; without any if it names none."""
    return [item for item in items if record.given.get("item", item.key) != item.key]


def _with_loaded(items: list[LoadedItem], fresh: LoadedItem) -> list[LoadedItem]:
    others = [item for item in items if item.key != fresh.key]
    return [*_within(others, LOADED_ITEMS - 1), fresh]


def loaded_items(records: Iterable[StepRecord], step: int) -> tuple[LoadedItem, ...]:
    """What is loaded when `step` is asked, oldest first.

    First in, first out, pinned items aside; what is loaded again is new again.
    """
    items: list[LoadedItem] = []
    for record in records:
        items = [item for item in items if not item.expired(record.step)]
        if record.action == "clear_context" and record.error is None:
            items = _without_cleared(items, record)
        if record.loads is not None:
            fresh = LoadedItem(record.loads, record, record.given.get("pinned") == "true")
            items = _with_loaded(items, fresh)
    return tuple(item for item in items if not item.expired(step))


def has_room(items: Iterable[LoadedItem], key: str) -> bool:
    """Whether an item can be loaded: not when every slot is pinned by another."""
    return sum(item.pinned and item.key != key for item in items) < LOADED_ITEMS


def _within(items: list[LoadedItem], most: int) -> list[LoadedItem]:
    """The items without the oldest ones that are not pinned, until `most` are left."""
    kept = list(items)
    while len(kept) > most:
        oldest = next((item for item in kept if not item.pinned), None)
        if oldest is None:
            break
        kept.remove(oldest)
    return kept
