"""The run of a whole plan: starts each task when all that it depends on is done."""

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
    wanted = _wanted(run, ledger)
    ready = ledger.ready(wanted, run.begun.seq)
    if ready:
        return _started(services, run, ready[0])
    open_ones = [number for number in wanted if not ledger.done(number)]
    if not open_ones:
        for number in wanted:  # also where a run ended by an answer
            services.worktrees.release(run.plan, f"task.{run.plan}.{number}")
        said = f"{len(wanted)} of {len(wanted)} tasks are approved."
        return _ended(services, run, "approved", said)
    live = [each for each in services.runs(run.plan) if each.ended is None and each.machine]
    if not live:
        said = f"not done: {', '.join(map(str, open_ones))}; nobody works on it any more."
        return _ended(services, run, "stopped", said)
    asking = [each.id for each in live if each.is_asking]
    if len(asking) == len(live):
        said = f"a person has to answer {', '.join(asking)}"
        return StepOutcome(StepKind.ASKING, run.id, status="asking", message=said)
    said = f"{len(open_ones)} of {len(wanted)} tasks are open"
    seconds = _patience(services, run)
    return StepOutcome(StepKind.WAITING, run.id, seconds, "waiting", said)


def follow(services: LoopServices, run: RunState) -> None:
    """Start what became ready by the end of a run, for the runs of whole plans above it.

    They may have stopped to look while a person was asked.
    """
    above = run.begun.data.get("parent")
    while above is not None:
        parent = services.run(above)
        above = parent.begun.data.get("parent")
        if parent.machine is not None or parent.ended is not None or parent.plan != run.plan:
            continue
        ledger = services.ledger(run.plan)
        for number in ledger.ready(_wanted(parent, ledger), parent.begun.seq):
            _begin(services, parent, run, number)


def _wanted(run: RunState, ledger: Ledger) -> list[int]:
    """The tasks that the run is about, and all that they were split into."""
    only = run.begun.data.get("only") or [task.number for task in ledger.tasks]
    found: dict[int, None] = {}
    waiting = list(only)
    while waiting:
        number = waiting.pop(0)
        if number not in found:
            found[number] = None
            waiting += [*ledger.children.get(number, ())]
    subtasks = {child for children in ledger.continued.values() for child in children}
    return sorted(set(found) - subtasks)


def _started(services: LoopServices, run: RunState, number: int) -> StepOutcome:
    child = _begin(services, run, run, number)
    said = f"task {number} is begun as {child}"
    return StepOutcome(StepKind.CONTINUED, run.id, status="running", message=said)


def _begin(services: LoopServices, plan: RunState, run: RunState, number: int) -> str:
    """Begin a task for the run of a plan; `run` is the one who noticed that it is ready."""
    child = services.ledger(run.plan).next_run(number)
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
    services.log.append(run.plan, f"{TRIGGER}{EXECUTE}", data, key=key, actor="loop")
    begin_task(services, run.plan, number, child, agent=plan.agent, parent=plan.id)
    return child


def _patience(services: LoopServices, run: RunState) -> float:
    """How long to wait: the longer nothing happened, the longer."""
    last = services.events(run.plan)[-1].at
    return min(LATEST, max(SOONEST, seconds_until(services.clock(), last) / 2))


def _ended(services: LoopServices, run: RunState, status: str, reason: str) -> StepOutcome:
    data = {"run": run.id, "status": status, "reason": reason}
    services.log.append(run.plan, kinds.ENDED, data, key=event_keys.run_ended(run.id), actor="loop")
    return outcome_of(services.run(run.id))
