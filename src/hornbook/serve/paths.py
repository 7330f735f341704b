"""Paths that a request names: one function for GraphQL, REST and MCP."""

import os
from collections.abc import Iterable
from pathlib import Path

from hornbook.errors import UsageError
from hornbook.settings.places import refuse_secret, relative_to_root
from hornbook.text.globs import clean_path

MOST_FILES = 1000
LONGEST_PATH = 4096
LONGEST_NAME = 255


def inside(root: Path, files: Iterable[str]) -> list[str]:
    """The paths relative to the root, cleaned; they need not exist, and may be globs.

    An absolute path inside the root is made relative to it.

    Raises:
        UsageError: Some lead out of the root, also by a link, or cannot be the name of a file; all
            of them are named.
    """
    given = list(files)
    if len(given) > MOST_FILES:
        raise UsageError(f"{len(given)} files are named, {MOST_FILES} are allowed: ask in parts.")
    found, problems = [], []
    for file in given:
        try:
            found.append(_inside(root, file))
        except UsageError as problem:
            problems.append(str(problem))
    if problems:
        raise UsageError("\n".join(problems))
    return found


def _inside(root: Path, file: str) -> str:
    path = clean_path(relative_to_root(root, file))
    if not path or path == ".":
        raise UsageError(f"{file!r} names no file: name a path inside the root.")
    if not path.isprintable():
        raise UsageError(f"{file!r} holds characters that no file name should have: remove them.")
    longest = max(len(part.encode("utf-8", "surrogatepass")) for part in path.split("/"))
    if len(path) > LONGEST_PATH or longest > LONGEST_NAME:
        raise UsageError(f"{path[:60]!r}… is too long for a path: name a file that can be.")
    # Not `Path.resolve`, which fails on links that lead to each other.
    place, top = Path(os.path.realpath(root / path)), Path(os.path.realpath(root))
    if not place.is_relative_to(top):
        raise UsageError(f"{path!r} is a link that leads out of the root: name another file.")
    refuse_secret(top, place)
    return path
