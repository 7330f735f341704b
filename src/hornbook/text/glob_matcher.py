"""Matching one pattern against a path, in time bounded by pattern times path.

Each alternative becomes a regex that never takes a step back:

- Within a segment `a*b*c`, each middle piece is taken where it is found first. That loses nothing:
  an earlier place leaves more room for the rest. The last piece is tied to the segment's end.
- Between `**`, a run of segments is taken where it is found first, for the same reason; the last
  run is tied to the path's end.

A large regex costs more to compile than it saves, and its steps still grow with pattern times path.
So beyond `MAX_REGEX_WEIGHT` and `MAX_REGEX_STEPS` the `GlobMachine` answers: it follows all
alternatives at once, as bits of one number, and takes a few operations on that number for each
character of the path, whatever the pattern is.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from hornbook.text.glob_syntax import Alternative, Atom, CharClass, Segment, Wild

_SLASH = (ord("/"), ord("/"))
_NO_SLASH = ((0, ord("/") - 1), (ord("/") + 1, 0x10FFFF))


@dataclass(slots=True)
class GlobMachine:
    """All alternatives of a pattern as bit sets over their places.

    A place is one character to be read next. `star` places also stay on any character but `/`
    and may be left unread; `skip` places (`**`) stay on every character, and let the place after
    them start where they are entered and after each `/`; `rest` places stay on every character.

    The places of an alternative are neighbouring bits in the order of the pattern, so that "read
    this character and wait for the next" is a shift by one. The last place of an alternative reads
    nothing: nobody is shifted out of it into the first place of the next alternative.
    """

    size: int = 0
    start: int = 0
    accept: int = 0
    star: int = 0
    skip: int = 0
    rest: int = 0
    # a place reads a code when the toggles of all codes up to it set its bit an odd number of times
    toggles: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))

    def accepts(self, path: str) -> bool:
        """Return whether one of the alternatives fits the whole path."""
        star, skip = self.star, self.skip
        stay = star | skip | self.rest
        readers = self._readers(path)
        active = self._entered(self.start)
        for character in path:
            # Who reads the character moves on; who comes to a `**` lets the place behind it start.
            moved = (active & readers[character]) << 1
            moved |= (moved & skip) << 1
            # Wildcards stay where they are, but a `*` does not go over a `/`. It may also stand for
            # nothing, so that whoever waits at it waits behind it too.
            active = moved | (active & (stay if character != "/" else stay ^ star))
            active |= (active & star) << 1
            if not active:
                return False
        return bool(active & self.accept)

    def _entered(self, places: int) -> int:
        """Return the places together with those that they let start at once."""
        places |= (places & self.skip) << 1
        return places | (places & self.star) << 1

    def _readers(self, path: str) -> dict[str, int]:
        """Return for each character of the path the places that read it."""
        # The characters of a path are few and the ranges of a pattern may be many: both are gone
        # through in order of their codes, once, and each edge of a range switches its place.
        readers: dict[str, int] = {}
        codes = iter(sorted(self.toggles))
        code = next(codes, None)
        places = 0
        for character in sorted(set(path)):
            while code is not None and code <= ord(character):
                places ^= self.toggles[code]
                code = next(codes, None)
            readers[character] = places
        return readers

    def _add(self, ranges: Iterable[tuple[int, int]] = ()) -> int:
        """Add a place that reads `ranges`; return its bit."""
        bit = 1 << self.size
        self.size += 1
        for low, high in ranges:
            self.toggles[low] ^= bit
            self.toggles[high + 1] ^= bit
        return bit

    def add_alternative(self, segments: Alternative) -> None:
        """Add the places of one alternative."""
        self.start |= 1 << self.size
        last = len(segments) - 1
        for index, segment in enumerate(segments):
            if segment is Wild.GLOBSTAR and index == last:
                self._add_rest(after_segment=index > 0)
                return
            if segment is Wild.GLOBSTAR:
                self.skip |= self._add([_SLASH])
                continue
            self._add_segment(segment)
            # Before a closing `**` the `/` is no must: `src/**` fits `src` itself (`_add_rest`).
            if index < last and not (index + 1 == last and segments[last] is Wild.GLOBSTAR):
                self._add([_SLASH])
        self.accept |= self._add()

    def _add_rest(self, *, after_segment: bool) -> None:
        """Add a closing `**`: the end of the path, or a `/` and whatever follows it."""
        if after_segment:
            self.accept |= self._add([_SLASH])
        place = self._add()
        self.rest |= place
        self.accept |= place

    def _add_segment(self, segment: Segment) -> None:
        """Add the places of one segment other than `**`."""
        for atom in segment if isinstance(segment, tuple) else (segment,):
            if atom is Wild.STAR:
                self.star |= self._add()
            else:
                for ranges in _ranges(atom):
                    self._add(ranges)


def _ranges(atom: str | Wild | CharClass) -> Iterator[Iterable[tuple[int, int]]]:
    """Yield for each character that the atom reads the codes it may have."""
    if isinstance(atom, str):
        for character in atom:
            yield [(ord(character), ord(character))]
    elif isinstance(atom, CharClass):
        yield atom.ranges
    else:
        yield _NO_SLASH


def build(alternatives: Iterable[Alternative]) -> GlobMachine:
    """Return the machine of a pattern."""
    machine = GlobMachine()
    for segments in alternatives:
        machine.add_alternative(segments)
    return machine


MAX_REGEX_WEIGHT = 300
MAX_REGEX_STEPS = 50_000

_SEGMENT_END = "(?![^/])"
_SKIP_SEGMENTS = r"(?:[^/]*+/)*?"


class Matcher:
    """The alternatives of one pattern, compiled when a path first asks for it."""

    def __init__(self, alternatives: tuple[Alternative, ...]) -> None:
        self.alternatives = alternatives

    def matches(self, path: str) -> bool:
        """Return whether an alternative fits the whole of a canonical path."""
        if self.regex is not None and self.weight * len(path) <= MAX_REGEX_STEPS:
            return self._regex.match(path) is not None
        return self._machine.accepts(path)

    @cached_property
    def weight(self) -> int:
        """About how many steps the regex may take at one place of a path."""
        return sum(_weight(segment) for segments in self.alternatives for segment in segments)

    @cached_property
    def regex(self) -> str | None:
        """A regex that matches at the start of the paths that fit; None if it would be too large.

        It is good for paths up to `MAX_REGEX_STEPS` by `weight`; for longer ones ask `matches`.
        """
        return self._pattern if self.weight <= MAX_REGEX_WEIGHT else None

    @cached_property
    def _pattern(self) -> str:
        return "|".join(map(_regex, self.alternatives))

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(self._pattern)

    @cached_property
    def _machine(self) -> GlobMachine:
        return build(self.alternatives)


def canonical(path: str) -> str | None:
    """Return the path without `.` and empty segments; none if it is absolute, empty or has `..`."""
    if path and path[0] not in "./" and path[-1] != "/" and "/." not in path and "//" not in path:
        return path
    if path.startswith("/"):
        return None
    segments = [segment for segment in path.split("/") if segment not in {"", "."}]
    return None if not segments or ".." in segments else "/".join(segments)


def _weight(segment: Segment) -> int:
    """Return about how many steps the segment may take at one place of a path."""
    if isinstance(segment, tuple):
        return 1 + sum(_atom_weight(atom) for atom in segment)
    return 1 + len(segment) if isinstance(segment, str) else 2


def _atom_weight(atom: Atom) -> int:
    if isinstance(atom, CharClass):
        return len(atom.ranges)
    return len(atom) if isinstance(atom, str) else 1


def _regex(segments: Alternative) -> str:
    """Return a regex that matches at the start of exactly the paths that fit."""
    first, *later = _runs(segments)
    if not later:
        return _run(first) + r"\Z"
    head = _run(first) + ("/" if first and any(later) else "")
    *middle, last = later
    skipped = [f"(?>{_SKIP_SEGMENTS}{_run(run)}/)" for run in middle]
    if last:
        return f"{head}{''.join(skipped)}(?>{_SKIP_SEGMENTS}{_run(last)}\\Z)"
    if middle:  # the closing `**` may stand for nothing
        skipped[-1] = f"(?>{_SKIP_SEGMENTS}{_run(middle[-1])}{_SEGMENT_END})"
    return head + "".join(skipped) + (_SEGMENT_END if first and not middle else "")


def _runs(segments: Alternative) -> list[list[Segment]]:
    """Return the runs of segments before, between and after each `**`."""
    runs: list[list[Segment]] = [[]]
    for segment in segments:
        if segment is Wild.GLOBSTAR:
            runs.append([])
        else:
            runs[-1].append(segment)
    return runs


def _run(segments: Iterable[Segment]) -> str:
    return "/".join(map(_segment, segments))


def _segment(segment: Segment) -> str:
    """Return a regex that reads one whole segment, or nothing of it."""
    if not isinstance(segment, tuple):
        return _atom(segment)
    first, *later = _pieces(segment)
    if not later:
        return first
    *middle, last = later
    found = [f"(?>[^/]*?{piece})" for piece in middle]
    return f"{first}{''.join(found)}(?>[^/]*{last}{_SEGMENT_END})"


def _pieces(segment: Iterable[Atom]) -> list[str]:
    """Return the regexes of what stands before, between and after each `*`."""
    pieces = [""]
    for atom in segment:
        if atom is Wild.STAR:
            pieces.append("")
        else:
            pieces[-1] += _atom(atom)
    return pieces


def _atom(atom: Atom) -> str:
    """Return a regex for one literal run, `?` or class."""
    if isinstance(atom, str):
        return re.escape(atom)
    if isinstance(atom, CharClass):
        ranges = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in atom.ranges)
        return f"[{ranges}]" if ranges else "(?!)"
    return "[^/]"
