"""Finds what evidence points at: `path:line`, `path:first-last`, and text in backticks."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hornbook.model.review import Citation

LONGEST_PATH = 1024
MOST = 200
MOST_NUMBERS = 1000
MOST_WORDS = 12
"""How many words a path may have; more is prose that ends in one."""
LONGEST_EVIDENCE = 20_000
# Ticks as Markdown has them: a run of n opens, the next run of n closes.
_TICKS = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_DASH = "[-\N{EN DASH}\N{EM DASH}]"
_LINES = rf"[0-9]{{1,9}}(?:{_DASH}[0-9]{{1,9}})?"
# `path:line:column`, as compilers print it, is its line; `path:3,7-9` are several places.
_PLACE = re.compile(rf":({_LINES}(?:,{_LINES})*)(?![0-9])(?::[0-9]+)?")
_LANGUAGE = re.compile(r"\A[a-zA-Z+#-]{0,12}\n")
_EDGES = "\"'()[]{}<>,;*“”‘’«»"
# Files whose names have no end that tells what they are.
_BARE = r"\w*(?:[Mm]ake|[Dd]ocker|[Jj]enkins|[Jj]ust|Gem|Rake|Proc|Vagrant|Brew|Pip|Cake)file"
_BARE += "|README|LICENSE|CHANGELOG|AUTHORS|NOTICE|BUILD|WORKSPACE|CODEOWNERS"
_PATHLIKE = re.compile(
    rf"(?!.*://)(?=.*[A-Za-z])(?:.*/.*|.*\.[A-Za-z][A-Za-z0-9_]*|\.\w+|{_BARE})\Z"
)

Has = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Pointing:
    """What an evidence text names: places in files, and pieces of code."""

    places: tuple[Citation, ...]
    quotes: tuple[str, ...]
    too_many: bool = False


def find(evidence: str, has: Has) -> Pointing:
    """The places and quotes of an evidence text.

    Ticks around a place, or around a file's name, make no quote of it. A name that is no file
    of the tree counts as a place when it looks like a path, so that it can be refused. Evidence
    that is longer than anybody reads is not looked through.
    """
    if len(evidence) > LONGEST_EVIDENCE:
        return Pointing((), (), too_many=True)
    places: list[Citation] = []
    quotes: list[str] = []
    rest, end = "", 0
    for tick in _TICKS.finditer(evidence):
        rest += evidence[end : tick.start()]
        end = tick.end()
        inside = tick[2].strip()
        if _PLACE.match(evidence, end) or _is_place(inside, has) or has(_plain(inside)):
            rest += inside
        else:
            quotes.append(_LANGUAGE.sub("", tick[2]) if len(tick[1]) >= 3 else tick[2])
            rest += " "
    rest += evidence[end:]
    numbers = list(_PLACE.finditer(rest))
    for found in numbers[:MOST_NUMBERS]:
        before = max(0, found.start() - LONGEST_PATH)
        path = _path_before(rest[before : found.start()], has)
        if path is not None:
            places += (Citation(path, first, last) for first, last in _spans(found[1]))
    named = tuple(dict.fromkeys(places))
    too_many = len(named) > MOST or len(numbers) > MOST_NUMBERS
    return Pointing(named[:MOST], tuple(dict.fromkeys(quotes)), too_many)


def _spans(lines: str) -> Iterator[tuple[int, int]]:
    for each in lines.split(","):
        first, *last = map(int, re.split(_DASH, each))
        yield first, last[0] if last else first


def _is_place(text: str, has: Has) -> bool:
    found = _PLACE.search(text)
    return (
        found is not None
        and found.end() == len(text)
        and _path_before(text[: found.start()], has) == _plain(text[: found.start()])
    )


def _path_before(text: str, has: Has) -> str | None:
    """The path that ends a text: the longest that is a file, else the last word if path-like."""
    line = text[-LONGEST_PATH:].rpartition("\n")[2]
    starts = [0, *(match.end() for match in re.finditer(r"[\s\"'(\[<*,;]+", line))]
    for start in starts[-MOST_WORDS:]:
        path = _plain(line[start:])
        if path and has(path):
            return path
    word = _plain(line.split()[-1].strip(_EDGES)) if line.split() else ""
    return word if _PATHLIKE.match(word) else None


def _plain(path: str) -> str:
    return path.removeprefix("./")
