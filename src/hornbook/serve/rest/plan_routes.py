"""REST about plans, runs and reviews: each route is a thin adapter over the workspace."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi import Path as InPath
from starlette.types import Receive, Scope, Send

from hornbook.errors import UsageError
from hornbook.loop.runs.log import Followed
from hornbook.loop.runs.state import RunLine
from hornbook.review.judgement import Judgement
from hornbook.serve import answers
from hornbook.serve.answers import check_review, run_event, whole_plan
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.request import request_context_of
from hornbook.serve.http.response import MEDIA_TYPE, as_json, frame, send_events
from hornbook.serve.rest.bodies import (
    AnswerBody,
    CheckBody,
    ExecuteBody,
    PlanAnswer,
    PlanBody,
    PlansAnswer,
    RunsAnswer,
    plan_answer,
)
from hornbook.serve.rest.routes import MISSING, REFUSALS, Described, Reading, Writing

_HELD: Described = {409: {"description": "The plan is not in a state for this."}}
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

router = APIRouter(prefix="/api/v1", responses=REFUSALS)


@router.post("/reviews/check", tags=["reviews"])
def check(body: CheckBody, asking: Reading) -> Judgement:
    """Judge a review by git and its receipt; nothing is recorded."""
    with asking.updates.leases.workspace() as work:
        return check_review(work, body.review, body.receipt, body.gates)


@router.get("/plans", tags=["plans"])
def plans(asking: Reading) -> PlansAnswer:
    """Every plan: explorations, then the committed, then the superseded."""
    with asking.updates.leases.workspace() as work:
        book = work.plan_book()
        active = book.active()
        views = book.views()
        return PlansAnswer(tuple(plan_answer(whole_plan(view, active)) for view in views))


@router.post("/plans", status_code=201, responses=MISSING, tags=["plans"])
def begin_plan(body: PlanBody, asking: Writing) -> PlanAnswer:
    """Begin a plan, committed or not yet; it becomes the active one. Needs the scope write."""
    if body.committed and body.supersedes is not None:
        raise UsageError("a plan that replaces another is explored first: promote it then.")
    with asking.updates.leases.workspace() as work:
        begun = answers.begin_plan(
            work.plan_book(),
            body.title,
            body.text,
            committed=body.committed,
            supersedes=body.supersedes,
        )
        asking.response.headers["location"] = f"/api/v1/plans/{begun.slug}"
        return plan_answer(begun)


@router.get("/plans/{slug}", responses=MISSING, tags=["plans"])
def plan(slug: Slug, asking: Reading) -> PlanAnswer:
    """One plan with its decisions, risks and tasks."""
    with asking.updates.leases.workspace() as work:
        book = work.plan_book()
        return plan_answer(whole_plan(book.view(slug), book.active()))


@router.post("/plans/{slug}/promote", responses=MISSING, tags=["plans"])
def promote(slug: Slug, asking: Writing) -> PlanAnswer:
    """Commit to an exploration: its text is frozen. Needs the scope write."""
    with asking.updates.leases.workspace() as work:
        book = work.plan_book()
        return plan_answer(whole_plan(book.promote(slug), book.active()))


@router.post(
    "/plans/{slug}/execute",
    status_code=202,
    responses={**MISSING, **_HELD},
    tags=["plans"],
)
def execute(slug: Slug, body: ExecuteBody, asking: Writing) -> RunLine:
    """Begin to carry out a committed plan, or one of its tasks. Needs the scope write.

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
    begun = asking.updates.execute(slug, task=body.task, agent=body.agent)
    asking.response.headers["location"] = f"/api/v1/runs/{begun.id}"
    return begun


@router.get("/runs", tags=["runs"])
def runs(
    asking: Reading, plan: Annotated[str | None, Query(min_length=1, max_length=200)] = None
) -> RunsAnswer:
    """The runs, newest first; those of a plan if one is named by slug or id."""
    with asking.updates.leases.workspace() as work, work.run_book() as book:
        return RunsAnswer(runs=tuple(book.lines(plan)))


@router.get("/runs/{id}", responses=MISSING, tags=["runs"])
def run(id: RunId, asking: Reading) -> RunLine:  # noqa: A002  # the documented name
    """One run."""
    with asking.updates.leases.workspace() as work, work.run_book() as book:
        return book.line(id)


@router.post("/runs/{id}/answer", responses=MISSING, tags=["runs"])
def answer(id: RunId, body: AnswerBody, asking: Writing) -> RunLine:  # noqa: A002  # as in `run`
    """Answer what a run asks; `stop` ends it. Needs the scope write.

    Whoever executes its plan goes on with it; if nobody does, execute the plan again.
    """
    return asking.updates.answer(id, body.text)


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
            request_context_of(scope).become_stream()
            await send_events(self._frames(), receive, send)

    async def _frames(self) -> AsyncIterator[bytes]:
        async for event in self._updates.follower.events(self._followed, self._after):
            yield frame(as_json(run_event(event)), number=event.seq)
