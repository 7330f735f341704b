"""A record for each run: what its events add up to, for people and for the graph."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.files import write_if_changed
from hornbook.plans.run_costs import NOT_TOLD, PAID, CostReader, CostSum
from hornbook.plans.run_kinds import DEVELOP

FOLDER = Path("records") / "runs"


def write_run_records(state: Path, events: Iterable[Event], *, after: int = 0) -> None:
    """Bring the records of the runs in some events up to date; `state` is `.hornbook`.

    With `after` only those that have an event behind that number are others by now.
    """
    runs: dict[str, list[Event]] = {}
    for event in events:
        run = event.data.get("run")
        if event.kind == kinds.STARTED:
            runs.setdefault(str(run), [])
        if run in runs:
            runs[str(run)].append(event)
    for run, mine in runs.items():
        if mine[-1].seq <= after:
            continue
        text = json.dumps(run_facts(run, mine), ensure_ascii=False, indent=2) + "\n"
        write_if_changed(state / FOLDER / f"{run}.json", text)


def run_facts(run: str, events: Sequence[Event]) -> dict[str, object]:
    """A run in plain values: nothing but its own events goes in."""
    first, started = events[0], kinds.started(events[0])
    ended = next((event for event in events if event.kind == kinds.ENDED), None)
    asked = None if ended is not None else open_question(events)
    cost = spent(events)
    parent = started.get("parent")
    return {
        "id": f"run.{run}",
        "plan": f"plan.{first.plan}",
        "task": started.get("task"),
        "workflow": started["workflow"] or "plan",
        "parent": None if parent is None else f"run.{parent}",
        "agent": started.get("agent"),
        "status": _status(ended, asked),
        "reason": "" if ended is None else kinds.ended(ended)["reason"],
        "attempts": sum(event.kind == DEVELOP for event in events),
        "started_at": first.at,
        "ended_at": None if ended is None else ended.at,
        "commit": _commit(events),
        "asks": None if asked is None else _question_facts(asked),
        "answers": [_answer_facts(event) for event in events if event.kind == kinds.ANSWERED],
        "spent": {"tokens": cost.tokens, **cost.cost.facts()},
    }


def _question_facts(asked: Event) -> dict[str, str]:
    record = kinds.signal(asked)["record"]
    return {"escalation": record, "question": question_text(asked), "at": asked.at}


def _answer_facts(event: Event) -> dict[str, str]:
    return {"by": event.actor, "at": event.at, "text": kinds.answer(event)["text"]}


def open_question(events: Iterable[Event]) -> Event | None:
    """The newest word to a person that nobody answered yet."""
    asked: Event | None = None
    for event in events:
        if event.kind in kinds.SIGNALS:
            asked = event
        elif event.kind == kinds.ANSWERED or _is_answer(event):
            asked = None
    return asked


def _is_answer(event: Event) -> bool:
    """Whether a question came to a result without words, as when a successor is promoted."""
    asks = (kinds.QUESTION, kinds.PROMOTE)
    return event.kind == kinds.STEP_FINISHED and kinds.step_result(event)["subject"] in asks


def question_text(event: Event) -> str:
    """What a person is asked."""
    payload = kinds.signal(event)["payload"]
    if event.kind == kinds.PROMOTE:
        return (
            f"Is {payload['successor']} the right successor of {payload['plan_slug']}? Answer yes, "
            "or what is wrong with it."
        )
    words = payload.get("question") or payload.get("reason") or payload.get("error") or ""
    return str(words)


def _status(ended: Event | None, asked: Event | None) -> str:
    if ended is not None:
        return kinds.ended(ended)["status"]
    return "running" if asked is None else "asking"


def _commit(events: Sequence[Event]) -> str | None:
    """The commit of approved work, else of the newest attempt."""
    for kind in (kinds.APPROVED, DEVELOP):
        found = [event.data["commit"] for event in events if event.kind == kind]
        if found:
            return str(found[-1])
    return None


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run took so far; `cost` as far as agents told."""

    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cost: CostSum = NOT_TOLD

    def facts(self) -> dict[str, object]:
        """It in plain values."""
        took = {"steps": self.steps, "tokens": self.tokens, "seconds": round(self.seconds, 3)}
        return {**took, **self.cost.facts()}


def spent(events: Iterable[Event]) -> Spent:
    """What some events of a run cost; waiting for a person costs nothing.

    A step counts once it is finished, however often it was begun: a kill changes no count.
    """
    total, costs = Spent(), CostReader()
    for event in events:
        costs.take(event)
        if event.kind == kinds.STEP_FINISHED:
            result = kinds.step_result(event)
            took = 0.0 if result["subject"] in kinds.SIGNALS else result["seconds"]
            total = replace(total, steps=total.steps + 1, seconds=total.seconds + took)
        elif event.kind in PAID:
            usage = event.data["usage"]
            tokens = total.tokens + usage["input_tokens"] + usage["output_tokens"]
            total = replace(total, tokens=tokens)
    return replace(total, cost=costs.paid.spent())
