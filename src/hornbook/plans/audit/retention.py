"""How long logs are kept: those of plans that are over are dropped after `audit.keep_days`.

Events are the truth of a plan, so a log goes as a whole or stays as a whole, and it stays for as
long as something that it vouches for holds: an exploration, work that is not done, a decision that
none replaced, an invariant, costs that count for a limit. What goes is the plan's folder and its
rows in the database; the records of its runs and reviews stay. Before that, a line in
`dropped.jsonl` takes down its head. A process that is killed in between leaves a log that is listed
as dropped and still there; the next time it is dropped without a second line. So is a log that
another clone dropped and that this one's table has still: nothing but a drop by a person deletes
it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from shutil import rmtree

from hornbook.disk import to_milliseconds
from hornbook.errors import EventLogError, UsageError
from hornbook.plans import run_kinds as kinds
from hornbook.plans.active import active_plan
from hornbook.plans.audit.dropped_logs import (
    DROPPED,
    DroppedLog,
    dropped_after,
    note_dropped,
    read_dropped,
)
from hornbook.plans.audit.in_force import in_force
from hornbook.plans.events import Event
from hornbook.plans.log import EventLog
from hornbook.plans.principal import require_human
from hornbook.plans.run_costs import paid_costs
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

LONGEST = 36_500
"""A hundred years in days: more would be before the calendar begins."""
_REPOSITORY = "repository"
"""The limit of costs that counts what was paid at any time; others count less than a log is old."""


@dataclass(frozen=True, slots=True)
class OldLog:
    """A log without an event since the time; `stays` is why it is kept, empty if it is dropped."""

    plan: str
    events: int
    last_at: str
    stays: str


class Retention:
    """Finds the logs that are past their time, and drops them."""

    def __init__(self, places: Places, settings: Settings, log: EventLog, moment: datetime) -> None:
        """Look at the logs as they are at a moment.

        Raises:
            UsageError: The settings keep everything.
        """
        days = settings.audit.keep_days
        if not days:
            raise UsageError(
                "logs are kept for ever: write `audit:` with `keep_days: 400`, or as many days as "
                "you keep who did what, into .hornbook/config.yaml."
            )
        self._before = to_milliseconds(moment - timedelta(days=min(days, LONGEST)))
        self._at = to_milliseconds(moment)
        self._state = places.state
        self._limited = bool(settings.engine.cost.repository)
        self._log = log

    def old(self) -> list[OldLog]:
        """The logs that nothing was added to since the time.

        Raises:
            EventLogError: A log is damaged: nothing may be dropped that was not verified.
        """
        return [found for found, _ in self._old()]

    def _old(self) -> Iterator[tuple[OldLog, list[Event]]]:
        active = active_plan(self._state)
        for plan in self._log.plans():
            self._log.sync(plan)
        answers = self._log.of_kind(kinds.ANSWERED) if self._limited else ()
        agreed = paid_costs(answers).agreed.get(_REPOSITORY, "")
        for plan in sorted(self._log.heads()):
            events, state = self._log.events(plan), self._log.state(plan)
            if not events or state is None or events[-1].at >= self._before:
                continue
            stays = "it is the active plan" if plan == active else in_force(state, events)
            if not stays and self._limited:
                stays = _counts(events, agreed)
            yield OldLog(plan, len(events), events[-1].at, stays), events

    def drop(self) -> list[DroppedLog]:
        """Drop the logs of plans that are over, and say which.

        Raises:
            NotAPerson: Whoever asks is none; nothing was dropped.
            EventLogError: A log, or the list of those that were dropped, is damaged.
        """
        who = self._log.principal
        require_human(who, "drop logs", self._state)
        dropped = []
        with self._log.alone():
            listed, fault = read_dropped(self._state)
            if fault is not None:
                told = f".hornbook/{DROPPED}, line {fault.line}: {fault.message}"
                raise EventLogError(f"{told}: restore the file from git.")
            for found, events in list(self._old()):
                known = {each.head: each for each in listed}
                entry = known.get(events[-1].hash) or dropped_after(
                    listed[-1] if listed else None, events, at=self._at, principal=who.id
                )
                if not found.stays and self._drop(found.plan, entry, noted=entry in listed):
                    listed += [] if entry in listed else [entry]
                    dropped.append(entry)
        return dropped

    def _drop(self, plan: str, entry: DroppedLog, *, noted: bool) -> bool:
        """Drop one log; not if an event came to it meanwhile."""

        def note() -> None:
            if not noted:
                note_dropped(self._state, entry)

        gone = self._log.drop(plan, entry.head, note)
        if gone and self._log.folder(plan).exists():
            rmtree(self._log.folder(plan))
        return gone


def _counts(events: list[Event], agreed: str) -> str:
    """Why a log matters to the limit of costs, in words; `agreed` is when a person last agreed."""
    own = paid_costs(events)
    if agreed and own.agreed.get(_REPOSITORY) == agreed:
        return "in it a person last agreed to more than `engine.cost.repository`"
    if any(each.at > agreed for each in own.payments):
        return "what its agents cost counts for `engine.cost.repository`"
    return ""
