"""The GraphQL schema: predicate-prefix queries, traversal, and which rules bind files."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import asdict
from typing import TypedDict

import strawberry
from graphql import GraphQLError
from strawberry.types import ExecutionContext, Info

from hornbook.errors import HornbookError, NotFound
from hornbook.serve.types import (
    BoundRule,
    Direction,
    Edge,
    Entity,
    EntityConnection,
    EntityEdge,
    EntityFilter,
    FileAnswer,
    Neighbourhood,
    NotEnforced,
    PageInfo,
    Predicate,
    entity_of,
    predicate_of,
)
from hornbook.workspace.selection import Filter
from hornbook.workspace.snapshot import Snapshot, Thing, clean_path
from hornbook.workspace.workspace import Workspace

PAGE = 100
LARGEST_PAGE = 1000
DEEPEST = 8
MOST_NODES = 5000


class Context(TypedDict):
    """What every resolver gets: one version of the graph for the whole request."""

    snapshot: Snapshot


Asking = Info[Context, None]


def _refuse(field: str, message: str) -> GraphQLError:
    return GraphQLError(message, extensions={"code": "BAD_USER_INPUT", "field": field})


def cursor(entity_id: str) -> str:
    """The opaque cursor behind an entity."""
    return base64.urlsafe_b64encode(f"id:{entity_id}".encode()).decode("ascii")


def _after(text: str | None) -> str | None:
    """The id that a cursor stands for; an id itself is taken as it is."""
    if text is None:
        return None
    try:
        decoded = base64.urlsafe_b64decode(text.encode()).decode()
    except (binascii.Error, ValueError):
        return text
    return decoded[3:] if decoded.startswith("id:") else text


def _page(
    info: Asking, asked: EntityFilter | None, first: int, after: str | None
) -> tuple[list[Thing], bool]:
    if not 1 <= first <= LARGEST_PAGE:
        raise _refuse("first", f"first is {first}: ask for 1 to {LARGEST_PAGE}.")
    snapshot = info.context["snapshot"]
    wanted = asked.asked() if asked is not None else Filter()
    ids, more = snapshot.select(wanted, first, _after(after))
    return snapshot.describe(ids), more


@strawberry.type
class Query:
    """What can be asked."""

    @strawberry.field(description="Entities in id order.")
    def entities(
        self,
        info: Asking,
        filter: EntityFilter | None = None,  # noqa: A002  # the documented name
        first: int = PAGE,
        after: str | None = None,
    ) -> list[Entity]:
        """Entities in id order."""
        things, _ = _page(info, filter, first, after)
        return [entity_of(thing) for thing in things]

    @strawberry.field(description="Entities in id order, in Relay's form.")
    def entities_connection(
        self,
        info: Asking,
        filter: EntityFilter | None = None,  # noqa: A002  # the documented name
        first: int = PAGE,
        after: str | None = None,
    ) -> EntityConnection:
        """Entities in id order, in Relay's form."""
        things, more = _page(info, filter, first, after)
        edges = [EntityEdge(cursor=cursor(each.id), node=entity_of(each)) for each in things]
        return EntityConnection(
            edges=edges,
            page_info=PageInfo(
                has_next_page=more,
                has_previous_page=after is not None,
                start_cursor=edges[0].cursor if edges else None,
                end_cursor=edges[-1].cursor if edges else None,
            ),
        )

    @strawberry.field(description="One entity, also a chunk, a revision or a removed document.")
    def entity(self, info: Asking, id: strawberry.ID) -> Entity | None:  # noqa: A002  # documented
        """One entity or null."""
        try:
            return entity_of(info.context["snapshot"].thing(id))
        except NotFound:
            return None

    @strawberry.field(description="What can be reached from an entity over links.")
    def traverse(  # noqa: PLR0917  # GraphQL arguments are always named
        self,
        info: Asking,
        start: strawberry.ID,
        depth: int = 1,
        direction: Direction = Direction.OUTBOUND,
        predicate_prefix: str | None = None,
        include_revisions: bool = False,
    ) -> Neighbourhood:
        """What can be reached from an entity over links; the start comes first."""
        if not 1 <= depth <= DEEPEST:
            raise _refuse("depth", f"depth is {depth}: ask for 1 to {DEEPEST}.")
        snapshot = info.context["snapshot"]
        walk = _Walk(snapshot, direction, predicate_prefix, include_revisions=include_revisions)
        ids, edges = walk.from_(start, depth)
        found = [thing for thing in snapshot.describe(ids) if thing.triples]
        return Neighbourhood(nodes=[entity_of(thing) for thing in found], edges=edges)

    @strawberry.field(description="The predicates that something in the graph carries.")
    def predicates(self, info: Asking, prefix: str | None = None) -> list[Predicate]:
        """The predicates that something in the graph carries."""
        return [predicate_of(name) for name in info.context["snapshot"].predicates(prefix)]

    @strawberry.field(description="The families of ids that documents have.")
    def collections(self, info: Asking) -> list[str]:
        """The ids of current documents without their last segment."""
        return list(info.context["snapshot"].registry.collections)

    @strawberry.field(
        description="The SOPs that bind any of some files; all of them without files."
    )
    def sops(self, info: Asking, files: list[str] | None = None) -> list[Entity]:
        """The SOPs that bind any of some files."""
        snapshot = info.context["snapshot"]
        if files is None:
            ids = [entry.id for entry in snapshot.catalog.entries if entry.category == "sop"]
        else:
            answers = snapshot.why(_clean(files))
            ids = sorted({rule.id for answer in answers for rule in answer.rules})
        return [entity_of(thing) for thing in snapshot.describe(ids)]

    @strawberry.field(description="Which rules bind each file, and why.")
    def why(self, info: Asking, files: list[str]) -> list[FileAnswer]:
        """Which rules bind each file, and why."""
        answers = info.context["snapshot"].why(_clean(files))
        return [
            FileAnswer(
                path=answer.path,
                rules=[BoundRule(**asdict(rule)) for rule in answer.rules],
                tokens=answer.tokens,
                reserve=answer.reserve,
                fits=answer.fits,
                not_enforced=[NotEnforced(**asdict(rule)) for rule in answer.not_enforced],
            )
            for answer in answers
        ]


class _Walk:
    """Follows links breadth first, a batch of entities at a time."""

    def __init__(
        self,
        snapshot: Snapshot,
        direction: Direction,
        predicate_prefix: str | None,
        *,
        include_revisions: bool,
    ) -> None:
        self._snapshot = snapshot
        self._direction = direction
        self._names = set(snapshot.predicates(predicate_prefix))
        self._revisions = include_revisions

    def from_(self, start: str, depth: int) -> tuple[list[str], list[Edge]]:
        """The ids that were reached, the start first, and the edges between them."""
        reached = [start]
        seen = {start}
        edges: dict[tuple[str, str, str], None] = {}
        border: Sequence[str] = [start]
        for _ in range(depth):
            found = self._edges(border)
            edges.update(dict.fromkeys(found))
            ends = {end for source, _, target in found for end in (source, target)}
            border = sorted(ends - seen)
            seen.update(border)
            reached += border
            if len(reached) > MOST_NODES:
                raise _refuse(
                    "depth", f"more than {MOST_NODES} entities within depth {depth}: ask for less."
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


def _clean(files: Sequence[str]) -> list[str]:
    try:
        return [clean_path(file) for file in files]
    except HornbookError as problem:
        raise _refuse("files", str(problem)) from problem


class QuietSchema(strawberry.Schema):
    """A schema that answers with errors and does not also log them: the caller has them."""

    def process_errors(
        self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None
    ) -> None:
        """Say nothing: every error is in the answer."""


schema = QuietSchema(query=Query)


def execute(workspace: Workspace, document: str, variables: dict[str, object]) -> dict[str, object]:
    """The answer to a GraphQL document as its `{data, errors}` object."""
    context = Context(snapshot=workspace.snapshot())
    if not document.strip():
        return {"data": None, "errors": [{"message": "the document is empty: write a query."}]}
    result = schema.execute_sync(document, variable_values=variables, context_value=context)
    answer: dict[str, object] = {"data": result.data}
    if result.errors:
        answer["errors"] = [dict(error.formatted) for error in result.errors]
    return answer
