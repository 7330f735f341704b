"""Commits handed from one clone to another: as packs of what the other lacks, or by a remote."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbook.commits.git import has_commit, run
from hornbook.commits.writer import attempt, name_commit, write
from hornbook.errors import UsageError

UNPACKED = 1_000_000
"""Up to so many bytes a pack is unpacked into single objects, of which git makes packs itself."""


@dataclass(frozen=True, slots=True)
class CommitPack:
    """What a clone needs for a commit; it must have `needs` before, and then everything is there.

    Without bytes the commit is among those.
    """

    commit: str
    needs: tuple[str, ...]
    data: bytes


def pack_of(root: Path, commit: str, known: Iterable[str]) -> CommitPack:
    """A commit with all that it is made of, but for what the commits in `known` have.

    Raises:
        UsageError: Git has not all of it.
    """
    others = [f"^{each}" for each in sorted(set(known) - {commit})]
    listed = "".join(f"{line}\n" for line in [commit, *others]).encode()
    boundary = write(root, "rev-list", "--boundary", "--stdin", stdin=listed).decode("ascii")
    lines = boundary.split()
    needs = tuple(sorted(line[1:] for line in lines if line.startswith("-")))
    if all(line.startswith("-") for line in lines):
        return CommitPack(commit, (commit,), b"")
    packed = ("pack-objects", "--revs", "--thin", "--delta-base-offset", "--stdout", "-q")
    return CommitPack(commit, needs, write(root, *packed, stdin=listed))


def unpack(root: Path, pack: CommitPack, name: str) -> None:
    """Take a commit over from a pack, and name it, so that git keeps it.

    Raises:
        UsageError: The pack is damaged, or the clone lacks what it needs.
    """
    if pack.data:
        # Strictly, nothing is written before what it leads to: who is killed leaves no commit that
        # is not whole. Git then also refuses faults of old commits, which a pack may have.
        strictly = ("unpack-objects", "-q", "--strict")
        small = len(pack.data) <= UNPACKED
        if not small or attempt(root, *strictly, stdin=pack.data).returncode:
            write(root, "index-pack", "--stdin", "--fix-thin", stdin=pack.data)
    require_whole(root, pack.commit)
    name_commit(root, name, pack.commit)


def require_whole(root: Path, commit: str) -> None:
    """Make sure that nothing is missing of a commit that was taken over.

    Raises:
        UsageError: Something is.
    """
    checked = ("rev-list", "--objects", "--quiet", commit, "--not", "--all")
    answer = run(root, *checked)
    if answer.returncode or not has_commit(root, commit):
        said = answer.stderr.decode("utf-8", "replace").strip() or "it is not there"
        raise UsageError(f"commit {commit[:12]} was taken over, but not whole: {said}")


def remote_tips(root: Path, remote: str) -> list[str]:
    """What this clone knows of the branches of a remote."""
    asked = ("for-each-ref", "--format=%(objectname) %(objecttype)", f"refs/remotes/{remote}/")
    lines = run(root, *asked).stdout.decode("ascii").splitlines()
    return sorted({line.split()[0] for line in lines if line.endswith(" commit")})


def present(root: Path, objects: Sequence[str]) -> list[str]:
    """Those of the objects that this clone has."""
    if not objects:
        return []
    asked = "".join(f"{each}\n" for each in objects).encode()
    lines = run(root, "cat-file", "--batch-check=%(objectname)", stdin=asked).stdout.splitlines()
    return [line.decode("ascii") for line in lines if b" " not in line]


def fetch_branches(root: Path, remote: str) -> None:
    """Learn what the branches of a remote are by now.

    Raises:
        UsageError: It cannot be reached, or there is none.
    """
    write(root, "fetch", "-q", "--no-tags", remote, f"+refs/heads/*:refs/remotes/{remote}/*")


def push_commit(root: Path, remote: str, name: str, commit: str) -> None:
    """Push a commit to a remote under a name of ours.

    Raises:
        UsageError: It cannot be reached, or refused it.
    """
    write(root, "push", "-q", "--no-verify", remote, f"+{commit}:{name}")


def fetch_commit(root: Path, remote: str, name: str) -> None:
    """Fetch what was pushed to a remote under a name of ours.

    Raises:
        UsageError: It cannot be reached, or has none such.
    """
    write(root, "fetch", "-q", "--no-tags", remote, f"+{name}:{name}")


def drop_pushed(root: Path, remote: str, names: Sequence[str]) -> None:
    """Have a remote let go of what was pushed to it under names of ours.

    Raises:
        UsageError: It cannot be reached, or refused that.
    """
    write(root, "push", "-q", "--no-verify", remote, *(f":{name}" for name in names))
