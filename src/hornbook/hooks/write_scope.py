"""Whether a role may write a path: our own folder, the role, and the scope of the active plan.

A path is judged by where it really leads, links followed, and by the name it has.
"""

import os
import sys
from collections.abc import Iterator

from hornbook.errors import UsageError
from hornbook.hooks.active_file import Active
from hornbook.hooks.host import READ_ONLY_ROLES
from hornbook.shell.cheap_tuple import NamedTuple

# The hot path does without pathlib, for start-up time: os.path says all that is asked here.
# ruff: noqa: PTH112, PTH114, PTH118, PTH120

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
    at, above = start, os.path.dirname(start)
    while not _has_root_mark(at):
        if above == at:
            return start
        at, above = above, os.path.dirname(above)
    return _without_worktree(at)


def _has_root_mark(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, mark)) for mark in (".hornbook", ".git"))


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


def _is_real_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


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


STATE_FOLDERS = (".hornbook", ".semspec")
_HOST_SETTINGS = ("settings.json", "settings.local.json")
_MOST_FILES = 5000
_SOME_FILE = "…"
"""Stands for a file whose name is not known."""


class Denial(NamedTuple):
    """Why a call is refused: the rule that says so, the path if one is meant, and the remedy."""

    rule: str
    path: str | None
    reason: str


class WriteScope(NamedTuple):
    """What is judged against: the root, what is active there, and the role."""

    root: str
    active: Active
    role: str
    folds_case: bool = sys.platform in {"darwin", "win32"}

    @property
    def read_only(self) -> bool:
        """Whether the role may write nothing."""
        return self.active.plan is not None and self.role in READ_ONLY_ROLES

    def judge(self, path: str, how: str = "file", names: tuple[str, ...] = ()) -> Denial | None:
        """The denial of writing an absolute path, None if nothing speaks against it.

        `how` is one of the ways of `Target`, or `found`: the files below a folder whose
        names fit one of `names`.
        """
        if is_device(path) or self._changes_nothing(path, how):
            return None
        if how in {"tree", "found"} and _is_real_folder(path):
            return self._judge_tree(path, names)
        name = _SOME_FILE if how == "into" else how.partition(":")[2]
        inside = bool(name) and (how == "into" or os.path.isdir(path))
        return self._judge_file(os.path.join(path, name) if inside else path)

    def _changes_nothing(self, path: str, how: str) -> bool:
        if how == "file-if-there":
            return not os.path.lexists(path)
        return how == "folder" and os.path.isdir(path)

    def _judge_file(self, path: str) -> Denial | None:
        denials = (self._judge_place(place) for place in places(path, self.root))
        return next((denial for denial in denials if denial is not None), None)

    def _judge_tree(self, folder: str, names: tuple[str, ...]) -> Denial | None:
        """The first denial among the files that are there; an empty folder is judged itself."""
        denial = self._protected(places(folder, self.root)[0])
        if denial is not None:
            return denial
        seen = False
        for path in files_below(os.path.realpath(folder), _MOST_FILES):
            seen = True
            if names and not _named(path, names):
                continue
            denial = self._judge_file(path)
            if denial is not None:
                return denial
        return None if seen or names else self._judge_file(folder)

    def _judge_place(self, place: ResolvedPath) -> Denial | None:
        protected = self._protected(place)
        if protected is not None or self.active.plan is None:
            return protected
        if self.read_only:
            shown = place.inside or place.absolute
            reason = (
                f"The {self.role} is read-only and would write {shown}: "
                "report what should change instead."
            )
            return Denial("read_only", shown, reason)
        if place.inside is None:
            return self._outside_root(place.absolute)
        return self._out_of_scope(place.inside)

    def _protected(self, place: ResolvedPath) -> Denial | None:
        """The denial of what no agent writes, whatever its scope."""
        if place.inside is None:
            return None
        parts = place.inside.split("/")
        first = parts[0].casefold()
        planned = self.active.plan is not None
        if first in STATE_FOLDERS[: None if planned else 1]:
            rule = "protected_state"
            reason = (
                f"belongs to Hornbook, which alone writes {parts[0]}/: leave it, or ask a person "
                "to change it."
            )
        elif planned and first == ".git":
            rule, reason = "protected_git", "is git's own: change it with git commands only."
        elif planned and _is_host_settings(parts):
            rule = "protected_host"
            reason = "holds the guard's own hooks: ask a person to change it."
        else:
            return None
        return Denial(rule, place.inside, f"{place.inside} {reason}")

    def _outside_root(self, path: str) -> Denial | None:
        for folder in self.active.scratch:
            allowed = os.path.realpath(folder)
            if path == allowed or path.startswith(allowed.rstrip("/") + "/"):
                return None
        reason = (
            f"{path} lies outside the repository: write inside it, in the scope of plan "
            f"`{self.active.plan}`. Folders outside can be allowed with `guard.scratch`."
        )
        return Denial("outside_root", path, reason)

    def _out_of_scope(self, path: str) -> Denial | None:
        active, folds = self.active, self.folds_case
        remedy = "leave it, or ask for the plan to be changed."
        found = active.do_not_touch.fitting(path, folds_case=folds)
        if found is not None:
            reason = f"Plan `{active.plan}` says DO NOT TOUCH {found}, and {path} fits: {remedy}"
            return Denial("do_not_touch", path, reason)
        found = active.outside.fitting(path, folds_case=folds)
        if found is not None:
            reason = f"Plan `{active.plan}` has {found} OUT of its scope, and {path} fits: {remedy}"
            return Denial("out_of_scope", path, reason)
        if active.inside.included and active.inside.fitting(path) is None:
            reason = (
                f"{path or 'The root'} is not in the scope of plan `{active.plan}` "
                f"(IN: {active.inside.as_written()}): {remedy}"
            )
            return Denial("not_in_scope", path, reason)
        return None


def _is_host_settings(parts: list[str]) -> bool:
    folder, name = parts[0].casefold(), parts[-1].casefold()
    return len(parts) == 2 and folder == ".claude" and name in _HOST_SETTINGS


def _named(path: str, names: tuple[str, ...]) -> bool:
    from fnmatch import fnmatch  # noqa: PLC0415  # `find -name` is rare, and has its own dialect

    name = path.rpartition("/")[2]
    return any(fnmatch(name, each) for each in names)
