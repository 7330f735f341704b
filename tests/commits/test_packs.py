"""Commits that one clone hands to another: whole, or not at all."""

from pathlib import Path

import pytest

from hornbook.commits.git import has_commit
from hornbook.commits.packs import CommitPack, pack_of, remote_tips, unpack
from hornbook.errors import UsageError
from tests.kit.git import commit, git, start


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    start(tmp_path / "here", {"a.txt": "first\n"})
    return tmp_path / "here"


def test_a_pack_that_is_cut_off_leaves_no_commit_behind(root: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    git(tmp_path, "clone", "-q", str(root), str(there))
    base = git(root, "rev-parse", "HEAD")
    made = commit(root, {f"{number}.txt": f"text {number}\n" * 9 for number in range(9)})
    pack = pack_of(root, made, [base])
    for length in (len(pack.data) * 2 // 3, len(pack.data) - 30):
        with pytest.raises(UsageError, match="failed"):
            unpack(there, CommitPack(made, pack.needs, pack.data[:length]), "refs/hornbook/x")
        assert not has_commit(there, made)
    unpack(there, pack, "refs/hornbook/x")
    assert git(there, "fsck", "--connectivity-only", "--no-dangling") == ""
    assert git(there, "show", "refs/hornbook/x:8.txt").startswith("text 8")


def test_a_commit_that_git_finds_fault_with_is_taken_over_all_the_same(
    root: Path, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    git(tmp_path, "clone", "-q", str(root), str(there))
    base = git(root, "rev-parse", "HEAD")
    tree = git(root, "rev-parse", "HEAD^{tree}")
    by = "Ann<ann@example.org> 1 +0000"
    (tmp_path / "raw").write_text(f"tree {tree}\nparent {base}\nauthor {by}\ncommitter {by}\n\nx\n")
    raw = str(tmp_path / "raw")
    made = git(root, "hash-object", "-t", "commit", "-w", "--literally", raw)
    unpack(there, pack_of(root, made, [base]), "refs/hornbook/x")
    assert git(there, "rev-parse", "refs/hornbook/x") == made


def test_only_the_remote_that_others_fetch_from_counts_as_known_to_them(root: Path) -> None:
    pushed = git(root, "rev-parse", "HEAD")
    private = commit(root, {"b.txt": "nobody else has it\n"})
    git(root, "update-ref", "refs/remotes/origin/main", pushed)
    git(root, "update-ref", "refs/remotes/origin-fork/main", private)
    assert remote_tips(root, "origin") == [pushed]
    assert remote_tips(root, "origin-fork") == [private]
