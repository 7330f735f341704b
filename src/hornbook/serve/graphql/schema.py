"""The GraphQL schema, and how it is asked in process."""

from collections.abc import AsyncIterator

import strawberry
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig
from strawberry.types import Info

from hornbook.doctor.finding import Finding as HealthFinding
from hornbook.errors import UsageError
from hornbook.graph.ingest.report import IngestReport
from hornbook.loop.runs.overview import GivenAnswer, RunLine
from hornbook.review.judgement import Judgement
from hornbook.serve.answers import (
    GraphVersion,
    RunEvent,
    WholePlan,
    begin_plan,
    check_review,
    run_event,
    whole_plan,
)
from hornbook.serve.graph_updates import GraphUpdates, ingest
from hornbook.serve.graphql.context import (
    Asking,
    ResolverContext,
    SubscriptionContext,
    described,
    refuse,
)
from hornbook.serve.graphql.derived import several
from hornbook.serve.graphql.descriptions import describe
from hornbook.serve.graphql.documents import coded
from hornbook.serve.graphql.enums import DATE_TIME, Moment
from hornbook.serve.graphql.executor import GraphQLExecutor, OperationRequest, ReadyOperation
from hornbook.serve.graphql.queries import EntityQuery, PlanQuery
from hornbook.serve.graphql.repository_types import DOCTOR_FINDING
from hornbook.serve.graphql.run_types import GIVEN_ANSWER, RUN, RUN_EVENT
from hornbook.serve.graphql.typed_queries import TypedQuery
from hornbook.serve.graphql.types import GRAPH_VERSION, INGEST_REPORT
from hornbook.serve.graphql.work_types import JUDGEMENT, PLAN
from hornbook.workspace import Workspace


def _updates(info: Asking) -> GraphUpdates:
    """What the server does beside answering.

    Raises:
        GraphQLError: There is no server.
    """
    if info.context.updates is None:
        raise coded("there is no server here: use `hornbook execute` and `answer`.", "REFUSED")
    return info.context.updates


@strawberry.type
class Mutation:
    """What can be changed."""

    @described(strawberry.mutation, INGEST_REPORT, scope="ingest")
    def ingest(self, info: Asking, paths: list[str] | None = None) -> IngestReport:
        """Read documents into the graph; all sources without paths."""
        context = info.context
        try:
            if context.updates is None:
                return ingest(context.workspace.root, paths or ())
            return context.updates.ingest(paths or ())
        except UsageError as problem:
            found, _, remedy = str(problem).rpartition(": ")
            raise refuse("paths", found, remedy) from problem

    @described(strawberry.mutation, PLAN, scope="plan")
    def create_plan(
        self,
        info: Asking,
        title: str,
        text: str | None = None,
        committed: bool = False,
        supersedes: str | None = None,
        *,
        active: bool = False,
    ) -> WholePlan:
        """Begin a plan from a Markdown text with its sections, committed or not yet; it becomes the
        active one if that is said.
        """
        book = info.context.workspace.plan_book(info.context.principal)
        if committed and supersedes is not None:
            raise refuse(
                "supersedes", "a plan that replaces another is explored first", "promote it"
            )
        return begin_plan(
            book, title, text, committed=committed, supersedes=supersedes, active=active
        )

    @described(strawberry.mutation, PLAN, scope="plan")
    def promote_plan(self, info: Asking, slug: str) -> WholePlan:
        """Commit to an exploration: its text is frozen from now on. Only a person can, and only if
        no section is empty that a plan must have.
        """
        if not slug.strip():
            raise refuse("slug", "no plan is named", "give a slug, as `plans` lists them")
        book = info.context.workspace.plan_book(info.context.principal)
        return whole_plan(book.promote(slug), book.active())

    @described(strawberry.mutation, PLAN, scope="plan")
    def amend_plan(self, info: Asking, slug: str, text: str, reason: str = "") -> WholePlan:
        """Take sections of a plan from a Markdown text; the others stay. A committed plan changes
        only with a reason, and only for a person.
        """
        if not slug.strip():
            raise refuse("slug", "no plan is named", "give a slug, as `plans` lists them")
        book = info.context.workspace.plan_book(info.context.principal)
        view = book.rewrite(slug, text, path="text", reason=reason)
        return whole_plan(view, book.active())

    @described(strawberry.mutation, RUN, scope="execute")
    def execute_plan(
        self, info: Asking, slug: str, task: str | None = None, agent: str | None = None
    ) -> RunLine:
        """Begin to carry out a committed plan, or one of its tasks; the run to follow."""
        if not slug.strip():
            raise refuse("slug", "no plan is named", "give a slug, as `plans` lists them")
        return _updates(info).execute(slug, task=task, agent=agent, by=info.context.principal)

    @described(strawberry.mutation, GIVEN_ANSWER, scope="answer")
    def answer_run(
        self,
        info: Asking,
        id: strawberry.ID,  # noqa: A002  # as in `run`
        action: str,
        text: str = "",
        reason: str = "",
    ) -> GivenAnswer:
        """Say a person's word on a run that asks: accept, return, overrule, split, amend, stop or
        text. Needs a token that was made for a person.
        """
        context = info.context
        return context.workspace.answer(id, action, text, reason, by=context.principal)

    @described(strawberry.mutation, RUN, scope="execute")
    def stop_run(
        self,
        info: Asking,
        id: strawberry.ID,  # noqa: A002  # as in `run`
        reason: str = "",
    ) -> RunLine:
        """End a run, and those that it began; an agent or gates that are at work are
        ended, and no step follows. One that had ended already is refused.
        """
        with info.context.workspace.run_book(info.context.principal) as book:
            found = book.stop(id, reason)
            line = book.line(id)
        if not found.ended:
            raise coded(f"run {found.run} had ended already: it is {found.status}.", "ENDED")
        return line

    @described(strawberry.mutation, several(DOCTOR_FINDING), scope="answer")
    def accept_finding(  # noqa: PLR0917  # GraphQL arguments are always named
        self,
        info: Asking,
        code: str,
        reason: str,
        path: str = "",
        rule: strawberry.ID | None = None,
        until: str | None = None,
    ) -> list[HealthFinding]:
        """Accept findings of the doctor in `.hornbook/doctor.yaml` until a day, by default for
        ninety days; those that are accepted by it. Only a person can.
        """
        from hornbook.doctor.accepting import accept_finding  # noqa: PLC0415  # start-up
        from hornbook.doctor.baseline import Accepted  # noqa: PLC0415  # the same

        work = info.context.workspace
        wanted = Accepted(code, reason, until or "", path, rule or "")
        return accept_finding(work.places, work.settings, wanted, info.context.principal)

    @described(strawberry.mutation, JUDGEMENT, scope="read")
    def check_review(
        self,
        info: Asking,
        review: JSON,
        receipt: JSON,
        gates: JSON | None = None,
        diff: str | None = None,
    ) -> Judgement:
        """Judge a review by git and its receipt, or several, given as lists; `diff` names the
        change that is meant.
        """
        return check_review(info.context.workspace, review, receipt, gates, diff)


@strawberry.type
class Subscription:
    """What can be followed."""

    @described(strawberry.subscription, AsyncIterator[GRAPH_VERSION])
    async def graph_versions(
        self, info: Info[SubscriptionContext, None]
    ) -> AsyncIterator[GraphVersion]:
        """The version of the graph, and every one that follows."""
        async for version in info.context.updates.versions():
            yield version

    @described(strawberry.subscription, AsyncIterator[RUN_EVENT])
    async def run_events(
        self,
        info: Info[SubscriptionContext, None],
        id: strawberry.ID,  # noqa: A002  # the documented name
        after: int = 0,
    ) -> AsyncIterator[RunEvent]:
        """What happened in a run behind an event, and what happens until it ends; a plan, named as
        plan.<slug>, is followed without end.
        """
        follower = info.context.updates.follower
        followed = await follower.named(id)

        async def told() -> AsyncIterator[RunEvent]:
            async for event in follower.events(followed, after):
                yield run_event(event)

        return told()


@strawberry.type
class Query(EntityQuery, PlanQuery, TypedQuery):
    """What can be asked."""


schema = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    config=StrawberryConfig(scalar_map={Moment: DATE_TIME}),
)
graphql_schema = schema._schema  # noqa: SLF001  # strawberry has no other name for it
describe(graphql_schema)

_ENGINE = GraphQLExecutor(graphql_schema)


def execute(workspace: Workspace, document: str, variables: dict[str, object]) -> dict[str, object]:
    """The answer to a GraphQL document as its `{data, errors}` object, without limits."""
    ready = _ENGINE.ready(OperationRequest(document, variables))
    if not isinstance(ready, ReadyOperation):
        return {"data": None, **ready}
    if ready.kind == "subscription":
        error = {"message": "subscriptions are followed over HTTP: start `hornbook serve`."}
        return {"data": None, "errors": [error]}
    context = ResolverContext(workspace=workspace, snapshot=workspace.snapshot())
    return {"data": None, **_ENGINE.run(ready, context)}
