"""Which commits were taken back later, as messages of commits say."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from hornbook.commits import git

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
