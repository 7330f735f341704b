"""The neighbourhood of an entity: what it says, what it leads to, and what leads to it."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import ceil
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from hornbook.errors import NotFound
from hornbook.serve.console.frame import Viewing
from hornbook.serve.console.svg import box, drawing, element, link, words

MOST = 200
_ASKED = """
query neighbourhood($id: ID!, $prefix: String) {
  entity(id: $id) { id triples { predicate object } }
  traverse(start: $id, depth: 1, direction: BOTH, predicatePrefix: $prefix) {
    edges { source target predicate }
  }
}
"""
_QUERY = '{ entity(id: "%s") { id triples { predicate object } } }'
_SPARQL = "SELECT ?predicate ?value { <%s> ?predicate ?value } ORDER BY ?predicate ?value"
_WIDE, _HIGH, _DOWN, _ACROSS = 330.0, 26.0, 8.0, 40.0
_LETTERS = 48

router = APIRouter(include_in_schema=False)


@router.get("/graph/{entity_id:path}")
def graph(
    entity_id: str, view: Viewing, predicate: Annotated[str, Query(max_length=200)] = ""
) -> HTMLResponse:
    """An entity with its neighbours, by predicate."""
    data = view.ask(_ASKED, id=entity_id, prefix=predicate or None)
    found, edges = data["entity"], data["traverse"]["edges"]
    if found is None:
        raise NotFound(f"nothing in the graph is called {entity_id!r}: look it up in `/graphql`.")
    shown = edges[:MOST]
    return view.page(
        "graph.html",
        live="graph",
        entity=found,
        edges=shown,
        known={name for edge in edges for name in (edge["source"], edge["target"])},
        total=len(edges),
        most=MOST,
        predicate=predicate,
        predicates=sorted({edge["predicate"] for edge in edges}),
        query=quote(_QUERY % entity_id),
        sparql=quote(_SPARQL % view.work.snapshot().store.names.entity(entity_id)),
        drawing=neighbourhood(entity_id, shown, view.asked_by.prefix) if shown else None,
    )


def neighbourhood(start: str, edges: Sequence[Mapping[str, Any]], prefix: str) -> Markup:
    """What leads to an entity on the left, what it leads to on the right."""
    before = [edge for edge in edges if edge["target"] == start]
    after = [edge for edge in edges if edge["source"] == start]
    left, right = _by_predicate(before), _by_predicate(after)
    height = max(len(left), len(right), 1) * (_HIGH + _DOWN) + 10
    middle = height / 2
    x1, x2 = _WIDE + _ACROSS, 2 * (_WIDE + _ACROSS)
    parts: list[Markup] = []
    for x, end, rows in ((0.0, "source", left), (x2, "target", right)):
        for place, edge in enumerate(rows):
            y = _row(place, len(rows), height)
            if isinstance(edge, str):
                parts.append(words(x, y + _HIGH / 2 - 4, edge, class_="soft"))
                continue
            way = (x1 + _WIDE, middle, x, y) if x else (_WIDE, y, x1, middle)
            parts += [_curve(*way), _box(x, y, edge, end, prefix)]
    parts.append(box(x1, middle - 18, _WIDE, 36, class_="node start", rx=5))
    parts.append(words(x1 + 10, middle + 5, _cut(start)))
    title = f"{start}: {len(before)} links lead to it, {len(after)} away from it"
    return drawing(x2 + _WIDE + 2, ceil(height), title, *parts, leads=True)


def _by_predicate(edges: Sequence[Mapping[str, Any]]) -> list[str | Mapping[str, Any]]:
    """Edges in order, behind the name of each predicate those that have it."""
    found: list[str | Mapping[str, Any]] = []
    ordered = sorted(edges, key=lambda each: str(each["predicate"]))
    for predicate, some in groupby(ordered, key=lambda each: str(each["predicate"])):
        found += [predicate, *some]
    return found


def _row(place: int, of: int, height: float) -> float:
    return height / 2 + (place - (of - 1) / 2) * (_HIGH + _DOWN)


def _curve(x0: float, y0: float, x1: float, y1: float) -> Markup:
    middle = (x0 + x1) / 2
    path = f"M{x0} {y0:.1f} C{middle} {y0:.1f} {middle} {y1:.1f} {x1} {y1:.1f}"
    return element("path", d=path, class_="edge")


def _box(x: float, y: float, edge: Mapping[str, Any], end: str, prefix: str) -> Markup:
    name = str(edge[end])
    return link(
        f"{prefix}/graph/{quote(name, safe='/:@.~')}",
        element("title", f"{edge['predicate']}: {name}"),
        box(x, y - _HIGH / 2, _WIDE, _HIGH, class_="node", rx=4),
        words(x + 8, y + 4, _cut(name)),
    )


def _cut(text: str) -> str:
    """The end of an id, which tells it apart; the whole of it is its title."""
    return text if len(text) <= _LETTERS else f"…{text[-_LETTERS + 1 :]}"
