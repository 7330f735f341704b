"""Lays out a treemap: rectangles whose areas are as given, as near to squares as they come.

It is the squarified algorithm: tiles are taken from the largest on and laid in a row along the
shorter side of what is left, for as long as that makes the worst of the row's tiles less oblong.
Then the row is closed, and the rest is laid out in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """Where the item with this number in the list lies."""

    item: int
    x: float
    y: float
    width: float
    height: float


def lay_tiles(sizes: Sequence[float], width: float, height: float) -> list[Tile]:
    """The tiles of a list of sizes, which fall; what has no size has no tile."""
    total = sum(sizes)
    if total <= 0 or width <= 0 or height <= 0:
        return []
    scale = width * height / total
    areas = [(number, size * scale) for number, size in enumerate(sizes) if size > 0]
    tiles: list[Tile] = []
    x, y = 0.0, 0.0
    at = 0
    while at < len(areas):
        side = min(width - x, height - y)
        end = _row(areas, at, side)
        row = areas[at:end]
        taken = sum(area for _, area in row)
        upright = width - x >= height - y
        depth = taken / side if side > 0 else 0.0
        along = y if upright else x
        for number, area in row:
            length = area / depth if depth > 0 else 0.0
            place = (x, along, depth, length) if upright else (along, y, length, depth)
            tiles.append(Tile(number, *place))
            along += length
        x, y = (x + depth, y) if upright else (x, y + depth)
        at = end
    return tiles


def _row(areas: Sequence[tuple[int, float]], start: int, side: float) -> int:
    """Where the row that begins at a place ends."""
    total, best, end = 0.0, float("inf"), start
    largest = areas[start][1]
    while end < len(areas):
        total += areas[end][1]
        # The first is the largest, this one the smallest of the row.
        worst = max(side**2 * largest / total**2, total**2 / (side**2 * areas[end][1] or 1e-9))
        if worst > best:
            break
        best, end = worst, end + 1
    return max(end, start + 1)
