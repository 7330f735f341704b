"""The engine: begins runs, sets them going again, and takes over those of dead workers.

A worker takes a run when it has room for one (`turns` tells which), and executes its leg. Every
worker has a row in the database and renews it with each heartbeat. After each heartbeat it also
reaps: runs whose worker was silent for `dead_after` seconds, or whose process ended on this
machine, wait again, and any living worker takes them. A silent worker may only have been slow, and
then two processes hold one leg. Fencing (`run_leg` tells how) keeps the first of them from
recording anything more. A worker that was late itself does not reap in that turn: the others on its
machine may have stood still with it, and are about to beat again.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import sqlalchemy as sql

from hornbook.errors import EngineError, HornbookError
from hornbook.loop.engine.database_wait import DatabaseWait
from hornbook.loop.engine.durable import POLL_SECONDS, Durable, Planned
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
from hornbook.loop.engine.turns import Turns, Wished, as_text
from hornbook.loop.engine.workers import (
    Roster,
    connect,
    database_url,
    disconnect,
    workflow_name,
)
from hornbook.loop.protocol import Loop, StepKind, StepOutcome
from hornbook.settings.surroundings import NotifySettings

if TYPE_CHECKING:
    from hornbook.loop.engine.notices import Notices

_BROKEN = {
    "ERROR": "the engine could not go on with it",
    "CANCELLED": "it was cancelled",
}
_OVER = frozenset({*_BROKEN, "SUCCESS"})


@dataclass(frozen=True, slots=True)
class Options:
    """Where an engine keeps its memory and how it works.

    `parallel` is how many runs one process works on at once; `run_seconds` how long the steps and
    waits of a run may take together, 0 for as long as they do; `database_wait` how many seconds a
    database that is away is waited for; `repository` whose runs these are, where several share it;
    `places` how many steps of all machines may use something at the same time, by its name;
    `notify` who is told what a person is asked, and `name` what the repository is called there.
    """

    state: Path
    database: str = ""
    parallel: int = 2
    heartbeat: float = 5.0
    dead_after: float = 30.0
    run_seconds: float = 0.0
    database_wait: float = 0.0
    repository: str = ""
    places: Mapping[str, int] = field(default_factory=dict)
    notify: NotifySettings = field(default_factory=NotifySettings)
    name: str = ""


@dataclass(frozen=True, slots=True)
class EngineScope:
    """Which runs a process works on: those of a plan, one run with what it spawns, or all."""

    plan: str | None = None
    run: str | None = None


EVERYTHING = EngineScope()
TELL_SECONDS = 1.0
"""How long a question may wait before it is told, unless heartbeats come sooner."""
LAST_TELL_SECONDS = 3.0
"""How long an engine that closes tells what was just asked; the next one tells the rest."""


def nothing() -> None:
    """One checkout has nobody to follow."""


def _notices(database: sql.Engine, options: Options) -> "Notices | None":
    """Who tells what waits for a person, where an address for that is set."""
    if not options.notify.url:
        return None
    from hornbook.loop.engine.notices import Notices  # noqa: PLC0415  # start-up of execute

    return Notices(database, options.repository, options.notify, name=options.name)


class Engine:
    """Drives a loop durably; a process has one at most.

    The loop is called from several threads.
    """

    def __init__(
        self,
        loop: Loop,
        options: Options,
        scope: EngineScope = EVERYTHING,
        *,
        tell: Tell = nobody,
        follow: Callable[[], None] = nothing,
    ) -> None:
        self._tell = tell
        self._follow = follow
        self._options = options
        self._scope = scope
        self._loop = loop
        options.state.mkdir(parents=True, exist_ok=True)
        self._url = database_url(options.state, options.database)
        self.wait = DatabaseWait(options.database_wait, lambda said: tell("engine", said))
        ours = options.repository
        self._database = self.wait.until_back(lambda: connect(self._url, ours))
        self.roster = Roster(self._database, options.state, options.dead_after, ours)
        self.runs = EngineRuns(self._database, ours, notices=bool(options.notify.url))
        self._notices = _notices(self._database, options)
        self.turns = Turns(
            self._database, ours, self.roster.worker, options.places, options.dead_after
        )
        self._legs = RunLegs(
            loop,
            self.runs,
            self.roster.worker,
            repository=ours,
            slots=options.parallel,
            limit=options.run_seconds,
            tell=tell,
            wait=self.wait,
        )
        self._legs.keep = self.turns.keep
        self._durable = Durable(self._database, self.roster.worker, self._leg, ours)
        self._legs.durable = self._durable
        self._legs.enqueue = self._enqueue
        self._closing = threading.Event()
        self._taking = threading.Thread(
            target=self._keep_taking, name="hornbook-turns", daemon=True
        )
        self._keeper = threading.Thread(target=self._keep, name="hornbook-keeper", daemon=True)
        self._follower = threading.Thread(
            target=self._keep_following, name="hornbook-follower", daemon=True
        )
        self._teller = threading.Thread(
            target=self._keep_telling, name="hornbook-notices", daemon=True
        )
        self._following = threading.Lock()
        self._turn = threading.Lock()
        """Held from when a run is taken until its leg was begun, or could not be."""
        self._beaten = time.monotonic()
        self._behind = ""
        self._told: dict[str, str] = {}

    def __enter__(self) -> Self:
        self.roster.join()
        try:
            self._durable.launch(self._options.state)
            self.reap()
        except BaseException:
            self.roster.leave()
            raise
        self._keeper.start()
        self._taking.start()
        if self._options.notify.url:
            self._teller.start()
        if self._follow is not nothing:
            self._follower.start()
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
        for thread in (self._taking, self._teller, self._follower, self._keeper):
            if thread.is_alive():
                thread.join()
        until = time.monotonic() + LAST_TELL_SECONDS
        self._tell_notices(lambda: time.monotonic() < until, LAST_TELL_SECONDS)
        self._durable.close(self._legs.busy)
        self.roster.leave()
        disconnect(self._database)
        return ended

    def _leg(self, run: str, number: int, first: str, spent: float) -> dict[str, object]:
        """A leg of a run, and room for another one after it."""
        try:
            return self._legs.run(run, number, first, spent)
        finally:
            self._legs.hand_back(workflow_name(self._options.repository, run, number))

    def begin(self, request: Request) -> None:
        """Begin a run, or have it begun already."""
        self.runs.add([request])
        self._legs.look()

    def hold(self, plan: str) -> None:
        """Be the one process that executes a plan, and go on with what was begun of it.

        Raises:
            PlanHeld: Another living one is.
        """
        self.roster.hold(plan)
        self._adopt([each for each in self.runs.of_plan(plan) if each.phase in OPEN])

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
        """Queue again what nobody works on, and what people answered; note what is broken."""
        at_work = self.runs.at_work()
        # Asked in this order: who joins in between has no run that is listed here.
        living = self.roster.living()
        self.turns.release([each.run for each in at_work if each.worker not in living], living)
        self._note_broken([each for each in at_work if each.worker in living])
        if self._stranded(at_work, self._legs.handed_out()):
            self._give_back()
        for run in self.runs.waiting_for_answered():
            if self._covers(run):
                self.resume(run.run)

    def _stranded(self, at_work: Sequence[EngineRun], begun: Collection[str]) -> list[EngineRun]:
        """The runs that this worker has by their rows, though it does not work on them."""
        mine = [each for each in at_work if each.worker == self.roster.worker]
        return [each for each in mine if each.workflow not in begun]

    def _give_back(self) -> None:
        """Let go of runs that this process took and then could not begin."""
        if not self._turn.acquire(timeout=self._options.heartbeat / 2):
            return  # one is being taken: at the next beat
        try:
            begun = (
                self._legs.handed_out()
            )  # asked first: what ends after that is not ours any more
            runs = self._stranded(self.runs.at_work(), begun)
            statuses = self._durable.statuses([each.workflow for each in runs])
            over = {each.workflow_id for each in statuses if each.status in _OVER}
            for each in runs:
                if each.workflow not in over:  # `_note_broken` sees to those
                    self.turns.give_back(each)
        finally:
            self._turn.release()
        self._legs.look()

    def _keep_taking(self) -> None:
        """Take runs whenever there is room for one, until the engine is closed."""
        while self._legs.await_room(POLL_SECONDS):
            # What the database keeps from us now is asked for again at the next look.
            with self._telling("takes no run"):
                while self._legs.has_room and self._take():
                    pass

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        """Have a thread go on after whatever fails; but for a database that is away, it is told."""
        try:
            yield
        except sql.exc.SQLAlchemyError:
            return
        except Exception as problem:  # noqa: BLE001  # a thread that ends would end silently
            said = f"{type(problem).__name__}: {problem}"
            if self._told.get(what) != said:
                self._told[what] = said
                self._tell("engine", f"this process {what} at the moment: {said}")
        else:
            self._told.pop(what, None)

    def _take(self) -> bool:
        """Take the run whose turn it is, and have its leg executed; whether there was one."""
        wished = self._wished()
        with self._turn:
            run = self.turns.take(wished)
            if run is not None:
                self._begin_leg(run)
        return run is not None

    def _begin_leg(self, run: EngineRun) -> None:
        """Have the leg of a run that was taken executed; `reap` sees to one that cannot be."""
        workflow = workflow_name(run.repository, run.run, run.leg or 1)
        self._legs.hand_out(workflow)
        try:
            if run.leg == 0:
                first = Planned(run.run, 1, STEP if run.parent else START)
                self._durable.enqueue(first)
                self.runs.begun(run.run, self.roster.worker)
            begun = self._durable.begin(workflow)
        except BaseException:
            self._legs.hand_back(workflow)
            raise
        if not begun:
            self._legs.hand_back(workflow)

    def _wished(self) -> Wished:
        if self._scope.run is None:
            return Wished(plan=self._scope.plan)
        return Wished(runs=[each.run for each in self.covered()])

    def _keep(self) -> None:
        """Beat and reap until the engine is closed."""
        while not self._closing.wait(self._options.heartbeat):
            late = time.monotonic() - self._beaten > self._options.dead_after / 2
            # A database that is away for a while is asked again at the next beat; should that
            # take too long, others take our runs, and the fence keeps us from them.
            with self._telling("sees to no dead worker's runs"):
                if not self._beat():
                    return
                self._beaten = time.monotonic()
                # After a pause of our own, others on this machine may have paused as well.
                if not late:
                    self.reap()

    def _keep_following(self) -> None:
        """Follow the others until the engine is closed; no beat waits for a slow git."""
        while not self._closing.wait(self._options.heartbeat):
            with self._telling("does not follow the others"):
                self.keep_up()

    def _keep_telling(self) -> None:
        """Tell what a person is asked until the engine is closed."""
        while not self._closing.wait(min(self._options.heartbeat, TELL_SECONDS)):
            self._tell_notices(lambda: not self._closing.is_set())

    def _tell_notices(self, going_on: Callable[[], bool], seconds: float | None = None) -> None:
        if self._notices is None:
            return
        with self._telling("tells no question"):  # it is told once the database is back
            self._notices.tell(going_on, seconds)

    def _beat(self) -> bool:
        """Tell that this process lives; False if it may do nothing more in this database."""
        try:
            self.roster.beat()
        except EngineError as refused:  # by a newer release
            self._tell("engine", str(refused))
            self._legs.stop(0.0)
            return False
        return True

    def keep_up(self) -> None:
        """Bring this checkout to where the others are; what keeps it from that is told once."""
        with self._following:
            try:
                self._follow()
            except HornbookError as problem:
                if str(problem) != self._behind:
                    self._behind = str(problem)
                    self._tell("engine", f"this checkout does not follow the others: {problem}")

    def _adopt(self, runs: Sequence[EngineRun]) -> None:
        """Have interrupted runs go on at once.

        Raises:
            EngineError: The only run that is wanted is at work elsewhere.
        """
        living = self.roster.living()
        dead = [each.run for each in runs if each.worker and each.worker not in living]
        self.turns.release(dead, living)
        for run in runs:
            if run.worker in living:
                self._check_not_elsewhere(run, living)
            elif self._scope.run is not None or not run.needs_nobody:
                self.runs.woken(run.run)
        self._legs.look()

    def _check_not_elsewhere(self, run: EngineRun, living: Mapping[str, str]) -> None:
        """Raise if the one run that this process works on has another living worker."""
        if run.run == self._scope.run and run.worker != self.roster.worker:
            place = living[run.worker]
            raise EngineError(f"run {run.run} is at work already ({place}): wait for it.")

    def _enqueue(
        self, run: EngineRun, leg: Planned, delay: float = 0.0, needs: Collection[str] = ()
    ) -> None:
        """Queue a leg first and note it then: what is noted can always be run."""
        self._durable.enqueue(leg)
        self.runs.queued(run.run, leg.number, delay, as_text(needs))
        self._legs.look()

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

    def _note_broken(self, at_work: Sequence[EngineRun]) -> None:
        """Note as failed what DBOS gave up; only what somebody works on can be."""
        waiting = {run.workflow: run for run in at_work}
        for each in self._durable.statuses(list(waiting)):
            why = _BROKEN.get(each.status)
            if why is not None:
                self._give_up(waiting[each.workflow_id], why)
            elif each.status == "SUCCESS":
                self._go_on(waiting[each.workflow_id])

    def _go_on(self, run: EngineRun) -> None:
        """Queue another leg of a run whose last one is over, though it says nothing of that."""
        now = self.runs.get(run.run)
        if (now.workflow, now.worker, now.phase) == (run.workflow, run.worker, run.phase):
            self._enqueue(run, Planned(run.run, run.leg + 1, STEP, run.spent))

    def _give_up(self, run: EngineRun, why: str) -> None:
        """Have the loop ask a person about a run; the engine only ends it where that fails too."""
        try:
            outcome = self._loop.gave_up(run.run, why, FAILED)
        except HornbookError as problem:
            message = f"{why} ({problem}): `hornbook resume {run.run}` tries again."
            outcome = StepOutcome(StepKind.ENDED, run.run, status=FAILED, message=message)
        self.runs.settle(outcome)
