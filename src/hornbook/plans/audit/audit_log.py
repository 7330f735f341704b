"""Who did what: the events of all plans in the order of time, and whether their chains are whole.

The chain of a plan's log shows an event that was altered or left out, and cannot show that its end
was cut off: a shorter log is a log too. So the heads of all logs, each the number and hash of its
last event, can be written down and kept elsewhere. A log that is the one from which a head was
taken has that event still, with that hash, at that place; or it stands in the list of the logs that
were dropped (`dropped_logs.py`), of which every line that is newer than the head is told.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hornbook.commits.repository_name import repository_name
from hornbook.disk import now, to_milliseconds
from hornbook.errors import EventLogError, UsageError
from hornbook.plans.audit.dropped_claims import refuted_by_git, unfounded
from hornbook.plans.audit.dropped_logs import DROPPED, DroppedLog, read_dropped
from hornbook.plans.audit.retention import Retention
from hornbook.plans.events import AuditEvent, AuditPage, Event, digest, read_lines, verify
from hornbook.plans.log import EXPORT, EventLog, LogMemory
from hornbook.plans.workspace_log import open_log
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

HEAD_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which events are wanted: those for which all of it holds that is not empty."""

    since: str = ""
    principal: str = ""
    kind: str = ""
    plan: str = ""

    def takes(self, event: Event) -> bool:
        """Whether an event is wanted.

        A principal is named by its id, or as `human`, `token` … by its kind; a kind by its name, or
        as `run` by what it begins with.
        """
        who = event.principal
        return (
            event.at >= self.since
            and self.principal in {"", who.id, str(who.kind), event.actor}
            and (not self.kind or event.kind == self.kind or event.kind.startswith(f"{self.kind}."))
            and self.plan.removeprefix("plan.") in {"", event.plan}
        )


@dataclass(frozen=True, slots=True)
class Audit:
    """Who did what, oldest first; `verified` is whether every log that was read is whole.

    `dropped` is how many logs are not kept any more, whose events are not among these.
    """

    events: tuple[AuditEvent, ...]
    verified: bool
    dropped: int = 0

    def page(self, first: int, after: str | None) -> AuditPage:
        """So many of the events behind the one with a hash.

        Raises:
            UsageError: No event has that hash.
        """
        start = 0
        if after is not None:
            places = (place for place, each in enumerate(self.events, 1) if each.hash == after)
            start = next(places, 0)
            if not start:
                raise UsageError(f"no event has the hash {after[:80]!r}: pass `next` as it came.")
        items = self.events[start : start + first]
        more = start + len(items) < len(self.events)
        return AuditPage(
            items=items,
            next=items[-1].hash if more and items else None,
            total=len(self.events),
            verified=self.verified,
            dropped=self.dropped,
        )


@dataclass(frozen=True, slots=True)
class ChainProblem:
    """What is wrong with a log: a code that never changes, where, what, and what to do."""

    code: str
    path: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """Whether the logs of all plans are whole; `checked` is how many events were looked at.

    `since` is the time of the oldest of them, and `dropped` are the logs that are not kept any
    more: of their events nothing but the last one's hash can be told.
    """

    ok: bool
    checked: int
    problems: tuple[ChainProblem, ...]
    since: str | None = None
    dropped: tuple[DroppedLog, ...] = ()


class AuditLog:
    """The logs of one repository, to be read by those who ask who did what.

    With a `memory` only what was added since it was last used is read and verified.
    """

    def __init__(self, places: Places, settings: Settings, memory: LogMemory | None = None) -> None:
        self._memory = memory
        self._places = places
        self._settings = settings
        self._repository = known_name(places.root, settings)

    def events(self, wanted: AuditFilter) -> Audit:
        """The events that are wanted, oldest first."""
        found: list[AuditEvent] = []
        dropped, fault = read_dropped(self._places.state)
        verified = fault is None
        with self._opened() as log:
            for plan in log.plans() if log is not None else ():
                if log is None or wanted.plan.removeprefix("plan.") not in {"", plan}:
                    continue
                try:
                    log.sync(plan)
                    found += [self._told(each) for each in log.events(plan) if wanted.takes(each)]
                except EventLogError:
                    verified = False
        ordered = sorted(found, key=lambda each: (each.at, each.plan, each.seq))
        return Audit(tuple(ordered), verified, len(dropped))

    def look(self) -> None:
        """See whether the logs can be read at all.

        Raises:
            EventLogError: The database cannot be used.
        """
        with self._opened() as log:
            if log is not None:
                log.plans()

    def _told(self, event: Event) -> AuditEvent:
        return AuditEvent(
            repository=self._repository,
            seq=event.seq,
            plan=event.plan,
            run=event.data.get("run"),
            kind=event.kind,
            at=event.at,
            actor=event.actor,
            principal=event.principal,
            data=event.data,
            previous=event.previous,
            hash=event.hash,
        )

    def head(self) -> dict[str, object]:
        """The last event of every log, to be kept where nobody who writes the logs can write.

        Raises:
            EventLogError: A log is damaged: a head of it would vouch for that.
        """
        plans: dict[str, object] = {}
        with self._opened() as log:
            for plan in log.plans() if log is not None else ():
                if log is not None:
                    log.sync(plan)
                    last = log.events(plan)[-1]
                    plans[plan] = {"seq": last.seq, "hash": last.hash}
        facts: dict[str, object] = {
            "schema": HEAD_SCHEMA,
            "repository": self._repository,
            "at": now(),
            "plans": plans,
        }
        dropped, _ = read_dropped(self._places.state)
        if dropped:
            facts["dropped"] = {"seq": dropped[-1].number, "hash": dropped[-1].hash}
        return {**facts, "sha256": digest(facts)}

    @contextmanager
    def retention(self, moment: datetime) -> Iterator[Retention]:
        """What is kept of the logs at a moment, by the settings.

        Raises:
            UsageError: They keep everything.
            EventLogError: The database cannot be used.
        """
        self._places.prepare()
        log = open_log(self._places, self._settings, now, memory=self._memory)
        try:
            yield Retention(self._places, self._settings, log, moment)
        finally:
            log.close()

    def verify(self, head: Mapping[str, object] | None = None) -> ChainCheck:
        """Look at every log, in the table and in its export, and hold them against a head."""
        problems: list[ChainProblem] = []
        logs: dict[str, list[Event]] = {}
        dropped, fault = read_dropped(self._places.state)
        with self._opened() as log:
            if log is not None:
                for plan in log.plans():
                    logs[plan] = self._checked(log, plan, problems)
                problems += _still_here(log, logs, dropped)
        problems += self._refuted(each for each in dropped if each.plan not in logs)
        if fault is not None:
            told = f"line {fault.line}: {fault.message}"
            remedy = "restore the file from git or a backup"
            problems.append(ChainProblem("chain_broken", f".hornbook/{DROPPED}", told, remedy))
        problems += _against(head, logs, dropped) if head is not None else ()
        checked = sum(map(len, logs.values()))
        since = min((event.at for events in logs.values() for event in events), default=None)
        return ChainCheck(not problems, checked, tuple(problems), since, tuple(dropped))

    def _refuted(self, dropped: Iterable[DroppedLog]) -> Iterator[ChainProblem]:
        """Lines that git's last version of a log shows to be untrue."""
        for each, why in refuted_by_git(self._places.root, dropped).items():
            told = (
                f"line {each.number}: the log of plan {each.plan} is said to be dropped at "
                f"{each.at} by {each.principal}, and as git last had it that cannot be: {why}"
            )
            remedy = (
                f"find out who wrote the line, and restore .hornbook/plans/{each.plan} from git"
            )
            yield ChainProblem("dropped_untrue", f".hornbook/{DROPPED}", told, remedy)

    def _checked(self, log: EventLog, plan: str, problems: list[ChainProblem]) -> list[Event]:
        """The events of a plan, and what is wrong with its table or its export."""
        path = log.folder(plan) / EXPORT
        shown = path.relative_to(self._places.root).as_posix()
        remedy = "restore the file from git; `hornbook recover` says what else can be done"
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        exported, fault = read_lines(text)
        fault = fault or verify(exported)
        if fault is not None:
            place = f"line {fault.line}: {fault.message}"
            problems.append(ChainProblem("chain_broken", shown, place, remedy))
        try:
            stored = log.events(plan)
        except EventLogError as problem:
            problems.append(ChainProblem("chain_broken", shown, str(problem), remedy))
            return exported
        for one, other in zip(stored, exported, strict=False):
            if one.hash != other.hash:
                told = f"line {one.seq} is not event {one.seq} of the database"
                problems.append(ChainProblem("export_differs", shown, told, remedy))
                break
        return max(stored, exported, key=len)

    @contextmanager
    def _opened(self) -> Iterator[EventLog | None]:
        state, database = self._places.state, self._settings.engine.database
        if not database and not (state / "events.db").exists() and not (state / "plans").is_dir():
            yield None
            return
        self._places.prepare()
        log = open_log(self._places, self._settings, now, memory=self._memory)
        try:
            yield log
        finally:
            log.close()


_SPAN = re.compile(r"([1-9][0-9]{0,4})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def since_of(text: str, moment: datetime) -> str:
    """The time from which on events are wanted: a span before `moment` as `7d`, a day or a time.

    Raises:
        UsageError: It is none of these.
    """
    if not text:
        return ""
    span = _SPAN.fullmatch(text)
    if span is not None:
        return to_milliseconds(moment - timedelta(**{_UNITS[span[2]]: int(span[1])}))
    try:
        found = datetime.fromisoformat(text)
    except ValueError as problem:
        raise UsageError(
            f"since {text!r}: write a span such as 7d, a day as 2026-01-31, or a time as "
            "2026-01-31T12:00:00Z."
        ) from problem
    return to_milliseconds(found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC))


def known_name(root: Path, settings: Settings) -> str:
    """The name of a repository; empty for a folder that has none yet."""
    try:
        return repository_name(root, settings.repository)
    except UsageError:
        return ""


def read_head(path: Path) -> dict[str, Any]:
    """A head that was written down.

    Raises:
        UsageError: The file is none, or was altered.
    """
    try:
        found = json.loads(path.read_bytes())
        facts = {key: value for key, value in found.items() if key != "sha256"}
        whole = found["sha256"] == digest(facts) and found["schema"] == HEAD_SCHEMA
        heads = [(each["seq"], each["hash"]) for each in found["plans"].values()]
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise UsageError(
            f"{path}: it is no head of an audit ({problem!r}): write one with "
            "`hornbook audit verify --write-head FILE`."
        ) from problem
    if not whole or not all(isinstance(seq, int) and seq > 0 for seq, _ in heads):
        raise UsageError(f"{path}: it was altered, or is of another version: use a copy of it.")
    known: dict[str, Any] = found
    return known


def _still_here(
    log: EventLog, logs: Mapping[str, Sequence[Event]], dropped: Sequence[DroppedLog]
) -> Iterator[ChainProblem]:
    """Logs that are listed as dropped, and that the table has."""
    for entry in dropped:
        try:
            events = logs.get(entry.plan) or log.events(entry.plan)
        except EventLogError:
            continue  # it was told as broken
        if not events or events[-1].hash != entry.head:
            continue  # it is gone, or the name was taken again
        told = (
            f"line {entry.number}: the log of plan {entry.plan} is said to be dropped at "
            f"{entry.at} by {entry.principal}, and the database has it"
        )
        if why := unfounded(entry, events):
            remedy = "find out who wrote the line, and take it out"
            yield ChainProblem("dropped_untrue", f".hornbook/{DROPPED}", f"{told}: {why}", remedy)
        else:
            remedy = "run `hornbook audit drop` if it was to go, else take the line out"
            yield ChainProblem("dropped_and_here", f".hornbook/{DROPPED}", told, remedy)


def _against(
    head: Mapping[str, Any], logs: Mapping[str, list[Event]], dropped: Sequence[DroppedLog]
) -> Iterator[ChainProblem]:
    """What is missing of the logs from which a head was taken, and what was dropped since then."""
    remedy = "restore the file from git or a backup, or find out who cut it"
    listed, known = f".hornbook/{DROPPED}", head.get("dropped")
    places = [each.number for each in dropped if known is not None and each.hash == known["hash"]]
    if known is not None and not places:
        told = f"line {known['seq']} is not the one that it had at {head['at']}"
        yield ChainProblem("cut", listed, told, remedy)
    since = dropped[places[0] if places else 0 :]
    for each in since:
        told = (
            f"line {each.number}: the log of plan {each.plan}, {each.events} events to "
            f"{each.last_at}, was dropped at {each.at} by {each.principal}, after this head was "
            f"taken at {head['at']}"
        )
        asked = "ask whether it was to go, and write a new head if it was"
        yield ChainProblem("dropped_since", listed, told, asked)
    for plan, last in sorted(head["plans"].items()):
        events, path = logs.get(plan, []), f".hornbook/plans/{plan}/{EXPORT}"
        seq = last["seq"]
        if any(each.plan == plan and _covers(each, last) for each in since):
            continue
        if len(events) < seq:
            told = f"it has {len(events)} events, and had {seq} at {head['at']}: its end is cut off"
            yield ChainProblem("cut", path, told, remedy)
        elif events[seq - 1].hash != last["hash"]:
            told = f"event {seq} is another than at {head['at']}: the log was written anew"
            yield ChainProblem("rewritten", path, told, remedy)


def _covers(dropped: DroppedLog, last: Mapping[str, Any]) -> bool:
    """Whether a log that was dropped may be the one of a head, or one that grew beyond it.

    Of one that grew nothing shows which it was: so it is told as dropped in any case.
    """
    seq: int = last["seq"]
    return dropped.events > seq or (dropped.events == seq and dropped.head == last["hash"])
