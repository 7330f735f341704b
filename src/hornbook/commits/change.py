"""The change under review, as git has it: merge-base to HEAD, never what anyone claims."""

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from unicodedata import category

from hornbook.commits.commit import commit_at
from hornbook.commits.git import (
    blobs,
    commit,
    entries_of,
    files_at,
    is_full_name,
    once,
    prefix_of,
    require_success,
    run,
)
from hornbook.errors import UsageError

# A change must not be able to say that its submodules do not count.
_MODULES = "--ignore-submodules=none"
_HIDDEN = "\nBinary files "


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file; `before` is its old path when it was renamed or copied."""

    path: str
    status: str
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change: the files and patches from `merge_base` to `head`, judged by `base`'s rules.

    `outside` are the changed files of the repository that do not lie below the root.
    """

    base: str
    head: str
    merge_base: str
    tree: str
    files: tuple[FileChange, ...]
    patches: dict[str, str]
    outside: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the change touches, old names of renamed files included, sorted."""
        old = {change.before for change in self.files if change.before is not None}
        return tuple(sorted({change.path for change in self.files} | old))


def change(root: Path, span: str) -> Change:
    """The change that `BASE..HEAD` names; HEAD may be left out.

    Raises:
        UsageError: A side names no commit, or the two have no common ancestor.
    """
    base_name, _, head_name = span.partition("..")
    if not base_name.strip():
        raise UsageError(f"{span!r} names no base: write BASE..HEAD.")
    base = commit(root, base_name)
    head = commit(root, head_name.removeprefix(".") or "HEAD")
    return once(root, ("change", base, head), lambda: _between(root, base, head, span))


def _between(root: Path, base: str, head: str, span: str) -> Change:
    tree = commit_at(root, head).tree
    if base == head:
        return Change(base, head, base, tree, (), {})
    found = run(root, "merge-base", base, head)
    if found.returncode:
        raise UsageError(
            f"{span}: the two commits have no common ancestor here; in a shallow clone run "
            "`git fetch --unshallow`."
        )
    ancestor = found.stdout.decode("ascii").strip()
    files = _files(root, ancestor, head)
    patches = _patches(root, ancestor, head, files)
    in_order = tuple(sorted(files, key=lambda change: change.path))
    return Change(base, head, ancestor, tree, in_order, patches, _outside(root, ancestor, head))


def _files(root: Path, ancestor: str, head: str) -> tuple[FileChange, ...]:
    """The changed files below the root, in the order of git's patch."""
    asked = ("diff", "-z", "-M", "--name-status", "--relative", _MODULES, ancestor, head)
    answer = require_success(root, run(root, *asked))
    fields = [_name(field) for field in answer.stdout.split(b"\0") if field]
    found = []
    place = 0
    while place < len(fields):
        status = fields[place]
        if status[0] in "RC":
            found.append(FileChange(fields[place + 2], status[0], fields[place + 1]))
            place += 3
        else:
            found.append(FileChange(fields[place + 1], status[0]))
            place += 2
    return tuple(found)


def _outside(root: Path, ancestor: str, head: str) -> tuple[str, ...]:
    """The changed files of the whole repository that a root below its top does not see."""
    prefix = prefix_of(root)
    if not prefix:
        return ()
    asked = ("diff", "-z", "--name-only", "--no-relative", _MODULES, ancestor, head)
    names = require_success(root, run(root, *asked)).stdout.split(b"\0")
    paths = (name.decode("utf-8", "replace") for name in names if name)
    return tuple(sorted(path for path in paths if not path.startswith(prefix)))


def _name(field: bytes) -> str:
    """A path of the change as text.

    Raises:
        UsageError: It is not UTF-8, or holds control characters: neither can be shown as it is,
            and a line break could pass for a part of the prompt.
    """
    try:
        shown = field.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise UsageError(
            f"the change has a file name that is not UTF-8, {field!r}: rename it."
        ) from problem
    if any(category(letter) in {"Cc", "Zl", "Zp"} for letter in shown):
        raise UsageError(
            f"the change has a file name with control characters, {shown!r}: rename it."
        )
    return shown


def _patches(root: Path, ancestor: str, head: str, files: tuple[FileChange, ...]) -> dict[str, str]:
    """The patch of each changed file, whole; a file that changed its kind has two pieces."""
    whole = _split_patch(_patch(root, ancestor, head))
    if len(whole) == len(files) and not any(_HIDDEN in piece for piece in whole):
        return {each.path: piece for each, piece in zip(files, whole, strict=True)}
    texts = _texts(root, head, ancestor, files)
    found = {}
    for each in files:
        paths = tuple(filter(None, (each.before, each.path)))
        patch = _patch(root, ancestor, head, *paths)
        if _HIDDEN in patch and texts.issuperset(paths):
            patch = _patch(root, ancestor, head, *paths, as_text=True)
        found[each.path] = patch
    return found


def _split_patch(text: str) -> list[str]:
    """The pieces of a patch, one for each file that it names; together they are the patch."""
    pieces = text.split("\ndiff --git ") if text else []
    ended = [f"{piece}\n" for piece in pieces[:-1]] + pieces[-1:]
    return ended[:1] + [f"diff --git {piece}" for piece in ended[1:]]


def _paths_of(files: Iterable[FileChange]) -> list[str]:
    """The names that files have, and those that they had before."""
    return sorted({path for each in files for path in (each.before, each.path) if path})


def _texts(root: Path, head: str, ancestor: str, files: tuple[FileChange, ...]) -> set[str]:
    """Those of the changed files that are text on both sides, whatever attributes say of them."""
    trees = files_at(root, ancestor), files_at(root, head)
    paths = _paths_of(files)
    sides = {path: [tree[path] for tree in trees if path in tree] for path in paths}
    contents = blobs(root, chain.from_iterable(sides.values()))
    binary = {blob for blob, content in contents.items() if b"\0" in content}
    return {path for path, found in sides.items() if found and binary.isdisjoint(found)}


def _patch(root: Path, ancestor: str, head: str, *paths: str, as_text: bool = False) -> str:
    """The patch between two commits; nobody's git configuration changes how it looks."""
    looks = ("-M", "--relative", "--no-color", "--no-ext-diff", "--no-textconv", "-U3")
    # How many digits a hash needs grows with the repository: the same change must look the same.
    plain = ("--abbrev=12", "--inter-hunk-context=0", "--diff-algorithm=myers", "--submodule=short")
    seen = ("--text",) if as_text else ()
    prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
    settings = ("-c", "core.quotePath=false", "-c", "diff.suppressBlankEmpty=false")
    options = (*settings, "diff", *looks, *plain, _MODULES, *prefixes, *seen)
    literal = {"GIT_LITERAL_PATHSPECS": "1"}
    answer = require_success(
        root, run(root, *options, ancestor, head, "--", *paths, environment=literal)
    )
    return answer.stdout.decode("utf-8", "replace")


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


def touched(
    root: Path, before: str, after: str, environment: Mapping[str, str] | None = None
) -> tuple[Touched, ...]:
    """Every file that differs between two trees or commits, renames followed, by path.

    Raises:
        UsageError: Git cannot tell.
    """
    if environment is None and is_full_name(before) and is_full_name(after):
        return once(root, ("touched", before, after), lambda: _touched(root, before, after, None))
    return _touched(root, before, after, environment)


def _touched(
    root: Path, before: str, after: str, environment: Mapping[str, str] | None
) -> tuple[Touched, ...]:
    options = ("diff-tree", "-r", "-z", "-M", "--raw", "--no-abbrev", "--no-relative", _MODULES)
    answer = require_success(root, run(root, *options, before, after, environment=environment))
    below = prefix_of(root)
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
    answer = require_success(root, run(root, *options, before, after))
    names = (each.decode("utf-8", "surrogateescape") for each in answer.stdout.split(b"\0"))
    return tuple(sorted(filter(None, names)))


def links(root: Path, tree: str, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every symbolic link of a tree below the root, with where it points."""
    below = prefix_of(root)
    found = {
        _below(each.path, below): each.blob
        for each in entries_of(root, tree, environment)
        if each.is_link
    }
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


def _seen(name: bytes, below: str) -> str:
    return _below(name.decode("utf-8", "surrogateescape"), below)


def _below(path: str, below: str) -> str:
    return posixpath.relpath(path, below) if below else path
