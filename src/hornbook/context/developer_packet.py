"""Gathers what a developer's context is made from: the plan, the task and its files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hornbook.context.budget import develop_room, endpoint
from hornbook.context.developer_context import Development, FileText, assemble_development
from hornbook.context.named_files import expanded
from hornbook.context.plan_brief import Brief
from hornbook.context.prompt import Context, is_due, with_left_out
from hornbook.context.templates.roles import instructions
from hornbook.context.tier_sources import core_tier, recent_units
from hornbook.context.tiers import Tier
from hornbook.errors import UsageError
from hornbook.graph.store import AskedQuery
from hornbook.settings.settings import Settings
from hornbook.text.tokens import counter


@dataclass(frozen=True, slots=True)
class DevelopmentContext:
    """A developer's context, whether its plan is due for a checkpoint, and what was asked."""

    context: Context
    due: bool = False
    queries: tuple[AskedQuery, ...] = ()


@dataclass(frozen=True, slots=True)
class Situation:
    """What an attempt in a run is told besides its task.

    The files are read from `folder`, where the attempt goes on; `rules` are texts of rules, where
    the settings let a developer see them.
    """

    folder: Path | None = None
    feedback: str = ""
    gates: tuple[str, ...] = ()
    rules: str = ""


def development_context(
    root: Path,
    settings: Settings,
    files: Sequence[str],
    *,
    description: str,
    criteria: Sequence[str] = (),
    model: str | None = None,
    brief: Brief | None = None,
    situation: Situation = Situation(),  # noqa: B008  # frozen
) -> DevelopmentContext:
    """What a developer of a task sees, whole, or a refusal; no rule's text unless it is given.

    A task of a plan brings its own description, criteria and files; what is given beside it is
    added to the first two, and takes the place of the last.

    Raises:
        UsageError: There is neither a description nor a task.
        ConfigError: The window is too small for any task.
    """
    if brief is not None:
        files = files or brief.files
        description = "\n\n".join(filter(None, (brief.description(), description)))
        criteria = (*(brief.task.criteria if brief.task else ()), *criteria)
    if not description.strip():
        raise UsageError("no task: say it with --description, or name one of a plan's tasks.")
    core = core_tier(root)
    here = situation.folder or root
    work = Development(
        instructions=instructions("developer", root),
        task=description,
        criteria=tuple(criteria),
        files=tuple(FileText(path, _file_text(here / path)) for path in expanded(here, files)),
        core=core.units,
        gates=situation.gates,
        feedback=situation.feedback,
        rules=situation.rules,
    )
    if brief is not None:
        work = replace(
            work,
            situation=brief.intent.text,
            constraints=brief.constraints,
            decisions=tuple(reversed(brief.decisions)),
            risks=brief.risks,
            recent=recent_units(root),
        )
    _, chosen = endpoint(settings, model or "developing")
    space = develop_room(settings, chosen)
    context = assemble_development(work, space, counter(settings.counter))
    tiers = with_left_out(context.tiers, Tier.CORE, core.left_out)
    made = replace(context, left_out=(*context.left_out, *core.left_out), tiers=tiers)
    due = is_due(context.sections, space.growing, settings.checkpoint.percent)
    asked = brief.queries if brief is not None else ()
    return DevelopmentContext(made, due=brief is not None and due, queries=asked)


def _file_text(path: Path) -> str | None:
    if not path.is_file():
        return None
    return path.read_bytes().decode("utf-8", "replace")
