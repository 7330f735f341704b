"""The event log as readers keep it open, and what can be followed in it."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event, EventKind
from hornbook.plans.log import EventLog
from hornbook.plans.run_costs import NOT_TOLD, CostSum, paid_costs
from hornbook.plans.workspace_log import open_log
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings


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
        return self.run is not None and event.kind == kinds.ENDED and self.concerns(event)

    def is_over(self, seq: int) -> bool:
        """Whether nothing follows a number in the plan's log."""
        return self.ended is not None and seq >= self.ended


class LazyEventLog:
    """Opens the log of a workspace when it is first needed; it may be asked from several threads.

    Reading never makes a database: where there was never a plan, there is no log.
    """

    def __init__(
        self,
        places: Places,
        settings: Settings,
        known: Mapping[str, EventKind],
        clock: Callable[[], str],
    ) -> None:
        self._places = places
        self._settings = settings
        self._database = settings.engine.database
        self._kinds = known
        self._clock = clock
        self._lock = threading.Lock()
        self._log: EventLog | None = None
        self._file = 0

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            if self._log is not None:
                self._log.close()
            self._log = None

    def synced(self) -> EventLog | None:
        """The log, with what the exports of plans know more than its table."""
        log = self.opened()
        if log is not None:
            for plan in log.plans():
                log.sync(plan)
        return log

    def opened(self) -> EventLog | None:
        """The log, opened anew if its file was replaced; None where there was never a plan."""
        state = self._places.state
        with self._lock:
            if not self._database and not _has_plans(state):
                return None
            file = _inode(state / "events.db") if not self._database else 0
            if self._log is not None and file != self._file:
                self._log.close()
                self._log = None
            if self._log is None:
                self._places.prepare()
                self._log = open_log(self._places, self._settings, self._clock, kinds=self._kinds)
                self._file = _inode(state / "events.db") if not self._database else 0
            return self._log


def _has_plans(state: Path) -> bool:
    return (state / "events.db").exists() or (state / "plans").is_dir()


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


@dataclass(frozen=True, slots=True)
class Progress:
    """What a run is at: the task, the step, the attempt, what was used, the gates.

    `cost` is empty where no agent told one and no price is known; `since` is when it
    began, `until` when something happened last.
    """

    task: str = ""
    step: str = ""
    attempt: int = 0
    tokens: int = 0
    gates: str = ""
    cost: CostSum = NOT_TOLD
    last_action: str = ""
    since: str = ""
    until: str = ""


def progress_of(events: Iterable[Event], run: str) -> Progress:
    """What a run is at, as far as its events tell."""
    task, step, attempt, tokens, gates = "", "", 0, 0, ""
    mine = [event for event in events if event.data.get("run") == run]
    for event in mine:
        data = event.data
        task = task or str(data.get("task") or "")
        step = str(data.get("step") or step)
        attempt = max(attempt, _number(data.get("attempt")))
        tokens += _tokens(data.get("usage"))
        listed = data.get("gates")
        # a green base is no news in a view that shows the newest gates of the work
        told = event.kind != kinds.BASE_GATED or not data["passed"]
        if isinstance(listed, list) and listed and told:
            gates = _gates(listed)
    if mine and mine[-1].kind == kinds.BASE_STARTED:
        step = kinds.BASE_STEP
    cost = paid_costs(mine).spent()
    since, until = (mine[0].at, mine[-1].at) if mine else ("", "")
    action = last_action(mine)
    return Progress(task, step, attempt, tokens, gates, cost, action, since, until)


def last_action(events: Sequence[Event]) -> str:
    """The newest thing that a run's events tell of, in a few words."""
    for event in reversed(events):
        told = event.data.get("told")
        if isinstance(told, Mapping):
            said = told.get("action") or told.get("kind") or told.get("note")
            who = told.get("agent")
            if said:
                return f"{who}: {said}" if who else str(said)
        step = event.data.get("step")
        if step:
            return f"{step}: {event.kind.rpartition('.')[2]}"
    return events[-1].kind if events else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _tokens(usage: object) -> int:
    if not isinstance(usage, dict):
        return 0
    return _number(usage.get("input_tokens")) + _number(usage.get("output_tokens"))


def _gates(listed: list[object]) -> str:
    """Gates in a few words: those that failed by name, else how many ended how."""
    facts = [each for each in listed if isinstance(each, dict)]
    failed = [str(each.get("name")) for each in facts if each.get("status") in _FAILED]
    if failed:
        return f"{', '.join(failed)} failed"
    return _counted(Counter(str(each.get("status")) for each in facts))


def _counted(statuses: Counter[str]) -> str:
    named = ("passed", "warned", "skipped")
    return ", ".join(f"{statuses[name]} {name}" for name in named if statuses[name])


_FAILED = frozenset({"failed", "refused"})
