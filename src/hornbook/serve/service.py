"""Runs the service until it is told to stop, and stops it cleanly.

SIGTERM is handled from the first moment. Before the server listens, the command unwinds its work.
While it serves, uvicorn takes the signal: open streams are told, requests are given `GRACE`
seconds, an ingest is left at its next document, and the application's `close` lets go of the graph
and of the processes. Only then does uvicorn send the signal again, and the process ends by it,
whatever a thread may still be busy with: its exit code is the same whenever the signal came.
"""

import asyncio
import ctypes
import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hornbook.errors import HornbookError
from hornbook.rules.watch import changes
from hornbook.serve.app import GRACE, create_app
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.http.logs import log, log_to_stderr

LOOK_EVERY = 10.0
MOST_CONNECTIONS = 2000
MOST_ARENAS, ARENAS = -8, 2


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


OWN_FILES = 1000


class _Server(uvicorn.Server):
    """A server that tells open streams when it stops, instead of waiting for them."""

    def __init__(self, config: uvicorn.Config, updates: GraphUpdates) -> None:
        super().__init__(config)
        self._updates = updates

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; a second Ctrl-C does not wait."""
        self._updates.closing.set()
        super().handle_exit(sig, frame)


class Watch:
    """Ingests whenever a source changes, beside the server."""

    def __init__(self, updates: GraphUpdates) -> None:
        self._updates = updates
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="watch", daemon=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch as long as this lasts."""
        self._thread.start()
        self._updates.leases.watched = True
        try:
            yield
        finally:
            self._updates.leases.watched = False
            self._stop.set()
            self._thread.join(GRACE)

    def _follow(self) -> None:
        for _ in changes(self._updates.root, self._stop):
            try:
                report = self._updates.ingest_in_turn()
            except (HornbookError, OSError) as error:
                if not self._updates.closing.is_set():
                    log.warning("an ingest failed", extra={"facts": {"error": str(error)}})
                continue
            names = ("added", "changed", "removed")
            facts = {name: getattr(report, name) for name in names}
            if any(facts.values()):
                log.info("ingested", extra={"facts": facts})


def run(root: Path, host: str, port: int, *, watch: bool, ready: Callable[[], None]) -> None:
    """Serve the workspace until a signal comes; `ready` is called once nothing is refused.

    Raises:
        HornbookError: It cannot start.
    """
    _allow_files(MOST_CONNECTIONS + OWN_FILES)
    keep_few_arenas()
    app = create_app(root, host=host, environment=os.environ)
    updates: GraphUpdates = app.state.updates
    settings = updates.leases.settings.serve
    log_to_stderr(settings.log)
    ready()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # `http.proxy` does it, for those that settings name
        date_header=True,
        # On h11: the other parser keeps blanks at the end of header values.
        http=WatchedConnection,
        ws_max_size=settings.body_bytes,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=15,
    )
    server = _Server(config, updates)
    if not watch:
        server.run()
        return
    with Watch(updates).running():
        server.run()


def keep_few_arenas() -> None:
    """Have all threads take memory from the same two places, where the C library is glibc.

    It has eight for each core otherwise. What a version of the graph leaves free in one of them is
    of no use to a thread that takes from another, so that each new version made the server larger.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(MOST_ARENAS, ARENAS)


def _allow_files(wanted: int) -> None:
    """Have room for as many connections as are taken beside the files of the store."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now != resource.RLIM_INFINITY and now < wanted:
        allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
