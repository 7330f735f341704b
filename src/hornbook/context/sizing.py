"""Whether a task fits: the budget of the source documents, in integers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbook.context.budget import AS_SET, RoomAsked, TaskRoom, endpoint, task_room, too_large
from hornbook.context.named_files import expanded
from hornbook.context.prompt import Reason
from hornbook.errors import UsageError
from hornbook.graph.snapshot import Snapshot
from hornbook.rules.code.generated import PATTERNS, is_generated
from hornbook.settings.reserve import Reserve, ReserveFrom, reserve_for
from hornbook.settings.settings import Budget, Settings
from hornbook.text.tokens import counter


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
    reserve: int
    reserve_from: ReserveFrom
    over_planned: bool


def reasons_against(
    estimate: int,
    files: Sequence[SizedFile],
    given: TaskRoom,
    *,
    rule_tokens: int,
    reserve: Reserve,
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
    if rule_tokens > reserve.tokens:
        found.append(
            Reason(
                "sop_over_reserve",
                f"the rules of these files need {rule_tokens} tokens, {reserve.tokens} are "
                f"reserved ({reserve.said}): split the files, narrow the rules, or raise "
                "`reserve`.",
            )
        )
    return tuple(found)


def warnings_about(files: Sequence[SizedFile], budget: Budget) -> tuple[Reason, ...]:
    """What is worth knowing although it fits."""
    if budget.warn_files < len(files) <= budget.most_files:
        text = f"{len(files)} files are probably too many for one task: consider splitting it."
        return (Reason("many_files", text),)
    return ()


def size_task(
    root: Path,
    snapshot: Snapshot,
    files: Sequence[str],
    *,
    description: str = "",
    criteria: Sequence[str] = (),
    room: RoomAsked = AS_SET,
) -> Sizing:
    """Whether a task fits, and every reason why not.

    The reserve is that of the window or model that was asked for, else of the one that reviews.

    Raises:
        ConfigError: The window is too small for any task.
    """
    settings = snapshot.settings
    name, chosen = endpoint(settings, room.model or "developing")
    space = room.window if room.window is not None else chosen.max_tokens
    sweet_spot = 0 if room.window is not None else chosen.sweet_spot
    asked = space if room.model is not None or room.window is not None else None
    reserve = reserve_for(settings, asked, option=room.reserve, base=room.base)
    given = task_room(space, sweet_spot=sweet_spot, budget=settings.budget)
    count = counter("heuristic")
    sized = tuple(_sized(root, path, settings) for path in expanded(root, files))
    estimate = sum(file.tokens for file in sized) + sum(map(count, (description, *criteria)))
    bound = snapshot.rules.bind_all(file.path for file in sized)
    rule_tokens = sum(binding.tokens for binding, _ in bound)
    reasons = reasons_against(
        estimate,
        sized,
        given,
        rule_tokens=rule_tokens,
        reserve=reserve,
        sweet_spot=sweet_spot,
        budget=settings.budget,
    )
    return Sizing(
        estimate=estimate,
        available=given.available,
        limit=given.limit,
        window=space,
        files=sized,
        fits=not reasons,
        reasons=reasons,
        warnings=warnings_about(sized, settings.budget),
        counter=count.name,
        model=name,
        reserve=reserve.tokens,
        reserve_from=reserve.source,
        over_planned=rule_tokens > reserve.planned,
    )


def _sized(root: Path, path: str, settings: Settings) -> SizedFile:
    try:
        data = (root / path).read_bytes()
    except FileNotFoundError:
        return SizedFile(path, 0, "to be created")
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder: name files, or a glob such as {path}/**.") from None
    reason = is_generated(path, data, (*PATTERNS, *settings.generated))
    if reason is not None:
        return SizedFile(path, settings.budget.generated_tokens, reason)
    return SizedFile(path, counter("heuristic")(data.decode("utf-8", "replace")))
