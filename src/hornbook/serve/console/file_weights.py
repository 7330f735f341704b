"""How the rules weigh on the files of the work tree: which bind each, and how many tokens that is.

It is what a folder's page and the map add up. Of a repository where more is bound than can be added
up for a page, the rest is told by number, never left out in silence.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hornbook.graph.snapshot import Snapshot
from hornbook.serve.work_tree_files import WorkTreeFiles

MOST_BOUND = 2_000_000
"""Rules that are looked at, counted once for each file that they bind."""


@dataclass(frozen=True, slots=True)
class FileWeight:
    """The rules of one file; of a rule's own file nobody asks whether it is covered."""

    path: str
    rules: tuple[str, ...]
    tokens: int
    is_rule: bool


@dataclass(frozen=True, slots=True)
class FolderWeight:
    """What binds the files below a folder; the files of rules do not count as uncovered."""

    path: str
    files: int
    own: int
    """How many of the files are rules themselves."""
    covered: int
    rules: int
    heaviest: int
    over: int

    @property
    def share(self) -> int | None:
        """The percentage of files that some rule binds; None where there is none to bind."""
        counted = self.files - self.own
        return self.covered * 100 // counted if counted else None


@dataclass(frozen=True)
class Weights:
    """The files by path; `unweighed` are those for which there was no time."""

    files: tuple[FileWeight, ...]
    unweighed: tuple[str, ...]
    reserve: int

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tuple(each.path for each in self.files)

    def below(self, folder: str) -> Sequence[FileWeight]:
        """The files below a folder, those of its folders included; of all with ""."""
        return self.files[_below(self._paths, folder)]

    def unweighed_below(self, folder: str) -> Sequence[str]:
        """The files below a folder for which there was no time."""
        return self.unweighed[_below(self.unweighed, folder)]

    def is_folder(self, path: str) -> bool:
        """Whether some file lies below a path."""
        return bool(self.below(path) or self.unweighed_below(path))

    def children(self, folder: str) -> tuple[list[FolderWeight], list[FileWeight]]:
        """The folders and the files directly in a folder."""
        start = len(folder) + 1 if folder else 0
        files: list[FileWeight] = []
        inner: dict[str, list[FileWeight]] = {}
        for each in self.below(folder):
            name, slash, _ = each.path[start:].partition("/")
            if slash:
                inner.setdefault(each.path[:start] + name, []).append(each)
            else:
                files.append(each)
        return [self.together(path, held) for path, held in inner.items()], files

    def together(self, path: str, held: Iterable[FileWeight]) -> FolderWeight:
        """What some files weigh together."""
        files = list(held)
        sets = {each.rules for each in files}
        return FolderWeight(
            path=path,
            files=len(files),
            own=sum(each.is_rule for each in files),
            covered=sum(bool(each.rules) and not each.is_rule for each in files),
            rules=len(set[str]().union(*sets)),
            heaviest=max((each.tokens for each in files), default=0),
            over=sum(each.tokens > self.reserve for each in files),
        )


def _below(paths: Sequence[str], folder: str) -> slice:
    if not folder:
        return slice(None)
    # `0` is what follows `/`.
    return slice(bisect_left(paths, f"{folder}/"), bisect_left(paths, f"{folder}0"))


class WeighedFiles:
    """Weighs the files of a work tree; the answer is kept until files or rules are others."""

    def __init__(self, files: WorkTreeFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._kept: tuple[Snapshot, tuple[str, ...], Weights] | None = None

    def weights(self, snapshot: Snapshot, reserve: int) -> Weights:
        """How the rules of a version weigh on them."""
        files = self._files.all()
        with self._lock:
            kept = self._kept
            if kept is not None and kept[0] is snapshot and kept[1] is files:
                return replace(kept[2], reserve=reserve)
            found = weigh(snapshot, files, reserve)
            self._kept = (snapshot, files, found)
            return found


def weigh(
    snapshot: Snapshot, files: Sequence[str], reserve: int, most: int = MOST_BOUND
) -> Weights:
    """How the rules weigh on some files, which are sorted, as long as not too many bind."""
    sources = {rule.path for rule in snapshot.all_rules}
    alike: dict[tuple[str, ...], tuple[str, ...]] = {}
    found: list[FileWeight] = []
    left = most
    for path in files:
        if left <= 0:
            break
        bound = snapshot.rules.bind(path)
        left -= 1 + len(bound)
        ids = tuple(each.rule.id for each in bound)
        tokens = sum(each.tokens for each in bound)
        found.append(FileWeight(path, alike.setdefault(ids, ids), tokens, path in sources))
    return Weights(tuple(found), tuple(files[len(found) :]), reserve)
