"""What the engine keeps beside DBOS: who works, which runs there are, who holds a plan."""

from pathlib import Path
from typing import Any

import sqlalchemy as sql

from hornbook.errors import EngineError
from hornbook.execute.database import checked_url, make_tables

FILE = "engine.db"
BUSY_SECONDS = 30

_TABLES = sql.MetaData()

WORKERS = sql.Table(
    "hornbook_workers",
    _TABLES,
    sql.Column("worker", sql.Text, primary_key=True),
    sql.Column("place", sql.Text, nullable=False),  # what people call it: host and process
    sql.Column("since", sql.Float, nullable=False),
    sql.Column("seen", sql.Float, nullable=False),
)

RUNS = sql.Table(
    "hornbook_runs",
    _TABLES,
    sql.Column("run", sql.Text, primary_key=True),
    sql.Column("plan", sql.Text, nullable=False, index=True),
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
)

HOLDS = sql.Table(
    "hornbook_holds",
    _TABLES,
    sql.Column("plan", sql.Text, primary_key=True),
    sql.Column("worker", sql.Text, nullable=False),
)


def database_url(state: Path, database: str) -> sql.URL:
    """The engine's database: the one that was named, else a file in the state folder.

    Raises:
        UsageError: The name is no URL that we can use.
    """
    return checked_url(database or f"sqlite:///{state / FILE}")


def connect(url: sql.URL) -> sql.Engine:
    """The database with our tables in it; writers wait for each other, readers for nobody.

    Raises:
        EngineError: It cannot be reached, or is none.
    """
    local = url.get_backend_name() == "sqlite"
    engine = sql.create_engine(
        url, connect_args={"timeout": BUSY_SECONDS} if local else {}, pool_pre_ping=not local
    )
    if local:
        sql.event.listen(engine, "connect", _on_connect)
        sql.event.listen(engine, "begin", _on_begin)
    try:
        make_tables(engine, _TABLES)
    except sql.exc.DBAPIError as problem:
        shown = url.render_as_string(hide_password=True)
        raise EngineError(f"the database {shown} cannot be used: {problem.orig}") from problem
    return engine


def clock(engine: sql.Engine) -> "sql.ColumnElement[float]":
    """The database's own time in seconds: the clocks of several machines differ."""
    if engine.dialect.name == "sqlite":
        return sql.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sql.Float)
    return sql.literal_column("extract(epoch from clock_timestamp())", sql.Float)


def _on_connect(connection: Any, _record: object) -> None:  # the driver's own type
    connection.isolation_level = None  # the driver begins no transaction behind our back
    connection.execute("PRAGMA journal_mode=WAL")


def _on_begin(connection: sql.Connection) -> None:
    """Take the write lock at once: two readers that both want to write would deadlock."""
    reads = connection.get_execution_options().get("hornbook_reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
