"""Paths that a request names: inside the root, also behind links, and names a file can have."""

from collections.abc import Sequence
from pathlib import Path

from hornbook.errors import UsageError
from hornbook.text.globs import clean_path

MOST_FILES = 1000
LONGEST_PATH = 4096
LONGEST_NAME = 255


def inside(root: Path, files: Sequence[str]) -> list[str]:
    """The files relative to the root, cleaned.

    Raises:
        UsageError: One leads out of the root or cannot be the name of a file.
    """
    if len(files) > MOST_FILES:
        raise UsageError(f"{len(files)} files are named, {MOST_FILES} are allowed: ask in parts.")
    return [_inside(root, file) for file in files]


def _inside(root: Path, file: str) -> str:
    path = clean_path(file)
    if not path:
        raise UsageError(f"{file!r} names no file: name a path inside the root.")
    if not path.isprintable():
        raise UsageError(f"{file!r} holds characters that no file name should have: remove them.")
    longest = max(len(part.encode("utf-8", "surrogatepass")) for part in path.split("/"))
    if len(path) > LONGEST_PATH or longest > LONGEST_NAME:
        raise UsageError(f"{path[:60]!r}… is too long for a path: name a file that can be.")
    if not (root / path).resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{path!r} is a link that leads out of the root: name another file.")
    return path
