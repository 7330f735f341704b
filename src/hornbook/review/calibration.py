"""How sure a reviewer has to be, from how often it was right when it was so sure.

The shares of right reviews by confidence are made to rise first (neighbours that fall are pooled,
as isotonic regression does it), so that a lucky guess at a low confidence lowers nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hornbook.review.integrity import LEAST

RIGHT = 0.7
"""How often reviews must have been right at a confidence that is enough."""
KNOWN = 10
"""Of how many reviews the truth must be known before anything follows from it."""
_HALF = 0.05
"""Reviews are counted by the nearest tenth, which begins so far below it."""
_NEVER = 1.01


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of the reviews that were so confident and whose truth is known, how many were right."""

    confidence: float
    right: int
    of: int


@dataclass(frozen=True, slots=True)
class Threshold:
    """Below which confidence a person decides, of how many reviews that comes, and why so."""

    confidence: float
    known: int
    reason: str


def threshold(calibration: Sequence[Calibration]) -> Threshold:
    """The lowest confidence from which on a reviewer was right often enough."""
    known = sum(each.of for each in calibration)
    if known < KNOWN:
        said = f"{LEAST:g}, because the truth of {known} reviews is known and {KNOWN} are needed"
        return Threshold(LEAST, known, said)
    for lowest, right, of in _rising(calibration):
        if right >= RIGHT * of:
            least = max(0.0, round(lowest - _HALF, 2))
            said = f"{least:g}, from {known} reviews of which the truth is known"
            return Threshold(least, known, said)
    said = f"out of reach: of {known} reviews it was right in under {RIGHT:.0%} however sure it was"
    return Threshold(_NEVER, known, said)


def _rising(calibration: Sequence[Calibration]) -> list[tuple[float, int, int]]:
    """Confidences, the lowest of each pool, with how many were right of how many; shares rise."""
    pools: list[tuple[float, int, int]] = []
    for each in sorted(calibration, key=lambda one: one.confidence):
        pool = (each.confidence, each.right, each.of)
        while pools and pools[-1][1] * pool[2] >= pool[1] * pools[-1][2]:
            lowest, right, of = pools.pop()
            pool = (lowest, right + pool[1], of + pool[2])
        pools.append(pool)
    return pools
