"""Whether the logs of plans are as they were written: the table and each export, line for line.

Nothing is written: what a command would quietly bring level is told here.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hornbook.disk import FileFault
from hornbook.errors import DatabaseFailed, EventLogError, UsageError
from hornbook.plans.databases.database import Row
from hornbook.plans.events import Event, read_lines, verify
from hornbook.plans.log import EXPORT, EventLog

LEVEL = "run `hornbook plans`, which brings both level."
REPAIR = "run `hornbook recover {plan} --repair`, which makes it anew from whichever is whole."
FROM_GIT = "restore it from git or from a backup."


@dataclass(frozen=True, slots=True)
class VerifiedLog:
    """The events of a plan, from whichever of table and export is whole and knows more."""

    plan: str
    events: tuple[Event, ...]
    faults: tuple[FileFault, ...] = ()


def database_faults(path: Path, shown: str, again: str) -> Iterator[FileFault]:
    """Whether a SQLite file is one, page by page; one that was there once is missed.

    `again` says what makes it anew.
    """
    if not path.exists():
        if path.with_name(f"{path.name}-lock").exists():
            told = "is not there, although it was once made here"
            yield FileFault("database_missing", shown, told, f"{again}.")
        return
    rows = rows_of(path, "PRAGMA integrity_check")
    if rows != [("ok",)]:
        told = f"is damaged: {rows[0][0]}" if rows else "is no database any more"
        remedy = f"restore it from a backup, or move it away: {again}."
        yield FileFault("database_damaged", shown, told, remedy)


def rows_of(path: Path, statement: str) -> list[Row]:
    """What a SQLite file answers; nothing if it is damaged, which is told of it."""
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        return []


def verified_log(state: Path, plan: str, log: EventLog | None) -> VerifiedLog:
    """A plan's log, table and export read anew and held against each other."""
    shown = f".hornbook/plans/{plan}/{EXPORT}"
    faults: list[FileFault] = []
    stored: tuple[Event, ...] = ()
    if log is not None:
        try:
            stored = tuple(log.events(plan))
            for told in log.misfits(plan):
                remedy = REPAIR.format(plan=plan)
                faults.append(FileFault("table_damaged", ".hornbook/events.db", told, remedy))
        except (EventLogError, DatabaseFailed) as problem:
            remedy = REPAIR.format(plan=plan)
            faults.append(FileFault("table_damaged", ".hornbook/events.db", str(problem), remedy))
            log = None
    path = state / "plans" / plan / EXPORT
    if not path.exists():
        if stored:
            told = f"is not there; the database has {len(stored)} events"
            faults.append(FileFault("export_missing", shown, told, LEVEL))
        return VerifiedLog(plan, stored, tuple(faults))
    exported, fault = _exported(path, plan)
    if fault is not None:
        remedy = REPAIR.format(plan=plan) if stored else FROM_GIT
        faults.append(FileFault("export_damaged", shown, fault, remedy))
        return VerifiedLog(plan, stored, tuple(faults))
    faults += _compared(shown, stored, exported) if log is not None else ()
    return VerifiedLog(plan, max(stored, exported, key=len), tuple(faults))


def _exported(path: Path, plan: str) -> tuple[tuple[Event, ...], str | None]:
    data = path.read_bytes()
    try:
        events, fault = read_lines(data.decode())
    except (UnicodeDecodeError, UsageError) as problem:
        return (), f"cannot be read: {problem}"
    fault = fault or verify(events)
    if fault is not None:
        return (), f"line {fault.line}: {fault.message}"
    if any(event.plan != plan for event in events):
        return (), f"it is the log of the plan {events[0].plan!r}"
    if "".join(event.line for event in events).encode() != data:
        return (), "it has blanks, or lacks its last line's end"
    return tuple(events), None


def _compared(
    shown: str, stored: tuple[Event, ...], exported: tuple[Event, ...]
) -> Iterator[FileFault]:
    for one, other in zip(stored, exported, strict=False):
        if one.hash != other.hash:
            told = f"line {other.seq} is not the event {one.seq} of the database"
            remedy = "restore the file from git; or, if the file is right, delete the database."
            yield FileFault("log_contradiction", shown, told, remedy)
            return
    more = len(stored) - len(exported)
    if more > 0:
        yield FileFault("export_behind", shown, f"lacks the last {more} events", LEVEL)
    elif more < 0:
        told = f"lacks the last {-more} events of {shown}: an older one, or a pull brought them"
        yield FileFault("table_behind", ".hornbook/events.db", told, LEVEL)
