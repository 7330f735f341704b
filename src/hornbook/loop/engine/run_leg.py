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
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hornbook.loop.engine.database_wait import DatabaseWait
from hornbook.loop.engine.durable import LOST, Durable, Fenced, Planned, Stopping
from hornbook.loop.engine.engine_runs import FAILED, TIMED_OUT, EngineRun, EngineRuns, Request
from hornbook.loop.engine.workers import workflow_name
from hornbook.loop.protocol import Loop, StepKind, StepOutcome

# What a step gave, as JSON that DBOS keeps.
StepJson = dict[str, Any]

START, STEP = "start", "step"
"""What a leg may begin with."""

SHORT = 1.0
"""Up to so many seconds a wait is sat out; a longer one gives its place to other runs."""

Enqueue = Callable[[EngineRun, Planned, float, Collection[str]], None]
"""Queues a leg of a run, to begin after some seconds, and with limited places that it needs."""

Keep = Callable[[str, Collection[str]], bool]
"""Gives a run that is at work the limited places for its next step; False if there are none."""

Tell = Callable[[str, str], None]
"""Is told the id of a run and what became of it in this process."""


def nobody(_run: str, _what: str) -> None:
    """Work without telling anybody."""


def _nowhere(run: EngineRun, _leg: Planned, _delay: float, _needs: Collection[str]) -> None:
    raise TypeError(f"run {run.run} was to be queued before the engine was started")


def _no_places(run: str, _needs: Collection[str]) -> bool:
    raise TypeError(f"run {run} was to be given places before the engine was started")


def _wait_of(outcome: StepOutcome) -> float:
    """For how many seconds nothing can be done after a step."""
    return outcome.seconds if outcome.kind is StepKind.WAITING else 0.0


class RunLegs:
    """Runs legs, as many steps at a time as there are slots.

    It has room for as many legs; one that sits out a short wait keeps its room.
    """

    def __init__(
        self,
        loop: Loop,
        runs: EngineRuns,
        worker: str,
        *,
        repository: str = "",
        slots: int,
        limit: float,
        tell: Tell,
        wait: DatabaseWait,
    ) -> None:
        self.keep: Keep = _no_places
        self._room = slots
        self._handed: Counter[str] = Counter()
        self._news = False
        self._loop = loop
        self._wait = wait
        self._runs = runs
        self._worker = worker
        self._repository = repository
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
        workflow = workflow_name(self._repository, leg.run, leg.number)
        owner = (workflow, durable.token(workflow))
        run = self._wait.until_back(lambda: self._runs.get(leg.run))
        known: set[str] = set()
        held = set(run.needs.split())
        spent, name, action = leg.spent, leg.first, self._first(run, leg, held)
        while True:
            kept = durable.step(name, partial(self._effect, run, leg.number, owner, action, held))
            outcome = _outcome(kept)
            self._spawn(run, [each for each in outcome.spawned if each not in known])
            known.update(outcome.spawned)
            waits = _wait_of(outcome)
            spent += float(kept["took"]) + waits
            if outcome.kind in {StepKind.ASKING, StepKind.ENDED}:
                break
            if self._limit and spent > self._limit:
                late = partial(self._loop.gave_up, leg.run, _too_long(spent), TIMED_OUT)
                given = partial(self._effect, run, leg.number, owner, late, held)
                outcome = _outcome(durable.step("timed out", given))
                break
            if waits > SHORT or kept.get("parked"):
                following = Planned(leg.run, leg.number + 1, STEP, spent)
                self._hand_on(owner, partial(self.enqueue, run, following, waits, outcome.needs))
                return outcome
            self._sit_out(leg.run, waits)
            name, action = STEP, partial(self._loop.step, leg.run, held)
        durable.step("settle", partial(self._settle, run, outcome, owner))
        self._require(owner)  # one who only replayed what another did ends here
        return outcome

    def _hand_on(self, owner: tuple[str, str], queue: Callable[[], None]) -> None:
        """Queue what follows, unless another has the leg by now."""
        self._require(owner)
        self._wait.until_back(queue)
        self._require(owner)

    def _sit_out(self, run_id: str, seconds: float) -> None:
        if seconds:
            self._tell(run_id, f"waits {seconds:g} seconds")
            self._durable().sleep(seconds)

    def hand_out(self, workflow: str) -> None:
        """Note that a leg is begun here, and that there is room for one less."""
        with self._idle:
            self._room -= 1
            self._handed[workflow] += 1

    def hand_back(self, workflow: str) -> None:
        """Note that a leg is over here, and that there is room for one more."""
        with self._idle:
            self._room += 1
            self._handed -= Counter([workflow])  # which keeps none that is at 0
            self._news = True
            self._idle.notify_all()

    def handed_out(self) -> frozenset[str]:
        """The legs that were begun here and are not over."""
        with self._idle:
            return frozenset(self._handed)

    @property
    def has_room(self) -> bool:
        """Whether a leg may be begun here."""
        return self._room > 0 and not self._stopping.is_set()

    def look(self) -> None:
        """Have whoever waits for room look at once whether there is a run to take."""
        with self._idle:
            self._news = True
            self._idle.notify_all()

    def await_room(self, seconds: float) -> bool:
        """Wait so long, or for news, and then for room; False once no leg may be begun any more."""
        with self._idle:
            self._idle.wait_for(lambda: self._news or self._stopping.is_set(), seconds)
            self._news = False
            self._idle.wait_for(lambda: self._room > 0 or self._stopping.is_set())
        return not self._stopping.is_set()

    def stop(self, patience: float | None) -> bool:
        """Take no further step and wait for those that run; whether all ended in time."""
        self._stopping.set()
        with self._idle:
            self._idle.notify_all()
            return self._idle.wait_for(lambda: self._busy == 0, patience)

    def busy(self) -> int:
        """How many steps run at the moment."""
        return self._busy

    def _first(self, run: EngineRun, leg: Planned, held: set[str]) -> Callable[[], StepOutcome]:
        """What a leg begins with."""
        if leg.first == STEP:
            return partial(self._loop.step, run.run, held)
        return partial(self._loop.start, run.plan, run.task, agent=run.agent, run_id=run.run)

    def _effect(
        self,
        run: EngineRun,
        leg: int,
        owner: tuple[str, str],
        action: Callable[[], StepOutcome],
        held: set[str],
    ) -> StepJson:
        """Have a step done that was not done before; `held` are its places, and then the next's."""
        with self._slots, self._counted():
            if self._stopping.is_set():
                raise Stopping(run.run)
            self._require(owner)
            self._wait.until_back(lambda: self._runs.taken(run.run, leg, self._worker))
            began = time.monotonic()
            outcome = self._tried(run.run, action)
            took = time.monotonic() - began
            self._require(owner)
            waits = outcome.seconds if outcome.kind is StepKind.WAITING else 0.0
            noted = replace(outcome, run_id=run.run)
            worker = self._worker
            self._wait.until_back(lambda: self._runs.note(noted, worker, spent=took + waits))
            held.clear()
            parked = bool(outcome.needs) and not self._wait.until_back(
                lambda: self.keep(run.run, outcome.needs)
            )
            if not parked:
                held.update(outcome.needs)
        return {**_as_json(outcome), "took": took, "parked": parked}

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
        self._require(owner)
        settled = replace(outcome, run_id=run.run)
        self._wait.until_back(lambda: self._runs.settle(settled))
        return {}

    def _require(self, owner: tuple[str, str]) -> None:
        """Go on only while this execution owns its leg, once the database says so."""
        self._wait.until_back(lambda: self._durable().require(*owner))

    def _spawn(self, run: EngineRun, names: Sequence[str]) -> None:
        """Queue the runs that a run began beside itself."""
        if not names:
            return
        wanted = [Request(name, run.plan, None, run.agent, run.run) for name in names]
        self._wait.until_back(lambda: self._runs.add(wanted))
        for name in names:
            known = self._wait.until_back(partial(self._runs.get, name))
            self._wait.until_back(partial(self.enqueue, known, Planned(name, 1, STEP), 0.0, ()))

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
        "needs": list(outcome.needs),
        "question": outcome.question,
    }


def _outcome(kept: StepJson) -> StepOutcome:
    return StepOutcome(
        StepKind(kept["kind"]),
        kept["run"],
        seconds=kept["seconds"],
        status=kept["status"],
        message=kept["message"],
        spawned=tuple(kept["spawned"]),
        needs=tuple(kept.get("needs", ())),
        question=int(kept.get("question", 0)),
    )


def _too_long(spent: float) -> str:
    return f"{spent:.0f} seconds of work, more than `engine.run_minutes` allows"
