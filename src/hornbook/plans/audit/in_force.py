"""Whether a plan is over: what its events vouch for that still holds."""

from collections.abc import Sequence

from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.state import PlanState, PlanStatus
from hornbook.plans.tasks import Ledger, ledger_after


def in_force(state: PlanState, events: Sequence[Event]) -> str:
    """Why a plan is not over, in words; empty if it is."""
    if found := _open_run(events):
        return found
    if state.current_decisions:
        return f"its decision {state.current_decisions[0].id} stands"
    if state.invariants:
        return f"its invariant {state.invariants[0].id} holds"
    return _undone(state, events)


def unfinished(state: PlanState, events: Sequence[Event]) -> str:
    """Why the work of a plan is not done, in words; empty if it is, whatever else still holds."""
    return _open_run(events) or _undone(state, events)


def _open_run(events: Sequence[Event]) -> str:
    ended = {event.data["run"] for event in events if event.kind == kinds.ENDED}
    open_runs = [
        event.data["run"]
        for event in events
        if event.kind == kinds.STARTED and event.data["run"] not in ended
    ]
    return f"its run {open_runs[0]} has not ended" if open_runs else ""


def _undone(state: PlanState, events: Sequence[Event]) -> str:
    if state.status is PlanStatus.COMMITTED:
        ledger = ledger_after(Ledger(state.plan.slug), state.tasks, events)
        undone = [task.number for task in state.tasks if not ledger.done(task.number)]
        if undone or not state.tasks:
            return f"its task {undone[0]} is not done" if undone else "it is not carried out"
    return "it was never committed" if state.status is PlanStatus.EXPLORING else ""
