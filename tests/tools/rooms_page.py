"""Writes the page that lists every module of the package with what it holds, room by room.

`python -m tests.tools.rooms_page` makes `docs/rooms.md` from the order that the import contracts
enforce and from the first line of each module. A test fails when the page is not what they give.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.kit.paths import ROOT

PACKAGE = ROOT / "src" / "hornbook"
PAGE = ROOT / "docs" / "rooms.md"
HEADER = """\
# Where things are

Every module of `src/hornbook`, with the sentence that it begins with, in the order of the rooms: a room
imports only rooms that stand below it here. [ARCHITECTURE](../ARCHITECTURE.md) has the picture and the
journeys through it. `python -m tests.tools.rooms_page` makes this page from the modules themselves.
"""


def enforced_order() -> list[list[str]]:
    """The rooms from the top of the contracts to the bottom, those of one line together."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers")
    return [re.split(r"\s*[|:]\s*", line) for line in layers]


def first_line(path: Path) -> str:
    """What a module says of itself in its first line."""
    told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return told.split("\n", 1)[0].rstrip(".").replace("|", "\\|")


def page() -> str:
    """The page: a table for each folder, and one for the modules that are no folder."""
    return "\n".join([HEADER, *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    singles = []
    for line in enforced_order():
        for room in line:
            folder = PACKAGE / room
            if folder.is_dir():
                for each in (folder, *sorted(filter(_is_package, folder.rglob("*")))):
                    yield from _section(each)
            else:
                singles.append(folder.with_suffix(".py"))
    yield from ("## Single modules", "", *_table(singles), "")


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()


def _section(folder: Path) -> Iterator[str]:
    name = folder.relative_to(PACKAGE).as_posix()
    modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    if modules:
        level = "#" * (2 + name.count("/"))
        yield from (f"{level} {name}", "", f"{first_line(folder / '__init__.py')}.", "")
        yield from (*_table(modules), "")


def _table(modules: list[Path]) -> list[str]:
    rows = [f"| `{path.name}` | {first_line(path)} |" for path in modules]
    return ["| module | holds |", "|---|---|", *rows]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
