"""A connection that nobody can hold for nothing: by headers that never end, or by never reading.

Every ten seconds a connection is looked at. It is ended if it is still in the state in which the
look before found it: waiting behind the same request for the rest of the next one, or with bytes
to send of which none went out. So a slow client has ten to twenty seconds for each step, however
long the whole takes, and a client that does nothing is gone after twenty.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

LOOK_EVERY = 10.0
MOST_CONNECTIONS = 2000


class WatchedConnection(H11Protocol):
    """Looks now and then whether the other side still does its part, and leaves if it does not.

    uvicorn only watches a connection between two requests. One that sends half a request, or that
    reads nothing of an answer, would be kept for ever, with all that it waits for.
    """

    _looking: asyncio.TimerHandle | None = None
    _unsent = 0
    _waited_behind: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to look."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        self._looking = self.loop.call_later(LOOK_EVERY, self.look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no longer."""
        self._stop_looking()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: Any) -> None:  # a request of the parser's own kind
        """Leave it to the WebSocket, which sends pings of its own."""
        self._stop_looking()
        super().handle_websocket_upgrade(event)

    def look(self) -> None:
        """End the connection if nothing happened since the last look that had to."""
        unsent = self.transport.get_write_buffer_size()
        stalled = bool(unsent) and unsent >= self._unsent > 0
        # Between requests uvicorn has a timer of its own, which the first byte of the next ends.
        last = self._last()
        waits = self.timeout_keep_alive_task is None and getattr(last, "response_complete", True)
        late = waits and self._waited_behind is last
        if stalled or late:
            self.transport.abort()
            return
        self._unsent = unsent
        self._waited_behind = last if waits else None
        self._looking = self.loop.call_later(LOOK_EVERY, self.look)

    def _last(self) -> object:
        """The request that came last; before the first one, the connection."""
        found: object = self.cycle  # None at first, whatever its type says
        return self if found is None else found

    def _stop_looking(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
