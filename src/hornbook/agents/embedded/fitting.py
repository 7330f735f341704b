"""Fits a tree of values into a number of tokens: texts give way first, then lists, then words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hornbook.agents.embedded.compression import (
    ERROR_CHARACTERS,
    Count,
    fit_file,
    omitted,
    one_line,
    short_error,
    short_list,
)
from hornbook.agents.embedded.rendering import to_yaml

SQUEEZES: Final = ((12, 300), (8, 300), (5, 200), (3, 120), (1, 60), (1, 20))
"""How many items of a list and how many characters of a word are kept, in turn."""

ROUNDS: Final = 6
_CONTROL: Final = re.compile("\x1b\\[[0-9;]*[A-Za-z]|\r(?=\n|$)")
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of many lines that may be shown in part; `focus` is the index of a line to keep."""

    text: str
    focus: int | None = None

    @property
    def lines(self) -> list[str]:
        """Its lines, without what no terminal would show."""
        return _shown(self.text).removesuffix("\n").split("\n")


@dataclass(frozen=True, slots=True)
class Many:
    """A list of which the first items may stand for the rest."""

    items: Sequence[object]


@dataclass(frozen=True, slots=True)
class Error:
    """An error message, shown up to its first 500 characters."""

    text: str


def fit(tree: object, room: int, count: Count) -> object:
    """The tree as plain values whose YAML has at most `room` tokens, if that can be at all."""
    memo = lru_cache(maxsize=16_384)(count)
    least: object = None
    for keep, characters in SQUEEZES:
        texts = list(_texts(tree, keep))
        markers = [[omitted(len(text.lines))] for text in texts]
        least = _plain(tree, keep, characters, iter(markers))
        fixed = count(to_yaml(least))
        if fixed <= room:
            filled = _filled(tree, (keep, characters), texts, (room, room - fixed), memo)
            return least if filled is None else filled
    return least


def _filled(
    tree: object,
    squeeze: tuple[int, int],
    texts: Sequence[Text],
    room: tuple[int, int],
    count: Count,
) -> object | None:
    """The tree with as much of its texts as there is room for, of which some is spare.

    None if nothing of them fits.
    """
    whole, spare = room
    lines = [text.lines for text in texts]
    best: object | None = None
    for _ in range(ROUNDS):
        if spare <= 0:
            break
        level = _level([_natural(each, spare, count) for each in lines], spare)
        shown = [
            fit_file(each, level, count, focus=text.focus)
            for each, text in zip(lines, texts, strict=True)
        ]
        plain = _plain(tree, *squeeze, iter(shown))
        over = count(to_yaml(plain)) - whole
        if over > 0:
            spare -= over + 16
            continue
        best = plain
        if -over <= whole // 25 or sum(map(len, shown)) == sum(map(len, lines)):
            break
        # lines counted one by one come to more than together: there is room for others
        spare -= over
    return best


def _natural(lines: Sequence[str], most: int, count: Count) -> int:
    """The tokens of lines, as far as they matter."""
    spent = 0
    for line in lines:
        spent += count(f"        {line}\n")
        if spent > most:
            break
    return spent


def _level(sizes: Sequence[int], room: int) -> int:
    """The height up to which each size may rise so that all of them stay within the room."""
    left = room
    waiting = sorted(sizes)
    for index, size in enumerate(waiting):
        share = left // (len(waiting) - index)
        if size > share:
            return share
        left -= size
    return room


def _texts(tree: object, keep: int) -> Iterator[Text]:
    if isinstance(tree, Text):
        yield tree
    elif isinstance(tree, Many):
        yield from _texts(list(tree.items[:keep]), keep)
    elif isinstance(tree, Mapping):
        for item in tree.values():
            yield from _texts(item, keep)
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for item in tree:
            yield from _texts(item, keep)


def _plain(tree: object, keep: int, characters: int, shown: Iterator[Sequence[str]]) -> object:
    if isinstance(tree, Text):
        return "\n".join(next(shown))
    if isinstance(tree, Error):
        return short_error(_shown(tree.text), min(ERROR_CHARACTERS, characters * 5 // 3))
    if isinstance(tree, Many):
        return [_plain(item, keep, characters, shown) for item in short_list(tree.items, keep)]
    if isinstance(tree, Mapping):
        return {key: _plain(item, keep, characters, shown) for key, item in tree.items()}
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        return [_plain(item, keep, characters, shown) for item in tree]
    return one_line(_shown(tree), characters) if isinstance(tree, str) else tree


def _shown(text: str) -> str:
    """The text as a terminal would show it."""
    return _UNPRINTABLE.sub("\ufffd", _CONTROL.sub("", text))
