r"""Reading a glob's text: braces are expanded, then each alternative is cut into segments.

Beyond what DESIGN 4.2 says, these spots are decided here:

- `\` takes the meaning from the next character, also inside brackets; at the end it is an error.
- A bracket is opaque to braces and commas: `[{,}]` is a class of three characters.
- `]` is a member when it stands first, `-` when it stands first or last, as in POSIX.
- A `/` or a named class (`[:alpha:]`) in brackets, a range that runs backwards, a `}` without `{`
  and a `!` that starts an alternative are errors: each is a slip that would silently match nothing.
- `{a}` is `a`, `{,x}` is nothing or `x`, `{1..3}` is the text `1..3`.
- `***` is `*`; empty and `.` segments are dropped, so `a//b` and `a/./b` are `a/b`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from hornbook.errors import BadGlob

MAX_LENGTH = 4096
MAX_ALTERNATIVES = 1000
MAX_EXPANDED = 8192
MAX_DEPTH = 32

_BRACKET = r"\[[!^]?+\]?+(?:\\.|[^\]\\])*\]"
_UNIT = re.compile(rf"{_BRACKET}|\\.|[{{}},]|[^\\\[{{}},]+|.", re.DOTALL)
_ATOM = re.compile(rf"{_BRACKET}|\\.|\*+|\?|[^\\\[*?]+", re.DOTALL)
_MEMBER = re.compile(r"(\\.|[^\\])(?:-(\\.|[^\\]))?", re.DOTALL)
_NAMED_CLASS = re.compile(r"\[:\w+:\]\Z")
_EXPANDS = re.compile(r"[\\\[{}]")
_WILD = re.compile(r"[\\\[*?]")
_LAST_CODE = 0x10FFFF
_SLASH = (ord("/"), ord("/"))


class Wild(Enum):
    """What stands for more than one text: one character, part of a segment, whole segments."""

    ANY = "?"
    STAR = "*"
    GLOBSTAR = "**"


@dataclass(frozen=True, slots=True)
class CharClass:
    """The characters a bracket allows, as sorted disjoint code ranges without `/`."""

    ranges: tuple[tuple[int, int], ...]


Atom = str | Wild | CharClass
"""A literal run, `ANY` or `STAR`, or a class."""
Segment = str | Wild | tuple[Atom, ...]
"""A literal name, `GLOBSTAR`, or a mix of atoms."""
Alternative = tuple[Segment, ...]
"""One brace-free pattern read from the root down; never empty, never two `GLOBSTAR` in a row."""

ANYTHING: Segment = (Wild.STAR,)


@dataclass(slots=True)
class _Group:
    """The texts one open brace stands for, while they are being read."""

    start: int
    finished: list[str] = field(default_factory=list)
    growing: list[str] = field(default_factory=lambda: [""])

    def next_alternative(self) -> None:
        self.finished += self.growing
        self.growing = [""]

    def texts(self) -> list[str]:
        return list(dict.fromkeys(self.finished + self.growing))

    def product_size(self, texts: Sequence[str]) -> int:
        before, after = sum(map(len, self.growing)), sum(map(len, texts))
        return before * len(texts) + after * len(self.growing)


def read(pattern: str) -> tuple[bool, tuple[Alternative, ...]]:
    """Return whether the pattern excludes, and its alternatives in order.

    Raises:
        BadGlob: The pattern is not in the dialect, or is larger than its limits.
    """
    if len(pattern) > MAX_LENGTH:
        found = f"{len(pattern)} characters"
        remedy = f"write at most {MAX_LENGTH}, in several patterns"
        raise BadGlob(pattern[:60] + "…", MAX_LENGTH, found, remedy)
    negated = pattern.startswith("!")
    body = pattern[1:] if negated else pattern
    texts = _expand(pattern, int(negated)) if _EXPANDS.search(body) else [body]
    if any(text.startswith("!") for text in texts):
        position = pattern.index("!", int(negated))
        remedy = r"make the exclusion a pattern of its own; write \! for a name that starts so"
        raise BadGlob(pattern, position, "`!` inside the pattern", remedy)
    alternatives = tuple(filter(None, map(_alternative, texts)))
    if not alternatives or not body.strip():
        raise BadGlob(pattern, 0, "it names no file", "write `**` for every file")
    return negated, alternatives


def split_list(text: str) -> list[str]:
    """Return the patterns of a comma list; no comma in braces, brackets or after `\\` splits."""
    patterns, current, depth = [], "", 0
    position = 0
    while unit := _UNIT.match(text, position):
        position = unit.end()
        if unit[0] == "[":  # unclosed: the rest is one pattern, which `read` will refuse
            current, position = current + text[unit.start() :], len(text)
        elif unit[0] == "," and depth == 0:
            patterns.append(current)
            current = ""
        else:
            depth = max(0, depth + (unit[0] == "{") - (unit[0] == "}"))
            current += unit[0]
    stripped = (_strip(pattern) for pattern in [*patterns, current])
    return [pattern for pattern in stripped if pattern]


def _strip(pattern: str) -> str:
    """Return the pattern without blanks around it, but with a blank that a `\\` protects."""
    stripped = pattern.strip()
    escapes = len(stripped) - len(stripped.rstrip("\\"))
    end = pattern.index(stripped) + len(stripped)
    return stripped + pattern[end : end + 1] if escapes % 2 else stripped


def _expand(pattern: str, start: int) -> list[str]:
    """Return the brace-free texts that the pattern stands for, without repeats."""
    groups = [_Group(start)]
    for position, unit in _units(pattern, start):
        group = groups[-1]
        if unit == "{":
            groups.append(_Group(position))
            if len(groups) > MAX_DEPTH:
                found = f"braces nested over {MAX_DEPTH} deep"
                raise BadGlob(pattern, position, found, "write fewer levels")
        elif unit == "," and len(groups) > 1:
            group.next_alternative()
        elif unit == "}":
            if len(groups) == 1:
                raise BadGlob(pattern, position, "`}` without `{`", r"add the `{` or write \}")
            groups.pop()
            _append(pattern, groups[-1], group.texts(), group.start)
        else:
            _append(pattern, group, [unit], position)
    if len(groups) > 1:
        raise BadGlob(pattern, groups[-1].start, "unclosed `{`", r"add the `}` or write \{")
    return groups[0].texts()


def _append(pattern: str, group: _Group, texts: list[str], position: int) -> None:
    """Let every growing text of the group go on with every one of `texts`, within the limits."""
    if texts == [""]:
        return
    count = len(group.growing) * len(texts)
    if count > MAX_ALTERNATIVES or group.product_size(texts) > MAX_EXPANDED:
        found = f"braces expand to over {MAX_ALTERNATIVES} texts or {MAX_EXPANDED} characters"
        raise BadGlob(pattern, position, found, "split it into several patterns")
    group.growing = [before + text for before in group.growing for text in texts]


def _units(pattern: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield each brace, comma, escape, checked bracket and plain run with its position."""
    for unit in _UNIT.finditer(pattern, start):
        text = unit[0]
        if text == "[":
            raise BadGlob(pattern, unit.start(), "unclosed `[`", r"add the `]` or write \[")
        if text == "\\":
            remedy = r"name the character it escapes or write \\"
            raise BadGlob(pattern, unit.start(), r"`\` at the end", remedy)
        if text[0] == "[":
            _check_bracket(pattern, unit.start(), text)
        yield unit.start(), "/" if text == "\\/" else text


def _check_bracket(pattern: str, position: int, text: str) -> None:
    """Refuse a bracket that can only be a slip."""
    if "/" in text:
        remedy = "a bracket is one character of one segment: use braces, as in `{a/b,c}`"
        raise BadGlob(pattern, position + text.index("/"), "`/` inside a bracket", remedy)
    if _NAMED_CLASS.search(text):
        remedy = "write the ranges out, as in `[a-zA-Z]`"
        raise BadGlob(pattern, position, "a named class inside a bracket", remedy)
    for low, high in _members(text):
        if low > high:
            found = f"the range {chr(low)}-{chr(high)} runs backwards"
            raise BadGlob(pattern, position, found, f"write {chr(high)}-{chr(low)}")


def _alternative(text: str) -> Alternative | None:
    """Return the segments of one brace-free text, none when it names nothing below the root."""
    written = text.split("/")
    names = [name for name in written if name not in {"", "."}]
    if not names:
        return None
    segments = [_segment(name) for name in names]
    if len(names) == 1 and written[0] != "":
        segments.insert(0, Wild.GLOBSTAR)
    if written[-1] in {"", "."}:
        segments += [Wild.GLOBSTAR, ANYTHING]
    repeated = {(Wild.GLOBSTAR, Wild.GLOBSTAR)}
    following = (pair[1] for pair in pairwise(segments) if pair not in repeated)
    return (segments[0], *following)


def _segment(text: str) -> Segment:
    """Return one segment in its simplest form."""
    if not _WILD.search(text):
        return text
    if text == "**":
        return Wild.GLOBSTAR
    atoms: list[Atom] = []
    for found in _ATOM.findall(text):
        atom = _atom(found)
        if isinstance(atom, str) and atoms and isinstance(atoms[-1], str):
            atoms[-1] += atom
        else:
            atoms.append(atom)
    if len(atoms) == 1 and isinstance(atoms[0], str):
        return atoms[0]
    return tuple(atoms)


def _atom(text: str) -> Atom:
    """Return what one piece of a segment stands for."""
    match text[0]:
        case "*":
            return Wild.STAR
        case "?":
            return Wild.ANY
        case "\\":
            return text[1]
        case "[":
            return _char_class(text)
        case _:
            return text


def _char_class(text: str) -> Atom:
    """Return the characters of a bracket; one that allows a single character is that character."""
    outside = _members(text)
    if text[1] not in "!^":
        outside = _complement(outside)
    ranges = _complement([*outside, _SLASH])
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return chr(ranges[0][0])
    return CharClass(tuple(ranges))


def _members(text: str) -> list[tuple[int, int]]:
    """Return the code ranges written in a bracket, as written."""
    members = text[2:-1] if text[1] in "!^" else text[1:-1]
    return [
        (ord(low[-1]), ord(high[-1] if high else low[-1])) for low, high in _MEMBER.findall(members)
    ]


def _complement(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the sorted disjoint ranges of all codes outside `ranges`."""
    gaps, free = [], 0
    for low, high in sorted(ranges):
        if low > free:
            gaps.append((free, low - 1))
        free = max(free, high + 1)
    if free <= _LAST_CODE:
        gaps.append((free, _LAST_CODE))
    return gaps
