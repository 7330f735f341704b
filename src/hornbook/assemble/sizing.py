"""Whether a task fits: the budget of the source documents, in integers."""

from collections.abc import Sequence
from dataclasses import dataclass

from hornbook.errors import ConfigError
from hornbook.model.budget import Budget
from hornbook.model.context import Reason

HEURISTIC_SAYS = (
    "four characters a token: JSON, base64 and non-Latin scripts can have twice as many"
)


@dataclass(frozen=True, slots=True)
class Room:
    """What a window leaves for a task: `limit` is how much of `available` it may fill."""

    window: int
    available: int
    limit: int


@dataclass(frozen=True, slots=True)
class SizedFile:
    """One file of a task; `note` says why its content was not counted."""

    path: str
    tokens: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Sizing:
    """The answer: the estimate, the room, and every reason why the task does not fit."""

    estimate: int
    available: int
    limit: int
    window: int
    files: tuple[SizedFile, ...]
    fits: bool
    reasons: tuple[Reason, ...]
    warnings: tuple[Reason, ...]
    counter: str
    model: str


def room(window: int, *, reserve: int, sweet_spot: int, budget: Budget) -> Room:
    """The room that a window leaves for a task.

    Raises:
        ConfigError: The window is too small to leave any.
    """
    fixed = budget.system_prompt + budget.plan + reserve + budget.response
    available = window - fixed - window * budget.safety_percent // 100
    if available <= 0:
        message = (
            f"a window of {window} tokens leaves {available} for a task "
            f"({fixed} are reserved, {budget.safety_percent} % are kept free): "
            "use a model with a larger window, or lower the budget in .hornbook/config.yaml."
        )
        raise ConfigError([message])
    limit = min(sweet_spot, available) if sweet_spot else available * budget.task_percent // 100
    return Room(window, available, limit)


def too_large(estimate: int, given: Room, *, sweet_spot: int, budget: Budget) -> bool:
    """Whether an estimate is over the limit; the share is compared without rounding."""
    if sweet_spot:
        return estimate > given.limit
    return estimate * 100 > given.available * budget.task_percent


def reasons_against(
    estimate: int,
    files: Sequence[SizedFile],
    given: Room,
    *,
    rule_tokens: int,
    reserve: int,
    sweet_spot: int,
    budget: Budget,
) -> tuple[Reason, ...]:
    """Every reason why the task does not fit."""
    found = []
    if too_large(estimate, given, sweet_spot=sweet_spot, budget=budget):
        found.append(
            Reason(
                "over_budget",
                f"the task needs {estimate} tokens, {given.limit} of {given.available} "
                "may be used: split the task.",
            )
        )
    if len(files) > budget.most_files:
        found.append(
            Reason(
                "too_many_files",
                f"the task has {len(files)} files, {budget.most_files} are the most: "
                "split the task.",
            )
        )
    if rule_tokens > reserve:
        found.append(
            Reason(
                "sop_over_reserve",
                f"the rules of these files need {rule_tokens} tokens, {reserve} are reserved: "
                "split the files, narrow the rules, or raise `reserve`.",
            )
        )
    return tuple(found)


def warnings_about(files: Sequence[SizedFile], budget: Budget) -> tuple[Reason, ...]:
    """What is worth knowing although it fits."""
    if budget.warn_files < len(files) <= budget.most_files:
        text = f"{len(files)} files are probably too many for one task: consider splitting it."
        return (Reason("many_files", text),)
    return ()
