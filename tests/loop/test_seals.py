"""Whoever tampers with git while they work stops the run, and gets nothing by it."""

from pathlib import Path

import pytest

from hornbook.agents.assignment import Answer, Assignment
from hornbook.commits import kept_seals
from hornbook.loop.protocol import StepKind
from hornbook.loop.steps import seals
from tests.kit.fakes import git, writes
from tests.kit.loops import GREET, Stage, repository

HOOK = "#!/bin/sh\ntouch stolen\n"


class Killed(BaseException):
    """The process ends here."""


class Developer:
    """Tampers with git the first time it is asked, and may be killed right after that."""

    def __init__(self, root: Path, *, killed: bool = False) -> None:
        self._root = root
        self._killed = killed
        self.asked = 0

    def __call__(self, assignment: Assignment) -> Answer:
        self.asked += 1
        if self.asked == 1:
            self.tamper()
            if self._killed:
                raise Killed
        return writes({"src/greet.py": GREET})(assignment)

    def tamper(self) -> None:
        folder = self._root / ".git"
        (folder / "hooks" / "post-checkout").write_text(HOOK)
        (folder / "hooks" / "pre-push").unlink()
        git(self._root, "config", "core.pager", "touch stolen")
        empty = git(self._root, "commit-tree", "-m", "x", "HEAD^{tree}")
        git(self._root, "replace", "HEAD", empty.strip())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    repository(tmp_path)
    (tmp_path / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\n")
    return tmp_path


def facts(root: Path) -> tuple[object, ...]:
    folder = root / ".git"
    hooks = {path.name: path.read_bytes() for path in (folder / "hooks").iterdir()}
    return (folder / "config").read_bytes(), hooks, git(root, "replace")


def tampered(stage: Stage) -> list[list[str]]:
    return [event.data["found"] for event in stage.log() if event.kind == "git.tampered"]


FOUND = [
    "config was changed",
    "hooks/post-checkout was added",
    "hooks/pre-push was removed",
    "refs/replace was added",
]


def test_tampering_stops_the_run_and_is_put_back_and_told_once(root: Path) -> None:
    before, developer = facts(root), Developer(root)
    stage = Stage(root, [developer])
    asked = stage.go()
    assert asked.kind is StepKind.ASKING
    assert "hooks/post-checkout was added" in asked.message
    assert facts(root) == before
    assert tampered(stage) == [FOUND]
    aside = next((root / ".hornbook/quarantine/hello").iterdir())
    assert (aside / "hooks/post-checkout").read_text() == HOOK
    assert stage.drive("run-1").kind is StepKind.ASKING, "nothing goes on without a person"
    stage.answer("run-1", "return", "I ended what did that.")
    assert stage.drive("run-1").status == "approved"
    assert tampered(stage) == [FOUND]
    assert facts(root) == before
    assert not (root / "stolen").exists()


def test_who_is_killed_after_tampering_is_found_out_all_the_same(root: Path) -> None:
    before, developer = facts(root), Developer(root, killed=True)
    stage = Stage(root, [developer])
    with pytest.raises(Killed):
        stage.go()
    assert facts(root) != before
    asked = stage.drive("run-1")
    assert asked.kind is StepKind.ASKING
    assert developer.asked == 1, "nobody works on a repository that was tampered with"
    assert tampered(stage) == [FOUND]
    assert facts(root) == before


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_while_it_is_put_back_it_is_told_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    before, developer = facts(root), Developer(root)
    stage = Stage(root, [developer])
    real = kept_seals.put_back

    def killed(*arguments: object) -> None:
        if moment == "after":
            real(*arguments)  # type: ignore[arg-type]  # as it was called
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(seals, "put_back", killed)
        with pytest.raises(Killed):
            stage.go()
    asked = stage.drive("run-1")
    assert asked.kind is StepKind.ASKING
    assert "config was changed" in asked.message
    assert tampered(stage) == [FOUND]
    assert facts(root) == before


def test_a_seal_that_is_gone_asks_a_person_and_is_not_made_anew(root: Path) -> None:
    def develop(assignment: Assignment) -> Answer:
        for seal in (root / ".git/hornbook/seals").iterdir():
            seal.unlink()
        return writes({"src/greet.py": GREET})(assignment)

    asked = Stage(root, [develop]).go()
    assert asked.kind is StepKind.ASKING
    assert "gone or was changed" in asked.message


def test_what_a_person_does_to_git_between_steps_is_theirs(root: Path) -> None:
    stage = Stage(root)
    run = stage.loop().start("hello", "1", agent=None, run_id="run-1")
    git(root, "config", "alias.st", "status")
    assert run.kind is StepKind.CONTINUED
    assert stage.drive("run-1").status == "approved"
    assert git(root, "config", "alias.st").strip() == "status"
    assert tampered(stage) == []
