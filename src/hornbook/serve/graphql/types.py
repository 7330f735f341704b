"""The GraphQL types of things in the graph and of plain answers, derived from dataclasses.

Types that are linked with each other stand in `rule_types`, `work_types`, `run_types` and
`repository_types`.
"""

from collections.abc import Callable, Mapping
from enum import Enum

import strawberry
from strawberry.scalars import JSON

from hornbook.context.prompt import (
    Context,
    Item,
    LeftOut,
    ListedUnit,
    Outcome,
    Reason,
    Section,
)
from hornbook.graph.catalog_view import BoundRule, FileAnswer, NotEnforced
from hornbook.graph.ingest.report import IngestReport
from hornbook.graph.selection import Filter
from hornbook.graph.snapshot import EntityTriples
from hornbook.loop.runs.overview import Fleet, FleetMachine, FleetWait, UntoldQuestion
from hornbook.plans.events import AuditEvent, AuditPage
from hornbook.plans.principal import Principal, PrincipalKind, Via
from hornbook.plans.run_costs import RunCost
from hornbook.review.review_history import PastReview, RuleRecord
from hornbook.rules.binding import UnreadRule
from hornbook.rules.catalog import Entry
from hornbook.rules.document import Problem
from hornbook.serve.answers import GraphVersion
from hornbook.serve.graphql.connections import connection
from hornbook.serve.graphql.context import Asking
from hornbook.serve.graphql.derived import Node, derive, gives, later
from hornbook.settings.reserve import ReserveFrom
from hornbook.vocabulary.names import within
from hornbook.vocabulary.predicates import PREDICATES, Datatype, Predicate
from hornbook.vocabulary.terms import Activation, Category, Level, Severity

_RULES = "hornbook.serve.graphql.rule_types"


@strawberry.type(description="One statement about an entity.")
class Triple:
    """One statement about an entity; `object` is always text, `value` has its type."""

    predicate: str
    object_text: str = strawberry.field(name="object", description="The object as text.")
    value: JSON = strawberry.field(description="The object in its own type.")


@strawberry.type(description="A thing in the graph with all that is said of it.")
class Entity(Node):
    """A thing in the graph."""

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


ENTITY_CONNECTION = connection("Entity", Entity)


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
    reads = _READS.get(term.datatype) if term is not None else None
    return JSON(text if reads is None else reads(text))


_READS: Mapping[Datatype, Callable[[str], object]] = {
    Datatype.INTEGER: int,
    Datatype.DECIMAL: float,
    Datatype.BOOLEAN: "true".__eq__,
}


@gives(later("RULE", _RULES) | None)
def rule(self: BoundRule | NotEnforced, info: Asking) -> Entry | None:
    """The rule itself; null where the graph has it no more, as with rules of another commit."""
    return info.context.data.rule(self.id)


@gives(later("FILE", _RULES))
def file(self: FileAnswer) -> FileAnswer:
    """The file itself."""
    return self


PROBLEM = derive(Problem, "Something wrong with a document.", kinds={"level": Level})
PRINCIPAL = derive(
    Principal,
    "Who did something, and how that was known.",
    ids=("id",),
    texts={"kind": "human, ci, agent, token, local or engine."},
    kinds={"kind": PrincipalKind, "via": Via},
)

derive(
    BoundRule,
    "A rule that binds a file, and why.",
    ids=("revision",),
    kinds={"category": Category, "severity": Severity, "activation": Activation},
    more=(rule,),
)
derive(UnreadRule, "Something that should bind a file and could not be read, and why.")
derive(
    NotEnforced,
    "A rule that is known but binds nothing, and why.",
    kinds={"activation": Activation},
    more=(rule,),
)
FILE_ANSWER = derive(
    FileAnswer, "The rules of one file.", kinds={"reserve_from": ReserveFrom}, more=(file,)
)

derive(Item, "Where a whole piece of text stands in a prompt.", name="ContextItem")
derive(Section, "A part of a prompt.", name="ContextSection", hidden=("offset", "length", "sha256"))
derive(
    ListedUnit,
    "A section of a large rule, which a review answers by its own id.",
    name="ContextUnit",
    ids=("sop_id",),
)
derive(LeftOut, "Something that did not fit or was not current.")
derive(Reason, "Why something does not fit.")
REVIEW_CONTEXT = derive(
    Context,
    "What a reviewer must see: whole, or a refusal without text.",
    name="ReviewContext",
    ids=("sop_ids",),
    hidden=("window", "tiers"),
    kinds={"outcome": Outcome, "reserve_from": ReserveFrom},
)

INGEST_REPORT = derive(IngestReport, "What an ingest did, and what is in the graph now.")
GRAPH_VERSION = derive(GraphVersion, "A version of the graph.")
PREDICATE = derive(Predicate, "A predicate that something in the graph carries.")

derive(
    AuditEvent,
    "Something that somebody did, and the repository that it happened in.",
    ids=("run",),
)
AUDIT_PAGE = derive(
    AuditPage,
    "Who did what, oldest first; `next` goes as `after` to go on, `verified` is whether every log "
    "that was read is whole.",
)

derive(
    FleetMachine,
    "A process that works on runs: where, with which version, seen when, and at which runs.",
    ids=("runs",),
)
derive(FleetWait, "A run that nobody works on at the moment, why, and since when.", ids=("run",))
derive(
    UntoldQuestion,
    "A question to a person that did not arrive at `notify.url`, and why.",
    ids=("run",),
    texts={
        "question": "The event that asks it.",
        "attempts": "How often it was tried.",
        "failed": "Whether it is not tried any more.",
        "problem": "Why it did not arrive.",
    },
)
RUN_COST = derive(RunCost, "What agents told that runs cost, in one currency.", name="Cost")
FLEET = derive(
    Fleet,
    "Who works on the runs of a database, what waits, and how much gets done: `perMinute` are "
    "tasks that ended over the last ten minutes, `costs` are what agents told in the last day; "
    "`cost` and `currency` are null where these are in several currencies.",
)

PAST_REVIEW = derive(PastReview, "A recorded review.", ids=("receipts",))
RULE_RECORD = derive(
    RuleRecord,
    "How often a rule was violated, kept or waved away.",
    texts={"doubted": "How many of the answers carry a warning."},
)
