"""GraphQL over HTTP: queries, mutations, and subscriptions as server-sent events."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qsl

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from hornbook.errors import HornbookError
from hornbook.serve.access.callers import CHALLENGE, NOBODY, CallerCheck
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.graphql.context import Deadline, ResolverContext, SubscriptionContext
from hornbook.serve.graphql.executor import (
    Answer,
    GraphQLExecutor,
    OperationRequest,
    ReadyOperation,
)
from hornbook.serve.graphql.fast_path import FastPath, PlainQuery
from hornbook.serve.graphql.socket import Answering, Socket
from hornbook.serve.http.problems import refusal_of
from hornbook.serve.http.request import RequestContext, request_context_of
from hornbook.serve.http.response import as_json, best, body_of, frame, send_bytes, send_events

RESPONSE = "application/graphql-response+json"
JSON = "application/json"
EVENTS = "text/event-stream"
_OFFERED = (RESPONSE, JSON, EVENTS)


@dataclass(eq=False)
class BadRequest(Exception):  # named after what HTTP calls it
    """A request that is no GraphQL request."""

    status: int
    message: str
    allow: str = ""


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """What is asked for, and the media type of the answer."""

    asked: OperationRequest
    media_type: str
    method: str


def wanted_form(headers: Mapping[bytes, bytes]) -> str:
    """The media type that the client wants.

    Raises:
        BadRequest: We have none that it accepts.
    """
    accept = headers.get(b"accept")
    found = best(accept.decode("latin-1") if accept is not None else None, _OFFERED, JSON)
    if found is None:
        raise BadRequest(406, f"we answer as {', '.join(_OFFERED)}: accept one of them.")
    return found


async def read_request(
    scope: Scope, receive: Receive, headers: Mapping[bytes, bytes]
) -> GraphQLRequest:
    """The request.

    Raises:
        BadRequest: It is none.
    """
    method = scope["method"]
    if method == "POST":
        form = wanted_form(headers)
        return GraphQLRequest(_asked(_posted(headers, await body_of(receive))), form, method)
    if method == "GET":
        form = wanted_form(headers)
        return GraphQLRequest(_asked(_parameters(scope["query_string"])), form, method)
    raise BadRequest(405, f"{method} is not answered here: use POST, or GET to query.", "GET, POST")


def _posted(headers: Mapping[bytes, bytes], body: bytes) -> object:
    kind, *parameters = (
        each.strip().lower()
        for each in headers.get(b"content-type", b"").decode("latin-1").split(";")
    )
    if kind != JSON:
        raise BadRequest(415, f"the body is {kind or 'of no type'}: send {JSON}.")
    for each in parameters:
        name, _, value = each.partition("=")
        if name == "charset" and value.strip('"') not in {"utf-8", "utf8"}:
            raise BadRequest(415, f"the body is in {value}: send UTF-8.")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise BadRequest(400, f"the body is not JSON ({problem}).") from problem


def _parameters(query_string: bytes) -> dict[str, object]:
    try:
        text = query_string.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as problem:
        raise BadRequest(400, f"the parameters cannot be read ({problem}).") from problem
    given: dict[str, object] = dict(pairs)
    for name in ("variables", "extensions"):
        value = given.get(name)
        if isinstance(value, str):
            try:
                given[name] = msgspec.json.decode(value) if value else None
            except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
                raise BadRequest(400, f"`{name}` is not JSON ({problem}).") from problem
    return given


def _asked(given: object) -> OperationRequest:
    if not isinstance(given, dict):
        raise BadRequest(400, "the body is no JSON object: send {query, variables}.")
    for name, kind, said in (
        ("query", str, "a string"),
        ("operationName", str, "a string"),
        ("variables", dict, "an object"),
        ("extensions", dict, "an object"),
    ):
        value = given.get(name)
        if (name == "query" and value is None) or not isinstance(value, kind | None):
            raise BadRequest(400, f"`{name}` is not {said}.")
    typed: dict[str, Any] = given  # the loop above checked every key that is used
    return OperationRequest(
        typed["query"], typed.get("variables") or {}, typed.get("operationName")
    )


# Fields of one name are compared with each other: a thousand of them take a while.
LONG = 2000
REFUSED_BY_STATUS = {401: "UNAUTHENTICATED", 403: "FORBIDDEN"}
_CHALLENGE = [(name.encode(), value.encode()) for name, value in CHALLENGE.items()]
_COMPLETE = b"event: complete\ndata:\n\n"


class GraphQLEndpoint:
    """The application behind `/graphql`."""

    def __init__(
        self,
        engine: GraphQLExecutor,
        updates: GraphUpdates,
        pool: Executor,
        *,
        page: ASGIApp | None,
        callers: CallerCheck,
    ) -> None:
        megabytes = updates.leases.settings.serve.cache_megabytes
        self._fast_path = FastPath(engine.schema, megabytes * 1024 * 1024)
        self._engine = engine
        self._updates = updates
        self._pool = pool
        self._page = page
        self._callers = callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request_context = request_context_of(scope)
        if scope["type"] == "websocket":
            endpoints = Answering(self.ready, self.answer)
            socket = Socket(
                self._engine, self._updates, endpoints, request_context, callers=self._callers
            )
            await socket.serve(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if self._page is not None and _wants_page(scope, headers):
            await self._page(scope, receive, send)
            return
        try:
            request = await read_request(scope, receive, headers)
            await self._serve(request, request_context, receive, send)
        except BadRequest as problem:
            allow = ((b"allow", problem.allow.encode()),) if problem.allow else ()
            answer = {"errors": [_error(problem.message, "BAD_REQUEST")]}
            await send_bytes(send, problem.status, f"{JSON}; charset=utf-8", as_json(answer), allow)
        except HornbookError as error:  # the graph itself cannot be opened
            raise refusal_of(error) from error

    async def _serve(
        self, request: GraphQLRequest, request_context: RequestContext, receive: Receive, send: Send
    ) -> None:
        ready = await self.ready(request.asked)
        if isinstance(ready, ReadyOperation):
            _check_way(ready, request)
            if request.media_type == EVENTS:
                await self._stream(ready, request_context, receive, send)
                return
            answer = await self.answer(ready, request_context)
        elif request.media_type == EVENTS:
            await _send_one(ready, request_context, receive, send)
            return
        else:
            answer = ready
        body = answer if isinstance(answer, bytes) else as_json(answer)
        form = RESPONSE if request.media_type == RESPONSE else JSON
        status = _status(answer, request.media_type) if isinstance(answer, dict) else 200
        told = _CHALLENGE if status == 401 else ()
        await send_bytes(send, status, f"{form}; charset=utf-8", body, told)

    async def ready(self, asked: OperationRequest) -> ReadyOperation | Answer:
        """What is asked for, ready to be run; a long document that is new is read in a thread."""
        if len(asked.text) < LONG or self._engine.documents.knows(asked.text):
            return self._engine.ready(asked)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._engine.ready, asked)

    async def answer(
        self, ready: ReadyOperation, request_context: RequestContext
    ) -> Answer | bytes:
        """The answer to a query or mutation: at once if it is ready, else from a thread."""
        refusal = self._refusal(ready, request_context)
        if refusal is not None:
            return refusal
        if ready.kind == "mutation":
            request_context.lift_deadline()
        plan = self._fast_path.plan(ready)
        # A remote store is waited for, which only a thread may do.
        if plan is not None and not self._updates.leases.settings.graph.is_remote:
            with self._updates.leases.workspace() as work:
                context = ResolverContext(work, work.snapshot(), self._updates)
                found = self._fast_path.at_once(plan, context)
            if found is not None:
                return found
        loop = asyncio.get_running_loop()
        deadline = Deadline(has_left=request_context.has_left)
        task = partial(self._work, ready, plan, request_context, deadline)
        try:
            return await loop.run_in_executor(self._pool, task)
        finally:
            deadline.end()  # after the deadline the thread is told, for nothing else stops it

    def _refusal(self, ready: ReadyOperation, request_context: RequestContext) -> Answer | None:
        """The errors for which a caller gets no answer to an operation; None if they may ask it."""
        caller = request_context.caller or NOBODY
        for scope in sorted(self._engine.scopes(ready)):
            refusal = caller.refusal(scope)
            if refusal is not None:
                return {"errors": [_error(refusal.detail, REFUSED_BY_STATUS[refusal.status])]}
        return None

    def _work(
        self,
        ready: ReadyOperation,
        plan: PlainQuery | None,
        asked: RequestContext,
        deadline: Deadline,
    ) -> Answer | bytes:
        leases = self._updates.leases
        opened = leases.workspace if ready.kind == "mutation" else leases.current
        with opened() as work:
            context = ResolverContext(
                work,
                work.snapshot(),
                self._updates,
                deadline,
                principal=asked.principal,
            )
            found = self._fast_path.answer(plan, context) if plan is not None else None
            return found if found is not None else self._engine.run(ready, context)

    async def _stream(
        self, ready: ReadyOperation, request_context: RequestContext, receive: Receive, send: Send
    ) -> None:
        with self._updates.stream():
            found: AsyncIterator[Answer] | Answer | bytes
            if ready.kind == "subscription":
                found = await self._engine.events(ready, SubscriptionContext(self._updates))
            else:
                found = await self.answer(ready, request_context)
            if isinstance(found, dict | bytes):
                await _send_one(found, request_context, receive, send)
                return
            request_context.become_stream()
            until = request_context.taken_back
            await send_events(_frames(found), receive, send, until=until, last=_COMPLETE)


def _wants_page(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Whether a browser opens the address, rather than a client that asks something."""
    return (
        scope["method"] == "GET"
        and not scope["query_string"]
        and b"text/html" in headers.get(b"accept", b"")
    )


def _status(answer: Answer, media_type: str) -> int:
    """The status of an answer; those who take plain JSON are told by the body that it failed."""
    if "data" in answer:
        return 200
    codes = [each["extensions"]["code"] for each in cast("list[Any]", answer["errors"])]  # as made
    for status, code in REFUSED_BY_STATUS.items():
        if code in codes:
            return status
    return 200 if media_type == JSON else 400


def _check_way(ready: ReadyOperation, request: GraphQLRequest) -> None:
    if ready.kind == "mutation" and request.method == "GET":
        raise BadRequest(405, "a mutation is never sent by GET: use POST.", "POST")
    if ready.kind == "subscription" and request.media_type != EVENTS:
        raise BadRequest(406, f"a subscription needs `Accept: {EVENTS}`, or a WebSocket.")


async def _send_one(
    answer: Answer | bytes, request_context: RequestContext, receive: Receive, send: Send
) -> None:
    """Send an answer, also one of errors, as a stream that is complete with it.

    graphql-sse has it so: a client that gets a status of 400 knows nothing of the reason, and comes
    back with the same question.
    """

    async def frames() -> AsyncIterator[bytes]:
        yield frame(answer if isinstance(answer, bytes) else as_json(answer), event="next")

    until = request_context.taken_back
    await send_events(frames(), receive, send, until=until, last=_COMPLETE)


async def _frames(answers: AsyncIterator[Answer]) -> AsyncIterator[bytes]:
    try:
        async for answer in answers:
            yield frame(as_json(answer), event="next")
    finally:
        close = getattr(answers, "aclose", None)
        if close is not None:
            await close()


def _error(message: str, code: str) -> dict[str, object]:
    return {"message": message, "extensions": {"code": code}}
