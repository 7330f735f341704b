"""Where symbolic links lead inside a repository: in its work tree and in a commit's tree alike.

A link is followed as a file system does it, name by name, with chains of links and links in the
middle of a path. What a commit could not hold is treated as not there on disk either, so that both
trees give the same answers: git's own folder, what lies in another repository (a submodule), a
name in another case, an absolute target, which means another place on every machine, and our own
secrets, which a rule that somebody proposes must not bring into a graph or a prompt.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

from hornbook.settings.places import Places

MOST_LINKS = 40
"""How many links are followed for one path, as Linux does it."""


class PathKind(Enum):
    """What lies at a path of a tree."""

    FILE = 0
    FOLDER = 1
    LINK = 2
    REPOSITORY = 3
    """Another repository: its files are not this one's."""
    NOTHING = 4


class Tree(Protocol):
    """The files of a repository; paths are relative to its root, which is the empty path."""

    def kind(self, path: str) -> PathKind:
        """What lies at the path; none of its folders is a link."""

    def target(self, path: str) -> str:
        """What the link at the path says."""

    def names(self, folder: str) -> Sequence[str]:
        """The names in a folder, sorted."""

    def read(self, path: str) -> bytes:
        """What the regular file at the path holds."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a path leads to: the path without any link in it, and whether it is a folder."""

    path: str
    folder: bool


@dataclass(frozen=True, slots=True)
class LeadsNowhere:
    """Why a path leads to nothing that can be read."""

    why: str


OUT = "it leads out of the repository"
_HERE = ("", ".")
_NOT_OURS = {
    PathKind.NOTHING: "does not exist",
    PathKind.REPOSITORY: "is another repository, whose files are not this one's",
}


def links_on_the_way(tree: Tree, path: str) -> tuple[str, ...]:
    """Every link that is followed to what lies at a path, also where it leads nowhere."""
    passed: list[str] = []
    resolve(tree, path, passed)
    return tuple(passed)


def resolve(tree: Tree, path: str, passed: list[str] | None = None) -> Place | LeadsNowhere:
    """What lies at a path when every link on the way is followed; `passed` collects the links."""
    pending = [name for name in path.split("/")[::-1] if name not in _HERE]
    done: list[str] = []
    kind = PathKind.FOLDER
    links = passed if passed is not None else []
    while pending:
        name = pending.pop()
        if kind is PathKind.FILE:
            return LeadsNowhere(f"{'/'.join(done)} is a file, not a folder")
        if name == "..":
            if not done:
                return LeadsNowhere(OUT)
            done.pop()
            continue
        done.append(name)
        kind = tree.kind("/".join(done))
        if kind in _NOT_OURS:
            return LeadsNowhere(f"{'/'.join(done)} {_NOT_OURS[kind]}")
        if kind is PathKind.LINK:
            links.append("/".join(done))
            said = tree.target("/".join(done))
            if len(links) > MOST_LINKS or said.startswith("/"):
                return LeadsNowhere(OUT if said.startswith("/") else "it leads in a circle")
            done.pop()
            pending += [name for name in said.split("/")[::-1] if name not in _HERE]
    return Place("/".join(done), kind is not PathKind.FILE)


class LinkedFile(NamedTuple):
    """A file that is read at a link's place, or the link that leads to nothing.

    `link` is the outermost link on the way, `leads_to` what that one leads to, `target` the file
    itself; `broken` says why there is none.
    """

    path: str
    link: str
    leads_to: str = ""
    target: str = ""
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which paths are asked for: files by path and name, linked folders, folders below them."""

    file: Callable[[str, str], bool]
    folder: Callable[[str], bool]
    entered: Callable[[str, str], bool]


def follow(tree: Tree, path: str, real: str, wanted: Wanted) -> Iterator[LinkedFile]:
    """The wanted files that a link gives; `real` is where the link itself lies."""
    name = path.rpartition("/")[2]
    as_file, as_folder = wanted.file(path, name), wanted.folder(path)
    if not as_file and not as_folder:
        return
    found = resolve(tree, real)
    if isinstance(found, LeadsNowhere):
        yield LinkedFile(path, path, broken=found.why)
    elif not found.folder:
        if as_file:
            yield LinkedFile(path, path, found.path, found.path)
    elif not as_folder:
        yield LinkedFile(path, path, found.path, broken=f"{found.path} is a folder, not a file")
    elif _holds(found.path, real):
        yield LinkedFile(path, path, found.path, broken="it leads to a folder that holds it")
    else:
        for each in _below(tree, path, found.path, wanted, (real,)):
            yield LinkedFile(each.path, path, found.path, each.target, each.broken)


def _below(
    tree: Tree, place: str, real: str, wanted: Wanted, trail: tuple[str, ...]
) -> Iterator[LinkedFile]:
    """The wanted files of a folder that is read at another place."""
    for name in tree.names(real):
        path, here = f"{place}/{name}", f"{real}/{name}" if real else name
        kind = tree.kind(here)
        if kind is PathKind.LINK:
            # A link that was followed already on the way here would be met again without end.
            if here not in trail:
                yield from _linked(tree, path, here, wanted, trail)
        elif kind is PathKind.FOLDER:
            if wanted.entered(path, name):
                yield from _below(tree, path, here, wanted, trail)
        elif kind is PathKind.FILE and wanted.file(path, name):
            yield LinkedFile(path, path, target=here)


def _linked(
    tree: Tree, path: str, here: str, wanted: Wanted, trail: tuple[str, ...]
) -> Iterator[LinkedFile]:
    found = resolve(tree, here)
    if isinstance(found, Place) and found.folder:
        if not any(_holds(found.path, each) for each in (here, *trail)):
            yield from _below(tree, path, found.path, wanted, (*trail, here))
    else:
        yield from follow(tree, path, here, wanted)


def _holds(folder: str, path: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


class DiskTree:
    """The work tree below a folder, case by case as git would have it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        secrets = (os.path.relpath(each, root) for each in Places(root).secrets)
        self._secrets = frozenset(Path(each).as_posix() for each in secrets)
        self._names = lru_cache(maxsize=1024)(self._listed)

    def kind(self, path: str) -> PathKind:
        """What lies at the path."""
        folder, _, name = path.rpartition("/")
        if name == ".git" or path in self._secrets or name not in self._names(folder):
            return PathKind.NOTHING
        try:
            mode = os.lstat(f"{self._root}/{path}").st_mode
        except OSError:
            return PathKind.NOTHING
        if stat.S_ISLNK(mode):
            return PathKind.LINK
        if stat.S_ISDIR(mode):
            return PathKind.REPOSITORY if ".git" in self._names(path) else PathKind.FOLDER
        return PathKind.FILE if stat.S_ISREG(mode) else PathKind.NOTHING

    def target(self, path: str) -> str:
        """What the link says."""
        return str((self._root / path).readlink())

    def names(self, folder: str) -> Sequence[str]:
        """The names in a folder."""
        return sorted(self._names(folder))

    def read(self, path: str) -> bytes:
        """What the file holds; nothing if it cannot be read, which ingest tells."""
        try:
            return (self._root / path).read_bytes()
        except OSError:
            return b""

    def _listed(self, folder: str) -> frozenset[str]:
        try:
            with os.scandir(f"{self._root}/{folder}" if folder else self._root) as entries:
                return frozenset(entry.name for entry in entries)
        except OSError:
            return frozenset()
