"""The gate that every request passes: who may come in, how much, how often and how long."""

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hornbook.serve.access.callers import (
    CHALLENGE,
    NOBODY,
    Caller,
    CallerCheck,
    address_of,
)
from hornbook.serve.access.required_scope import SAFE, ScopeOf
from hornbook.serve.access.scopes import READ_ONLY
from hornbook.serve.access.sessions import Sessions, session_in
from hornbook.serve.http.answer_writer import AnswerWriter, HeadAnswered
from hornbook.serve.http.forms import is_form, read_form
from hornbook.serve.http.host_check import HostCheck, through_proxy
from hornbook.serve.http.logs import log
from hornbook.serve.http.metrics import Metrics, route_of
from hornbook.serve.http.problems import HttpRefusal, Redact
from hornbook.serve.http.proxy import clean_prefix, seen_from_outside
from hornbook.serve.http.rate_limit import ConcurrencyLimit, RateLimit
from hornbook.serve.http.request import KEY, RequestContext
from hornbook.settings.surroundings import ServeSettings

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
        self.content = b""

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
        self.content = b"".join(pieces)
        waiting: list[Message] = [{"type": "http.request", "body": self.content}]

        async def replay() -> Message:
            return waiting.pop() if waiting else await receive()

        return replay


def _too_large(most: int) -> HttpRefusal:
    return HttpRefusal(413, "body", f"the body is larger than {most} bytes: send less.")


OPEN = frozenset({"/healthz", "/readyz"})
# These show no data: a person types the token into them.
BLANK_PAGES = frozenset({"/graphql", "/docs"})
ASSETS = "/assets/"
SIGN_IN = frozenset({"/login", "/logout"})
"""Who sends these shows who they are with them."""
_GRANTED = {
    "access-control-allow-methods": "GET, HEAD, POST",
    "access-control-allow-headers": (
        "accept, authorization, content-type, if-none-match, last-event-id, x-request-id"
    ),
    "access-control-max-age": "600",
}
_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class ServerParts:
    """What the gate goes by."""

    hosts: HostCheck
    callers: CallerCheck
    settings: ServeSettings
    metrics: Metrics
    redact: Redact
    """How refusals are put."""
    scope_of: ScopeOf
    sessions: Sessions
    page_of: Callable[[Scope, HttpRefusal], Response | None]
    """A refusal as a page, for a browser that asked for one."""
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
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        settings = self._parts.settings
        proxies = settings.proxies if self._parts.callers.guarded else ()
        base = clean_prefix(settings.base_path)
        scope, prefix = seen_from_outside(scope, headers, proxies=proxies, base=base)
        request_context = RequestContext(
            _request_id(headers),
            None,
            address=address_of(scope),
            callers=self._parts.callers,
            prefix=prefix,
            still_open=self._parts.sessions.is_open,
        )
        scope[KEY] = request_context
        if scope["type"] == "http":
            await self._http(scope, receive, send, headers)
        else:
            await self._websocket(scope, receive, send, headers)

    async def _http(
        self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, bytes]
    ) -> None:
        request_context: RequestContext = scope[KEY]
        asked = scope["method"]
        name = request_context.request_id
        answer = AnswerWriter(send, name, headers=headers, method=asked)
        if asked == "HEAD":  # as GET, whose body is not sent
            scope["method"] = "GET"
        began = time.perf_counter()
        try:
            self._check_host(scope, headers, answer)
            if asked == "OPTIONS" and answer.origin and _is_preflight(headers):
                await Response(status_code=204, headers=_GRANTED)(scope, receive, answer)
                return
            self._admit(scope, headers, request_context)
            await self._answer(scope, receive, answer, headers)
        except HeadAnswered:
            return
        except HttpRefusal as refusal:
            await self._refuse(refusal, scope, receive, answer)
        except Exception:  # noqa: BLE001  # the outermost line of a request: told and logged
            log.exception(
                "a request failed", extra={"facts": {"request_id": request_context.request_id}}
            )
            await self._refuse(_broken(request_context.request_id), scope, receive, answer)
        finally:
            scope["method"] = asked
            self._note(scope, answer, request_context, time.perf_counter() - began)

    def _admit(
        self, scope: Scope, headers: dict[bytes, bytes], request_context: RequestContext
    ) -> None:
        """Let a request in: who asks is known then, and may do what it is for.

        Raises:
            Refusal: It may not come in.
        """
        if scope["path"] in OPEN or scope["path"].startswith(ASSETS):
            request_context.caller = NOBODY
            return
        self._refuse_proxied(scope, headers)
        request_context.caller = caller = self._caller(scope, headers, request_context)
        if caller.token is not None:
            refusal = self._rates.spend(caller.name)
            if refusal is not None:
                raise refusal
        if scope["path"] in SIGN_IN or _is_blank_page(scope, headers):
            return
        # Before the body is read or anything is looked up.
        wanted = self._parts.scope_of(scope)
        if request_context.session and not caller.is_named and not caller.may(wanted):
            raise HttpRefusal(
                403,
                "csrf",
                "the request has a session and not what a page of this server sends with it: send "
                "`Origin` and `X-CSRF-Token`.",
            )
        request_context.needs(wanted)

    def _refuse_proxied(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        """Refuse what came from elsewhere to a server that takes everybody for its neighbour.

        Raises:
            Refusal: It did.
        """
        if self._parts.callers.guarded:
            return
        told = through_proxy(scope.get("http_version", "1.1"), headers)
        if told is not None:
            raise HttpRefusal(
                403,
                "proxy",
                f"the request came through a proxy ({told}), and this server has no tokens to tell "
                "callers apart: make one with `hornbook token new NAME`.",
            )

    def _check_host(self, scope: Scope, headers: dict[bytes, bytes], answer: AnswerWriter) -> None:
        """Let in what is addressed to us, by our own pages or those of a listed origin.

        Raises:
            Refusal: It is not.
        """
        hosts = self._parts.hosts
        refusal = hosts.refuse(
            scope["method"], scope["path"], headers, asks=bool(scope["query_string"])
        )
        if refusal is not None:
            raise refusal
        origin = headers.get(b"origin", b"").decode("latin-1")
        if hosts.is_listed(origin):
            answer.origin = origin

    def _session(
        self, scope: Scope, headers: dict[bytes, bytes], request_context: RequestContext
    ) -> Caller | None:
        """Who acts in the session that a browser shows, if it is a page of ours that asks."""
        name = session_in(headers.get(b"cookie", b"").decode("latin-1"))
        caller = self._parts.sessions.caller(name) if name else None
        if caller is None:
            return None
        request_context.session = name
        if scope["type"] == "http" and scope["method"] in SAFE:
            return caller
        if not self._parts.hosts.is_own(headers):
            return None
        if scope["type"] == "websocket":  # it cannot show what a page sends, so it only reads
            return replace(caller, scopes=caller.scopes & READ_ONLY)
        given = headers.get(b"x-csrf-token", b"").decode("latin-1")
        if not given and is_form(_content_type(headers)):
            request_context.unproven = True
            return caller
        return caller if self._parts.sessions.is_ours(name, given) else None

    def _check_form(self, scope: Scope, body: Body, headers: Mapping[bytes, bytes]) -> None:
        """Go on only if a form of a session was made by a page of ours; its field says so.

        Raises:
            Refusal: It was not.
        """
        request_context: RequestContext = scope[KEY]
        if not request_context.unproven or scope["path"] in SIGN_IN:
            return
        sent = read_form(body.content, _content_type(headers))
        given = sent.fields.get("csrf", "")
        if not self._parts.sessions.is_ours(request_context.session, given):
            raise HttpRefusal(
                403, "csrf", "the form is not of a page of this session: load the page again."
            )

    def _caller(
        self, scope: Scope, headers: dict[bytes, bytes], request_context: RequestContext
    ) -> Caller:
        callers = self._parts.callers
        given = headers.get(b"authorization", b"").decode("latin-1")
        caller = callers.caller(given, request_context.address)
        if not given:
            caller = self._session(scope, headers, request_context)
        if caller is not None:
            return caller
        if given and not _is_blank_page(scope, headers):
            raise HttpRefusal(
                401,
                "token",
                "the server does not know this token: send `Authorization: Bearer TOKEN`.",
                headers=CHALLENGE,
            )
        return callers.unnamed

    async def _answer(
        self, scope: Scope, receive: Receive, answer: AnswerWriter, headers: dict[bytes, bytes]
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
                        self._check_form(scope, body, headers)
                    request_context.connection = asyncio.get_running_loop(), receive
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
        self, refusal: HttpRefusal, scope: Scope, receive: Receive, answer: AnswerWriter
    ) -> None:
        self._parts.metrics.refused.labels(refusal.code).inc()
        if answer.status is None:
            page = self._parts.page_of(scope, refusal)
            told = page or refusal.put(self._parts.redact).response(answer.request_id)
            await told(scope, receive, answer)

    def _note(
        self, scope: Scope, answer: AnswerWriter, request_context: RequestContext, seconds: float
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
                **_who(request_context),
            }
            log.info("request", extra={"facts": facts})

    async def _websocket(
        self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, bytes]
    ) -> None:
        request_context: RequestContext = scope[KEY]
        app = self._parts.endpoints.get(scope["path"])
        refusal = self._parts.hosts.refuse("WEBSOCKET", scope["path"], headers)
        if app is None or refusal is not None:
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        try:
            self._refuse_proxied(scope, headers)
            # Who shows nothing now may still do so in the first message.
            shows = b"authorization" in headers or b"cookie" in headers
            caller = self._caller(scope, headers, request_context) if shows else None
        except HttpRefusal as wrong:
            self._parts.metrics.refused.labels(wrong.code).inc()
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        request_context.caller = caller if caller is not None and caller.is_named else None
        request_context.rates = self._rates
        await app(scope, receive, send)


def _who(request_context: RequestContext) -> dict[str, object]:
    """Who asked, as a line of the log tells it."""
    caller = request_context.caller
    if caller is None or not caller.is_named:
        return {"caller": None if caller is None else caller.name, "principal": None, "via": None}
    return {
        "caller": caller.name,
        "principal": caller.known_as.id,
        "via": str(caller.known_as.via),
    }


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _broken(request_id: str) -> HttpRefusal:
    return HttpRefusal(
        500, "internal", f"the server failed; its log tells why under request {request_id}."
    )


def _request_id(headers: dict[bytes, bytes]) -> str:
    given = headers.get(b"x-request-id", b"").decode("latin-1")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _content_type(headers: Mapping[bytes, bytes]) -> str:
    return headers.get(b"content-type", b"").decode("latin-1")


def _is_preflight(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a browser asks if a page of another site may send a request."""
    return b"access-control-request-method" in headers


def _is_blank_page(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Whether a person opens a page that asks for the token itself; a query is no page."""
    return (
        scope.get("method") == "GET"
        and scope["path"] in BLANK_PAGES
        and not scope["query_string"]
        and b"text/html" in headers.get(b"accept", b"")
    )
