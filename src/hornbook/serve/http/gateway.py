"""The gate that every request passes: who may come in, how much, how often and how long."""

import asyncio
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hornbook.serve.http.host_check import HostCheck
from hornbook.serve.http.logs import log
from hornbook.serve.http.metrics import Metrics, route_of
from hornbook.serve.http.problems import HttpRefusal, Redact
from hornbook.serve.http.rate_limit import ConcurrencyLimit, RateLimit
from hornbook.serve.http.request import KEY, RequestContext
from hornbook.serve.http.tokens import LOCAL, NOBODY, Caller, CallerCheck, address_of
from hornbook.settings.settings import ServeSettings

# So many bodies of the largest size may be held at a time, or many more small ones.
MOST_LARGE = 128


class Bodies:
    """Counts the bytes that are held for all requests."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._most = largest * MOST_LARGE
        self.held = 0

    @contextmanager
    def one(self) -> Iterator["Body"]:
        """A body, held until the request is done."""
        body = Body(self)
        try:
            yield body
        finally:
            self.held -= body.size

    def hold(self, size: int) -> None:
        """Hold so many bytes more.

        Raises:
            Refusal: It would be too many.
        """
        if self.held + size > self._most:
            raise HttpRefusal(
                503,
                "busy",
                f"{self.held} bytes of other requests are held: try again later.",
                headers={"retry-after": "1"},
            )
        self.held += size


class Body:
    """The body of one request."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self.size = 0

    async def read(self, receive: Receive, headers: Mapping[bytes, bytes]) -> Receive:
        """A `receive` that gives the whole body at once.

        Raises:
            Refusal: It is too large or compressed, or the client left.
        """
        most = self._bodies.largest
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise HttpRefusal(415, "encoding", "the body is compressed: send it as it is.")
        announced = headers.get(b"content-length", b"0")
        if not announced.isdigit() or int(announced[:20]) > most:
            raise _too_large(most)
        pieces: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HttpRefusal(
                    400, "disconnected", "the client left before its request was complete."
                )
            piece = message.get("body", b"")
            if self.size + len(piece) > most:
                raise _too_large(most)
            self._bodies.hold(len(piece))
            self.size += len(piece)
            pieces.append(piece)
            if not message.get("more_body", False):
                break
        waiting: list[Message] = [{"type": "http.request", "body": b"".join(pieces)}]

        async def replay() -> Message:
            return waiting.pop() if waiting else await receive()

        return replay


def _too_large(most: int) -> HttpRefusal:
    return HttpRefusal(413, "body", f"the body is larger than {most} bytes: send less.")


OPEN = frozenset({"/healthz", "/readyz"})
# These show no data: a person types the token into them.
BLANK_PAGES = frozenset({"/graphql", "/docs"})
_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CHALLENGE = {"www-authenticate": 'Bearer realm="hornbook"'}


@dataclass(frozen=True, slots=True)
class ServerParts:
    """What the gate goes by."""

    hosts: HostCheck
    callers: CallerCheck
    settings: ServeSettings
    metrics: Metrics
    redact: Redact
    """How refusals are put."""
    endpoints: Mapping[str, ASGIApp] = field(default_factory=dict)
    """Applications that answer below a path of their own, without the framework's routing."""


class Gateway:
    """An ASGI middleware in front of everything else."""

    def __init__(self, app: ASGIApp, parts: ServerParts) -> None:
        self._app = app
        self._parts = parts
        self._concurrency = ConcurrencyLimit(parts.settings.concurrency, parts.settings.waiting)
        self._rates = RateLimit(parts.settings.rate_per_minute)
        self._bodies = Bodies(parts.settings.body_bytes)
        parts.metrics.in_flight.set_function(lambda: self._concurrency.in_flight)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        request_context = RequestContext(_request_id(headers), None)
        scope[KEY] = request_context
        answer = _Answer(send, request_context.request_id)
        began = time.perf_counter()
        try:
            request_context.caller = self._admit(scope, headers)
            await self._answer(scope, receive, answer, headers)
        except HttpRefusal as refusal:
            await self._refuse(refusal, scope, receive, answer)
        except Exception:  # noqa: BLE001  # the outermost line of a request: told and logged
            log.exception(
                "a request failed", extra={"facts": {"request_id": request_context.request_id}}
            )
            await self._refuse(_broken(request_context.request_id), scope, receive, answer)
        finally:
            self._note(scope, answer, request_context, time.perf_counter() - began)

    def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> Caller:
        refusal = self._parts.hosts.refuse(scope["method"], scope["path"], headers)
        if refusal is not None:
            raise refusal
        return self._caller(scope, headers)

    def _caller(self, scope: Scope, headers: dict[bytes, bytes]) -> Caller:
        parts = self._parts
        if not parts.callers.tokens or scope["path"] in OPEN:
            return NOBODY if parts.callers.tokens else LOCAL
        given = headers.get(b"authorization", b"").decode("latin-1")
        caller = parts.callers.caller(given, address_of(scope))
        if caller is None:
            if _is_blank_page(scope, headers):
                return NOBODY
            raise HttpRefusal(
                401,
                "token",
                "the server does not know this token: send `Authorization: Bearer TOKEN`."
                if given
                else "a token is needed: send `Authorization: Bearer TOKEN`.",
                headers=_CHALLENGE,
            )
        refusal = self._rates.spend(caller.name)
        if refusal is not None:
            raise refusal
        return caller

    async def _answer(
        self, scope: Scope, receive: Receive, answer: "_Answer", headers: dict[bytes, bytes]
    ) -> None:
        settings = self._parts.settings
        request_context: RequestContext = scope[KEY]
        try:
            async with asyncio.timeout(settings.deadline_seconds) as request_context.deadline:
                if scope["path"] in OPEN:  # who looks after the server is told at once
                    await self._app(scope, receive, answer)
                    return
                with self._concurrency.admitted(), self._bodies.one() as body:
                    # Before its turn: who sends slowly keeps nobody else waiting.
                    if scope["method"] in _WITH_BODY:
                        receive = await body.read(receive, headers)
                    async with self._concurrency.slot() as request_context.slot:
                        app = self._parts.endpoints.get(scope["path"], self._app)
                        await app(scope, receive, answer)
        except TimeoutError:
            if request_context.deadline is None or not request_context.deadline.expired():
                raise
            raise HttpRefusal(
                504, "deadline", f"no answer within {settings.deadline_seconds} s: ask for less."
            ) from None

    async def _refuse(
        self, refusal: HttpRefusal, scope: Scope, receive: Receive, answer: "_Answer"
    ) -> None:
        self._parts.metrics.refused.labels(refusal.code).inc()
        if answer.status is None:
            told = refusal.put(self._parts.redact)
            await told.response(answer.request_id)(scope, receive, answer)

    def _note(
        self, scope: Scope, answer: "_Answer", request_context: RequestContext, seconds: float
    ) -> None:
        status = answer.status or 499
        route = route_of(scope["path"])
        metrics = self._parts.metrics
        method = scope["method"] if scope["method"] in _METHODS else "other"
        metrics.requests.labels(route, method, str(status)).inc()
        metrics.seconds.labels(route).observe(seconds)
        if log.isEnabledFor(20):
            facts = {
                "request_id": request_context.request_id,
                "method": method,
                "path": scope["path"],
                "status": status,
                "milliseconds": round(seconds * 1000, 2),
                "caller": request_context.caller.name
                if request_context.caller is not None
                else None,
            }
            log.info("request", extra={"facts": facts})

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        app = self._parts.endpoints.get(scope["path"])
        refusal = self._parts.hosts.refuse("WEBSOCKET", scope["path"], headers)
        if app is None or refusal is not None:
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        callers, address = self._parts.callers, address_of(scope)
        caller: Caller | None = LOCAL
        if callers.tokens:
            given = headers.get(b"authorization", b"").decode("latin-1")
            try:
                caller = callers.caller(given, address)
            except HttpRefusal as wrong:
                self._parts.metrics.refused.labels(wrong.code).inc()
                await send({"type": "websocket.close", "code": 1008, "reason": ""})
                return
        rates = self._rates if callers.tokens else None
        scope[KEY] = RequestContext(_request_id(headers), caller, rates=rates, address=address)
        await app(scope, receive, send)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class _Answer:
    """The way out: remembers the status, and puts the request's name on every answer."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [
                *message.get("headers", ()),
                (b"x-request-id", self.request_id.encode()),
                (b"x-content-type-options", b"nosniff"),
            ]
        await self._send(message)


def _broken(request_id: str) -> HttpRefusal:
    return HttpRefusal(
        500, "internal", f"the server failed; its log tells why under request {request_id}."
    )


def _request_id(headers: dict[bytes, bytes]) -> str:
    given = headers.get(b"x-request-id", b"").decode("latin-1")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _is_blank_page(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Whether a person opens a page that asks for the token itself; a query is no page."""
    return (
        scope["method"] == "GET"
        and scope["path"] in BLANK_PAGES
        and not scope["query_string"]
        and b"text/html" in headers.get(b"accept", b"")
    )
