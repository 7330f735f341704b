"""A database that several machines share: a Postgres, through SQLAlchemy.

All that is ours lies in the schema `hornbook`. Releases before it kept their tables in the schema
that a connection has by default, and a machine with such a release may still be at work. So who
comes first takes those tables over, in one transaction, and leaves a view of each name behind: it
answers every statement of an old release with what is to be done. A release that knows a later
form than ours notes its number in `hornbook_form`; we refuse to go on then.

A process has one pool of connections for each database, whatever it is used for. A connection whose
answer does not come within `ANSWER_SECONDS` is closed under its user, who is told that the database
is away: a network that swallows packets never says that it is cut.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import sqlalchemy as sql

from hornbook.disk import to_milliseconds
from hornbook.errors import DatabaseAway, DatabaseFailed, KeyTaken, UsageError
from hornbook.plans.databases.database import SQLITE_NAMES, Row, TableForm, Transaction, copying

POSTGRES = "postgresql+psycopg"
_POSTGRES_NAMES = frozenset({"postgres", "postgresql", POSTGRES})
_TURN = 0x686F726E  # a number of ours, for the lock around making tables
SCHEMA = "hornbook"
FORM = 2
"""The number of the form that our tables have; a release that changes it counts on."""
MOST_CONNECTIONS = 4
"""How many connections a process opens at most."""
ANSWER_SECONDS = 60.0
"""For how many seconds an answer is waited for."""


def checked_url(text: str) -> sql.URL:
    """The URL of a database that we can use, with the driver that we use for it.

    Raises:
        UsageError: It is no URL, names another kind of database, or the driver is not installed.
    """
    try:
        url = sql.make_url(text)
    except sql.exc.ArgumentError as problem:
        raise UsageError(
            "`engine.database` is no URL: write one such as postgresql+psycopg://host/name."
        ) from problem
    if url.drivername in SQLITE_NAMES:
        return url
    if url.drivername not in _POSTGRES_NAMES:
        raise UsageError(
            f"`engine.database` begins with {url.drivername}://, which no driver of ours reads: "
            "write postgresql+psycopg://host/name, or leave it out for SQLite."
        )
    if find_spec("psycopg") is None:
        raise UsageError(
            "`engine.database` names a Postgres, but its driver is not installed: "
            "install hornbook[postgres]."
        )
    if not url.database:
        raise UsageError(
            f"`engine.database` ({url.render_as_string(hide_password=True)}) names no database: "
            "add its name after the host, such as postgresql+psycopg://host/name."
        )
    return url.set(drivername=POSTGRES)


def make_tables(
    engine: sql.Engine,
    tables: sql.MetaData,
    repository: str,
    *,
    taken_over: Callable[[sql.Connection], None],
    widened: Callable[[sql.Connection], None],
) -> None:
    """Make tables that are not there yet, or take over those of an earlier release.

    What is taken over belongs to `repository`; where it gets a name that it had not, `taken_over`
    is called in the same transaction, and `widened` where a table got columns that it lacked.
    Several machines may come at once. Postgres looks and makes in two steps, so that one who looks
    at the wrong moment fails: they take turns.
    """
    if engine.dialect.name == "sqlite":
        with engine.begin() as connection:
            moved = [_rebuild(connection, each, repository) for each in tables.sorted_tables]
            tables.create_all(connection)
            if _widen(connection, tables):
                widened(connection)
            if repository and any(moved):
                taken_over(connection)
        return
    with made_once(engine, "tables of the engine") as missing:
        if missing:
            with engine.begin() as connection:
                _take_turn(connection)
                tables.create_all(connection)
                if _widen(connection, tables):
                    widened(connection)
                moved = [
                    _take_over(connection, table.name, table.columns.keys(), repository)
                    for table in tables.sorted_tables
                ]
                if any(moved):
                    taken_over(connection)


def _rebuild(connection: sql.Connection, table: sql.Table, repository: str) -> bool:
    """Give a table of SQLite that knows no repositories its form of now; whether it was one."""
    known = connection.exec_driver_sql(f"PRAGMA table_info({table.name})").all()
    before = [str(row[1]) for row in known]
    if not before or "repository" in before:
        return False
    old = f"{table.name}_before"
    connection.exec_driver_sql(f"ALTER TABLE {table.name} RENAME TO {old}")
    for index in connection.exec_driver_sql(f"PRAGMA index_list({old})").all():
        if not str(index[1]).startswith("sqlite_"):
            connection.exec_driver_sql(f"DROP INDEX {index[1]}")
    table.create(connection)
    connection.exec_driver_sql(copying(table.name, before, old, "?"), (repository,))
    connection.exec_driver_sql(f"DROP TABLE {old}")
    return True


def _widen(connection: sql.Connection, tables: sql.MetaData) -> bool:
    """Give tables the columns and indexes that they lack; whether any lacked a column."""
    found = sql.inspect(connection)
    lacked = False
    for table in tables.sorted_tables:
        known = {each["name"] for each in found.get_columns(table.name)}
        for column in (each for each in table.columns if each.name not in known):
            made = sql.schema.CreateColumn(column).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {made}")
            lacked = True
        indexed = {each["name"] for each in found.get_indexes(table.name)}
        for index in (each for each in table.indexes if each.name not in indexed):
            index.create(connection)
    return lacked


def _take_turn(connection: sql.Connection) -> None:
    """Make our schema, one machine after the other; refuse one that is newer than we are."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_TURN})")
    connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS hornbook_form (number INTEGER)")
    form = connection.exec_driver_sql("SELECT max(number) FROM hornbook_form").scalar()
    if form is None or form < FORM:
        connection.exec_driver_sql("INSERT INTO hornbook_form VALUES (%s)", (FORM,))
    elif form > FORM:
        raise DatabaseFailed(
            f"it has form {form} of a newer Hornbook, this one knows {FORM}: upgrade Hornbook on "
            "this machine"
        )


def require_form(connection: sql.Connection) -> None:
    """Go on only while no newer release has taken the database over.

    Raises:
        DatabaseFailed: One has.
    """
    if connection.dialect.name != "sqlite":
        form = connection.exec_driver_sql("SELECT max(number) FROM hornbook_form").scalar()
        if form is not None and form > FORM:
            raise DatabaseFailed(
                f"the database has form {form} of a newer Hornbook by now, this one knows {FORM}: "
                "upgrade Hornbook on this machine"
            )


_OLD_TABLES = """
SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %s AND c.relkind = 'r' AND n.nspname <> %s AND n.nspname = ANY(%s)
"""
# What it is before anybody sets it: `SET` changes the setting, and not to what it is reset.
_DEFAULT_PATH = "SELECT reset_val, current_user FROM pg_settings WHERE name = 'search_path'"
_COLUMNS_OF = """
SELECT column_name, data_type FROM information_schema.columns
WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""
_REFUSE = f"""
CREATE OR REPLACE FUNCTION {SCHEMA}.refuse_older() RETURNS TEXT LANGUAGE plpgsql AS
$$ BEGIN
RAISE EXCEPTION 'a newer Hornbook has taken this database over: upgrade Hornbook on this machine';
END $$
"""


def _take_over(
    connection: sql.Connection, name: str, columns: Sequence[str], repository: str
) -> bool:
    """Move the rows of an earlier release's table into ours; whether there was one.

    It lies where a connection of this account makes tables by default: another schema is somebody
    else's, whatever its tables are called. A view stays behind, which refuses that release.
    """
    path, user = connection.exec_driver_sql(_DEFAULT_PATH).one()
    named = [each.strip().strip('"') for each in str(path).split(",")]
    usual = [user if each == "$user" else each for each in named]
    found_in = connection.exec_driver_sql(_OLD_TABLES, (name, SCHEMA, usual)).scalars().all()
    for schema in found_in:
        old = f'"{schema}".{name}'
        connection.exec_driver_sql(f"LOCK TABLE {old} IN ACCESS EXCLUSIVE MODE")
        found = {row[0] for row in connection.exec_driver_sql(_COLUMNS_OF, (schema, name))}
        known = [each for each in columns if each in found]
        connection.exec_driver_sql(copying(name, known, old, "%s"), (repository,))
        connection.exec_driver_sql(f"DROP TABLE {old}")
    there = "SELECT to_regclass(%s)"
    if connection.exec_driver_sql(there, (f"public.{name}",)).scalar() is None:
        with suppress(sql.exc.ProgrammingError), connection.begin_nested():
            # Who may make nothing there leaves nothing there that an old release could find.
            _leave_refusal(connection, name)
    return bool(found_in)


def _leave_refusal(connection: sql.Connection, name: str) -> None:
    connection.exec_driver_sql(_REFUSE)
    columns = connection.exec_driver_sql(_COLUMNS_OF, (SCHEMA, name)).all()
    old_first = sorted(columns, key=lambda column: column[0] == "repository")
    shown = ", ".join(f"{SCHEMA}.refuse_older()::{kind} AS {each}" for each, kind in old_first)
    connection.exec_driver_sql(f"CREATE VIEW public.{name} AS SELECT {shown}")
    for what in ("INSERT", "UPDATE", "DELETE"):
        connection.exec_driver_sql(
            f"CREATE RULE refuse_{what.lower()} AS ON {what} TO public.{name} "
            f"DO INSTEAD SELECT {SCHEMA}.refuse_older()"
        )


class ClosingPool(sql.QueuePool):
    """Connections of which none is kept from when the pool was closed, however late it comes back.

    A thread that outlives the last user of a database still returns what it had, or asks anew. The
    usual pool would keep that for the garbage collector to find.
    """

    _closed = False

    def recreate(self) -> "ClosingPool":
        """What an engine goes on with after its pool was closed: it keeps nothing either."""
        after = super().recreate()
        if not isinstance(after, ClosingPool):
            raise TypeError("a pool is made again as what it was")
        after._closed = True  # noqa: SLF001  # of this class
        return after

    def dispose(self) -> None:
        """Close what is there, and from now on what comes back."""
        self._closed = True
        super().dispose()

    def _do_return_conn(self, record: sql.pool.ConnectionPoolEntry) -> None:
        super()._do_return_conn(record)
        if self._closed:  # looked at afterwards: else one that comes back meanwhile would stay
            super().dispose()


@dataclass(slots=True)
class _Pool:
    """The connections of this process to one database, and how many use them."""

    engine: sql.Engine
    users: int = 0
    made: set[str] = field(default_factory=set)
    """What was made in it already, by this process."""
    lock: threading.RLock = field(default_factory=threading.RLock)


_POOLS: dict[tuple[int, str], _Pool] = {}
_POOLS_LOCK = threading.Lock()


def _key(url: sql.URL) -> tuple[int, str]:
    return os.getpid(), url.render_as_string(hide_password=False)


def shared_engine(url: sql.URL) -> sql.Engine:
    """The connections of this process to a Postgres; whoever takes them lets them go again."""
    with _POOLS_LOCK:
        pool = _POOLS.get(_key(url))
        if pool is None:
            pool = _POOLS[_key(url)] = _Pool(_engine(url))
        pool.users += 1
        return pool.engine


def let_go(engine: sql.Engine) -> None:
    """Have one user less; the last one closes the connections."""
    with _POOLS_LOCK:
        pool = _POOLS.get(_key(engine.url))
        if pool is None or pool.engine is not engine:
            engine.dispose()
            return
        pool.users -= 1
        if pool.users <= 0:
            del _POOLS[_key(engine.url)]
            engine.dispose()


@contextmanager
def made_once(engine: sql.Engine, what: str) -> Iterator[bool]:
    """Whether something is to be made in the database: not if this process did so before."""
    pool = _POOLS.get(_key(engine.url))
    if pool is None:  # a file of SQLite
        yield True
        return
    with pool.lock:
        yield what not in pool.made
        pool.made.add(what)


DATABASE_TIME = sql.literal_column("extract(epoch from clock_timestamp())", sql.Float)


def _engine(url: sql.URL) -> sql.Engine:
    engine = sql.create_engine(
        url,
        poolclass=ClosingPool,
        pool_size=MOST_CONNECTIONS,
        max_overflow=0,
        pool_timeout=ANSWER_SECONDS,
        pool_pre_ping=True,
    )
    sql.event.listen(engine, "do_connect", _connected)
    return engine


def _connected(_dialect: object, _record: object, places: list[Any], named: dict[str, Any]) -> Any:
    """A connection that sees our schema and does not wait for ever; the types are the driver's."""
    import psycopg  # noqa: PLC0415  # an extra

    class BoundedConnection(psycopg.Connection[Any]):
        """Gives up when an answer does not come in time."""

        def wait(self, gen: Any, interval: float = 0.2, timeout: float | None = None) -> Any:
            """What the driver asked for, within `ANSWER_SECONDS`."""
            return super().wait(_bounded(gen, self), interval, timeout)

    told = {"connect_timeout": 10, "keepalives_idle": 10, **named}
    connection = BoundedConnection.connect(*places, **told)
    try:
        connection.execute(f"SET search_path TO {SCHEMA}")
        connection.execute(f"SET statement_timeout = {int(ANSWER_SECONDS * 1000)}")
        connection.execute("SET idle_in_transaction_session_timeout = 60000")
        connection.commit()
    except BaseException:
        connection.close()
        raise
    return connection


def _bounded(gen: Any, connection: Any) -> Any:
    """What the driver waits for, one readiness after the other, until the time is over."""
    import psycopg  # noqa: PLC0415  # an extra

    until = time.monotonic() + ANSWER_SECONDS
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > until:
                connection.close()
                raise psycopg.OperationalError(f"no answer within {ANSWER_SECONDS:g} seconds")
            wanted = gen.send(ready)
    except StopIteration as ended:
        return ended.value


CLOCK_SECONDS = 60.0
"""For how long the difference between the database's time and ours is taken to be the same."""


class DatabaseClock:
    """The time of a database, which all machines have in common; asked for once a minute."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._asked: float | None = None
        self._ahead = 0.0

    def seconds(self) -> float:
        """Seconds since 1970."""
        with self._lock:
            here = time.monotonic()
            if self._asked is None or here - self._asked > CLOCK_SECONDS:
                there = self._now()
                self._ahead, self._asked = there - (here + time.monotonic()) / 2, here
            return time.monotonic() + self._ahead

    def __call__(self) -> str:
        """The time as events carry it."""
        return to_milliseconds(datetime.fromtimestamp(self.seconds(), UTC))


_CLOCKS: dict[tuple[int, str], DatabaseClock] = {}


def clock_of(url: str) -> DatabaseClock:
    """The clock of the Postgres that a URL names; one for all of this process."""
    checked = checked_url(url)
    return _CLOCKS.setdefault(_key(checked), DatabaseClock(lambda: _time_of(checked)))


def _time_of(url: sql.URL) -> float:
    engine = shared_engine(url)
    try:
        with _translated(), engine.connect() as connection:
            return float(connection.execute(sql.select(DATABASE_TIME)).scalar_one())
    finally:
        let_go(engine)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sql.exc.IntegrityError as problem:
        raise KeyTaken(str(problem.orig)) from problem
    except sql.exc.OperationalError as problem:
        raise DatabaseAway(str(problem.orig)) from problem
    except sql.exc.TimeoutError as problem:
        raise DatabaseAway("all connections of this process are in use") from problem
    except sql.exc.DatabaseError as problem:
        raise DatabaseFailed(str(problem.orig)) from problem


class PostgresDatabase:
    """A Postgres that a URL names."""

    def __init__(self, url: str) -> None:
        """Raises UsageError where the URL names none that we can use."""
        checked = checked_url(url)
        self.shown = checked.render_as_string(hide_password=True)
        self._engine = shared_engine(checked)
        self._clock = clock_of(url)

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state."""
        return self._transaction()

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that keeps what it wrote; two that write one row exclude each other."""
        return self._transaction()

    @contextmanager
    def writing_alone(self, table: str) -> Iterator[Transaction]:
        """A transaction beside which a table is read alone."""
        with self._transaction() as transaction:
            transaction.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
            yield transaction

    def make_table(self, table: TableForm, repository: str) -> None:
        """Make a table, or take over that of an earlier release; several machines take turns."""
        with _translated(), made_once(self._engine, table.name) as missing:
            if missing:
                with self._engine.begin() as connection:
                    _take_turn(connection)
                    connection.exec_driver_sql(table.statement)
                    _take_over(connection, table.name, table.columns, repository)

    def now(self) -> float:
        """The database's time, in seconds since 1970."""
        return self._clock.seconds()

    def close(self) -> None:
        """Let go of the connections."""
        let_go(self._engine)

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        with _translated(), self._engine.begin() as connection:
            yield _PostgresTransaction(connection)


class _PostgresTransaction:
    def __init__(self, connection: sql.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, *values: object) -> list[Row]:
        """The rows of a statement."""
        found = self._connection.exec_driver_sql(statement.replace("?", "%s"), values)
        return [tuple(row) for row in found] if found.returns_rows else []
