"""The branch of a plan's approved work: what it holds, and how further work comes onto it."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbook.commits.change import Touched, changed_names, touched
from hornbook.commits.git import entries_of, is_ancestor
from hornbook.commits.writer import (
    Conflict,
    alone,
    branch_tip,
    is_checked_out,
    make_commit,
    merged,
    merged_tree,
    move_branch,
    write,
)
from hornbook.disk import temporary_folder

BRANCHES = "hornbook/"


@dataclass(frozen=True, slots=True)
class ApprovalProof:
    """What a commit of approved work says about itself: ids, and hashes of receipt and events."""

    plan: str
    task: str
    run: str
    receipt: str
    events: str
    by: str = ""
    """The person whose word stands in the place of an accepted review."""

    @property
    def trailers(self) -> tuple[tuple[str, str], ...]:
        """The lines at the end of the message."""
        return (
            ("Hornbook-Plan", self.plan),
            ("Hornbook-Task", self.task),
            ("Hornbook-Run", self.run),
            ("Hornbook-Receipt", self.receipt),
            ("Hornbook-Events", self.events),
            *((("Hornbook-Approved-By", self.by),) if self.by else ()),
        )


@dataclass(frozen=True, slots=True)
class BranchMoved:
    """The branch has work at its tip that a commit was not made on, nor judged together with."""

    tip: str


@dataclass(frozen=True, slots=True)
class MergedWork:
    """Work on top of a tip that it was not made on, as a commit there.

    `files` are all that differ from the tip. With `conflicts` the commit has the tip's side of
    those paths. `same` says that every file of the work is, byte for byte, as it was.
    """

    tip: str
    commit: str
    tree: str
    files: tuple[str, ...]
    conflicts: tuple[str, ...]
    same: bool


def branch_of(slug: str) -> str:
    """The branch that a plan's approved work is on."""
    return BRANCHES + slug


def branch_obstacles(root: Path, branch: str) -> list[str]:
    """What would keep a branch of ours from being moved, each with its remedy."""
    above = branch.partition("/")[0]
    found = []
    if branch_tip(root, above) is not None:
        found.append(
            f"the branch {above} keeps git from having {branch}: rename it "
            f"(`git branch -m {above} another-name`)."
        )
    if is_checked_out(root, branch):
        found.append(f"{branch} is checked out: switch to another branch, it is Hornbook's.")
    return found


def start_of(root: Path, slug: str, begin: str, approved: Sequence[str]) -> str | Conflict:
    """What a task builds on: its dependencies' approved commits merged, else where the plan began.

    Where some only go together with other work, it is the branch, on which they do.

    Raises:
        UsageError: One of them is no commit.
    """
    found = merged(root, approved or [begin])
    if isinstance(found, str):
        return found
    tip = branch_tip(root, branch_of(slug))
    on_it = tip is not None and all(is_ancestor(root, each, tip) for each in approved)
    return tip if tip is not None and on_it else found


def land(
    root: Path, slug: str, approved: str, *, base: str, judged: tuple[str, str] | None = None
) -> str | BranchMoved:
    """The tip of the plan's branch, which now holds an approved commit that was made on `base`.

    Where the branch has moved on since, it is merged only if exactly that was judged: `judged` is
    the tip and the tree of the merge. Asked again, the same.

    Raises:
        UsageError: The branch is checked out somewhere, or git refused.
    """
    branch = branch_of(slug)
    with alone(root, "branches"):
        tip = branch_tip(root, branch)
        if tip is None or tip == base or is_ancestor(root, tip, approved):
            to = approved
        elif is_ancestor(root, approved, tip):
            return tip
        elif judged is not None and judged[0] == tip:
            message = f"Merge {approved[:12]} into {tip[:12]}"
            to = make_commit(root, judged[1], (tip, approved), message)
        else:
            return BranchMoved(tip)
        if to != tip:
            move_branch(root, branch, to, tip)
    return to


def merge_onto(root: Path, tip: str, work: str, base: str, message: str) -> MergedWork:
    """The work of a commit that was made on `base`, on top of another tip.

    Raises:
        UsageError: The two have no common ancestor, or git is too old.
    """
    found = merged_tree(root, tip, work)
    own = changed_names(root, base, work)
    conflicts = found.paths if isinstance(found, Conflict) else ()
    if isinstance(found, Conflict):
        tree = _with_files(root, tip, found.tree, [each for each in own if each not in conflicts])
    else:
        tree = found
    commit = make_commit(root, tree, (tip,), message)
    same = not conflicts and _same_files(root, work, tree, own)
    same = same and set(changed_names(root, tip, tree)) == set(own)
    return MergedWork(tip, commit, tree, paths_of(touched(root, tip, tree)), conflicts, same)


def paths_of(files: Iterable[Touched]) -> tuple[str, ...]:
    """Every touched path, old names of renamed files included."""
    found = list(files)
    old = {each.before for each in found if each.before is not None}
    return tuple(sorted({each.path for each in found} | old))


def _same_files(root: Path, one: str, other: str, paths: Iterable[str]) -> bool:
    """Whether two commits or trees have the same at some paths; paths are the repository's."""
    first, second = (
        {each.path: (each.mode, each.blob) for each in entries_of(root, name)}
        for name in (one, other)
    )
    return all(first.get(path) == second.get(path) for path in paths)


def _with_files(root: Path, tip: str, tree: str, paths: Sequence[str]) -> str:
    """The tree of a commit, with some paths as another tree has them."""
    entries = {each.path: each for each in entries_of(root, tree)}
    gone = "0" * len(tip)
    lines = [
        f"{entries[path].mode} {entries[path].blob}\t{path}"
        if path in entries
        else f"0 {gone}\t{path}"
        for path in paths
    ]
    with temporary_folder("index") as place:
        environment = {"GIT_INDEX_FILE": str(place / "index")}
        write(root, "read-tree", tip, environment=environment)
        listed = os.fsencode("".join(f"{line}\0" for line in lines))
        write(root, "update-index", "-z", "--index-info", stdin=listed, environment=environment)
        return write(root, "write-tree", environment=environment).decode("ascii").strip()
