"""The database that a URL names: checked first, then opened so that writers wait."""

from importlib.util import find_spec
from typing import Any

import sqlalchemy as sql

from hornbook.errors import UsageError

BUSY_SECONDS = 30
POSTGRES = "postgresql+psycopg"
_POSTGRES_NAMES = frozenset({"postgres", "postgresql", POSTGRES})
_SQLITE_NAMES = frozenset({"sqlite", "sqlite+pysqlite"})
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
    if url.drivername in _SQLITE_NAMES:
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


def patient(text: str) -> sql.Engine:
    """A database that keeps what it was told, and whose writers wait for each other.

    Raises:
        UsageError: The URL names none that we can use.
    """
    url = checked_url(text)
    local = url.get_backend_name() == "sqlite"
    engine = sql.create_engine(url, connect_args={"timeout": BUSY_SECONDS} if local else {})
    if local:
        sql.event.listen(engine, "connect", _on_connect)
        sql.event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: Any, _record: object) -> None:  # the driver's own type
    connection.isolation_level = None  # the driver begins no transaction behind our back
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _on_begin(connection: sql.Connection) -> None:
    """Take the write lock at once: two readers that both want to write would deadlock."""
    reads = connection.get_execution_options().get("hornbook_reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
