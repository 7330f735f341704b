"""A database that several machines share: a Postgres, through SQLAlchemy."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec

import sqlalchemy as sql

from hornbook.errors import DatabaseAway, DatabaseFailed, KeyTaken, UsageError
from hornbook.plans.database import SQLITE_NAMES, Row, Transaction

POSTGRES = "postgresql+psycopg"
_POSTGRES_NAMES = frozenset({"postgres", "postgresql", POSTGRES})
_TURN = 0x686F726E  # a number of ours, for the lock around making tables


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


def make_tables(engine: sql.Engine, tables: sql.MetaData) -> None:
    """Make tables that are not there yet; several machines may do so at once.

    Postgres looks and makes in two steps, so that one who looks at the wrong moment fails: they
    take turns.
    """
    if engine.dialect.name == "sqlite":
        tables.create_all(engine)
        return
    with engine.begin() as connection:
        connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_TURN)))
        tables.create_all(connection)


class PostgresDatabase:
    """A Postgres that a URL names."""

    def __init__(self, url: str) -> None:
        """Raises UsageError where the URL names none that we can use."""
        checked = checked_url(url)
        self.shown = checked.render_as_string(hide_password=True)
        self._engine = sql.create_engine(checked)

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state."""
        return self._transaction()

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that keeps what it wrote; two that write one row exclude each other."""
        return self._transaction()

    def make_table(self, statement: str) -> None:
        """Make a table; several machines take turns."""
        with self.writing() as transaction:
            transaction.execute(f"SELECT pg_advisory_xact_lock({_TURN})")
            transaction.execute(statement)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        try:
            with self._engine.begin() as connection:
                yield _PostgresTransaction(connection)
        except sql.exc.IntegrityError as problem:
            raise KeyTaken(str(problem.orig)) from problem
        except sql.exc.OperationalError as problem:
            raise DatabaseAway(str(problem.orig)) from problem
        except sql.exc.DatabaseError as problem:
            raise DatabaseFailed(str(problem.orig)) from problem


class _PostgresTransaction:
    def __init__(self, connection: sql.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, *values: object) -> list[Row]:
        """The rows of a statement."""
        found = self._connection.exec_driver_sql(statement.replace("?", "%s"), values)
        return [tuple(row) for row in found] if found.returns_rows else []
