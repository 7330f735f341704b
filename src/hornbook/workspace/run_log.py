"""The runs of a workspace as their events tell them, and those events as they come."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from hornbook.errors import NotFound
from hornbook.execute.event_log import EventLog
from hornbook.execute.events import Event
from hornbook.workspace.memory import now
from hornbook.workspace.places import Places
from hornbook.workspace.settings import Settings

STARTED = "run.started"
ENDED = "run.ended"
RUNNING = "running"
_PLAN, _RUN = "plan.", "run."


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in a line; `status` is how it ended, with the reason in `message`, or that it runs."""

    id: str
    plan: str
    task: str | None
    workflow: str
    status: str
    message: str
    started_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Followed:
    """What is followed: a run, with the number of its end; or without one, all of a plan."""

    plan: str
    run: str | None = None
    ended: int | None = None

    def concerns(self, event: Event) -> bool:
        """Whether an event of the plan belongs to it."""
        return self.run is None or event.data.get("run") == self.run

    def is_ended_by(self, event: Event) -> bool:
        """Whether nothing follows an event; a plan never ends."""
        return self.run is not None and event.kind == ENDED and self.concerns(event)

    def is_over(self, seq: int) -> bool:
        """Whether nothing follows a number in the plan's log."""
        return self.ended is not None and seq >= self.ended


class RunLog:
    """Reads the runs of one workspace; it may be asked from several threads."""

    def __init__(self, places: Places, settings: Settings) -> None:
        self._places = places
        self._database = settings.engine.database
        self._lock = threading.Lock()
        self._log: EventLog | None = None
        self._file = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            if self._log is not None:
                self._log.close()
            self._log = None

    def runs(self, plan: str | None = None) -> list[RunLine]:
        """The runs, the newest first; those of one plan if it is named, by slug or id."""
        log = self._level()
        if log is None:
            return []
        wanted = plan.removeprefix(_PLAN) if plan is not None else None
        plans = sorted({event.plan for event in log.of_kind(STARTED)})
        lines = [
            line for each in plans if wanted in {None, each} for line in _lines(log.events(each))
        ]
        return sorted(lines, key=lambda line: (line.started_at, line.id), reverse=True)

    def events(self) -> list[Event]:
        """Every event of every plan that has runs, each plan's in order.

        Raises:
            EventLogError: The chain of a plan's events is broken.
        """
        log = self._level()
        if log is None:
            return []
        plans = sorted({event.plan for event in log.of_kind(STARTED)})
        return [event for plan in plans for event in log.events(plan)]

    def run(self, run_id: str) -> RunLine:
        """One run.

        Raises:
            NotFound: There is none with this id.
        """
        wanted = run_id.removeprefix(_RUN)
        found = next((each for each in self.runs() if each.id == wanted), None)
        if found is None:
            raise NotFound(f"there is no run {run_id!r}: `hornbook runs` lists them.")
        return found

    def follow(self, name: str) -> Followed:
        """What an id names: a run, or a plan as `plan.<slug>`.

        Raises:
            NotFound: It names neither.
        """
        log = self._level()
        if log is not None and name.startswith(_PLAN):
            slug = name.removeprefix(_PLAN)
            if slug in log.plans():
                return Followed(slug)
        run = self.run(name)
        ends = log.of_kind(ENDED) if log is not None else []
        ended = next((each.seq for each in ends if each.data["run"] == run.id), None)
        return Followed(run.plan, run.id, ended)

    def later(self, followed: Followed, seq: int) -> list[Event]:
        """The events of what is followed behind a number in its plan's log."""
        log = self._opened()
        events = log.later(followed.plan, seq) if log is not None else []
        return [event for event in events if followed.concerns(event)]

    def _level(self) -> EventLog | None:
        """The log, with what the exports of plans know more than its table."""
        log = self._opened()
        if log is not None:
            for plan in log.plans():
                log.sync(plan)
        return log

    def _opened(self) -> EventLog | None:
        """The log; None where there was never a plan. A database that was replaced is reopened."""
        state = self._places.state
        local = not self._database
        with self._lock:
            if local and not (state / "events.db").exists() and not (state / "plans").is_dir():
                return None
            if self._log is not None and local and self._file != _inode(state / "events.db"):
                self._log.close()
                self._log = None
            if self._log is None:
                self._places.prepare()
                self._log = EventLog(state, now, database=self._database)
                self._file = _inode(state / "events.db") if local else 0
            return self._log


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _lines(events: Iterable[Event]) -> list[RunLine]:
    """The runs in a plan's log, in the order in which they were begun."""
    runs: dict[str, list[Event]] = {}
    for event in events:
        run = event.data.get("run")
        if event.kind == STARTED:
            runs.setdefault(str(run), [])
        if run in runs:
            runs[run].append(event)
    return [_line(run, each) for run, each in runs.items()]


def _line(run: str, events: Sequence[Event]) -> RunLine:
    begun = events[0]
    ended = next((event for event in events if event.kind == ENDED), None)
    return RunLine(
        id=run,
        plan=begun.plan,
        task=begun.data.get("task"),
        workflow=str(begun.data.get("workflow", "")),
        status=RUNNING if ended is None else str(ended.data["status"]),
        message="" if ended is None else str(ended.data["reason"]),
        started_at=begun.at,
        updated_at=events[-1].at,
    )
