"""Follows links from an entity, breadth first, a batch of entities at a time."""

from collections.abc import Sequence

import strawberry

from hornbook.serve.context import Context, refuse
from hornbook.serve.types import Direction, Edge

MOST_NODES = 5000


class Walk:
    """Follows the links of one version in one direction."""

    def __init__(
        self,
        context: Context,
        direction: Direction,
        predicate_prefix: str | None,
        *,
        include_revisions: bool,
    ) -> None:
        self._context = context
        self._snapshot = context.snapshot
        self._direction = direction
        self._names = set(self._snapshot.predicates(predicate_prefix))
        self._revisions = include_revisions

    def from_(self, start: str, depth: int) -> tuple[list[str], list[Edge]]:
        """The ids that were reached, the start first, and the edges between them."""
        reached = [start]
        seen = {start}
        edges: dict[tuple[str, str, str], None] = {}
        border: Sequence[str] = [start]
        for _ in range(depth):
            self._context.patience.check()
            found = self._edges(border)
            edges.update(dict.fromkeys(found))
            ends = {end for source, _, target in found for end in (source, target)}
            border = sorted(ends - seen)
            seen.update(border)
            reached += border
            if len(reached) > MOST_NODES:
                raise refuse(
                    "depth",
                    f"more than {MOST_NODES} entities lie within depth {depth}",
                    "ask for less",
                )
        ordered = sorted(edges)
        return reached, [
            Edge(source=strawberry.ID(source), target=strawberry.ID(target), predicate=name)
            for source, name, target in ordered
        ]

    def _edges(self, ids: Sequence[str]) -> list[tuple[str, str, str]]:
        found: list[tuple[str, str, str]] = []
        if self._direction is not Direction.OUTBOUND:
            found += self._snapshot.edges(ids, inbound=True)
        if self._direction is not Direction.INBOUND:
            found += self._snapshot.edges(ids, inbound=False)
        return [edge for edge in found if edge[1] in self._names and self._wanted(edge)]

    def _wanted(self, edge: tuple[str, str, str]) -> bool:
        return self._revisions or not any(".rev." in end for end in (edge[0], edge[2]))
