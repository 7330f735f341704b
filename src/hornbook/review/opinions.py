"""The second opinion: what follows from two reviewers where the base asks for both.

The second one is told to refute an approval. Where both approve, the change is approved; where both
reject, it is rejected; where they differ, a person decides and reads both sides.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hornbook.review.judgement import ReviewProblem, Status, Verdict, counted

REFUTING = "-refuting"
"""What a run calls its second opinion, behind the name of the agent."""
REMEDY = (
    "have the packet of `review prepare --refute` reviewed too, and check both reviews with both "
    "receipts"
)


@dataclass(frozen=True, slots=True)
class Side:
    """What one reviewer says of the whole change, in one packet or over its passes.

    `printed` is each thing that it printed: the same words twice are one opinion.
    """

    names: tuple[str, ...]
    verdict: Verdict
    feedback: str
    violated: tuple[str, ...]
    printed: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class OpinionsAsked:
    """How many opinions an approval needs, and whether all rules stand in packets to refute by."""

    wanted: int = 1
    refuted: bool = False


def different_sides(sides: Sequence[Side]) -> list[Side]:
    """Those of the sides that share no review with one before."""
    found: list[Side] = []
    seen: set[bytes] = set()
    for side in sides:
        if not seen & side.printed:
            found.append(side)
        seen |= side.printed
    return found


def missing_opinions(sides: Sequence[Side], asked: OpinionsAsked) -> Iterator[ReviewProblem]:
    """Why an approval is not that of as many reviewers as the base asks for, or why not of all."""
    if asked.wanted < 2 or not any(side.verdict is Verdict.APPROVED for side in sides):
        return
    different = different_sides(sides)
    if len({side.verdict for side in different}) > 1:
        yield ReviewProblem("reviewers_disagree", None, "\n".join(_told(different)))
    elif len(different) < asked.wanted or not asked.refuted:
        held = (
            f"there {'is' if len(different) == 1 else 'are'} {counted(len(different), 'opinion')}"
        )
        besides = "" if asked.refuted else ", and no receipt is of a packet to refute by"
        said = f"The base asks for {asked.wanted} opinions (`review.reviewers`); {held}{besides}:"
        yield ReviewProblem("no_second_opinion", None, f"{said} {REMEDY}.")


def _told(sides: Sequence[Side]) -> Iterator[str]:
    yield "The reviewers do not agree, so that a person decides:"
    for side in sides:
        says = "approves" if side.verdict is Verdict.APPROVED else "rejects"
        broken = f" (violated: {', '.join(side.violated)})" if side.violated else ""
        yield f"- {', '.join(side.names)} {says}{broken}: {side.feedback.strip() or 'no word'}"


def refutes(receipts: Sequence[Mapping[str, object]], asked: Sequence[Collection[str]]) -> bool:
    """Whether the packets of a second opinion, by what each asks for, hold all that all ask for."""
    refuting: set[str] = set()
    everything: set[str] = set()
    there = False
    for receipt, ids in zip(receipts, asked, strict=True):
        told = receipt.get("told")
        everything.update(ids)
        if isinstance(told, dict) and told.get("refute") is True:
            there = True
            refuting.update(ids)
    return there and refuting == everything


def violated_in(statuses: Mapping[str, Status]) -> tuple[str, ...]:
    """The rules and sections that a review says are violated."""
    return tuple(sorted(name for name, status in statuses.items() if status is Status.VIOLATED))
