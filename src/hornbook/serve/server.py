"""Runs the service until it is told to stop, and stops it cleanly."""

import os
import resource
import threading
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from hornbook.errors import HornbookError
from hornbook.rules.watch import changes
from hornbook.serve.app import create_app
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.http.connections import MOST_CONNECTIONS, WatchedConnection
from hornbook.serve.http.logs import log, log_to_stderr

GRACE = 10
OWN_FILES = 1000


class _Server(uvicorn.Server):
    """A server that tells open streams when it stops, instead of waiting for them."""

    def __init__(self, config: uvicorn.Config, desk: GraphUpdates) -> None:
        super().__init__(config)
        self._desk = desk

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; a second signal does not wait."""
        self._desk.closing.set()
        super().handle_exit(sig, frame)


class Watch:
    """Ingests whenever a source changes, beside the server."""

    def __init__(self, desk: GraphUpdates) -> None:
        self._desk = desk
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer."""
        self._stop.set()
        self._thread.join(GRACE)

    def _follow(self) -> None:
        for _ in changes(self._desk.root, self._stop):
            try:
                report = self._desk.ingest_in_turn()
            except (HornbookError, OSError) as error:
                log.warning("an ingest failed", extra={"facts": {"error": str(error)}})
            else:
                if report.added or report.changed or report.removed:
                    facts = {
                        "added": report.added,
                        "changed": report.changed,
                        "removed": report.removed,
                    }
                    log.info("ingested", extra={"facts": facts})


def run(root: Path, host: str, port: int, *, watch: bool) -> None:
    """Serve the workspace until a signal comes.

    Raises:
        HornbookError: It cannot start.
    """
    _allow_files(MOST_CONNECTIONS + OWN_FILES)
    app: FastAPI = create_app(root, host=host, environment=os.environ)
    desk: GraphUpdates = app.state.desk
    log_to_stderr(desk.leases.settings.serve.log)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        # On h11: the other parser keeps blanks at the end of header values.
        http=WatchedConnection,
        ws_max_size=desk.leases.settings.serve.body_bytes,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=15,
    )
    watching = Watch(desk)
    if watch:
        watching.start()
    try:
        _Server(config, desk).run()
    finally:
        if watch:
            watching.stop()


def _allow_files(wanted: int) -> None:
    """Have room for as many connections as are taken beside the files of the store."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now != resource.RLIM_INFINITY and now < wanted:
        allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
