"""What git's history says: a branch step by step, who edited files last, what was taken back."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.commit import commit_at
from hornbook.commits.git import TreeEntry
from hornbook.disk import to_seconds
from hornbook.errors import UsageError

_REVERTS = re.compile(rb"\bThis reverts commit ([0-9a-f]{7,64})")
_EVERYWHERE = ("HEAD", "--branches", "--remotes")


def reverted(root: Path, commits: Collection[str], at: str | None = None) -> frozenset[str]:
    """Those of the commits that a later one on any branch reverts, or whose merge it does.

    With `at` only what that commit knows counts.

    Raises:
        UsageError: Git cannot tell.
    """
    if not commits:
        return frozenset()
    where = _EVERYWHERE if at is None else (at,)
    named = _named(root, where)
    merges = _merges(root, commits, where) if named else {}
    return frozenset(
        commit
        for commit in commits
        if any(
            each.startswith(name) for each in (commit, *merges.get(commit, ())) for name in named
        )
    )


def _named(root: Path, where: Sequence[str]) -> set[str]:
    """What messages say that they revert, which may be short for a commit."""
    asked = ("log", "-F", "--grep=This reverts commit", "--format=%B", *where)
    printed = git.require_success(root, git.run(root, *asked)).stdout
    return {found[1].decode("ascii") for found in _REVERTS.finditer(printed)}


def _merges(root: Path, commits: Collection[str], where: Sequence[str]) -> dict[str, list[str]]:
    """The merges that brought each of the commits in."""
    asked = ("rev-list", "--merges", "--parents", *where)
    printed = git.require_success(root, git.run(root, *asked)).stdout.decode("ascii")
    found: dict[str, list[str]] = {}
    for line in printed.splitlines():
        merge, _, *brought = line.split()
        for commit in brought:
            if commit in commits:
                found.setdefault(commit, []).append(merge)
    return found


@dataclass(frozen=True, slots=True)
class FileCommit:
    """A commit that touched a file: its first parent, which the first commit lacks, and when."""

    commit: str
    parent: str | None
    at: str
    author: str
    subject: str


_HeadMark = tuple[bytes, bytes, int]


def _head_mark(root: Path) -> _HeadMark | None:
    """What HEAD is, without asking git: while it is equal, so is the history of HEAD.

    None where that does not lie in plain files at the root's own `.git`.
    """
    folder = root / ".git"
    if any((folder / each).exists() for each in ("reftable", "refs/replace", "info/grafts")):
        return None
    try:
        head = (folder / "HEAD").read_bytes()
        at = (folder / os.fsdecode(head[5:].strip())).read_bytes() if head[:5] == b"ref: " else head
    except OSError:
        return None
    shallow = folder / "shallow"
    return head, at, shallow.stat().st_mtime_ns if shallow.exists() else 0


def commits_of(root: Path, path: str, most: int) -> tuple[FileCommit, ...]:
    """The last commits of HEAD that touched a file by this path, newest first.

    There are none where there is no repository or no commit yet.
    """
    mark = _head_mark(root)
    return _listed(root, path, most) if mark is None else _listed_at(root, path, most, mark)


@lru_cache(maxsize=1024)
def _listed_at(
    root: Path,
    path: str,
    most: int,
    mark: _HeadMark,  # what it is kept by
) -> tuple[FileCommit, ...]:
    return _listed(root, path, most)


def _listed(root: Path, path: str, most: int) -> tuple[FileCommit, ...]:
    try:
        answer = git.run(
            root,
            "--literal-pathspecs",
            "log",
            "-z",
            f"-n{most}",
            "--format=%H%x1f%P%x1f%ct%x1f%an%x1f%s",
            "HEAD",
            "--",
            path,
        )
    except FileNotFoundError:
        return ()
    lines = answer.stdout.decode("utf-8", "replace").split("\0") if not answer.returncode else []
    return tuple(_read(line) for line in lines if line)


def _read(line: str) -> FileCommit:
    name, parents, seconds, author, subject = line.split("\x1f", 4)
    at = to_seconds(datetime.fromtimestamp(int(seconds), UTC))
    return FileCommit(name.strip(), next(iter(parents.split()), None), at, author, subject)


MOST_COMMITS = 5000
"""How many commits the walk goes back: in a long history it would take longer than all else."""


def last_edits(root: Path, paths: Collection[str]) -> dict[str, str]:
    """The newest commit that changed each path; without those that no recent commit changed.

    The walk ends as soon as every path was met.
    """
    wanted = set(paths)
    if not wanted:
        return {}
    asked = ("log", "-z", "--format=%x01%H", "--name-only", "--no-renames", "--relative")
    found: dict[str, str] = {}
    with git.started(root, *asked, *_newest(root), "--", *sorted(wanted)) as process:
        if process.stdout is None:
            raise TypeError("git log has no pipe")
        sha, rest = "", b""
        while wanted - found.keys() and (data := process.stdout.read(4096)):
            *fields, rest = (rest + data).split(b"\0")
            for field in fields:
                text = field.decode("utf-8", "replace").lstrip("\n")
                if text.startswith("\x01"):
                    sha = text[1:]
                elif text in wanted:
                    found.setdefault(text, sha)
        process.kill()
        process.communicate()
    return found


def _newest(root: Path) -> tuple[str, ...]:
    """The range of the newest commits; all of them if there are not so many."""
    answer = git.run(root, "rev-list", "--max-count=1", f"--skip={MOST_COMMITS}", "HEAD")
    oldest = answer.stdout.decode("ascii", "replace").strip()
    return (f"{oldest}..HEAD",) if oldest else ("HEAD",)


@dataclass(frozen=True, slots=True)
class Step:
    """One change of a branch: a commit against its first parent, which the first commit lacks.

    `missing` is the parent that the repository should have and has not, as in a shallow clone.
    """

    commit: str
    base: str | None
    seconds: int
    subject: str
    missing: str | None = None

    @property
    def date(self) -> str:
        """When it was committed, in UTC."""
        return to_seconds(datetime.fromtimestamp(self.seconds, UTC))


def steps(root: Path, *, last: int | None = None, span: str | None = None) -> tuple[Step, ...]:
    """The last steps of HEAD, or those of a range `A..B`, oldest first.

    Raises:
        UsageError: A side of the range names no commit, or there is none yet.
    """
    if span is None:
        limits = ["HEAD", *(() if last is None else (f"-n{last}",))]
        git.commit(root, "HEAD")
    else:
        limits = _limits(root, span)
    listed = git.require_success(root, git.run(root, "rev-list", "--first-parent", *limits))
    names = listed.stdout.decode("ascii").split()
    return tuple(_step(root, name) for name in reversed(names))


def tip_of(root: Path, span: str | None) -> str:
    """The commit that a range, or the branch, ends with.

    Raises:
        UsageError: It names none.
    """
    end = "" if span is None else span.partition("..")[2].removeprefix(".")
    return git.commit(root, end or "HEAD")


def _limits(root: Path, span: str) -> list[str]:
    start, dots, _ = span.partition("..")
    if not start.strip() or not dots:
        raise UsageError(f"{span!r} is no range: write A..B, the changes after A up to B.")
    return [tip_of(root, span), f"^{git.commit(root, start)}"]


def _step(root: Path, name: str) -> Step:
    found = commit_at(root, name)
    parent = found.parent
    if parent is not None and not git.has_commit(root, parent):
        return Step(name, None, found.seconds, found.subject, missing=parent)
    return Step(name, parent, found.seconds, found.subject)


def carry_entries(root: Path, chain: Sequence[Step]) -> Iterator[Step]:
    """The steps in their order, each when the open operation knows what its commit holds.

    Only the first commit is listed; what the others hold follows from how they differ. A step
    whose difference git cannot tell is listed when it is asked for.
    """
    held: dict[str, TreeEntry] = {}
    known = None
    differences = _differences(root, chain)
    for step in chain:
        changed = differences.get(step.commit)
        if step.base is not None and changed is not None:
            if known != step.base:
                held = {each.path: each for each in git.entries_of(root, step.base)}
            held = _applied(held, changed)
            git.remember_entries(root, step.commit, tuple(held.values()))
            known = step.commit
        yield step


def _applied(
    held: dict[str, TreeEntry], changed: Sequence[tuple[str, TreeEntry | None]]
) -> dict[str, TreeEntry]:
    after = dict(held)
    for path, entry in changed:
        if entry is None:
            del after[path]
        else:
            after[path] = entry
    if any(entry is not None and path not in held for path, entry in changed):
        return {path: after[path] for path in _in_git_order(after)}
    return after


def _in_git_order(paths: Iterable[str]) -> list[str]:
    """The paths sorted by their bytes, which is how their letters sort if all of it is UTF-8."""
    in_order = sorted(paths)
    try:
        "".join(in_order).encode()
    except UnicodeEncodeError:
        return sorted(in_order, key=os.fsencode)
    return in_order


def _differences(
    root: Path, chain: Sequence[Step]
) -> dict[str, list[tuple[str, TreeEntry | None]]]:
    """By commit, each path that its step touched, and what is there now; nothing if git fails."""
    pairs = "".join(f"{each.commit} {each.base}\n" for each in chain if each.base is not None)
    options = ("--stdin", "--always", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")
    asked = ("diff-tree", *options, "--no-relative", "--ignore-submodules=none")
    answer = git.run(root, *asked, stdin=pairs.encode())
    found: dict[str, list[tuple[str, TreeEntry | None]]] = {}
    if answer.returncode:
        return found
    touched: list[tuple[str, TreeEntry | None]] = []
    fields = iter(answer.stdout.split(b"\0"))
    for field in fields:
        if field.startswith(b":"):
            _, mode, _, blob, status = field.decode("ascii").split(" ")
            path = os.fsdecode(next(fields))
            touched.append((path, None if status == "D" else TreeEntry(path, mode, blob)))
        elif field:
            touched = found.setdefault(field.decode("ascii"), [])
    return found


def missing_commits(root: Path, names: Sequence[str]) -> list[str]:
    """Those of some commits that the repository has not; none where there is no repository."""
    if not names or not git.inside_repository(root):
        return []
    asked = "".join(f"{name}^{{commit}}\n" for name in names).encode()
    answer = git.run(root, "cat-file", "--batch-check", stdin=asked).stdout.splitlines()
    return [name for name, line in zip(names, answer, strict=False) if line.endswith(b" missing")]


def deleted(root: Path, folder: str) -> list[str]:
    """Files below a folder that git has in its index and that are not there any more."""
    listed = git.run(root, "ls-files", "--deleted", "-z", "--", folder)
    names = listed.stdout.split(b"\0") if listed.returncode == 0 else []
    return [name.decode("utf-8", "surrogateescape") for name in names if name]


def last_versions(root: Path, paths: Sequence[str]) -> dict[str, bytes]:
    """What some files last held: in HEAD, or before the commit that deleted them.

    Those that no commit had are left out, and so is all of it if git fails.
    """
    if not paths or not git.inside_repository(root):
        return {}
    asked = ("log", "--no-renames", "--raw", "-z", "--no-abbrev", "--format=", "-m", "--relative")
    listed = git.run(root, *asked, "--", *(f":(literal){path}" for path in paths))
    newest: dict[str, str] = {}
    fields = iter(listed.stdout.split(b"\0") if listed.returncode == 0 else ())
    for field in fields:
        if field.lstrip(b"\n").startswith(b":"):
            _, _, before, after, status = field.decode("ascii").split(" ")
            newest.setdefault(os.fsdecode(next(fields)), before if status == "D" else after)
    return {path: data for path, data in _known_blobs(root, newest).items() if path in paths}


def _known_blobs(root: Path, named: Mapping[str, str]) -> dict[str, bytes]:
    try:
        contents = git.blobs(root, named.values())
    except UsageError:  # as in a clone without blobs
        return {}
    return {path: contents[blob] for path, blob in named.items()}
