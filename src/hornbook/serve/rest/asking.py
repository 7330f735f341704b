"""What every route of REST stands on: a request with its server, its tags, and its refusals."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from hornbook.plans.principal import Principal
from hornbook.serve.access.required_scope import needs
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.http.request import request_context_of

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
BUSY: Described = {409: {"description": "Somebody else has this done at the moment."}}


@dataclass(frozen=True, slots=True)
class Asking:
    """A request with the desk that it came to."""

    request: Request
    response: Response
    updates: GraphUpdates

    @property
    def principal(self) -> Principal:
        """Who asks, for the events that come of it."""
        return request_context_of(self.request.scope).principal

    def note(self, version: str) -> None:
        """Say which version of the graph the answer comes from: it is the same while that is.

        The tag is weak, since the bytes may be put otherwise.
        """
        self.response.headers["etag"] = f'W/"{version}"'

    def address(self, path: str) -> str:
        """Where something is found by whoever asks."""
        return f"{request_context_of(self.request.scope).prefix}/api/v1/{path}"


async def _asking(request: Request, response: Response) -> Asking:
    return Asking(request, response, request.app.state.updates)


async def _writing(request: Request, response: Response) -> Asking:
    # That the caller may, the gateway has seen by what the route says it needs.
    request_context_of(request.scope).lift_deadline()
    return Asking(request, response, request.app.state.updates)


async def _naming(request: Request, response: Response) -> Asking:
    context = request_context_of(request.scope)
    context.needs_name()
    context.lift_deadline()
    return Asking(request, response, request.app.state.updates)


Reading = Annotated[Asking, Depends(_asking)]
Writing = Annotated[Asking, Depends(_writing)]
Named = Annotated[Asking, Depends(_naming)]
"""A request that changes nothing and takes long: whoever sends it says who they are."""

READS = needs(AccessScope.READ)
