"""What a reader sees: how wide, in colour or not; tables and sentences as lines of text.

Nothing is ever cut: a path or a pattern that cannot be copied from the screen is worth nothing.
Where a table is wider than the terminal, each record begins with its first cell, and the others
stand below it. Where nobody sees the width, a record is one line.
"""

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from unicodedata import combining, east_asian_width

from hornbook.cli.output import Styled, harmless

_BETWEEN, _BELOW = " " * 3, " " * 4
_SGR = {"bold": 1, "red": 31, "green": 32, "yellow": 33, "blue": 34}
_PAINTED = re.compile(r"\x1b\[\d+m")
_Paint = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Screen:
    """Where lines are read: the width of a terminal, none where nobody sees it, and colours."""

    width: int | None = None
    colour: bool = False

    def styled(self, text: str, style: str) -> str:
        """One of our own words, or a name, in a colour."""
        return self._paint(harmless(text), Styled("", style))

    def prose(self, text: str) -> list[str]:
        """A sentence, broken between words where a terminal needs it."""
        clean = harmless(text)
        if self.width is None or cell_width(clean) <= self.width:
            return [clean]
        indent = " " * (len(clean) - len(clean.lstrip(" ")) + 2)
        return _wrapped(clean, self.width, below=indent)

    def headed(self, name: str, said: str) -> list[str]:
        """A name and what is said of it, below it where they do not fit one line."""
        painted = self.styled(name, "bold")
        room = cell_width(harmless(name)) + 2 + cell_width(_unpainted(said))
        if self.width is None or room <= self.width:
            return [f"{painted}: {said}"]
        return [f"{painted}:", f"{_BELOW}{said}"]

    def table(self, rows: Sequence[Sequence[str]], heads: Sequence[str]) -> list[str]:
        """The rows below their heads, whatever the width."""
        return _table(_harmless_cells(rows), heads, self._paint)

    def records(self, rows: Sequence[Sequence[str]], heads: Sequence[str]) -> list[str]:
        """A table where it fits the width, else each record on lines of its own."""
        cells = _harmless_cells(rows)
        lines = _table(cells, heads, _plain, align=True)
        if self.width is not None and any(cell_width(line) > self.width for line in lines):
            return [line for row in cells for line in self._stacked(row, heads, self.width)]
        return _table(cells, heads, self._paint, align=True) if self.colour else lines

    def _stacked(self, row: Sequence[str], heads: Sequence[str], width: int) -> list[str]:
        """A record: its first cell, and below it the others, numbers with what they count."""
        lines, pieces, taken = [self._paint(row[0], row[0])], list[str](), 0
        for cell, head in zip(row[1:], heads[1:], strict=True):
            text = f"{cell} {head.removesuffix('s') if cell == '1' else head}"
            text = text if cell.isdigit() else cell
            room = len(_BETWEEN if pieces else _BELOW) + cell_width(text)
            if pieces and taken + room > width:
                lines.append(_BELOW + _BETWEEN.join(pieces))
                pieces, room = [], len(_BELOW) + cell_width(text)
            if room > width:
                lines += _wrapped(text, width, first=_BELOW, below=_BELOW)
            elif text:
                taken = room + (taken if pieces else 0)
                pieces.append(self._paint(text, cell))
        return [*lines, _BELOW + _BETWEEN.join(pieces)] if pieces else lines

    def _paint(self, text: str, cell: str) -> str:
        """The text, for which room is made already, in the colour of its cell."""
        code = _SGR.get(getattr(cell, "style", "")) if self.colour else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text


def cell_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )


def _unpainted(text: str) -> str:
    return _PAINTED.sub("", text)


def _plain(text: str, _cell: str) -> str:
    return text


def _harmless_cells(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[Styled(harmless(cell), getattr(cell, "style", "")) for cell in row] for row in rows]


def _table(
    rows: Sequence[Sequence[str]],
    heads: Sequence[str],
    paint: _Paint,
    *,
    align: bool = False,
) -> list[str]:
    """The rows below their heads, every cell whole; numbers may be aligned at their right."""
    right = [align and all(row[each].isdigit() for row in rows) for each in range(len(heads))]
    widths = [
        max(cell_width(line) for text in (head, *(row[each] for row in rows)) for line in _in(text))
        for each, head in enumerate(heads)
    ]

    def line(cells: Sequence[str], texts: Sequence[str], paint: _Paint = _plain) -> str:
        padded = (
            paint(_padded(text, width, right=at_right), cell)
            for cell, text, width, at_right in zip(cells, texts, widths, right, strict=True)
        )
        return f" {_BETWEEN.join(padded)}".rstrip()

    lines = [line(heads, heads), " " + "─" * (sum(widths) + len(_BETWEEN) * (len(widths) - 1))]
    for row in rows:
        lines += [line(row, texts, paint) for texts in zip_longest(*map(_in, row), fillvalue="")]
    return lines


def _wrapped(text: str, width: int, *, first: str = "", below: str) -> list[str]:
    """The text on lines that end between words; a word that is too long stays whole."""
    return textwrap.wrap(
        text,
        max(width, 20),
        initial_indent=first,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _in(text: str) -> list[str]:
    return text.expandtabs(8).split("\n")


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - cell_width(text))
    return space + text if right else text + space
