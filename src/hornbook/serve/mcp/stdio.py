"""MCP over stdin and stdout: nothing but protocol on stdout, and an end when stdin ends."""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from mcp.server.stdio import stdio_server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from hornbook.serve.leases import Leases
from hornbook.serve.mcp.server import build_server

ANSWER_SECONDS = 30.0
"""Seconds that questions may still take when stdin has ended."""


def serve_stdio(root: str, prepare: Callable[[], None] | None = None) -> None:
    """Answer on stdout until stdin ends and everything that was asked is answered.

    `prepare` is run before the first answer; what it or anything else prints goes to stderr.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    # A thread that waits for a line cannot be interrupted: let Ctrl-C end the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        asyncio.run(_serve(root, prepare))
    except* BrokenPipeError:
        logging.getLogger(__name__).warning("the client no longer reads: its answers are lost")


async def _serve(root: str, prepare: Callable[[], None] | None) -> None:
    async with stdio_server() as (incoming, outgoing):
        if prepare is not None:
            await asyncio.to_thread(prepare)
        leases = Leases(root)
        try:
            server = build_server(leases.current)
            answers = Answers(outgoing)
            questions = Questions(incoming, answers)
            await server.run(questions, answers, server.create_initialization_options())
        finally:
            leases.close()


class Incoming(Protocol):
    """Where messages come from."""

    async def __anext__(self) -> SessionMessage | Exception:
        """The next message, or what is wrong with a line."""

    async def aclose(self) -> None:
        """Take no more."""


class Outgoing(Protocol):
    """Where messages go."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""

    async def aclose(self) -> None:
        """Send no more."""


class _Closing:
    """A stream that is closed when it is left."""

    def __init__(self, inner: Incoming | Outgoing) -> None:
        self._inner = inner

    async def aclose(self) -> None:
        """Close what it wraps."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class Answers(_Closing):
    """What goes to the client; knows which questions are still open."""

    def __init__(self, outgoing: Outgoing) -> None:
        super().__init__(outgoing)
        self._outgoing = outgoing
        self._open: set[RequestId] = set()
        self._settled = asyncio.Event()

    async def send(self, item: SessionMessage) -> None:
        """Send a message; an answer settles its question."""
        await self._outgoing.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._settle(item.message.id)

    def expect(self, item: SessionMessage, request: RequestId) -> SessionMessage:
        """The question, so that it is settled also when it was cancelled and gets no answer."""

        async def unanswered() -> None:
            self._settle(request)

        self._open.add(request)
        return replace(item, metadata=ServerMessageMetadata(on_request_unanswered=unanswered))

    async def settled(self) -> None:
        """Wait until every question is settled."""
        while self._open:
            self._settled.clear()
            await self._settled.wait()

    def _settle(self, request: RequestId | None) -> None:
        if request is not None:
            self._open.discard(request)
        self._settled.set()


class Questions(_Closing):
    """What comes from the client; it ends when all of it is answered.

    The server drops what it is working on when its client stops sending, so that
    `printf … | hornbook mcp` would lose answers.
    """

    def __init__(self, incoming: Incoming, answers: Answers) -> None:
        super().__init__(incoming)
        self._incoming = incoming
        self._answers = answers

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except StopAsyncIteration:
            with suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._answers.settled()
            raise

    async def receive(self) -> SessionMessage | Exception:
        """The next message; a line that is none is answered here."""
        while isinstance(item := await self._incoming.__anext__(), Exception):
            await self._answers.send(SessionMessage(_NOT_A_MESSAGE))
        if isinstance(item.message, JSONRPCRequest):
            return self._answers.expect(item, item.message.id)
        return item


_NOT_A_MESSAGE = JSONRPCError(
    jsonrpc="2.0",
    id=None,
    error=ErrorData(code=PARSE_ERROR, message="a line is not a JSON-RPC message in UTF-8"),
)
