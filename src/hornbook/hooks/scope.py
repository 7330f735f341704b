"""Whether a role may write a path: our own folder, the role, and the scope of the active plan."""

import os
import sys

from hornbook.hooks.active import Active
from hornbook.hooks.paths import ResolvedPath, files_below, is_device, places
from hornbook.hooks.tools import READ_ONLY_ROLES
from hornbook.shell.cheap_tuple import NamedTuple

# ruff: noqa: PTH112, PTH114, PTH118  # pathlib costs start-up time

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

        `how` is one of the ways of `shell_programs`, or `found`: the files below a folder whose
        names fit one of `names`.
        """
        if is_device(path):
            return None
        if how.startswith("into-or-file:"):
            path = os.path.join(path, how.partition(":")[2]) if os.path.isdir(path) else path
        elif how == "into":
            path = os.path.join(path, _SOME_FILE)
        elif (how == "file-if-there" and not os.path.lexists(path)) or (
            how == "folder" and os.path.isdir(path)
        ):
            return None
        elif how in {"tree", "found"} and os.path.isdir(path) and not os.path.islink(path):
            return self._judge_tree(path, names)
        return self._judge_file(path)

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
        if first == STATE_FOLDERS[0] or (planned and first in STATE_FOLDERS):
            reason = (
                f"{place.inside} belongs to Hornbook, which alone writes {parts[0]}/: "
                "leave it, or ask a person to change it."
            )
            return Denial("protected_state", place.inside, reason)
        if not planned:
            return None
        if first == ".git":
            reason = f"{place.inside} is git's own: change it with git commands only."
            return Denial("protected_git", place.inside, reason)
        if first == ".claude" and parts[-1].casefold() in _HOST_SETTINGS and len(parts) == 2:
            reason = f"{place.inside} holds the guard's own hooks: ask a person to change it."
            return Denial("protected_host", place.inside, reason)
        return None

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
                f"(IN: {active.inside.told()}): {remedy}"
            )
            return Denial("not_in_scope", path, reason)
        return None


def _named(path: str, names: tuple[str, ...]) -> bool:
    from fnmatch import fnmatch  # noqa: PLC0415  # `find -name` is rare, and has its own dialect

    name = path.rpartition("/")[2]
    return any(fnmatch(name, each) for each in names)
