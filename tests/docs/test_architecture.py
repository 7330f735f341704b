"""ARCHITECTURE.md leads where it says: rooms, order and functions are those of the tree."""

import ast
import re
from collections import Counter
from pathlib import Path

from tests.kit.paths import ROOT
from tests.tools import rooms_page

PACKAGE = ROOT / "src" / "hornbook"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
STATION = re.compile(r"^  (\S+\.py) +([A-Za-z_][\w.]*)", re.MULTILINE)


def defined_in(path: Path) -> set[str]:
    """Functions, classes and methods of a module, methods with their class."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
            found.update(f"{node.name}.{each.name}" for each in methods)
    return found


def test_every_station_of_the_journeys_is_there() -> None:
    stations = STATION.findall(PAGE)
    journeys = PAGE.count("```text")
    missing = [
        f"{path}: {name}"
        for path, name in stations
        if not (PACKAGE / path).is_file() or name not in defined_in(PACKAGE / path)
    ]
    assert (journeys, missing) == (7, [])
    assert len(stations) > 5 * journeys


def test_every_file_in_the_table_of_rooms_is_there() -> None:
    missing = []
    for line in PAGE.splitlines():
        if line.startswith("| `") and len(cells := line.split("|")) > 3:
            rooms = re.findall(r"`([\w.]+)`", cells[1])
            files = re.findall(r"`([\w/]+(?:\.py|/))`", cells[2])
            folders = [PACKAGE, *(PACKAGE / room for room in rooms)]
            missing += [
                name for name in files if not any((folder / name).exists() for folder in folders)
            ]
    assert missing == []


def test_the_rooms_are_listed_in_the_order_that_is_enforced() -> None:
    layers = rooms_page.enforced_order()
    enforced = [room for line in layers for room in line]
    table = [line for line in PAGE.splitlines() if line.startswith("| `")]
    listed = [
        room.removesuffix(".py")
        for line in table
        for room in re.findall(r"`([\w.]+)`", line.split("|")[1])
    ]
    assert sorted(listed) == sorted(enforced)
    ranks = {room: rank for rank, line in enumerate(layers) for room in line}
    positions = [ranks[room] for room in listed if room in ranks]
    assert positions == sorted(positions)


def test_every_room_says_what_lives_there() -> None:
    silent = [
        str(folder.relative_to(PACKAGE))
        for folder in PACKAGE.rglob("*")
        if (folder / "__init__.py").is_file()
        and not ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_every_module_is_listed_with_what_it_says_of_itself() -> None:
    assert rooms_page.PAGE.read_text(encoding="utf-8") == rooms_page.page(), (
        "a module came, went or says something else: `python -m tests.tools.rooms_page`"
    )


def test_the_map_is_read_on_a_screen_and_a_half() -> None:
    assert len(PAGE.splitlines()) <= 160


def test_no_room_is_a_crowd_and_no_module_a_book() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    crowds = {
        folder: many for folder, many in Counter(p.parent for p in modules).items() if many > 20
    }
    books = [path for path in modules if path.read_text(encoding="utf-8").count("\n") > 600]
    assert (crowds, books) == ({}, [])
