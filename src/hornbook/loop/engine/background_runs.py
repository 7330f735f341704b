"""Executes plans for those who cannot wait: each in a process of its own, or by the workers."""

import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from hornbook.errors import EngineError, PlanHeld, UsageError
from hornbook.graph.repository import Repository
from hornbook.loop.configured_agents import loop_of
from hornbook.loop.engine.engine_runs import (
    UNFINISHED,
    EngineRuns,
    Request,
    RunPhase,
    wanted_run,
)
from hornbook.loop.engine.turns import Turns
from hornbook.loop.engine.workers import Roster, connect, database_url, disconnect
from hornbook.loop.plan_book import PlanBook
from hornbook.loop.protocol import StepKind
from hornbook.plans.principal import Principal
from hornbook.plans.workspace_log import repository_of
from hornbook.process.background import BackgroundProcess

STOP_SECONDS = 5.0
_LOOK_SECONDS = 0.05

Tell = Callable[[str, int], None]
"""Is told the run that a process was started for, and how that process ended."""


class Executions:
    """The executions that this process started; they end with it, and can be gone on with."""

    def __init__(self, environment: Mapping[str, str], tell: Tell) -> None:
        self._environment = dict(environment)
        self._tell = tell
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._started: dict[str, BackgroundProcess] = {}
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
        that is executed already is left alone.

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
        with self._turn(slug), _Engine(work) as engine:  # two requests at once begin one run
            holder = self._holder(engine, slug)
            found = wanted_run(engine.runs.of_plan(slug), slug, number)
            over = found.run is None or found.run.phase is RunPhase.ENDED
            if holder is not None and over:
                raise PlanHeld(f"plan {slug} is being executed already ({holder}): wait for it.")
            _start(work, slug, number, agent, found.name, by=by)
            if holder is None:
                process = self._run(work, slug, number, agent, found.name)
                self._await(engine, process, slug, found.name)
            return found.name

    def close(self) -> None:
        """End what was started; what was done is kept, and `execute` goes on with it."""
        self._closing.set()
        with self._lock:  # from here on nothing is started
            for each in self._started.values():
                if each.code is None:
                    each.stop(STOP_SECONDS)
            self._started.clear()

    def _turn(self, slug: str) -> threading.Lock:
        with self._lock:
            return self._turns.setdefault(slug, threading.Lock())

    def _run(
        self, work: Repository, slug: str, number: int | None, agent: str | None, run: str
    ) -> BackgroundProcess:
        with self._lock:
            if self._closing.is_set():
                raise EngineError("this server is stopping: nothing is begun any more.")
            self._started[slug] = BackgroundProcess(
                _command(work.root, slug, number, agent),
                folder=work.root,
                environment=self._environment,
                log=work.places.state / "logs" / "executions" / f"{slug}.log",
                ended=lambda code: self._tell(run, code),
            )
            return self._started[slug]

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

    def _await(self, engine: "_Engine", process: BackgroundProcess, slug: str, run: str) -> None:
        """Wait until the process has taken up its plan, or is over already."""
        while True:
            code = process.code
            if engine.roster.holder(slug) is not None:
                return
            if code is not None:
                if engine.runs.has(run):
                    return  # it was a short one
                said = process.last_output().strip().splitlines() or ["it said nothing"]
                raise EngineError(
                    f"the process that was to execute plan {slug} ended with {code}: {said[-1]}; "
                    f"all of it is in .hornbook/logs/executions/{slug}.log."
                )
            if self._closing.wait(_LOOK_SECONDS):
                return


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
    with _Engine(work) as engine:
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

    def __init__(self, work: Repository) -> None:
        work.places.prepare()
        told = work.settings.engine
        state = work.places.state
        ours = repository_of(work.places, work.settings)
        self._database = connect(database_url(state, told.database), ours)
        self.runs = EngineRuns(self._database, ours)
        self.roster = Roster(self._database, state, told.dead_after_seconds, ours)
        self.turns = Turns(self._database, ours, "", {}, told.dead_after_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_ended: object) -> None:
        disconnect(self._database)


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
