"""A canary: a violation that was planted into a change, to see whether its reviewer finds it.

The judgement of a canary says something of the reviewer. It approves nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hornbook.review.evidence.stamps import Answer
from hornbook.review.judgement import Citation, ReviewProblem, Status

NEAR = 3
"""How many lines from what was planted a citation may lie."""


@dataclass(frozen=True, slots=True)
class Canary:
    """What was planted: a unit's violation, its lines as `text`, from `line` of a file on."""

    id: str
    unit: str
    path: str
    line: int
    text: str
    receipt_sha256: str

    @property
    def window(self) -> tuple[int, int]:
        """The first and the last line that a citation of it may have."""
        return self.line - NEAR, self.line + self.text.count("\n") + NEAR


def canary_id(receipt_sha256: str) -> str:
    """The id of the canary whose packet has a receipt."""
    return f"canary.{receipt_sha256[:16]}"


def finds(canary: Canary, answers: Iterable[Answer]) -> bool:
    """Whether a review says that the unit is violated, and cites what was planted.

    A reviewer who saw it and did not quote it is asked again for that, and found it all the same.
    """
    return any(
        answer.entry.sop_id == canary.unit
        and answer.entry.status is Status.VIOLATED
        and any(_cites(canary, place) for place in answer.resolved.cited)
        for answer in answers
    )


def _cites(canary: Canary, place: Citation) -> bool:
    """Whether lines are those of the plant or near them, and not half of the file around it."""
    first, last = canary.window
    if place.path != canary.path or place.old or place.end - place.start > last - first:
        return False
    return place.start <= last and first <= place.end


def missed(canary: Canary) -> ReviewProblem:
    """That a reviewer did not find what was planted."""
    said = (
        "A violation of this rule was planted into the change, and the review does not say that "
        "it is violated there: what else this reviewer passed is not proved either."
    )
    return ReviewProblem("missed_canary", canary.unit, said)


def told(canary: Canary, *, found: bool) -> Iterator[str]:
    """What a judgement of a canary says of itself."""
    yield f"{canary.id} is {'found' if found else 'missed'}"
    yield (
        "the change is a canary: its head is on no branch, so that this judgement says something "
        "of the reviewer and approves nothing"
    )
