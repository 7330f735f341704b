"""Who works: processes that tell the database that they live, and hold plans.

One living worker at a time holds a plan: its name stands in the plan's row of `HOLDS`, which it
takes in one statement if the row is free, or belongs to a worker that is dead. Nobody has to give
a plan back for that, so a killed process blocks it no longer than `dead_after` seconds, and on its
own machine not at all, since the kernel lets go of the lock on a worker's file when it ends. All
times are the database's, for the clocks of several machines differ.
"""

import os
import socket
import uuid
from collections.abc import Collection, Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from hornbook.disk import lock
from hornbook.errors import DatabaseFailed, EngineError, PlanHeld
from hornbook.plans.databases.database import BUSY_SECONDS, write_ahead
from hornbook.plans.databases.shared_database import (
    DATABASE_TIME,
    ClosingPool,
    checked_url,
    let_go,
    make_tables,
    require_form,
    shared_engine,
)
from hornbook.version import __version__

FILE = "engine.db"

_TABLES = sql.MetaData()

WORKERS = sql.Table(
    "hornbook_workers",
    _TABLES,
    sql.Column("repository", sql.Text, primary_key=True),
    sql.Column("worker", sql.Text, primary_key=True),
    sql.Column("place", sql.Text, nullable=False),  # what people call it: host and process
    sql.Column("host", sql.Text, nullable=False, server_default=""),
    sql.Column("version", sql.Text, nullable=False, server_default=""),
    sql.Column("since", sql.Float, nullable=False),
    sql.Column("seen", sql.Float, nullable=False),
)

RUNS = sql.Table(
    "hornbook_runs",
    _TABLES,
    sql.Column("repository", sql.Text, primary_key=True),
    sql.Column("run", sql.Text, primary_key=True),
    sql.Column("plan", sql.Text, nullable=False),
    sql.Column("task", sql.Text, nullable=True),
    sql.Column("agent", sql.Text, nullable=True),
    sql.Column("parent", sql.Text, nullable=True),
    sql.Column("leg", sql.Integer, nullable=False),
    sql.Column("phase", sql.Text, nullable=False),
    sql.Column("status", sql.Text, nullable=False),
    sql.Column("message", sql.Text, nullable=False),
    sql.Column("worker", sql.Text, nullable=False),
    sql.Column("steps", sql.Integer, nullable=False),
    sql.Column("spent", sql.Float, nullable=False),  # seconds of steps and waits, all legs
    sql.Column("ordinal", sql.Integer, nullable=False),  # the order in which people see them
    sql.Column("changed", sql.Float, nullable=False, server_default="0"),  # when its phase did
    sql.Column("due", sql.Float, nullable=False, server_default="0"),  # nobody takes it before
    sql.Column("needs", sql.Text, nullable=False, server_default=""),  # limited places, see turns
    sql.Index("hornbook_runs_of_plan", "repository", "plan"),
    sql.Index("hornbook_runs_in_phase", "repository", "phase"),
    sql.Index("hornbook_runs_at_work", "repository", "worker"),
)

HOLDS = sql.Table(
    "hornbook_holds",
    _TABLES,
    sql.Column("repository", sql.Text, primary_key=True),
    sql.Column("plan", sql.Text, primary_key=True),
    sql.Column("worker", sql.Text, nullable=False),
)

TURNS = sql.Table(
    "hornbook_turns",
    _TABLES,
    sql.Column("repository", sql.Text, primary_key=True),
    sql.Column("plan", sql.Text, primary_key=True),
    sql.Column("priority", sql.Integer, nullable=False, server_default="0"),
    sql.Column("served", sql.Float, nullable=False, server_default="0"),  # its last turn
)

WANTS = sql.Table(
    "hornbook_wants",
    _TABLES,
    sql.Column("resource", sql.Text, primary_key=True),
    sql.Column("repository", sql.Text, primary_key=True),
    sql.Column("seen", sql.Float, nullable=False),  # when a free worker last went without
    sql.Column("served", sql.Float, nullable=False, server_default="0"),  # when one last got it
)

NOTICES = sql.Table(
    "hornbook_notices",
    _TABLES,
    sql.Column("repository", sql.Text, primary_key=True),
    sql.Column("plan", sql.Text, primary_key=True),
    sql.Column("question", sql.Integer, primary_key=True),  # the event that asks
    sql.Column("run", sql.Text, nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("asked", sql.Float, nullable=False),
    sql.Column("due", sql.Float, nullable=False),  # when it is told, or told again
    sql.Column("attempts", sql.Integer, nullable=False, server_default="0"),
    sql.Column("state", sql.Text, nullable=False),
    sql.Column("problem", sql.Text, nullable=False, server_default=""),
    sql.Index("hornbook_notices_due", "repository", "state", "due"),
)


def workflow_name(repository: str, run: str, leg: int) -> str:
    """What a leg of a run is called among those of all repositories in one database."""
    return f"{repository}/{run}~{leg}" if repository else f"{run}~{leg}"


def database_url(state: Path, database: str) -> sql.URL:
    """The engine's database: the one that was named, else a file in the state folder.

    Raises:
        UsageError: The name is no URL that we can use.
    """
    return checked_url(database or f"sqlite:///{state / FILE}")


def place_of(process: int) -> str:
    """What people call a process of this machine."""
    return f"{socket.gethostname()}, process {process}"


def connect(url: sql.URL, repository: str = "") -> sql.Engine:
    """The database with our tables in it; writers wait for each other, readers for nobody.

    Runs of a release that knew no repositories become those of `repository`. Whoever takes it
    disconnects again.

    Raises:
        EngineError: It cannot be reached, or is none.
    """
    local = url.get_backend_name() == "sqlite"
    if local:
        engine = sql.create_engine(
            url, poolclass=ClosingPool, connect_args={"timeout": BUSY_SECONDS}
        )
        sql.event.listen(engine, "connect", _on_connect)
        sql.event.listen(engine, "begin", _on_begin)
    else:
        engine = shared_engine(url)
    shown = url.render_as_string(hide_password=True)
    try:
        make_tables(engine, _TABLES, repository, taken_over=_begin_anew, widened=_nobody_has)
    except DatabaseFailed as problem:
        disconnect(engine)
        raise EngineError(f"the database {shown} cannot be used: {problem}.") from problem
    except sql.exc.DBAPIError as problem:
        disconnect(engine)
        raise EngineError(f"the database {shown} cannot be used: {problem.orig}") from problem
    return engine


def _begin_anew(connection: sql.Connection) -> None:
    """Have open runs that were taken over queued again: their legs lie in another queue's schema.

    Nothing is lost with a leg: what happened in it is in the events.
    """
    opened = RUNS.c.phase.in_(["queued", "running", "waiting"])
    connection.execute(sql.update(RUNS).where(opened).values(leg=0, phase="new", worker=""))


def _nobody_has(connection: sql.Connection) -> None:
    """Have runs that wait taken by anybody: a release before kept who had them last."""
    waits = RUNS.c.phase.in_(["new", "queued", "waiting"])
    connection.execute(sql.update(RUNS).where(waits).values(worker=""))


def _require_form(connection: sql.Connection) -> None:
    try:
        require_form(connection)
    except DatabaseFailed as problem:
        raise EngineError(f"{problem}.") from problem


def disconnect(engine: sql.Engine) -> None:
    """Let go of a database."""
    let_go(engine)


def clock(engine: sql.Engine) -> "sql.ColumnElement[float]":
    """The database's own time in seconds: the clocks of several machines differ."""
    if engine.dialect.name == "sqlite":
        return sql.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sql.Float)
    return DATABASE_TIME


def _on_connect(connection: Any, _record: object) -> None:  # the driver's own type
    connection.isolation_level = None  # the driver begins no transaction behind our back
    write_ahead(connection)


def _on_begin(connection: sql.Connection) -> None:
    """Take the write lock at once: two readers that both want to write would deadlock."""
    reads = connection.get_execution_options().get("hornbook_reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


FORGOTTEN_AFTER = 24 * 3600.0
"""How many seconds a worker that is silent is still listed."""


class Roster:
    """The workers of one database, this process among them.

    A worker lives while its last beat is younger than `dead_after` seconds. One of this machine
    that ended is known at once, by the lock on its file that the kernel let go.
    """

    def __init__(
        self, engine: sql.Engine, state: Path, dead_after: float, repository: str = ""
    ) -> None:
        self._engine = engine
        self._repository = repository
        self._ours = WORKERS.c.repository == repository
        self._locks = state / "engine.db-workers"
        self._dead_after = dead_after
        self._now = clock(engine)
        self.worker = uuid.uuid4().hex[:12]
        self.host = socket.gethostname()
        self.place = place_of(os.getpid())
        self._lock: int | None = None

    def join(self) -> None:
        """Enter this process."""
        self._locks.mkdir(parents=True, exist_ok=True)
        self._lock = _locked_where_it_stands(self._locks / self.worker)
        self.beat()

    def beat(self) -> None:
        """Tell the database that this process lives."""
        mine = sql.and_(self._ours, WORKERS.c.worker == self.worker)
        with self._engine.begin() as connection:
            _require_form(connection)
            told = connection.execute(sql.update(WORKERS).where(mine).values(seen=self._now))
            if told.rowcount == 0:
                entry = {
                    "repository": self._repository,
                    "worker": self.worker,
                    "place": self.place,
                    "host": self.host,
                    "version": __version__,
                }
                new = sql.insert(WORKERS).values(**entry, since=self._now, seen=self._now)
                connection.execute(new)

    def leave(self) -> None:
        """Take this process out: what it held is free at once."""
        with self._engine.begin() as connection:
            holds = sql.and_(HOLDS.c.repository == self._repository, HOLDS.c.worker == self.worker)
            connection.execute(sql.delete(HOLDS).where(holds))
            mine = sql.and_(self._ours, WORKERS.c.worker == self.worker)
            connection.execute(sql.delete(WORKERS).where(mine))
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        (self._locks / self.worker).unlink(missing_ok=True)

    def living(self) -> dict[str, str]:
        """The workers that live, with what people call them; this process always does."""
        fresh = sql.and_(self._ours, WORKERS.c.seen > self._now - self._dead_after)
        # Listed before the rows are read: whoever forgets a worker takes its row first, then its
        # file. So one whose row is still read here, and whose file goes meanwhile, has ended.
        here = {path.name for path in self._locks.glob("*")}
        with self._engine.begin() as connection:
            old = sql.and_(self._ours, WORKERS.c.seen < self._now - FORGOTTEN_AFTER)
            connection.execute(sql.delete(WORKERS).where(old))
            rows = connection.execute(sql.select(WORKERS).where(fresh)).all()
        ended = [row.worker for row in rows if self._ended(row.worker, here)]
        self._forget(ended)
        self._sweep(here - {row.worker for row in rows})
        found = {row.worker: row.place for row in rows if row.worker not in ended}
        return {**found, self.worker: self.place}

    def hold(self, plan: str) -> None:
        """Make this process the one that executes a plan.

        Raises:
            PlanHeld: Another living one does.
        """
        living = self.living()
        others = [worker for worker in living if worker != self.worker]
        free = sql.and_(self._held(plan), HOLDS.c.worker.not_in(others))
        try:
            with self._engine.begin() as connection:
                taken = connection.execute(sql.update(HOLDS).where(free).values(worker=self.worker))
                if taken.rowcount == 0:
                    new = {"repository": self._repository, "plan": plan, "worker": self.worker}
                    connection.execute(sql.insert(HOLDS).values(**new))
        except sql.exc.IntegrityError as problem:
            holder = self._holder(plan)
            place = living.get(holder, holder)
            raise PlanHeld(
                f"plan {plan} is being executed already ({place}): wait for it, "
                "or stop it there and try again."
            ) from problem

    def holder(self, plan: str) -> str | None:
        """What people call the living process that executes a plan; None if there is none."""
        return self.living().get(self._holder(plan))

    def _holder(self, plan: str) -> str:
        asked = sql.select(HOLDS.c.worker).where(self._held(plan))
        with self._engine.begin() as connection:
            return str(connection.execute(asked).scalar() or "")

    def _held(self, plan: str) -> "sql.ColumnElement[bool]":
        return sql.and_(HOLDS.c.repository == self._repository, HOLDS.c.plan == plan)

    def _forget(self, workers: Sequence[str]) -> None:
        """Take workers out that ended without a word, so that other machines know it too."""
        if not workers:
            return
        with self._engine.begin() as connection:
            gone = sql.and_(self._ours, WORKERS.c.worker.in_(workers))
            connection.execute(sql.delete(WORKERS).where(gone))
        for worker in workers:
            (self._locks / worker).unlink(missing_ok=True)

    def _sweep(self, unknown: Collection[str]) -> None:
        """Take away the files of workers that ended before they entered, or long ago."""
        for worker in unknown:
            if self._ended(worker, unknown):
                (self._locks / worker).unlink(missing_ok=True)

    def _ended(self, worker: str, here: Container[str]) -> bool:
        """Whether a worker of this machine is known to have ended: nobody locks its file.

        Several may look at once, and each must see what the others see: so they share their lock.
        The file of one that was `here` is gone if it left, or if another just forgot it.
        """
        if worker == self.worker:
            return False
        try:
            looked = lock(self._locks / worker, shared=True, wait=False, create=False)
        except FileNotFoundError:
            return worker in here
        if looked is not None:
            os.close(looked)
        return looked is not None


def _locked_where_it_stands(path: Path) -> int:
    """A lock on the file that has this path now.

    Whoever sweeps may take a new file away before it is locked, for that of a worker that ended.
    A lock on a file without a name tells nobody that its worker ended: it would be taken for alive.
    """
    while True:
        handle = lock(path)
        if handle is None:
            raise TypeError("a lock that is waited for is had")
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(handle)):
                return handle
        os.close(handle)
