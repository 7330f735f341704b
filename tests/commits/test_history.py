"""What git tells of a file's past."""

from pathlib import Path

from hornbook.commits.history import commits_of
from tests.kit.git import commit, git, start


def test_the_last_commits_of_a_file_are_those_of_head_wherever_it_moves(tmp_path: Path) -> None:
    def told() -> list[str]:
        return [each.subject for each in commits_of(tmp_path, "a.txt", 10)]

    assert told() == []
    start(tmp_path, {"a.txt": "1\n"})
    first = told()
    assert len(first) == 1
    commit(tmp_path, {"a.txt": "2\n"})
    git(tmp_path, "commit", "--amend", "-qm", "second")
    assert told() == ["second", *first]
    git(tmp_path, "pack-refs", "--all")
    assert told() == ["second", *first]
    git(tmp_path, "commit", "--amend", "-qm", "another")
    assert told() == ["another", *first]
    git(tmp_path, "checkout", "-q", "HEAD~1")
    assert told() == first
