"""Whether a task fits: the budget of the source documents, in integers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbook.context.budget import TaskRoom, endpoint, task_room, too_large
from hornbook.context.named_files import expanded
from hornbook.context.prompt import Reason
from hornbook.errors import UsageError
from hornbook.graph.snapshot import Snapshot
from hornbook.rules.code.generated import PATTERNS, is_generated
from hornbook.settings.settings import Budget, Settings
from hornbook.text.tokens import counter

HEURISTIC_SAYS = (
    "four characters a token: JSON, base64 and non-Latin scripts can have twice as many"
)


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


def reasons_against(
    estimate: int,
    files: Sequence[SizedFile],
    given: TaskRoom,
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


def size_task(
    root: Path,
    settings: Settings,
    snapshot: Snapshot,
    files: Sequence[str],
    *,
    description: str = "",
    criteria: Sequence[str] = (),
    model: str | None = None,
    window: int | None = None,
) -> Sizing:
    """Whether a task fits, and every reason why not.

    Raises:
        ConfigError: The window is too small for any task.
    """
    name, chosen = endpoint(settings, model or "developing")
    space = window if window is not None else chosen.max_tokens
    sweet_spot = 0 if window is not None else chosen.sweet_spot
    reserve = settings.reserve_of(space)
    given = task_room(space, reserve=reserve, sweet_spot=sweet_spot, budget=settings.budget)
    count = counter("heuristic")
    sized = tuple(_sized(root, path, settings) for path in expanded(root, files))
    estimate = sum(file.tokens for file in sized) + sum(map(count, (description, *criteria)))
    bound = {
        binding.rule.id: binding.rule.tokens
        for file in sized
        for binding in snapshot.rules.bind(file.path)
    }
    reasons = reasons_against(
        estimate,
        sized,
        given,
        rule_tokens=sum(bound.values()),
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
