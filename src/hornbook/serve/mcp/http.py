"""MCP over streamable HTTP: one POST in, one JSON answer out, nothing kept in between."""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any  # ASGI messages and a server without lifespan state have Any

from fastapi import FastAPI, Response
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MOST_BYTES = 1024 * 1024


def loopback_security() -> TransportSecuritySettings:
    """Only requests to a loopback name, and from pages of one, at any port."""
    return security(LOOPBACK, [f"http://{name}" for name in LOOPBACK])


def security(hosts: Sequence[str], origins: Sequence[str]) -> TransportSecuritySettings:
    """Only requests to these hosts, and from pages of these origins; with or without a port."""
    return TransportSecuritySettings(
        allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)],
        allowed_origins=[*origins, *(f"{origin}:*" for origin in origins)],
    )


class McpHttp:
    """An ASGI application for exactly one address; `running` must surround its requests.

    It keeps no sessions: nothing here tells a client anything unasked, so that a session would
    only be memory that a stranger can fill, and a restart or a second worker would lose it.
    """

    def __init__(
        self,
        server: Server[Any],
        *,
        allowed: TransportSecuritySettings | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._manager = StreamableHTTPSessionManager(
            app=server,
            json_response=True,
            stateless=True,
            security_settings=allowed if allowed is not None else loopback_security(),
            max_request_body_size=most_bytes,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What the application's lifespan must hold open; once for each instance."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a POST; there is no stream to GET and no session to DELETE."""
        if scope["method"] != "POST":
            refused = Response("MCP takes POST only.\n", 405, headers={"Allow": "POST"})
            await refused(scope, receive, send)
            return
        # Some HTTP parsers leave blanks behind header values, which MCP compares to the body.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await self._manager.handle_request({**scope, "headers": headers}, receive, send)

    def attach(self, app: FastAPI, path: str = "/mcp") -> None:
        """Answer at exactly this path: a mount would answer a POST to it with a redirect."""
        for each in (path, f"{path}/"):
            app.add_route(each, self, include_in_schema=False)  # type: ignore[arg-type]  # any ASGI application is an endpoint
