"""The reviewed tree, as far as evidence needs it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from hornbook.commits import git


class Tree(Protocol):
    """The files of the reviewed commit."""

    def has(self, path: str) -> bool:
        """Whether the path is a regular file of the tree."""

    def lines(self, path: str) -> list[str]:
        """The lines of a file of the tree."""


def lines_of(text: str) -> list[str]:
    """A text's lines as git and editors count them: what ends a line is a line feed."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


_SNIFFED = 8000


class CommitTree:
    """The regular files of a commit; a binary file has no lines."""

    def __init__(self, root: Path, commit: str) -> None:
        self._root = root
        self._blobs = git.files_at(root, commit)
        self._lines: dict[str, list[str]] = {}

    def has(self, path: str) -> bool:
        """Whether the path is a regular file of the commit."""
        return path in self._blobs

    def lines(self, path: str) -> list[str]:
        """The lines of a file."""
        if path not in self._lines:
            self._lines[path] = lines_of(self.texts([path]).get(path, ""))
        return self._lines[path]

    def texts(self, paths: Iterable[str]) -> dict[str, str]:
        """Those of the paths that are text files of the commit, with what they hold."""
        wanted = {path: self._blobs[path] for path in paths if path in self._blobs}
        held = git.blobs(self._root, wanted.values())
        return {
            path: held[blob].decode("utf-8", "replace")
            for path, blob in wanted.items()
            if b"\0" not in held[blob][:_SNIFFED]
        }
