"""A context: what a step sees, section by section, and whether it could be made at all."""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from itertools import combinations
from typing import TypeVar

from hornbook.context.tiers import Contribution


class Outcome(StrEnum):
    """How an assembly ended; only the first one has a text."""

    COMPLETE = "complete"
    TOO_BIG = "too_big"
    SOP_OVERFLOW = "sop_overflow"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of text that goes in whole or not at all."""

    id: str
    revision: str
    text: str
    severity: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewerBrief:
    """What a reviewer is told that no commit has: how the change came about, what it is for.

    A receipt carries it, so that the whole prompt can be made again.
    """

    situation: str = ""
    plan: Unit | None = None
    task: Unit | None = None
    decisions: tuple[Unit, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """Where a unit stands in the prompt: byte offset and length, and the hash of those bytes."""

    id: str
    revision: str
    sha256: str
    offset: int
    length: int
    tokens: int
    severity: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the prompt: its bytes are its heading and its items, its tokens those of its items.

    The budget is for the items; headings and marks are covered by the safety share.
    """

    name: str
    tokens: int
    budget: int
    offset: int
    length: int
    sha256: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that would have helped but did not fit, or was not current."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something does not fit: a code, and a sentence with the numbers and the remedy."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Pressure:
    """How hard the developer's context was pressed: where shortcuts are likely."""

    utilisation_percent: int
    steps: int
    attempts: int
    gate_warnings: tuple[str, ...] = ()


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
    left_out: tuple[LeftOut, ...] = ()
    split: tuple[tuple[str, ...], ...] = ()
    passes: tuple[tuple[str, ...], ...] = ()
    reasons: tuple[Reason, ...] = ()
    reserve: int = 0
    window: int = 0
    tiers: tuple[Contribution, ...] = ()


_BACKTICKS = re.compile(r"`+")

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Part:
    """A section before it is laid out: `empty` is said in the place of units.

    Units that are `quoted` stand between marks with their id and hash, so that no text in them
    can pass for a section of the prompt.
    """

    name: str
    heading: str
    units: tuple[Unit, ...]
    budget: int
    empty: str = ""
    quoted: bool = True

    @property
    def pieces(self) -> list[tuple[str, Unit | None]]:
        """The texts of the section in order; those without a unit are frame."""
        said = f"# {self.heading}\n\n" + ("" if self.units else f"{self.empty}\n\n")
        pieces: list[tuple[str, Unit | None]] = [(said, None)]
        for unit in self.units:
            mark = f"{unit.id} {unit.revision.rpartition('.')[2]}"
            end = "" if unit.text.endswith("\n") else "\n"
            if self.quoted:
                pieces.append((f"[begin {mark}]\n", None))
            pieces.append((unit.text, unit))
            pieces.append((f"{end}[end {mark}]\n\n" if self.quoted else f"{end}\n", None))
        return pieces

    @property
    def text(self) -> str:
        """The section as it stands in the prompt."""
        return "".join(text for text, _ in self.pieces)


def fenced(text: str, language: str) -> str:
    """A text as a code block that nothing in it can end."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n"


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
            )
        )
    return "".join(texts), tuple(sections)


T = TypeVar("T", bound=Hashable)

# With more items than this the fewest groups are sought greedily: the exact search is exponential.
EXACT = 9


def fewest_groups(
    items: Sequence[T], fits: Callable[[Sequence[T]], bool]
) -> tuple[tuple[T, ...], ...] | None:
    """Groups of items that each fit; None when one item does not fit alone.

    `fits` must hold for every part of a group that fits. Up to `EXACT` items no smaller number
    of groups is possible.
    """
    if not items:
        return ()
    if not all(fits([item]) for item in items):
        return None
    greedy = _greedy(items, fits)
    if len(items) > EXACT:
        return greedy
    return _exact(items, fits, len(greedy)) or greedy


def _greedy(items: Sequence[T], fits: Callable[[Sequence[T]], bool]) -> tuple[tuple[T, ...], ...]:
    groups: list[list[T]] = []
    for item in items:
        home = next((group for group in groups if fits([*group, item])), None)
        if home is None:
            groups.append([item])
        else:
            home.append(item)
    return tuple(map(tuple, groups))


def _exact(
    items: Sequence[T], fits: Callable[[Sequence[T]], bool], most: int
) -> tuple[tuple[T, ...], ...] | None:
    """A grouping into fewer than `most` groups, if there is one; the fewest there is."""
    known: dict[frozenset[T], bool] = {}

    def fitting(group: Iterable[T]) -> bool:
        key = frozenset(group)
        if key not in known:
            known[key] = fits([item for item in items if item in key])
        return known[key]

    for number in range(1, most):
        found = _into(tuple(items), number, fitting)
        if found is not None:
            return found
    return None


def _into(
    items: tuple[T, ...], number: int, fitting: Callable[[Iterable[T]], bool]
) -> tuple[tuple[T, ...], ...] | None:
    if not items:
        return ()
    if number == 0:
        return None
    first, others = items[0], items[1:]
    for size in range(len(others), -1, -1):
        for chosen in combinations(others, size):
            if fitting((first, *chosen)):
                rest = _into(tuple(o for o in others if o not in chosen), number - 1, fitting)
                if rest is not None:
                    return ((first, *chosen), *rest)
    return None
