"""Machines on one Postgres that are killed, paused, cut off, or whose clocks are wrong.

Each has a folder and a clock of its own. Whatever happens to them: every effect is once in the
events, every run comes to its end, and nobody waits for ever. `make test-machines` has five of
them and takes longer.
"""

import json
import os
import random
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from hornbook.loop.engine.engine_runs import EngineRun, EngineRuns, RunPhase
from hornbook.loop.engine.workers import connect, database_url, disconnect
from hornbook.plans.log import EventLog
from tests.kit.engines import (
    Watched,
    attempts,
    database_for,
    effects,
    engine_process,
    prepare,
    restart_postgres,
)
from tests.kit.relay import Relay
from tests.kit.waiting import until

LONG = os.environ.get("HORNBOOK_MACHINES") == "long"
STEPS = ["continue", "wait 1.2", "continue", "end approved"]
MINUTES = 600.0


@dataclass
class Machine:
    """A machine: its folder, and the network between it and the database."""

    state: Path
    relay: Relay

    @contextmanager
    def process(self, what: str) -> Iterator[Watched]:
        with engine_process(self.state, self.relay.url, what) as found:
            yield found


@dataclass
class Fleet:
    """Machines on one database, and what is true of the runs there."""

    database: str
    machines: list[Machine]
    script: dict[str, list[str]]

    def runs(self) -> list[EngineRun]:
        tables = connect(database_url(Path(), self.database))
        try:
            return EngineRuns(tables).of_plan("alpha")
        finally:
            disconnect(tables)

    def begun(self, run: str) -> bool:
        return any(
            each["run"] == run for machine in self.machines for each in attempts(machine.state)
        )

    def until_ended(self) -> None:
        def ended() -> bool:
            runs = self.runs()
            return len(runs) == len(self.script) and all(r.phase is RunPhase.ENDED for r in runs)

        until(ended, "the end of all runs", every=0.2)

    def check(self) -> None:
        runs = self.runs()
        assert {each.run: each.status for each in runs} == dict.fromkeys(self.script, "approved"), (
            runs
        )
        found = [(run, number) for run, number, _ in effects(self.machines[0].state, self.database)]
        wanted = [(run, n) for run, steps in self.script.items() for n in range(len(steps))]
        assert sorted(found) == sorted(wanted)
        exports = set()
        for machine in self.machines:
            with closing(EventLog(machine.state, lambda: "", database=self.database)) as log:
                log.sync("alpha")
            exports.add((machine.state / "plans" / "alpha" / "events.jsonl").read_bytes())
        assert len(exports) == 1


@contextmanager
def fleet(tmp_path: Path, skews: list[float], runs: int) -> Iterator[Fleet]:
    script = {f"run.alpha.{n}.1": STEPS for n in range(1, runs + 1)}
    with database_for("postgres") as url, ExitStack() as stack:
        machines = []
        for number, skew in enumerate(skews):
            state = prepare(tmp_path / str(number), script)
            told = {"skew": skew, "answer": 2.0, "wait": 300.0, "dead_after": 3.0}
            (state / "machine.json").write_text(json.dumps(told))
            machines.append(Machine(state, stack.enter_context(Relay(url))))
        yield Fleet(url, machines, script)


def test_clocks_that_differ_by_twenty_minutes_change_nothing(tmp_path: Path) -> None:
    with (
        fleet(tmp_path, [MINUTES, -MINUTES], 2) as all_of,
        all_of.machines[0].process("execute") as first,
        all_of.machines[1].process("work") as second,
    ):
        second.until("up")
        first.until("up")
        all_of.until_ended()
        all_of.check()


def test_who_is_cut_off_is_replaced_and_records_nothing_twice(tmp_path: Path) -> None:
    with (
        fleet(tmp_path, [0.0, 0.0], 3) as all_of,
        all_of.machines[0].process("execute") as first,
        all_of.machines[1].process("work") as second,
    ):
        second.until("up")
        first.until("effect")
        all_of.machines[0].relay.stop()  # packets are swallowed: it is told nothing
        all_of.until_ended()
        all_of.machines[0].relay.resume()
        first.finish()
        all_of.check()


def test_who_is_killed_is_replaced_while_the_database_is_restarted(tmp_path: Path) -> None:
    with fleet(tmp_path, [0.0, MINUTES], 3) as all_of:
        with all_of.machines[0].process("execute") as first:
            first.until("effect")
            first.signal(signal.SIGKILL)
        # Who joins earlier may have done it all before the first does anything.
        with all_of.machines[1].process("work") as second:
            second.until("up")
            restart_postgres()
            all_of.until_ended()
        all_of.check()


@pytest.mark.skipif(not LONG, reason="takes minutes: `make test-machines`")
@pytest.mark.parametrize("seed", range(6))
def test_five_machines_in_a_storm_give_one_result(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    skews = [chance.choice([-MINUTES, 0.0, MINUTES]) for _ in range(5)]
    with fleet(tmp_path, skews, 12) as all_of, ExitStack() as stack:
        living: dict[int, Watched] = {}

        def join(number: int, what: str = "work") -> None:
            living[number] = stack.enter_context(all_of.machines[number].process(what))

        join(0, "execute")
        living[0].until("effect")
        for number in range(1, 5):
            join(number)
        for _ in range(12):
            number = chance.randrange(5)
            relay = all_of.machines[number].relay
            what = chance.choice(["kill", "pause", "stop", "cut", "delay", "restart"])
            if what == "kill":
                living[number].signal(signal.SIGKILL)
                join(number)
            elif what == "pause":
                living[number].signal(signal.SIGSTOP)
                _pass(chance.uniform(0.5, 5.0))
                living[number].signal(signal.SIGCONT)
            elif what == "restart":
                restart_postgres()
            else:
                relay.delay = 0.2 if what == "delay" else 0.0
                if what != "delay":
                    getattr(relay, what)()
                _pass(chance.uniform(0.5, 6.0))
                relay.delay = 0.0
                relay.resume()
        all_of.until_ended()
        all_of.check()


def _pass(seconds: float) -> None:
    """Let a disturbance last: nothing happens that could be waited for."""
    signal.sigtimedwait([], seconds)
