"""Where a path really leads, seen from the root."""

import os
from collections.abc import Iterator

from hornbook.errors import UsageError
from hornbook.shell.cheap_tuple import NamedTuple

# The hot path does without pathlib, for start-up time: os.path says all that is asked here.
# ruff: noqa: PTH112, PTH118, PTH120

WORKTREES = (".hornbook", "worktrees")
_DEVICES = frozenset(
    ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/full"]
)


class ResolvedPath(NamedTuple):
    """A path as a name inside the root; `inside` is None if it lies elsewhere."""

    absolute: str
    inside: str | None


def find_root(given: str | None, environment: dict[str, str], folder: str) -> str:
    """The root: what is given, else the nearest folder with `.hornbook` or `.git`.

    The folder that the host calls the project's goes before the current one if it is above it,
    so that no nested repository takes the guard away. A worktree of ours belongs to its root.

    Raises:
        UsageError: The root that is given is no folder.
    """
    named = given or environment.get("HORNBOOK_ROOT")
    if named:
        if not os.path.isdir(named):
            raise UsageError(f"root {named!r} is no folder: give an existing one.")
        return os.path.realpath(named)
    start = os.path.realpath(folder)
    project = environment.get("CLAUDE_PROJECT_DIR")
    if project and _below(os.path.realpath(project), start) is not None:
        start = os.path.realpath(project)
    at = start
    while True:
        if os.path.lexists(os.path.join(at, ".hornbook")) or os.path.lexists(
            os.path.join(at, ".git")
        ):
            return _without_worktree(at)
        above = os.path.dirname(at)
        if above == at:
            return start
        at = above


def _without_worktree(root: str) -> str:
    mark = os.sep + os.path.join(*WORKTREES) + os.sep
    return root.partition(mark)[0] or root


def is_device(path: str) -> bool:
    """Whether writing there changes no file."""
    return path in _DEVICES or path.startswith("/dev/fd/")


def places(path: str, root: str) -> list[ResolvedPath]:
    """The entry that an absolute path names, and what it leads to if that is a link.

    Raises:
        ValueError: The path has a NUL character or cannot be encoded.
    """
    cleaned = path.rstrip("/") or "/"
    folder, name = os.path.split(cleaned)
    real = os.path.realpath(cleaned)
    entry = real if name in {"", ".", ".."} else os.path.join(os.path.realpath(folder), name)
    return [ResolvedPath(each, _inside(each, root)) for each in dict.fromkeys((entry, real))]


def _inside(path: str, root: str) -> str | None:
    inside = _below(root, path)
    if inside is None:
        return None
    parts = inside.split("/")
    if tuple(parts[:2]) == WORKTREES and len(parts) > 3:
        return "/".join(parts[3:])
    return inside


def _below(root: str, path: str) -> str | None:
    """The path relative to the root, "" for itself, None if it is not below it."""
    if path == root:
        return ""
    prefix = root if root.endswith(os.sep) else root + os.sep
    return path[len(prefix) :] if path.startswith(prefix) else None


def files_below(folder: str, most: int) -> Iterator[str]:
    """The files and links below a folder, at most so many; links are not followed."""
    left = most
    waiting = [folder]
    while waiting and left > 0:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                left -= 1
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry.path
                if left <= 0:
                    return
