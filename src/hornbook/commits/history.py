"""The steps of a branch, first parent by first parent, and what each commit on the way holds."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.commit import commit_at
from hornbook.commits.git import TreeEntry
from hornbook.disk import to_seconds
from hornbook.errors import UsageError


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
