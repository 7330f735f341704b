"""GraphQL over a WebSocket: the protocol graphql-transport-ws.

A connection goes through three states. Opened: the client has `INIT_SECONDS` to send
`connection_init`, with a token in its payload where the handshake had none; until then the
connection counts as one that has not said whose it is, of which there may be few. Acknowledged:
each `subscribe` starts a task under the id that the client chose, which sends `next` for each
answer and `complete` or `error` at its end; a `complete` of the client cancels it. Closed: by the
client, by the server when it stops (1001), or because the client broke the protocol (codes from
4400 on, as the protocol names them). Whatever ends the connection cancels every task and waits.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from hornbook.serve.access.callers import CallerCheck
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.graphql.context import SubscriptionContext
from hornbook.serve.graphql.executor import (
    Answer,
    GraphQLExecutor,
    OperationRequest,
    ReadyOperation,
)
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.request import RequestContext
from hornbook.serve.http.response import as_json

PROTOCOL = "graphql-transport-ws"
INIT_SECONDS = 10.0
LARGEST_MESSAGE = 1_048_576
MOST_OPERATIONS = 20

Message = dict[str, Any]  # what a client sends is checked key by key


@dataclass(frozen=True, slots=True)
class Answering:
    """How operations are made ready and answered, as for any other request."""

    ready: Callable[[OperationRequest], Awaitable[ReadyOperation | Answer]]
    answer: Callable[[ReadyOperation, RequestContext], Awaitable[Answer | bytes]]


class _Closed(Exception):  # it ends the conversation, which is no error
    """The conversation is over; the client is told the code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Socket:
    """One conversation."""

    def __init__(
        self,
        engine: GraphQLExecutor,
        updates: GraphUpdates,
        answering: Answering,
        request_context: RequestContext,
        *,
        callers: CallerCheck,
    ) -> None:
        self._engine = engine
        self._updates = updates
        self._callers = callers
        self._answering = answering
        self._request_context = request_context
        self._deadline = updates.leases.settings.serve.deadline_seconds
        self._acknowledged = False
        self._operations: dict[str, asyncio.Task[None]] = {}
        self._sending = asyncio.Lock()
        self._open = ExitStack()
        self._unauthenticated = ExitStack()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Talk until one side ends it."""
        self._receive, self._send = receive, send
        await receive()  # websocket.connect
        try:
            self._unauthenticated.enter_context(
                self._callers.unauthenticated(self._request_context.address)
            )
        except HttpRefusal:
            await self._close(1013, "Too many sockets wait to say whose they are")
            return
        accepted = PROTOCOL in scope.get("subprotocols", ())
        accept = {"type": "websocket.accept", "subprotocol": PROTOCOL if accepted else None}
        await send(accept)
        try:
            await self._receive_messages(accepted=accepted)
        except HttpRefusal as refusal:
            await self._close(1013, refusal.detail)
        except _Closed as closed:
            await self._close(closed.code, closed.reason)
        finally:
            self._unauthenticated.close()
            self._open.close()
            for task in self._operations.values():
                task.cancel()
            await asyncio.gather(*self._operations.values(), return_exceptions=True)

    async def _close(self, code: int, reason: str) -> None:
        await self._send({"type": "websocket.close", "code": code, "reason": reason[:120]})

    async def _receive_messages(self, *, accepted: bool) -> None:
        if not accepted:
            raise _Closed(4406, "Subprotocol not acceptable")
        closing = asyncio.ensure_future(self._updates.closing.wait())
        over = asyncio.ensure_future(self._request_context.taken_back())
        timeout: float | None = INIT_SECONDS
        try:
            while True:
                following = asyncio.ensure_future(self._receive())
                await asyncio.wait(
                    {closing, over, following}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
                )
                if over.done():
                    following.cancel()
                    raise _Closed(4403, "Forbidden: the token is no longer good")
                if not following.done():
                    following.cancel()
                    if closing.done():
                        raise _Closed(1001, "The server is shutting down")
                    raise _Closed(4408, "Connection initialisation timeout")
                event = following.result()
                if event["type"] == "websocket.disconnect":
                    return
                await self._handle(_parsed(event))
                timeout = None if self._acknowledged else INIT_SECONDS
        finally:
            closing.cancel()
            over.cancel()

    async def _handle(self, message: Message) -> None:
        kind = message.get("type")
        if kind == "connection_init":
            await self._init(message)
        elif kind == "ping":
            await self._send_message({"type": "pong"})
        elif kind == "subscribe":
            await self._subscribe(message)
        elif kind == "complete":
            self._complete(message)
        elif kind != "pong":
            raise _Closed(4400, f"Unexpected message of type {str(kind)[:40]!r} received")

    async def _init(self, message: Message) -> None:
        if self._acknowledged:
            raise _Closed(4429, "Too many initialisation requests")
        payload = message.get("payload")
        if payload is not None and not isinstance(payload, dict):
            raise _Closed(4400, "The payload of connection_init must be an object")
        given = {str(key).lower(): value for key, value in (payload or {}).items()}
        if self._request_context.caller is None:
            said = str(given.get("authorization", ""))
            found = self._callers.caller(said, self._request_context.address)
            self._request_context.caller = found or (None if said else self._callers.unnamed)
        caller = self._request_context.caller
        if caller is None or not caller.may(AccessScope.READ):
            raise _Closed(4403, "Forbidden: send authorization in the payload")
        # Only those who may ask take one of the streams.
        self._open.enter_context(self._updates.stream())
        self._unauthenticated.close()
        self._acknowledged = True
        await self._send_message({"type": "connection_ack"})

    async def _subscribe(self, message: Message) -> None:
        if not self._acknowledged:
            raise _Closed(4401, "Unauthorized")
        name, payload = message.get("id"), message.get("payload")
        if not isinstance(name, str) or not name or not isinstance(payload, dict):
            raise _Closed(4400, "A subscribe message needs an id and a payload")
        if name in self._operations:
            raise _Closed(4409, f"Subscriber for {name[:60]} already exists")
        if len(self._operations) >= MOST_OPERATIONS:
            raise _Closed(4429, f"More than {MOST_OPERATIONS} operations at a time")
        asked = _asked(payload)
        self._operations[name] = asyncio.ensure_future(self._operation(name, asked))

    def _complete(self, message: Message) -> None:
        task = self._operations.pop(str(message.get("id")), None)
        if task is not None:
            task.cancel()

    async def _operation(self, name: str, asked: OperationRequest) -> None:
        ready = await self._answering.ready(asked)
        if not isinstance(ready, ReadyOperation):
            found: Any = ready
        elif ready.kind == "subscription":
            found = await self._engine.events(ready, SubscriptionContext(self._updates))
        else:
            found = await self._answered(ready)
        if isinstance(found, dict) and "data" not in found:
            self._operations.pop(name, None)
            await self._send_message({"type": "error", "id": name, "payload": found["errors"]})
            return
        if isinstance(found, dict | bytes):
            await self._next(name, found)
        else:
            async for answer in found:
                await self._next(name, answer)
        self._operations.pop(name, None)
        await self._send_message({"type": "complete", "id": name})

    async def _answered(self, ready: ReadyOperation) -> Answer | bytes:
        refusal = self._request_context.spend()
        if refusal is None:
            try:
                limit = None if ready.kind == "mutation" else self._deadline
                async with asyncio.timeout(limit):
                    return await self._answering.answer(ready, self._request_context)
            except TimeoutError:
                refusal = HttpRefusal(504, "deadline", f"no answer within {self._deadline} s.")
        return {
            "errors": [{"message": refusal.detail, "extensions": {"code": refusal.code.upper()}}]
        }

    async def _next(self, name: str, answer: Answer | bytes) -> None:
        payload = json.loads(answer) if isinstance(answer, bytes) else answer
        await self._send_message({"type": "next", "id": name, "payload": payload})

    async def _send_message(self, message: Message) -> None:
        async with self._sending:
            # Text frames: some clients read nothing else.
            await self._send({"type": "websocket.send", "text": as_json(message).decode()})


def _parsed(event: Any) -> Message:  # an ASGI message
    text = event.get("text")
    if text is None or len(text) > LARGEST_MESSAGE:
        raise _Closed(4400, "Invalid message: send JSON text of at most 1 MiB")
    try:
        message = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise _Closed(4400, "Invalid message: not JSON") from None
    if not isinstance(message, dict):
        raise _Closed(4400, "Invalid message: not an object")
    return message


def _asked(payload: Message) -> OperationRequest:
    text, variables = payload.get("query"), payload.get("variables")
    name = payload.get("operationName")
    if not isinstance(text, str) or not isinstance(variables, dict | None):
        raise _Closed(4400, "The payload of subscribe needs a query, and variables as an object")
    if not isinstance(name, str | None):
        raise _Closed(4400, "operationName must be a string")
    return OperationRequest(text, variables or {}, name)
