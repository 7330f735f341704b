"""How content that does not fit is made smaller: one rule for each kind, none of them silent."""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

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
