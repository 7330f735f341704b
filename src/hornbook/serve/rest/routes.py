"""REST under `/api/v1`: each route is a thin adapter over one method of the workspace."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi import Path as InPath

from hornbook.context.prompt import Context
from hornbook.context.sizing import Sizing
from hornbook.errors import UsageError
from hornbook.graph.ingest.report import IngestReport
from hornbook.serve.answers import (
    PIECE,
    EntityAnswer,
    ReviewAnswer,
    review_answer,
    statements,
    why_within,
)
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.http.request import request_context_of
from hornbook.serve.paths import inside
from hornbook.serve.rest.bodies import (
    DevelopBody,
    IngestBody,
    ReviewBody,
    SizeBody,
    WhyAnswer,
    WhyBody,
)

Described = dict[int | str, dict[str, Any]]  # as FastAPI types it

# Every route may refuse so; the handlers in `framework` make the bodies.
REFUSALS: Described = {
    400: {"description": "The body cannot be read."},
    401: {"description": "A token is needed."},
    403: {"description": "The token or the page may not do this."},
    413: {"description": "The body is too large."},
    415: {"description": "The body is not JSON."},
    421: {"description": "The request is addressed to another server."},
    422: {"description": "The request is understood and refused."},
    429: {"description": "The token has used up its requests."},
    503: {"description": "The server is busy, or its store is damaged."},
    504: {"description": "There was no answer in time."},
}
MISSING: Described = {404: {"description": "Nothing has that name."}}
_BUSY: Described = {409: {"description": "An ingest is running."}}


@dataclass(frozen=True, slots=True)
class Asking:
    """A request with the desk that it came to."""

    request: Request
    response: Response
    updates: GraphUpdates

    def note(self, version: str) -> None:
        """Say which version of the graph the answer comes from."""
        self.response.headers["etag"] = f'"{version}"'


async def _asking(request: Request, response: Response) -> Asking:
    return Asking(request, response, request.app.state.updates)


async def _writing(request: Request, response: Response) -> Asking:
    request_context = request_context_of(request.scope)
    request_context.needs_write()
    request_context.lift_deadline()
    return Asking(request, response, request.app.state.updates)


Reading = Annotated[Asking, Depends(_asking)]
Writing = Annotated[Asking, Depends(_writing)]

router = APIRouter(prefix="/api/v1", responses=REFUSALS)


@router.post("/ingest", responses=_BUSY, tags=["documents"])
def ingest(body: IngestBody, asking: Writing) -> IngestReport:
    """Read documents into the graph; needs the scope write."""
    return asking.updates.ingest(body.paths)


@router.post("/why", responses=MISSING, tags=["rules"])
def why(body: WhyBody, asking: Reading) -> WhyAnswer:
    """Say which rules bind each file, and why."""
    with asking.updates.leases.workspace() as work:
        asking.note(work.snapshot().version)
        files = inside(work.root, body.files)
        # The rules of a commit are read once, for all files.
        piece = PIECE if body.at is None else len(files)
        return WhyAnswer(tuple(why_within(partial(work.why, at=body.at), files, piece)))


@router.post("/size", responses=MISSING, tags=["contexts"])
def size(body: SizeBody, asking: Reading) -> Sizing:
    """Say whether a task fits a model's window."""
    with asking.updates.leases.workspace() as work:
        asking.note(work.snapshot().version)
        return work.size(
            inside(work.root, body.files),
            description=body.description,
            criteria=body.criteria,
            model=body.model,
            window=body.window,
        )


@router.post("/context/review", responses=MISSING, tags=["contexts"])
def review_context(body: ReviewBody, asking: Reading) -> ReviewAnswer:
    """Assemble what a reviewer must see, whole, or say why not."""
    if bool(body.files) == bool(body.diff):
        raise UsageError("name what is reviewed: either files, or a diff BASE..HEAD.")
    with asking.updates.leases.workspace() as work:
        asking.note(work.snapshot().version)
        files = inside(work.root, body.files)
        packet = work.review_packet(
            files, diff=body.diff, model=body.model, plan=body.plan, task=body.task
        )
        return review_answer(packet.context, packet.made_for)


@router.post("/context/develop", responses=MISSING, tags=["contexts"])
def develop_context(body: DevelopBody, asking: Reading) -> Context:
    """Assemble what a developer sees: the task and its files, no rule's text."""
    with asking.updates.leases.workspace() as work:
        asking.note(work.snapshot().version)
        return work.develop_context(
            inside(work.root, body.files),
            description=body.description,
            criteria=body.criteria,
            model=body.model,
            plan=body.plan,
            task=body.task,
        )


@router.get(
    "/entities/{id}",
    responses={**MISSING, 304: {"description": "It is what you have."}},
    response_model=EntityAnswer,
    tags=["graph"],
)
def entity(
    id: Annotated[str, InPath(min_length=1, max_length=1000)],  # noqa: A002  # the documented name
    asking: Reading,
) -> EntityAnswer | Response:
    """One entity, also a chunk, a revision or a removed document."""
    with asking.updates.leases.lease() as snapshot:
        tag = f'"{snapshot.version}"'
        thing = snapshot.thing(id)
        if tag in _tags(asking.request):
            return Response(status_code=304, headers={"etag": tag})
        asking.note(snapshot.version)
        return EntityAnswer(thing.id, statements(thing))


def _tags(request: Request) -> set[str]:
    given = request.headers.get("if-none-match", "")
    return {each.strip().removeprefix("W/") for each in given.split(",")}
