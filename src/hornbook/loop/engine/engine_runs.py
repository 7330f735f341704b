"""The runs that the engine knows.

This is the engine's own memory: what happened in a run is told by its events alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite

from hornbook.errors import NotFound
from hornbook.loop.engine.workers import (
    FILE,
    NOTICES,
    RUNS,
    clock,
    connect,
    database_url,
    disconnect,
    workflow_name,
)
from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.plans.workspace_log import repository_of
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

APPROVED = "approved"
ANSWERED = "answered"
"""How a run that asks stands from the answer to the next leg."""
FAILED = "failed"
TIMED_OUT = "timed_out"
UNFINISHED = frozenset({FAILED, TIMED_OUT})
"""Ends that the engine declared, not the loop: the run can be resumed where it stands."""


class NoticeState(StrEnum):
    """How far it is told that a run asks a person."""

    WAITING = "waiting"
    SENT = "sent"
    OVER = "over"  # answered, or asked no more, before it could be told
    FAILED = "failed"


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
    repository: str = ""
    needs: str = ""

    @property
    def workflow(self) -> str:
        """The name of its current leg in the queue."""
        return workflow_name(self.repository, self.run, self.leg)

    @property
    def needs_nobody(self) -> bool:
        """Whether it goes on without a person: one that waits for other runs' answers does not."""
        return self.phase in OPEN and (self.phase, self.status) != (RunPhase.WAITING, "asking")


class EngineRuns:
    """The runs of one repository in a database.

    With `notices` each question to a person is entered to be told, in the transaction that notes
    that its run asks: what is noted is told, also after a kill.
    """

    def __init__(self, engine: sql.Engine, repository: str = "", *, notices: bool = False) -> None:
        self._notices = notices
        self._engine = engine
        self._repository = repository
        self._ours = RUNS.c.repository == repository
        self._now = clock(engine)

    def add(self, requests: Sequence[Request]) -> None:
        """Enter runs; those that are known stay as they are."""
        with self._engine.begin() as connection:
            wanted = sql.and_(self._ours, RUNS.c.run.in_([each.run for each in requests]))
            known = set(connection.execute(sql.select(RUNS.c.run).where(wanted)).scalars())
            last = sql.select(sql.func.coalesce(sql.func.max(RUNS.c.ordinal), 0)).where(self._ours)
            fresh = [each for each in requests if each.run not in known]
            for each in fresh:
                row = {**_row(each), "repository": self._repository}
                row |= {"changed": self._now, "due": self._now}
                place = last.scalar_subquery() + 1
                connection.execute(sql.insert(RUNS).values(**row, ordinal=place))

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

    def in_phases(self, phases: Iterable[RunPhase]) -> list[EngineRun]:
        """All runs in one of these phases."""
        return self._select(RUNS.c.phase.in_(sorted(phases)))

    def queued(self, run: str, leg: int, delay: float = 0.0, needs: str = "") -> None:
        """Have a leg taken by whoever's turn it is after some seconds, unless it is known already.

        `needs` are the limited places without which nobody takes it.
        """
        before = sql.and_(self._ours, RUNS.c.run == run, RUNS.c.leg == leg - 1)
        noted = {
            "leg": leg,
            "phase": RunPhase.WAITING if delay else RunPhase.QUEUED,
            "changed": self._now,
            "worker": "",
            "due": self._now + delay,
            "needs": needs,
        }
        with self._engine.begin() as connection:
            connection.execute(sql.update(RUNS).where(before).values(**noted))

    def begun(self, run: str, worker: str) -> None:
        """Note that the first leg of a new run is this worker's, which has it already."""
        fresh = sql.and_(self._ours, RUNS.c.run == run, RUNS.c.leg == 0, RUNS.c.worker == worker)
        noted = {"leg": 1, "phase": RunPhase.QUEUED, "changed": self._now}
        with self._engine.begin() as connection:
            connection.execute(sql.update(RUNS).where(fresh).values(**noted))

    def answered(self, run: str) -> bool:
        """Note that a person answered a run that asks; False if none such asks."""
        asks = sql.and_(self._ours, RUNS.c.run == run, RUNS.c.phase == RunPhase.ASKING)
        with self._engine.begin() as connection:
            told = connection.execute(sql.update(RUNS).where(asks).values(status=ANSWERED))
            if told.rowcount > 0:
                self._tell_no_more(connection, run)
        return told.rowcount > 0

    def woken(self, run: str) -> None:
        """Note that a run that waits is looked at again at once."""
        waits = sql.and_(self._ours, RUNS.c.run == run, RUNS.c.phase == RunPhase.WAITING)
        noted = {"phase": RunPhase.QUEUED, "changed": self._now, "due": self._now}
        with self._engine.begin() as connection:
            connection.execute(sql.update(RUNS).where(waits).values(**noted))

    def waiting_for_answered(self) -> list[EngineRun]:
        """The runs that asked and were answered since."""
        return self._select(sql.and_(RUNS.c.phase == RunPhase.ASKING, RUNS.c.status == ANSWERED))

    def at_work(self) -> list[EngineRun]:
        """The runs that some worker has."""
        return self._select(RUNS.c.worker > "")

    def taken(self, run: str, leg: int, worker: str) -> None:
        """Note who runs a leg of a run."""
        self._set(run, leg=leg, phase=RunPhase.RUNNING, worker=worker)

    def note(self, outcome: StepOutcome, worker: str, *, spent: float) -> None:
        """Note where a run stands after a step that took `spent` seconds, waits included.

        The places that the step had are free from now on.
        """
        waits = outcome.kind is StepKind.WAITING
        self._set(
            outcome.run_id,
            phase=RunPhase.WAITING if waits else RunPhase.RUNNING,
            status=outcome.status,
            message=outcome.message,
            worker=worker,
            needs="",
            steps=RUNS.c.steps + 1,
            spent=RUNS.c.spent + spent,
        )

    def settle(self, outcome: StepOutcome) -> None:
        """Note that a leg is over: the run ended, or asks."""
        asks = outcome.kind is StepKind.ASKING
        values = {
            "phase": RunPhase.ASKING if asks else RunPhase.ENDED,
            "status": outcome.status,
            "message": outcome.message,
            "worker": "",
            "needs": "",
        }
        with self._engine.begin() as connection:
            self._write(connection, outcome.run_id, values)
            self._tell_no_more(connection, outcome.run_id, outcome.question if asks else 0)
            if asks and outcome.question and self._notices:
                self._notice(connection, outcome)

    def _tell_no_more(self, connection: sql.Connection, run: str, but: int = 0) -> None:
        """Note of a run's questions that were not told that they are over, `but` for one."""
        untold = sql.and_(
            NOTICES.c.repository == self._repository,
            NOTICES.c.state.in_([NoticeState.WAITING, NoticeState.FAILED]),
            NOTICES.c.run == run,
            NOTICES.c.question != but,
        )
        connection.execute(sql.update(NOTICES).where(untold).values(state=NoticeState.OVER))

    def _notice(self, connection: sql.Connection, outcome: StepOutcome) -> None:
        """Enter a question to be told, once; one that was over is asked after all."""
        asked = sql.select(
            RUNS.c.repository,
            RUNS.c.plan,
            sql.literal(outcome.question),
            RUNS.c.run,
            sql.literal(outcome.message),
            self._now,
            self._now,
            sql.literal(str(NoticeState.WAITING)),
        ).where(self._ours, RUNS.c.run == outcome.run_id)
        columns = ("repository", "plan", "question", "run", "text", "asked", "due", "state")
        make = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        again = {"state": NoticeState.WAITING, "due": self._now}
        entered = make(NOTICES).from_select(columns, asked)
        connection.execute(
            entered.on_conflict_do_update(
                index_elements=["repository", "plan", "question"],
                set_=again,
                where=NOTICES.c.state == NoticeState.OVER,
            )
        )

    def _set(self, run: str, **values: object) -> None:
        with self._engine.begin() as connection:
            self._write(connection, run, values)

    def _write(self, connection: sql.Connection, run: str, values: Mapping[str, object]) -> None:
        mine = sql.and_(self._ours, RUNS.c.run == run)
        connection.execute(sql.update(RUNS).where(mine).values(**values, changed=self._now))

    def _select(self, condition: "sql.ColumnElement[bool]") -> list[EngineRun]:
        asked = sql.select(RUNS).where(self._ours, condition).order_by(RUNS.c.ordinal, RUNS.c.run)
        with self._engine.connect().execution_options(hornbook_reads=True) as connection:
            return [run_of_row(row) for row in connection.execute(asked)]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What executing a plan or a task means: a run by its name, with how it stands if there is one.

    One that ended is resumed; where there is none it is begun.
    """

    name: str
    run: EngineRun | None


def wanted_run(runs: Iterable[EngineRun], plan: str, number: int | None) -> Wanted:
    """The run of a plan or of one of its tasks: the one that is not over yet, else a new one.

    While a run that it began, at any depth, is at work it is not over: a plan ends with its last
    task, whose own run may still have to note that, and one whose successor is carried out goes on.
    """
    base = plan if number is None else f"{plan}-t{number}"
    known = {run.run: run for run in runs}
    above = _above_open(known)
    count = 1
    while f"{base}-{count}" in known:
        run = known[f"{base}-{count}"]
        if run.phase is not RunPhase.ENDED or run.status in UNFINISHED or run.run in above:
            return Wanted(run.run, run)
        count += 1
    return Wanted(f"{base}-{count}", None)


def _above_open(known: Mapping[str, EngineRun]) -> set[str]:
    """The runs by which others were begun, at any depth, that have something to do."""
    found: set[str] = set()
    for run in known.values():
        above = run.parent if run.phase in OPEN else None
        while above is not None and above not in found:
            found.add(above)
            above = known[above].parent if above in known else None
    return found


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


def run_of_row(row: "sql.Row[tuple[object, ...]]") -> EngineRun:
    """A run as a row of the table has it."""
    facts = dict(row._mapping)  # noqa: SLF001  # the public name of a row's columns
    del facts["ordinal"], facts["changed"], facts["due"]
    facts["phase"] = RunPhase(str(facts["phase"]))
    return EngineRun(**facts)


def wake(places: Places, settings: Settings, run_id: str) -> bool:
    """Have a living worker go on with a run that was answered; False if the engine has none such.

    Where nobody works, `resume` and `execute` go on with it.
    """
    database = settings.engine.database
    if not database and not (places.state / FILE).exists():
        return False
    repository = repository_of(places, settings)
    engine = connect(database_url(places.state, database), repository)
    try:
        return EngineRuns(engine, repository).answered(run_id)
    finally:
        disconnect(engine)
