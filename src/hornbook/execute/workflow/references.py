"""Which values an expression may name, and whether a condition can compare them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hornbook.assemble.settings import remedy
from hornbook.execute.workflow.conditions import EXISTS, OPERATORS
from hornbook.execute.workflow.definition import Condition
from hornbook.execute.workflow.expressions import Template
from hornbook.execute.workflow.findings import Notebook
from hornbook.execute.workflow.json_reading import Json, Kind, kind_of
from hornbook.execute.workflow.parts import PlacedStep
from hornbook.execute.workflow.subjects import Field, Subject

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
    if len(rest) > 3 and fields[key].kind is not Kind.OBJECT:
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
        return Field(Kind.NUMBER)
    if len(path) == 3 and path[0] == "steps" and path[2] == "error":
        return Field(Kind.STRING)
    if len(path) == 4 and path[0] == "steps" and path[1] in names.subjects:
        return names.fields(path[1]).get(path[3])
    return None


@dataclass(frozen=True, slots=True)
class _Constant:
    value: Json


def _constant(value: object) -> _Constant | None:
    """The value if no expression stands in it."""
    if isinstance(value, Template):
        texts = [part for part in value.parts if isinstance(part, str)]
        return _Constant("".join(texts)) if len(texts) == len(value.parts) else None
    if isinstance(value, Mapping):
        members = {key: _constant(each) for key, each in value.items()}
        known = {key: each.value for key, each in members.items() if each is not None}
        return _Constant({**known}) if len(known) == len(members) else None
    if isinstance(value, tuple):
        items = [_constant(each) for each in value]
        listed = [each.value for each in items if each is not None]
        return _Constant(listed) if len(listed) == len(items) else None
    return _Constant(value) if value is None or isinstance(value, int | float) else None


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
