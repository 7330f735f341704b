"""Signing in and out with a browser: a one-time address, or a token in a form."""

from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from hornbook.serve.access.callers import CallerCheck, address_of
from hornbook.serve.access.required_scope import needs
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.access.sessions import Sessions, cookie, session_in
from hornbook.serve.console.frame import FOLLOW, PAGE_HEADERS, Console, form_of
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.request import request_context_of

LOGIN, LOGOUT = "/login", "/logout"
_REFUSED = 403
# Nothing of these pages is kept. A browser tells other sites nothing of where one came from; with
# `no-referrer` it would send the forms as from no origin, and they are refused then.
_HEADERS = {**PAGE_HEADERS, "cache-control": "no-store"}


class SigningIn:
    """Opens and ends sessions; a plain connection is trusted with a cookie on `loopback` alone."""

    def __init__(self, console: Console, callers: CallerCheck) -> None:
        self._console = console
        self._sessions: Sessions = console.sessions
        self._callers = callers
        self._loopback = console.loopback

    def router(self) -> APIRouter:
        """The routes; whether somebody may sign in is decided here, so that they need no scope."""
        router = APIRouter(include_in_schema=False)
        free = needs(AccessScope.READ)
        router.add_api_route(LOGIN, self.page, methods=["GET"], response_model=None)
        for path, answer in ((LOGIN, self.sign_in), (LOGOUT, self.sign_out)):
            router.add_api_route(
                path, answer, methods=["POST"], response_model=None, openapi_extra=free
            )
        return router

    async def page(self, request: Request, once: str | None = None) -> Response:
        """Open a session by a one-time address, or show how to sign in or out."""
        if once is None:
            return self._page(request)
        self._refuse_plain(request)
        name = self._sessions.by_code(once)
        if name is None:
            said = "This address was used, is older than a minute, or is not of this server."
            return self._page(request, wrong=said)
        return _begun(request, name)

    async def sign_in(self, request: Request) -> Response:
        """Open a session by a token."""
        self._refuse_plain(request)
        given = await form_of(request)
        token = given.get("token", "")
        caller = self._callers.caller(f"Bearer {token}", address_of(request.scope))
        if caller is None:
            said = "The server does not know this token."
            return self._page(request, wrong=said, next_page=given.get("next", ""))
        return _begun(request, self._sessions.open(caller), _local(given.get("next", "")))

    async def sign_out(self, request: Request) -> Response:
        """End a session."""
        name = session_in(request.headers.get("cookie", ""))
        given = (await form_of(request)).get("csrf", "") or request.headers.get("x-csrf-token", "")
        if self._sessions.csrf(name) and not self._sessions.is_ours(name, given):
            raise HttpRefusal(403, "csrf", "this was not sent by a page of this server: go there.")
        self._sessions.close(name)
        return _led_to(request, LOGIN, "")

    def _refuse_plain(self, request: Request) -> None:
        if not self._loopback and not _is_secure(request):
            raise HttpRefusal(
                403, "tls", "a session needs TLS beyond this machine: put a proxy with TLS before."
            )

    def _page(self, request: Request, *, wrong: str = "", next_page: str = "") -> HTMLResponse:
        """Who is signed in and how to leave, or how to come in."""
        answer = self._console.page(
            request,
            "login.html",
            status=_REFUSED if wrong else 200,
            wrong=wrong,
            next=_local(next_page or request.query_params.get("next", "")),
        )
        answer.headers.update(_HEADERS)
        return answer


def _begun(request: Request, name: str, path: str = "/") -> Response:
    return _led_to(request, path, name)


def _local(address: str) -> str:
    """A path of this server to go on to; the first page for whatever leads elsewhere."""
    found = urlsplit(address)
    plain = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if plain and not found.netloc and address.isprintable() else "/"


def _led_to(request: Request, path: str, session: str) -> Response:
    """The way to another page, with a session or without one from now on."""
    answer = RedirectResponse(f"{_prefix(request)}{path}", FOLLOW, headers=_HEADERS)
    answer.headers["set-cookie"] = cookie(session, secure=_is_secure(request))
    return answer


def _is_secure(request: Request) -> bool:
    return bool(request.scope["scheme"] == "https")


def _prefix(request: Request) -> str:
    return request_context_of(request.scope).prefix
