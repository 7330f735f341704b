"""The engine: begins runs, sets them going again, and takes over those of dead workers.

Every worker has a row in the database and renews it with each heartbeat. After each heartbeat it
also reaps: legs whose worker was silent for `dead_after` seconds, or whose process ended on this
machine, are queued again, and any living worker that listens to that queue takes them. A silent
worker may only have been slow, and then two processes hold one leg. Fencing (`run_leg` tells how)
keeps the first of them from recording anything more. A worker that was late itself does not reap
in that turn: the others on its machine may have stood still with it, and are about to beat again.
"""

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import sqlalchemy as sql

from hornbook.errors import EngineError, HornbookError
from hornbook.loop.engine.database_wait import DatabaseWait
from hornbook.loop.engine.durable import Durable, Planned, QueuedLeg
from hornbook.loop.engine.engine_runs import (
    ANSWERED,
    FAILED,
    OPEN,
    UNFINISHED,
    EngineRun,
    EngineRuns,
    Request,
    RunPhase,
)
from hornbook.loop.engine.run_leg import START, STEP, RunLegs, Tell, nobody
from hornbook.loop.engine.workers import Roster, connect, database_url
from hornbook.loop.protocol import Loop, StepKind, StepOutcome

_BROKEN = {
    "ERROR": "the engine could not go on with it",
    "CANCELLED": "it was cancelled",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "its workers died time and again",
}


_MOVABLE = frozenset({"ENQUEUED", "DELAYED"})


@dataclass(frozen=True, slots=True)
class Options:
    """Where an engine keeps its memory and how it works.

    `parallel` is how many runs one process works on at once; `run_seconds` how long the steps and
    waits of a run may take together, 0 for as long as they do; `database_wait` how many seconds a
    database that is away is waited for.
    """

    state: Path
    database: str = ""
    parallel: int = 2
    heartbeat: float = 5.0
    dead_after: float = 30.0
    run_seconds: float = 0.0
    database_wait: float = 0.0


@dataclass(frozen=True, slots=True)
class EngineScope:
    """Which runs a process works on: those of a plan, one run with what it spawns, or all."""

    plan: str | None = None
    run: str | None = None

    @property
    def queues(self) -> list[str] | None:
        """The queues that it listens to; None are all of them."""
        if self.run is not None:
            return [f"run:{self.run}"]
        return None if self.plan is None else [f"plan:{self.plan}"]


EVERYTHING = EngineScope()


class Engine:
    """Drives a loop durably; a process has one at most.

    The loop is called from several threads.
    """

    def __init__(
        self, loop: Loop, options: Options, scope: EngineScope = EVERYTHING, *, tell: Tell = nobody
    ) -> None:
        self._options = options
        self._scope = scope
        self._loop = loop
        options.state.mkdir(parents=True, exist_ok=True)
        self._url = database_url(options.state, options.database)
        self.wait = DatabaseWait(options.database_wait, lambda said: tell("engine", said))
        self._database = self.wait.until_back(lambda: connect(self._url))
        self.roster = Roster(self._database, options.state, options.dead_after)
        self.runs = EngineRuns(self._database)
        self._legs = RunLegs(
            loop,
            self.runs,
            self.roster.worker,
            slots=options.parallel,
            limit=options.run_seconds,
            tell=tell,
            wait=self.wait,
        )
        self._durable = Durable(self._url, self.roster.worker, self._leg, scope.queues)
        self._legs.durable = self._durable
        self._legs.enqueue = self._enqueue
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="hornbook-keeper", daemon=True)
        self._beaten = time.monotonic()

    def __enter__(self) -> Self:
        self.roster.join()
        self._durable.launch(self._options.state)
        for queue in self._scope.queues or ():
            self._durable.register(queue, self._options.parallel)
        self.reap()
        self._keeper.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self, patience: float = 0.0) -> bool:
        """Stop, waiting so long for steps that run; whether none runs any more.

        What was begun stays in the database, and whoever comes next goes on with it.
        """
        self._closing.set()
        ended = self._legs.stop(patience)
        if self._keeper.is_alive():
            self._keeper.join()
        self._durable.close(self._legs.busy)
        self.roster.leave()
        self._database.dispose()
        return ended

    def _leg(self, run: str, number: int, first: str, spent: float) -> dict[str, object]:
        """A leg of a run; one that outlives the engine closes what it opened once more."""
        try:
            return self._legs.run(run, number, first, spent)
        finally:
            if self._closing.is_set():
                self._database.dispose()

    def begin(self, request: Request) -> None:
        """Begin a run, or have it begun already."""
        self.runs.add([request])
        run = self.runs.get(request.run)
        if run.leg == 0:
            self._enqueue(run, Planned(run.run, 1, START))

    def hold(self, plan: str) -> None:
        """Be the one process that executes a plan, and go on with what was begun of it.

        Raises:
            PlanHeld: Another living one is.
        """
        self.roster.hold(plan)
        self._adopt([each for each in self.runs.of_plan(plan) if each.phase in OPEN])

    def release(self, plan: str) -> None:
        """Let go of a plan; its queue goes where nothing is left to do."""
        if not any(each.phase in OPEN for each in self.runs.of_plan(plan)):
            self._durable.retire(f"plan:{plan}")

    def release_run(self) -> None:
        """Let go of the one run that this process works on, where nothing is left to do."""
        for queue in self._scope.queues or ():
            if not any(each.phase in OPEN for each in self.covered()):
                self._durable.retire(queue)

    def covered(self, plan: str | None = None) -> list[EngineRun]:
        """The runs of a plan, or all open ones, that are this process's business."""
        found = self.runs.in_phases(OPEN) if plan is None else self.runs.of_plan(plan)
        return [each for each in found if self._covers(each)]

    def drain(self) -> None:
        """Take no further step, and wait for those that were begun."""
        self._legs.stop(None)

    def resume(self, run_id: str) -> EngineRun:
        """Set a run going again that was interrupted, failed, ran out of time or asked.

        One that asks still asks if nobody answered.

        Raises:
            EngineError: It is at work elsewhere, or has ended.
        """
        run = self.runs.get(run_id)
        if run.phase is RunPhase.ENDED and run.status not in UNFINISHED:
            raise EngineError(f"run {run_id} has ended ({run.status}): `execute` begins a new one.")
        if run.phase is RunPhase.ENDED:
            self._enqueue(run, Planned(run_id, run.leg + 1, STEP if run.parent else START))
        elif run.phase is RunPhase.ASKING:
            # Who answers a run that took too long gives it its time again.
            spent = 0.0 if run.status == ANSWERED else run.spent
            self._enqueue(run, Planned(run_id, run.leg + 1, STEP, spent))
        else:
            self._adopt([run])
        self._adopt([each for each in self.covered(run.plan) if each.phase in OPEN])
        return self.runs.get(run_id)

    def reap(self) -> None:
        """Queue again what dead workers had, and what people answered; note what is broken."""
        self._requeue_of_dead_workers()
        self._note_broken()
        for run in self.runs.in_phases({RunPhase.ASKING}):
            if run.status == ANSWERED and self._covers(run):
                self.resume(run.run)

    def _requeue_of_dead_workers(self) -> None:
        # Asked in this order: who joins in between has no leg that is listed here.
        pending = self._durable.unfinished()
        living = self.roster.living()
        dead = [each for each in pending if each.executor_id not in living]
        runs = {run.workflow: run for run in self.runs.of_workflows(e.workflow_id for e in dead)}
        for each in dead:
            run = runs.get(each.workflow_id)
            if run is not None and self._covers(run):
                self._durable.requeue(each, self._home(run))

    def _keep(self) -> None:
        """Beat and reap until the engine is closed."""
        while not self._closing.wait(self._options.heartbeat):
            late = time.monotonic() - self._beaten > self._options.dead_after / 2
            # A database that is away for a while is asked again at the next beat; should that
            # take too long, others take our runs, and the fence keeps us from them.
            with contextlib.suppress(sql.exc.SQLAlchemyError):
                self.roster.beat()
                self._beaten = time.monotonic()
                # After a pause of our own, others on this machine may have paused as well.
                if not late:
                    self.reap()

    def _adopt(self, runs: Sequence[EngineRun]) -> None:
        """Bring interrupted runs into a queue that this process listens to.

        Raises:
            EngineError: The only run that is wanted is at work elsewhere.
        """
        for run in runs:
            if run.leg == 0:  # somebody died between entering it and queueing its first leg
                self._enqueue(run, Planned(run.run, 1, STEP if run.parent else START))
        by_workflow = {run.workflow: run for run in runs}
        living = self.roster.living()
        for each in self._durable.statuses(list(by_workflow)):
            self._adopt_leg(by_workflow[each.workflow_id], each, living)

    def _adopt_leg(self, run: EngineRun, leg: QueuedLeg, living: Mapping[str, str]) -> None:
        queue = self._queue(run)
        if leg.status == "PENDING" and leg.executor_id in living:
            self._check_not_elsewhere(run, str(leg.executor_id), living)
        elif leg.status == "PENDING":
            self._durable.requeue(leg, queue)
        elif leg.status in _MOVABLE and (leg.queue_name != queue or not run.needs_nobody):
            self._durable.move(leg.workflow_id, queue)
            self.runs.woken(run.run)

    def _check_not_elsewhere(self, run: EngineRun, worker: str, living: Mapping[str, str]) -> None:
        """Raise if the one run that this process works on has another living worker."""
        if run.run == self._scope.run and worker != self.roster.worker:
            place = living[worker]
            raise EngineError(f"run {run.run} is at work already ({place}): wait for it.")

    def _enqueue(self, run: EngineRun, leg: Planned, delay: float = 0.0) -> None:
        """Queue a leg first and note it then: what is noted can always be run."""
        queue = self._queue(run)
        self._durable.register(queue, self._options.parallel)
        self._durable.enqueue(queue, leg, delay=delay)
        self.runs.queued(run.run, leg.number, RunPhase.WAITING if delay else RunPhase.QUEUED)

    def _home(self, run: EngineRun) -> str | None:
        """The queue of this process that a run belongs to; None if it takes from all."""
        if self._scope.run is not None:
            return f"run:{self._scope.run}"
        return None if self._scope.plan is None else f"plan:{run.plan}"

    def _queue(self, run: EngineRun) -> str:
        """The queue that a run's legs go into: this process's, or that of its plan."""
        return self._home(run) or f"plan:{run.plan}"

    def _covers(self, run: EngineRun) -> bool:
        if self._scope.run is not None:
            return run.run == self._scope.run or self._descends(run)
        return self._scope.plan in {None, run.plan}

    def _descends(self, run: EngineRun) -> bool:
        """Whether a run was spawned by the one that this process works on, at any depth."""
        while run.parent is not None:
            if run.parent == self._scope.run:
                return True
            run = self.runs.get(run.parent)
        return False

    def _note_broken(self) -> None:
        """Note as failed what DBOS gave up."""
        waiting = {run.workflow: run for run in self.runs.in_phases(OPEN)}
        for each in self._durable.statuses(list(waiting)):
            why = _BROKEN.get(each.status)
            if why is not None:
                self._give_up(waiting[each.workflow_id], why)

    def _give_up(self, run: EngineRun, why: str) -> None:
        """Have the loop ask a person about a run; the engine only ends it where that fails too."""
        try:
            outcome = self._loop.gave_up(run.run, why, FAILED)
        except HornbookError as problem:
            message = f"{why} ({problem}): `hornbook resume {run.run}` tries again."
            outcome = StepOutcome(StepKind.ENDED, run.run, status=FAILED, message=message)
        self.runs.settle(outcome)
