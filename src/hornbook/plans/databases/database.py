"""The database that events are kept in: a few SQL statements, the same for SQLite and Postgres.

SQLite is spoken to through Python's own driver. A Postgres is reached through SQLAlchemy, which
takes longer to import than listing plans may take: it is loaded only where a URL names one.

A reader begins a transaction that sees one state. A writer takes the write lock at once, since two
readers that both want to write would deadlock; whoever finds it taken waits `BUSY_SECONDS`.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from hornbook.errors import DatabaseAway, DatabaseFailed, KeyTaken

BUSY_SECONDS = 30
_BUSY_PAUSE = 0.01
SQLITE_NAMES = frozenset({"sqlite", "sqlite+pysqlite"})

# What the disk, a limit or a right keeps us from; SQLite's primary result codes.
_REMEDIES = {
    sqlite3.SQLITE_PERM: "ask its owner for the right to write it",
    sqlite3.SQLITE_NOMEM: "free some memory",
    sqlite3.SQLITE_READONLY: "make it and its folder writable",
    sqlite3.SQLITE_IOERR: "check the disk",
    sqlite3.SQLITE_FULL: "free some room on that disk",
    sqlite3.SQLITE_CANTOPEN: "check the rights of its folder and the limit of open files",
}

Row = tuple[Any, ...]  # what a driver gives back: texts and numbers


@dataclass(frozen=True, slots=True)
class TableForm:
    """A table as it has to be: the statement that makes it if it is not there, and its columns."""

    name: str
    columns: tuple[str, ...]
    statement: str


def copying(table: str, columns: Sequence[str], old: str, mark: str) -> str:
    """The statement that copies the rows of a table into one that knows repositories."""
    listed = ", ".join(columns)
    return f"INSERT INTO {table} (repository, {listed}) SELECT {mark}, {listed} FROM {old}"  # noqa: S608  # names of ours


class Transaction(Protocol):
    """What may be done between the beginning and the end of a transaction."""

    def execute(self, statement: str, *values: object) -> list[Row]:
        """The rows of a statement, whose values stand as `?` in it.

        Raises:
            KeyTaken: The row is there already.
            DatabaseAway: The database is busy, or cannot be reached.
            DatabaseFailed: It is damaged, or what stands there is no database.
        """


class Database(Protocol):
    """A database that may be asked from several threads."""

    @property
    def shown(self) -> str:
        """Its URL, without a password."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that only reads."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that keeps what it wrote, or nothing of it if it raises."""

    def writing_alone(self, table: str) -> AbstractContextManager[Transaction]:
        """A transaction that waits for those who write into a table, and that they wait for."""

    def make_table(self, table: TableForm, repository: str) -> None:
        """Make a table that may not be there yet, whoever else does so at the same time.

        One of a release that knew no repositories is taken over: its rows are `repository`'s.
        """

    def now(self) -> float:
        """The database's time, in seconds since 1970."""

    def close(self) -> None:
        """Let go of it."""


class SqliteDatabase:
    """A SQLite file; connections that nobody uses are kept for the next transaction."""

    def __init__(self, path: str, shown: str) -> None:
        self.shown = shown
        self._path = path
        self._mutex = threading.Lock()
        self._idle: list[sqlite3.Connection] = []

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state."""
        return self._transaction("BEGIN")

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that nobody else writes beside."""
        return self._transaction("BEGIN IMMEDIATE")

    def writing_alone(self, table: str) -> AbstractContextManager[Transaction]:
        """A transaction that nobody else writes beside, whatever the table."""
        del table
        return self.writing()

    def make_table(self, table: TableForm, repository: str) -> None:
        """Make a table, or give one that knows no repositories the form that it has now."""
        with self.writing() as transaction:
            transaction.execute(table.statement)
            known = [str(row[1]) for row in transaction.execute(f"PRAGMA table_info({table.name})")]
            if "repository" in known:
                return
            old = f"{table.name}_before"
            transaction.execute(f"ALTER TABLE {table.name} RENAME TO {old}")
            transaction.execute(table.statement)
            transaction.execute(copying(table.name, known, old, "?"), repository)
            transaction.execute(f"DROP TABLE {old}")

    def now(self) -> float:
        """This machine's time, on which alone such a file lies."""
        return time.time()

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._mutex:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        connection = self._connection()
        try:
            transaction = SqliteTransaction(connection)
            transaction.execute(begin)
            yield transaction
            transaction.commit()
        except BaseException:
            connection.close()
            raise
        with self._mutex:
            self._idle.append(connection)

    def _connection(self) -> sqlite3.Connection:
        with self._mutex:
            if self._idle:
                return self._idle.pop()
        with _translate_errors():
            connection = sqlite3.connect(
                self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                write_ahead(connection)
                connection.execute("PRAGMA synchronous=FULL")
            except sqlite3.Error:
                connection.close()
                raise
            return connection


def write_ahead(connection: sqlite3.Connection) -> None:
    """Have a database of SQLite write ahead, so that readers wait for nobody.

    Where somebody writes to one that does not yet, SQLite refuses that at once instead of waiting.

    Raises:
        sqlite3.Error: It cannot, or others wrote for too long.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_BUSY_PAUSE)
        else:
            return


class SqliteTransaction:
    """One transaction of a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, *values: object) -> list[Row]:
        """The rows of a statement."""
        with _translate_errors():
            return self._connection.execute(statement, values).fetchall()

    def commit(self) -> None:
        """Keep what was written."""
        self.execute("COMMIT")


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError as problem:
        raise KeyTaken(str(problem)) from problem
    except sqlite3.OperationalError as problem:
        remedy = _REMEDIES.get(problem.sqlite_errorcode & 0xFF)
        said = f"{problem}: {remedy}" if remedy is not None else str(problem)
        raise DatabaseAway(said) from problem
    except sqlite3.Error as problem:
        raise DatabaseFailed(str(problem)) from problem
