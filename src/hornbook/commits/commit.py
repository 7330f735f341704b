"""One commit: a value that never changes, so that what follows from it is computed once."""

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

from hornbook.commits import git
from hornbook.errors import UsageError

T = TypeVar("T")


class Commit:
    """A commit as a folder of the repository sees it: its tree, its files, and their texts.

    Later rooms keep with it what they compute from it (`memo`): its rule graph, its gates. Paths
    are relative to `root`. It may be asked from several threads.
    """

    def __init__(self, root: Path, sha: str) -> None:
        self.root = root
        self.sha = sha
        self._memo: dict[Hashable, object] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"Commit({self.sha[:12]})"

    @cached_property
    def tree(self) -> str:
        """The hash of its tree."""
        return self._header["tree"]

    @property
    def seconds(self) -> int:
        """When it was committed, in seconds since 1970."""
        return int(self._header["committer"].split(" ")[-2])

    @property
    def parent(self) -> str | None:
        """The name of its first parent, whether or not the repository has it."""
        return self._header.get("parent")

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self._header[""]

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Path to blob of every regular file."""
        return git.files_at(self.root, self.sha)

    @cached_property
    def modes(self) -> Mapping[str, str]:
        """Path to git's mode of everything below the root, links and submodules too."""
        below = git.prefix_of(self.root)
        if not below:
            return {each.path: each.mode for each in git.entries_of(self.root, self.sha)}
        return {
            each.path.removeprefix(below): each.mode
            for each in git.entries_of(self.root, self.sha)
            if each.path.startswith(below)
        }

    def text(self, path: str) -> bytes | None:
        """The bytes of a regular file; None if there is none.

        Raises:
            UsageError: The repository lacks them.
        """
        blob = self.files.get(path)
        return None if blob is None else self.blobs([blob])[blob]

    def blobs(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """What blobs hold by their names.

        Raises:
            UsageError: The repository lacks one.
        """
        return git.blobs(self.root, names)

    def memo(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What was computed from this commit under a key; an error is not kept."""
        with self._lock:
            if key not in self._memo:
                self._memo[key] = compute()
            return cast("T", self._memo[key])  # the key says what it is

    @cached_property
    def _header(self) -> Mapping[str, str]:
        """The first line of each kind in the commit's own object; under "" that of its message."""
        data = git.blobs(self.root, [self.sha])[self.sha]
        found: dict[str, str] = {}
        header, _, message = data.partition(b"\n\n")
        for line in header.split(b"\n"):
            name, _, value = line.decode("utf-8", "replace").partition(" ")
            found.setdefault(name, value)
        found[""] = message.strip().partition(b"\n")[0].decode("utf-8", "replace")
        if not {"tree", "committer"} <= found.keys():
            raise UsageError(f"{self.root}: the commit {self.sha} is damaged: run `git fsck`.")
        return found


def commit_at(root: Path, revision: str) -> Commit:
    """The commit that a revision names; the same value while an operation of git is open.

    Raises:
        UsageError: There is no repository, or no such commit in it.
    """
    sha = git.commit(root, revision)
    return git.once(root, ("commit", sha), lambda: Commit(root, sha))
