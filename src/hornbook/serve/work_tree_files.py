"""The files of a repository, and which of them each rule binds.

Both are kept: the list for a second, as the graph is looked at once a second, and what binds until
the list or the graph is another one. So are the recorded reviews, which are files too: they are
looked at once a second, and read again if they, or the logs that vouch for them, are others.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hornbook.graph.snapshot import Snapshot
from hornbook.review.review_history import RecordedReview
from hornbook.workspace import Workspace

if TYPE_CHECKING:
    from hornbook.doctor.finding import Health
    from hornbook.serve.kept_health import KeptHealth

LOOK_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class BoundFiles:
    """The files that each rule binds, by its id, and all that some rule binds."""

    by_rule: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: frozenset[str] = frozenset()


class WorkTreeFiles:
    """What git follows or would follow, as it is or was a second ago; for any number of threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._files: tuple[str, ...] = ()
        self._among: frozenset[str] = frozenset()
        self._until = 0.0
        self._reading = threading.Lock()
        self._reviews: tuple[RecordedReview, ...] = ()
        self._reviews_version: object = None
        self._reviews_until = 0.0
        self._by_rule: tuple[Snapshot | None, dict[str, tuple[str, ...]]] = (None, {})
        self._bound: tuple[Snapshot | None, tuple[str, ...], BoundFiles] = (None, (), BoundFiles())

    def reviews(
        self, read: Callable[[], tuple[RecordedReview, ...]], version: Callable[[], object]
    ) -> tuple[RecordedReview, ...]:
        """The recorded reviews; whoever asks looks, if the last look is a second ago.

        They are read if their `version` is another one than when they were read last.
        """
        with self._reading:
            if time.monotonic() >= self._reviews_until:
                found = version()
                if self._reviews_version is None or found != self._reviews_version:
                    self._reviews = read()
                    self._reviews_version = found  # of before the reading: what came since is new
                self._reviews_until = time.monotonic() + LOOK_EVERY
            return self._reviews

    def all(self) -> tuple[str, ...]:
        """Every file, sorted."""
        from hornbook.doctor.repository_files import RepositoryFiles  # noqa: PLC0415  # start-up

        with self._lock:
            if time.monotonic() >= self._until:
                found = RepositoryFiles(self._root).files
                if found != self._among:
                    self._among, self._files = found, tuple(sorted(found))
                self._until = time.monotonic() + LOOK_EVERY
            return self._files

    @cached_property
    def _health(self) -> "KeptHealth":
        from hornbook.serve.kept_health import KeptHealth  # noqa: PLC0415  # start-up of `query`

        return KeptHealth()

    def health(self, work: Workspace) -> "Health":
        """What in the rules does not hold, examined again if anything is another than before."""
        return self._health.of(work, self.all())

    def reviews_by_rule(self, snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
        """What was asked of a version about the reviews of rules; whoever asks more puts it in."""
        with self._lock:
            of, found = self._by_rule
            if of is not snapshot:
                found = {}
                self._by_rule = (snapshot, found)
            return found

    def bound(self, snapshot: Snapshot) -> BoundFiles:
        """Which files each rule of a version binds, also one whose text another rule has too."""
        files = self.all()
        with self._lock:
            of, among, found = self._bound
            if of is not snapshot or among is not files:
                found = bound_files(snapshot, files)
                self._bound = (snapshot, files, found)
            return found


def bound_files(snapshot: Snapshot, files: tuple[str, ...]) -> BoundFiles:
    """Which files each rule of a graph binds."""
    at_path = {entry.path: entry.id for entry in snapshot.all_rules}
    by_rule: dict[str, list[str]] = {}
    bound = set()
    for path in files:
        for binding in snapshot.rules.bind(path):
            bound.add(path)
            others = (at_path[each] for each in binding.also if each in at_path)
            for rule in dict.fromkeys((binding.rule.id, *others)):
                by_rule.setdefault(rule, []).append(path)
    return BoundFiles({rule: tuple(each) for rule, each in by_rule.items()}, frozenset(bound))
