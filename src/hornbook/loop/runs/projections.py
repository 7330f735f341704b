"""What a plan's events add up to for the loop, brought up to date event by event.

The log only grows, and what an event changes follows from it and from what was before it. So a
projection is kept with the last event that went in, and only what came behind that is folded in.
A log that is another one by now, which a hash shows, is projected from its beginning.
"""

import threading
from collections.abc import Mapping, Sequence

from hornbook.errors import EventLogError
from hornbook.loop.runs.state import RunState, advance_run, by_run, project_run
from hornbook.loop.workflow.definition import Workflow
from hornbook.plans.events import Event
from hornbook.plans.log import LogMemory
from hornbook.plans.state import PlanState
from hornbook.plans.tasks import Ledger, ledger_after


class Projections:
    """The plans, ledgers and runs of one loop, which several threads may ask for.

    `log` is handed to every event log that the loop opens: what one verified, no other does again.
    """

    def __init__(self) -> None:
        self.log = LogMemory()
        self._workflows: Mapping[str, Workflow] = {}
        self._ledgers: dict[str, tuple[Event, Ledger]] = {}
        self._runs: dict[str, RunState] = {}
        self._lock = threading.RLock()

    def use(self, workflows: Mapping[str, Workflow]) -> None:
        """Project runs by these workflows; by others none stands where it stood."""
        with self._lock:
            if workflows != self._workflows:
                self._workflows = workflows
                self._runs.clear()

    def plan(self, plan: str, events: Sequence[Event]) -> PlanState | None:
        """A plan as its events leave it."""
        with self._lock:
            return self.log.state(plan, events)

    def ledger(self, plan: str, events: Sequence[Event]) -> Ledger:
        """How far a plan's tasks are."""
        with self._lock:
            state = self.plan(plan, events)
            last, ledger = self._ledgers.get(plan, (None, Ledger(plan)))
            if last is not None and not _has(events, last):
                last, ledger = None, Ledger(plan)
            fresh = events[last.seq :] if last is not None else events
            ledger = ledger_after(ledger, state.tasks if state is not None else (), fresh)
            if events:
                self._ledgers[plan] = (events[-1], ledger)
            return ledger

    def run(self, events: Sequence[Event], run_id: str) -> RunState | None:
        """A run as its plan's events leave it; None if it was never begun.

        Raises:
            EventLogError: Its workflow is not there any more, or is another one by now.
        """
        with self._lock:
            known = self._runs.get(run_id)
            if known is None or not _has(events, known.events[-1]):
                found = project_run(events, run_id, self._workflows)
            else:
                found = self._advanced(known, events)
            if found is not None:
                self._runs[run_id] = found
            return found

    def runs(self, events: Sequence[Event]) -> list[RunState]:
        """All runs in a plan's log, oldest first.

        Raises:
            EventLogError: As `run` does.
        """
        found = (self.run(events, run_id) for run_id in by_run(events))
        return [state for state in found if state is not None]

    def _advanced(self, known: RunState, events: Sequence[Event]) -> RunState | None:
        behind = events[known.events[-1].seq :]
        fresh = [event for event in behind if event.data.get("run") == known.id]
        if not fresh:
            return known
        try:
            return advance_run(known, fresh, self._workflows)
        except EventLogError:  # its end may tell it without its workflow
            return project_run(events, known.id, self._workflows)


def _has(events: Sequence[Event], event: Event) -> bool:
    return len(events) >= event.seq and events[event.seq - 1].hash == event.hash
