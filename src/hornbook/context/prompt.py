"""A prompt: units of text in sections, and where every byte of it came from."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from typing import Self

from hornbook.context.tiers import TIER_OF, Contribution, Tier
from hornbook.settings.reserve import ReserveFrom
from hornbook.text.visible import visible


class Outcome(StrEnum):
    """How an assembly ended; only the first one has a text."""

    COMPLETE = "complete"
    TOO_BIG = "too_big"
    SOP_OVERFLOW = "sop_overflow"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of text that goes in whole or not at all.

    `path` is the file that a rule's text stands in, `also` are others with the same text, and
    `included_by` is the file that includes it, where it is part of a rule in another file.
    """

    id: str
    revision: str
    text: str
    severity: str | None = None
    path: str | None = None
    also: tuple[str, ...] = ()
    included_by: str | None = None

    @classmethod
    def hashed(cls, name: str, text: str) -> Self:
        """A text that is no document's: its revision is the hash of it."""
        return cls(name, sha256(text.encode()).hexdigest()[:12], text)


@dataclass(frozen=True, slots=True)
class ReviewerBrief:
    """What a reviewer is told that no commit has: how the change came about, what it is for.

    `instructions` is what its workflow asks. A receipt carries all of it, so that the whole prompt
    can be made again. With `refute` it is the packet of a second opinion.
    """

    situation: str = ""
    instructions: str = ""
    task: Unit | None = None
    decisions: tuple[Unit, ...] = ()
    refute: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """Where a unit stands in the prompt: byte offset and length, and the hash of those bytes.

    Where it comes from is told as the unit has it.
    """

    id: str
    revision: str
    sha256: str
    offset: int
    length: int
    tokens: int
    severity: str | None = None
    path: str | None = None
    also: tuple[str, ...] = ()
    included_by: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the prompt: its bytes are its heading and its items, its tokens those of its items.

    The budget is for the items; headings and marks are covered by the safety share. `because` says
    by which setting it is there.
    """

    name: str
    tokens: int
    budget: int
    offset: int
    length: int
    sha256: str
    items: tuple[Item, ...]
    because: str = ""


@dataclass(frozen=True, slots=True)
class ListedUnit:
    """A unit of a large rule that the reader of a context has to answer by its own id.

    `sop_id` is the rule's document, `inferred` says that the severity is told from the words, and
    `tokens` are those of the unit's item: the head's hold what is said above the rule's text.
    """

    id: str
    sop_id: str
    title: str
    severity: str
    inferred: bool
    tokens: int
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that would have helped but did not fit, or was not current."""

    id: str
    reason: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something does not fit: a code, and a sentence with the numbers and the remedy."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Pressure:
    """How hard the developer's context was pressed, and what the gates said: name and status."""

    utilisation_percent: int
    steps: int
    attempts: int
    gate_warnings: tuple[str, ...] = ()
    gates: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What a step sees, or why it cannot be shown."""

    outcome: Outcome
    sop_ids: tuple[str, ...]
    text: str | None
    tokens: int
    counter: str
    sha256: str | None
    sections: tuple[Section, ...]
    units: tuple[ListedUnit, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    split: tuple[tuple[str, ...], ...] = ()
    passes: tuple[tuple[str, ...], ...] = ()
    reasons: tuple[Reason, ...] = ()
    reserve: int = 0
    reserve_from: ReserveFrom = ReserveFrom.DEFAULT
    over_planned: bool = False
    window: int = 0
    tiers: tuple[Contribution, ...] = ()

    @property
    def answer_ids(self) -> tuple[str, ...]:
        """What a review of it has one entry for: every unit, and every rule without units."""
        return answer_ids(self.sop_ids, [(unit.id, unit.sop_id) for unit in self.units])


def answer_ids(sop_ids: Iterable[str], units: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The ids that a review answers, given the rules, and each unit's id with that of its rule."""
    by_units = {sop_id for _, sop_id in units}
    whole = [each for each in sop_ids if each not in by_units]
    return tuple(sorted([*whole, *(unit_id for unit_id, _ in units)]))


_BACKTICKS = re.compile(r"`+")
_HUNK = re.compile(
    r"^@@ -(?P<old>\d+)(?:,(?P<old_lines>\d+))? \+(?P<new>\d+)(?:,(?P<new_lines>\d+))? @@.*\n"
    r"(?P<body>(?:[ +\-\\].*(?:\n|\Z))+)",
    re.MULTILINE,
)
_LINE = re.compile(r".+\n?")
SHOWN_LINES = 10
"""So many lines stand below a head of a hunk: whoever cites one counts no further."""
_PLAIN_ID = re.compile(r"(?:source|decision|convention|plan|task|code)\.[A-Za-z0-9_.%-]+")

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Part:
    """A section before it is laid out: `empty` is said in the place of units.

    Units that are `quoted` stand between marks with their id and hash, so that no text in them
    can pass for a section of the prompt. `remarks` are said above units, by id; `because` is not
    part of the prompt.
    """

    name: str
    heading: str
    units: tuple[Unit, ...]
    budget: int
    empty: str = ""
    quoted: bool = True
    remarks: Mapping[str, str] = field(default_factory=dict)
    because: str = ""

    @property
    def pieces(self) -> list[tuple[str, Unit | None]]:
        """The texts of the section in order; those without a unit are frame."""
        said = f"# {self.heading}\n\n" + ("" if self.units else f"{self.empty}\n\n")
        pieces: list[tuple[str, Unit | None]] = [(said, None)]
        for unit in self.units:
            mark = f"{quoted_name(unit.id)} {unit.revision.rpartition('.')[2]}"
            end = "" if unit.text.endswith("\n") else "\n"
            remark = self.remarks.get(unit.id)
            if self.quoted:
                pieces.append((f"{remark}\n" * bool(remark) + f"[begin {mark}]\n", None))
            pieces.append((unit.text, unit))
            pieces.append((f"{end}[end {mark}]\n\n" if self.quoted else f"{end}\n", None))
        return pieces

    @property
    def text(self) -> str:
        """The section as it stands in the prompt."""
        return "".join(text for text, _ in self.pieces)


def quoted_name(name: str) -> str:
    """A name as it stands in a prompt: an id as it is, a file's name as a JSON string.

    A change chooses the names of its files, and one could read like an instruction.
    """
    plain = _PLAIN_ID.fullmatch(name) is not None
    return name if plain else json.dumps(visible(name), ensure_ascii=False)


def text_part(name: str, heading: str, text: str, budget: int) -> Part:
    """A section of one text that is ours."""
    return Part(name, heading, (Unit.hashed(name, text),), budget, quoted=False)


def fenced(text: str, language: str) -> str:
    """A text as a code block that nothing in it can end."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n"


def patch_shown(patch: str) -> str:
    """A patch as a prompt shows it: the same, in hunks so short that lines can be counted."""
    return fenced(_HUNK.sub(_short_hunks, patch), "diff")


def _short_hunks(hunk: re.Match[str]) -> str:
    # A side of no lines is told by the line before it.
    old, new = (int(hunk[side]) + (hunk[f"{side}_lines"] == "0") for side in ("old", "new"))
    lines = _LINE.findall(hunk["body"])
    last = max(place for place, line in enumerate(lines) if line[0] in "+-")
    pieces: list[list[str]] = [[]]
    for place, line in enumerate(lines):
        # A hunk that changes nothing is none for programs that read patches.
        if len(pieces[-1]) >= SHOWN_LINES and place <= last and line[0] != "\\":
            pieces.append([])
        pieces[-1].append(line)
    shown = []
    for piece in pieces:
        before, after = (sum(line[0] in {" ", mark} for line in piece) for mark in "-+")
        shown += [f"@@ -{_side(old, before)} +{_side(new, after)} @@\n", *piece]
        old, new = old + before, new + after
    return "".join(shown)


def _side(start: int, lines: int) -> str:
    if lines == 1:
        return str(start)
    return f"{start},{lines}" if lines else f"{start - 1},0"


def lay_out(parts: Sequence[Part], count: Count) -> tuple[str, tuple[Section, ...]]:
    """The prompt, and for every section and unit its place, size and hash."""
    texts: list[str] = []
    sections: list[Section] = []
    offset = 0
    for part in parts:
        start = offset
        items: list[Item] = []
        for text, unit in part.pieces:
            data = text.encode()
            if unit is not None:
                items.append(
                    Item(
                        id=unit.id,
                        revision=unit.revision,
                        sha256=sha256(data).hexdigest(),
                        offset=offset,
                        length=len(data),
                        tokens=count(text),
                        severity=unit.severity,
                        path=unit.path,
                        also=unit.also,
                        included_by=unit.included_by,
                    )
                )
            texts.append(text)
            offset += len(data)
        sections.append(
            Section(
                name=part.name,
                tokens=sum(item.tokens for item in items),
                budget=part.budget,
                offset=start,
                length=offset - start,
                sha256=sha256(part.text.encode()).hexdigest(),
                items=tuple(items),
                because=part.because,
            )
        )
    return "".join(texts), tuple(sections)


GROWING = ("plan", "task", "decisions", "risks", "feedback", "earlier", "recent")
"""The sections of task and transient tier that grow with the work."""


def in_order(parts: Iterable[Part]) -> list[Part]:
    """The parts of a context, tier by tier; within a tier as they were given."""
    tiers = list(Tier)
    return sorted(parts, key=lambda part: tiers.index(TIER_OF[part.name]))


def contributions(
    sections: Sequence[Section], left_out: Mapping[Tier, Sequence[LeftOut]] | None = None
) -> tuple[Contribution, ...]:
    """What each tier contributed, every tier included, in their order."""
    return tuple(_contribution(tier, sections, (left_out or {}).get(tier, ())) for tier in Tier)


def with_left_out(
    tiers: Sequence[Contribution], tier: Tier, left_out: Sequence[LeftOut]
) -> tuple[Contribution, ...]:
    """The contributions with more that one of the tiers left out."""
    more = tuple(each.id for each in left_out)
    return tuple(
        replace(each, left_out=(*each.left_out, *more)) if each.tier is tier else each
        for each in tiers
    )


def is_due(sections: Sequence[Section], budget: int, percent: int) -> bool:
    """Whether the sections that grow take more than a share of the room that they have together."""
    used = sum(each.tokens for each in sections if each.name in GROWING)
    return used * 100 > budget * percent


def _contribution(
    tier: Tier, sections: Sequence[Section], left_out: Sequence[LeftOut]
) -> Contribution:
    held = [each for each in sections if TIER_OF[each.name] is tier]
    return Contribution(
        tier=tier,
        tokens=sum(each.tokens for each in held),
        budget=sum(each.budget for each in held),
        sections=tuple(each.name for each in held),
        items=tuple(item.id for each in held for item in each.items),
        left_out=tuple(each.id for each in left_out),
    )
