"""Matching many or large alternatives at once: one bit per place in the pattern.

The regex of `glob_matcher` needs at most pattern times path steps, which is the fastest way for
what people write and too slow for what attackers write. Here a step per character of the path
moves all places together, as integer arithmetic (the Shift-And algorithm of Baeza-Yates and
Gonnet), so that the largest pattern the dialect allows stays within milliseconds.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hornbook.text.glob_syntax import Alternative, CharClass, Segment, Wild

_SLASH = (ord("/"), ord("/"))
_NO_SLASH = ((0, ord("/") - 1), (ord("/") + 1, 0x10FFFF))


@dataclass(slots=True)
class Machine:
    """All alternatives of a pattern as bit sets over their places.

    A place is one character to be read next. `star` places also stay on any character but `/`
    and may be left unread; `skip` places (`**`) stay on every character, and let the place after
    them start where they are entered and after each `/`; `rest` places stay on every character.
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
            moved = (active & readers[character]) << 1
            moved |= (moved & skip) << 1
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


def build(alternatives: Iterable[Alternative]) -> Machine:
    """Return the machine of a pattern."""
    machine = Machine()
    for segments in alternatives:
        machine.add_alternative(segments)
    return machine
