"""What a run leaves besides its commits: checkpoints when they are due, and every edit."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hornbook.agents.assignment import Answer, Assignment, Record
from hornbook.gates.gate import GateReport
from hornbook.loop.runs.files import LARGEST
from tests.kit.fakes import Move, git, reviews, writes
from tests.kit.loops import BROKEN, CONFIG, GREET, PLAN, Stage, repository
from tests.kit.step_runs import Script as Model
from tests.kit.step_runs import act, developer, gate, report

LOGO = b"\x89PNG\r\n\x1a\n" + b"\0\xff\1" * 10
DUE = CONFIG + "checkpoint:\n  percent: 1\n"


def snapshots(root: Path, task: int = 1) -> Path:
    return root / ".hornbook/plans/hello/tasks" / str(task) / "artifacts/snapshots"


def edits(folder: Path) -> dict[str, tuple[bytes | None, bytes | None]]:
    """What lies in the folders of an attempt: before and after, by path."""
    found = {}
    for place in sorted(folder.glob("*/edit.json")):
        facts = json.loads(place.read_bytes())
        sides = [place.parent / name for name in ("before", "after")]
        before, after = (side.read_bytes() if side.is_file() else None for side in sides)
        found[facts["path"]] = (before, after)
    return found


# Checkpoints


def test_a_plan_is_checkpointed_when_its_tiers_become_due_and_once(tmp_path: Path) -> None:
    bad = writes({"src/greet.py": BROKEN})
    stage = Stage(repository(tmp_path, config=DUE), [bad, bad, writes({"src/greet.py": GREET})])
    written = tmp_path / ".hornbook/plans/hello/checkpoint.json"
    assert stage.go().status == "approved"
    told = [
        event.data.get("due", "checkpoint")
        for event in stage.log()
        if event.kind in {"agent.task.development", "plan.checkpointed"}
    ]
    assert told == [False, "checkpoint", True, True]
    event = stage.newest("plan.checkpointed")
    assert json.loads(written.read_bytes())["seq"] == event.data["seq"]


def test_a_step_that_is_cut_off_behind_its_checkpoint_makes_no_second_one(tmp_path: Path) -> None:
    waits: list[Move] = [lambda _: Answer(error="later", retry_after=5.0)]
    wordy = PLAN.replace("Nobody is greeted", "Nobody is greeted, " + "and nobody is seen " * 60)
    stage = Stage(repository(tmp_path, wordy, DUE), waits)
    stage.loop().start("hello", "1", agent=None, run_id="run-1")
    for _ in range(4):
        stage.loop().step("run-1")
        stage.clock.seconds += 60
    assert stage.kinds().count("run.waiting") >= 2
    assert stage.kinds().count("plan.checkpointed") == 1


def test_a_plan_that_is_not_due_is_not_checkpointed(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path))
    assert stage.go().status == "approved"
    assert "plan.checkpointed" not in stage.kinds()
    assert stage.newest("agent.task.development").data["due"] is False


# Edits


def test_each_changed_file_of_each_attempt_lies_there_before_and_after(tmp_path: Path) -> None:
    def second(assignment: Assignment) -> Answer:
        folder = Path(assignment.folder)
        (folder / "src/greet.py").write_text(GREET)
        (folder / "src/logo.png").write_bytes(LOGO)
        (folder / "src/app.py").rename(folder / "src/main.py")
        (folder / "src/large.bin").write_bytes(b"x" * (LARGEST + 1))
        return Answer(text="done")

    stage = Stage(repository(tmp_path), [writes({"src/greet.py": BROKEN}), second])
    assert stage.go().status == "approved"
    first, last = sorted(path for path in snapshots(tmp_path).iterdir() if path.is_dir())
    assert edits(first) == {"src/greet.py": (None, BROKEN.encode())}
    old = b"print('the app does nothing')\n"
    assert edits(last) == {
        "src/greet.py": (BROKEN.encode(), GREET.encode()),
        "src/large.bin": (None, None),
        "src/logo.png": (None, LOGO),
        "src/main.py": (old, old),
    }
    facts = {f["path"]: f for f in (json.loads(p.read_bytes()) for p in last.glob("*/edit.json"))}
    assert facts["src/main.py"]["renamed_from"] == "src/app.py"
    assert facts["src/large.bin"]["after"]["kept"] is False
    assert facts["src/large.bin"]["after"]["bytes"] == LARGEST + 1
    assert json.loads((last / "edits.json").read_bytes())["edits"] == 4
    assert (snapshots(tmp_path) / f"{first.name}.patch").is_file()


def test_snapshots_that_were_removed_are_made_again_from_events_and_git(tmp_path: Path) -> None:
    rejected = reviews("rejected", "fixable", violated=True, feedback="Say more.")
    stage = Stage(repository(tmp_path), reviewer=[rejected, reviews()])
    stage.loop().start("hello", "1", agent=None, run_id="run-1")
    while not list(snapshots(tmp_path).glob("*/edits.json")):
        stage.loop().step("run-1")
    (first,) = [path for path in snapshots(tmp_path).iterdir() if path.is_dir()]
    before = {path.relative_to(first): path.read_bytes() for path in first.rglob("*.json")}
    shutil.rmtree(first)
    stage.loop().step("run-1")
    after = {path.relative_to(first): path.read_bytes() for path in first.rglob("*.json")}
    assert after == before
    assert edits(first) == {"src/greet.py": (None, GREET.encode())}


@dataclass
class Embedded:
    """The embedded developer with a model that follows a script, as one of the loop's agents."""

    state: Path
    model: Model
    name: str = "embedded"
    seen: list[Assignment] = field(default_factory=list)

    def work(self, assignment: Assignment, record: Record) -> Answer:
        def check(_names: Sequence[str]) -> GateReport:
            return report(gate("check", passed=True))

        return developer(self.model, check, self.state).work(assignment, record)


def test_every_edit_of_an_embedded_developer_lies_there_before_and_after(tmp_path: Path) -> None:
    first, second = 'def greet(name): return "hello"\n', GREET
    model = Model(
        [
            act("edit_file", path="src/greet.py", content=first),
            act("edit_file", path="src/greet.py", content=second),
            act("complete", summary="done"),
        ]
    )
    stage = Stage(repository(tmp_path))
    stage.developer = Embedded(tmp_path / "state", model)  # type: ignore[assignment]  # it works like one
    assert stage.go().status == "approved"
    told: list[Mapping[str, object]] = [
        event.data["told"] for event in stage.log() if event.kind == "agent.told"
    ]
    changed = [each for each in told if each.get("changed")]
    assert [each["step"] for each in changed] == [1, 2]
    assert git(tmp_path, "cat-file", "blob", str(changed[1]["before"])) == first.rstrip("\n")
    assert "snapshot" not in changed[0]
    (place,) = [path for path in snapshots(tmp_path).iterdir() if path.is_dir()]
    steps = {
        path.parent.name: json.loads(path.read_bytes()) for path in place.glob("step-*/edit.json")
    }
    assert {name: facts["path"] for name, facts in steps.items()} == {
        "step-0001": "src/greet.py",
        "step-0002": "src/greet.py",
    }
    assert (place / "step-0001/after").read_text() == (place / "step-0002/before").read_text()
    assert (place / "step-0002/after").read_text() == second
    assert not (place / "step-0001/before").exists()
    shutil.rmtree(tmp_path / "state")
    shutil.rmtree(place)
    stage.loop().step("run-1")
    assert (place / "step-0002/after").read_text() == second
