"""The developer's context: the plan, the task and its files, without the reviewer's rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from hornbook.context.bin_packing import fewest_groups
from hornbook.context.budget import DevelopRoom
from hornbook.context.prompt import (
    Context,
    LeftOut,
    Outcome,
    Part,
    Reason,
    Unit,
    contributions,
    fenced,
    in_order,
    lay_out,
    text_part,
)
from hornbook.context.tiers import Tier
from hornbook.text.tokens import TokenCounter

KNOWN = "What they said before the work began"
"""The heading of what the gates said to the base."""


@dataclass(frozen=True, slots=True)
class FileText:
    """A file of the task; without a text it is to be created."""

    path: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Development:
    """All that a developer's context is made from.

    `known` is what the gates said before anybody worked, a line each. `asked` is what its workflow
    asks in the instructions, `because` the settings by which the sections are there.
    """

    instructions: str
    task: str
    files: tuple[FileText, ...]
    criteria: tuple[str, ...] = ()
    situation: str = ""
    mission: str = ""
    constraints: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    feedback: str = ""
    core: tuple[Unit, ...] = ()
    decisions: tuple[Unit, ...] = ()
    risks: tuple[Unit, ...] = ()
    recent: tuple[Unit, ...] = ()
    rules: str = ""
    earlier: tuple[Unit, ...] = ()
    signatures: tuple[Unit, ...] = ()
    conventions: tuple[Unit, ...] = ()
    asked: str = ""
    because: Mapping[str, str] = field(default_factory=dict)


def assemble_development(work: Development, room: DevelopRoom, count: TokenCounter) -> Context:
    """The whole context, or a refusal with a split of the files; nothing is cut.

    Decisions, risks, what earlier steps left, what just happened and what the graph says go in item
    by item while their room lasts.
    """
    notes, past = _fitting(
        (("decisions", work.decisions), ("risks", work.risks)), room.notes, count
    )
    recent, older = _fitting(
        (("earlier", work.earlier), ("recent", work.recent)), room.recent, count
    )
    left = max(0, room.rules - count(work.rules)) if work.rules else room.rules
    graph, beyond = _fitting(
        (("signatures", work.signatures), ("conventions", work.conventions)), left, count
    )
    fitting = {**notes, **recent, **graph}
    parts = [
        replace(part, because=work.because.get(part.name, ""))
        for part in _parts(work, room, fitting)
        if part.units
    ]
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
        left_out=(*past, *older, *beyond),
        window=room.window,
        tiers=contributions(sections, {Tier.TASK: past, Tier.TRANSIENT: (*older, *beyond)}),
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
    task = _lines(task, KNOWN, work.known)
    asked = room.task + room.feedback if work.asked else 0  # it may hold the task and its failure
    return [
        _if_said("instructions", "Instructions", work.instructions, room.instructions + asked),
        Part("core", "What always holds", work.core, room.core),
        _if_said("plan", "The plan", plan, room.plan),
        Part("decisions", "Decisions that stand", fitting.get("decisions", ()), room.notes),
        Part("risks", "Risks", fitting.get("risks", ()), room.notes),
        _if_said("task", "The task", task, room.task),
        _if_said("rules", "The rules", work.rules, room.rules),
        _if_said("feedback", "What the last attempt was told", work.feedback, room.feedback),
        Part("earlier", "What earlier steps left", fitting.get("earlier", ()), room.recent),
        Part("recent", "What just happened", fitting.get("recent", ()), room.recent),
        Part(
            "signatures",
            "The files and what they declare",
            fitting.get("signatures", ()),
            room.rules,
        ),
        Part("conventions", "Conventions", fitting.get("conventions", ()), room.rules),
        _files_part(work.files, room.files),
    ]


def _size(part: Part, count: TokenCounter) -> int:
    """What a part takes of its budget: the tokens of its units."""
    return sum(count(unit.text) for unit in part.units)


def _lines(text: str, heading: str, items: Sequence[str]) -> str:
    if not items:
        return text
    return "\n".join([text.rstrip("\n"), "", f"{heading}:", *(f"- {item}" for item in items), ""])


def _if_said(name: str, heading: str, text: str, budget: int) -> Part:
    """A section of one text that is ours, or one without units where nothing is to be said."""
    part = text_part(name, heading, text, budget)
    return part if text.strip() else replace(part, units=())


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
