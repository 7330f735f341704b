"""Fits a tree of values into a number of tokens: texts give way first, then lists, then words."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

import yaml

Count = Callable[[str], int]
Row = TypeVar("Row")

OMITTED: Final = "# ... {X} lines omitted ..."
RECENT: Final = 3
RECENT_UNDER_PRESSURE: Final = 2
ERROR_CHARACTERS: Final = 500
SUMMARY_CHARACTERS: Final = 160
LINE_CHARACTERS: Final = 400

COMPRESSION: Final[dict[str, str]] = {
    "File content": f"Show first/last N lines, middle replaced with `{OMITTED}`",
    "Recent actions": f"Keep only last {RECENT} (or {RECENT_UNDER_PRESSURE} if still over)",
    "Tool results": "Summarize to single line",
    "Error messages": f"Truncate to first {ERROR_CHARACTERS} chars",
    "Lists": 'Keep first N items + "and X more"',
}
"""The table of the source document, a row for each function below."""

_SPACE: Final = re.compile(r"\s+")


def omitted(lines: int) -> str:
    """The line that stands for lines that are not shown."""
    return OMITTED.replace("{X}", str(lines))


def fit_file(
    lines: Sequence[str], room: int, count: Count, *, focus: int | None = None
) -> list[str]:
    """The lines if they fit into `room` tokens, else the first and last of them around a marker.

    With a `focus`, a line's index, the lines around it are kept instead, with a marker before and
    after. A line of more than 400 characters is shown up to there.
    """
    shown = [_clipped(line) for line in lines]
    costs = _Costs(shown, count)
    if costs.whole_fits(room):
        return shown
    marker = count(f"{omitted(len(shown))}\n")
    if focus is not None:
        start, end = costs.around(min(max(focus, 0), len(shown) - 1), room - 2 * marker)
        return [*_gap(start), *shown[start:end], *_gap(len(shown) - end)]
    keep = costs.from_both_ends(room - marker)
    return [*shown[:keep], *_gap(len(shown) - 2 * keep), *shown[len(shown) - keep :]]


def fit_actions(rows: Sequence[Row], fits: Callable[[Sequence[Row]], bool]) -> list[Row]:
    """The last three rows, or the last two if three do not fit."""
    last = list(rows[-RECENT:])
    return last if fits(last) else last[-RECENT_UNDER_PRESSURE:]


def one_line(text: str, characters: int = SUMMARY_CHARACTERS) -> str:
    """A tool's result as a single line of at most `characters`."""
    line = _SPACE.sub(" ", text).strip()
    return line if len(line) <= characters else f"{line[: max(characters - 1, 0)]}…"


def short_error(text: str, characters: int = ERROR_CHARACTERS) -> str:
    """The first characters of an error message."""
    return text.strip()[:characters]


def short_list(items: Sequence[object], keep: int) -> list[object]:
    """The first items, and how many more there are."""
    if len(items) <= keep:
        return list(items)
    return [*items[:keep], f"and {len(items) - keep} more"]


def _clipped(line: str) -> str:
    over = len(line) - LINE_CHARACTERS
    return f"{line[:LINE_CHARACTERS]}… ({over} more characters)" if over > 0 else line


def _gap(lines: int) -> list[str]:
    return [omitted(lines)] if lines else []


class _Costs:
    """The tokens of lines, each counted when it is first asked for."""

    def __init__(self, lines: Sequence[str], count: Count) -> None:
        self._lines = lines
        self._count = count
        self._known: dict[int, int] = {}

    def _of(self, index: int) -> int:
        if index not in self._known:
            # the blanks stand for the indentation that a line has in the context
            self._known[index] = self._count(f"        {self._lines[index]}\n")
        return self._known[index]

    def whole_fits(self, room: int) -> bool:
        spent = 0
        for index in range(len(self._lines)):
            spent += self._of(index)
            if spent > room:
                return False
        return True

    def from_both_ends(self, room: int) -> int:
        keep, spent = 0, 0
        while 2 * (keep + 1) < len(self._lines):
            spent += self._of(keep) + self._of(len(self._lines) - 1 - keep)
            if spent > room:
                break
            keep += 1
        return keep

    def around(self, focus: int, room: int) -> tuple[int, int]:
        start, end, spent = focus, focus + 1, self._of(focus)
        while spent <= room and (start > 0 or end < len(self._lines)):
            if start > 0:
                start -= 1
                spent += self._of(start)
            if end < len(self._lines) and spent <= room:
                spent += self._of(end)
                end += 1
        return start, end


_RESOLVER: Final = yaml.resolver.Resolver()
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./(][\w ./()+@=<>*,;'-]*", re.ASCII)
_NOT_IN_YAML: Final = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_INDENT: Final = "  "


def to_yaml(value: object) -> str:
    """The value as block-style YAML that any YAML reader takes back to the same value.

    Raises:
        TypeError: It holds something other than mappings, sequences, texts, numbers and None.
    """
    return "".join(f"{line}\n" for line in _lines(value, ""))


def _lines(value: object, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _entry(f"{indent}{_yaml_text(str(key))}:", item, indent)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for item in value:
            yield from _item(item, indent)
    else:
        yield indent + _scalar(value)


def _entry(head: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, str) and _is_block(value):
        yield from _block(head, value, indent + _INDENT)
    elif isinstance(value, Mapping | Sequence) and not isinstance(value, str) and value:
        yield head
        yield from _lines(value, indent + _INDENT)
    else:
        yield f"{head} {_scalar(value)}"


def _item(value: object, indent: str) -> Iterator[str]:
    if isinstance(value, str) and _is_block(value):
        yield from _block(f"{indent}-", value, indent + _INDENT)
        return
    first, *rest = _lines(value, indent + _INDENT)
    yield f"{indent}- {first[len(indent) + len(_INDENT) :]}"
    yield from rest


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return _yaml_text(value)
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, Sequence):
        return "[]"
    raise TypeError(f"a {type(value).__name__} has no place in a context: {value!r}.")


def _yaml_text(text: str) -> str:
    plain = _PLAIN.fullmatch(text) is not None and not text.endswith(" ")
    if plain and _is_bare_text(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _is_bare_text(plain: str) -> bool:
    """Whether YAML reads the bare word as a text, not as a number, a date or a truth value."""
    tag = _RESOLVER.resolve(yaml.ScalarNode, plain, (True, False))  # type: ignore[no-untyped-call]  # as the stubs have it
    return bool(tag == "tag:yaml.org,2002:str")


def _is_block(text: str) -> bool:
    return "\n" in text.rstrip("\n") and _NOT_IN_YAML.search(text) is None


def _block(head: str, text: str, indent: str) -> Iterator[str]:
    """A literal block; the digit says how far it is indented where its first line would mislead."""
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    starts = "2" if body[:1] in " \n\t" else ""
    yield f"{head} |{starts}{'-' if ends == 0 else '' if ends == 1 else '+'}"
    yield from (f"{indent}{line}" if line else "" for line in body.split("\n"))
    yield from [""] * (ends - 1)


SQUEEZES: Final = ((12, 300), (8, 300), (5, 200), (3, 120), (1, 60), (1, 20))
"""How many items of a list and how many characters of a word are kept, in turn."""

ROUNDS: Final = 6
_CONTROL: Final = re.compile("\x1b\\[[0-9;]*[A-Za-z]|\r(?=\n|$)")
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


@dataclass(frozen=True, slots=True)
class FittedText:
    """A text of many lines that may be shown in part; `focus` is the index of a line to keep."""

    text: str
    focus: int | None = None

    @property
    def lines(self) -> list[str]:
        """Its lines, without what no terminal would show."""
        return _shown(self.text).removesuffix("\n").split("\n")


@dataclass(frozen=True, slots=True)
class FittedList:
    """A list of which the first items may stand for the rest."""

    items: Sequence[object]


@dataclass(frozen=True, slots=True)
class FittedError:
    """An error message, shown up to its first 500 characters."""

    text: str


def fit(tree: object, room: int, count: Count) -> object:
    """The tree as plain values whose YAML has at most `room` tokens, if that can be at all."""
    least: object = None
    for keep, characters in SQUEEZES:
        texts = list(_texts(tree, keep))
        markers = [[omitted(len(text.lines))] for text in texts]
        least = _plain(tree, keep, characters, iter(markers))
        fixed = count(to_yaml(least))
        if fixed <= room:
            filled = _filled(tree, (keep, characters), texts, (room, room - fixed), count)
            return least if filled is None else filled
    return least


def _filled(
    tree: object,
    squeeze: tuple[int, int],
    texts: Sequence[FittedText],
    room: tuple[int, int],
    count: Count,
) -> object | None:
    """The tree with as much of its texts as there is room for, of which some is spare.

    None if nothing of them fits.
    """
    whole, spare = room
    line_count = _remembering(count)
    lines = [text.lines for text in texts]
    best: object | None = None
    for _ in range(ROUNDS):
        if spare <= 0:
            break
        level = _level([_natural(each, spare, line_count) for each in lines], spare)
        shown = [
            fit_file(each, level, line_count, focus=text.focus)
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


@lru_cache(maxsize=2)
def _remembering(count: Count) -> Count:
    """The same count, for lines: nearly all of those of a step were in the step before."""
    return lru_cache(maxsize=16_384)(count)


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


def _texts(tree: object, keep: int) -> Iterator[FittedText]:
    if isinstance(tree, FittedText):
        yield tree
        return
    for item in _items(tree, keep):
        yield from _texts(item, keep)


def _items(tree: object, keep: int) -> Sequence[object]:
    """What a node of the tree holds, of a fitted list as much as is kept."""
    if isinstance(tree, FittedList):
        return short_list(tree.items, keep)
    if isinstance(tree, Mapping):
        return list(tree.values())
    return tree if isinstance(tree, Sequence) and not isinstance(tree, str) else ()


def _plain(tree: object, keep: int, characters: int, shown: Iterator[Sequence[str]]) -> object:
    if isinstance(tree, FittedText):
        return "\n".join(next(shown))
    if isinstance(tree, FittedError):
        return short_error(_shown(tree.text), min(ERROR_CHARACTERS, characters * 5 // 3))
    if isinstance(tree, str):
        return one_line(_shown(tree), characters)
    if isinstance(tree, Mapping):
        return {key: _plain(item, keep, characters, shown) for key, item in tree.items()}
    if isinstance(tree, FittedList | Sequence):
        return [_plain(item, keep, characters, shown) for item in _items(tree, keep)]
    return tree


def _shown(text: str) -> str:
    """The text as a terminal would show it."""
    return _UNPRINTABLE.sub("\ufffd", _CONTROL.sub("", text))
