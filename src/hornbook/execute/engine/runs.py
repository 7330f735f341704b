"""The runs that the engine knows, and which of them may begin.

This is the engine's own memory: what happened in a run is told by its events alone.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sql

from hornbook.errors import NotFound
from hornbook.execute.engine.tables import RUNS
from hornbook.execute.stepping import StepKind, StepOutcome

APPROVED = "approved"
DECOMPOSED = "decomposed"
"""A run that ended so is approved once all runs that it spawned are."""
FAILED = "failed"
TIMED_OUT = "timed_out"
UNFINISHED = frozenset({FAILED, TIMED_OUT})
"""Ends that the engine declared, not the loop: the run can be resumed where it stands."""


class RunPhase(StrEnum):
    """Where the engine has a run."""

    HELD = "held"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    ASKING = "asking"
    ENDED = "ended"


OPEN = frozenset({RunPhase.QUEUED, RunPhase.RUNNING, RunPhase.WAITING})
"""Phases in which a worker has, or will have, something to do."""


@dataclass(frozen=True, slots=True)
class Request:
    """A run that somebody wants: `needs` are the runs that must be approved before it begins."""

    run: str
    plan: str
    task: str | None = None
    agent: str | None = None
    needs: tuple[str, ...] = ()
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the engine has it; `leg` counts the times that it was set going."""

    run: str
    plan: str
    task: str | None
    agent: str | None
    parent: str | None
    needs: tuple[str, ...]
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


class Runs:
    """The runs of one database."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    def add(self, requests: Sequence[Request]) -> None:
        """Enter runs that wait until they are released; those that are known stay as they are."""
        with self._engine.begin() as connection:
            known = set(connection.execute(sql.select(RUNS.c.run)).scalars())
            count = len(known)
            fresh = [each for each in requests if each.run not in known]
            for place, each in enumerate(fresh, count + 1):
                connection.execute(sql.insert(RUNS).values(**_row(each), ordinal=place))

    def get(self, run: str) -> Run:
        """One run.

        Raises:
            NotFound: The engine never had it.
        """
        with self._reading() as connection:
            row = connection.execute(sql.select(RUNS).where(RUNS.c.run == run)).first()
        if row is None:
            raise NotFound(f"there is no run {run!r}: `hornbook runs` lists them.")
        return _run(row)

    def of_plan(self, plan: str) -> list[Run]:
        """The runs of a plan, in the order in which they were entered."""
        return self._select(RUNS.c.plan == plan)

    def of_workflows(self, workflows: Iterable[str]) -> list[Run]:
        """The runs whose current leg is one of these."""
        wanted = set(workflows)
        names = {name.rpartition("~")[0] for name in wanted}
        found = self._select(RUNS.c.run.in_(names)) if names else []
        return [each for each in found if each.workflow in wanted]

    def in_phases(self, phases: Iterable[RunPhase]) -> list[Run]:
        """All runs in one of these phases."""
        return self._select(RUNS.c.phase.in_(sorted(phases)))

    def queued(self, run: Run, leg: int) -> None:
        """Note that a leg was queued, unless a worker was faster and has it already."""
        before = sql.and_(RUNS.c.run == run.run, RUNS.c.leg == leg - 1)
        with self._engine.begin() as connection:
            values = {"leg": leg, "phase": RunPhase.QUEUED}
            connection.execute(sql.update(RUNS).where(before).values(**values))

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

    def settle(self, outcome: StepOutcome) -> list[str]:
        """Note that a leg is over, the run ended or asks; the runs that may begin by that.

        They are noted as queued at once: nobody who looks on takes the plan for finished.
        """
        asks = outcome.kind is StepKind.ASKING
        facts = {
            "phase": RunPhase.ASKING if asks else RunPhase.ENDED,
            "status": outcome.status,
            "message": outcome.message,
            "worker": "",
        }
        this = RUNS.c.run == outcome.run_id
        with self._engine.begin() as connection:
            connection.execute(sql.update(RUNS).where(this).values(**facts))
            plan = connection.execute(sql.select(RUNS.c.plan).where(this)).scalar()
            released = [each.run for each in _ready(_select(connection, RUNS.c.plan == plan))]
            chosen = sql.update(RUNS).where(RUNS.c.run.in_(released))
            connection.execute(chosen.values(phase=RunPhase.QUEUED))
        return released

    def ready(self, plan: str) -> list[Run]:
        """The runs of a plan that never began and whose needs are all approved."""
        return _ready(self.of_plan(plan))

    def _set(self, run: str, **values: object) -> None:
        with self._engine.begin() as connection:
            connection.execute(sql.update(RUNS).where(RUNS.c.run == run).values(**values))

    def _select(self, condition: "sql.ColumnElement[bool]") -> list[Run]:
        with self._reading() as connection:
            return _select(connection, condition)

    def _reading(self) -> sql.Connection:
        return self._engine.connect().execution_options(hornbook_reads=True)


def is_approved(run: Run, known: Iterable[Run]) -> bool:
    """Whether a run is done well: approved itself, or split into runs that all are."""
    if run.phase is not RunPhase.ENDED:
        return False
    if run.status != DECOMPOSED:
        return run.status == APPROVED
    everyone = list(known)
    children = [each for each in everyone if each.parent == run.run]
    return bool(children) and all(is_approved(each, everyone) for each in children)


def _ready(runs: Sequence[Run]) -> list[Run]:
    known = {each.run: each for each in runs}
    return [
        run
        for run in runs
        if run.leg == 0
        and run.parent is None
        and all(need in known and is_approved(known[need], runs) for need in run.needs)
    ]


def _select(connection: sql.Connection, condition: "sql.ColumnElement[bool]") -> list[Run]:
    asked = sql.select(RUNS).where(condition).order_by(RUNS.c.ordinal)
    return [_run(row) for row in connection.execute(asked)]


def _row(request: Request) -> dict[str, object]:
    return {
        "run": request.run,
        "plan": request.plan,
        "task": request.task,
        "agent": request.agent,
        "parent": request.parent,
        "needs": json.dumps(request.needs),
        "leg": 0,
        "phase": RunPhase.HELD,
        "status": "",
        "message": "",
        "worker": "",
        "steps": 0,
        "spent": 0.0,
    }


def _run(row: "sql.Row[tuple[object, ...]]") -> Run:
    facts = dict(row._mapping)  # noqa: SLF001  # the public name of a row's columns
    del facts["ordinal"]
    facts["needs"] = tuple(json.loads(str(facts["needs"])))
    facts["phase"] = RunPhase(str(facts["phase"]))
    return Run(**facts)
