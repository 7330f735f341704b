"""The tree of a commit as evidence needs it, read from git when it is asked for."""

from collections.abc import Iterable
from pathlib import Path

from hornbook.git import reader as git
from hornbook.review.tree import lines_of

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
