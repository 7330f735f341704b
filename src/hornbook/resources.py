"""Finds the data folders that ship with Hornbook: in the wheel or in the checkout."""

from functools import cache
from pathlib import Path

FOLDERS = ("vocabulary", "queries", "sources")

PACKAGE = Path(__file__).parent
"""The folder of the package: what a room ships lies beside its modules."""


@cache
def folder(name: str) -> Path:
    """The path of a shipped data folder.

    Raises:
        FileNotFoundError: The installation does not carry it.
    """
    for candidate in (PACKAGE / "_data" / name, PACKAGE.parents[1] / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"Hornbook's {name!r} folder is not installed: reinstall hornbook.")


@cache
def text(name: str, *parts: str) -> str:
    """The text of one shipped file."""
    return folder(name).joinpath(*parts).read_text(encoding="utf-8")
