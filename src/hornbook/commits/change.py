"""The change under review, as git has it: merge-base to HEAD, never what anyone claims.

What a patch shows is decided here and nowhere else. Git makes it from objects alone, in an empty
repository, so that no attribute, driver or setting of the change, the machine or the branch that
happens to be checked out has a say. Every file is shown as text but for what `content` knows to be
none; what hides in it is written out, and told in `hidden`.
"""

import os
import posixpath
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from unicodedata import category

from hornbook.commits.commit import commit_at
from hornbook.commits.content import (
    LINK,
    SUBMODULE,
    Content,
    FileChange,
    Hidden,
    content_of,
    hidden_in,
)
from hornbook.commits.git import (
    blobs,
    commit,
    entries_of,
    files_at,
    is_full_name,
    once,
    prefix_of,
    replacements,
    require_success,
    run,
    whereabouts,
)
from hornbook.disk import temporary_folder
from hornbook.errors import UsageError
from hornbook.text.visible import as_text

_NO_ATTRIBUTES = ("-c", f"core.attributesFile={os.devnull}")
_NO_CONFIGURATION = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
}


def run_on_objects(
    root: Path, *arguments: str, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run git with a repository's objects and nothing else of it.

    Its settings, attributes, refs and grafts are those of an empty repository that is made for
    this call, so that none of them, committed or not, decides what is shown.

    Raises:
        UsageError: The folder is in no repository.
    """
    place = whereabouts(root)
    with temporary_folder("objects") as folder:
        _make_empty(folder, place.object_format)
        environment = {
            **_NO_CONFIGURATION,
            "GIT_DIR": str(folder),
            "GIT_OBJECT_DIRECTORY": str(place.objects),
            "GIT_LITERAL_PATHSPECS": "1",
        }
        return run(root, *_NO_ATTRIBUTES, *arguments, stdin=stdin, environment=environment)


def _make_empty(folder: Path, object_format: str) -> None:
    """A bare repository without anything in it."""
    (folder / "refs").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    version = "0" if object_format == "sha1" else "1"
    settings = f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n"
    if version == "1":
        settings += f"[extensions]\n\tobjectFormat = {object_format}\n"
    (folder / "config").write_text(settings, encoding="ascii")


# A change must not be able to say that its submodules do not count.
_MODULES = "--ignore-submodules=none"
# What git prints behind a hunk's numbers is a guess that its attributes steer.
_GUESSED = re.compile(r"^(@@ -[0-9,]+ \+[0-9,]+ @@).*$", re.MULTILINE)
EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


def is_empty_tree(name: str) -> bool:
    """Whether this is the tree without anything, which stands before a first commit."""
    return name in EMPTY_TREE.values()


"""The name of a tree without files, by the repository's kind of hash."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change: the files and patches from `merge_base` to `head`, judged by `base`'s rules.

    `merge_bases` are all that the two have; from more than one of them no patch tells the whole.
    `incomplete` says what of the history between is missing or was exchanged, `hidden` what a
    reader of the patches does not see. `outside` are the changed files of the repository that do
    not lie below the root.
    """

    base: str
    head: str
    merge_base: str
    tree: str
    files: tuple[FileChange, ...]
    patches: dict[str, str]
    outside: tuple[str, ...] = ()
    merge_bases: tuple[str, ...] = ()
    incomplete: str = ""
    hidden: tuple[Hidden, ...] = ()

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


def changes(root: Path, pairs: Sequence[tuple[str, str]]) -> list[Change]:
    """The changes from commits to descendants of theirs, each as `change` has it, by one git.

    Every commit goes by its full name, and no pair's second one may be older than an earlier's.

    Raises:
        UsageError: Git cannot tell one of them.
    """
    altered = _altered(root)
    return [
        _change(root, (base, head), (base,), diff, altered)
        for (base, head), diff in zip(pairs, _diffs(root, pairs), strict=True)
    ]


def change_from_nothing(root: Path, head: str) -> Change:
    """A commit as a change that adds every file it has.

    Raises:
        UsageError: Git cannot tell.
    """
    nothing = EMPTY_TREE[whereabouts(root).object_format]
    diff = _diff_in(_diff_output(root, nothing, head))
    return _change(root, (nothing, head), (nothing,), diff, {})


def _between(root: Path, base: str, head: str, span: str) -> Change:
    if base == head:
        tree = commit_at(root, head).tree
        return Change(base, head, base, tree, (), {}, merge_bases=(base,))
    ancestors = _merge_bases(root, base, head, span)
    (diff,) = _diffs(root, [(ancestors[0], head)])
    return _change(root, (base, head), ancestors, diff, _altered(root))


@dataclass(frozen=True, slots=True)
class _Diff:
    """The changed files below the root, in git's order, and git's patch of all of them."""

    files: tuple[FileChange, ...]
    patch: str


def _change(
    root: Path,
    ends: tuple[str, str],
    ancestors: tuple[str, ...],
    diff: _Diff,
    altered: Mapping[str, set[str]],
) -> Change:
    base, head = ends
    ancestor = ancestors[0]
    in_order = tuple(sorted(diff.files, key=lambda change: change.path))
    sides = _Sides(root, ancestor, head, diff.files)
    hidden = sorted(hidden_in(in_order, sides), key=lambda each: (each.path, each.line or 0))
    return Change(
        base,
        head,
        ancestor,
        commit_at(root, head).tree,
        in_order,
        patches=_patches(root, ancestor, head, diff, sides),
        outside=_outside(root, ancestor, head),
        merge_bases=ancestors,
        incomplete=_incomplete(root, base, head, ancestors, altered),
        hidden=tuple(hidden),
    )


def _diffs(root: Path, pairs: Sequence[tuple[str, str]]) -> list[_Diff]:
    """What differs between the commits of each pair.

    Git writes the name of a pair's second commit, then what differs. Read from the end, that is
    what follows the name's last place: nothing that a commit holds can have its own name.
    """
    if not pairs:
        return []
    asked = "".join(f"{head} {ancestor}\n" for ancestor, head in pairs).encode()
    rest = _diff_output(root, "--stdin", "--always", stdin=asked)
    found = []
    for _, head in reversed(pairs):
        rest, name, diff = rest.rpartition(f"{head}\0".encode())
        if not name:
            raise UsageError(f"{root}: git has no commit {head}: run `git fsck`.")
        found.append(_diff_in(diff))
    return found[::-1]


def _diff_in(output: bytes) -> _Diff:
    """What git wrote of one pair: a record for each file, then a NUL and the patch."""
    found = []
    place = 0
    while output[place : place + 1] == b":":
        ends = output.index(b"\0", place)
        _, mode, _, _, kind = output[place:ends].decode("ascii").split(" ")
        status = kind[0]
        names = []
        for _ in range(2 if status in "RC" else 1):
            place, ends = ends + 1, output.index(b"\0", ends + 1)
            names.append(_name(output[place:ends]))
        place = ends + 1
        before = names[0] if len(names) > 1 else None
        found.append(FileChange(names[-1], status, before, mode))
    return _Diff(tuple(found), _shown(output[place + 1 :]))


def _merge_bases(root: Path, base: str, head: str, span: str) -> tuple[str, ...]:
    found = run(root, "merge-base", "--all", base, head)
    if found.returncode:
        raise UsageError(
            f"{span}: the two commits have no common ancestor here; in a shallow clone run "
            "`git fetch --unshallow`."
        )
    return tuple(found.stdout.decode("ascii").split())


def _altered(root: Path) -> Mapping[str, set[str]]:
    """The commits whose history here is not the true one, by how it was altered."""
    found = {
        "shallow": _first_words(whereabouts(root).common / "shallow"),
        "grafted": _first_words(whereabouts(root).common / "info" / "grafts"),
        "replaced": _replaced(root),
    }
    return {how: names for how, names in found.items() if names}


def _incomplete(
    root: Path,
    base: str,
    head: str,
    ancestors: tuple[str, ...],
    altered: Mapping[str, set[str]],
) -> str:
    """What is not true of the history between the merge base and the two sides, in words."""
    if not altered:
        return ""
    asked = ("rev-list", base, head, "--not", *ancestors)
    above = set(require_success(root, run(root, *asked)).stdout.decode("ascii").split())
    for how, names in altered.items():
        seen = names & (above if how == "shallow" else above | set(ancestors))
        if seen:
            return f"the history between is {how} at {min(seen)[:12]}"
    return ""


def _first_words(file: Path) -> set[str]:
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except FileNotFoundError:
        return set()
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def _replaced(root: Path) -> set[str]:
    lines = replacements(root, whereabouts(root).common).decode("utf-8", "replace").splitlines()
    return {line.split()[0].rpartition("/")[2] for line in lines}


def _relative(root: Path) -> str:
    """The option that makes names relative to the root; an empty repository has no folders."""
    prefix = prefix_of(root)
    return f"--relative={prefix}" if prefix else "--no-relative"


def _outside(root: Path, ancestor: str, head: str) -> tuple[str, ...]:
    """The changed files of the whole repository that a root below its top does not see."""
    prefix = prefix_of(root)
    if not prefix:
        return ()
    asked = ("diff", "-z", "--name-only", "--no-relative", _MODULES, ancestor, head)
    names = require_success(root, run_on_objects(root, *asked)).stdout.split(b"\0")
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


class _Sides:
    """What the changed files hold before and after, each blob read once."""

    def __init__(self, root: Path, ancestor: str, head: str, files: tuple[FileChange, ...]) -> None:
        self._old, self.new = files_at(root, ancestor), files_at(root, head)
        names = chain.from_iterable(map(self._blobs, files))
        self._links = _links_in(root, head, files)
        self._data = blobs(root, filter(None, chain(names, self._links.values())))
        self._prefix = prefix_of(root)

    def _blobs(self, each: FileChange) -> tuple[str | None, str | None]:
        return self._old.get(each.before or each.path), self.new.get(each.path)

    def of(self, each: FileChange) -> tuple[bytes | None, bytes | None]:
        """What the file held and holds; none where it is not there, or no regular file."""
        old, new = self._blobs(each)
        return self._data.get(old or ""), self._data.get(new or "")

    def target(self, each: FileChange) -> str | None:
        """Where a symbolic link leads now, from the top of the repository."""
        path = self._prefix + each.path
        data = self._data.get(self._links.get(path, ""))
        if data is None:
            return None
        target = data.decode("utf-8", "replace")
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))

    def content(self, each: FileChange) -> Content:
        """The content of both sides together: what is no text on one of them is none."""
        names = (each.before or each.path, each.path)
        sides = zip(names, self.of(each), strict=True)
        kinds = {content_of(path, data) for path, data in sides if data is not None}
        return next((kind for kind in (Content.DATA, Content.MEDIA) if kind in kinds), Content.TEXT)


def _links_in(root: Path, head: str, files: Sequence[FileChange]) -> dict[str, str]:
    """The blobs of a commit's links, by path from the top, if there is a link among the files."""
    if all(each.mode != LINK for each in files):
        return {}
    return {entry.path: entry.blob for entry in entries_of(root, head) if entry.is_link}


def _patches(root: Path, ancestor: str, head: str, diff: _Diff, sides: _Sides) -> dict[str, str]:
    """The patch of each changed file, whole; a file that changed its kind has two pieces."""
    pieces = _split_patch(diff.patch)
    if len(pieces) != len(diff.files):
        pieces = [_patch(root, ancestor, head, each) for each in diff.files]
    return {
        each.path: piece if sides.content(each) is Content.TEXT else _without_content(piece)
        for each, piece in zip(diff.files, pieces, strict=True)
    }


def _split_patch(text: str) -> list[str]:
    """The pieces of a patch, one for each file that it names; together they are the patch."""
    pieces = text.split("\ndiff --git ") if text else []
    ended = [f"{piece}\n" for piece in pieces[:-1]] + pieces[-1:]
    return ended[:1] + [f"diff --git {piece}" for piece in ended[1:]]


def _without_content(piece: str) -> str:
    """A patch that says which file changed, as git says it of what is no text."""
    head, found, rest = piece.partition("\n--- ")
    if not found:
        return piece
    old, _, after = rest.partition("\n+++ ")
    return f"{head}\nBinary files {old} and {after.partition(chr(10))[0]} differ\n"


# How a patch looks: every file as text. How many digits a hash needs grows with the repository: the
# same change must look the same.
_LOOKS = (
    *("-r", "-M", "-U3", "--text", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--abbrev=12", "--inter-hunk-context=0", "--diff-algorithm=myers", "--submodule=short"),
    *(_MODULES, "--src-prefix=a/", "--dst-prefix=b/"),
)


def _diff_output(root: Path, *named: str, stdin: bytes = b"", files: bool = True) -> bytes:
    """What git prints of two commits: a record for each file that differs, and the patch."""
    records = ("-z", "--raw") if files else ()
    settings = ("-c", "core.quotePath=false")
    asked = (*settings, "diff-tree", *records, "-p", *_LOOKS, _relative(root), *named)
    return require_success(root, run_on_objects(root, *asked, stdin=stdin)).stdout


def _patch(root: Path, ancestor: str, head: str, each: FileChange) -> str:
    """The patch of one file between two commits."""
    paths = filter(None, (each.before, each.path))
    return _shown(_diff_output(root, ancestor, head, "--", *paths, files=False))


def _shown(patch: bytes) -> str:
    return _GUESSED.sub(r"\1", as_text(patch))


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
