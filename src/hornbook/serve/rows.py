"""Entities ready for sending, by version and shape: derived from the graph, never older than it."""

from collections.abc import Sequence
from threading import Lock

from hornbook.serve.shapes import Shape, render
from hornbook.workspace.snapshot import Snapshot

# What Python needs to keep an entity beside its bytes.
OVERHEAD = 150


class Rows:
    """The entities of one version, as far as they were asked for and fit."""

    def __init__(self, version: str, most_bytes: int) -> None:
        self.version = version
        self._most = most_bytes
        self._kept: dict[Shape, dict[str, bytes]] = {}
        self._sizes: dict[Shape, int] = {}
        self._lock = Lock()

    def known(self, shape: Shape, ids: Sequence[str]) -> list[bytes] | None:
        """The entities, if all of them are ready."""
        kept = self._kept.get(shape)
        if kept is None:
            return [] if not ids else None
        try:
            return [kept[each] for each in ids]
        except KeyError:
            return None

    def all(self, snapshot: Snapshot, shape: Shape, ids: Sequence[str]) -> list[bytes]:
        """The entities; those that are not ready are asked of the store, all at once."""
        kept = self._kept.get(shape, {})
        missing = [each for each in ids if each not in kept]
        made = {thing.id: render(shape, thing) for thing in snapshot.describe(missing)}
        self._keep(shape, made)
        return [made[each] if each in made else kept[each] for each in ids]

    def _keep(self, shape: Shape, made: dict[str, bytes]) -> None:
        size = sum(map(len, made.values())) + len(made) * OVERHEAD
        with self._lock:
            self._make_room(shape, size)
            if size <= self._most:
                # Nothing is ever taken out of it: readers without the lock lose no entity they saw.
                self._kept.setdefault(shape, {}).update(made)
                self._sizes[shape] = self._sizes.pop(shape, 0) + size

    def _make_room(self, shape: Shape, size: int) -> None:
        """Forget whole shapes, first what was added to longest ago, and this one last."""
        oldest = [each for each in self._sizes if each != shape]
        for each in (*oldest, shape):
            if sum(self._sizes.values()) + size <= self._most:
                return
            self._kept.pop(each, None)
            self._sizes.pop(each, None)


class RowCache:
    """The rows of the version that is served now."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._rows = Rows("", most_bytes)

    def of(self, version: str) -> Rows:
        """The rows of a version; those of another one are forgotten."""
        rows = self._rows
        if rows.version != version:
            rows = Rows(version, self._most)
            self._rows = rows
        return rows
