"""What a change does to each file, as git records it: names, modes, links and submodules."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hornbook.git.reader import blobs, run, sure

LINK = "120000"
SUBMODULE = "160000"
ABSENT = "000000"


@dataclass(frozen=True, slots=True)
class Touched:
    """One touched file: paths are relative to the root, `../` for those beside it.

    `before` is the old path of a renamed file, `target` where a symbolic link now points. Modes
    are git's, `000000` where there is no file; the blobs are equal if the content did not change.
    """

    path: str
    status: str
    before: str | None = None
    old_mode: str = ABSENT
    mode: str = ABSENT
    old_blob: str = ""
    blob: str = ""
    target: str | None = None

    @property
    def is_link(self) -> bool:
        """Whether it now is a symbolic link."""
        return self.mode == LINK

    @property
    def is_submodule(self) -> bool:
        """Whether it is or was a submodule."""
        return SUBMODULE in {self.mode, self.old_mode}

    @property
    def is_removed(self) -> bool:
        """Whether nothing is left there."""
        return self.status == "D"

    @property
    def is_edited(self) -> bool:
        """Whether there is content now that was not there before."""
        return not self.is_removed and self.blob != self.old_blob


# A change must not be able to say that its submodules do not count.
_MODULES = "--ignore-submodules=none"


def touched(
    root: Path, before: str, after: str, environment: Mapping[str, str] | None = None
) -> tuple[Touched, ...]:
    """Every file that differs between two trees or commits, renames followed, by path.

    Raises:
        UsageError: Git cannot tell.
    """
    options = ("diff-tree", "-r", "-z", "-M", "--raw", "--no-abbrev", "--no-relative", _MODULES)
    answer = sure(root, run(root, *options, before, after, environment=environment))
    below = _prefix(root)
    fields = answer.stdout.split(b"\0")
    found = []
    place = 0
    while place < len(fields) and fields[place]:
        old_mode, mode, old_blob, blob, status = fields[place].decode("ascii")[1:].split(" ")
        names = 2 if status[0] in "RC" else 1
        paths = [_seen(name, below) for name in fields[place + 1 : place + 1 + names]]
        old = paths[0] if status[0] == "R" else None
        found.append(Touched(paths[-1], status[0], old, old_mode, mode, old_blob, blob))
        place += 1 + names
    return tuple(sorted(_with_targets(root, found, environment), key=lambda each: each.path))


def changed_names(root: Path, before: str, after: str) -> tuple[str, ...]:
    """Every path that differs between two trees or commits, from the top of the repository.

    Raises:
        UsageError: Git cannot tell.
    """
    options = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-relative", _MODULES)
    answer = sure(root, run(root, *options, before, after))
    names = (each.decode("utf-8", "surrogateescape") for each in answer.stdout.split(b"\0"))
    return tuple(sorted(filter(None, names)))


def links(root: Path, tree: str, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every symbolic link of a tree below the root, with where it points."""
    options = ("ls-tree", "-r", "-z", "--full-tree", tree)
    answer = sure(root, run(root, *options, environment=environment))
    below = _prefix(root)
    found: dict[str, str] = {}
    for line in answer.stdout.split(b"\0"):
        if line.startswith(LINK.encode()):
            facts, _, name = line.partition(b"\t")
            found[_seen(name, below)] = facts.split(b" ")[2].decode("ascii")
    targets = blobs(root, found.values(), environment) if found else {}
    return {path: targets[blob].decode("utf-8", "surrogateescape") for path, blob in found.items()}


def _with_targets(
    root: Path, found: list[Touched], environment: Mapping[str, str] | None
) -> list[Touched]:
    wanted = [each.blob for each in found if each.is_link]
    targets = blobs(root, wanted, environment) if wanted else {}
    return [
        Touched(
            each.path,
            each.status,
            each.before,
            each.old_mode,
            each.mode,
            each.old_blob,
            each.blob,
            targets[each.blob].decode("utf-8", "surrogateescape") if each.is_link else None,
        )
        for each in found
    ]


def _prefix(root: Path) -> str:
    """The root's own place in the repository; empty at its top."""
    answer = sure(root, run(root, "rev-parse", "--show-prefix"))
    return answer.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def _seen(name: bytes, below: str) -> str:
    path = name.decode("utf-8", "surrogateescape")
    return posixpath.relpath(path, below) if below else path
