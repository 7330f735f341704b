"""The context of one step: exactly two messages, and never more tokens than its budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from hornbook.agents.embedded.actions import ACTIONS, described
from hornbook.agents.embedded.fitting import (
    RECENT,
    Count,
    FittedList,
    fit,
    fit_actions,
    one_line,
    short_error,
    to_yaml,
)
from hornbook.agents.embedded.records import StepRecord
from hornbook.agents.embedded.schemas import View, current_state
from hornbook.agents.embedded.task import SCHEMA_TOKENS, TOKEN_BUDGET, Phase, StepTask

MOST_TOKENS: Final = sum(TOKEN_BUDGET.values())
ROW_SQUEEZES: Final = ((500, 160), (250, 160), (120, 80), (60, 40), (20, 20))
"""How many characters of an error and of other words a row of the last actions keeps, in turn."""


@dataclass(frozen=True, slots=True)
class StepContext:
    """The two messages of a step, and the tokens of each section."""

    system: str
    context: str
    tokens: int
    sections: dict[str, int]


def build(view: View, count: Count, most_tokens: int = MOST_TOKENS) -> StepContext:
    """The messages of the next step, whatever came before it.

    Only where `most_tokens` is less than what never changes can they have more than that.
    """
    task = view.task
    system = system_prompt(task.phase)
    rows, shown = _recent(view.records, count)
    parts: dict[str, object] = {
        "task_frame": fit(_frame(task), _room("task_frame", count), count),
        "recent_actions": rows,
        "verification_status": verification_status(view),
        "available_actions": described(task.phase),
    }
    most = min(SCHEMA_TOKENS[task.phase.schema], most_tokens)
    state = current_state(view, shown)
    others = count(system) + sum(count(_section(name, value)) for name, value in parts.items())
    room = min(TOKEN_BUDGET["current_state"], most - others)
    while True:
        parts["current_state"] = fit({"current_state": state}, room, count)
        built = _joined(system, parts, count)
        over = built.tokens - most
        if over <= 0 or room < over:
            return built
        room -= over + 8


@cache
def system_prompt(phase: Phase) -> str:
    """The system prompt of a phase, with the names of its actions."""
    template = files("hornbook.agents.embedded") / "prompts" / f"{phase}.md"
    return template.read_text(encoding="utf-8").replace("{actions}", ", ".join(ACTIONS))


def verification_status(view: View) -> dict[str, object]:
    """What the gates say in four values."""
    now = view.verification
    return {
        "checks_passing": now.passing,
        "checks_failing": len(now.failing),
        "tests_passing": now.tests_passing,
        "ready_for_completion": not view.missing,
    }


def _frame(task: StepTask) -> dict[str, object]:
    return {
        "id": task.id,
        "goal": task.goal,
        "success_criteria": FittedList(task.success_criteria),
        "phase": str(task.phase),
        "constraints": FittedList(task.limits),
    }


def _room(name: str, count: Count) -> int:
    return TOKEN_BUDGET[name] - count(f"{name}:\n") - 8


def _recent(
    records: Sequence[StepRecord], count: Count
) -> tuple[list[dict[str, object]], list[StepRecord]]:
    """The rows of the last actions, and the records whose errors they show."""
    taken = [record for record in records if record.step > 0][-RECENT:]
    room = _room("recent_actions", count)
    rows: list[dict[str, object]] = []
    kept: list[StepRecord] = []
    for errors, words in ROW_SQUEEZES:
        made = [(record, _row(record, errors, words)) for record in taken]
        chosen = fit_actions(made, lambda few: count(to_yaml([row for _, row in few])) <= room)
        kept, rows = [record for record, _ in chosen], [row for _, row in chosen]
        if count(to_yaml(rows)) <= room:
            break
    return rows, kept


def _row(record: StepRecord, errors: int, words: int) -> dict[str, object]:
    return {
        "step": record.step,
        "action": record.action,
        "target": one_line(record.target, words),
        "result": str(record.result),
        "summary": one_line(record.summary, words),
        "error": short_error(record.error, errors) if record.error else None,
    }


def _section(name: str, value: object) -> str:
    return to_yaml({name: value})


_ORDER: Final = (
    "task_frame",
    "current_state",
    "recent_actions",
    "verification_status",
    "available_actions",
)


def _joined(system: str, parts: dict[str, object], count: Count) -> StepContext:
    state = parts["current_state"]
    texts = {
        name: to_yaml(state) if name == "current_state" else _section(name, parts[name])
        for name in _ORDER
    }
    context = "\n".join(texts.values())
    sizes = {"system_prompt": count(system), **{name: count(text) for name, text in texts.items()}}
    return StepContext(system, context, count(system) + count(context), sizes)
