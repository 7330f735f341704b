"""MCP over streamable HTTP: one POST in, one JSON answer out, nothing kept in between."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any  # a server without lifespan state has Any

from fastapi import Response
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

# The gateway has looked at Host and Origin by the rules of the whole server.
_CHECKED_BEFORE = TransportSecuritySettings(enable_dns_rebinding_protection=False)


class McpHttp:
    """An ASGI application for exactly one address; `running` must surround its requests.

    It keeps no sessions: nothing here tells a client anything unasked, so that a session would
    only be memory that a stranger can fill, and a restart or a second worker would lose it.
    """

    def __init__(self, server: Server[Any], most_bytes: int) -> None:
        self._manager = StreamableHTTPSessionManager(
            app=server,
            json_response=True,
            stateless=True,
            security_settings=_CHECKED_BEFORE,
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
