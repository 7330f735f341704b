"""The questions of the GraphQL schema, each a thin adapter over the workspace."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import strawberry

from hornbook.context.prompt import Context
from hornbook.errors import NotFound
from hornbook.graph.catalog_view import FileAnswer
from hornbook.graph.selection import Filter
from hornbook.graph.snapshot import EntityTriples
from hornbook.loop.runs.overview import Fleet, RunLine
from hornbook.plans.events import AuditPage
from hornbook.review.review_history import PastReview, RuleRecord
from hornbook.serve.answers import WholePlan, change_within, whole_plan, why_within
from hornbook.serve.graphql.connections import (
    LARGEST_PAGE,
    PAGE,
    ListPage,
    PageAsked,
    cursor,
    key_of,
)
from hornbook.serve.graphql.context import Asking, ResolverContext, described, files_inside, refuse
from hornbook.serve.graphql.run_types import RUN
from hornbook.serve.graphql.types import (
    AUDIT_PAGE,
    ENTITY_CONNECTION,
    FILE_ANSWER,
    FLEET,
    PAST_REVIEW,
    PREDICATE,
    REVIEW_CONTEXT,
    RULE_RECORD,
    Direction,
    Edge,
    Entity,
    EntityFilter,
    Neighbourhood,
    entity_of,
)
from hornbook.serve.graphql.work_types import PLAN
from hornbook.vocabulary.predicates import PREDICATES, Predicate
from hornbook.vocabulary.terms import Category, Severity

_ID = re.compile(r"[^\s.]+(\.[^\s.]+)+")


@dataclass(frozen=True, slots=True)
class Page:
    """Some ids in order, and whether more follow."""

    ids: list[str]
    more: bool


def page(context: ResolverContext, asked: Filter, first: int, after: str | None) -> Page:
    """The page that is asked for.

    Raises:
        GraphQLError: An argument is wrong.
    """
    if not 1 <= first <= LARGEST_PAGE:
        raise refuse("first", f"first is {first}", f"ask for 1 to {LARGEST_PAGE}")
    checked = _checked(context, asked)
    ids, more = context.snapshot.select(checked, first, _place(after))
    return Page(ids, more)


def _checked(context: ResolverContext, asked: Filter) -> Filter:
    _known("category", asked.category, Category)
    _known("severity", asked.severity, Severity)
    if asked.applies_to is None:
        return asked
    (path,) = files_inside(context, [asked.applies_to], "appliesTo")
    return replace(asked, applies_to=path)


def _known(field: str, value: str | None, known: type[StrEnum]) -> None:
    values = [each.value for each in known]
    if value is not None and value not in values:
        raise refuse(field, f"no {field} is called {value!r}", f"use one of {', '.join(values)}")


def _place(text: str | None, argument: str = "after") -> str | None:
    """The id that a cursor stands for; an id itself is taken as it is."""
    if text is None or _ID.fullmatch(text):
        return text
    return key_of(text, argument)


DAYS = 90
MOST_DAYS = 3650


@strawberry.type
class PlanQuery:
    """What can be asked about work."""

    @described(strawberry.field, list[PLAN])
    def plans(self, info: Asking) -> list[WholePlan]:
        """Every plan: explorations, then the committed, then the rest."""
        book = info.context.workspace.plan_book()
        active = book.active()
        return [whole_plan(view, active) for view in book.views()]

    @described(strawberry.field, PLAN | None)
    def plan(self, info: Asking, slug: str) -> WholePlan | None:
        """One plan by its slug or id; null if there is none."""
        if not slug.strip():
            raise refuse("slug", "no plan is named", "give a slug, as `plans` lists them")
        book = info.context.workspace.plan_book()
        try:
            view = book.view(slug)
            return whole_plan(view, book.active(), book.references(view.plan.slug))
        except NotFound:
            return None

    @described(strawberry.field, AUDIT_PAGE)
    def audit(
        self,
        info: Asking,
        *,
        since: str = "",
        principal: str = "",
        kind: str = "",
        plan: str = "",
        first: int = PAGE,
        after: str | None = None,
    ) -> AuditPage:
        """Who did what, oldest first, from the logs of all plans; `since` is a time, a day, or a
        span such as 7d.
        """
        from hornbook.plans.audit.audit_log import AuditFilter, AuditLog, since_of  # noqa: PLC0415  # the log

        if not 1 <= first <= LARGEST_PAGE:
            raise refuse("first", f"first is {first}", f"ask for 1 to {LARGEST_PAGE}")
        wanted = AuditFilter(since_of(since, datetime.now(UTC)), principal, kind, plan)
        work, updates = info.context.workspace, info.context.updates
        memory = updates.logs if updates is not None else None
        return AuditLog(work.places, work.settings, memory).events(wanted).page(first, after)

    @described(strawberry.field, FLEET)
    def fleet(self, info: Asking) -> Fleet:
        """The machines that work on runs, what waits and why, and how much gets done."""
        from hornbook.loop.engine.fleet import fleet_of  # noqa: PLC0415  # start-up: SQLAlchemy

        return fleet_of(info.context.workspace.places, info.context.workspace.settings)

    @described(strawberry.field, list[RUN])
    def runs(self, info: Asking, plan_id: strawberry.ID | None = None) -> list[RunLine]:
        """The runs, newest first; those of a plan if one is named."""
        with info.context.workspace.run_book() as book:
            return book.lines(plan_id)

    @described(strawberry.field, RUN | None)
    def run(self, info: Asking, id: strawberry.ID) -> RunLine | None:  # noqa: A002  # documented
        """One run; null if there is none."""
        with info.context.workspace.run_book() as book:
            try:
                return book.line(id)
            except NotFound:
                return None

    @described(strawberry.field, list[PAST_REVIEW])
    def reviews(self, info: Asking, revision: strawberry.ID | None = None) -> list[PastReview]:
        """Recorded reviews, newest first; those that judged by a revision if named."""
        return info.context.workspace.reviews(revision)

    @described(strawberry.field, list[RULE_RECORD])
    def rule_records(self, info: Asking, days: int = DAYS) -> list[RuleRecord]:
        """How reviews answered each rule in the last days."""
        if not 1 <= days <= MOST_DAYS:
            raise refuse("days", f"days is {days}", f"ask for 1 to {MOST_DAYS}")
        since = datetime.now(UTC) - timedelta(days=days)
        return info.context.workspace.rule_records(since)


MOST_NODES = 5000


class Walk:
    """Follows the links of one version in one direction."""

    def __init__(
        self,
        context: ResolverContext,
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
            self._context.deadline.check()
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


DEEPEST = 8
PIECE = 200


def _described(context: ResolverContext, ids: Sequence[str]) -> list[Entity]:
    return [entity_of(thing) for thing in _things(context, ids)]


def _things(context: ResolverContext, ids: Sequence[str]) -> Iterator[EntityTriples]:
    """What the graph says of entities, a piece at a time."""
    for piece in _pieces(context, ids):
        yield from context.snapshot.describe(piece)


def _pieces(context: ResolverContext, names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Names a piece at a time, as long as somebody waits for the answer."""
    for start in range(0, len(names), PIECE):
        context.deadline.check()
        yield names[start : start + PIECE]


def _listed(context: ResolverContext, asked: Filter, first: int, after: str | None) -> list[Entity]:
    return _described(context, page(context, asked, first, after).ids)


@strawberry.type
class EntityQuery:
    """What can be asked about the graph."""

    @described(strawberry.field)
    def entities(
        self,
        info: Asking,
        filter: EntityFilter | None = None,  # noqa: A002  # the documented name
        first: int = PAGE,
        after: str | None = None,
    ) -> list[Entity]:
        """Entities in id order."""
        wanted = filter.asked() if filter is not None else Filter()
        return _listed(info.context, wanted, first, after)

    @described(strawberry.field, ENTITY_CONNECTION)
    def entities_connection(  # noqa: PLR0917  # GraphQL arguments are always named
        self,
        info: Asking,
        filter: EntityFilter | None = None,  # noqa: A002  # the documented name
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> ListPage:
        """Entities in id order, in Relay's form."""
        context = info.context
        wanted = _checked(context, filter.asked() if filter is not None else Filter())
        whole, _ = context.snapshot.select(wanted, len(context.snapshot.ids) + 1, None)
        places = (each and cursor(each) for each in (_place(after), _place(before, "before")))
        asked = PageAsked(first, next(places), last, next(places))
        return asked.of(whole, str, made=lambda ids: _described(context, ids))

    @described(strawberry.field)
    def entities_by_predicate(
        self, info: Asking, predicate: str, first: int = PAGE, after: str | None = None
    ) -> list[Entity]:
        """Entities that carry a predicate, or one below it."""
        return _listed(info.context, Filter(carries=predicate), first, after)

    @described(strawberry.field)
    def entities_by_prefix(
        self, info: Asking, prefix: str, first: int = PAGE, after: str | None = None
    ) -> list[Entity]:
        """Entities whose id equals a prefix or lies below it at a dot."""
        return _listed(info.context, Filter(id_prefix=prefix), first, after)

    @described(strawberry.field)
    def entity(self, info: Asking, id: strawberry.ID) -> Entity | None:  # noqa: A002  # documented
        """One entity, also a chunk, a revision or a removed document."""
        try:
            return entity_of(info.context.snapshot.thing(id))
        except NotFound:
            return None

    @described(strawberry.field)
    def traverse(  # noqa: PLR0917  # GraphQL arguments are always named
        self,
        info: Asking,
        start: strawberry.ID,
        depth: int = 1,
        direction: Direction = Direction.OUTBOUND,
        predicate_prefix: str | None = None,
        include_revisions: bool = False,
    ) -> Neighbourhood:
        """What can be reached from an entity over links."""
        if not 1 <= depth <= DEEPEST:
            raise refuse("depth", f"depth is {depth}", f"ask for 1 to {DEEPEST}")
        walk = Walk(info.context, direction, predicate_prefix, include_revisions=include_revisions)
        ids, edges = walk.from_(start, depth)
        found = [thing for thing in _things(info.context, ids) if thing.triples]
        return Neighbourhood(nodes=[entity_of(thing) for thing in found], edges=edges)

    @described(strawberry.field, list[PREDICATE])
    def predicates(self, info: Asking, prefix: str | None = None) -> list[Predicate]:
        """The predicates that something in the graph carries."""
        names = info.context.snapshot.predicates(prefix)
        return [PREDICATES.get(name, Predicate(name)) for name in names]

    @described(strawberry.field)
    def collections(self, info: Asking) -> list[str]:
        """The families of ids that documents have."""
        return list(info.context.snapshot.registry.collections)

    @described(strawberry.field)
    def version(self, info: Asking) -> str:
        """The version of the graph that this answer is made from."""
        return info.context.snapshot.version

    @described(strawberry.field)
    def sops(self, info: Asking, files: list[str] | None = None) -> list[Entity]:
        """The SOPs that bind any of some files; all of them without files."""
        snapshot = info.context.snapshot
        if files is None:
            ids = [each.id for each in snapshot.catalog.entries if each.category is Category.SOP]
        else:
            paths = files_inside(info.context, files)
            pieces = map(snapshot.why, _pieces(info.context, paths))
            ids = sorted({rule.id for piece in pieces for each in piece for rule in each.rules})
        return _described(info.context, ids)

    @described(strawberry.field, list[FILE_ANSWER])
    def why(
        self,
        info: Asking,
        files: list[str] | None = None,
        diff: str | None = None,
        at: str | None = None,
    ) -> list[FileAnswer]:
        """Which rules bind each file, and why; with `diff` the files of a change `BASE..HEAD`."""
        work = info.context.workspace
        if diff is not None or files is None:
            return list(change_within(work, files, diff, at).files)
        paths = files_inside(info.context, files)

        def asked(piece: Sequence[str]) -> list[FileAnswer]:
            info.context.deadline.check()
            return work.why(piece, at=at)

        if at is None:
            return why_within(asked, paths)
        # The rules of a commit are read once, for all files.
        return why_within(asked, paths, max(1, len(paths)))

    @described(strawberry.field)
    def decisions(self, info: Asking, plan_id: strawberry.ID | None = None) -> list[Entity]:
        """Decisions; those derived from a plan if one is named."""
        asked = Filter(category=Category.DECISION.value, derived_from=plan_id)
        ids, _ = info.context.snapshot.select(asked, len(info.context.snapshot.ids) + 1, None)
        return _described(info.context, ids)

    @described(strawberry.field, REVIEW_CONTEXT)
    def review_context(
        self, info: Asking, files: list[str], plan_id: strawberry.ID | None = None
    ) -> Context:
        """What a reviewer of some files must see: whole, or a refusal."""
        paths = files_inside(info.context, files)
        if not paths:
            raise refuse("files", "no file is named", "name the files under review")
        slug = None if plan_id is None else str(plan_id)
        if slug is not None and not slug.strip():
            raise refuse("planId", "no plan is named", "give a plan's id, or leave it out")
        return info.context.workspace.review_context(paths, plan=slug)
