"""The last examination of the rules, kept for as long as everything is as it was then.

An examination reads every rule and much of the repository. It is made again when the graph, the
commit that is checked out, the day, or any file that git follows, that a rule is in or that was
recorded is another one. What it read beside those, such as a file that git ignores and a rule
names, is not watched: so nothing is kept for longer than a minute.
"""

import os
import threading
import time
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hornbook.commits import git
from hornbook.workspace import Workspace

if TYPE_CHECKING:
    from hornbook.doctor.finding import Health

KEPT_SECONDS = 60.0
_SETTLED = 1.0
"""A file that was written just before may be written again without its time showing it."""
_OWN = ("config.yaml", "doctor.yaml")


class KeptHealth:
    """Examines at most once for each state of the files; for any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: Hashable = None
        self._health: Health | None = None
        self._until = 0.0

    def of(self, work: Workspace, files: Iterable[str]) -> "Health":
        """The health of the rules as they are; `files` are those of the repository."""
        with self._lock:
            began = time.time()
            state, newest = _state(work, files)
            if self._health is None or state != self._state or time.monotonic() > self._until:
                self._health = work.doctor()
                settled = newest < began - _SETTLED
                self._state = state if settled else None
                self._until = time.monotonic() + KEPT_SECONDS
            return self._health


def _state(work: Workspace, files: Iterable[str]) -> tuple[Hashable, float]:
    """What an examination depends on, and when the last of those files was written."""
    root, places, snapshot = work.root, work.places, work.snapshot()
    rules = {entry.path for entry in snapshot.catalog.entries}
    paths = [os.path.join(root, path) for path in {*files, *rules}]  # noqa: PTH118  # 10,000 of them
    paths += [str(places.state / name) for name in _OWN]
    paths += map(str, _below(places.records / "reviews"))
    seen, newest = {}, 0.0
    for path in paths:
        try:
            found = os.lstat(path)
        except OSError:
            continue
        seen[path] = (found.st_mtime_ns, found.st_size, found.st_ino)
        newest = max(newest, found.st_mtime)
    head = None
    if git.inside_repository(root) and git.is_commit(root, "HEAD"):
        head = git.commit(root, "HEAD")
    today = datetime.now(UTC).date()
    return (snapshot.version, head, today, frozenset(seen.items())), newest


def _below(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
