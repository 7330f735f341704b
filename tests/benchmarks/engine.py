"""What the engine costs: a step through it against a bare call, and the time to go on after a kill."""

import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from pathlib import Path

from hornbook.loop.engine.engine import Engine, EngineScope, Options
from hornbook.loop.engine.engine_runs import Request, RunPhase
from hornbook.loop.protocol import StepKind, StepOutcome
from tests.kit.engines import RUN, engine_process, prepare
from tests.kit.paths import ROOT

STEPS = 200
ROUNDS = 3


class Counting:
    """A loop whose steps do nothing but count; it notes when each began."""

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.began: list[float] = []

    def start(self, plan: str, task: str | None, *, agent: str | None, run_id: str) -> StepOutcome:
        """The first step."""
        return self.step(run_id)

    def step(self, run_id: str, held: Collection[str] | None = None) -> StepOutcome:
        """Count; the last one ends the run."""
        self.began.append(time.perf_counter())
        self._left -= 1
        if self._left > 0:
            return StepOutcome(StepKind.CONTINUED, run_id, status="running")
        return StepOutcome(StepKind.ENDED, run_id, status="approved")

    def gave_up(self, run_id: str, reason: str, status: str) -> StepOutcome:
        """Nothing fails."""
        raise NotImplementedError(reason)


def measure() -> dict[str, float]:
    """Milliseconds for each step, and seconds after a kill."""
    bare = Counting(STEPS)
    began = time.perf_counter()
    while bare.step(RUN).kind is StepKind.CONTINUED:
        pass
    direct = (time.perf_counter() - began) / STEPS
    through, commit = _through_the_engine(), _commit()
    again, start = _after_a_kill(living=False), _start()
    return {
        "a bare call of a step, µs": direct * 1e6,
        "a step through the engine, SQLite, ms": through * 1e3,
        "the same, in transactions that the disk has to keep": through / commit,
        "share of a step of one minute, %": through / 60 * 100,
        "kill -9 to the same step in a new process, s": again,
        "the same, in starts of a process that only imports the engine": again / start,
        "kill -9 to the same step in a living worker (heartbeat 0.2 s), s": _after_a_kill(
            living=True
        ),
    }


def _through_the_engine() -> float:
    """The median time from one step to the next, in seconds."""
    loop = Counting(STEPS)
    with tempfile.TemporaryDirectory() as folder:
        options, scope = Options(Path(folder)), EngineScope(plan="bench")
        with Engine(loop, options, scope) as engine:
            engine.begin(Request(RUN, "bench"))
            while engine.runs.get(RUN).phase is not RunPhase.ENDED:
                time.sleep(0.05)
    pairs = zip(loop.began, loop.began[1:], strict=False)
    return statistics.median(later - sooner for sooner, later in pairs)


def _commit() -> float:
    """The median time of a transaction of one row, in seconds."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder) / "one.db", isolation_level=None)
        database.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(x)"
        )
        for number in range(STEPS):
            began = time.perf_counter()
            database.execute("INSERT INTO t VALUES (?)", (number,))
            took.append(time.perf_counter() - began)
        database.close()
    return statistics.median(took)


def _start() -> float:
    """The median time of a process that imports the engine and ends, in seconds."""
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        command = [sys.executable, "-c", "import hornbook.loop.engine.engine"]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _after_a_kill(*, living: bool) -> float:
    """The median time from a kill to the next attempt at the interrupted step."""
    return statistics.median(_killed(living=living) for _ in range(ROUNDS))


def _killed(*, living: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "pipe"
        os.mkfifo(pipe)  # the interrupted step would last until somebody writes to it
        script = {RUN: ["continue", f"block {pipe}", "end approved"]}
        state = prepare(Path(folder) / "state", script)
        with engine_process(state, "", "execute") as first:
            first.until(f"effect {RUN} 1")
            if not living:
                first.signal(signal.SIGKILL)
                first.process.wait()
                return _seconds_to_go_on(state)
            with engine_process(state, "", "work") as second:
                second.until("engine: up")
                first.signal(signal.SIGKILL)
                killed = time.perf_counter()
                second.until(f"{RUN}: taken")
                return time.perf_counter() - killed


def _seconds_to_go_on(state: Path) -> float:
    killed = time.perf_counter()
    with engine_process(state, "", "execute") as second:
        second.until(f"{RUN}: taken")
        return time.perf_counter() - killed
