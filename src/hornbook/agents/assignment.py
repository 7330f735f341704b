"""What an agent is asked to do, and what it answered; neither is ever taken for the truth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from hornbook.gates.gate import GateResult
from hornbook.plans.plan import Constraints

if TYPE_CHECKING:
    from hornbook.gates.gate_list import GateList


class Role(StrEnum):
    """Who acts: each role has its own objective and sees only what that needs."""

    PLANNER = "planner"
    DEVELOPER = "developer"
    REVIEWER = "reviewer"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one call of an agent may cost."""

    seconds: int = 600
    steps: int = 400
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call cost, as far as the agent told, or its model's prices say.

    Agents that tell a cost tell it in US dollars.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    steps: int = 0
    cost: float | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class RuleViolation:
    """What a review or a check found, and what it looks for as far as a developer may know."""

    id: str
    check_id: str
    severity: str
    file_path: str
    message: str
    fix_hint: str = ""
    line: int | None = None
    pattern: str = ""
    requirement: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One attempt of one role at one task.

    `prompt` is the assembled context, whole; `folder` the worktree that the agent works in (for a
    reviewer and a planner it is read-only); `schema` the JSON schema of the answer as text, where
    one is wanted. `key` is the same when the same attempt is asked for again after a crash.
    `phase` is the type of the task for a developer, `violation` what a developer is to mend.
    `withheld` are rules by id that nothing the agent is shown later may quote. `gates` are those
    that will judge the work; `told_apart` tells what was red before anybody worked, and is known,
    apart from what is new. `pause` is asked between the steps of an agent that is ours: why nothing
    more may be paid for now, if so. `is_over` tells whether the answer still matters: once it does
    not, whoever works is ended.
    """

    key: str
    role: Role
    task_id: str
    attempt: int
    folder: str
    prompt: str
    system: str = ""
    phase: str = "implement_feature"
    files: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    constraints: Constraints = field(default=Constraints())
    feedback: str = ""
    violation: RuleViolation | None = None
    schema: str = ""
    model: str | None = None
    limits: Limits = field(default=Limits())
    withheld: Mapping[str, str] = field(default_factory=dict)
    gates: "GateList | None" = None
    told_apart: Callable[[GateResult], GateResult] | None = None
    pause: Callable[[], str | None] | None = None
    is_over: Callable[[], bool] = field(default=lambda: False, repr=False)


@dataclass(frozen=True, slots=True)
class Subtask:
    """A piece of work that an agent asks to be done first: CONTINUATION."""

    description: str
    files: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `error` is set when the agent did not do its work; `retry_after` when it
    should be asked again later (a rate limit, a server that is down), which is no attempt.

    `claimed_files` is what the agent says it changed; git says what it did. `cut` is set when the
    text ends where the model had no more room; `notes` tell how else the answer came about.
    """

    text: str = ""
    error: str | None = None
    retry_after: float | None = None
    claimed_files: tuple[str, ...] | None = None
    subtask: Subtask | None = None
    escalation: str | None = None
    decisions: tuple[tuple[str, str, str], ...] = ()
    risks: tuple[tuple[str, str, str], ...] = ()
    usage: Usage = field(default=Usage())
    exit_code: int | None = None
    log: str | None = None
    cut: bool = False
    notes: tuple[str, ...] = ()


Record = Callable[[Mapping[str, object]], None]
"""Told what happened while an agent worked, as plain values: each becomes an event."""


def nowhere(_told: Mapping[str, object]) -> None:
    """A record that nobody keeps."""


class Agent(Protocol):
    """Someone who can be given an assignment.

    The answer is what the agent says; nothing in it is taken for the truth.
    """

    @property
    def name(self) -> str:
        """What the agent is called in settings and events."""
        ...

    def work(self, assignment: Assignment, record: Record) -> Answer:
        """Do the assignment and answer; a failure of the agent is an answer too."""
        ...
