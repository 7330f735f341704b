"""How runs can move through a workflow: that each ends, reads what is there, and earns approval.

Facts hold at a step when they hold on every way to it. They tell which results a step may read,
whether gates have passed over the newest change, and whether a review of it was accepted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hornbook.context.templates.context_settings import remedy
from hornbook.located import Json, JsonKind, kind_of
from hornbook.loop.workflow.definition import Condition, Notebook, Step
from hornbook.loop.workflow.expressions import EXISTS, OPERATORS, ExpressionTemplate
from hornbook.loop.workflow.parts import PlacedStep, Use
from hornbook.loop.workflow.subjects import (
    APPROVED,
    ASSEMBLE,
    COMPLETE,
    GATES,
    VALIDATE,
    ActionType,
    Field,
    Subject,
)
from hornbook.plans.run_kinds import DEVELOP, REVIEW

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
        yield step.on_success, _succeeded(step, before | _facts_of(step.condition), steps)
    if step.on_fail is None:
        return
    if step.condition is not None:
        yield step.on_fail, before
    else:
        yield step.on_fail, _failed(step, before, steps)


def _facts_of(condition: Condition | None) -> Facts:
    """What holds because a condition does: that the reviewer's verdict is an approval."""
    if condition is None or condition.operator != "eq":
        return frozenset()
    value = condition.value
    approved = isinstance(value, ExpressionTemplate) and value.parts == (APPROVED,)
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
    if placed.step.action.subject == REVIEW:
        _check_review(placed, facts, notes)
    if placed.step.action.subject == COMPLETE and _status(placed.step) == APPROVED:
        _check_approval(placed, facts | _facts_of(placed.step.condition), notes)


def _check_review(placed: PlacedStep, facts: Facts, notes: Notebook) -> None:
    name, line = placed.step.name, placed.line("action")
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


def _check_approval(placed: PlacedStep, facts: Facts, notes: Notebook) -> None:
    missing = [fact for fact in (_GATED, _REVIEWED, _ACCEPTED, _VERDICT) if fact not in facts]
    if missing:
        message = (
            f"a task can be approved without: {', '.join(missing)}. Lead every way through "
            f"the gates, an accepted review (`{VALIDATE}`) and a condition that its verdict "
            f"is `{APPROVED}`."
        )
        name, line = placed.step.name, placed.line("action")
        notes.wrong(f"unearned_approval:{name}", placed.path, line, message)


def _status(step: Step) -> str | None:
    status = step.action.payload.get("status")
    return "".join(map(str, status.parts)) if isinstance(status, ExpressionTemplate) else None


ROOTS = ("trigger", "steps", "execution")
_COMPARING = {"eq", "ne"}
_LISTING = {"in", "not_in"}


@dataclass(frozen=True, slots=True)
class Names:
    """Every name under which a result is kept, with the subjects of the steps that keep it."""

    subjects: Mapping[str, tuple[Subject, ...]]

    @classmethod
    def of(cls, placed: Sequence[PlacedStep]) -> "Names":
        """The names of these steps."""
        found: dict[str, tuple[Subject, ...]] = {}
        for each in placed:
            for name in each.step.names:
                found[name] = (*found.get(name, ()), each.step.action.rule)
        return cls(found)

    def fields(self, name: str) -> dict[str, Field]:
        """The members that every result under that name has."""
        first, *rest = (subject.outputs for subject in self.subjects[name])
        return {key: each for key, each in first.items() if all(key in one for one in rest)}


def check_references(placed: Sequence[PlacedStep], notes: Notebook, known: Sequence[str]) -> None:
    """Notes every expression that names nothing, and every condition that can never be judged.

    `known` are all step names, those of steps that could not be read too.
    """
    names = Names.of(placed)
    for each in placed:
        for use in each.uses:
            found = _problem(use.reference.path, names, known)
            if found is not None:
                code, message = found
                notes.wrong(code, use.path, use.line, f"`{use.reference.name}`: {message}")
        if each.step.condition is not None:
            _check_condition(each, each.step.condition, names, notes)


def _problem(path: tuple[str, ...], names: Names, known: Sequence[str]) -> tuple[str, str] | None:
    root, rest = path[0], path[1:]
    if root == "steps":
        return _step_problem(rest, names, known)
    if root == "trigger":
        if rest[:1] == ("payload",) and len(rest) > 1:
            return None
        return f"unknown_field:{'.'.join(path)}", "write `trigger.payload.` and a name."
    if root == "execution":
        if rest == ("iteration",):
            return None
        return f"unknown_field:{'.'.join(path)}", "write `execution.iteration`."
    return (
        f"unknown_field:{'.'.join(path)}",
        f"no value starts with `{root}`: {remedy(root, ROOTS)}",
    )


def _step_problem(
    rest: tuple[str, ...], names: Names, known: Sequence[str]
) -> tuple[str, str] | None:
    name = rest[0] if rest else ""
    if name not in names.subjects:
        if name in known:
            return None
        return f"unknown_step:{name}", f"no step keeps a result as `{name}`: {remedy(name, known)}"
    if rest[1:] in (("error",), ("output",)):
        return None
    if rest[1:2] != ("output",):
        written = ".".join(rest[1:])
        return f"unknown_field:{written}", f"write `steps.{name}.output` or `steps.{name}.error`."
    return _field_problem(rest, names.fields(name))


def _field_problem(rest: tuple[str, ...], fields: Mapping[str, Field]) -> tuple[str, str] | None:
    name, key = rest[0], rest[2]
    if key not in fields:
        hint = remedy(key, fields) if fields else "it answers nothing."
        return f"unknown_field:{key}", f"`{name}` has no output `{key}`: {hint}"
    if len(rest) > 3 and fields[key].kind is not JsonKind.OBJECT:
        message = f"`{key}` is of kind {fields[key].kind} and has no members: end the path there."
        return f"unknown_field:{'.'.join(rest[2:])}", message
    return None


def _check_condition(
    placed: PlacedStep, condition: Condition, names: Names, notes: Notebook
) -> None:
    node = placed.node.members["condition"].members
    path = f"{placed.path}.condition"
    field = _declared(condition.field.path, names)
    rule = OPERATORS[condition.operator]
    if field is not None and rule.field and field.kind not in rule.field:
        message = (
            f"`{condition.operator}` compares {' or '.join(rule.field)}, `{condition.field.name}` "
            f"is of kind {field.kind}."
        )
        notes.wrong("bad_value:field", f"{path}.field", node["field"].line, message)
    constant = _constant(condition.value)
    if constant is None:
        return
    for message in _value_problems(condition.operator, constant.value, field):
        notes.wrong("bad_value:value", f"{path}.value", node["value"].line, message)


def _declared(path: tuple[str, ...], names: Names) -> Field | None:
    if path == ("execution", "iteration"):
        return Field(JsonKind.NUMBER)
    if len(path) == 3 and path[0] == "steps" and path[2] == "error":
        return Field(JsonKind.STRING)
    if len(path) == 4 and path[0] == "steps" and path[1] in names.subjects:
        return names.fields(path[1]).get(path[3])
    return None


@dataclass(frozen=True, slots=True)
class _Constant:
    value: Json


def _constant(value: object) -> _Constant | None:
    """The value if no expression stands in it."""
    if isinstance(value, ExpressionTemplate):
        texts = [part for part in value.parts if isinstance(part, str)]
        return _Constant("".join(texts)) if len(texts) == len(value.parts) else None
    if isinstance(value, Mapping):
        members = _constants(value.values())
        return None if members is None else _Constant(dict(zip(value, members, strict=True)))
    if isinstance(value, tuple):
        items = _constants(value)
        return None if items is None else _Constant(items)
    return _Constant(value) if value is None or isinstance(value, int | float) else None


def _constants(values: Iterable[object]) -> list[Json] | None:
    """The values if no expression stands in any of them."""
    found: list[Json] = []
    for each in map(_constant, values):
        if each is None:
            return None
        found.append(each.value)
    return found


def _value_problems(operator: str, value: Json, field: Field | None) -> Iterator[str]:
    wanted = OPERATORS[operator].value
    if wanted and kind_of(value) not in wanted:
        yield (
            f"the value of `{operator}` is of kind {kind_of(value)}: write one of kind "
            f"{' or '.join(wanted)}."
        )
    elif field is not None and operator != EXISTS:
        if operator in _COMPARING:
            yield from _comparison_problems(value, field)
        elif operator in _LISTING and isinstance(value, list):
            for each in value:
                yield from _comparison_problems(each, field)


def _comparison_problems(value: Json, field: Field) -> Iterator[str]:
    if value is None:
        return
    if kind_of(value) is not field.kind:
        yield (
            f"{value!r} is of kind {kind_of(value)}, the field of kind {field.kind}: compare like "
            "kinds."
        )
    elif field.values and value not in field.values:
        yield f"the field is never {value!r}: {remedy(str(value), field.values)}"
