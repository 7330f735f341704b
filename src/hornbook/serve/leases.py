"""Gives each request one version of the graph, the newest one, for as long as it needs it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hornbook.workspace.snapshot import Snapshot
from hornbook.workspace.workspace import Workspace


class _Shared:
    """A workspace opened on one version, and how many requests are reading it."""

    def __init__(self, root: str) -> None:
        self.workspace = Workspace.open(root)
        self.snapshot = self.workspace.snapshot()
        self.readers = 0


class Leases:
    """Opens a version when it is published and closes it when its last reader is done."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._current = _Shared(root)

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
        """The workspace, opened on the newest version of the graph: it must not be refreshed."""
        shared = self._take()
        try:
            yield shared.workspace
        finally:
            self._give_back(shared)

    def _take(self) -> _Shared:
        with self._lock:
            if self._current.workspace.is_outdated():
                before = self._current
                self._current = _Shared(self._root)
                if not before.readers:
                    before.workspace.close()
            self._current.readers += 1
            return self._current

    def _give_back(self, shared: _Shared) -> None:
        with self._lock:
            shared.readers -= 1
            if not shared.readers and shared is not self._current:
                shared.workspace.close()

    def close(self) -> None:
        """Let go of the graph."""
        with self._lock:
            self._current.workspace.close()
