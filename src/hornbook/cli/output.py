"""How answers reach people and programs: stdout is the result, stderr the rest."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from hornbook.cli.screen import Screen
    from hornbook.graph.ingest.report import Progress


NOBODY_SEES_THE_WIDTH = 1000
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def print_json(value: object) -> None:
    """One JSON document on stdout; dataclasses, enums and tuples included."""
    write(json.dumps(_plain(value), ensure_ascii=False, indent=2) + "\n")


def print_line(value: object) -> None:
    """One JSON object on a line of its own."""
    write(json.dumps(_plain(value), ensure_ascii=False) + "\n")


def plain_facts(value: object) -> dict[str, object]:
    """A dataclass as the JSON object that is printed of it."""
    facts: dict[str, object] = _plain(value)
    return facts


def _plain(value: object) -> Any:  # what JSON has a form for
    import msgspec

    return msgspec.to_builtins(value)


def write(text: str) -> None:
    """Text on stdout, in UTF-8 whatever the locale says."""
    write_bytes(text.encode("utf-8", "surrogateescape"))


def write_bytes(data: bytes) -> None:
    """Bytes on stdout."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """A line on stderr, broken between words where a terminal needs it."""
    sys.stderr.write(note_text(text))


def note_text(text: str) -> str:
    """What a note prints."""
    lines = [text]
    if sys.stderr.isatty():
        seen = screen(sys.stderr)
        lines = [part for line in text.split("\n") for part in seen.prose(line)]
    return "".join(f"{line}\n" for line in lines)


def console() -> "Console":
    """Where people read answers: colour on terminals only, wide when nobody sees the width."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else NOBODY_SEES_THE_WIDTH
    return Console(width=width, highlight=False, soft_wrap=False, emoji=False)


@contextmanager
def progress_bar() -> Iterator["Progress"]:
    """Progress of long work as a bar on a terminal, and silence elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _stage, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, int] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)  # type: ignore[arg-type]  # rich's TaskID is an int

        yield report


def harmless(text: str) -> str:
    """The text without the control characters that would steer a terminal."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


class Styled(str):
    """A cell with a colour; only our own words are styled, never a document's."""

    __slots__ = ("style",)
    style: str

    def __new__(cls, text: str, style: str = "") -> Self:
        """The text with its style."""
        cell = super().__new__(cls, text)
        cell.style = style
        return cell


def table_of(
    rows: Sequence[Sequence[str]], *, heads: Sequence[str], whole: int | None = None
) -> "Table":
    """A table; the column `whole` is never broken, so that it can be copied."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        table.add_column(head, overflow="fold", no_wrap=place == whole)
    for row in rows:
        table.add_row(*(Text(harmless(cell), getattr(cell, "style", "")) for cell in row))
    return table


def columns(
    rows: Sequence[Sequence[str]], *, heads: Sequence[str], whole: int | None = None
) -> None:
    """A table on stdout; its cells are broken only where a terminal needs it."""
    seen = screen()
    if seen.width is None:
        write_lines(seen.table(rows, heads))
    else:
        console().print(table_of(rows, heads=heads, whole=whole))


def records(rows: Sequence[Sequence[str]], *, heads: Sequence[str], first: int = 0) -> None:
    """A table on stdout; on a terminal the column `first` leads, and what is copied stays whole.

    Where the terminal is too narrow for the table, each record has lines of its own.
    """
    seen = screen()
    if seen.width is None:
        write_lines(seen.table(rows, heads))
        return
    names, *led = ((row[first], *row[:first], *row[first + 1 :]) for row in (heads, *rows))
    write_lines(seen.records(led, names))


def screen(stream: TextIO | None = None) -> "Screen":
    """What the reader of a stream sees, by default of stdout."""
    from hornbook.cli.screen import Screen

    if not (stream or sys.stdout).isatty():
        return Screen()
    import shutil

    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Screen(shutil.get_terminal_size().columns, colour=not plain)


def write_lines(lines: Iterable[str]) -> None:
    """Lines on stdout."""
    write("".join(f"{line}\n" for line in lines))


def counted(number: int, what: str) -> str:
    """A number of things in words: 1 rule, 2 rules."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def place(path: str, line: int | None) -> str:
    """Where something stands, as editors and terminals open it: path:line."""
    return f"{path}:{line}" if line else path


RANK = {"error": 0, "warning": 1, "info": 2}
SEVERITY_STYLE = {"error": "red", "warning": "yellow", "info": "blue"}


def coloured(severity: str) -> Styled:
    """A severity or level in its colour."""
    return Styled(severity, SEVERITY_STYLE.get(severity, ""))
