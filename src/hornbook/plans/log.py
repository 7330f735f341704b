"""The event log: a table, and beside each plan an export that can be verified and read back.

The table is SQLite at `.hornbook/events.db`, or any database that a URL names. The export
`plans/<slug>/events.jsonl` has one canonical line for each event. Whichever of the two is behind
is completed from the other; where they contradict each other nothing is done.
"""

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from hornbook.errors import EventLogError, UsageError
from hornbook.plans.events import (
    Data,
    Event,
    EventKind,
    canonical,
    check_kind,
    next_event,
    read_event,
    read_lines,
    verify,
)
from hornbook.plans.state import PLAN_KINDS

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


ATTEMPTS = 100
EXPORT = "events.jsonl"

_TABLES = sql.MetaData()
EVENTS = sql.Table(
    "hornbook_events",
    _TABLES,
    sql.Column("plan", sql.Text, primary_key=True),
    sql.Column("seq", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("key", sql.Text, nullable=False),
    sql.Column("kind", sql.Text, nullable=False),
    sql.Column("hash", sql.Text, nullable=False),
    sql.Column("line", sql.Text, nullable=False),
    sql.Column("ends", sql.Integer, nullable=False),  # bytes of the export up to this line's end
    sql.UniqueConstraint("plan", "key"),
)

Clock = Callable[[], str]
"""Gives the time as ISO 8601 in UTC."""

Choice = Callable[[list[Event]], tuple[str, Data] | None]
"""Key and data of the event that follows from a whole log; it may be asked again."""


class EventLog:
    """Appends events and gives them back, in the order of each plan's log.

    `kinds` are the kinds that may be appended: those of plans, and what a caller adds to them.
    """

    def __init__(
        self,
        state: Path,
        clock: Clock,
        *,
        database: str = "",
        kinds: Mapping[str, EventKind] = PLAN_KINDS,
    ) -> None:
        self._state = state
        self._clock = clock
        self._kinds = kinds
        self._mutex = threading.RLock()
        self._depth = 0
        self._engine = patient(database or f"sqlite:///{state / 'events.db'}")
        try:
            with self.alone():
                make_tables(self._engine, _TABLES)
        except sql.exc.DatabaseError as problem:
            shown = self._engine.url.render_as_string()
            self._engine.dispose()
            raise EventLogError(
                f"the database of events {shown} cannot be used ({problem.orig}): `hornbook "
                "recover` says what can be restored."
            ) from problem

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep all others on this machine from writing the files of plans; may be nested."""
        with self._mutex:
            if self._depth:
                yield
                return
            lock = os.open(self._state / "events.db-lock", os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._depth += 1
                yield
            finally:
                self._depth = 0
                os.close(lock)

    def folder(self, plan: str) -> Path:
        """The folder that the plan has on disk."""
        return self._state / "plans" / plan

    def plans(self) -> list[str]:
        """The slugs of all plans that have events, in the table or in an export; sorted."""
        with self._reading() as connection:
            found = set(connection.execute(sql.select(EVENTS.c.plan).distinct()).scalars())
        exports = (self._state / "plans").glob(f"*/{EXPORT}")
        return sorted(found | {path.parent.name for path in exports})

    def events(self, plan: str) -> list[Event]:
        """All events of a plan in order.

        Raises:
            EventLogError: A stored event cannot be read, or the chain is broken.
        """
        with self._reading() as connection:
            return self._events(connection, plan)

    def length(self, plan: str) -> int:
        """How many events a plan has in the table."""
        asked = sql.select(sql.func.max(EVENTS.c.seq)).where(EVENTS.c.plan == plan)
        with self._reading() as connection:
            return int(connection.execute(asked).scalar() or 0)

    def plan_with(self, key: str) -> str | None:
        """The first plan that has an event with this key, in the table or in an export."""
        asked = sql.select(EVENTS.c.plan).where(EVENTS.c.key == key).order_by(EVENTS.c.plan)
        with self._reading() as connection:
            found = connection.execute(asked.limit(1)).scalar()
        if found is not None:
            return str(found)
        for plan in self.plans():
            self.sync(plan)
        with self._reading() as connection:
            found = connection.execute(asked.limit(1)).scalar()
        return None if found is None else str(found)

    def append(
        self, plan: str, kind: str, data: Data, *, key: str, actor: str = "user"
    ) -> tuple[Event, bool]:
        """The event that was appended, and True; or the one that has this key already, and False.

        Raises:
            UsageError: The kind is not known, or the data is not what the kind needs.
            EventLogError: Other processes were faster time and again, or the export disagrees.
        """
        appended = self._append(plan, kind, data, key=key, actor=actor)
        if appended is None:
            raise EventLogError(f"plan {plan}: event {key} was overtaken by nothing.")
        return appended

    def choose(
        self, plan: str, kind: str, choice: Choice, *, actor: str = "user"
    ) -> tuple[Event, bool] | None:
        """Append what follows from all events before it, whoever else appends at the same time.

        None if the choice is to append nothing.

        Raises:
            UsageError, EventLogError: As `append` does.
        """
        for _ in range(ATTEMPTS):
            events = self.events(plan)
            chosen = choice(events)
            if chosen is None:
                return None
            key, data = chosen
            appended = self._append(plan, kind, data, key=key, actor=actor, after=len(events))
            if appended is not None:
                return appended
        raise self._crowded(plan)

    def _append(
        self,
        plan: str,
        kind: str,
        data: Data,
        *,
        key: str,
        actor: str,
        after: int | None = None,
    ) -> tuple[Event, bool] | None:
        """The event, and whether it is new; None if it is not to be the one behind `after`."""
        check_kind(kind, data, self._kinds)
        at = self._clock()
        for _ in range(ATTEMPTS):
            try:
                with self._engine.begin() as connection:
                    known = self._with_key(connection, plan, key)
                    if known is not None:
                        return known, False
                    previous, start = self._last(connection, plan)
                    if after is not None and after != (previous.seq if previous else 0):
                        return None
                    level = self._exported(plan) == start
                    if level:
                        event = next_event(
                            previous, plan=plan, kind=kind, data=data, key=key, actor=actor, at=at
                        )
                        self._insert(connection, event, start)
            except sql.exc.IntegrityError:
                continue  # another process took the number or the key: look again
            if level:
                self._export(event, start)
                return event, True
            self.sync(plan)  # nothing is appended to a log whose export knows more, or less
        raise self._crowded(plan)

    @staticmethod
    def _crowded(plan: str) -> EventLogError:
        return EventLogError(f"plan {plan}: {ATTEMPTS} attempts to append met others: try again.")

    def sync(self, plan: str) -> None:
        """Make table and export of a plan say the same, from whichever knows more.

        Raises:
            EventLogError: They contradict each other, or the export is damaged.
        """
        path = self.folder(plan) / EXPORT
        with self.alone(), self._engine.begin() as connection:
            stored = "".join(self._lines(connection, plan)).encode()
            found = path.read_bytes() if path.exists() else b""
            if stored.startswith(found):
                _extend(path, stored[len(found) :])
            elif found.startswith(stored):
                self._import(connection, plan, found, len(stored))
            else:
                raise EventLogError(self._disagreement(path, stored, found))

    def forget(self, plan: str) -> None:
        """Remove a plan from the table, so that the next sync takes it over from its export."""
        with self.alone(), self._engine.begin() as connection:
            connection.execute(sql.delete(EVENTS).where(EVENTS.c.plan == plan))

    def later(self, plan: str, seq: int) -> list[Event]:
        """The events of a plan behind one of its numbers, for those who follow it.

        Raises:
            EventLogError: A stored event cannot be read.
        """
        asked = sql.select(EVENTS.c.line).where(EVENTS.c.plan == plan, EVENTS.c.seq > seq)
        return self._read(asked.order_by(EVENTS.c.seq))

    def of_kind(self, *kinds: str) -> list[Event]:
        """The events of some kinds, of all plans, each plan's in order.

        Raises:
            EventLogError: A stored event cannot be read.
        """
        asked = sql.select(EVENTS.c.line).where(EVENTS.c.kind.in_(kinds))
        return self._read(asked.order_by(EVENTS.c.plan, EVENTS.c.seq))

    def _read(self, asked: "sql.Select[Any]") -> list[Event]:  # one column, of lines
        with self._reading() as connection:
            lines = list(connection.execute(asked).scalars())
        try:
            return [read_event(line) for line in lines]
        except ValueError as problem:
            raise EventLogError(f"an event in {self._engine.url}: {problem}.") from problem

    def projected(self, plan: str) -> int:
        """Up to which event the plan's files were written; 0 if never here."""
        return self._written().get(plan, 0)

    def set_projected(self, plan: str, seq: int) -> None:
        """Remember up to which event the plan's files were written."""
        with self.alone():
            marks = canonical({**self._written(), plan: seq})
            draft = self._state / "events.db-written.draft"  # ours alone, as we are
            draft.write_text(marks, encoding="utf-8")
            draft.replace(self._state / "events.db-written")

    def _written(self) -> dict[str, int]:
        """The marks of this folder: a database may be shared, the files beside it are not."""
        try:
            marks = json.loads((self._state / "events.db-written").read_bytes())
        except (FileNotFoundError, ValueError):
            return {}  # as after a clone: every file is looked at anew
        return marks if isinstance(marks, dict) else {}

    def _reading(self) -> "contextlib.AbstractContextManager[sql.Connection]":
        return self._engine.connect().execution_options(hornbook_reads=True)

    def _events(self, connection: sql.Connection, plan: str) -> list[Event]:
        events = []
        for number, line in enumerate(self._lines(connection, plan), 1):
            try:
                events.append(read_event(line))
            except ValueError as problem:
                raise EventLogError(
                    f"plan {plan}, event {number} in {self._engine.url}: {problem}."
                ) from problem
        fault = verify(events)
        if fault is not None:
            raise EventLogError(
                f"plan {plan}, event {fault.line} in {self._engine.url}: {fault.message}."
            )
        return events

    @staticmethod
    def _lines(connection: sql.Connection, plan: str) -> list[str]:
        asked = sql.select(EVENTS.c.line).where(EVENTS.c.plan == plan).order_by(EVENTS.c.seq)
        return list(connection.execute(asked).scalars())

    @staticmethod
    def _with_key(connection: sql.Connection, plan: str, key: str) -> Event | None:
        asked = sql.select(EVENTS.c.line).where(EVENTS.c.plan == plan, EVENTS.c.key == key)
        line = connection.execute(asked).scalar()
        return None if line is None else read_event(line)

    @staticmethod
    def _last(connection: sql.Connection, plan: str) -> tuple[Event | None, int]:
        asked = sql.select(EVENTS.c.line, EVENTS.c.ends).where(EVENTS.c.plan == plan)
        row = connection.execute(asked.order_by(EVENTS.c.seq.desc()).limit(1)).first()
        return (None, 0) if row is None else (read_event(row.line), row.ends)

    @staticmethod
    def _insert(connection: sql.Connection, event: Event, start: int) -> int:
        ends = start + len(event.line.encode())
        connection.execute(
            sql.insert(EVENTS).values(
                plan=event.plan,
                seq=event.seq,
                key=event.key,
                kind=event.kind,
                hash=event.hash,
                line=event.line,
                ends=ends,
            )
        )
        return ends

    def _export(self, event: Event, start: int) -> None:
        """Add an event's line to the export, which has `start` bytes if nothing is missing."""
        with self.alone():
            if self._exported(event.plan) == start:
                _extend(self.folder(event.plan) / EXPORT, event.line.encode())
                return
        self.sync(event.plan)

    def _exported(self, plan: str) -> int:
        """How many bytes the export of a plan has."""
        path = self.folder(plan) / EXPORT
        return path.stat().st_size if path.exists() else 0

    def _import(self, connection: sql.Connection, plan: str, found: bytes, start: int) -> None:
        """Take over the events of an export that the table does not have."""
        path = self.folder(plan) / EXPORT
        try:
            text = found.decode()
        except UnicodeDecodeError as problem:
            raise EventLogError(f"{path}: not UTF-8 ({problem}): restore it from git.") from problem
        events, fault = read_lines(text)
        fault = fault or verify(events)
        if fault is not None:
            message = f"{path}, line {fault.line}: {fault.message}: restore the file from git."
            raise EventLogError(message)
        if any(event.plan != plan for event in events):
            raise EventLogError(f"{path}, line 1: it is the log of the plan {events[0].plan!r}.")
        known = found[:start].count(b"\n")
        for event in events[known:]:
            start = self._insert(connection, event, start)
        if start > len(found):
            _extend(path, b"\n")

    def _disagreement(self, path: Path, stored: bytes, found: bytes) -> str:
        ours, theirs = stored.split(b"\n"), found.split(b"\n")
        pairs = enumerate(zip(ours, theirs, strict=False), 1)
        line = next(number for number, (one, other) in pairs if one != other)
        return (
            f"{path}, line {line} and event {line} in {self._engine.url} differ: one of them was "
            "changed. Restore the file from git; or, if the file is right, delete the database."
        )


def _extend(path: Path, data: bytes) -> None:
    """Add bytes to the end of a file and have the disk keep them."""
    if not data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
