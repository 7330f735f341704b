"""MCP over stdin and stdout: nothing but protocol on stdout, and an end when stdin ends."""

import logging
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any  # a server without lifespan state has Any

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from hornbook.serve.leases import Leases
from hornbook.serve.mcp_server import build_server

PATIENCE = 30.0
"""Seconds that questions may still take when stdin has ended."""

Item = SessionMessage | Exception


def serve_stdio(root: str, prepare: Callable[[], None] | None = None) -> None:
    """Answer on stdout until stdin ends and everything that was asked is answered.

    `prepare` is run before the first answer; what it or anything else prints goes to stderr.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    # A thread that waits for a line cannot be interrupted: let Ctrl-C end the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(_serve, root, prepare)
    except* BrokenPipeError:
        logging.getLogger(__name__).warning("the client no longer reads: its answers are lost")


async def _serve(root: str, prepare: Callable[[], None] | None) -> None:
    async with stdio_server() as (incoming, outgoing):
        if prepare is not None:
            await anyio.to_thread.run_sync(prepare)
        leases = Leases(root)
        try:
            await Conversation(build_server(leases.workspace)).hold(incoming, outgoing)
        finally:
            leases.close()


class Conversation:
    """One client on a pair of streams; when it has asked all, it still gets its answers.

    The server by itself drops what it is working on when the client stops sending, so that
    `printf … | hornbook mcp` would lose answers.
    """

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self._open: set[RequestId] = set()
        self._settled = anyio.Event()

    async def hold(self, incoming: Any, outgoing: Any) -> None:  # the SDK's own stream types
        """Relay until the client has stopped sending and is answered."""
        to_server, asked = anyio.create_memory_object_stream[Item]()
        answered, from_server = anyio.create_memory_object_stream[SessionMessage]()
        async with outgoing, anyio.create_task_group() as tasks:
            tasks.start_soon(self._hear, incoming, to_server, outgoing)
            tasks.start_soon(self._tell, from_server, outgoing)
            options = self._server.create_initialization_options()
            await self._server.run(asked, answered, options)

    async def _hear(
        self, incoming: Any, to_server: MemoryObjectSendStream[Item], outgoing: Any
    ) -> None:
        async with to_server:
            async for item in incoming:
                if isinstance(item, Exception):
                    await outgoing.send(SessionMessage(_NOT_A_MESSAGE))
                elif isinstance(item.message, JSONRPCRequest):
                    await to_server.send(self._opened(item, item.message.id))
                else:
                    await to_server.send(item)
            with anyio.move_on_after(PATIENCE):
                while self._open:
                    self._settled = anyio.Event()
                    await self._settled.wait()

    def _opened(self, item: SessionMessage, request: RequestId) -> SessionMessage:
        async def unanswered() -> None:
            self._settle(request)

        self._open.add(request)
        return replace(item, metadata=ServerMessageMetadata(on_request_unanswered=unanswered))

    async def _tell(
        self, from_server: MemoryObjectReceiveStream[SessionMessage], outgoing: Any
    ) -> None:
        async with from_server:
            async for item in from_server:
                await outgoing.send(item)
                if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    self._settle(item.message.id)

    def _settle(self, request: RequestId | None) -> None:
        if request is not None:
            self._open.discard(request)
        self._settled.set()


_NOT_A_MESSAGE = JSONRPCError(
    jsonrpc="2.0",
    id=None,
    error=ErrorData(code=PARSE_ERROR, message="a line is not a JSON-RPC message in UTF-8"),
)
