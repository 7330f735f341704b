"""Asks a person: an escalation is a record with all that they need, and an event that waits."""

import json

from hornbook.loop.runs.state import RunState, gate_feedback
from hornbook.loop.steps.answer import how_to_answer
from hornbook.loop.steps.services import LoopServices
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.files import write_if_changed
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
    what: str = "",
) -> Event:
    """Ask a person, with a record of all that they need; asked again, the same."""
    what = what or kind.rpartition(".")[2]
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
        "spent": spent(run.events).facts(),
        "commit": _commit(run),
        "answer": [
            f"hornbook answer {run.id} {each}" for each in how_to_answer(run, kind, payload)
        ],
    }
    path = services.places.records / "escalations" / f"{name}.json"
    write_if_changed(path, json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    services.exchange.put(run.plan, path)
    data = {
        "run": run.id,
        "round": run.round,
        "number": number,
        "payload": dict(payload),
        "record": f"escalation.{name}",
        "halts": halts,
    }
    event, _ = services.log.append(run.plan, kind, data, key=run.key(number, what))
    return event


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
    for event in run.of(DEVELOP, kinds.MERGED, kinds.GATED, kinds.CHECKED):
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
        elif found and event.kind == kinds.MERGED:
            merged = kinds.merged(event)
            found[-1]["merged"] = {
                "base": merged["base"],
                "commit": merged["commit"],
                "conflicts": merged["conflicts"],
                "review": merged["review"],
            }
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


def _commit(run: RunState) -> str | None:
    work = run.work()
    return None if work is None else work["commit"]
