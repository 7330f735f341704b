"""Gives each request one version of the graph, the newest one, for as long as it needs it.

A version is a generation of the store, and whoever has it open holds its lock, so that no writer
deletes it. The newest one is opened once and shared by all requests. When a newer one is published,
the next request opens that; the older one stays open until its last reader is done, who closes it.
So a request never sees two versions, and a slow one never holds up the others.

Questions about rules are answered from the files as they are (`current`): they are looked at
before, at most once a second, and what changed is ingested by a workspace of its own. Where a watch
does that, nobody else looks.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hornbook.graph.snapshot import Snapshot
from hornbook.serve.work_tree_files import WorkTreeFiles
from hornbook.settings.places import Places, cache_folder
from hornbook.workspace import Workspace

LOOK_EVERY = 1.0


class _Shared:
    """A workspace opened on one version, and how many requests are reading it."""

    def __init__(self, root: str | Path, places: Places | None = None) -> None:
        self.workspace = Workspace.open(root)
        self.workspace.follows_files = False
        if places is not None:
            self.workspace.use(places)
        self.snapshot = self.workspace.snapshot()
        self.readers = 0


class Leases:
    """Opens a version when it is published and closes it when its last reader is done."""

    def __init__(
        self, root: str | Path, opened: Callable[[Snapshot], None] = lambda _snapshot: None
    ) -> None:
        self._lock = threading.Lock()
        self._returned = threading.Condition(self._lock)
        self._readers = 0
        self._current = _Shared(root)
        self._places = self._current.workspace.places
        self._opened = opened
        self._looking = threading.Lock()
        self._next_look = 0.0
        self.watched = False
        """Whether somebody else ingests as soon as a file changes."""
        self.root = self._current.workspace.root
        self.files = WorkTreeFiles(self.root)
        self.settings = self._current.workspace.settings
        self._copying = threading.Lock()
        opened(self._current.snapshot)

    @contextmanager
    def lease(self) -> Iterator[Snapshot]:
        """The newest version of the graph."""
        shared = self._take()
        try:
            yield shared.snapshot
        finally:
            self._give_back(shared)

    @contextmanager
    def workspace(self) -> Iterator[Workspace]:
        """A workspace that answers from the newest version; it is shared: only ask it."""
        shared = self._take()
        try:
            yield shared.workspace
        finally:
            self._give_back(shared)

    @contextmanager
    def current(self) -> Iterator[Workspace]:
        """The same, from the files as they are, or were a second ago; not for the event loop."""
        self._look()
        with self.workspace() as work:
            yield work

    def _look(self) -> None:
        with self._looking:
            if self.watched or time.monotonic() < self._next_look:
                return
            with Workspace.open(self.root) as work:
                work.bring_up_to_date()
                if work.places.aside in {None, cache_folder(self.root)}:  # else it is gone now
                    self._places = work.places
            self._next_look = time.monotonic() + LOOK_EVERY

    def sparql_folder(self) -> Path:
        """The folder of the graph that free SPARQL is asked of, which has what is published now.

        Of a remote store that is a copy, which one request at a time brings up to date.
        """
        if not self.settings.graph.is_remote:
            return self._current.workspace.places.store
        with self._copying, self.workspace() as work:
            return work.replica()

    def published(self) -> str:
        """A name for what is published now; it changes when something else is."""
        return self._current.workspace.published()

    def _take(self) -> _Shared:
        here = self._current.workspace
        outdated = here.is_outdated()  # a remote store may keep us waiting, but not each other
        with self._lock:
            if here is self._current.workspace and (here.places != self._places or outdated):
                before = self._current
                self._current = _Shared(self.root, self._places)
                self._opened(self._current.snapshot)
                if not before.readers:
                    before.workspace.close()
            self._current.readers += 1
            self._readers += 1
            return self._current

    def _give_back(self, shared: _Shared) -> None:
        with self._lock:
            shared.readers -= 1
            self._readers -= 1
            self._returned.notify_all()
            if not shared.readers and shared is not self._current:
                shared.workspace.close()

    def close(self, wait: float = 0.0) -> None:
        """Let go of the graph, and leave nothing of its past states behind.

        Requests that still read have `wait` seconds to be done.
        """
        with self._lock:
            self._returned.wait_for(lambda: not self._readers, wait)
            self._current.workspace.close()
            self._current.workspace.tidy()
