"""Processes that die or pause in the middle: nothing is lost, nothing finished happens again."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.engine_process import NOBODY_DIES, SITS_OUT
from tests.kit.engines import (
    DATABASES,
    RUN,
    STEPS,
    attempts,
    database_for,
    effects,
    engine_process,
    events,
    executed,
    prepare,
    tried,
)
from tests.kit.waiting import SAFETY

MANY = "HORNBOOK_KILLS" in os.environ


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    with database_for(request.param) as url:
        yield url


def test_a_kill_at_any_place_changes_nothing_but_the_interrupted_step(
    tmp_path: Path, database: str
) -> None:
    places = [(n, place) for n in range(len(STEPS)) for place in ("before", "inside", "after")]
    if database and not MANY:
        places = places[1::4]  # each of the three, in three steps: SQLite is killed at all of them
    runs = {f"run.alpha.{number}.1": STEPS for number in range(1, len(places) + 1)}
    state = prepare(tmp_path / "state", runs)
    before: list[str] = []
    for run, (number, place) in zip(runs, places, strict=True):
        (state / "kill.json").write_text(json.dumps([run, number, place]))
        code, _, _ = executed(state, database, parallel=1)
        assert code == -signal.SIGKILL, (run, number, place)
        now = [event.line for event in events(state, database)]
        assert now[: len(before)] == before
        before = now
    code, found, error = executed(state, database, parallel=1)
    assert (code, error) == (0, "")
    assert {each["status"] for each in found} == {"approved"}
    for run, (number, place) in zip(runs, places, strict=True):
        undisturbed = [(run, n, f"task of {run} by None" if n == 0 else "") for n in range(4)]
        assert [each for each in effects(state, database) if each[0] == run] == undisturbed
        counts = [tried(state)[run, n] for n in range(len(STEPS))]
        twice = [2 if n == number and place != "after" else 1 for n in range(len(STEPS))]
        assert counts == twice, (run, number, place)


def test_a_living_worker_finishes_what_a_killed_one_began(tmp_path: Path, database: str) -> None:
    state = blocking(tmp_path)
    with engine_process(state, database, "execute") as first:
        first.until(f"effect {RUN} 1")
        prepare(state, {RUN: ["continue", "continue", "end approved"]})
        with engine_process(state, database, "work") as second:
            second.until("engine: up")
            first.signal(signal.SIGKILL)
            second.until(f"{RUN}: ended approved")
    assert [number for _, number, _ in effects(state, database)] == [0, 1, 2]
    assert tried(state) == {(RUN, 0): 1, (RUN, 1): 2, (RUN, 2): 1}


def test_a_worker_paused_between_steps_does_nothing_more(tmp_path: Path, database: str) -> None:
    longer = (tmp_path / f"wait-{seconds}" for seconds in (2, 8, 30, 120))
    assert any(paused_between_steps(state, database) for state in longer)


def paused_between_steps(state: Path, database: str) -> bool:
    """Whether the first worker was paused while its run waited: a slow machine needs longer."""
    run = f"run.{state.name}.1"
    prepare(state, {run: [state.name.replace("-", " "), "continue", "end approved"]})
    (state / SITS_OUT).touch()
    with engine_process(state, database, "execute") as first:
        first.until(f"effect {run} 0")
        first.until(f"{run}: waits")
        first.pause(state)
        if len(attempts(state)) > 1:
            return False
        with engine_process(state, database, "work") as second:
            second.until(f"{run}: ended approved")
        before = attempts(state)
        first.signal(signal.SIGCONT)
        first.until(f"{run}: lost to another worker")
        assert first.process.wait(SAFETY) == 0
    assert attempts(state) == before
    assert [each["pid"] == first.process.pid for each in before] == [True, False, False]
    return True


def test_a_worker_paused_inside_a_step_records_nothing(tmp_path: Path, database: str) -> None:
    state = blocking(tmp_path)
    with engine_process(state, database, "execute") as first:
        first.until(f"effect {RUN} 1")
        first.pause(state)
        prepare(state, {RUN: ["continue", "continue", "end approved"]})
        with engine_process(state, database, "work") as second:
            second.until(f"{RUN}: ended approved")
        lines = [event.line for event in events(state, database)]
        first.signal(signal.SIGCONT)
        (tmp_path / "pipe").write_bytes(b"go")
        first.until(f"{RUN}: lost to another worker")
        assert first.process.wait(SAFETY) == 0
    assert [event.line for event in events(state, database)] == lines
    assert tried(state) == {(RUN, 0): 1, (RUN, 1): 2, (RUN, 2): 1}


def test_a_worker_that_is_told_to_end_finishes_its_step_and_hands_the_run_on(
    tmp_path: Path, database: str
) -> None:
    state = blocking(tmp_path)
    with engine_process(state, database, "execute") as starter:
        starter.until(f"effect {RUN} 1")
        starter.signal(signal.SIGKILL)
    with engine_process(state, database, "work") as first:
        first.until(f"effect {RUN} 1")
        first.signal(signal.SIGTERM)
        first.until("engine: begins no step any more")
        (tmp_path / "pipe").write_bytes(b"go")
        assert first.process.wait(SAFETY) == 0
    assert [number for _, number, _ in effects(state, database)] == [0, 1]
    with engine_process(state, database, "work") as second:
        second.until(f"{RUN}: ended approved")
    assert tried(state) == {(RUN, 0): 1, (RUN, 1): 2, (RUN, 2): 1}


def test_the_second_who_executes_a_plan_is_told_who_holds_it(tmp_path: Path, database: str) -> None:
    state = blocking(tmp_path)
    (state / NOBODY_DIES).touch()
    with engine_process(state, database, "execute") as first:
        first.until(f"effect {RUN} 1")
        with engine_process(state, database, "execute") as second:
            lines = second.finish()
            assert second.process.returncode == 1
        assert f"process {first.process.pid}" in lines[-1]
        with engine_process(state, database, "resume", RUN) as third:
            lines = third.finish()
            assert third.process.returncode == 1
        assert f"process {first.process.pid}" in lines[-1]
        (tmp_path / "pipe").write_bytes(b"go")
        first.until(f"{RUN}: ended approved")
    assert tried(state) == {(RUN, 0): 1, (RUN, 1): 1, (RUN, 2): 1}


def blocking(folder: Path) -> Path:
    """A state folder whose run waits in its second step for somebody to write to `pipe`."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    return prepare(folder / "state", {RUN: ["continue", f"block {pipe}", "end approved"]})
