"""Python: modules under the folders that packages start in.

A dotted reference ends in a module, a package or a name in one of them, so the longest part of it
that is a file is meant. Packages start where a folder with `__init__.py` lies in one without, in
the root and in `src`; a file's own start is asked first, others only if they all agree.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from hornbook.rules.code.followers.paths import ancestors, folder_of, joined

_ENDINGS = (".py", "/__init__.py", ".pyi", "/__init__.pyi")


class Packages:
    """Which folders are packages, and where the top-level names of the repository are found."""

    def __init__(self, known: frozenset[str]) -> None:
        self.known = known
        modules = [path for path in known if path.endswith((".py", ".pyi"))]
        self._packages = {
            folder_of(path) for path in modules if path.endswith(("/__init__.py", "/__init__.pyi"))
        }
        starts = {"", "src", *map(self.start_of, self._packages)}
        self._starts_by_name: dict[str, set[str]] = {}
        for path in modules:
            for start in starts.intersection(ancestors(path)):
                name = path.removeprefix(f"{start}/" if start else "").partition("/")[0]
                names = self._starts_by_name.setdefault(name.partition(".")[0], set())
                names.add(start)

    def start_of(self, folder: str) -> str:
        """The folder from which what is in `folder` is imported."""
        while folder in self._packages:
            folder = folder_of(folder)
        return folder

    def starts_with(self, name: str) -> Iterable[str]:
        """The folders that have a package or module of this top-level name."""
        return self._starts_by_name.get(name, ())


def follower(known: frozenset[str]) -> Callable[[str, str], Iterable[str]]:
    """What follows Python references among the known paths."""
    return partial(_follow, Packages(known))


def _follow(packages: Packages, path: str, reference: str) -> Iterator[str]:
    names = reference.lstrip(".")
    level = len(reference) - len(names)
    parts = [part for part in names.split(".") if part != "*"]
    if level:
        yield from _relative(packages.known, folder_of(path), level, parts)
    elif parts:
        yield from _absolute(packages, path, parts)


def _relative(known: frozenset[str], folder: str, level: int, parts: list[str]) -> Iterator[str]:
    for _ in range(level - 1):
        if not folder:
            return
        folder = folder_of(folder)
    found = _longest(known, folder, parts)
    if found is None and joined(folder, "__init__.py") in known:
        found = joined(folder, "__init__.py")
    if found is not None:
        yield found


def _absolute(packages: Packages, path: str, parts: list[str]) -> Iterator[str]:
    own = _longest(packages.known, packages.start_of(folder_of(path)), parts)
    starts = packages.starts_with(parts[0])
    candidates = {own} if own else {_longest(packages.known, start, parts) for start in starts}
    candidates.discard(None)
    if len(candidates) == 1:
        yield from (found for found in candidates if found)


def _longest(known: frozenset[str], folder: str, parts: list[str]) -> str | None:
    for length in range(len(parts), 0, -1):
        stem = joined(folder, *parts[:length])
        for ending in _ENDINGS:
            if stem + ending in known:
                return stem + ending
    return None
