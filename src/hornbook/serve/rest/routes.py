"""REST under `/api/v1`: each route is a thin adapter over one method of the workspace."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi import Path as InPath
from starlette.types import Receive, Scope, Send

from hornbook.context.prompt import Context
from hornbook.context.sizing import Sizing
from hornbook.graph.change_answer import ChangeAnswer
from hornbook.graph.ingest.report import IngestReport
from hornbook.loop.runs.log import Followed
from hornbook.loop.runs.overview import GivenAnswer, RunLine, RunRow, StoppedRun
from hornbook.review.judgement import Judgement
from hornbook.serve import answers
from hornbook.serve.access.required_scope import needs
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.answers import (
    PIECE,
    EntityAnswer,
    ReviewAnswer,
    change_within,
    check_review,
    review_answer,
    run_event,
    statements,
    whole_plan,
    why_within,
)
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.graphql.context import Deadline
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.request import request_context_of
from hornbook.serve.http.response import MEDIA_TYPE, as_json, frame, send_events
from hornbook.serve.paths import inside
from hornbook.serve.rest.asking import (
    BUSY,
    MISSING,
    READS,
    REFUSALS,
    Described,
    Named,
    Reading,
    Writing,
)
from hornbook.serve.rest.bodies import (
    LAST,
    AmendBody,
    AnswerBody,
    CheckBody,
    DevelopBody,
    ExecuteBody,
    IngestBody,
    PlanAnswer,
    PlanBody,
    PlansAnswer,
    ReplayAnswer,
    ReplayBody,
    ReviewBody,
    RunsAnswer,
    SizeBody,
    StopBody,
    WhyAnswer,
    WhyBody,
    plan_answer,
)

router = APIRouter(
    prefix="/api/v1",
    responses=REFUSALS,
    generate_unique_id_function=lambda route: route.name,
)


@router.post("/ingest", responses=BUSY, tags=["documents"], openapi_extra=needs(AccessScope.INGEST))
def ingest(body: IngestBody, asking: Writing) -> IngestReport:
    """Read documents into the graph. Needs the scope ingest."""
    return asking.updates.ingest(body.paths)


@router.post("/why", responses=MISSING, tags=["rules"], openapi_extra=READS)
def why(body: WhyBody, asking: Reading) -> WhyAnswer | ChangeAnswer:
    """Say which rules bind each file, or a change, and why."""
    with asking.updates.leases.current() as work:
        asking.note(work.snapshot().version)
        if body.diff is not None or body.files is None:
            return change_within(work, body.files, body.diff, body.at)
        files = inside(work.root, body.files)
        # The rules of a commit are read once, for all files.
        piece = PIECE if body.at is None else len(files)
        return WhyAnswer(tuple(why_within(partial(work.why, at=body.at), files, piece)))


@router.post("/size", responses=MISSING, tags=["contexts"], openapi_extra=READS)
def size(body: SizeBody, asking: Reading) -> Sizing:
    """Say whether a task fits a model's window."""
    with asking.updates.leases.current() as work:
        asking.note(work.snapshot().version)
        return work.size(
            inside(work.root, body.files),
            description=body.description,
            criteria=body.criteria,
            model=body.model,
            window=body.window,
        )


@router.post("/context/review", responses=MISSING, tags=["contexts"], openapi_extra=READS)
def review_context(body: ReviewBody, asking: Reading) -> ReviewAnswer:
    """Assemble what a reviewer must see, whole, or say why not."""
    with asking.updates.leases.current() as work:
        asking.note(work.snapshot().version)
        files = inside(work.root, body.files)
        packet = work.review_packet(
            files, diff=body.diff, model=body.model, plan=body.plan, task=body.task
        )
        return review_answer(packet.context, packet.made_for)


@router.post("/context/develop", responses=MISSING, tags=["contexts"], openapi_extra=READS)
def develop_context(body: DevelopBody, asking: Reading) -> Context:
    """Assemble what a developer sees: the task and its files, no rule's text."""
    with asking.updates.leases.workspace() as work:
        asking.note(work.snapshot().version)
        return work.develop_packet(
            inside(work.root, body.files),
            description=body.description,
            criteria=body.criteria,
            model=body.model,
            plan=body.plan,
            task=body.task,
        ).context


@router.get(
    "/entities/{id}",
    responses={**MISSING, 304: {"description": "It is what you have."}},
    response_model=EntityAnswer,
    tags=["graph"],
)
def entity(
    id: Annotated[str, InPath(min_length=1, max_length=1000)],  # noqa: A002  # the documented name
    asking: Reading,
) -> EntityAnswer:
    """One entity, also a chunk, a revision or a removed document."""
    with asking.updates.leases.lease() as snapshot:
        thing = snapshot.thing(id)
        asking.note(snapshot.version)
        return EntityAnswer(thing.id, statements(thing))


_HELD: Described = {409: {"description": "The plan is not in a state for this."}}
_ENDED: Described = {409: {"description": "The run had ended already."}}
_NO_REASON = StopBody()
_OVER: Described = {204: {"description": "The run has ended, and you have all of it."}}
_EVENT = {
    "type": "object",
    "required": ["id", "data"],
    "properties": {
        "id": {"type": "string", "description": "The place to go on from."},
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
_EVENTS: Described = {
    200: {"content": {MEDIA_TYPE: {"schema": _EVENT}}, "description": "Events, one by one."}
}

Slug = Annotated[str, InPath(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f/]*$")]
RunId = Annotated[str, InPath(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f/]*$")]


@router.post("/reviews/check", tags=["reviews"], openapi_extra=READS)
def check(body: CheckBody, asking: Reading) -> Judgement:
    """Judge a review by git and its receipt; nothing is recorded."""
    with asking.updates.leases.workspace() as work:
        return check_review(work, body.review, body.receipt, body.gates, body.diff)


@router.post(
    "/replay",
    responses=BUSY,
    response_model=ReplayAnswer,
    response_model_exclude_unset=True,
    tags=["rules"],
    openapi_extra={**READS, "security": [{"token": []}]},
)
def replay(body: ReplayBody, asking: Named) -> dict[str, object]:
    """Say what the rules did, or would have done, to past changes, the newest first.

    Needs a name, since it takes long; one is answered at a time.
    """
    return asking.updates.replay(
        Deadline(has_left=request_context_of(asking.request.scope).has_left).check_client,
        last=body.last or LAST,
        span=body.range,
        against=body.against,
        worktree=body.worktree,
    )


@router.get("/plans", tags=["plans"])
def plans(asking: Reading) -> PlansAnswer:
    """Every plan: explorations, then the committed, then the superseded."""
    with asking.updates.leases.workspace() as work:
        book = work.plan_book()
        active = book.active()
        views = book.views()
        return PlansAnswer(tuple(plan_answer(whole_plan(view, active)) for view in views))


@router.post(
    "/plans",
    status_code=201,
    responses=MISSING,
    tags=["plans"],
    openapi_extra=needs(AccessScope.PLAN),
)
def begin_plan(body: PlanBody, asking: Writing) -> PlanAnswer:
    """Begin a plan, committed or not yet; the active one if it says so. Needs the scope plan.

    Only a person commits to a plan. One whose situation, mission or execution is empty stays an
    exploration, and its `problems` say so.
    """
    with asking.updates.leases.workspace() as work:
        begun = answers.begin_plan(
            work.plan_book(asking.principal),
            body.title,
            body.text,
            committed=body.committed,
            supersedes=body.supersedes,
            active=body.active,
        )
        asking.response.headers["location"] = asking.address(f"plans/{begun.slug}")
        return plan_answer(begun)


@router.get("/plans/{slug}", responses=MISSING, tags=["plans"])
def plan(slug: Slug, asking: Reading) -> PlanAnswer:
    """One plan with its decisions, risks and tasks."""
    with asking.updates.leases.workspace() as work:
        book = work.plan_book()
        view = book.view(slug)
        return plan_answer(whole_plan(view, book.active(), book.references(view.plan.slug)))


@router.post(
    "/plans/{slug}/promote",
    responses={**MISSING, **_HELD},
    tags=["plans"],
    openapi_extra=needs(AccessScope.PLAN),
)
def promote(slug: Slug, asking: Writing) -> PlanAnswer:
    """Commit to an exploration: its text is frozen. Needs the scope plan and a person.

    A plan whose situation, mission or execution is empty stays one: 409.
    """
    with asking.updates.leases.workspace() as work:
        book = work.plan_book(asking.principal)
        return plan_answer(whole_plan(book.promote(slug), book.active()))


@router.post(
    "/plans/{slug}/amend",
    responses=MISSING,
    tags=["plans"],
    openapi_extra=needs(AccessScope.PLAN),
)
def amend(slug: Slug, body: AmendBody, asking: Writing) -> PlanAnswer:
    """Take sections of a plan from a text; the others stay. Needs the scope plan.

    A committed plan changes only with a reason, and only for a person.
    """
    with asking.updates.leases.workspace() as work:
        book = work.plan_book(asking.principal)
        view = book.rewrite(slug, body.text, path="text", reason=body.reason)
        return plan_answer(whole_plan(view, book.active()))


@router.post(
    "/plans/{slug}/execute",
    status_code=202,
    responses={**MISSING, **_HELD},
    tags=["plans"],
    openapi_extra=needs(AccessScope.EXECUTE),
)
def execute(slug: Slug, body: ExecuteBody, asking: Writing) -> RunLine:
    """Begin to carry out a committed plan, or one of its tasks. Needs the scope execute.

    The answer is the run that somebody works on now; one that was begun before is gone on with.
    """
    with asking.updates.leases.workspace() as work:
        view = work.plan_book().view(slug)
        if not view.plan.committed:
            raise HttpRefusal(
                409,
                "not-committed",
                f"plan {view.plan.slug} is an exploration: promote it before it is executed.",
            )
    begun = asking.updates.execute(slug, task=body.task, agent=body.agent, by=asking.principal)
    asking.response.headers["location"] = asking.address(f"runs/{begun.id}")
    return begun


@router.get("/runs", tags=["runs"])
def runs(
    asking: Reading, plan: Annotated[str | None, Query(min_length=1, max_length=200)] = None
) -> RunsAnswer:
    """The runs, newest first; those of a plan if one is named by slug or id."""
    with asking.updates.leases.workspace() as work, work.run_book() as book:
        return RunsAnswer(runs=tuple(book.rows(plan)))


@router.get("/runs/{id}", responses=MISSING, tags=["runs"])
def run(id: RunId, asking: Reading) -> RunRow:  # noqa: A002  # the documented name
    """One run."""
    with asking.updates.leases.workspace() as work, work.run_book() as book:
        return book.row(id)


@router.post(
    "/runs/{id}/answer",
    responses=MISSING,
    tags=["runs"],
    openapi_extra=needs(AccessScope.ANSWER),
)
def answer(id: RunId, body: AnswerBody, asking: Writing) -> GivenAnswer:  # noqa: A002  # as in `run`
    """Say a person's word on a run that asks. Needs the scope answer and a person.

    Whoever executes its plan goes on with it; if nobody does, execute the plan again.
    """
    return asking.updates.answer(id, body.action, body.text, body.reason, asking.principal)


@router.post(
    "/runs/{id}/stop",
    responses={**MISSING, **_ENDED},
    tags=["runs"],
    openapi_extra=needs(AccessScope.EXECUTE),
)
def stop(id: RunId, asking: Writing, body: StopBody = _NO_REASON) -> StoppedRun:  # noqa: A002  # as in `run`
    """End a run and those that it began. Needs the scope execute.

    An agent or gates that are at work are ended, and no step follows.
    """
    return asking.updates.stop(id, body.reason, asking.principal)


@router.get(
    "/runs/{id}/events",
    responses={**MISSING, **_OVER, **_EVENTS},
    response_class=Response,
    tags=["runs"],
)
async def run_events(
    id: RunId,  # noqa: A002  # the documented name
    request: Request,
    asking: Reading,
    last_event_id: Annotated[int, Header(ge=0, le=2**31)] = 0,
) -> Response:
    """What happened in a run behind `Last-Event-ID`, and what happens until it ends.

    A plan, named as `plan.<slug>`, is followed without end.
    """
    followed = await asking.updates.follower.named(id)
    if followed.is_over(last_event_id):
        return Response(status_code=204)  # which keeps a browser from coming back
    return _Events(asking.updates, followed, last_event_id)


class _Events(Response):
    """A stream of a run's events; it counts as one of the server's streams."""

    def __init__(self, updates: GraphUpdates, followed: Followed, after: int) -> None:
        super().__init__()
        self._updates = updates
        self._followed = followed
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._updates.stream():
            request_context = request_context_of(scope)
            request_context.become_stream()
            until = request_context.taken_back
            await send_events(self._frames(), receive, send, until=until)

    async def _frames(self) -> AsyncIterator[bytes]:
        async for event in self._updates.follower.events(self._followed, self._after):
            yield frame(as_json(run_event(event)), number=event.seq)
