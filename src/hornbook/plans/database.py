"""The database that events are kept in: a few SQL statements, the same for SQLite and Postgres.

SQLite is spoken to through Python's own driver. A Postgres is reached through SQLAlchemy, which
takes longer to import than listing plans may take: it is loaded only where a URL names one.

A reader begins a transaction that sees one state. A writer takes the write lock at once, since two
readers that both want to write would deadlock; whoever finds it taken waits `BUSY_SECONDS`.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from hornbook.errors import DatabaseAway, DatabaseFailed, KeyTaken

BUSY_SECONDS = 30
SQLITE_NAMES = frozenset({"sqlite", "sqlite+pysqlite"})

Row = tuple[Any, ...]  # what a driver gives back: texts and numbers


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

    def make_table(self, statement: str) -> None:
        """Make a table that may not be there yet, whoever else does so at the same time."""

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

    def make_table(self, statement: str) -> None:
        """Make a table that may not be there yet."""
        with self.writing() as transaction:
            transaction.execute(statement)

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
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
            except sqlite3.Error:
                connection.close()
                raise
            return connection


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
        raise DatabaseAway(str(problem)) from problem
    except sqlite3.Error as problem:
        raise DatabaseFailed(str(problem)) from problem
