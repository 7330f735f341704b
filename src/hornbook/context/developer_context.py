"""The developer's context: the plan, the task and its files, without the reviewer's rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from hornbook.context.named_files import expanded
from hornbook.context.plan_brief import Brief
from hornbook.context.prompt import (
    Context,
    LeftOut,
    Outcome,
    Part,
    Reason,
    Unit,
    fenced,
    fewest_groups,
    lay_out,
)
from hornbook.context.review_packet import endpoint
from hornbook.context.sizing import room
from hornbook.context.templates.roles import instructions
from hornbook.context.tier_sources import (
    contributions,
    core_tier,
    in_order,
    is_due,
    recent_units,
    with_left_out,
)
from hornbook.context.tiers import Tier
from hornbook.errors import UsageError
from hornbook.settings.values import Settings
from hornbook.text.tokens import TokenCounter, counter


@dataclass(frozen=True, slots=True)
class FileText:
    """A file of the task; without a text it is to be created."""

    path: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Development:
    """All that a developer's context is made from."""

    instructions: str
    task: str
    files: tuple[FileText, ...]
    criteria: tuple[str, ...] = ()
    situation: str = ""
    mission: str = ""
    constraints: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    feedback: str = ""
    core: tuple[Unit, ...] = ()
    decisions: tuple[Unit, ...] = ()
    risks: tuple[Unit, ...] = ()
    recent: tuple[Unit, ...] = ()
    rules: str = ""


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


def assemble_development(work: Development, room: DevelopRoom, count: TokenCounter) -> Context:
    """The whole context, or a refusal with a split of the files; nothing is cut.

    Decisions, risks and what just happened go in item by item while their room lasts.
    """
    notes, past = _fitting(
        (("decisions", work.decisions), ("risks", work.risks)), room.notes, count
    )
    recent, older = _fitting((("recent", work.recent),), room.recent, count)
    parts = [part for part in _parts(work, room, {**notes, **recent}) if part.units]
    sizes = {part.name: _size(part, count) for part in parts}
    over = [part for part in parts if sizes[part.name] > part.budget]
    if over:
        return _refused(work, room, over, sizes, count)
    text, sections = lay_out(in_order(parts), count)
    return Context(
        outcome=Outcome.COMPLETE,
        sop_ids=(),
        text=text,
        tokens=count(text),
        counter=count.name,
        sha256=sha256(text.encode()).hexdigest(),
        sections=sections,
        left_out=(*past, *older),
        window=room.window,
        tiers=contributions(sections, {Tier.TASK: past, Tier.TRANSIENT: older}),
    )


def _fitting(
    groups: Sequence[tuple[str, tuple[Unit, ...]]], room: int, count: TokenCounter
) -> tuple[dict[str, tuple[Unit, ...]], tuple[LeftOut, ...]]:
    """The units that fit into one room, in order and whole, and those that do not."""
    used = 0
    taken: dict[str, tuple[Unit, ...]] = {}
    left_out = []
    for name, units in groups:
        for unit in units:
            size = count(unit.text)
            if used + size <= room:
                taken[name] = (*taken.get(name, ()), unit)
                used += size
            else:
                message = f"{size} tokens do not fit in what is left of {room}"
                left_out.append(LeftOut(unit.id, message))
    return taken, tuple(left_out)


def _parts(
    work: Development, room: DevelopRoom, fitting: Mapping[str, tuple[Unit, ...]]
) -> list[Part]:
    plan = "\n\n".join(text for text in (work.situation, work.mission) if text)
    task = _lines(work.task, "Acceptance criteria", work.criteria)
    task = _lines(task, "Constraints", work.constraints)
    task = _lines(task, "These commands must pass", [f"`{gate}`" for gate in work.gates])
    return [
        _told("instructions", "Instructions", work.instructions, room.instructions),
        Part("core", "What always holds", work.core, room.core),
        _told("plan", "The plan", plan, room.plan),
        Part("decisions", "Decisions that stand", fitting.get("decisions", ()), room.notes),
        Part("risks", "Risks", fitting.get("risks", ()), room.notes),
        _told("task", "The task", task, room.task),
        _told("rules", "The rules", work.rules, room.rules),
        _told("feedback", "What the last attempt was told", work.feedback, room.feedback),
        Part("recent", "What just happened", fitting.get("recent", ()), room.recent),
        _files_part(work.files, room.files),
    ]


def _size(part: Part, count: TokenCounter) -> int:
    """What a part takes of its budget: the tokens of its units."""
    return sum(count(unit.text) for unit in part.units)


def _lines(text: str, heading: str, items: Sequence[str]) -> str:
    if not items:
        return text
    return "\n".join([text.rstrip("\n"), "", f"{heading}:", *(f"- {item}" for item in items), ""])


def _told(name: str, heading: str, text: str, budget: int) -> Part:
    digest = sha256(text.encode()).hexdigest()[:12]
    units = (Unit(name, digest, text),) if text.strip() else ()
    return Part(name, heading, units, budget, quoted=False)


def _files_part(files: Sequence[FileText], budget: int) -> Part:
    units = tuple(
        Unit(
            file.path,
            sha256((file.text or "").encode()).hexdigest()[:12],
            f"## {file.path}\n\n"
            + ("To be created.\n" if file.text is None else fenced(file.text, "")),
        )
        for file in files
    )
    return Part("files", "The files", units, budget)


def _refused(
    work: Development,
    room: DevelopRoom,
    over: list[Part],
    sizes: dict[str, int],
    count: TokenCounter,
) -> Context:
    reasons = [
        Reason(
            f"{part.name}_over_budget",
            f"{part.name} needs {sizes[part.name]} tokens, {part.budget} are planned: "
            "make it smaller, or split the task.",
        )
        for part in over
    ]
    by_path = {file.path: file for file in work.files}
    split: tuple[tuple[str, ...], ...] = ()
    if [part.name for part in over] == ["files"]:
        split = (
            fewest_groups(
                tuple(by_path),
                lambda paths: (
                    _size(_files_part([by_path[path] for path in paths], 0), count) <= room.files
                ),
            )
            or ()
        )
    return Context(
        outcome=Outcome.TOO_BIG,
        sop_ids=(),
        text=None,
        tokens=sum(sizes.values()),
        counter=count.name,
        sha256=None,
        sections=(),
        split=split,
        reasons=tuple(reasons),
        window=room.window,
    )


@dataclass(frozen=True, slots=True)
class DevelopmentContext:
    """A developer's context, and whether its plan is due for a checkpoint."""

    context: Context
    due: bool = False


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
    _, chosen = endpoint(settings, model or "developing")
    budget, window = settings.budget, chosen.max_tokens
    given = room(
        window,
        reserve=settings.reserve_of(window),
        sweet_spot=chosen.sweet_spot,
        budget=budget,
    )
    here = situation.folder or root
    work = Development(
        instructions=instructions("developer", root),
        task=description,
        criteria=tuple(criteria),
        situation=brief.intent.text if brief else "",
        constraints=brief.constraints if brief else (),
        files=tuple(FileText(path, _text(here / path)) for path in expanded(here, files)),
        core=core.units,
        decisions=tuple(reversed(brief.decisions)) if brief else (),
        risks=brief.risks if brief else (),
        recent=recent_units(root) if brief else (),
        gates=situation.gates,
        feedback=situation.feedback,
        rules=situation.rules,
    )
    space = DevelopRoom(
        window=window,
        instructions=budget.system_prompt,
        plan=budget.plan,
        task=budget.task,
        feedback=budget.feedback,
        files=given.limit,
        core=budget.core,
        notes=budget.notes,
        recent=budget.recent,
        rules=settings.reserve_of(window),
    )
    context = assemble_development(work, space, counter(settings.counter))
    tiers = with_left_out(context.tiers, Tier.CORE, core.left_out)
    made = replace(context, left_out=(*context.left_out, *core.left_out), tiers=tiers)
    due = is_due(context.sections, space.growing, settings.checkpoint.percent)
    return DevelopmentContext(made, due=brief is not None and due)


def _text(path: Path) -> str | None:
    if not path.is_file():
        return None
    return path.read_bytes().decode("utf-8", "replace")
