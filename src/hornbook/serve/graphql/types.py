"""The GraphQL types of things in the graph and of answers.

Those of answers are derived from the dataclasses that the answers are. A resolver returns the
dataclass itself, and GraphQL reads its attributes: nothing is copied or declared twice. What a type
adds to its dataclass stands in one call: the name and description that clients know it by, which of
its texts are ids, and which of its fields are not shown.
"""

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from types import MappingProxyType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import strawberry
from strawberry.scalars import JSON

from hornbook.context.prompt import Context, Item, LeftOut, ListedUnit, Reason, Section
from hornbook.graph.catalog_view import BoundRule, FileAnswer, NotEnforced
from hornbook.graph.ingest.report import IngestReport
from hornbook.graph.selection import Filter
from hornbook.graph.snapshot import EntityTriples
from hornbook.loop.runs.state import GivenAnswer, RunLine
from hornbook.plans.plan import Constraints, PlanDecision, Risk
from hornbook.plans.principal import Principal
from hornbook.plans.state import Amendment
from hornbook.review.judgement import CanaryResult, Finding, Judgement, ReviewProblem
from hornbook.review.review_history import PastReview, RuleRecord
from hornbook.rules.binding import UnreadRule
from hornbook.rules.document import Problem
from hornbook.serve.answers import GraphVersion, RunEvent, TaskAnswer, WholePlan
from hornbook.vocabulary.names import within
from hornbook.vocabulary.predicates import PREDICATES, Datatype, Predicate


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


_TYPES: dict[type, Any] = {}  # by dataclass; strawberry makes classes that no type checker knows


def _derive(
    of: type,
    description: str,
    *,
    name: str = "",
    ids: tuple[str, ...] = (),
    hidden: tuple[str, ...] = (),
    first: tuple[str, ...] = (),
    names: Mapping[str, str] = MappingProxyType({}),
    texts: Mapping[str, str] = MappingProxyType({}),
) -> Any:  # as `_TYPES`
    """The GraphQL type of a dataclass.

    `ids` are fields of GraphQL's type ID besides `id`, `hidden` those that are not shown, `first`
    those that come first, `names` those that are called otherwise, and `texts` the descriptions of
    some.
    """
    hints, called = get_type_hints(of), name or of.__name__
    annotations = {
        each: _type_of(hints[each], is_id=each in {"id", *ids})
        for each in dict.fromkeys((*first, *(field.name for field in fields(of))))
        if each not in hidden
    }
    described = {
        each: strawberry.field(name=names.get(each), description=texts.get(each))
        for each in {*names, *texts}
    }
    made = type(called, (), {"__annotations__": annotations, **described})
    _TYPES[of] = strawberry.type(made, name=called, description=description)
    return _TYPES[of]


def _type_of(hint: Any, *, is_id: bool) -> Any:  # type forms have no type
    """What GraphQL calls a type of Python's."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:  # of a type and None: there are no others
        return _type_of(inner[0], is_id=is_id) | None
    if origin is tuple:
        return list[_type_of(inner[0], is_id=is_id)]  # type: ignore[misc]  # made while running
    if not isinstance(hint, type):
        return JSON
    if issubclass(hint, str):
        return strawberry.ID if is_id else str
    return _TYPES.get(hint, hint)


_derive(BoundRule, "A rule that binds a file, and why.", ids=("revision",))
_derive(UnreadRule, "Something that should bind a file and could not be read, and why.")
_derive(NotEnforced, "A rule that is known but binds nothing, and why.")
FILE_ANSWER = _derive(FileAnswer, "The rules of one file.")

_derive(Item, "Where a whole piece of text stands in a prompt.", name="ContextItem")
_derive(
    Section, "A part of a prompt.", name="ContextSection", hidden=("offset", "length", "sha256")
)
_derive(
    ListedUnit,
    "A section of a large rule, which a review answers by its own id.",
    name="ContextUnit",
    ids=("sop_id",),
)
_derive(LeftOut, "Something that did not fit or was not current.")
_derive(Reason, "Why something does not fit.")
REVIEW_CONTEXT = _derive(
    Context,
    "What a reviewer must see: whole, or a refusal without text.",
    name="ReviewContext",
    ids=("sop_ids",),
    hidden=("window", "tiers"),
)

_derive(Problem, "Something wrong with a document.")
INGEST_REPORT = _derive(IngestReport, "What an ingest did, and what is in the graph now.")
GRAPH_VERSION = _derive(GraphVersion, "A version of the graph.")
PREDICATE = _derive(Predicate, "A predicate that something in the graph carries.")

_derive(
    Constraints,
    "Globs of the files that a plan may change, and must not.",
    names={"inside": "in", "outside": "out"},
)
_derive(
    PlanDecision,
    "A decision that was taken with a plan.",
    ids=("supersedes", "superseded_by"),
)
_derive(Risk, "What may go wrong with a plan.")
_derive(TaskAnswer, "A task of a plan, as it was fixed.", name="PlanTask", hidden=("line",))
_derive(Amendment, "A change to a committed plan.")
PLAN = _derive(
    WholePlan,
    "A plan: a commitment, or an exploration that may become one.",
    name="Plan",
    hidden=("invariants",),
    first=("id", "slug", "title", "status", "committed", "active"),
    texts={"status": "exploring, committed or superseded."},
)

RUN = _derive(
    RunLine,
    "A run of a task, or of a whole plan.",
    name="Run",
    ids=("task",),
    texts={
        "status": "running, waiting, asking, or how it ended: approved, stopped and others.",
        "step": "The step that comes next; empty if there is none.",
        "message": "What it asks a person, or why it ended.",
    },
)
_derive(
    Principal,
    "Who did something, and how that was known.",
    ids=("id",),
    texts={"kind": "human, ci, agent, token, local or engine."},
)
GIVEN_ANSWER = _derive(
    GivenAnswer, "What a person said to a run, and how the run stands since.", ids=("run",)
)
RUN_EVENT = _derive(
    RunEvent,
    "Something that happened in a run; `seq` is the place to go on from.",
    ids=("run",),
)

PAST_REVIEW = _derive(PastReview, "A recorded review.", ids=("receipts",))
RULE_RECORD = _derive(
    RuleRecord,
    "How often a rule was violated, kept or waved away.",
    texts={"doubted": "How many of the answers carry a warning."},
)
_derive(ReviewProblem, "Why a review is not accepted as it is.", ids=("sop_id",))
_derive(Finding, "Something that a judgement rests on.")
_derive(CanaryResult, "Whether the reviews found the violation that was planted.")
JUDGEMENT = _derive(
    Judgement,
    "What follows from a review; nothing is recorded.",
    hidden=("patterns", "rules"),
    texts={
        "outcome": "approved, rejected, escalate or invalid.",
        "route": "Who works on the change next.",
        "canary": "There where the change is a canary, which no judgement approves.",
        "warnings": "What keeps nothing from being approved and a person should look at.",
    },
)
