"""The event log: a table, and beside each plan an export that can be verified and read back.

The table is SQLite at `.hornbook/events.db`, or any database that a URL names. The export
`plans/<slug>/events.jsonl` has one canonical line for each event. These are two truths on purpose:
the table numbers events for all who append at once, the export travels with git and can be read
and verified without us. The lines of the table, one after the other, are the bytes of the export,
and every row knows where in those bytes its line ends (`ends`). So one comparison of sizes says
before each append whether the two are level, and nothing is appended while they are not. A process
that is killed between table and export leaves an export that is a beginning of the table, a clone
has exports and no table: `sync` completes whichever is a beginning of the other. Where neither is,
one of them was changed by hand; nothing is done then, and a person is told which line differs.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbook.disk import append_whole, locked, write_whole
from hornbook.errors import DatabaseAway, DatabaseFailed, EventLogError, KeyTaken
from hornbook.plans.databases.database import (
    SQLITE_NAMES,
    Database,
    SqliteDatabase,
    TableForm,
    Transaction,
)
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
    verify_following,
)
from hornbook.plans.principal import Principal, at_command_line
from hornbook.plans.state import PLAN_KINDS, PlanState, advance, project

ATTEMPTS = 100
EXPORT = "events.jsonl"

_COLUMNS = ("repository", "plan", "seq", "key", "kind", "hash", "line", "ends")
_TABLE = TableForm(
    "hornbook_events",
    _COLUMNS,
    """
CREATE TABLE IF NOT EXISTS hornbook_events (
    repository TEXT NOT NULL, -- whose plan it is; empty in a database of one repository's own
    plan TEXT NOT NULL,
    seq INTEGER NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    hash TEXT NOT NULL,
    line TEXT NOT NULL,
    ends INTEGER NOT NULL, -- bytes of the export up to this line's end
    PRIMARY KEY (repository, plan, seq),
    UNIQUE (repository, key, plan)
)
""",
)
_REPOSITORIES = TableForm(
    "hornbook_repositories",
    ("repository", "first"),
    """
CREATE TABLE IF NOT EXISTS hornbook_repositories (
    repository TEXT NOT NULL PRIMARY KEY,
    first TEXT NOT NULL -- the commit that its history begins with
)
""",
)
_LINES = "SELECT line FROM hornbook_events WHERE repository = ?"
_OF_PLAN = f"{_LINES} AND plan = ?"
_DELETE = "DELETE FROM hornbook_events WHERE repository = ? AND plan = ?"

Clock = Callable[[], str]
"""Gives the time as ISO 8601 in UTC."""

Choice = Callable[[list[Event]], tuple[str, Data] | None]
"""Key and data of the event that follows from a whole log; it may be asked again."""


@dataclass(frozen=True, slots=True)
class _Verified:
    """The events of a plan that were verified, and the line of the last one in the table."""

    events: tuple[Event, ...] = ()
    last: str = ""


class LogMemory:
    """What was read of logs before, so that only what was added since is read and verified.

    It holds for one process and one database, and may be used by several threads: what it gives
    is never changed, and is compared with the table before it counts.
    """

    def __init__(self) -> None:
        self.verified: dict[str, _Verified] = {}
        self.states: dict[str, PlanState] = {}
        self.level: dict[str, tuple[object, ...]] = {}

    def state(self, plan: str, events: Sequence[Event]) -> PlanState | None:
        """What a plan's events add up to: what they did, and those that were added."""
        known = self.states.get(plan)
        if known is None or known.seq > len(events) or events[known.seq - 1].hash != known.head:
            known = project(events)
        else:
            for event in events[known.seq :]:
                known = advance(known, event)
        if known is not None:
            self.states[plan] = known
        return known


def open_database(url: str, default: Path) -> Database:
    """The database that a URL names; without one, the SQLite file at `default`.

    Raises:
        UsageError: The URL names none that we can use.
    """
    scheme, _, rest = url.partition("://")
    if not url or scheme in SQLITE_NAMES:
        path = rest.removeprefix("/") if url else str(default)
        return SqliteDatabase(path, url or f"sqlite:///{default}")
    from hornbook.plans.databases.shared_database import PostgresDatabase  # noqa: PLC0415  # start-up: SQLAlchemy

    return PostgresDatabase(url)


class EventLog:
    """Appends events and gives them back, in the order of each plan's log.

    An event is written into the table first, in a transaction that numbers it, then into the
    export.

    `kinds` are the kinds that may be appended: those of plans, and what a caller adds to them.
    `repository` is whose plans these are, in a database that several share.
    `principal` is who acts where an event says nothing else: by default whoever runs this process.
    """

    def __init__(
        self,
        state: Path,
        clock: Clock,
        *,
        database: str = "",
        repository: str = "",
        kinds: Mapping[str, EventKind] = PLAN_KINDS,
        memory: LogMemory | None = None,
        principal: Principal | None = None,
    ) -> None:
        self._principal = principal
        self._memory = memory or LogMemory()
        self._state = state
        self.repository = repository
        self._clock = clock
        self._kinds = kinds
        self._mutex = threading.RLock()
        self._depth = 0
        self._database = open_database(database, state / "events.db")
        try:
            with self.alone():
                self._database.make_table(_TABLE, repository)
        except DatabaseFailed as problem:
            self._database.close()
            if isinstance(problem, DatabaseAway):
                raise EventLogError(
                    f"the database of events {self._database.shown} cannot be used now "
                    f"({problem}): what it holds is not lost; try again then."
                ) from problem
            raise EventLogError(
                f"the database of events {self._database.shown} cannot be used ({problem}): "
                "`hornbook recover` says what can be restored."
            ) from problem

    def claim(self, first: str) -> None:
        """Have the name of the repository stand for the one that begins with a commit.

        Raises:
            EventLogError: It stands for another one.
        """
        self._database.make_table(_REPOSITORIES, self.repository)
        asked = "SELECT first FROM hornbook_repositories WHERE repository = ?"
        with contextlib.suppress(KeyTaken), self._database.writing() as connection:
            if not connection.execute(asked, self.repository):
                new = "INSERT INTO hornbook_repositories VALUES (?, ?)"
                connection.execute(new, self.repository, first)
        with self._reading() as connection:
            ((known,),) = connection.execute(asked, self.repository)
        if known != first:
            raise EventLogError(
                f"{self._database.shown} has another repository named {self.repository}: it "
                f"begins with commit {known[:12]}, this one with {first[:12]}. Write another "
                "`repository:` into .hornbook/config.yaml; or, if only the history was rewritten, "
                "delete its row in hornbook_repositories."
            )

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep all others on this machine from writing the files of plans; may be nested."""
        with self._mutex:
            if self._depth:
                yield
                return
            with locked(self._state / "events.db-lock"):
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth = 0

    @property
    def principal(self) -> Principal:
        """Who acts where an event says nothing else."""
        if self._principal is None:
            self._principal = at_command_line(self._state)
        return self._principal

    def folder(self, plan: str) -> Path:
        """The folder that the plan has on disk."""
        return self._state / "plans" / plan

    def plans(self) -> list[str]:
        """The slugs of all plans that have events, in the table or in an export; sorted.

        One that the table alone has is left out if its log is listed as dropped, and can be.
        """
        stored = self.heads()
        exported = {path.parent.name for path in (self._state / "plans").glob(f"*/{EXPORT}")}
        alone = stored.keys() - exported
        if alone:  # another clone may have dropped their logs
            from hornbook.plans.audit.dropped_claims import dropped_plans  # noqa: PLC0415  # rare

            for plan in dropped_plans(self._state, alone, self.events):
                del stored[plan]
        return sorted(stored.keys() | exported)

    def heads(self) -> dict[str, int]:
        """The number of the newest event of each plan in the table; cheap enough to ask often."""
        with self._reading() as connection:
            asked = "SELECT plan, MAX(seq) FROM hornbook_events WHERE repository = ? GROUP BY plan"
            return {str(plan): int(seq) for plan, seq in connection.execute(asked, self.repository)}

    def events(self, plan: str) -> list[Event]:
        """All events of a plan in order.

        Raises:
            EventLogError: A stored event cannot be read, or the chain is broken.
        """
        with self._reading() as connection:
            return list(self._events(connection, plan))

    def state(self, plan: str) -> PlanState | None:
        """What a plan's events add up to; None where there are none.

        Raises:
            EventLogError: A stored event cannot be read, or the chain is broken.
        """
        with self._reading() as connection:
            return self._memory.state(plan, self._events(connection, plan))

    def plan_with(self, key: str) -> str | None:
        """The first plan that has an event with this key, in the table or in an export."""
        found = self._plan_with(key)
        if found is not None:
            return found
        for plan in self.plans():
            self.sync(plan)
        return self._plan_with(key)

    def _plan_with(self, key: str) -> str | None:
        asked = "SELECT min(plan) FROM hornbook_events WHERE repository = ? AND key = ?"
        with self._reading() as connection:
            ((found,),) = connection.execute(asked, self.repository, key)
        return None if found is None else str(found)

    def append(
        self, plan: str, kind: str, data: Data, *, key: str, by: Principal | None = None
    ) -> tuple[Event, bool]:
        """The event that was appended, and True; or the one that has this key already, and False.

        Raises:
            UsageError: The kind is not known, or the data is not what the kind needs.
            EventLogError: Other processes were faster time and again, or the export disagrees.
        """
        appended = self._append(plan, kind, data, key=key, by=by)
        if appended is None:
            raise EventLogError(f"plan {plan}: event {key} was overtaken by nothing.")
        return appended

    def choose(
        self, plan: str, kind: str, choice: Choice, *, by: Principal | None = None
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
            appended = self._append(plan, kind, data, key=key, by=by, after=len(events))
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
        by: Principal | None,
        after: int | None = None,
    ) -> tuple[Event, bool] | None:
        """The event, and whether it is new; None if it is not to be the one behind `after`."""
        check_kind(kind, data, self._kinds)
        at, who = self._clock(), by or self.principal
        for _ in range(ATTEMPTS):
            try:
                with self._database.writing() as connection:
                    same = self._with_key(connection, plan, key)
                    if same is not None:
                        return same, False
                    previous, start = self._last(connection, plan)
                    if after not in {None, previous.seq if previous else 0}:
                        return None
                    level = self._exported(plan) == start
                    if level:
                        event = next_event(
                            previous, plan=plan, kind=kind, data=data, key=key, by=who, at=at
                        )
                        self._insert(connection, event, start)
            except KeyTaken:
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
        if self._is_level(plan):
            return
        path = self.folder(plan) / EXPORT
        with self.alone(), self._database.writing() as connection:
            before, ends = self._last(connection, plan)
            stored = "".join(self._lines(connection, plan)).encode()
            found = path.read_bytes() if path.exists() else b""
            if stored.startswith(found):
                _extend(path, stored[len(found) :])
            elif found.startswith(stored):
                self._import(connection, plan, found, len(stored))
            else:
                raise EventLogError(self._disagreement(path, stored, found))
            # Each statement sees what others committed meanwhile, where machines share a database:
            # only a table that stood still while its lines were read was compared whole.
            standing = self._standing(connection, plan)
            if standing[:2] == (ends, before and before.hash):
                self._memory.level[plan] = standing

    def _is_level(self, plan: str) -> bool:
        """Whether neither the table nor the export changed since they were compared."""
        known = self._memory.level.get(plan)
        if known is None:
            return False
        with self._reading() as connection:
            return self._standing(connection, plan) == known

    def _standing(self, connection: Transaction, plan: str) -> tuple[object, ...]:
        """What tells a table and an export from what they are after any change."""
        last, ends = self._last(connection, plan)
        try:
            file = (self.folder(plan) / EXPORT).stat()
        except FileNotFoundError:
            return (ends, last and last.hash)
        return (ends, last and last.hash, file.st_ino, file.st_size, file.st_mtime_ns)

    def misfits(self, plan: str) -> list[str]:
        """Rows of a plan that say something else than the line in them, in words."""
        columns = "SELECT seq, key, kind, hash, line, ends FROM hornbook_events"
        asked = f"{columns} WHERE repository = ? AND plan = ? ORDER BY seq"
        found, end = [], 0
        with self._reading() as connection:
            rows = connection.execute(asked, self.repository, plan)
        for seq, key, kind, digest, line, ends in rows:
            event, end = read_event(line), end + len(line.encode())
            told = (event.seq, event.key, event.kind, event.hash, end)
            if (seq, key, kind, digest, ends) != told:
                found.append(f"the row of event {seq} of plan {plan} is not what its line says")
        return found

    def forget(self, plan: str) -> None:
        """Remove a plan from the table, so that the next sync takes it over from its export."""
        with self.alone(), self._database.writing() as connection:
            connection.execute(_DELETE, self.repository, plan)

    def drop(self, plan: str, head: str, note: Callable[[], None]) -> bool:
        """Remove a plan from the table for good, if its last event has a hash; `note` comes first.

        Whether it did: another event may have come meanwhile.
        """
        with self.alone(), self._database.writing() as connection:
            last, _ = self._last(connection, plan)
            if last is None or last.hash != head:
                return False
            note()
            connection.execute(_DELETE, self.repository, plan)
        return True

    def later(self, plan: str, seq: int) -> list[Event]:
        """The events of a plan behind one of its numbers, for those who follow it.

        Raises:
            EventLogError: A stored event cannot be read.
        """
        return self._read(f"{_OF_PLAN} AND seq > ? ORDER BY seq", plan, seq)

    def of_kind(self, *kinds: str) -> list[Event]:
        """The events of some kinds, of all plans, each plan's in order.

        Raises:
            EventLogError: A stored event cannot be read.
        """
        among = ", ".join("?" for _ in kinds)
        return self._read(f"{_LINES} AND kind IN ({among}) ORDER BY plan, seq", *kinds)

    def _read(self, asked: str, *values: object) -> list[Event]:
        """The events of a statement that asks for lines."""
        with self._reading() as connection:
            rows = connection.execute(asked, self.repository, *values)
        try:
            return [read_event(line) for (line,) in rows]
        except ValueError as problem:
            raise EventLogError(f"an event in {self._database.shown}: {problem}.") from problem

    def projected(self, plan: str) -> int:
        """Up to which event the plan's files were written; 0 if never here."""
        return self._written().get(plan, 0)

    def set_projected(self, plan: str, seq: int) -> None:
        """Remember up to which event the plan's files were written."""
        with self.alone():
            marks = canonical({**self._written(), plan: seq})
            write_whole(self._state / "events.db-written", marks.encode(), durable=False)

    def _written(self) -> dict[str, int]:
        """The marks of this folder: a database may be shared, the files beside it are not."""
        try:
            marks = json.loads((self._state / "events.db-written").read_bytes())
        except (FileNotFoundError, ValueError):
            return {}  # as after a clone: every file is looked at anew
        return marks if isinstance(marks, dict) else {}

    def _reading(self) -> contextlib.AbstractContextManager[Transaction]:
        return self._database.reading()

    def _events(self, connection: Transaction, plan: str) -> tuple[Event, ...]:
        """The whole log, of which only what is not known yet is read and chained on."""
        known = self._memory.verified.get(plan, _Verified())
        count = len(known.events)
        lines = self._lines(connection, plan, from_seq=max(count, 1))
        if count and lines[:1] != [known.last]:  # it is another log by now
            known, count = _Verified(), 0
            lines = self._lines(connection, plan)
        fresh = lines[1:] if count else lines
        if not fresh:
            return known.events
        events = self._chained(plan, known.events, fresh)
        self._memory.verified[plan] = _Verified(events, fresh[-1])
        return events

    def _chained(
        self, plan: str, known: tuple[Event, ...], lines: Sequence[str]
    ) -> tuple[Event, ...]:
        """A verified beginning of a log, and the events in the lines that follow it."""
        events = []
        for number, line in enumerate(lines, len(known) + 1):
            try:
                events.append(read_event(line))
            except ValueError as problem:
                raise EventLogError(
                    f"plan {plan}, event {number} in {self._database.shown}: {problem}."
                ) from problem
        fault = verify_following(known, events) if known else verify(events)
        if fault is not None:
            raise EventLogError(
                f"plan {plan}, event {fault.line} in {self._database.shown}: {fault.message}."
            )
        return (*known, *events)

    def _lines(self, connection: Transaction, plan: str, from_seq: int = 1) -> list[str]:
        asked = f"{_OF_PLAN} AND seq >= ? ORDER BY seq"
        return [line for (line,) in connection.execute(asked, self.repository, plan, from_seq)]

    def _with_key(self, connection: Transaction, plan: str, key: str) -> Event | None:
        rows = connection.execute(f"{_OF_PLAN} AND key = ?", self.repository, plan, key)
        return read_event(rows[0][0]) if rows else None

    def _last(self, connection: Transaction, plan: str) -> tuple[Event | None, int]:
        asked = (
            "SELECT line, ends FROM hornbook_events WHERE repository = ? AND plan = ? "
            "ORDER BY seq DESC LIMIT 1"
        )
        rows = connection.execute(asked, self.repository, plan)
        return (read_event(rows[0][0]), rows[0][1]) if rows else (None, 0)

    def _insert(self, connection: Transaction, event: Event, start: int) -> int:
        ends = start + len(event.line.encode())
        statement = "INSERT INTO hornbook_events VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        place = (self.repository, event.plan, event.seq, event.key)
        connection.execute(statement, *place, event.kind, event.hash, event.line, ends)
        return ends

    def _export(self, event: Event, start: int) -> None:
        """Add an event's line to the export, which has `start` bytes if nothing is missing."""
        plan = event.plan
        with self.alone(), self._reading() as connection:
            if self._exported(plan) == start:
                _extend(self.folder(plan) / EXPORT, event.line.encode())
                self._keep_level(connection, event, start)
                return
        self.sync(plan)

    def _keep_level(self, connection: Transaction, event: Event, start: int) -> None:
        """Note that both grew by the same event, if they were the same before."""
        known = self._memory.level.pop(event.plan, (None,))
        if known[:2] == (start, event.previous if start else None):
            standing = self._standing(connection, event.plan)
            if standing[1] == event.hash:
                self._memory.level[event.plan] = standing

    def _exported(self, plan: str) -> int:
        """How many bytes the export of a plan has."""
        path = self.folder(plan) / EXPORT
        return path.stat().st_size if path.exists() else 0

    def _import(self, connection: Transaction, plan: str, found: bytes, start: int) -> None:
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
            f"{path}, line {line} and event {line} in {self._database.shown} differ: one of them "
            "was changed. Restore the file from git; or, if the file is right, delete the database."
        )


def _extend(path: Path, data: bytes) -> None:
    """Add bytes to the end of a file and have the disk keep them."""
    if data:
        append_whole(path, data)
