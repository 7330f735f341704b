"""The runs that the engine knows.

This is the engine's own memory: what happened in a run is told by its events alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sql

from hornbook.errors import NotFound
from hornbook.loop.engine.workers import FILE, RUNS, connect, database_url
from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

APPROVED = "approved"
ANSWERED = "answered"
"""How a run that asks stands from the answer to the next leg."""
FAILED = "failed"
TIMED_OUT = "timed_out"
UNFINISHED = frozenset({FAILED, TIMED_OUT})
"""Ends that the engine declared, not the loop: the run can be resumed where it stands."""


class RunPhase(StrEnum):
    """Where the engine has a run."""

    NEW = "new"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    ASKING = "asking"
    ENDED = "ended"


OPEN = frozenset({RunPhase.NEW, RunPhase.QUEUED, RunPhase.RUNNING, RunPhase.WAITING})
"""Phases in which a worker has, or will have, something to do."""


@dataclass(frozen=True, slots=True)
class Request:
    """A run that is wanted: of a task, or of a whole plan; `parent` is the run that began it."""

    run: str
    plan: str
    task: str | None = None
    agent: str | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class EngineRun:
    """A run as the engine has it; `leg` counts the times that it was set going."""

    run: str
    plan: str
    task: str | None
    agent: str | None
    parent: str | None
    leg: int
    phase: RunPhase
    status: str
    message: str
    worker: str
    steps: int
    spent: float

    @property
    def workflow(self) -> str:
        """The name of its current leg in the queue."""
        return f"{self.run}~{self.leg}"

    @property
    def needs_nobody(self) -> bool:
        """Whether it goes on without a person: one that waits for other runs' answers does not."""
        return self.phase in OPEN and (self.phase, self.status) != (RunPhase.WAITING, "asking")


class EngineRuns:
    """The runs of one database."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    def add(self, requests: Sequence[Request]) -> None:
        """Enter runs; those that are known stay as they are."""
        with self._engine.begin() as connection:
            known = set(connection.execute(sql.select(RUNS.c.run)).scalars())
            fresh = [each for each in requests if each.run not in known]
            for place, each in enumerate(fresh, len(known) + 1):
                connection.execute(sql.insert(RUNS).values(**_row(each), ordinal=place))

    def get(self, run: str) -> EngineRun:
        """One run.

        Raises:
            NotFound: The engine never had it.
        """
        found = self._select(RUNS.c.run == run)
        if not found:
            raise NotFound(f"the engine has no run {run!r}: `hornbook execute SLUG` begins runs.")
        return found[0]

    def has(self, run: str) -> bool:
        """Whether the engine has a run of this id."""
        return bool(self._select(RUNS.c.run == run))

    def of_plan(self, plan: str) -> list[EngineRun]:
        """The runs that belong to a plan, in the order in which they were entered."""
        return self._select(RUNS.c.plan == plan)

    def of_workflows(self, workflows: Iterable[str]) -> list[EngineRun]:
        """The runs whose current leg is one of these."""
        wanted = set(workflows)
        names = {name.rpartition("~")[0] for name in wanted}
        found = self._select(RUNS.c.run.in_(names)) if names else []
        return [each for each in found if each.workflow in wanted]

    def in_phases(self, phases: Iterable[RunPhase]) -> list[EngineRun]:
        """All runs in one of these phases."""
        return self._select(RUNS.c.phase.in_(sorted(phases)))

    def queued(self, run: str, leg: int, phase: RunPhase = RunPhase.QUEUED) -> None:
        """Note that a leg was queued, unless a worker was faster and has it already."""
        before = sql.and_(RUNS.c.run == run, RUNS.c.leg == leg - 1)
        with self._engine.begin() as connection:
            connection.execute(sql.update(RUNS).where(before).values(leg=leg, phase=phase))

    def answered(self, run: str) -> bool:
        """Note that a person answered a run that asks; False if none such asks."""
        asks = sql.and_(RUNS.c.run == run, RUNS.c.phase == RunPhase.ASKING)
        with self._engine.begin() as connection:
            told = connection.execute(sql.update(RUNS).where(asks).values(status=ANSWERED))
        return told.rowcount > 0

    def woken(self, run: str) -> None:
        """Note that a run that waits is looked at again at once."""
        waits = sql.and_(RUNS.c.run == run, RUNS.c.phase == RunPhase.WAITING)
        with self._engine.begin() as connection:
            connection.execute(sql.update(RUNS).where(waits).values(phase=RunPhase.QUEUED))

    def taken(self, run: str, leg: int, worker: str) -> None:
        """Note who runs a leg of a run."""
        self._set(run, leg=leg, phase=RunPhase.RUNNING, worker=worker)

    def note(self, outcome: StepOutcome, *, spent: float) -> None:
        """Note where a run stands after a step that took `spent` seconds, waits included."""
        waits = outcome.kind is StepKind.WAITING
        self._set(
            outcome.run_id,
            phase=RunPhase.WAITING if waits else RunPhase.RUNNING,
            status=outcome.status,
            message=outcome.message,
            steps=RUNS.c.steps + 1,
            spent=RUNS.c.spent + spent,
        )

    def settle(self, outcome: StepOutcome) -> None:
        """Note that a leg is over: the run ended, or asks."""
        asks = outcome.kind is StepKind.ASKING
        self._set(
            outcome.run_id,
            phase=RunPhase.ASKING if asks else RunPhase.ENDED,
            status=outcome.status,
            message=outcome.message,
            worker="",
        )

    def _set(self, run: str, **values: object) -> None:
        with self._engine.begin() as connection:
            connection.execute(sql.update(RUNS).where(RUNS.c.run == run).values(**values))

    def _select(self, condition: "sql.ColumnElement[bool]") -> list[EngineRun]:
        asked = sql.select(RUNS).where(condition).order_by(RUNS.c.ordinal)
        with self._engine.connect().execution_options(hornbook_reads=True) as connection:
            return [_run(row) for row in connection.execute(asked)]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What executing a plan or a task means: a run by its name, with how it stands if there is one.

    One that ended is resumed; where there is none it is begun.
    """

    name: str
    run: EngineRun | None


def wanted_run(runs: Iterable[EngineRun], plan: str, number: int | None) -> Wanted:
    """The run of a plan or of one of its tasks: the one that is not over yet, else a new one."""
    base = plan if number is None else f"{plan}-t{number}"
    known = {run.run: run for run in runs}
    count = 1
    while f"{base}-{count}" in known:
        run = known[f"{base}-{count}"]
        if run.phase is not RunPhase.ENDED or run.status in UNFINISHED:
            return Wanted(run.run, run)
        count += 1
    return Wanted(f"{base}-{count}", None)


def _row(request: Request) -> dict[str, object]:
    return {
        "run": request.run,
        "plan": request.plan,
        "task": request.task,
        "agent": request.agent,
        "parent": request.parent,
        "leg": 0,
        "phase": RunPhase.NEW,
        "status": "",
        "message": "",
        "worker": "",
        "steps": 0,
        "spent": 0.0,
    }


def _run(row: "sql.Row[tuple[object, ...]]") -> EngineRun:
    facts = dict(row._mapping)  # noqa: SLF001  # the public name of a row's columns
    del facts["ordinal"]
    facts["phase"] = RunPhase(str(facts["phase"]))
    return EngineRun(**facts)


def wake(places: Places, settings: Settings, run_id: str) -> bool:
    """Have a living worker go on with a run that was answered; False if the engine has none such.

    Where nobody works, `resume` and `execute` go on with it.
    """
    database = settings.engine.database
    if not database and not (places.state / FILE).exists():
        return False
    engine = connect(database_url(places.state, database))
    try:
        return EngineRuns(engine).answered(run_id)
    finally:
        engine.dispose()
