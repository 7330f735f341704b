"""The context of one step: exactly two messages, and never more tokens than its budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from hornbook.agents.assignment import RuleViolation
from hornbook.agents.embedded.actions import ACTIONS, described
from hornbook.agents.embedded.fitting import (
    RECENT,
    Count,
    FittedError,
    FittedList,
    FittedText,
    fit,
    fit_actions,
    one_line,
    short_error,
    to_yaml,
)
from hornbook.agents.embedded.progress import Verification, changed_paths, obstacles, verified
from hornbook.agents.embedded.scoped_worktree import last_error, numbered
from hornbook.agents.embedded.step import (
    SCHEMA_TOKENS,
    TOKEN_BUDGET,
    Phase,
    Schema,
    StepRecord,
    StepTask,
)
from hornbook.gates.test_files import is_test
from hornbook.resources import PACKAGE

MOST_FILES: Final = 8


@dataclass(frozen=True, slots=True)
class View:
    """All that a step's context is made from.

    `files` are the texts of the task's files, None for one that is to be created; `loaded` what
    was asked for, by its key; `example` the text of the test that shows the project's style.
    From the records follow `verification`, and in `missing` why the task is not complete.
    """

    task: StepTask
    records: tuple[StepRecord, ...] = ()
    files: Mapping[str, str | None] = field(default_factory=dict)
    loaded: tuple[tuple[str, str], ...] = ()
    example: str | None = None

    verification: Verification = field(init=False)
    missing: list[str] = field(init=False)

    def __post_init__(self) -> None:
        now = verified(self.records)
        object.__setattr__(self, "verification", now)
        needed = obstacles(self.task, now, changed_paths(self.records))
        object.__setattr__(self, "missing", needed)


def current_state(view: View, shown: Sequence[StepRecord]) -> dict[str, object]:
    """The tree of the current state; an error that `shown` does not hold is told here."""
    tree = _SHAPES[view.task.phase.schema](view)
    failed = last_error(view.records)
    if failed is not None and failed not in shown:
        tree["last_error"] = {
            "step": failed.step,
            "action": failed.action,
            "error": FittedError(failed.error or ""),
        }
    if view.task.feedback:
        tree["feedback"] = FittedText(view.task.feedback)
    tree["verification"] = _verification(view)
    if view.loaded:
        tree["loaded_context"] = [
            {"key": key, "content": FittedText(content)} for key, content in view.loaded
        ]
    return tree


def _fix_violation(view: View) -> dict[str, object]:
    violation = _violation(view)
    path = violation.file_path or next(iter(view.files), "")
    return {
        "violation": {
            "id": violation.id,
            "check_id": violation.check_id,
            "severity": violation.severity,
            "file_path": path,
            "message": FittedError(violation.message),
            "fix_hint": violation.fix_hint or None,
        },
        "check_definition": {
            "pattern": violation.pattern or None,
            "requirement": violation.requirement or None,
        },
        "file_content": {
            "path": path,
            "content": _around(view, path, violation.line),
        },
        **_other_files(view, path),
    }


def _violation(view: View) -> RuleViolation:
    """What is to be mended: of a gate, what it says now, as long as one fails."""
    given = view.task.violation
    if given is None:
        return _from_gates(view)
    if not given.id.startswith("gate.") or not view.verification.failing:
        return given
    now = _from_gates(view)
    return replace(now, pattern=given.pattern) if now.check_id == given.check_id else now


def _around(view: View, path: str, line: int | None) -> FittedText | None:
    """The text of a file around the line of a violation, None if the file is not there."""
    text = view.files.get(path)
    if text is None:
        return None
    line = line or _line_in(view, path)
    return FittedText(numbered(text), line and line - 1)


def _from_gates(view: View) -> RuleViolation:
    """The violation that the first failing gate tells of, where no other is given."""
    gate = next(iter(view.verification.failing), None)
    if gate is None:
        return RuleViolation("", "", "", "", view.task.goal)
    place = next((issue for issue in view.verification.issues if issue.path in view.files), None)
    message = place.text if place else (gate.message or gate.output)
    return RuleViolation(
        f"gate.{gate.name}",
        gate.name,
        "error",
        place.path if place else "",
        message,
        line=place.line if place else None,
        requirement=f"the gate {gate.name} passes",
    )


def _implement_feature(view: View) -> dict[str, object]:
    return {
        "spec": {**_spec(view.task), "constraints": FittedList(view.task.constraints)},
        "target_files": FittedList([_target(view, path) for path in _paths(view)]),
        "test_requirements": FittedList(view.task.test_requirements),
    }


def _write_tests(view: View) -> dict[str, object]:
    target = next(filter(is_test, _paths(view)), None)
    text = view.files.get(target) if target else None
    return {
        "spec": {"requirements": _spec(view.task)["requirements"]},
        "test_patterns": {"example_test": view.example and FittedText(view.example)},
        "target_test_file": {
            "path": target,
            "existing_content": None if text is None else FittedText(numbered(text)),
        },
        **_other_files(view, target),
    }


def _spec(task: StepTask) -> dict[str, object]:
    requirements = [
        {
            "id": each.id,
            "description": FittedText(each.description),
            "acceptance_criteria": FittedList(each.acceptance_criteria),
        }
        for each in task.requirements
    ]
    return {"title": task.title or task.goal, "requirements": FittedList(requirements)}


def _paths(view: View) -> list[str]:
    """The task's files, and those that the steps changed besides."""
    return list(dict.fromkeys((*view.files, *changed_paths(view.records))))


def _target(view: View, path: str) -> dict[str, object]:
    text = view.files.get(path)
    if text is None:
        return {"path": path, "status": "to_create"}
    line = _line_in(view, path)
    return {
        "path": path,
        "status": "to_modify",
        "relevant_section": FittedText(numbered(text), line and line - 1),
    }


def _other_files(view: View, shown: str | None) -> dict[str, object]:
    others = [_target(view, path) for path in _paths(view) if path != shown]
    return {"target_files": FittedList(others[:MOST_FILES])} if others else {}


def _line_in(view: View, path: str) -> int | None:
    return next(
        (issue.line for issue in view.verification.issues if issue.path == path and issue.line),
        None,
    )


def _verification(view: View) -> dict[str, object]:
    now = view.verification
    issues = [{"line": issue.line, "file": issue.path, "issue": issue.text} for issue in now.issues]
    tree: dict[str, object] = {
        "last_check_result": f"{now.passing} of {len(now.gates)} passing",
        "remaining_issues": FittedList(issues),
        "still_needed": FittedList(view.missing),
    }
    if now.known_red:
        known = [f"{gate.name}: {gate.message}" for gate in now.known_red]
        tree["known_red"] = FittedList(known)
    output = "\n".join(f"== {gate.name} ==\n{gate.output or gate.message}" for gate in now.failing)
    if output:
        tree["output"] = FittedText(output, output.count("\n"))
    return tree


_SHAPES: Final = {
    Schema.FIX_VIOLATION: _fix_violation,
    Schema.IMPLEMENT_FEATURE: _implement_feature,
    Schema.WRITE_TESTS: _write_tests,
}


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
    template = PACKAGE / "agents/embedded/prompts" / f"{phase}.md"
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
