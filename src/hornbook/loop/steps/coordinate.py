"""The run of a whole plan: starts each task when all that it depends on is done."""

from collections.abc import Sequence

from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.loop.runs.lookup import outcome_of
from hornbook.loop.runs.state import RunState
from hornbook.loop.steps.services import LoopServices, seconds_until
from hornbook.loop.steps.start import EXECUTE, begin_task
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.run_kinds import TRIGGER
from hornbook.plans.tasks import Ledger

SOONEST, LATEST = 0.2, 15.0


def coordinate(services: LoopServices, run: RunState) -> StepOutcome:
    """Start what is ready; wait while others work; end when nothing is left to do."""
    ledger = services.ledger(run.plan)
    wanted = _tasks_of(run, ledger)
    ready = ledger.ready(wanted, run.begun.seq)
    if ready:
        return _started(services, run, ready[0], ledger.next_run(ready[0]))
    unfinished = [number for number in wanted if not ledger.done(number)]
    if not unfinished:
        return _all_approved(services, run, wanted)
    live = [each for each in services.runs(run.plan) if each.ended is None and each.machine]
    if not live:
        message = f"not done: {', '.join(map(str, unfinished))}; nobody works on it any more."
        return _ended(services, run, "stopped", message)
    message = f"{len(unfinished)} of {len(wanted)} tasks are open"
    return _all_asking(run, live) or StepOutcome(
        StepKind.WAITING, run.id, seconds_to_wait(services, run), "waiting", message
    )


def _all_asking(run: RunState, live: Sequence[RunState]) -> StepOutcome | None:
    """That a person has to answer, if there is nobody who works meanwhile."""
    asking = [each.id for each in live if each.is_asking]
    if len(asking) < len(live):
        return None
    message = f"a person has to answer {', '.join(asking)}"
    return StepOutcome(StepKind.ASKING, run.id, status="asking", message=message)


def _all_approved(services: LoopServices, run: RunState, wanted: Sequence[int]) -> StepOutcome:
    for number in wanted:  # also where a run ended by an answer
        services.worktrees.release(run.plan, f"task.{run.plan}.{number}")
    message = f"{len(wanted)} of {len(wanted)} tasks are approved."
    return _ended(services, run, "approved", message)


def follow(services: LoopServices, run: RunState) -> None:
    """Start what became ready by the end of a run, for the runs of whole plans above it.

    They may have stopped to look while a person was asked.
    """
    above = run.parent
    while above is not None:
        parent = services.run(above)
        above = parent.parent
        if parent.machine is not None or parent.ended is not None or parent.plan != run.plan:
            continue
        ledger = services.ledger(run.plan)
        for number in ledger.ready(_tasks_of(parent, ledger), parent.begun.seq):
            _begin_child(services, parent, run, number, ledger.next_run(number))


def _tasks_of(run: RunState, ledger: Ledger) -> list[int]:
    """The tasks that the run is about, and all that they were split into."""
    only = kinds.started(run.begun).get("only") or [task.number for task in ledger.tasks]
    found: dict[int, None] = {}
    waiting = list(only)
    while waiting:
        number = waiting.pop(0)
        if number not in found:
            found[number] = None
            waiting += [*ledger.children.get(number, ())]
    subtasks = {child for children in ledger.continued.values() for child in children}
    return sorted(set(found) - subtasks)


def _started(services: LoopServices, run: RunState, number: int, child: str) -> StepOutcome:
    _begin_child(services, run, run, number, child)
    message = f"task {number} is begun as {child}"
    return StepOutcome(StepKind.CONTINUED, run.id, status="running", message=message)


def _begin_child(
    services: LoopServices, plan: RunState, run: RunState, number: int, child: str
) -> None:
    """Begin a task for the run of a plan; `run` is the one who noticed that it is ready.

    The run of the plan and the end of a task may notice it at the same time. `child` is the run
    that comes next by the very ledger that called the task ready, so that both mean the same one,
    and whoever comes second finds it begun.
    """
    if any(each.id == child for each in services.runs(run.plan)):
        return
    payload = {"plan_slug": run.plan, "tasks": [f"task.{run.plan}.{number}"]}
    data = {
        "run": run.id,
        "round": run.round,
        "number": number,
        "payload": payload,
        "runs": [child],
    }
    key = event_keys.child_started(run.id, child)
    # First that it is begun, then it: whoever is cut off in between does both again.
    services.log.append(run.plan, f"{TRIGGER}{EXECUTE}", data, key=key)
    begin_task(services, run.plan, number, child, agent=plan.agent, parent=plan.id)


def seconds_to_wait(services: LoopServices, run: RunState) -> float:
    """How long to wait for others of the plan: the longer nothing happened in it, the longer."""
    last = services.events(run.plan)[-1].at
    return min(LATEST, max(SOONEST, seconds_until(services.clock(), last) / 2))


def _ended(services: LoopServices, run: RunState, status: str, reason: str) -> StepOutcome:
    data = {"run": run.id, "status": status, "reason": reason}
    services.log.append(run.plan, kinds.ENDED, data, key=event_keys.run_ended(run.id))
    return outcome_of(services.run(run.id))
