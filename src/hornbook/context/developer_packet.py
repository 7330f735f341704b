"""Gathers what a developer's context is made from: the plan, the task and its files.

What of it a developer sees is decided by the context settings of its template.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from hornbook.context.budget import develop_room, endpoint
from hornbook.context.developer_context import Development, FileText, assemble_development
from hornbook.context.named_files import expanded
from hornbook.context.plan_brief import Brief
from hornbook.context.prompt import Context, LeftOut, Outcome, Reason, is_due, with_left_out
from hornbook.context.prompt_secrets import without_secrets
from hornbook.context.step_parts import FRAME, StepOutput, StepView
from hornbook.context.templates.roles import StepTemplate, instructions, step_templates
from hornbook.context.tier_sources import core_tier, recent_units
from hornbook.context.tiers import Tier
from hornbook.errors import UsageError
from hornbook.graph.snapshot import Snapshot
from hornbook.graph.store import AskedQuery
from hornbook.settings.settings import Settings, Sight
from hornbook.text.tokens import counter

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class DevelopmentContext:
    """A developer's context, its template, if its plan is due for a checkpoint, and queries."""

    context: Context
    template: StepTemplate
    due: bool = False
    queries: tuple[AskedQuery, ...] = ()


@dataclass(frozen=True, slots=True)
class Situation:
    """What an attempt in a run is told besides its task.

    The files are read from `folder`, where the attempt goes on; `known` is what the gates said
    before anybody worked, a line each; `rules` are texts of rules, where
    the settings let a developer see them. `asked` is what the workflow asks, `outputs` are what
    earlier steps left, oldest first; `at` is the commit whose templates count, None the work tree.
    A `continuation` is a subtask that a developer asked for. `graph` is asked if the template says
    so.
    """

    folder: Path | None = None
    feedback: str = ""
    gates: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    rules: str = ""
    asked: str = ""
    outputs: tuple[StepOutput, ...] = ()
    at: str | None = None
    continuation: bool = False
    graph: Callable[[], Snapshot] | None = None


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
        ConfigError: The window is too small for any task, or a template is wrong.
    """
    if brief is not None:
        files = files or brief.files
        description = "\n\n".join(filter(None, (brief.description(), description)))
        criteria = (*(brief.task.criteria if brief.task else ()), *criteria)
    if not description.strip():
        raise UsageError("no task: say it with --description, or name one of a plan's tasks.")
    templates = step_templates(root, at=situation.at)
    template = templates.developer(continuation=situation.continuation)
    core = core_tier(root)
    here = situation.folder or root
    paths = expanded(here, files)
    view = StepView(template, templates["loop"], tuple(paths))
    work = Development(
        instructions=instructions(template, situation.asked),
        task=description,
        criteria=tuple(criteria),
        files=tuple(FileText(path, _file_text(here / path)) for path in paths),
        core=core.units,
        gates=situation.gates,
        known=situation.known,
        feedback=situation.feedback,
        rules=situation.rules,
        asked=situation.asked,
        because=_because(view, settings, asked=bool(situation.asked)),
    )
    work, left_out = _by_settings(root, work, view, brief, situation, sees=settings.developer_sees)
    _, chosen = endpoint(settings, model or "developing")
    space = develop_room(settings, chosen)
    context = assemble_development(work, space, counter(settings.counter))
    tiers = with_left_out(context.tiers, Tier.CORE, core.left_out)
    beside = (*context.left_out, *left_out, *core.left_out)
    whole = _with_inputs(replace(context, left_out=beside, tiers=tiers), template, work)
    made = without_secrets(whole)
    due = is_due(context.sections, space.growing, settings.checkpoint.percent)
    asked = brief.queries if brief is not None else ()
    return DevelopmentContext(made, template, due=brief is not None and due, queries=asked)


def _by_settings(
    root: Path,
    work: Development,
    view: StepView,
    brief: Brief | None,
    situation: Situation,
    *,
    sees: str,
) -> tuple[Development, tuple[LeftOut, ...]]:
    """What is inherited, accumulated and asked anew, as the settings say; and what is not."""
    gone: list[LeftOut] = []

    def taken(found: tuple[_T, Iterable[LeftOut]]) -> _T:
        gone.extend(found[1])
        return found[0]

    work = replace(work, earlier=taken(view.outputs(situation.outputs)))
    if brief is not None:
        work = replace(
            work,
            situation=taken(view.inherited_text(brief.plan.id, brief.intent.text)),
            constraints=brief.constraints,
            decisions=taken(view.inherited(tuple(reversed(brief.decisions)))),
            risks=taken(view.inherited(brief.risks)),
            recent=taken(view.inherited(recent_units(root))),
        )
    if view.asks_graph and situation.graph is not None:
        work = _with_graph(work, situation.graph(), gone, blind=sees == Sight.BLIND)
    return work, tuple(gone)


def _with_graph(
    work: Development, snapshot: Snapshot, gone: list[LeftOut], *, blind: bool
) -> Development:
    """What the graph says of the files, as far as a developer may know it."""
    from hornbook.context.review_packet import (  # noqa: PLC0415  # few developers ask the graph
        conventions_about,
        decisions_about,
        signatures,
    )

    paths = [file.path for file in work.files]
    decisions, past = decisions_about(snapshot, paths, ())
    conventions, doubted = conventions_about(snapshot, paths)
    gone += [*past, *doubted]
    if blind:
        why = "the developer is blind to what a reviewer judges by (`developer_sees`)"
        gone += [LeftOut(unit.id, why) for unit in conventions]
        conventions = ()
    contents = {file.path: file.text.encode() for file in work.files if file.text is not None}
    known = {unit.id for unit in work.decisions}
    return replace(
        work,
        decisions=(*work.decisions, *(unit for unit in decisions if unit.id not in known)),
        signatures=signatures(snapshot, contents),
        conventions=conventions,
    )


def _because(view: StepView, settings: Settings, *, asked: bool) -> dict[str, str]:
    """By which setting each section is there."""
    told = view.step.prompt_because + ", then the workflow's" * asked
    inherited = dict.fromkeys(("plan", "decisions", "risks", "recent"), view.inherits_because)
    if view.asks_graph:
        inherited["decisions"] = f"{view.inherits_because}; {view.graph_because}"
    return {
        **dict.fromkeys(("core", "task", "feedback", "files"), FRAME),
        **inherited,
        **dict.fromkeys(("signatures", "conventions"), view.graph_because),
        "earlier": view.accumulates_because,
        "rules": f"developer_sees: {settings.developer_sees}",
        "instructions": told,
    }


def _with_inputs(context: Context, template: StepTemplate, work: Development) -> Context:
    """The context, refused if it lacks what its template requires."""
    shown = {section.name for section in context.sections if section.items}
    for name in ("criteria", "constraints", "gates"):
        if getattr(work, name):
            shown.add(name)
    return context if context.text is None else require_inputs(context, template, shown)


def require_inputs(context: Context, template: StepTemplate, shown: Iterable[str]) -> Context:
    """The context, refused if it lacks an input that its template requires."""
    wanted = [each.name for each in template.template.inputs if each.required]
    missing = [name for name in wanted if name not in set(shown)]
    if not missing:
        return context
    said = (
        f"{template.file} requires {', '.join(missing)}, and there is none here: write "
        '`required="false"`, or let its context settings bring it.'
    )
    return replace(
        context,
        outcome=Outcome.FAILED,
        text=None,
        sha256=None,
        sections=(),
        tiers=(),
        reasons=(Reason("missing_input", said),),
    )


def _file_text(path: Path) -> str | None:
    if not path.is_file():
        return None
    return path.read_bytes().decode("utf-8", "replace")
