"""Conventions: habits of the code that reviewers saw, until a person says what they are worth."""

from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """What a person made of a convention; nobody looked at a candidate yet."""

    CANDIDATE = "candidate"
    PROMOTED = "promoted"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class SeenIn:
    """A file that a convention was seen in, as it was then."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Convention:
    """A learned convention: what was seen, where, in which reviews, and who decided about it.

    `at` is when it was first seen, `decided_at` when a person promoted or retired it.
    """

    slug: str
    name: str
    pattern: str
    applies_to: str
    standing: Standing
    at: str
    reviews: tuple[str, ...] = ()
    evidence: tuple[SeenIn, ...] = ()
    decided_at: str | None = None
    decided_by: str | None = None

    @property
    def id(self) -> str:
        """The id of the convention's entity."""
        return f"convention.{self.slug}"
