"""Finding, among many pattern sets, those that fit a path without trying each.

Every alternative of every pattern is filed under where it looks and what it looks for there:

- the place: `a/b/` right in that folder (`/` is the root), `a/b` anywhere below it (empty for
  everywhere), `//docs` anywhere below a folder of that name;
- the tail: `/Makefile` for a name, `.go` or `.test.ts` for an ending, empty for any file.

A path has few places and tails, so that it meets few alternatives. Where place and tail say all
that the alternative says (`*.go`, `docs/**`, `src/**/*.py`), nothing is left to match.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Generic, TypeVar

from hornbook.text.glob_matcher import Matcher, canonical
from hornbook.text.glob_syntax import ANYTHING, Alternative, Segment, Wild
from hornbook.text.globs import Glob, GlobSet

K = TypeVar("K")


@dataclass(slots=True)
class _Drawer:
    """The patterns filed under one place and tail, by number.

    A possible one comes with a text that all paths it fits contain: a look for that costs a tenth
    of a match.
    """

    certain: set[int] = field(default_factory=set)
    possible: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Pattern:
    """A pattern without its `!`, and where it is used: entry, position in it, and the glob."""

    matcher: Matcher
    uses: list[tuple[int, int, Glob]] = field(default_factory=list)


class GlobIndex(Generic[K]):
    """Pattern sets by key, in their given order; fixed once built."""

    def __init__(self, entries: Iterable[tuple[K, GlobSet]]) -> None:
        self._keys: list[K] = []
        self._exclusions: dict[int, set[int]] = {}
        self._patterns: list[_Pattern] = []
        self._drawers: dict[str, dict[str, _Drawer]] = {}
        numbers: dict[str, int] = {}
        for key, globs in entries:
            self._keys.append(key)
            for position, glob in enumerate(globs.globs):
                self._use(glob, position, numbers)
        tails = {tail for drawers in self._drawers.values() for tail in drawers}
        self._endings = frozenset(tail for tail in tails if tail.startswith("."))

    def match(self, path: str) -> list[tuple[K, Glob]]:
        """Return every entry that fits the path, with the first of its patterns that does."""
        canonical_path = canonical(path)
        if canonical_path is None:
            return []
        fitting = self._fitting(canonical_path)
        found: dict[int, tuple[int, Glob]] = {}
        for number in fitting:
            for entry, position, glob in self._patterns[number].uses:
                if entry not in found or position < found[entry][0]:
                    found[entry] = (position, glob)
        exclusions = self._exclusions
        return [
            (self._keys[entry], found[entry][1])
            for entry in sorted(found)
            if entry not in exclusions or fitting.isdisjoint(exclusions[entry])
        ]

    def _fitting(self, path: str) -> set[int]:
        """Return the numbers of all patterns that fit the path."""
        folders, _, name = path.rpartition("/")
        tails = ["", "/" + name, *self._endings_of(name)]
        certain: set[int] = set()
        possible: set[int] = set()
        for drawers in filter(None, map(self._drawers.get, _places(folders))):
            for drawer in filter(None, map(drawers.get, tails)):
                certain |= drawer.certain
                possible.update([number for needed, number in drawer.possible if needed in path])
        for number in possible - certain:
            if self._patterns[number].matcher.matches(path):
                certain.add(number)
        return certain

    def _endings_of(self, name: str) -> Iterator[str]:
        """Yield the endings of the name, from a dot on, that some pattern asks for."""
        dot = name.find(".")
        while dot >= 0:
            if name[dot:] in self._endings:
                yield name[dot:]
            dot = name.find(".", dot + 1)

    def _use(self, glob: Glob, position: int, numbers: dict[str, int]) -> None:
        """Note that the last entry has the glob; file its pattern when it is new."""
        text = glob.pattern.removeprefix("!") if glob.negated else glob.pattern
        number = numbers.setdefault(text, len(self._patterns))
        if number == len(self._patterns):
            self._patterns.append(_Pattern(glob.matcher))
            for alternative in glob.matcher.alternatives:
                self._file(number, alternative)
        entry = len(self._keys) - 1
        if glob.negated:
            self._exclusions.setdefault(entry, set()).add(number)
        else:
            self._patterns[number].uses.append((entry, position, glob))

    def _file(self, number: int, alternative: Alternative) -> None:
        """File one alternative of a pattern under each place and tail it may fit."""
        for place, tail, certain in _labels(alternative):
            drawer = self._drawers.setdefault(place, {}).setdefault(tail, _Drawer())
            if certain:
                drawer.certain.add(number)
            else:
                drawer.possible.append((_needed(alternative), number))


def _labels(segments: Alternative) -> Iterator[tuple[str, str, bool]]:
    """Yield place, tail and whether the two say all, so that together they miss no path."""
    *folders, last = segments
    if last is not Wild.GLOBSTAR:
        place, place_is_all = _place(folders)
        tail, tail_is_all = _tail(last)
        yield place, tail, place_is_all and tail_is_all
        return
    place, place_is_all = _place(segments)
    yield place, "", place_is_all
    if folders:  # a closing `**` may stand for nothing
        yield from _labels(tuple(folders))


def _place(folders: Sequence[Segment]) -> tuple[str, bool]:
    """Return the narrowest place of files in `folders`, and whether it says all about them."""
    named = list(_leading_names(folders))
    others = list(folders[len(named) :])
    if not others:
        return "/".join([*named, ""]) or "/", True
    if named:
        return "/".join(named), others == [Wild.GLOBSTAR]
    for folder in folders:
        if isinstance(folder, str):
            return "//" + folder, others == [Wild.GLOBSTAR, folder, Wild.GLOBSTAR]
    return "", others == [Wild.GLOBSTAR]


def _leading_names(folders: Iterable[Segment]) -> Iterator[str]:
    """Yield the literal names that `folders` starts with."""
    for folder in folders:
        if not isinstance(folder, str):
            return
        yield folder


def _tail(last: Segment) -> tuple[str, bool]:
    """Return the narrowest tail of a last segment, and whether it says all about it."""
    if isinstance(last, str):
        return "/" + last, True
    if last == ANYTHING or not isinstance(last, tuple):
        return "", last == ANYTHING
    ending = last[-1]
    if not isinstance(ending, str) or "." not in ending:
        return "", False
    if last == (Wild.STAR, ending) and ending.startswith("."):
        return ending, True
    return ending[ending.rindex(".") :], False


def _needed(segments: Alternative) -> str:
    """Return the longest literal text of the alternative; every path it fits contains that."""
    atoms = chain.from_iterable(
        segment if isinstance(segment, tuple) else (segment,) for segment in segments
    )
    return max((atom for atom in atoms if isinstance(atom, str)), key=len, default="")


def _places(folders: str) -> Iterator[str]:
    """Yield every place that a file in `folders` is in."""
    yield ""
    yield folders + "/"
    if not folders:
        return
    slash = folders.find("/")
    while slash >= 0:
        yield folders[:slash]
        slash = folders.find("/", slash + 1)
    yield folders
    for name in set(folders.split("/")):
        yield "//" + name
