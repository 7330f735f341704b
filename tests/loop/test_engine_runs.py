"""The engine in one process: waits, questions, spawned runs, failures, limits, what it keeps."""

import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sql

from hornbook.disk import lock
from hornbook.errors import EngineError, NotFound, PlanHeld, UsageError
from hornbook.loop.engine import durable
from hornbook.loop.engine.engine import Engine, EngineScope, Options
from hornbook.loop.engine.engine_runs import (
    EngineRun,
    EngineRuns,
    Request,
    RunPhase,
    wake,
    wanted_run,
)
from hornbook.loop.engine.workers import Roster, connect, database_url
from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.plans.databases.shared_database import checked_url
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from tests.kit.engine_loop import ScriptedLoop
from tests.kit.engines import DATABASES, RUN, attempts, database_for, effects, prepare, tried
from tests.kit.waiting import until

PATIENCE = threading.Event()
"""Nobody sets it: what is waited for is another thread's work, or time itself."""


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    with database_for(request.param) as url:
        yield url


@contextmanager
def engine_at(
    state: Path, database: str = "", *, run_seconds: float = 0.0, parallel: int = 2
) -> Iterator[Engine]:
    options = Options(state, database, parallel, 0.2, 1.0, run_seconds)
    with (
        closing(ScriptedLoop(state, database=database)) as loop,
        Engine(loop, options, EngineScope(plan="alpha")) as engine,
    ):
        yield engine


def settled(engine: Engine) -> dict[str, EngineRun]:
    while any(each.needs_nobody for each in engine.runs.of_plan("alpha")):
        PATIENCE.wait(0.01)
    return {each.run: each for each in engine.runs.of_plan("alpha")}


def begin(engine: Engine, run: str = RUN, agent: str | None = None) -> None:
    engine.begin(Request(run, "alpha", "task.alpha.1", agent))


def test_a_run_waits_spawns_asks_and_goes_on_with_the_answer(tmp_path: Path, database: str) -> None:
    script = {
        RUN: ["wait 1.2", "spawn a.child", "ask", "wait 0.05", "end approved"],
        "a.child": ["continue", "end rejected"],
    }
    state = prepare(tmp_path / "state", script)
    with engine_at(state, database, parallel=1) as engine:
        begin(engine, agent="scripted")
        runs = settled(engine)
        assert runs[RUN].phase is RunPhase.ASKING
        assert runs[RUN].message == "Which one?"
        assert runs[RUN].leg == 2  # the long wait gave its place to others
        assert (runs["a.child"].phase, runs["a.child"].status) == (RunPhase.ENDED, "rejected")
        assert (runs["a.child"].parent, runs["a.child"].agent) == (RUN, "scripted")
        with closing(ScriptedLoop(state, database=database)) as elsewhere:
            elsewhere.answer(RUN, "the second")
        engine.resume(RUN)
        run = settled(engine)[RUN]
        assert (run.phase, run.status, run.steps) == (RunPhase.ENDED, "approved", 4)
        assert run.spent > 1.2
        with pytest.raises(EngineError, match="has ended"):
            engine.resume(RUN)
    assert (RUN, 3, "the second") in effects(state, database)
    assert (RUN, 0, "task.alpha.1 by scripted") in effects(state, database)
    assert set(tried(state).values()) == {1}


def test_resuming_a_run_that_asks_finds_out_whether_it_still_does(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["ask", "end approved"]})
    with engine_at(state) as engine:
        begin(engine)
        assert settled(engine)[RUN].phase is RunPhase.ASKING
        engine.resume(RUN)
        assert settled(engine)[RUN].phase is RunPhase.ASKING
        with closing(ScriptedLoop(state)) as elsewhere:
            elsewhere.answer(RUN, "told by other means")
        engine.resume(RUN)
        assert settled(engine)[RUN].status == "approved"


def test_a_worker_goes_on_once_it_is_told_of_an_answer(tmp_path: Path) -> None:
    (tmp_path / ".hornbook").mkdir()
    places, settings = Places(tmp_path), Settings()
    assert not wake(places, settings, RUN)
    prepare(places.state, {RUN: ["ask", "end approved"]})
    with engine_at(places.state) as engine:
        begin(engine)
        assert settled(engine)[RUN].phase is RunPhase.ASKING
        with closing(ScriptedLoop(places.state)) as elsewhere:
            elsewhere.answer(RUN, "told by other means")
        assert wake(places, settings, RUN)
        while engine.runs.get(RUN).phase is not RunPhase.ENDED:
            PATIENCE.wait(0.01)
        assert engine.runs.get(RUN).status == "approved"
    assert not wake(places, settings, RUN)


def test_a_worker_lives_on_whatever_fails_at_a_heartbeat(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["end approved"]})
    told: list[str] = []
    with (
        closing(ScriptedLoop(state)) as loop,
        Engine(
            loop,
            Options(state, "", 2, 0.05, 1000.0),
            tell=lambda _who, said: told.append(said),
        ) as engine,
    ):
        (state / "engine.db-workers/no-file").mkdir()  # no lock can be had of a folder
        until(lambda: any("IsADirectoryError" in each for each in told), "a failed beat")
        (state / "engine.db-workers/no-file").rmdir()
        with closing(sqlite3.connect(state / "engine.db")) as database, database:
            database.execute("DELETE FROM hornbook_workers")
        until(lambda: _workers(state) == [engine.roster.worker], "the next beat")
    assert len([each for each in told if "IsADirectoryError" in each]) == 1


def _workers(state: Path) -> list[str]:
    with closing(sqlite3.connect(state / "engine.db")) as database:
        return [worker for (worker,) in database.execute("SELECT worker FROM hornbook_workers")]


def test_a_run_that_was_taken_and_could_not_be_begun_is_taken_again(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["end approved"]})
    fault = "BEFORE UPDATE ON hornbook_runs WHEN OLD.leg = 0 AND NEW.leg = 1"
    with engine_at(state) as engine:
        with closing(sqlite3.connect(state / "engine.db")) as database, database:
            database.execute(f"CREATE TRIGGER fault {fault} BEGIN SELECT RAISE(ABORT, 'full'); END")
        begin(engine)
        until(lambda: engine.runs.get(RUN).worker != "", "the run's worker")
        with (
            engine._turn,  # the attempt that took it is over
            closing(sqlite3.connect(state / "engine.db")) as database,
            database,
        ):
            assert engine.runs.get(RUN).phase is RunPhase.NEW
            database.execute("DROP TRIGGER fault")
        until(lambda: engine.runs.get(RUN).phase is RunPhase.ENDED, "the run's end")
    assert tried(state) == {(RUN, 0): 1}


def test_what_keeps_a_worker_from_taking_runs_is_told_once_and_it_goes_on(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["end approved"], "orphan": ["end approved"]})
    told: list[str] = []
    options = Options(state, "", 2, 0.2, 1.0)
    with (
        closing(ScriptedLoop(state)) as loop,
        Engine(
            loop, options, EngineScope(run=RUN), tell=lambda _, what: told.append(what)
        ) as engine,
    ):
        engine.begin(Request("orphan", "alpha", parent="nobody"))
        begin(engine)
        until(lambda: bool(told), "what is told")
        engine.runs.add([Request("nobody", "alpha")])
        until(lambda: engine.runs.get(RUN).phase is RunPhase.ENDED, "the run's end")
    assert "this process takes no run at the moment: NotFound" in told[0]
    assert told[1:] == ["taken", "ended approved"]


def test_a_step_that_fails_ends_its_run_until_it_is_resumed(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["continue", "raise no disk", "end approved"]})
    with engine_at(state) as engine:
        begin(engine)
        run = settled(engine)[RUN]
        assert (run.phase, run.status) == (RunPhase.ENDED, "failed")
        assert run.message == "RuntimeError: no disk"
    prepare(state, {RUN: ["continue", "continue", "end approved"]})
    with engine_at(state) as engine:
        engine.resume(RUN)
        assert settled(engine)[RUN].status == "approved"
    assert tried(state) == {(RUN, 0): 1, (RUN, 1): 2, (RUN, 2): 1}


def test_the_time_of_a_run_is_limited_and_a_person_may_take_any(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["ask", "wait 0.05", "wait 400", "end approved"]})
    thinking = 0.7
    with engine_at(state, run_seconds=300) as engine:
        started = time.monotonic()
        begin(engine)
        settled(engine)
        PATIENCE.wait(thinking)
        with closing(ScriptedLoop(state)) as elsewhere:
            elsewhere.answer(RUN, "late")
        engine.resume(RUN)
        run = settled(engine)[RUN]
        assert run.spent - 400.05 < time.monotonic() - started - thinking
        assert (run.phase, run.status) == (RunPhase.ENDED, "timed_out")
        assert len(attempts(state)) == 3
    prepare(state, {RUN: ["ask", "continue", "continue", "end approved"]})
    with engine_at(state, run_seconds=300) as engine:
        engine.resume(RUN)
        assert settled(engine)[RUN].status == "approved"


def test_runs_of_a_plan_work_side_by_side_up_to_the_limit(tmp_path: Path) -> None:
    names = [f"run.alpha.{number}" for number in range(5)]
    state = prepare(tmp_path / "state", {name: ["continue", "end approved"] for name in names})
    with engine_at(state, parallel=3) as engine:
        for name in names:
            begin(engine, name)
            begin(engine, name)
        assert {run.status for run in settled(engine).values()} == {"approved"}
    assert set(tried(state).values()) == {1}


def test_what_is_kept_is_json_under_a_fixed_version(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["continue", "ask"]})
    with engine_at(state) as engine:
        begin(engine)
        settled(engine)
    with closing(sqlite3.connect(state / "engine.db")) as file:
        assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        kept = file.execute("SELECT output FROM operation_outputs WHERE output IS NOT NULL")
        outputs = [json.loads(output) for (output,) in kept]
        assert {each["kind"] for each in outputs if each} == {"continued", "asking"}
        versions = file.execute("SELECT DISTINCT application_version FROM workflow_status")
        assert versions.fetchall() == [(durable.PROTOCOL,)]
        assert durable.PROTOCOL == "hornbook-runs-2"


def test_the_engine_reaches_for_no_network(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["end approved"]})
    reached: list[object] = []
    listening = True

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if listening and event in {"socket.connect", "socket.bind", "socket.getaddrinfo"}:
            reached.append((event, arguments[-1]))

    sys.addaudithook(watch)
    with engine_at(state) as engine:
        begin(engine)
        settled(engine)
    listening = False
    assert reached == []


def test_a_plan_is_held_by_one_living_worker(tmp_path: Path, database: str) -> None:
    tables = connect(database_url(tmp_path, database))
    first, second = Roster(tables, tmp_path, 30.0), Roster(tables, tmp_path, 30.0)
    for each in (first, second):
        each.join()
    first.hold("alpha")
    first.hold("alpha")
    second.hold("beta")
    with pytest.raises(PlanHeld, match="alpha is being executed already"):
        second.hold("alpha")
    assert set(second.living()) == {first.worker, second.worker}
    first.leave()
    assert set(second.living()) == {second.worker}
    second.hold("alpha")
    second.leave()
    tables.dispose()


def test_a_run_is_not_over_while_what_came_of_it_at_any_depth_goes_on(tmp_path: Path) -> None:
    tables = connect(database_url(tmp_path, ""))
    runs = EngineRuns(tables)
    chain = ["alpha-1", "alpha-t1-1", "alpha-t1-1-refined", "alpha-2-t1-1"]
    above: str | None = None
    for run in chain:
        runs.add([Request(run, "alpha", parent=above)])
        above = run
    for run in chain[:-1]:
        runs.settle(StepOutcome(StepKind.ENDED, run, status="superseded"))
    assert wanted_run(runs.of_plan("alpha"), "alpha", None).name == "alpha-1"
    runs.settle(StepOutcome(StepKind.ENDED, chain[-1], status="approved"))
    assert wanted_run(runs.of_plan("alpha"), "alpha", None).name == "alpha-2"
    tables.dispose()


def test_who_looks_at_a_dead_worker_beside_another_does_not_take_it_for_alive(
    tmp_path: Path,
) -> None:
    tables = connect(database_url(tmp_path, ""))
    here, ended = Roster(tables, tmp_path, 30.0), Roster(tables, tmp_path, 30.0)
    ended.join()
    ended.hold("alpha")
    assert here.holder("alpha") is not None
    os.close(held_by(ended))  # as the kernel does when its process ends
    looking = lock(tmp_path / "engine.db-workers" / ended.worker, shared=True)
    assert looking is not None
    assert here.holder("alpha") is None
    os.close(looking)
    tables.dispose()


def test_who_looks_while_another_forgets_a_dead_worker_sees_it_dead(tmp_path: Path) -> None:
    tables, others = (connect(database_url(tmp_path, "")) for _ in range(2))
    here, ended = Roster(tables, tmp_path, 30.0), Roster(tables, tmp_path, 30.0)
    ended.join()
    ended.hold("alpha")
    os.close(held_by(ended))
    forgets = Roster(others, tmp_path, 30.0)
    # Once the rows are read, and before the lock of any is looked at.
    sql.event.listen(tables, "checkin", lambda *_returned: forgets.living(), once=True)
    assert ended.worker not in here.living()
    here.hold("alpha")
    for each in (tables, others):
        each.dispose()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_whose_new_file_is_swept_away_makes_it_again(tmp_path: Path) -> None:
    tables = connect(database_url(tmp_path, ""))
    here, joins = Roster(tables, tmp_path, 30.0), Roster(tables, tmp_path, 30.0)
    file = tmp_path / "engine.db-workers" / joins.worker
    file.parent.mkdir()
    swept = lock(file)  # between its making and its locking
    assert swept is not None
    joining = threading.Thread(target=joins.join)
    joining.start()
    until(lambda: opened_by_us(file) == 2, "it waits for the lock")
    file.unlink()
    os.close(swept)
    joining.join()
    assert file.exists()
    joins.hold("alpha")
    assert here.holder("alpha") is not None
    os.close(held_by(joins))
    assert here.holder("alpha") is None, "its end is known at once"
    tables.dispose()


def held_by(roster: Roster) -> int:
    """The handle by which a worker holds its file."""
    handle = roster._lock  # what its process would hold
    assert handle is not None
    return handle


def opened_by_us(file: Path) -> int:
    """How many of our handles are of a file."""
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += os.path.samestat(each.stat(), file.stat())
    return found


def test_a_silent_worker_of_another_machine_is_dead_after_a_while(tmp_path: Path) -> None:
    tables = connect(database_url(tmp_path, ""))
    here, there = Roster(tables, tmp_path, 0.3), Roster(tables, tmp_path / "there", 0.3)
    here.join()
    there.join()
    assert there.worker in here.living()
    until(lambda: there.worker not in here.living(), "the silent worker's death")
    there.beat()
    assert there.worker in here.living()
    for each in (here, there):
        each.leave()
    tables.dispose()


def test_a_run_that_nobody_began_is_not_found(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {})
    with engine_at(state) as engine, pytest.raises(NotFound, match="no run 'nothing'"):
        engine.resume("nothing")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "is no URL"),
        ("mysql://host/name", "mysql://"),
        ("postgresql://host", "names no database"),
    ],
)
def test_a_database_that_we_cannot_use_is_refused_with_a_remedy(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        checked_url(url)
    assert "postgresql+psycopg://host/name" in str(refused.value)


def test_a_missing_driver_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hornbook.plans.databases.shared_database.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"install hornbook\[postgres\]"):
        checked_url("postgresql://host/name")


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_way_to_write_postgres_is_the_same(scheme: str) -> None:
    assert str(checked_url(f"{scheme}://host/name")) == "postgresql+psycopg://host/name"


def test_a_database_that_is_away_is_told_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://me:secret@/name?host={tmp_path}"
    with pytest.raises(EngineError, match="cannot be used") as problem:
        connect(database_url(tmp_path, url))
    assert "secret" not in str(problem.value)
