"""The GraphQL types of things in the graph."""

from enum import Enum

import strawberry
from strawberry.scalars import JSON

from hornbook.graph.selection import Filter
from hornbook.graph.snapshot import EntityTriples
from hornbook.vocabulary.names import within
from hornbook.vocabulary.predicates import PREDICATES, Datatype


@strawberry.type(description="One statement about an entity.")
class Triple:
    """One statement about an entity; `object` is always text, `value` has its type."""

    predicate: str
    object_text: str = strawberry.field(name="object", description="The object as text.")
    value: JSON = strawberry.field(description="The object in its own type.")


@strawberry.type(description="A thing in the graph with all that is said of it.")
class Entity:
    """A thing in the graph."""

    id: strawberry.ID
    thing: strawberry.Private[EntityTriples]

    @strawberry.field(description="Its statements, below a predicate prefix if one is given.")
    def triples(self, predicate_prefix: str | None = None) -> list[Triple]:
        """Its statements, sorted."""
        return [
            Triple(predicate=name, object_text=text, value=typed(name, text))
            for name, text in self.thing.triples
            if predicate_prefix is None or within(name, predicate_prefix)
        ]


@strawberry.type(description="A link between two entities.")
class Edge:
    """A link between two entities."""

    source: strawberry.ID
    target: strawberry.ID
    predicate: str


@strawberry.type(description="What a traversal reached.")
class Neighbourhood:
    """What a traversal reached; the start is the first node."""

    nodes: list[Entity]
    edges: list[Edge]


@strawberry.type(description="Where a page ends and whether more follows.")
class PageInfo:
    """Relay's page information."""

    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@strawberry.type(description="An entity with the cursor that comes after it.")
class EntityEdge:
    """Relay's edge."""

    cursor: str
    node: Entity


@strawberry.type(description="A page of entities in Relay's form.")
class EntityConnection:
    """Relay's connection."""

    edges: list[EntityEdge]
    page_info: PageInfo


@strawberry.enum(description="Which way to follow links.")
class Direction(Enum):
    """Which way to follow links."""

    INBOUND = "INBOUND"
    OUTBOUND = "OUTBOUND"
    BOTH = "BOTH"


@strawberry.input(description="Which entities are asked for; all conditions must hold.")
class EntityFilter:
    """Which entities are asked for."""

    predicate_prefix: str | None = strawberry.field(
        default=None,
        description="Its id or a predicate that it carries equals this or lies below it at a dot.",
    )
    id_prefix: str | None = None
    category: str | None = None
    severity: str | None = None
    applies_to: str | None = strawberry.field(
        default=None, description="A path; only rules that bind it."
    )
    text: str | None = strawberry.field(
        default=None, description="Part of the title, summary, id, keywords or domains."
    )
    derived_from: strawberry.ID | None = None
    include_chunks: bool = False
    include_revisions: bool = False

    def asked(self) -> Filter:
        """The filter as the workspace takes it."""
        return Filter(
            predicate_prefix=self.predicate_prefix,
            id_prefix=self.id_prefix,
            category=self.category,
            severity=self.severity,
            applies_to=self.applies_to,
            text=self.text,
            derived_from=self.derived_from,
            include_chunks=self.include_chunks,
            include_revisions=self.include_revisions,
        )


def entity_of(thing: EntityTriples) -> Entity:
    """A thing as a GraphQL entity."""
    return Entity(id=strawberry.ID(thing.id), thing=thing)


def typed(name: str, text: str) -> JSON:
    """A value in the type that its predicate has."""
    term = PREDICATES.get(name)
    if term is not None and term.datatype is Datatype.INTEGER:
        return JSON(int(text))
    return JSON(text)
