"""When to stop: rules over the recorded actions, so that a restart changes no answer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hornbook.agents.embedded.checks import (
    Verification,
    failure_signature,
    is_test_gate,
    new_failures,
)
from hornbook.agents.embedded.records import StepRecord
from hornbook.agents.embedded.task import Schema, StepTask
from hornbook.gates.values import GateResult


@dataclass(frozen=True, slots=True)
class LoopRules:
    """How often is too often. Steps grow from `first_steps` by `growth` with each progress."""

    same_action: int = 3
    same_error: int = 3
    same_diff: int = 2
    same_failure: int = 2
    idle_steps: int = 10
    first_steps: int = 15
    growth: int = 10
    most_steps: int = 50


def stuck(records: Sequence[StepRecord], task: StepTask, rules: LoopRules) -> str | None:
    """Why a person is needed, or None while the steps may go on."""
    taken = [record for record in records if record.step > 0]
    progress = progress_steps(records, task)
    reasons = (
        _same_action(taken, rules),
        _same_error(taken, rules),
        _same_diff(taken, rules),
        _same_failure(taken, task, rules),
        _idle(records, progress, rules),
        _too_many(taken, progress, rules),
    )
    return next((reason for reason in reasons if reason), None)


def progress_steps(records: Sequence[StepRecord], task: StepTask) -> tuple[int, ...]:
    """The steps whose change left less to do than any step before them."""
    found: list[int] = []
    best: tuple[int, ...] | None = None
    baseline: tuple[GateResult, ...] = ()
    changed: list[str] = []
    for record in records:
        if record.change is not None:
            changed.append(record.change.path)
        elif record.step > 0:
            continue
        else:
            baseline = record.gates
        score = _score(Verification(record.gates, baseline), task, changed)
        if best is not None and score < best:
            found.append(record.step)
        best = score if best is None else min(best, score)
    return tuple(found)


def allowed_steps(progress: Sequence[int], rules: LoopRules) -> int:
    """How many steps the work may take after so much progress."""
    return min(rules.first_steps + rules.growth * len(progress), rules.most_steps)


def changed_paths(records: Sequence[StepRecord]) -> tuple[str, ...]:
    """The files that the steps changed, each once."""
    return tuple(dict.fromkeys(record.change.path for record in records if record.change))


def _score(now: Verification, task: StepTask, changed: Sequence[str]) -> tuple[int, ...]:
    """What is left to do; less is better."""
    if task.phase.schema is Schema.WRITE_TESTS:
        return (-len(new_failures(task, now, changed)),)
    return (len(now.failing), len(now.issues))


def _same_action(taken: Sequence[StepRecord], rules: LoopRules) -> str | None:
    """An action counts anew after a change: looking again is then no repetition."""
    seen: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
    for record in taken:
        key = (record.action, tuple(sorted(record.parameters)))
        if record.change is not None:
            seen = Counter({each: times for each, times in seen.items() if each[0] == "edit_file"})
        seen[key] += 1
        if seen[key] >= rules.same_action:
            asked = f"{record.action} {record.target}".strip()
            return f"{asked} was asked for {seen[key]} times with the same parameters"
    return None


def _same_error(taken: Sequence[StepRecord], rules: LoopRules) -> str | None:
    errors = Counter(record.error for record in taken if record.error)
    for error, times in errors.items():
        if times >= rules.same_error:
            return f"the same error came {times} times: {error}"
    return None


def _same_diff(taken: Sequence[StepRecord], rules: LoopRules) -> str | None:
    changes = Counter(record.change for record in taken if record.change)
    for change, times in changes.items():
        if times >= rules.same_diff:
            return f"the same change of {change.path} was made {times} times"
    return None


def _same_failure(taken: Sequence[StepRecord], task: StepTask, rules: LoopRules) -> str | None:
    """The same complaint of the gates after changes that follow each other.

    Where tests are to be written, gates that run tests are meant to fail.
    """
    red = task.phase.schema is Schema.WRITE_TESTS
    last, times = None, 0
    for record in taken:
        if record.change is None:
            continue
        judged = [gate for gate in record.gates if not (red and is_test_gate(gate))]
        signature = failure_signature(judged)
        times = times + 1 if signature is not None and signature == last else 1
        last = signature
        if signature is not None and times >= rules.same_failure:
            names = ", ".join(gate.name for gate in Verification(tuple(judged)).failing)
            return f"{names} failed in the same way after {times} changes"
    return None


def _idle(records: Sequence[StepRecord], progress: Sequence[int], rules: LoopRules) -> str | None:
    first = next((record.step for record in records if record.change), None)
    if first is None:
        return None
    since = max((first, *progress))
    idle = records[-1].step - since
    if idle < rules.idle_steps:
        return None
    return f"no progress in the {idle} steps since step {since}"


def _too_many(taken: Sequence[StepRecord], progress: Sequence[int], rules: LoopRules) -> str | None:
    allowed = allowed_steps(progress, rules)
    if not taken or taken[-1].step < allowed:
        return None
    return f"{taken[-1].step} steps were taken and {allowed} are allowed"
