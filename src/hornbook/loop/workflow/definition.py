"""A workflow as it was written: steps, conditions and actions, frozen and checked."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from hornbook.context.templates.context_settings import remedy
from hornbook.located import JsonKind, Node, below
from hornbook.loop.workflow.expressions import (
    LIMITS,
    ExpressionTemplate,
    Reference,
    Templated,
    as_written,
)
from hornbook.loop.workflow.subjects import SUBJECTS, ActionType, Subject, subject_named

SHIPPED = ("plan-and-execute", "plan-refinement", "design-refinement", "task-decomposition")
ITERATION = ("execution", "iteration")
DURATION = r"(?=.*[1-9])([0-9]{1,4}h)?([0-9]{1,4}m)?([0-9]{1,4}s)?"
_DURATION = re.compile(DURATION)
_SECONDS = (3600, 60, 1)


def seconds_of(duration: str) -> int | None:
    """The seconds of a duration such as `30s`, `5m` or `1h30m`; None if it is none."""
    found = _DURATION.fullmatch(duration)
    if found is None:
        return None
    amounts = [int(part[:-1]) if part else 0 for part in found.groups()]
    return sum(amount * unit for amount, unit in zip(amounts, _SECONDS, strict=True))


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold before a step's action is done."""

    field: Reference
    operator: str
    value: Templated

    @property
    def written(self) -> str:
        """The condition in one line, for people."""
        return f"{self.field.name} {self.operator} {as_written(self.value)}"

    @property
    def limits_iterations(self) -> bool:
        """Whether it holds for a bounded number of iterations only."""
        return (
            self.field.path == ITERATION
            and self.operator in LIMITS
            and isinstance(self.value, int | float)
        )


@dataclass(frozen=True, slots=True)
class Action:
    """What a step does; role, model and prompt are an agent's, the payload is the others'."""

    type: ActionType
    subject: str
    role: str | None = None
    model: ExpressionTemplate | None = None
    prompt: ExpressionTemplate | None = None
    payload: Mapping[str, Templated] = field(default_factory=dict)

    @property
    def rule(self) -> Subject:
        """What the table says of its subject."""
        return subject_named(self.subject) or SUBJECTS[self.subject]


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its action, what must hold before it, and where the run goes after it.

    Without `on_success` the run ends after it; without `on_fail` a failure escalates. Its result is
    kept under its own name and under `output_as`; the newest result under a name counts.
    """

    name: str
    action: Action
    condition: Condition | None = None
    on_success: str | None = None
    on_fail: str | None = None
    timeout: int | None = None
    output_as: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which its result is kept."""
        return (self.name, self.output_as) if self.output_as else (self.name,)

    @property
    def starts_iteration(self) -> bool:
        """Whether doing it is a new attempt: its condition limits the iterations."""
        return self.condition is not None and self.condition.limits_iterations


@dataclass(frozen=True, slots=True)
class Workflow:
    """A definition that was loaded without an error; times are in seconds."""

    id: str
    version: str
    steps: tuple[Step, ...]
    timeout: int
    max_iterations: int
    name: str = ""
    description: str = ""
    enabled: bool = True

    def step(self, name: str) -> Step:
        """The step of that name, which is there: targets were checked at load."""
        return next(step for step in self.steps if step.name == name)


class Workflows(Mapping[str, Workflow], ABC):
    """The workflows of a repository by their ids, as its work tree has them."""

    __slots__ = ()

    @abstractmethod
    def at(self, commit: str) -> Mapping[str, Workflow]:
        """Those that a commit has."""


@dataclass(frozen=True, slots=True)
class WorkflowFinding:
    """Something wrong with a definition: `path` names the value, `line` its place in the file."""

    code: str
    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Key:
    """A member that an object may have; None is any kind."""

    kind: JsonKind | None
    required: bool = False


@dataclass(slots=True)
class Notebook:
    """Collects findings while a definition is read, so that all are told at once."""

    errors: list[WorkflowFinding] = field(default_factory=list)
    warnings: list[WorkflowFinding] = field(default_factory=list)

    def wrong(self, code: str, path: str, line: int, message: str) -> None:
        """Notes an error."""
        self.errors.append(WorkflowFinding(code, path, line, message))

    def doubtful(self, code: str, path: str, line: int, message: str) -> None:
        """Notes a warning."""
        self.warnings.append(WorkflowFinding(code, path, line, message))

    def members(self, node: Node, path: str, keys: Mapping[str, Key]) -> Mapping[str, Node]:
        """The members of an object that are known and of the right kind; the rest is noted."""
        good = {}
        for name, member in node.members.items():
            place = below(path, name)
            if name not in keys:
                message = f"`{name}` is not known here: {remedy(name, keys)}"
                self.wrong(f"unknown_key:{name}", place, node.key_lines[name], message)
            elif self.of_kind(member, place, name, keys[name].kind):
                good[name] = member
        for name, key in keys.items():
            if key.required and name not in node.members:
                message = f"`{name}` is missing: add it."
                self.wrong(f"missing_key:{name}", path, node.line, message)
        return good

    def of_kind(self, node: Node, path: str, name: str, kind: JsonKind | None) -> bool:
        """Whether a value is of a kind; noted if not."""
        if kind is None or node.kind is kind:
            return True
        message = f"`{name}` is of kind {node.kind}: write one of kind {kind}."
        self.wrong(f"bad_value:{name}", path, node.line, message)
        return False
