"""Sizes a task: its files, description and criteria against a model's window."""

from collections.abc import Sequence
from pathlib import Path

from hornbook.assemble.sizing import (
    SizedFile,
    Sizing,
    reasons_against,
    room,
    warnings_about,
)
from hornbook.errors import UsageError
from hornbook.ingest.code.generated import PATTERNS, is_generated
from hornbook.text.tokens import counter
from hornbook.workspace.contexts import endpoint
from hornbook.workspace.expanding import expanded
from hornbook.workspace.settings import Settings
from hornbook.workspace.snapshot import Snapshot


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
    given = room(space, reserve=reserve, sweet_spot=sweet_spot, budget=settings.budget)
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
