"""Paths in requests: inside the root, also where a link would lead out of it."""

import os
from collections.abc import Iterable
from pathlib import Path

from hornbook.errors import UsageError
from hornbook.text.globs import clean_path


def inside(root: Path, files: Iterable[str]) -> list[str]:
    """The paths relative to the root; they need not exist, and may be globs.

    Raises:
        UsageError: Some lead out of the root; all of them are named.
    """
    found, problems = [], []
    for file in files:
        try:
            found.append(_inside(root, file))
        except UsageError as problem:
            problems.append(str(problem))
    if problems:
        raise UsageError("\n".join(problems))
    return found


def _inside(root: Path, file: str) -> str:
    path = Path(file)
    if path.is_absolute():
        if not path.is_relative_to(root):
            raise UsageError(f"{file!r} lies outside the root: name a path relative to it.")
        file = path.relative_to(root).as_posix()
    clean = clean_path(file)
    if not clean:
        raise UsageError(f"{file!r} is the root itself: name files in it.")
    target = Path(os.path.realpath(root / clean))
    if not target.is_relative_to(os.path.realpath(root)):
        raise UsageError(f"{file!r} is a link that leads out of the root: name a path inside it.")
    return clean
