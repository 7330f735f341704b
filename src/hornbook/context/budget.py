"""The room that a model's window leaves, in tokens: for a task, a review, a developer's step.

The constants are those of the source documents, each a setting of `budget`; all is reckoned in
integers, so that the same settings give the same limits everywhere.
"""

from dataclasses import dataclass

from hornbook.errors import ConfigError, UsageError
from hornbook.settings.models import Endpoint
from hornbook.settings.reserve import Reserve, ReserveFrom, SettingsOfBase
from hornbook.settings.settings import Budget, Settings


def endpoint(settings: Settings, name: str | None) -> tuple[str, Endpoint]:
    """The model that is meant: by name, by capability, or the one that reviews.

    Raises:
        UsageError: There is none of that name.
    """
    found = settings.registry().resolve(name or "reviewing")
    if found is None:
        known = ", ".join(sorted(settings.registry().endpoints))
        raise UsageError(f"no model {name!r}: known are {known}; add it under models.endpoints.")
    return found


@dataclass(frozen=True, slots=True)
class RoomAsked:
    """What a question says of the room: a model or window, a reserve, and whose settings decide.

    Without a base they are those of the work tree.
    """

    model: str | None = None
    window: int | None = None
    reserve: str | int | None = None
    base: SettingsOfBase | None = None


AS_SET = RoomAsked()


@dataclass(frozen=True, slots=True)
class TaskRoom:
    """What a window leaves for a task: `limit` is how much of `available` it may fill."""

    window: int
    available: int
    limit: int


@dataclass(frozen=True, slots=True)
class ReviewRoom:
    """The budgets of a review, in tokens.

    `diff` is the room of the change beside `planned` tokens of rules. Rules may take more, up to
    the reserve, as far as the change leaves it: so a large reserve never shrinks what fits.
    """

    window: int
    instructions: int
    reserve: int
    situation: int
    diff: int
    task: int = 0
    core: int = 0
    planned: int = 4000
    reserve_from: ReserveFrom = ReserveFrom.DEFAULT
    reserve_said: str = ""

    def rules_beside(self, diff: int) -> int:
        """The room for rules beside a change of so many tokens."""
        return min(self.reserve, max(self.planned, self.planned + self.diff - diff))

    def diff_beside(self, rules: int) -> int:
        """The room for a change beside so many tokens of rules."""
        return self.diff - max(0, min(rules, self.reserve) - self.planned)


@dataclass(frozen=True, slots=True)
class DevelopRoom:
    """The budgets of a developer's step, in tokens."""

    window: int
    instructions: int
    plan: int
    task: int
    feedback: int
    files: int
    rules: int = 0
    core: int = 0
    notes: int = 0
    recent: int = 0

    @property
    def growing(self) -> int:
        """The room of the sections that grow with the work."""
        return self.plan + self.task + self.notes + self.feedback + self.recent


def task_room(window: int, *, sweet_spot: int, budget: Budget) -> TaskRoom:
    """The room that a window leaves for a task.

    Raises:
        ConfigError: The window is too small to leave any.
    """
    fixed = budget.system_prompt + budget.plan + budget.rules + budget.response
    available = window - fixed - window * budget.safety_percent // 100
    if available <= 0:
        message = (
            f"a window of {window} tokens leaves {available} for a task "
            f"({fixed} are reserved, {budget.safety_percent} % are kept free): "
            "use a model with a larger window, or lower the budget in .hornbook/config.yaml."
        )
        raise ConfigError([message])
    limit = min(sweet_spot, available) if sweet_spot else available * budget.task_percent // 100
    return TaskRoom(window, available, limit)


def too_large(estimate: int, given: TaskRoom, *, sweet_spot: int, budget: Budget) -> bool:
    """Whether an estimate is over the limit; the share is compared without rounding."""
    if sweet_spot:
        return estimate > given.limit
    return estimate * 100 > given.available * budget.task_percent


def review_room(
    settings: Settings, window: int, reserve: Reserve, *, planned: bool = False
) -> ReviewRoom:
    """The budgets of a review in a window; a task is part of the working memory.

    Raises:
        UsageError: The window leaves nothing for a change.
    """
    budget = settings.budget
    fixed = budget.system_prompt + reserve.planned + budget.working_memory + budget.output
    diff = window - fixed - window * budget.safety_percent // 100
    if diff <= 0:
        raise UsageError(
            f"a window of {window} tokens leaves {diff} for a change ({fixed} are reserved, "
            f"{budget.safety_percent} % are kept free): use a model with a larger window."
        )
    taken = budget.task if planned else 0
    return ReviewRoom(
        window=window,
        instructions=budget.system_prompt,
        reserve=reserve.tokens,
        situation=max(0, budget.working_memory - taken),
        diff=diff,
        task=budget.task,
        planned=reserve.planned,
        reserve_from=reserve.source,
        reserve_said=reserve.said,
    )


def develop_room(settings: Settings, chosen: Endpoint) -> DevelopRoom:
    """The budgets of a developer's step in a model's window.

    Raises:
        ConfigError: The window is too small for any task.
    """
    budget, window = settings.budget, chosen.max_tokens
    task = task_room(window, sweet_spot=chosen.sweet_spot, budget=budget)
    return DevelopRoom(
        window=window,
        instructions=budget.system_prompt,
        plan=budget.plan,
        task=budget.task,
        feedback=budget.feedback,
        files=task.limit,
        core=budget.core,
        notes=budget.notes,
        recent=budget.recent,
        rules=settings.reserve_of(window),
    )
