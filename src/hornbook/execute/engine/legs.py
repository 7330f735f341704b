"""One leg of a run: from where it is set going to its end, or to a question for a person.

The control flow is deterministic: what differs from time to time is in the steps, and DBOS gives
back what a step gave before a kill. Each step proves before its effect that the run is still
ours, and so does DBOS in the transaction that records its result.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from hornbook.execute.engine.durable import LOST, Durable, Fenced, Stopping
from hornbook.execute.engine.runs import FAILED, TIMED_OUT, Request, Run, Runs
from hornbook.execute.stepping import Loop, StepKind, StepOutcome

# What a step gave, as JSON that DBOS keeps.
Kept = dict[str, Any]

Tell = Callable[[str, str], None]
"""Is told the id of a run and what became of it in this process."""


def nobody(_run: str, _what: str) -> None:
    """Work without telling anybody."""


class Legs:
    """Runs legs, as many steps at a time as there are slots."""

    def __init__(
        self, loop: Loop, runs: Runs, worker: str, *, slots: int, limit: float, tell: Tell
    ) -> None:
        self._loop = loop
        self._runs = runs
        self._worker = worker
        self._tell = tell
        self._slots = threading.BoundedSemaphore(slots)
        self._limit = limit
        self._stopping = threading.Event()
        self._busy = 0
        self._idle = threading.Condition()
        self.durable: Durable | None = None
        self.enqueue: Callable[[Run, bool], None] = lambda _run, _child: None

    def run(self, run_id: str, leg: int, text: str | None, spent: float) -> Kept:
        """Go on with a run until it ends or asks; what it came to."""
        self._tell(run_id, "taken")
        try:
            outcome = self._run(run_id, leg, text, spent)
        except LOST as lost:
            self._tell(run_id, "lost to another worker")
            raise Fenced(run_id) from lost
        self._tell(run_id, f"{outcome.kind} {outcome.status}".strip())
        return {"kind": outcome.kind, "status": outcome.status, "message": outcome.message}

    def _run(self, run_id: str, leg: int, text: str | None, spent: float) -> StepOutcome:
        durable = self._durable()
        workflow = f"{run_id}~{leg}"
        token = durable.token(workflow)
        run = self._runs.get(run_id)

        def take(name: str, action: Callable[[], StepOutcome]) -> tuple[StepOutcome, float]:
            effect = partial(self._effect, run, leg, (workflow, token), action)
            kept = durable.step(name, effect)
            return _outcome(kept), float(kept["took"])

        name, action = self._first(run, text)
        outcome, took = take(name, action)
        spent += took
        while True:
            self._spawn(run, outcome)
            if outcome.kind in {StepKind.ASKING, StepKind.ENDED}:
                break
            if outcome.kind is StepKind.WAITING:
                self._tell(run_id, f"waits {outcome.seconds:g} seconds")
                durable.sleep(outcome.seconds)
                spent += outcome.seconds
            if self._limit and spent > self._limit:
                outcome = _timed_out(run_id, spent)
                break
            outcome, took = take("step", partial(self._loop.step, run_id))
            spent += took
        released = durable.step("settle", partial(self._settle, run, outcome, (workflow, token)))
        for each in released["released"]:
            self.enqueue(self._runs.get(each), False)
        durable.require(workflow, token)  # one who only replayed what another did ends here
        return outcome

    def stop(self, patience: float) -> bool:
        """Take no further step and wait for those that run; whether all ended in time."""
        self._stopping.set()
        with self._idle:
            return self._idle.wait_for(lambda: self._busy == 0, patience)

    def _first(self, run: Run, text: str | None) -> tuple[str, Callable[[], StepOutcome]]:
        """What a leg begins with: an answer, or a start, which a run that was begun survives.

        A run that another one spawned was begun by it.
        """
        if text is not None:
            return "answer", partial(self._loop.answer, run.run, text)
        if run.parent is not None:
            return "step", partial(self._loop.step, run.run)
        begin = partial(self._loop.start, run.plan, run.task, agent=run.agent, run_id=run.run)
        return "start", begin

    def _effect(
        self, run: Run, leg: int, owner: tuple[str, str], action: Callable[[], StepOutcome]
    ) -> Kept:
        durable = self._durable()
        with self._slots, self._counted():
            if self._stopping.is_set():
                raise Stopping(run.run)
            durable.require(*owner)
            self._runs.taken(run.run, leg, self._worker)
            began = time.monotonic()
            try:
                outcome = action()
            except Exception as problem:  # noqa: BLE001  # a workflow's step: its run fails, not the engine
                outcome = _failed(run.run, problem)
            took = time.monotonic() - began
            durable.require(*owner)
            waits = outcome.seconds if outcome.kind is StepKind.WAITING else 0.0
            self._runs.note(replace(outcome, run_id=run.run), spent=took + waits)
        return {**_kept(outcome), "took": took}

    def _settle(self, run: Run, outcome: StepOutcome, owner: tuple[str, str]) -> Kept:
        self._durable().require(*owner)
        return {"released": self._runs.settle(replace(outcome, run_id=run.run))}

    def _spawn(self, run: Run, outcome: StepOutcome) -> None:
        children = [
            Request(child, run.plan, task=None, agent=run.agent, parent=run.run)
            for child in outcome.spawned
        ]
        if children:
            self._runs.add(children)
        for child in children:
            self.enqueue(self._runs.get(child.run), True)

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

    def __init__(self, legs: Legs) -> None:
        self._legs = legs

    def __enter__(self) -> None:
        self._legs.count(1)

    def __exit__(self, *_ended: object) -> None:
        self._legs.count(-1)


def _kept(outcome: StepOutcome) -> Kept:
    return {
        "kind": outcome.kind,
        "run": outcome.run_id,
        "seconds": outcome.seconds,
        "status": outcome.status,
        "message": outcome.message,
        "spawned": list(outcome.spawned),
    }


def _outcome(kept: Kept) -> StepOutcome:
    return StepOutcome(
        StepKind(kept["kind"]),
        kept["run"],
        seconds=kept["seconds"],
        status=kept["status"],
        message=kept["message"],
        spawned=tuple(kept["spawned"]),
    )


def _failed(run_id: str, problem: Exception) -> StepOutcome:
    message = f"{type(problem).__name__}: {problem}"
    return StepOutcome(StepKind.ENDED, run_id, status=FAILED, message=message)


def _timed_out(run_id: str, spent: float) -> StepOutcome:
    message = f"{spent:.0f} seconds of work, more than `engine.run_minutes` allows."
    return StepOutcome(StepKind.ENDED, run_id, status=TIMED_OUT, message=message)
