"""A context: what a step sees, section by section, and whether it could be made at all."""

from dataclasses import dataclass
from enum import StrEnum

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
