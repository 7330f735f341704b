"""The engine of a workspace: plans are executed, runs resumed, and this machine joins others."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from socket import gethostname
from typing import TYPE_CHECKING

from hornbook.commits import git
from hornbook.disk import now
from hornbook.errors import UsageError
from hornbook.graph.repository import Repository
from hornbook.loop.agent_places import limited_places
from hornbook.loop.configured_agents import WorkspaceStaff, loop_of
from hornbook.loop.engine.database_wait import DatabaseWait
from hornbook.loop.engine.engine import EVERYTHING, Engine, EngineScope, Options, nothing
from hornbook.loop.engine.engine_runs import (
    APPROVED,
    UNFINISHED,
    EngineRun,
    Request,
    RunPhase,
    wanted_run,
)
from hornbook.loop.engine.run_leg import Tell, nobody
from hornbook.loop.plan_book import PlanBook, PlanCheck
from hornbook.loop.protocol import Loop
from hornbook.loop.runs.log import LazyEventLog, Progress, progress_of
from hornbook.plans.log import EventLog
from hornbook.plans.principal import at_command_line, require_human
from hornbook.plans.state import PLAN_KINDS, project
from hornbook.plans.tasks import ledger_of
from hornbook.plans.workspace_log import repository_of
from hornbook.settings.settings import SCRIPTED

if TYPE_CHECKING:
    from hornbook.loop.planner import Planner

LOOK_SECONDS = 0.2
NEWS_SECONDS = 1.0


def configured_loop(work: Repository) -> Loop:
    """The loop with the agents that the settings name."""
    return loop_of(work)


def configured_planner(work: Repository, agent: str | None) -> "Planner | None":
    """Who plans: the agent of that name, else by the settings; None if nobody does."""
    from hornbook.loop.planner import planner_of  # noqa: PLC0415  # only `auto` plans

    return planner_of(work, agent)


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """A run as somebody who looks on sees it; `seconds` are those that it took until now."""

    run: EngineRun
    progress: Progress
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class Execution:
    """What an execution came to: the run that was asked for, and all that belong to its plan."""

    plan: str
    root: EngineRun
    runs: tuple[ObservedRun, ...]
    approved: bool
    """Whether all that was asked for is approved, by whatever route it came to that."""

    @property
    def asking(self) -> tuple[EngineRun, ...]:
        """The runs that a person has to answer; not those that wait for such a run."""
        found = [each.run for each in self.runs if each.run.phase is RunPhase.ASKING]
        waiting = {each.parent for each in found}
        return tuple(each for each in found if each.run not in waiting)


Look = Callable[[Sequence[ObservedRun]], None]
"""Is shown the runs whenever one of them has moved on."""


def _nobody_looks(_runs: Sequence[ObservedRun]) -> None:
    """Execute without showing anything."""


def _nobody_hears(_said: str) -> None:
    """Execute without telling what the engine waits for."""


class PlanEngine:
    """Executes the plans of a workspace; `warn` is told what the engine itself waits for."""

    def __init__(
        self,
        work: Repository,
        open_loop: Callable[[Repository], Loop] = configured_loop,
        *,
        warn: Callable[[str], None] = _nobody_hears,
    ) -> None:
        self._warn = warn
        self._told: set[str | None] = set()
        self._work = work
        self._open_loop = open_loop
        self._book: PlanBook = PlanBook(work.places, work.settings, work.ingested)
        self._wait = DatabaseWait(work.settings.engine.database_wait_seconds, warn)

    def execute(
        self,
        given: str,
        *,
        task: str | None = None,
        agent: str | None = None,
        priority: int | None = None,
        look: Look = _nobody_looks,
    ) -> Execution:
        """Execute a plan, or one of its tasks, as far as it goes without a person.

        What was begun before is gone on with. Of all plans, those of the highest `priority` come
        first; None leaves the plan's as it is.

        Raises:
            UsageError: The plan is not committed.
            PlanHeld: Another process executes it.
            EngineError: Whoever develops or reviews cannot work here; nothing was begun.
        """
        view = self._wait.until_back(lambda: self._book.view(given))
        slug = view.plan.slug
        if not view.plan.committed:
            raise UsageError(
                f"plan {slug} is not committed: `hornbook promote {slug}` commits to it."
            )
        number = None if task is None else PlanBook.task(view.state, task).number
        with self._engine(EngineScope(plan=slug)) as engine:
            root = engine.wait.until_back(
                lambda: self._taken_up(engine, slug, number, agent, priority)
            )
            ended = self._watched(engine, slug, root, look)
            engine.keep_up()
        return ended

    def _taken_up(
        self, engine: Engine, plan: str, number: int | None, agent: str | None, priority: int | None
    ) -> str:
        """The run of a plan or of one of its tasks: the one that is not over yet, else a new one.

        It goes on, and so does what else was begun of the plan.
        """
        known = wanted_run(engine.runs.of_plan(plan), plan, number).run
        self._tell_readiness(agent if known is None else known.agent)
        engine.hold(plan)
        if priority is not None:
            engine.turns.prioritise(plan, priority)
        root = _begun(engine, plan, number, agent)
        for run in engine.runs.of_plan(plan):
            if run.phase is RunPhase.ASKING:
                engine.resume(run.run)  # somebody may have answered
        return root

    def resume(self, run_id: str, *, look: Look = _nobody_looks) -> Execution:
        """Go on with one run, as far as it goes without a person.

        Raises:
            NotFound: There is no such run.
            EngineError: It has ended, or another process works on it.
        """
        wanted = run_id.removeprefix("run.")
        with self._engine(EngineScope(run=wanted)) as engine:
            run = engine.wait.until_back(lambda: engine.resume(wanted))
            ended = self._watched(engine, run.plan, wanted, look)
            engine.keep_up()
        return ended

    def work(self, until: threading.Event, tell: Tell = nobody) -> None:
        """Work on the runs of all plans until told to end; steps that were begun are finished."""
        with self._engine(EVERYTHING, tell) as engine:
            tell("worker", f"{engine.roster.place} works")
            until.wait()
            tell("worker", "finishes its steps")
            engine.drain()

    def auto(
        self,
        topic: str,
        *,
        agent: str | None = None,
        look: Look = _nobody_looks,
        open_planner: "Callable[[Repository, str | None], Planner | None]" = configured_planner,
    ) -> Execution | PlanCheck:
        """Have a topic planned, checked, committed to and executed; the check, if it fails.

        Before that the planner is asked again, with what is wrong. `agent` plans, too.

        Raises:
            UsageError: Nobody is configured who plans.
            NotAPerson: Whoever asks is none: nobody else commits to a plan.
        """
        from hornbook.loop.planner import planned  # noqa: PLC0415  # only `auto` plans

        state = self._work.places.state
        require_human(at_command_line(state), "commit to a plan", state)  # before one is paid for
        self._wait.until_back(self._reach)
        self._tell_readiness(agent)
        planner = open_planner(self._work, agent)
        if planner is None:
            raise UsageError(
                "nobody plans: name an agent with --agent or in `engine.agent`, or write the plan "
                "yourself with `hornbook explore`."
            )
        found = planned(self._book, planner, topic)
        if not found.passed:
            return found
        slug = found.view.plan.slug
        self._book.promote(slug)
        return self.execute(slug, agent=agent, look=look)

    def fix(
        self, reference: str, *, agent: str | None = None, look: Look = _nobody_looks
    ) -> Execution:
        """Mend a violation that a recorded review found: plan it as one task, and execute that.

        Raises:
            UsageError: The reference names no one violation, or HEAD lacks its files.
            NotFound: There is no such review.
        """
        from hornbook.loop.fix_plan import fix_plan  # noqa: PLC0415  # start-up of execute

        places = self._work.places
        self._wait.until_back(self._reach)
        slug = fix_plan(places.root, self._book, places.records, reference)
        return self.execute(slug, agent=agent, look=look)

    def _reach(self) -> None:
        """Have the database answer once, before anything is begun in it."""
        with self._book.store_if_any():
            return

    def _tell_readiness(self, agent: str | None) -> None:
        """Say who is about to work, once, and refuse those who cannot."""
        appointed = WorkspaceStaff(self._work.places, self._work.settings).appointed(agent)
        if all(each.agent.name == SCRIPTED for each in appointed) or agent in self._told:
            return
        from hornbook.loop.agent_readiness import tell_readiness  # noqa: PLC0415  # start-up

        for line in tell_readiness(appointed):
            self._warn(line)
        self._told.add(agent)

    @contextmanager
    def _engine(self, scope: EngineScope, tell: Tell = nobody) -> Iterator[Engine]:
        self._work.places.prepare()
        told = self._work.settings.engine
        options = Options(
            self._work.places.state,
            told.database,
            parallel=told.parallel,
            heartbeat=told.heartbeat_seconds,
            dead_after=told.dead_after_seconds,
            run_seconds=told.run_minutes * 60,
            database_wait=told.database_wait_seconds,
            repository=repository_of(self._work.places, self._work.settings),
            places=limited_places(told.at_once),
            notify=self._work.settings.notify,
            name=self._name_to_others(),
        )
        heard = self._heard if tell is nobody else tell
        loop = self._wait.until_back(lambda: self._open_loop(self._work))
        with (
            git.operation(self._work.root) if scope is not EVERYTHING else nullcontext(),
            Engine(
                loop,
                options,
                scope,
                tell=heard,
                follow=self._follower(scope, heard),
            ) as engine,
        ):
            yield engine

    def _name_to_others(self) -> str:
        """What those who are told of questions know this repository by."""
        if not self._work.settings.notify.url:
            return ""
        from hornbook.plans.audit.audit_log import known_name  # noqa: PLC0415  # start-up

        root = self._work.root
        here = sha256(f"{gethostname()}:{root.resolve()}".encode()).hexdigest()
        return known_name(root, self._work.settings) or f"local-{here[:12]}"

    def _follower(self, scope: EngineScope, tell: Tell) -> Callable[[], None]:
        """What brings the branches of plans here, where other checkouts move them too.

        A worker also gives up what is past its time.
        """
        places, settings = self._work.places, self._work.settings
        if not settings.engine.database:
            return nothing
        from hornbook.loop.shared_worktrees import BranchFollower  # noqa: PLC0415  # start-up

        follow = BranchFollower(places, settings)
        if scope is not EVERYTHING or not settings.engine.keep_days:
            return follow
        from hornbook.loop.engine.pruning import Pruner  # noqa: PLC0415  # as above

        prune = Pruner(places, settings, tell)

        def keep_up() -> None:
            follow()
            prune()

        return keep_up

    def _ended(
        self, engine: Engine, log: LazyEventLog, root: str, shown: tuple[ObservedRun, ...]
    ) -> Execution:
        """What an execution came to."""
        run = engine.runs.get(root)
        told = (each.run.task or each.progress.task for each in shown if each.run.run == root)
        task = next(told, "")
        number = int(task.rpartition(".")[2]) if task else None
        over = run.phase is RunPhase.ENDED
        approved = over and (run.status == APPROVED or _is_done(log.opened(), run.plan, number))
        return Execution(run.plan, run, shown, approved)

    def _heard(self, who: str, said: str) -> None:
        """Pass on what the engine tells of itself; of runs, the events tell."""
        if who == "engine":
            self._warn(said)

    def _watched(self, engine: Engine, plan: str, root: str, look: Look) -> Execution:
        """Show the runs of a plan until none goes on without a person."""
        pause = threading.Event()
        shown: tuple[ObservedRun, ...] = ()
        looked = NEWS_SECONDS
        log = LazyEventLog(self._work.places, self._work.settings, PLAN_KINDS, now)
        try:
            while True:
                runs = engine.wait.until_back(lambda: engine.covered(plan))
                looked += LOOK_SECONDS
                # between two steps agents tell what they do, which no run of the engine has
                if [each.run for each in shown] != runs or looked >= NEWS_SECONDS:
                    looked = 0.0
                    seen = partial(_observed, log, plan, runs)
                    shown = engine.wait.until_back(seen)
                    look(shown)
                if not any(each.needs_nobody for each in runs) or _all_wait_for_failed(runs):
                    return self._ended(engine, log, root, shown)
                pause.wait(LOOK_SECONDS)
        finally:
            log.close()


def _is_given_up(run: EngineRun) -> bool:
    return run.phase is RunPhase.ENDED and run.status in UNFINISHED


def _all_wait_for_failed(runs: Sequence[EngineRun]) -> bool:
    """Whether whoever still waits only waits for runs that the engine gave up."""
    failed = [each for each in runs if _is_given_up(each)]
    above = {each.parent for each in failed}
    waiting = [each for each in runs if each.needs_nobody]
    return bool(failed) and all(
        each.run in above and each.phase is RunPhase.WAITING for each in waiting
    )


def _is_done(log: EventLog | None, plan: str, number: int | None) -> bool:
    """Whether a task, or every task of a plan, is approved; in its successor if it has one."""
    events = log.events(plan) if log is not None else []
    state = project(events)
    if log is None or state is None:
        return False
    if state.superseded_by is not None:
        return _is_done(log, state.superseded_by, None)
    ledger = ledger_of(plan, events)
    wanted = [task.number for task in ledger.tasks] if number is None else [number]
    return bool(wanted) and all(map(ledger.done, wanted))


def _observed(log: LazyEventLog, plan: str, runs: Sequence[EngineRun]) -> tuple[ObservedRun, ...]:
    opened = log.opened()
    events = opened.events(plan) if opened is not None else []
    moment = now()
    return tuple(_seen(run, progress_of(events, run.run), moment) for run in runs)


def _seen(run: EngineRun, progress: Progress, moment: str) -> ObservedRun:
    if not progress.since:
        return ObservedRun(run, progress)
    until = progress.until if run.phase is RunPhase.ENDED else moment
    took = datetime.fromisoformat(until) - datetime.fromisoformat(progress.since)
    return ObservedRun(run, progress, max(0, int(took.total_seconds())))


def _begun(engine: Engine, plan: str, number: int | None, agent: str | None) -> str:
    """The run of a plan or of one of its tasks: the one that is not over yet, else a new one."""
    wanted = wanted_run(engine.runs.of_plan(plan), plan, number)
    if wanted.run is None:
        task = None if number is None else f"task.{plan}.{number}"
        engine.begin(Request(wanted.name, plan, task, agent))
    elif wanted.run.phase is RunPhase.ENDED and wanted.run.status in UNFINISHED:
        engine.resume(wanted.name)
    return wanted.name
