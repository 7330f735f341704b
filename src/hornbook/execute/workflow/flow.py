"""How runs can move through a workflow: that each ends, reads what is there, and earns approval.

Facts hold at a step when they hold on every way to it. They tell which results a step may read,
whether gates have passed over the newest change, and whether a review of it was accepted.
"""

from collections.abc import Iterator, Mapping, Sequence

from hornbook.execute.workflow.definition import Condition, Step
from hornbook.execute.workflow.expressions import Template
from hornbook.execute.workflow.findings import Notebook
from hornbook.execute.workflow.parts import PlacedStep, Use
from hornbook.execute.workflow.subjects import (
    APPROVED,
    ASSEMBLE,
    COMPLETE,
    DEVELOP,
    GATES,
    REVIEW,
    VALIDATE,
    ActionType,
)

_GATED, _CONTEXT, _REVIEWED = "passed gates", "an assembled context", "a review"
_ACCEPTED, _VERDICT = "an accepted review", "an approving verdict"
_EARNED = {GATES: _GATED, ASSEMBLE: _CONTEXT, REVIEW: _REVIEWED, VALIDATE: _ACCEPTED}
_SPENT = {
    DEVELOP: {_GATED, _CONTEXT, _REVIEWED, _ACCEPTED, _VERDICT},
    REVIEW: {_ACCEPTED, _VERDICT},
}
Facts = frozenset[str]


def check_flow(placed: Sequence[PlacedStep], notes: Notebook) -> None:
    """Notes what no run could get out of, or could not rely on; every target must exist."""
    steps = {each.step.name: each for each in placed}
    reached = _reached(steps)
    for name in steps.keys() - reached:
        each = steps[name]
        message = f"no step leads to `{name}`: name it in `on_success` or `on_fail`, or remove it."
        notes.wrong(f"unreachable_step:{name}", each.path, each.line("name"), message)
    live = {name: each for name, each in steps.items() if name in reached}
    _check_ends(live, notes)
    facts = _facts(live, placed[0].step.name)
    for name, each in live.items():
        _check_reads(each, facts[name], notes)
        _check_honesty(each, facts[name], notes)


def _targets(step: Step) -> list[str]:
    return [target for target in (step.on_success, step.on_fail) if target is not None]


def _reached(steps: Mapping[str, PlacedStep]) -> set[str]:
    reached: set[str] = set()
    waiting = [next(iter(steps))]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _targets(steps[name].step)
    return reached


def _check_ends(steps: Mapping[str, PlacedStep], notes: Notebook) -> None:
    ending = {name for name, each in steps.items() if each.step.on_success is None}
    while more := {
        name for name in steps.keys() - ending if ending & set(_targets(steps[name].step))
    }:
        ending |= more
    for name in steps.keys() - ending:
        each = steps[name]
        message = (
            f"no way from `{name}` leads to an end: let one reach a step without `on_success`."
        )
        notes.wrong(f"cannot_end:{name}", each.path, each.line("name"), message)
    for name in ending & _on_free_cycles(steps):
        each = steps[name]
        message = (
            f"the run could go round through `{name}` for ever: let the way back begin at a step "
            f"whose condition is `${{execution.iteration}}` `lt` a number."
        )
        notes.wrong(f"unguarded_cycle:{name}", each.path, each.line("name"), message)


def _on_free_cycles(steps: Mapping[str, PlacedStep]) -> set[str]:
    """The steps on cycles that begin no iteration: a limit holds only where the condition does."""
    free = {
        name: {each.step.on_fail} if each.step.starts_iteration else set(_targets(each.step))
        for name, each in steps.items()
    }
    reach = {name: {target for target in targets if target} for name, targets in free.items()}
    for middle in steps:
        for name in steps:
            if middle in reach[name]:
                reach[name] |= reach[middle]
    return {name for name in steps if name in reach[name]}


# Facts


def _facts(steps: Mapping[str, PlacedStep], first: str) -> dict[str, Facts]:
    """What holds whenever a step is reached."""
    known: dict[str, Facts] = {first: frozenset()}
    waiting = [first]
    while waiting:
        name = waiting.pop()
        for target, facts in _after(steps[name].step, known[name], steps):
            held = known[target] & facts if target in known else facts
            if known.get(target) != held:
                known[target] = held
                waiting.append(target)
    return known


def _after(
    step: Step, before: Facts, steps: Mapping[str, PlacedStep]
) -> Iterator[tuple[str, Facts]]:
    """Each step that may come next, with what holds then."""
    if step.on_success is not None:
        yield step.on_success, _succeeded(step, before | _said(step.condition), steps)
    if step.on_fail is None:
        return
    if step.condition is not None:
        yield step.on_fail, before
    else:
        yield step.on_fail, _failed(step, before, steps)


def _said(condition: Condition | None) -> Facts:
    """What holds because a condition does: that the reviewer's verdict is an approval."""
    if condition is None or condition.operator != "eq":
        return frozenset()
    value = condition.value
    approved = isinstance(value, Template) and value.parts == (APPROVED,)
    return frozenset({_VERDICT} if approved and condition.field.path[3:] == ("verdict",) else ())


def _succeeded(step: Step, before: Facts, steps: Mapping[str, PlacedStep]) -> Facts:
    kept = before - _lost(step, steps) - {f"error {name}" for name in step.names}
    earned = {_EARNED[step.action.subject]} if step.action.subject in _EARNED else set()
    return frozenset(kept | earned | _answered(step))


def _failed(step: Step, before: Facts, steps: Mapping[str, PlacedStep]) -> Facts:
    kept = before - _lost(step, steps)
    if step.action.subject in _EARNED:
        kept -= {_EARNED[step.action.subject]}
    if step.action.rule.judges:
        return frozenset(kept | _answered(step) | {f"error {name}" for name in step.names})
    gone = {f"output {name}" for name in step.names}
    return frozenset((kept - gone) | {f"error {name}" for name in step.names})


def _answered(step: Step) -> set[str]:
    return {f"{what} {name}" for name in step.names for what in ("output", "fresh")}


def _lost(step: Step, steps: Mapping[str, PlacedStep]) -> set[str]:
    """What no longer holds once a step is done: an agent's newer answer makes older ones stale."""
    if step.action.type is not ActionType.PUBLISH_AGENT:
        return set()
    subject = step.action.subject
    older = {
        name
        for each in steps.values()
        if each.step.action.subject == subject
        for name in each.step.names
    }
    return {f"fresh {name}" for name in older} | _SPENT.get(subject, set())


# What must hold


def _check_reads(placed: PlacedStep, facts: Facts, notes: Notebook) -> None:
    for use in placed.uses:
        if use.reference.path[0] == "steps" and not use.tolerant:
            _check_read(use, facts, notes)


def _check_read(use: Use, facts: Facts, notes: Notebook) -> None:
    name, what = use.reference.path[1:3]
    if f"{what} {name}" not in facts:
        message = (
            f"the run can come here without {'an' if what[0] in 'aeiou' else 'a'} {what} of "
            f"`{name}`: give `{use.reference.name}` a default (`:-`), or lead the run another way."
        )
        notes.wrong(f"may_be_missing:{name}", use.path, use.line, message)
    elif what == "output" and f"fresh {name}" not in facts:
        message = (
            f"a later step of the same role may have answered since `{name}` did: give that step "
            f"`output_as` `{name}`, so that the newest attempt is read."
        )
        notes.wrong(f"stale:{name}", use.path, use.line, message)


def _check_honesty(placed: PlacedStep, facts: Facts, notes: Notebook) -> None:
    action, name = placed.step.action, placed.step.name
    line = placed.line("action")
    if action.subject == REVIEW:
        if _GATED not in facts:
            message = (
                f"the reviewer can be asked before `{GATES}` passed over the newest change: lead "
                "every way through it."
            )
            notes.wrong(f"review_without_gates:{name}", placed.path, line, message)
        if _CONTEXT not in facts:
            message = (
                "the reviewer can be asked without the rules: lead every way through a "
                f"successful `{ASSEMBLE}`."
            )
            notes.wrong(f"review_without_context:{name}", placed.path, line, message)
    if action.subject == COMPLETE and _status(placed.step) == APPROVED:
        held = facts | _said(placed.step.condition)
        missing = [fact for fact in (_GATED, _REVIEWED, _ACCEPTED, _VERDICT) if fact not in held]
        if missing:
            message = (
                f"a task can be approved without: {', '.join(missing)}. Lead every way through "
                f"the gates, an accepted review (`{VALIDATE}`) and a condition that its verdict "
                f"is `{APPROVED}`."
            )
            notes.wrong(f"unearned_approval:{name}", placed.path, line, message)


def _status(step: Step) -> str | None:
    status = step.action.payload.get("status")
    return "".join(map(str, status.parts)) if isinstance(status, Template) else None
