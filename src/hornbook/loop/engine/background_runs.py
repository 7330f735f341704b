"""Executes plans for those who cannot wait: each in a process of its own, or by the workers.

A plan that another process executes is left to that one. It may end, or be killed, right after it
was seen alive: so whoever accepts a run looks after it, and begins a process once nobody has its
plan any more while the run could go on.
"""

import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import sqlalchemy as sql

from hornbook.errors import EngineError, PlanHeld, UsageError
from hornbook.graph.repository import Repository
from hornbook.loop.configured_agents import loop_of
from hornbook.loop.engine.engine_runs import (
    ANSWERED,
    UNFINISHED,
    EngineRun,
    EngineRuns,
    Request,
    RunPhase,
    Wanted,
    wanted_run,
)
from hornbook.loop.engine.turns import Turns
from hornbook.loop.engine.workers import Roster, connect, database_url, disconnect, place_of
from hornbook.loop.plan_book import PlanBook
from hornbook.loop.protocol import StepKind
from hornbook.plans.principal import Principal
from hornbook.plans.workspace_log import repository_of
from hornbook.process.background import BackgroundProcess
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

STOP_SECONDS = 5.0
_LOOK_SECONDS = 0.05

Tell = Callable[[str, int], None]
"""Is told the run that a process was started for, and how that process ended."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a process is to execute, in which repository."""

    places: Places
    settings: Settings
    slug: str
    number: int | None
    agent: str | None
    run: str


class Executions:
    """The executions that this process started; they end with it, and can be gone on with."""

    def __init__(self, environment: Mapping[str, str], tell: Tell) -> None:
        self._environment = dict(environment)
        self._tell = tell
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._started: dict[str, BackgroundProcess] = {}
        self._looked_after: dict[str, threading.Thread] = {}
        self._closing = threading.Event()

    def begin(
        self,
        work: Repository,
        given: str,
        *,
        task: str | None = None,
        agent: str | None = None,
        by: Principal | None = None,
    ) -> str:
        """Begin to carry out a plan, or one of its tasks, as `hornbook execute` does; the run's id.

        `by` is who wants it, by default whoever runs this process. It returns as soon as a process
        is at it, however long that takes to start: until then nobody could tell that one is. A run
        that is executed already is left to whoever does that, for as long as he does.

        Raises:
            NotFound: There is no such plan or task.
            UsageError: The plan may not start, or nobody has that agent's name.
            PlanHeld: Another process executes another part of the plan.
            EngineError: The process could not start.
        """
        book = PlanBook(work.places, work.settings, work.ingested)
        view = book.view(given)
        slug = view.plan.slug
        number = None if task is None else PlanBook.task(view.state, task).number
        # Two requests at once begin one run.
        with self._turn(slug), _Engine(work.places, work.settings) as engine:
            holder = self._holder(engine, slug)
            found = wanted_run(engine.runs.of_plan(slug), slug, number)
            if holder is not None and _is_over(found):
                raise PlanHeld(f"plan {slug} is being executed already ({holder}): wait for it.")
            _start(work, slug, number, agent, found.name, by=by)
            wanted = _Wanted(work.places, work.settings, slug, number, agent, found.name)
            if holder is not None or not self._execute(engine, wanted):
                self._look_after(wanted)
            return found.name

    def close(self) -> None:
        """End what was started; what was done is kept, and `execute` goes on with it."""
        self._closing.set()
        with self._lock:  # from here on nothing is started
            for each in self._started.values():
                if each.code is None:
                    each.stop(STOP_SECONDS)
            self._started.clear()
            looking = [*self._looked_after.values()]
        for thread in looking:
            thread.join()

    def _turn(self, slug: str) -> threading.Lock:
        with self._lock:
            return self._turns.setdefault(slug, threading.Lock())

    def _execute(self, engine: "_Engine", wanted: _Wanted) -> bool:
        """Have a process take up a plan; whether one did, and not another process before it.

        Raises:
            EngineError: It could not start.
        """
        process = self._run(wanted)
        ours = place_of(process.pid)
        while not self._closing.is_set():
            code = process.code
            holder = engine.roster.holder(wanted.slug)
            if holder is not None:
                return holder == ours
            if code is not None:
                if engine.runs.has(wanted.run):
                    return True  # it was a short one
                said = process.last_output().strip().splitlines() or ["it said nothing"]
                raise EngineError(
                    f"the process that was to execute plan {wanted.slug} ended with {code}: "
                    f"{said[-1]}; all of it is in .hornbook/logs/executions/{wanted.slug}.log."
                )
            self._closing.wait(_LOOK_SECONDS)
        return True

    def _run(self, wanted: _Wanted) -> BackgroundProcess:
        places, slug = wanted.places, wanted.slug
        with self._lock:
            if self._closing.is_set():
                raise EngineError("this server is stopping: nothing is begun any more.")
            self._started[slug] = BackgroundProcess(
                _command(places.root, slug, wanted.number, wanted.agent),
                folder=places.root,
                environment=self._environment,
                log=places.state / "logs" / "executions" / f"{slug}.log",
                ended=lambda code: self._tell(wanted.run, code),
            )
            return self._started[slug]

    def _look_after(self, wanted: _Wanted) -> None:
        """Have a run gone on with, should whoever executes its plan end before it."""
        with self._lock:
            if self._closing.is_set() or wanted.run in self._looked_after:
                return
            thread = threading.Thread(
                target=self._keep_looking, args=(wanted,), name="hornbook-accepted", daemon=True
            )
            self._looked_after[wanted.run] = thread
            thread.start()

    def _keep_looking(self, wanted: _Wanted) -> None:
        try:
            while not self._closing.wait(wanted.settings.engine.heartbeat_seconds):
                with suppress(EngineError, sql.exc.SQLAlchemyError):  # the database is away
                    if self._is_seen_to(wanted):
                        return
        finally:
            with self._lock:
                del self._looked_after[wanted.run]

    def _is_seen_to(self, wanted: _Wanted) -> bool:
        """Whether a run needs nobody to look after it; if it has nobody else, a process begins."""
        with self._turn(wanted.slug), _Engine(wanted.places, wanted.settings) as engine:
            runs = engine.runs.of_plan(wanted.slug)
            begun = any(run.run == wanted.run for run in runs)
            if begun and _is_over(wanted_run(runs, wanted.slug, wanted.number)):
                return True
            if engine.roster.holder(wanted.slug) is not None:
                return False
            if begun and not any(map(_goes_on, runs)):
                return True
            try:
                return self._execute(engine, wanted)
            except EngineError:  # what its process said is told with its end
                return True

    def _holder(self, engine: "_Engine", slug: str) -> str | None:
        """Who executes a plan, once that is clear.

        One that has nothing to do yet is about to begin something, or to end; one that does
        neither is no longer taken for alive before long.
        """
        while (holder := engine.roster.holder(slug)) is not None:
            busy = any(run.needs_nobody for run in engine.runs.of_plan(slug))
            if busy or self._closing.wait(_LOOK_SECONDS):
                return holder
        return None


def leave_to_workers(
    work: Repository,
    given: str,
    *,
    task: str | None = None,
    agent: str | None = None,
    priority: int | None = None,
) -> str:
    """Begin to carry out a plan, or one of its tasks, for workers to go on with; the run's id.

    A run that was begun already is left alone.

    Raises:
        NotFound: There is no such plan or task.
        UsageError: The plan may not start, or the run failed before.
    """
    view = PlanBook(work.places, work.settings, work.ingested).view(given)
    slug = view.plan.slug
    number = None if task is None else PlanBook.task(view.state, task).number
    with _Engine(work.places, work.settings) as engine:
        found = wanted_run(engine.runs.of_plan(slug), slug, number)
        if found.run is not None and found.run.status in UNFINISHED:
            raise UsageError(
                f"run {found.name} failed: `hornbook resume {found.name}` goes on with it."
            )
        if found.run is None:
            _start(work, slug, number, agent, found.name, by=None)
        if priority is not None:
            engine.turns.prioritise(slug, priority)
        whole = None if number is None else f"task.{slug}.{number}"
        engine.runs.add([Request(found.name, slug, whole, agent)])
        return found.name


class _Engine:
    """What the engine's database knows, without an engine."""

    def __init__(self, places: Places, settings: Settings) -> None:
        places.prepare()
        told = settings.engine
        ours = repository_of(places, settings)
        self._database = connect(database_url(places.state, told.database), ours)
        self.runs = EngineRuns(self._database, ours)
        self.roster = Roster(self._database, places.state, told.dead_after_seconds, ours)
        self.turns = Turns(self._database, ours, "", {}, told.dead_after_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_ended: object) -> None:
        disconnect(self._database)


def _is_over(found: Wanted) -> bool:
    """Whether to execute would begin a run, or resume one that failed."""
    run = found.run
    return run is None or (run.phase is RunPhase.ENDED and run.status in UNFINISHED)


def _goes_on(run: EngineRun) -> bool:
    """Whether there is something to do for a run: it needs no answer, or has it."""
    return run.needs_nobody or run.status == ANSWERED


def _start(
    work: Repository,
    slug: str,
    number: int | None,
    agent: str | None,
    run: str,
    *,
    by: Principal | None,
) -> None:
    """Begin a run in the log, so that whoever asks for it finds it; one that is there stays.

    Raises:
        UsageError: It may not start.
    """
    task = None if number is None else f"task.{slug}.{number}"
    begun = loop_of(work, by).start(slug, task, agent=agent, run_id=run)
    if begun.kind is StepKind.ENDED and begun.status == "refused":
        raise UsageError(begun.message)


def _command(root: Path, slug: str, number: int | None, agent: str | None) -> list[str]:
    command = [sys.executable, "-m", "hornbook", "--root", os.fspath(root), "execute", slug]
    if number is not None:
        command += ["--task", str(number)]
    if agent is not None:
        command += ["--agent", agent]
    return [*command, "--json"]
