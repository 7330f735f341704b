"""A plan: what a team commits to, and how far the work on it may reach."""

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Constraints:
    """Globs of the files that are in scope, excluded from it, and not to be touched at all.

    An empty `inside` puts everything in scope that the other two do not take out.
    """

    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    do_not_touch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A commitment in five sections; `committed` is false while it is explored.

    Times are ISO 8601 in UTC.
    """

    slug: str
    title: str
    committed: bool = False
    situation: str = ""
    mission: str = ""
    execution: str = ""
    constraints: Constraints = field(default=Constraints())
    coordination: str = ""
    created_at: str = ""
    committed_at: str | None = None
    supersedes: str | None = None
    """The slug of the plan that this one takes the place of, once it is committed."""

    @property
    def id(self) -> str:
        """The id of the plan's entity."""
        return f"plan.{self.slug}"


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """A decision that was taken while a plan was made or carried out."""

    id: str
    decision: str
    reason: str
    impact: str
    at: str
    supersedes: str | None = None
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Risk:
    """What may go wrong with a plan, as it was last said."""

    id: str
    severity: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Invariant:
    """Something that a plan's work found to hold always; it binds once a person promoted it."""

    id: str
    text: str
    reason: str
    at: str
    promoted_at: str | None = None


RISK_SEVERITIES = ("low", "medium", "high", "critical")


class TaskType(StrEnum):
    """What kind of work a task is: what its steps are shown and what shows that it is done.

    `write_tests` writes tests that fail until the feature is there, `fix_violation` mends what a
    review or a gate found, `refine` answers feedback and changes nothing else.
    """

    IMPLEMENT_FEATURE = "implement_feature"
    WRITE_TESTS = "write_tests"
    FIX_VIOLATION = "fix_violation"
    REFINE = "refine"


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One task of a plan: a node of a DAG.

    `creates` are those of its files that need not exist, `depends_on` the numbers of the tasks
    that come first, `line` counts within the plan's execution section. `finding` names a recorded
    review, and after a colon a rule of it, whose violation the task mends.
    """

    number: int
    title: str
    description: str = ""
    files: tuple[str, ...] = ()
    creates: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    depends_on: tuple[int, ...] = ()
    line: int = 1
    type: TaskType = TaskType.IMPLEMENT_FEATURE
    finding: str = ""

    def id_in(self, slug: str) -> str:
        """The id of the task's entity in the plan with this slug."""
        return f"task.{slug}.{self.number}"
