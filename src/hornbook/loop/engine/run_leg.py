"""One leg of a run: from where it is set going to its end, or to a question for a person.

A run is a chain of legs, each a workflow of DBOS with the name `<run>~<number>`. A leg ends where
nothing can be done for a while: at a question, at a long wait, at the end. Whoever answers or wakes
the run queues the next leg, so that no worker's place is held by a run that waits. The control flow
is deterministic: what differs from time to time is in the steps, and DBOS gives back what a step
gave before a kill.

Fencing: a worker that was thought dead may live, and then two processes hold one leg. DBOS writes a
token into the leg's row whenever it hands the leg out, so only the last who got it has the token
that stands there. A step compares it before its effect and again before it notes what came of it,
and DBOS does so in the transaction that records the result; who has another token stops at once, by
an exception that no handler catches. Between the two comparisons the effect itself may still run
twice: that is why events have keys, and why every step gives the same when it is done again.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hornbook.loop.engine.database_wait import DatabaseWait
from hornbook.loop.engine.durable import LOST, Durable, Fenced, Planned, Stopping
from hornbook.loop.engine.engine_runs import FAILED, TIMED_OUT, EngineRun, EngineRuns, Request
from hornbook.loop.protocol import Loop, StepKind, StepOutcome

# What a step gave, as JSON that DBOS keeps.
StepJson = dict[str, Any]

START, STEP = "start", "step"
"""What a leg may begin with."""

SHORT = 1.0
"""Up to so many seconds a wait is sat out; a longer one gives its place to other runs."""

Enqueue = Callable[[EngineRun, Planned, float], None]
"""Queues a leg of a run, to begin after some seconds."""

Tell = Callable[[str, str], None]
"""Is told the id of a run and what became of it in this process."""


def nobody(_run: str, _what: str) -> None:
    """Work without telling anybody."""


def _nowhere(run: EngineRun, _leg: Planned, _delay: float) -> None:
    raise TypeError(f"run {run.run} was to be queued before the engine was started")


def _wait_of(outcome: StepOutcome) -> float:
    """For how many seconds nothing can be done after a step."""
    return outcome.seconds if outcome.kind is StepKind.WAITING else 0.0


class RunLegs:
    """Runs legs, as many steps at a time as there are slots."""

    def __init__(
        self,
        loop: Loop,
        runs: EngineRuns,
        worker: str,
        *,
        slots: int,
        limit: float,
        tell: Tell,
        wait: DatabaseWait,
    ) -> None:
        self._loop = loop
        self._wait = wait
        self._runs = runs
        self._worker = worker
        self._tell = tell
        self._slots = threading.BoundedSemaphore(slots)
        self._limit = limit
        self._stopping = threading.Event()
        self._busy = 0
        self._idle = threading.Condition()
        self.durable: Durable | None = None
        self.enqueue: Enqueue = _nowhere

    def run(self, run_id: str, leg: int, first: str, spent: float) -> StepJson:
        """Go on with a run until it ends, asks or has to wait; what it came to."""
        self._tell(run_id, "taken")
        try:
            outcome = self._run(Planned(run_id, leg, first, spent))
        except LOST as lost:
            self._tell(run_id, "lost to another worker")
            raise Fenced(run_id) from lost
        self._tell(run_id, f"{outcome.kind} {outcome.status}".strip())
        return {"kind": outcome.kind, "status": outcome.status, "message": outcome.message}

    def _run(self, leg: Planned) -> StepOutcome:
        durable = self._durable()
        owner = (workflow := f"{leg.run}~{leg.number}", durable.token(workflow))
        run = self._runs.get(leg.run)
        known: set[str] = set()
        spent, name, action = leg.spent, leg.first, self._first(run, leg)
        while True:
            kept = durable.step(name, partial(self._effect, run, leg.number, owner, action))
            outcome = _outcome(kept)
            self._spawn(run, [each for each in outcome.spawned if each not in known])
            known.update(outcome.spawned)
            waits = _wait_of(outcome)
            spent += float(kept["took"]) + waits
            if outcome.kind in {StepKind.ASKING, StepKind.ENDED}:
                break
            if self._limit and spent > self._limit:
                late = partial(self._loop.gave_up, leg.run, _too_long(spent), TIMED_OUT)
                given = partial(self._effect, run, leg.number, owner, late)
                outcome = _outcome(durable.step("timed out", given))
                break
            if waits > SHORT:
                following = Planned(leg.run, leg.number + 1, STEP, spent)
                self.enqueue(run, following, waits)
                durable.require(*owner)
                return outcome
            self._sit_out(leg.run, waits)
            name, action = STEP, partial(self._loop.step, leg.run)
        durable.step("settle", partial(self._settle, run, outcome, owner))
        durable.require(*owner)  # one who only replayed what another did ends here
        return outcome

    def _sit_out(self, run_id: str, seconds: float) -> None:
        if seconds:
            self._tell(run_id, f"waits {seconds:g} seconds")
            self._durable().sleep(seconds)

    def stop(self, patience: float | None) -> bool:
        """Take no further step and wait for those that run; whether all ended in time."""
        self._stopping.set()
        with self._idle:
            return self._idle.wait_for(lambda: self._busy == 0, patience)

    def busy(self) -> int:
        """How many steps run at the moment."""
        return self._busy

    def _first(self, run: EngineRun, leg: Planned) -> Callable[[], StepOutcome]:
        """What a leg begins with."""
        if leg.first == STEP:
            return partial(self._loop.step, run.run)
        return partial(self._loop.start, run.plan, run.task, agent=run.agent, run_id=run.run)

    def _effect(
        self, run: EngineRun, leg: int, owner: tuple[str, str], action: Callable[[], StepOutcome]
    ) -> StepJson:
        durable = self._durable()
        with self._slots, self._counted():
            if self._stopping.is_set():
                raise Stopping(run.run)
            durable.require(*owner)
            self._runs.taken(run.run, leg, self._worker)
            began = time.monotonic()
            outcome = self._tried(run.run, action)
            took = time.monotonic() - began
            durable.require(*owner)
            waits = outcome.seconds if outcome.kind is StepKind.WAITING else 0.0
            self._runs.note(replace(outcome, run_id=run.run), spent=took + waits)
        return {**_as_json(outcome), "took": took}

    def _tried(self, run: str, action: Callable[[], StepOutcome]) -> StepOutcome:
        """What came of an action; one that raises ends in a question to a person."""
        try:
            return self._wait.until_back(action)
        except Exception as problem:  # noqa: BLE001  # a workflow's step: its run fails, not the engine
            why = f"{type(problem).__name__}: {problem}"
        try:
            return self._wait.until_back(lambda: self._loop.gave_up(run, why, FAILED))
        except Exception:  # noqa: BLE001  # not even that can be noted: the engine alone knows
            return StepOutcome(StepKind.ENDED, run, status=FAILED, message=why)

    def _settle(self, run: EngineRun, outcome: StepOutcome, owner: tuple[str, str]) -> StepJson:
        self._durable().require(*owner)
        self._runs.settle(replace(outcome, run_id=run.run))
        return {}

    def _spawn(self, run: EngineRun, names: Sequence[str]) -> None:
        """Queue the runs that a run began beside itself."""
        if names:
            self._runs.add([Request(name, run.plan, None, run.agent, run.run) for name in names])
        for name in names:
            self.enqueue(self._runs.get(name), Planned(name, 1, STEP), 0.0)

    def _durable(self) -> Durable:
        if self.durable is None:
            raise TypeError("a leg was run before the engine was started")
        return self.durable

    def _counted(self) -> "_Counted":
        return _Counted(self)

    def count(self, change: int) -> None:
        """Note that a step began or ended."""
        with self._idle:
            self._busy += change
            self._idle.notify_all()


class _Counted:
    """Counts a step while it runs."""

    def __init__(self, legs: RunLegs) -> None:
        self._legs = legs

    def __enter__(self) -> None:
        self._legs.count(1)

    def __exit__(self, *_ended: object) -> None:
        self._legs.count(-1)


def _as_json(outcome: StepOutcome) -> StepJson:
    return {
        "kind": outcome.kind,
        "run": outcome.run_id,
        "seconds": outcome.seconds,
        "status": outcome.status,
        "message": outcome.message,
        "spawned": list(outcome.spawned),
    }


def _outcome(kept: StepJson) -> StepOutcome:
    return StepOutcome(
        StepKind(kept["kind"]),
        kept["run"],
        seconds=kept["seconds"],
        status=kept["status"],
        message=kept["message"],
        spawned=tuple(kept["spawned"]),
    )


def _too_long(spent: float) -> str:
    return f"{spent:.0f} seconds of work, more than `engine.run_minutes` allows"
