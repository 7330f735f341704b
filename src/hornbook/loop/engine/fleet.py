"""Who works on the runs of a database, what waits and why: for people, read from its tables."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import sqlalchemy as sql

from hornbook.disk import now, to_milliseconds
from hornbook.loop.engine.engine_runs import ANSWERED, NoticeState, RunPhase
from hornbook.loop.engine.workers import (
    FILE,
    NOTICES,
    RUNS,
    WORKERS,
    clock,
    connect,
    database_url,
    disconnect,
)
from hornbook.loop.runs.overview import Fleet, FleetMachine, FleetWait, UntoldQuestion
from hornbook.plans.run_costs import CostBook, CostSum
from hornbook.plans.workspace_log import open_log, repository_of
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

SPAN = 600.0
"""Seconds over which is reckoned how much gets done."""
MOST_WAITING = 1000
"""How many waiting runs are listed, those that wait longest first."""
_UNTOLD = (NoticeState.WAITING, NoticeState.FAILED)
_WAITS = (RunPhase.NEW, RunPhase.QUEUED, RunPhase.WAITING, RunPhase.ASKING)


def fleet_of(places: Places, settings: Settings) -> Fleet:
    """The machines of a workspace's database, all repositories in it included."""
    database = settings.engine.database
    if not database and not (places.state / FILE).exists():
        return Fleet()
    engine = connect(database_url(places.state, database), repository_of(places, settings))
    try:
        with engine.connect().execution_options(hornbook_reads=True) as connection:
            return _read(connection, engine, settings.engine.dead_after_seconds, places, settings)
    finally:
        disconnect(engine)


def _read(
    connection: sql.Connection,
    engine: sql.Engine,
    dead_after: float,
    places: Places,
    settings: Settings,
) -> Fleet:
    moment = float(connection.execute(sql.select(clock(engine))).scalar_one())
    busy = sql.select(RUNS.c.worker, RUNS.c.run).where(RUNS.c.phase == RunPhase.RUNNING)
    at_work: dict[str, list[str]] = {}
    for worker, run in connection.execute(busy.order_by(RUNS.c.run)):
        at_work.setdefault(worker, []).append(run)
    seen = connection.execute(sql.select(WORKERS).order_by(WORKERS.c.host, WORKERS.c.worker)).all()
    machines = [_machine(row, at_work, moment - dead_after) for row in seen]
    alive = {each.repository for each in machines if each.alive}
    waits = sql.select(RUNS).where(RUNS.c.phase.in_(_WAITS))
    rows = connection.execute(waits.order_by(RUNS.c.changed, RUNS.c.run).limit(MOST_WAITING)).all()
    ended = sql.and_(RUNS.c.phase == RunPhase.ENDED, RUNS.c.changed > moment - SPAN)
    of_tasks = sql.and_(ended, sql.or_(RUNS.c.task.is_not(None), RUNS.c.parent.is_not(None)))
    count = connection.execute(sql.select(sql.func.count()).where(of_tasks)).scalar_one()
    waiting = tuple(_wait(row, alive) for row in rows)
    done = round(count * 60 / SPAN, 2)
    cost = _cost(places, settings, moment)
    return Fleet(
        tuple(machines),
        waiting,
        done,
        cost=cost.amount if cost.amounts else 0.0,
        currency=cost.currency,
        costs=cost.amounts,
        untold=_untold(connection),
    )


def _untold(connection: sql.Connection) -> tuple[UntoldQuestion, ...]:
    """The questions that wait and did not arrive where they are told, the oldest first."""
    tried = sql.and_(NOTICES.c.state.in_(_UNTOLD), NOTICES.c.problem != "")
    same = sql.and_(RUNS.c.repository == NOTICES.c.repository, RUNS.c.run == NOTICES.c.run)
    asks = sql.and_(RUNS.c.phase == RunPhase.ASKING, RUNS.c.status != ANSWERED)
    asked = sql.select(NOTICES).join(RUNS, same).where(tried, asks)
    asked = asked.order_by(NOTICES.c.asked, NOTICES.c.run)
    return tuple(
        UntoldQuestion(
            run=row.run,
            repository=row.repository,
            question=row.question,
            attempts=row.attempts,
            failed=row.state == NoticeState.FAILED,
            problem=row.problem,
        )
        for row in connection.execute(asked.limit(MOST_WAITING))
    )


def _machine(
    row: "sql.Row[tuple[object, ...]]", at_work: dict[str, list[str]], since: float
) -> FleetMachine:
    return FleetMachine(
        id=row.worker,
        host=row.host or row.place.partition(",")[0],
        place=row.place,
        repository=row.repository,
        version=row.version,
        seen_at=_time(row.seen),
        alive=row.seen > since,
        runs=tuple(at_work.get(row.worker, ())),
    )


def _wait(row: "sql.Row[tuple[object, ...]]", alive: Collection[str]) -> FleetWait:
    return FleetWait(
        run=row.run,
        repository=row.repository,
        plan=row.plan,
        phase=row.phase,
        reason=_reason(row, has_workers=row.repository in alive),
        since=_time(row.changed),
    )


def _reason(row: "sql.Row[tuple[object, ...]]", *, has_workers: bool) -> str:
    """Why nobody works on a run."""
    phase, message = row.phase, row.message
    if phase == RunPhase.ASKING and row.status != ANSWERED:
        return f"a person has to answer: {message}" if message else "a person has to answer"
    if not has_workers:
        return "no machine works for its repository: `hornbook worker` joins one"
    if phase == RunPhase.WAITING:
        return message or "waits until a time"
    if row.needs:
        return f"`engine.at_once` leaves no place: {', '.join(row.needs.split())}"
    return "all machines are busy"


def _cost(places: Places, settings: Settings, moment: float) -> CostSum:
    """What agents told of this repository's runs in the last day."""
    since = to_milliseconds(datetime.fromtimestamp(moment, UTC) - timedelta(days=1))
    log = open_log(places, settings, now)
    try:
        return CostBook().read(log).since(since).spent()
    finally:
        log.close()


def _time(seconds: float) -> str:
    return to_milliseconds(datetime.fromtimestamp(seconds, UTC))
