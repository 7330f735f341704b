"""A graph without cycles drawn from left to right: each thing behind all that it waits for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from hornbook.serve.console.svg import box, drawing, element, link, words

_WIDE, _HIGH, _ACROSS, _DOWN = 190.0, 40.0, 50.0, 14.0
_LETTERS = 26


@dataclass(frozen=True, slots=True)
class LayerNode:
    """Something that is drawn: where it leads, what it waits for, and the class of its mark."""

    name: str
    label: str
    address: str
    waits_for: tuple[str, ...] = ()
    mark: str = "quiet"
    detail: str = ""


def layers_of(waits_for: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """For each name how many must come before it at least; a cycle counts where it is met."""
    found: dict[str, int] = {}

    def depth(name: str, above: frozenset[str]) -> int:
        if name not in found:
            before = [each for each in waits_for[name] if each in waits_for and each not in above]
            found[name] = 1 + max((depth(each, above | {name}) for each in before), default=-1)
        return found[name]

    for name in waits_for:
        depth(name, frozenset())
    return found


def layered(nodes: Sequence[LayerNode], title: str) -> Markup:
    """The drawing: boxes in columns, and a line from each to what waits for it."""
    depths = layers_of({each.name: each.waits_for for each in nodes})
    rows: dict[int, int] = {}
    places: dict[str, tuple[float, float]] = {}
    for each in nodes:
        column = depths[each.name]
        row = rows.get(column, 0)
        rows[column] = row + 1
        places[each.name] = (column * (_WIDE + _ACROSS) + 2, row * (_HIGH + _DOWN) + 2)
    lines = [
        _edge(places[before], places[each.name])
        for each in nodes
        for before in each.waits_for
        if before in places
    ]
    width = (max(rows, default=0) + 1) * (_WIDE + _ACROSS) - _ACROSS + 4
    height = max(rows.values(), default=1) * (_HIGH + _DOWN) - _DOWN + 4
    return drawing(
        width,
        height,
        title,
        *lines,
        *(_node(each, places[each.name]) for each in nodes),
        leads=True,
    )


def _edge(start: tuple[float, float], end: tuple[float, float]) -> Markup:
    x0, y0 = start[0] + _WIDE, start[1] + _HIGH / 2
    x1, y1 = end[0], end[1] + _HIGH / 2
    middle = (x0 + x1) / 2
    return element("path", d=f"M{x0} {y0} C{middle} {y0} {middle} {y1} {x1} {y1}", class_="edge")


def _node(node: LayerNode, place: tuple[float, float]) -> Markup:
    x, y = place
    return link(
        node.address,
        element("title", f"{node.label}{f': {node.detail}' if node.detail else ''}"),
        box(x, y, _WIDE, _HIGH, class_="node", rx=5),
        box(x, y, 5, _HIGH, class_=node.mark, rx=2),
        words(x + 12, y + 17, _cut(node.label)),
        words(x + 12, y + 33, _cut(node.detail), class_="soft"),
    )


def _cut(text: str) -> str:
    """A label that fits its box; the whole of it is its title."""
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
