"""During an operation git is asked each thing once, and what it says is the same as without."""

from pathlib import Path

import pytest

from hornbook.commits import git as asked
from hornbook.commits.change import change, links, touched
from hornbook.commits.commit import commit_at
from hornbook.commits.trees import top_of, tree_of
from hornbook.commits.writer import common_folder, identity
from hornbook.errors import UsageError
from tests.kit.git import commit, git, start


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    place.mkdir()
    start(place, {"a.txt": "one\n", "below/b.txt": "two\n"})
    (place / "link").symlink_to("a.txt")
    git(place, "mv", "below/b.txt", "below/c.txt")
    commit(place, {"a.txt": "uno\n"})
    return place


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Every command of git that is run."""
    found: list[list[str]] = []
    command = asked._command

    def counted(root: Path, *arguments: str) -> list[str]:
        found.append(list(arguments))
        return command(root, *arguments)

    monkeypatch.setattr(asked, "_command", counted)
    return found


def everything(root: Path) -> tuple[object, ...]:
    base, head = asked.commit(root, "main"), asked.commit(root, "work")
    found = commit_at(root, head)
    return (
        change(root, f"{base}..{head}"),
        touched(root, base, head),
        links(root, head),
        asked.files_at(root, head),
        asked.blobs(root, asked.files_at(root, head).values()),
        tree_of(root, head),
        found.tree,
        found.seconds,
        found.text("a.txt"),
        found.text("none"),
        dict(found.modes),
        top_of(root),
        common_folder(root),
        identity(root),
        asked.is_ancestor(root, base, head),
        asked.is_ancestor(root, head, base),
    )


@pytest.mark.parametrize("below", ["", "below"])
def test_an_operation_says_what_git_says_without_one(root: Path, below: str) -> None:
    alone = everything(root / below)
    with asked.operation(root / below):
        assert everything(root / below) == alone
        assert everything(root / below) == alone


def test_only_what_can_change_is_asked_again(root: Path, started: list[list[str]]) -> None:
    with asked.operation(root):
        everything(root)
        first = len(started)
        everything(root)
        again = [command[0] for command in started[first:]]
    assert again == ["rev-parse", "rev-parse", "merge-base", "merge-base"]


def test_one_process_reads_all_objects_and_ends_with_the_operation(
    root: Path, started: list[list[str]]
) -> None:
    with asked.operation(root) as held, asked.operation(root) as same:
        assert same is held
        for name in asked.files_at(root, asked.commit(root, "work")).values():
            asked.blobs(root, [name])
        process = held._process
        assert process is not None
        assert sum("cat-file" in command for command in started) == 1
    assert process.returncode is not None
    assert held._process is None


def test_an_object_that_is_not_there_is_refused_as_it_is_alone(root: Path) -> None:
    missing = "f" * 40
    with asked.operation(root):
        with pytest.raises(UsageError, match="lacks the object"):
            asked.blobs(root, [missing])
        with pytest.raises(UsageError, match="names no commit"):
            asked.commit(root, missing)
        blob = asked.files_at(root, asked.commit(root, "work"))["a.txt"]
        with pytest.raises(UsageError, match="names no commit"):
            asked.commit(root, blob)
        assert asked.blobs(root, [blob]) == {blob: b"uno\n"}


def test_a_damaged_object_is_refused_and_others_can_still_be_read(root: Path) -> None:
    held = asked.files_at(root, "work")
    damaged = root / ".git" / "objects" / held["a.txt"][:2] / held["a.txt"][2:]
    damaged.chmod(0o644)
    damaged.write_bytes(b"nothing of git's")
    with asked.operation(root):
        with pytest.raises(UsageError):
            asked.blobs(root, [held["a.txt"]])
        assert asked.blobs(root, [held["below/c.txt"]])[held["below/c.txt"]] == b"two\n"


def test_what_is_made_during_an_operation_is_found(root: Path) -> None:
    with asked.operation(root):
        asked.commit(root, asked.commit(root, "work"))
        made = commit(root, {"new.txt": "new\n"})
        assert commit_at(root, made).text("new.txt") == b"new\n"
        assert asked.commit(root, "work") == made


def test_an_error_is_not_kept(root: Path) -> None:
    tries = iter(range(3))

    def compute() -> int:
        if not next(tries):
            raise UsageError("not yet")
        return 1

    with asked.operation(root) as held:
        with pytest.raises(UsageError):
            held.once("key", compute)
        assert held.once("key", compute) == 1
        assert held.once("key", compute) == 1
