"""Asks a person, and takes the answer.

An escalation is a record with all that they need, and an event that waits.
"""

import json
from collections.abc import Mapping

from hornbook.errors import UsageError
from hornbook.loop.protocol import StepOutcome
from hornbook.loop.runs.lookup import find_run, outcome_of, spawned_by
from hornbook.loop.runs.state import ESCALATION, STOP, RunState, gate_feedback
from hornbook.loop.steps.services import LoopServices
from hornbook.loop.workflow.definition import Workflow
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.files import write_if_changed
from hornbook.plans.log import EventLog
from hornbook.plans.run_kinds import DEVELOP
from hornbook.plans.run_records import spent


def signal(
    services: LoopServices,
    run: RunState,
    number: int,
    kind: str,
    payload: Data,
    *,
    halts: bool = False,
) -> Event:
    """Ask a person, with a record of all that they need; asked again, the same."""
    what = kind.rpartition(".")[2]
    known = run.fact(number, what)
    if known is not None:
        return known
    name = f"{run.id}-{run.round}-{number}"
    facts = {
        "id": f"escalation.{name}",
        "kind": kind,
        "at": services.clock(),
        "run": run.id,
        "plan": f"plan.{run.plan}",
        "task": _task(services, run),
        "asked": dict(payload),
        "attempts": _attempts(run),
        "open_findings": run.open_findings(),
        "newest_feedback": run.feedback(),
        "spent": _spent(run),
        "commit": _commit(run),
        "answer": f"hornbook answer {run.id} --text '…' ({_how(kind)})",
    }
    path = services.places.records / "escalations" / f"{name}.json"
    write_if_changed(path, json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    data = {
        "run": run.id,
        "round": run.round,
        "number": number,
        "payload": dict(payload),
        "record": f"escalation.{name}",
        "halts": halts,
    }
    event, _ = services.log.append(run.plan, kind, data, key=run.key(number, what), actor="loop")
    return event


def _how(kind: str) -> str:
    if kind == kinds.PROMOTE:
        return "yes promotes the successor, anything else declines it"
    if kind == kinds.QUESTION:
        return "with the sections of the plan that you write anew; stop ends the run"
    return "what the next attempt should know; stop ends the run"


def _task(services: LoopServices, run: RunState) -> dict[str, object] | None:
    if run.task is None:
        return None
    task = services.task_of(run)
    return {
        "id": run.task,
        "title": task.title,
        "description": task.description,
        "files": list(task.files),
        "criteria": list(task.criteria),
    }


def _attempts(run: RunState) -> list[dict[str, object]]:
    """What each attempt changed, and what gates and reviewers said to it."""
    found: list[dict[str, object]] = []
    for event in run.of(DEVELOP, kinds.GATED, kinds.CHECKED):
        if event.kind == DEVELOP:
            work = kinds.attempt(event)
            found.append(
                {
                    "attempt": work["attempt"],
                    "agent": work["agent"],
                    "files": work["files"],
                    "commit": work["commit"],
                    "error": work.get("error"),
                    "log": work.get("log"),
                }
            )
        elif found and event.kind == kinds.GATED:
            report = kinds.gates(event)
            found[-1]["gates"] = "passed" if report["passed"] else gate_feedback(report)
        elif found:
            checked = kinds.checked(event)
            found[-1]["review"] = {
                "outcome": checked["outcome"],
                "rejection_type": checked["rejection_type"],
                "feedback": checked.get("feedback"),
                "problems": checked["problems"],
                "record": checked["record"],
            }
    return found


def _spent(run: RunState) -> dict[str, object]:
    cost = spent(run.events)
    return {
        "steps": cost.steps,
        "tokens": cost.tokens,
        "seconds": round(cost.seconds, 3),
        "cost": cost.cost,
    }


def _commit(run: RunState) -> str | None:
    work = run.newest(DEVELOP)
    return None if work is None else kinds.attempt(work)["commit"]


def answer_run(
    log: EventLog, run: RunState, text: str, workflows: Mapping[str, Workflow]
) -> StepOutcome:
    """Note what a person says to a run that asks; `stop` ends it.

    Raises:
        UsageError: It asks nothing, or the text says nothing.
    """
    if not text.strip():
        raise UsageError("an answer says something: give it with --text.")
    if not run.is_asking or run.asked is None:
        raise UsageError(
            f"run {run.id} asks nothing, it is {run.status}: see `runs show {run.id}`."
        )
    asks = run.asked.kind in {kinds.QUESTION, kinds.PROMOTE}
    asked = run.asked.kind.rpartition(".")[2] if asks else ESCALATION
    stops = text.strip().lower() == STOP
    number = kinds.signal(run.asked)["number"]
    place = {"run": run.id, "round": run.round, "number": number}
    key = run.key(number, "answered" if asks else f"answered-{run.asked.seq}")
    if stops:
        data = {
            "run": run.id,
            "status": "stopped",
            "reason": "a person stopped it.",
            "spawned": list(spawned_by(run)),
        }
        log.append(run.plan, kinds.ENDED, data, key=event_keys.run_ended(run.id))
    else:
        log.append(run.plan, kinds.ANSWERED, {**place, "text": text, "asked": asked}, key=key)
    found = find_run(log, run.id, workflows)
    return outcome_of(found or run)
