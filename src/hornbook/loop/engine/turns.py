"""Whose turn it is: which run a free worker takes next, decided in the database.

A run that waits for a worker is taken in one transaction, so that nobody takes it twice. Of those
that are due, the run of the plan with the highest priority comes first; among equals the plan that
has the fewest runs at work, then the one whose last turn lies furthest back. So a plan with five
hundred tasks gets every second turn beside a plan with one.

A run may need places that are limited over all machines: an agent, a model's endpoint
(`engine.at_once`). It has them from the moment it is taken, or goes on to the step that needs them,
until that step is noted. They are counted by the runs of all repositories whose workers live, so a
dead machine's places are free again with its runs. A run for which there is none is not taken: it
costs nobody anything until there is one. Between repositories the one with fewer places goes first,
if a worker of it was free and went without in the last `ASKS_SECONDS`.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite

from hornbook.loop.engine.engine_runs import EngineRun, RunPhase, run_of_row
from hornbook.loop.engine.workers import RUNS, TURNS, WANTS, WORKERS, clock

ASKS_SECONDS = 2.0
"""For so long a repository whose free worker went without a place is let in first."""
_WAITS = (RunPhase.NEW, RunPhase.QUEUED, RunPhase.WAITING)
_LOCK = 0x686F7274  # a number of ours, for taking turns on a Postgres


@dataclass(frozen=True, slots=True)
class Wished:
    """Which runs a process may take: those of a plan, or some by their names; else all."""

    plan: str | None = None
    runs: Collection[str] | None = None


def as_text(needs: Collection[str]) -> str:
    """Places as a row has them: one that is contained is contained between two blanks."""
    return f" {' '.join(sorted(needs))} " if needs else ""


class Turns:
    """Takes runs of one repository for one worker; `limits` are how many places there are."""

    def __init__(
        self,
        engine: sql.Engine,
        repository: str,
        worker: str,
        limits: Mapping[str, int],
        dead_after: float,
    ) -> None:
        self._engine = engine
        self._repository = repository
        self._worker = worker
        self._limits = dict(limits)
        self._dead_after = dead_after
        self._ours = RUNS.c.repository == repository
        self._now = clock(engine)

    def take(self, wished: Wished) -> EngineRun | None:
        """The run whose turn it is, which is this worker's from now on; None if none can go on."""
        waits = [*self._waiting(wished)]
        with self._engine.connect().execution_options(hornbook_reads=True) as connection:
            if connection.execute(sql.select(RUNS.c.run).where(*waits).limit(1)).first() is None:
                return None
        with self._engine.begin() as connection:
            self._take_turns(connection)
            closed = self._closed(connection)
            found = connection.execute(self._fairest(waits, closed)).first()
            if closed:
                self._note_wants(connection, waits, closed)
            if found is None:
                return None
            mine = sql.and_(self._ours, RUNS.c.run == found.run, RUNS.c.worker == "")
            told = sql.update(RUNS).where(mine).values(worker=self._worker)
            if connection.execute(told).rowcount == 0:  # by one who has other limits
                return None
            plan_of = {"repository": self._repository, "plan": found.plan}
            _put(connection, TURNS, plan_of, served=self._now)
            self._serve(connection, _places(found.needs))
        return run_of_row(found)

    def keep(self, run: str, needs: Collection[str]) -> bool:
        """Give a run that is at work the places for its next step; False if there are none."""
        with self._engine.begin() as connection:
            self._take_turns(connection)
            if self._closed(connection, beside=run) & set(needs):
                return False
            mine = sql.and_(self._ours, RUNS.c.run == run, RUNS.c.worker == self._worker)
            told = sql.update(RUNS).where(mine).values(needs=as_text(needs))
            kept = connection.execute(told).rowcount > 0
            self._serve(connection, needs)
        return kept

    def release(self, runs: Collection[str], living: Collection[str]) -> None:
        """Have others take runs whose workers live no more."""
        if not runs:
            return
        gone = sql.and_(RUNS.c.worker > "", RUNS.c.worker.not_in(sorted(living)))
        self._let_go(sql.and_(RUNS.c.run.in_(sorted(runs)), gone))

    def give_back(self, run: EngineRun) -> None:
        """Have anybody take a run that is this worker's, if it still has that leg."""
        same = sql.and_(RUNS.c.run == run.run, RUNS.c.leg == run.leg)
        self._let_go(sql.and_(same, RUNS.c.worker == self._worker))

    def _let_go(self, which: "sql.ColumnElement[bool]") -> None:
        lost = sql.and_(self._ours, which)
        running = RUNS.c.phase == RunPhase.RUNNING
        phase = sql.case((running, sql.literal(str(RunPhase.QUEUED))), else_=RUNS.c.phase)
        with self._engine.begin() as connection:
            told = sql.update(RUNS).where(lost).values(worker="", phase=phase, changed=self._now)
            connection.execute(told)

    def prioritise(self, plan: str, priority: int) -> None:
        """Have a plan's runs taken before, or after, those of others."""
        plan_of = {"repository": self._repository, "plan": plan}
        with self._engine.begin() as connection:
            _put(connection, TURNS, plan_of, priority=priority)

    def _waiting(self, wished: Wished) -> "list[sql.ColumnElement[bool]]":
        found = [self._ours, RUNS.c.phase.in_(_WAITS), RUNS.c.worker == ""]
        found.append(RUNS.c.due <= self._now)
        if wished.plan is not None:
            found.append(RUNS.c.plan == wished.plan)
        if wished.runs is not None:
            found.append(RUNS.c.run.in_(sorted(wished.runs)))
        return found

    def _fairest(
        self, waits: "list[sql.ColumnElement[bool]]", closed: Collection[str]
    ) -> "sql.Select[tuple[object, ...]]":
        at_work = (
            sql.select(RUNS.c.plan, sql.func.count().label("runs"))
            .where(self._ours, RUNS.c.worker > "")
            .group_by(RUNS.c.plan)
            .subquery()
        )
        turn = sql.and_(TURNS.c.repository == RUNS.c.repository, TURNS.c.plan == RUNS.c.plan)
        return (
            sql.select(RUNS)
            .outerjoin(at_work, at_work.c.plan == RUNS.c.plan)
            .outerjoin(TURNS, turn)
            .where(*waits, *(~_contains(each) for each in sorted(closed)))
            .order_by(
                sql.func.coalesce(TURNS.c.priority, 0).desc(),
                sql.func.coalesce(at_work.c.runs, 0),
                sql.func.coalesce(TURNS.c.served, 0),
                RUNS.c.due,
                RUNS.c.ordinal,
                RUNS.c.run,
            )
            .limit(1)
        )

    def _closed(self, connection: sql.Connection, beside: str = "") -> set[str]:
        """The limited places that none is left of for this repository, `beside` one of its runs."""
        if not self._limits:
            return set()
        fresh = WORKERS.c.seen > self._now - self._dead_after
        asked = (
            sql.select(RUNS.c.repository, RUNS.c.run, RUNS.c.needs)
            .join(WORKERS, WORKERS.c.worker == RUNS.c.worker)
            .where(RUNS.c.worker > "", RUNS.c.needs != "", fresh)
        )
        held: dict[str, Counter[str]] = {each: Counter() for each in self._limits}
        for row in connection.execute(asked):
            if (row.repository, row.run) != (self._repository, beside):
                for each in _places(row.needs) & held.keys():
                    held[each][row.repository] += 1
        full = {each for each, most in self._limits.items() if held[each].total() >= most}
        return full | self._yielded(connection, held)

    def _yielded(self, connection: sql.Connection, held: Mapping[str, "Counter[str]"]) -> set[str]:
        """The places that another repository is to have first."""
        told = connection.execute(
            sql.select(WANTS, (WANTS.c.seen > self._now - ASKS_SECONDS).label("asks")).where(
                WANTS.c.resource.in_(sorted(held))
            )
        ).all()
        served = {(row.resource, row.repository): row.served for row in told}
        found = set()
        for row in told:
            if row.asks and row.repository != self._repository:
                counts, mine = held[row.resource], served.get((row.resource, self._repository), 0.0)
                theirs = (counts[row.repository], row.served, row.repository)
                if theirs < (counts[self._repository], mine, self._repository):
                    found.add(row.resource)
        return found

    def _note_wants(
        self,
        connection: sql.Connection,
        waits: "list[sql.ColumnElement[bool]]",
        closed: Collection[str],
    ) -> None:
        """Note that a free worker went without places, so that others let this repository in."""
        for each in sorted(closed):
            asked = sql.select(RUNS.c.run).where(*waits, _contains(each)).limit(1)
            if connection.execute(asked).first() is not None:
                self._want(connection, each, seen=self._now)

    def _serve(self, connection: sql.Connection, places: Collection[str]) -> None:
        for each in sorted(set(places) & self._limits.keys()):
            self._want(connection, each, served=self._now, seen=0.0)

    def _want(self, connection: sql.Connection, resource: str, **values: object) -> None:
        whose = {"resource": resource, "repository": self._repository}
        _put(connection, WANTS, whose, **values)

    def _take_turns(self, connection: sql.Connection) -> None:
        """One worker after the other: of a repository, or of all where places are limited."""
        if connection.dialect.name == "sqlite":  # its writers take turns anyway
            return
        whose = "" if self._limits else self._repository
        asked = "SELECT pg_advisory_xact_lock(%s, hashtext(%s))"
        connection.exec_driver_sql(asked, (_LOCK, whose))


def _put(
    connection: sql.Connection, table: sql.Table, keys: Mapping[str, str], **values: object
) -> None:
    """Write into a row, which is made if it is not there."""
    make = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    row = make(table).values(**keys, **values)
    connection.execute(row.on_conflict_do_update(index_elements=list(keys), set_=values))


def _contains(place: str) -> "sql.ColumnElement[bool]":
    return RUNS.c.needs.contains(f" {place} ", autoescape=True)


def _places(needs: str) -> set[str]:
    return set(needs.split())
