"""Runs at a glance: their rows, their order, what is news of them, and what agents printed."""

import shutil
import threading
from dataclasses import replace
from pathlib import Path

from hornbook import Workspace
from hornbook.agents.assignment import Answer, Assignment
from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.loop.runs.overview import (
    LogFile,
    RunLine,
    RunRow,
    log_files,
    news,
    people_first,
    read_lines,
    run_row,
)
from hornbook.plans.events import Event
from hornbook.plans.principal import LOOP
from hornbook.plans.run_kinds import DEVELOP, STEP_STARTED, TOLD
from hornbook.settings.places import Places
from tests.kit.loops import CHECK, CONFIG, Stage, repository
from tests.kit.waiting import until

UNCONFINED = CONFIG.replace("gates:\n", "gates:\n  confine: never\n")
AT = "2026-03-01T12:00:00.000Z"
LATER = "2026-03-01T12:02:05.000Z"
LINE = RunLine("a-t1-1", "a", "task.a.1", "go", "running", "develop", 1, "", AT, AT)


def event(seq: int, kind: str, **data: object) -> Event:
    place = {"run": "a-t1-1", "round": 1, "number": 2, **data}
    return replace(EMPTY, seq=seq, kind=kind, data=place)


EMPTY = Event(1, "a", 0, "", AT, "", "loop", {}, "", "", LOOP)
USAGE = {"input_tokens": 80, "output_tokens": 4, "cost": 0.25, "currency": "EUR"}
EVENTS = [
    event(1, STEP_STARTED, step="develop"),
    event(2, TOLD, told={"kind": "agent.started", "agent": "claude", "log": "/l/one.log"}),
    event(3, TOLD, told={"kind": "agent.ended", "agent": "claude", "log": "/l/one.log"}),
    event(4, DEVELOP, agent="claude", usage=USAGE),
]


def row(**values: object) -> RunRow:
    return replace(run_row(LINE, EVENTS, LATER), **values)  # type: ignore[arg-type]  # real fields


def test_a_row_adds_up_what_the_events_of_a_run_tell() -> None:
    found = run_row(LINE, EVENTS, LATER)
    assert (found.agent, found.tokens, found.cost, found.currency) == ("claude", 84, 0.25, "EUR")
    assert found.elapsed_seconds == 125
    assert found.last_action == "claude: agent.ended"
    assert not found.needs_person


def test_a_run_that_asks_takes_no_more_time_and_needs_a_person() -> None:
    found = run_row(replace(LINE, status="asking"), [], LATER)
    assert (found.elapsed_seconds, found.needs_person, found.cost) == (0, True, None)
    plan = run_row(replace(LINE, status="asking", workflow="plan"), [], LATER)
    assert not plan.needs_person


def test_plans_that_need_a_person_come_first_and_stay_together() -> None:
    rows = [
        row(id="a-1", plan="a", status="approved"),
        row(id="b-1", plan="b"),
        row(id="c-1", plan="c"),
        row(id="c-2", plan="c", status="asking", needs_person=True),
    ]
    assert [each.id for each in people_first(rows)] == ["c-2", "c-1", "b-1", "a-1"]


def test_time_that_passes_is_no_news() -> None:
    before = row()
    known = {before.id: before}
    assert news(known, [replace(before, elapsed_seconds=999)]) == []
    moved = replace(before, step="review")
    assert news(known, [moved]) == [moved]
    assert news({}, [before]) == [before]


def test_the_files_of_a_call_are_known_from_its_start_on() -> None:
    files = list(log_files(EVENTS[:2]))
    assert [(each.path.name, each.step, each.stream) for each in files] == [
        ("one.log", "develop", "stdout"),
        ("one.err", "develop", "stderr"),
    ]
    assert list(log_files(EVENTS)) == files


def test_only_whole_lines_are_read_and_none_twice(tmp_path: Path) -> None:
    path = tmp_path / "one.log"
    file = LogFile(path, AT, "develop", "stdout")
    assert read_lines(file, 0) == ([], 0)
    path.write_bytes(b"first\nsec")
    lines, offset = read_lines(file, 0)
    assert [each.text for each in lines] == ["first"]
    path.write_bytes(b"first\nsecond\n")
    lines, offset = read_lines(file, offset, LATER)
    assert [(each.text, each.at) for each in lines] == [("second", LATER)]
    assert read_lines(file, offset) == ([], offset)


def test_whoever_works_on_a_run_learns_that_it_was_stopped(tmp_path: Path) -> None:
    root = repository(tmp_path)
    told = []

    def stopped_meanwhile(task: Assignment) -> Answer:
        told.append(task.is_over())
        with Workspace.open(root) as work, work.run_book() as book:
            book.stop("run-1", "the wrong task")
        told.append(task.is_over())
        return Answer(error="its run was ended")

    stage = Stage(root, developer=[stopped_meanwhile])
    assert stage.go().kind is StepKind.ENDED
    assert told == [False, True]
    with Workspace.open(root) as work, work.run_book() as book:
        assert book.line("run-1").status == "stopped"
        assert not {each.kind for each in book.events("run-1")} & {"gates.ran", "agent.task.review"}


def waiting(sign: Path, *, only_if: str) -> str:
    """A gate that shows that it runs and does not end by itself, if something holds."""
    return f"if {only_if}; then touch {sign}; exec sleep infinity; fi\n{CHECK}"


def stopped_at_work(stage: Stage, sign: Path) -> StepOutcome:
    """How a run ends that somebody stops while its gates are at work."""

    def stop() -> None:
        until(sign.exists, "the gates")
        with Workspace.open(stage.root) as work, work.run_book() as book:
            book.stop("run-1", "the wrong task")

    person = threading.Thread(target=stop)
    person.start()
    outcome = stage.go()
    person.join()
    return outcome


def test_the_gates_of_a_run_that_is_stopped_are_ended(tmp_path: Path) -> None:
    sign = tmp_path / "at-work"
    check = waiting(sign, only_if="test -e src/greet.py")
    stage = Stage(repository(tmp_path / "root", config=UNCONFINED, **{"check.sh": check}))
    outcome = stopped_at_work(stage, sign)
    assert (outcome.kind, outcome.status) == (StepKind.ENDED, "stopped")
    kinds = [event.kind for event in stage.log()]
    assert kinds[-1] == "run.ended"
    assert "gates.ran" not in kinds


def test_the_gates_on_the_base_of_a_run_that_is_stopped_are_ended(tmp_path: Path) -> None:
    sign, once = tmp_path / "at-work", tmp_path / "once"
    check = waiting(sign, only_if=f"test -e {once}")
    stage = Stage(repository(tmp_path / "root", config=UNCONFINED, **{"check.sh": check}))
    shutil.rmtree(Places(stage.root).gate_logs / "base", ignore_errors=True)
    once.touch()
    outcome = stopped_at_work(stage, sign)
    assert (outcome.kind, outcome.status) == (StepKind.ENDED, "stopped")
    assert "base.gated" not in [event.kind for event in stage.log()]
    # Nothing of what was cut off counts: whoever comes next has the base judged anew.
    once.unlink()
    assert stage.go("run-2").status == "approved"


def test_a_run_that_is_stopped_takes_no_further_step(tmp_path: Path) -> None:
    root = repository(tmp_path)
    loop = Stage(root).loop()
    loop.start("hello", "1", agent=None, run_id="run-1")
    loop.step("run-1")
    with Workspace.open(root) as work, work.run_book() as book:
        assert book.stop("run-1", "the wrong task").ended == ("run-1",)
        assert book.stop("run-1", "again").ended == ()
        assert book.line("run-1").status == "stopped"
        (row,) = book.rows()
        assert "the wrong task" in row.message
        assert book.report("run-1").breaches == ()
    assert loop.step("run-1").kind == "ended"
    with Workspace.open(root) as work, work.run_book() as book:
        assert [each.kind for each in book.events("run-1")].count("run.ended") == 1
