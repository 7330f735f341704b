"""Reads a plan's log to recover it: from the table, the export, or whichever of them is whole."""

import json
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sql

from hornbook.errors import EventLogError, NotFound, UsageError
from hornbook.execute.event_log import EXPORT, EventLog
from hornbook.execute.events import SCHEMA, Event, read_event, read_lines, verify


@dataclass(frozen=True, slots=True)
class ExportReading:
    """The events of an export; `torn` is how many bytes of a line that was cut off were dropped."""

    events: tuple[Event, ...]
    torn: int = 0


@dataclass(frozen=True, slots=True)
class LogReading:
    """The events that a plan is recovered from, where they stood, and what else was found.

    `database_fault` says why the table cannot be used.
    """

    events: tuple[Event, ...]
    source: str
    notes: tuple[str, ...] = ()
    database_fault: str | None = None

    @property
    def text(self) -> str:
        """The export as it should be."""
        return "".join(event.line for event in self.events)


def read_export(data: bytes, plan: str, path: str) -> ExportReading:
    """The events of an export, without a last line that was cut off.

    Raises:
        EventLogError: Another line is not what it should be; the message has its number.
        UsageError: A newer Hornbook wrote it.
    """
    _refuse_newer(data, path)
    rest = data.rpartition(b"\n")[2]
    body = data[: len(data) - len(rest)]
    events, fault = read_lines(_decoded(body, path))
    fault = fault or verify(events)
    if fault is not None:
        raise EventLogError(f"{path}, line {fault.line}: {fault.message}: restore it from git.")
    last = len(events) + 1
    if rest and _is_torn(rest):
        return ExportReading(_of(plan, events, path), len(rest))
    if rest:
        try:
            events.append(read_event(rest.decode()))
        except (ValueError, UsageError) as problem:
            raise EventLogError(f"{path}, line {last}: {problem}.") from problem
        fault = verify(events)
        if fault is not None:
            raise EventLogError(f"{path}, line {fault.line}: {fault.message}.")
    return ExportReading(_of(plan, events, path))


def read_log(state: Path, plan: str, log: EventLog | str) -> LogReading:
    """The events of a plan from the table if that is whole, else from the export.

    `log` is the table, or in words why there is none. Nothing is written.

    Raises:
        NotFound: Neither has an event.
        EventLogError: Neither is whole, or they contradict each other.
        UsageError: A newer Hornbook wrote the export.
    """
    path = state / "plans" / plan / EXPORT
    name = f".hornbook/plans/{plan}/{EXPORT}"
    stored, fault = _stored(log, plan)
    data = path.read_bytes() if path.exists() else b""
    try:
        export = read_export(data, plan, name)
    except EventLogError as problem:
        if not stored:
            raise
        told = (f"{problem} The database is whole.",)
        return LogReading(stored, "database", told)
    if not stored and not export.events:
        why = f" ({fault})" if fault else ""
        raise NotFound(f"there is no event of plan {plan!r} in the database{why} nor in {name}.")
    _refuse_contradiction(plan, stored, export.events, name)
    notes = []
    if export.torn:
        place = len(export.events) + 1
        notes.append(f"{name}, line {place}: it was cut off, {export.torn} bytes were dropped.")
    if fault is not None:
        notes.append(f"The database cannot be used: {fault}.")
    ahead = len(export.events) > len(stored)
    events = export.events if ahead else stored
    missing = abs(len(export.events) - len(stored))
    if stored and missing:
        notes.append(f"The {'database' if ahead else 'export'} lacks {missing} events.")
    return LogReading(events, "export" if ahead else "database", tuple(notes), fault)


def _stored(log: EventLog | str, plan: str) -> tuple[tuple[Event, ...], str | None]:
    if isinstance(log, str):
        return (), log
    try:
        return tuple(log.events(plan)), None
    except sql.exc.OperationalError as problem:
        raise EventLogError(
            f"the database is busy or away ({problem.orig}): try again."
        ) from problem
    except (EventLogError, sql.exc.DatabaseError) as problem:
        return (), str(problem).rstrip(".")


def _refuse_contradiction(
    plan: str, stored: tuple[Event, ...], exported: tuple[Event, ...], name: str
) -> None:
    for one, other in zip(stored, exported, strict=False):
        if one.hash != other.hash:
            raise EventLogError(
                f"{name}, line {other.seq} and event {one.seq} of plan {plan} in the database "
                "differ and both are whole: restore the file from git; or, if the file is right, "
                "delete the database."
            )


def _is_torn(rest: bytes) -> bool:
    """Whether the last line was cut off: a whole one is JSON."""
    try:
        json.loads(rest)
    except ValueError:
        return True
    return False


def _refuse_newer(data: bytes, path: str) -> None:
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            facts = json.loads(line)
        except (ValueError, RecursionError):
            continue  # what is no JSON has no schema: it is told as what it is
        schema = facts.get("schema") if isinstance(facts, dict) else None
        if isinstance(schema, int) and schema > SCHEMA:
            raise UsageError(
                f"{path}, line {number}: it has schema {schema}, this Hornbook knows {SCHEMA}: "
                "update Hornbook."
            )


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        message = f"{path}, line {line}: it is not UTF-8: restore it from git."
        raise EventLogError(message) from problem


def _of(plan: str, events: list[Event], path: str) -> tuple[Event, ...]:
    if events and events[0].plan != plan:
        raise EventLogError(f"{path}, line 1: it is the log of the plan {events[0].plan!r}.")
    return tuple(events)
