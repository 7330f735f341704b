"""`${…}` in workflows: what is written, and what it stands for in a run.

A value that is exactly one expression keeps its type; inside a text it is rendered. A value that is
missing and has no default is an error, never an empty text.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from hornbook.located import Json, JsonKind, kind_of

_OPENING = re.compile(r"\$?\$\{")
_PATH = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_BARE = re.compile(r"[^\s{}\[\]\"$:,][^{}\"$\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Default:
    """What stands in for a value that is missing."""

    value: Json


@dataclass(frozen=True, slots=True)
class Reference:
    """One expression: the path of a value in the run, and its default if there is one."""

    path: tuple[str, ...]
    default: Default | None = None

    @property
    def name(self) -> str:
        """The path as it is written."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class ExpressionTemplate:
    """A text with the expressions in it."""

    parts: tuple[str | Reference, ...]

    @property
    def single(self) -> Reference | None:
        """The expression, if there is nothing else."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only if isinstance(only, Reference) else None


def written_out(template: ExpressionTemplate | None) -> str | None:
    """The text of a template without any expression; None if it has one."""
    if template is None or any(isinstance(part, Reference) for part in template.parts):
        return None
    return "".join(str(part) for part in template.parts)


Templated: TypeAlias = (
    "bool | int | float | ExpressionTemplate | tuple[Templated, ...] "
    "| Mapping[str, Templated] | None"
)
LookUp: TypeAlias = Callable[[tuple[str, ...]], Json]


class Unresolved(ValueError):
    """A run has no value for a path, or one of a kind that does not fit; says why."""


class BadExpression(ValueError):
    """A text has `${` in it that is no expression; says what to write."""


def parse(text: str) -> ExpressionTemplate:
    """The template in a text; `$${` stands for `${` itself.

    Raises:
        BadExpression: An expression is not closed, has no path or a default that is unclear.
    """
    parts: list[str | Reference] = []
    at = 0
    while opening := _OPENING.search(text, at):
        _append(parts, text[at : opening.start()])
        if opening[0] == "$${":
            _append(parts, "${")
            at = opening.end()
        else:
            reference, at = _reference(text, opening.end())
            parts.append(reference)
    _append(parts, text[at:])
    return ExpressionTemplate(tuple(parts))


def _append(parts: list[str | Reference], text: str) -> None:
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    elif text:
        parts.append(text)


def _reference(text: str, start: int) -> tuple[Reference, int]:
    path = _PATH.match(text, start)
    if path is None:
        shown = text[start - 2 : start + 20]
        raise BadExpression(f"`{shown}` names no value: write `${{…}}` around a path of names.")
    names = tuple(path[0].split("."))
    at = path.end()
    if text.startswith("}", at):
        return Reference(names), at + 1
    if not text.startswith(":-", at):
        raise BadExpression(f"`${{{path[0]}` is not closed: write `}}` or `:-` and a default.")
    value, at = _default(text, at + 2, path[0])
    return Reference(names, Default(value)), at


def _default(text: str, start: int, path: str) -> tuple[Json, int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError):
        value, end = None, -1
    if text.startswith("}", end) and end > start:
        _refuse_numbers_json_has_not(value, path)
        return value, end + 1
    bare = _BARE.match(text, start)
    if bare is not None and text.startswith("}", bare.end()):
        return bare[0], bare.end() + 1
    if text.startswith("}", start):
        raise BadExpression(f'the default of `{path}` is empty: write `:-""` for an empty text.')
    raise BadExpression(
        f"the default of `{path}` is neither JSON nor a plain word: write `:-[]`, `:-3`, "
        '`:-go` or `:-"some text"`, and close it with `}`.'
    )


def _refuse_numbers_json_has_not(value: Json, path: str) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise BadExpression(f"the default of `{path}` is no JSON number: write one.") from error


def references(value: Templated) -> Iterator[Reference]:
    """Every expression in a value, in order."""
    if isinstance(value, ExpressionTemplate):
        yield from (part for part in value.parts if isinstance(part, Reference))
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from references(member)
    elif isinstance(value, tuple):
        for item in value:
            yield from references(item)


def resolve(value: Templated, look_up: LookUp) -> Json:
    """The value with every expression replaced, once: what comes in is not read again.

    Raises:
        Unresolved: Something is missing and has no default.
    """
    if isinstance(value, ExpressionTemplate):
        single = value.single
        return _value(single, look_up) if single else _rendered(value, look_up)
    if isinstance(value, Mapping):
        return {key: resolve(member, look_up) for key, member in value.items()}
    if isinstance(value, tuple):
        return [resolve(item, look_up) for item in value]
    return value


def text_of(template: ExpressionTemplate, look_up: LookUp) -> str:
    """The template as a text, even if it is exactly one expression.

    Raises:
        Unresolved: Something is missing and has no default.
    """
    return _rendered(template, look_up)


def _rendered(template: ExpressionTemplate, look_up: LookUp) -> str:
    return "".join(
        part if isinstance(part, str) else shown(_value(part, look_up)) for part in template.parts
    )


def _value(reference: Reference, look_up: LookUp) -> Json:
    try:
        return deepcopy(look_up(reference.path))
    except Unresolved:
        if reference.default is None:
            raise
        return deepcopy(reference.default.value)


def shown(value: Json) -> str:
    """A value inside a text: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_written(value: Templated) -> str:
    """A value with its expressions as they stand in the definition."""
    if isinstance(value, ExpressionTemplate):
        return "".join(
            part if isinstance(part, str) else f"${{{part.name}}}" for part in value.parts
        )
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {as_written(each)}' for key, each in value.items())}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(as_written, value))}]"
    return json.dumps(value)


def member(value: Json, names: tuple[str, ...], above: str) -> Json:
    """The value that `names` lead to.

    Raises:
        Unresolved: One of them is not there; `above` says of what.
    """
    for name in names:
        if not isinstance(value, dict):
            raise Unresolved(f"`{above}` has no members, so `{above}.{name}` has no value.")
        if name not in value:
            known = ", ".join(f"`{key}`" for key in sorted(value)) or "nothing"
            raise Unresolved(f"`{above}.{name}` has no value: `{above}` has {known}.")
        value, above = value[name], f"{above}.{name}"
    return value


@dataclass(frozen=True, slots=True)
class OperatorRule:
    """What an operator means, and which kinds stand on its two sides; none named is any."""

    meaning: str
    holds: Callable[[Json, Json], bool]
    field: tuple[JsonKind, ...] = ()
    value: tuple[JsonKind, ...] = ()


def equal(left: Json, right: Json) -> bool:
    """Whether two values are equal; `null` is equal to `null` only.

    Raises:
        Unresolved: They are of different kinds, which no comparison was meant for.
    """
    kinds = kind_of(left), kind_of(right)
    if JsonKind.NULL in kinds:
        return left is right
    if kinds[0] is not kinds[1]:
        raise Unresolved(f"{_called(left)} is compared with {_called(right)}: compare like kinds.")
    return _same(left, right)


def _same(left: Json, right: Json) -> bool:
    """Equality as JSON has it: `true` is not 1, inside of arrays and objects too."""
    if kind_of(left) is not kind_of(right):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return left == right


def _among(item: Json, items: Json) -> bool:
    # Every item is compared, so that a wrong kind is told wherever it stands.
    compared = [equal(item, each) for each in items] if isinstance(items, list) else []
    return any(compared)


def _contains(whole: Json, part: Json) -> bool:
    if isinstance(whole, str):
        if not isinstance(part, str):
            raise Unresolved(f"a text cannot contain {_called(part)}: write a text.")
        return part in whole
    return _among(part, whole)


def _ordered(compare: Callable[[float, float], bool], meaning: str) -> OperatorRule:
    def holds(left: Json, right: Json) -> bool:
        # The kinds were checked before: both are numbers.
        return compare(left, right)  # type: ignore[arg-type]  # see above

    return OperatorRule(meaning, holds, (JsonKind.NUMBER,), (JsonKind.NUMBER,))


_ARRAY = (JsonKind.ARRAY,)

OPERATORS: Mapping[str, OperatorRule] = MappingProxyType(
    {
        "eq": OperatorRule("equal, of the same kind; `null` equals `null` only", equal),
        "ne": OperatorRule(
            "not equal, of the same kind", lambda left, right: not equal(left, right)
        ),
        "lt": _ordered(operator.lt, "less than"),
        "le": _ordered(operator.le, "at most"),
        "gt": _ordered(operator.gt, "greater than"),
        "ge": _ordered(operator.ge, "at least"),
        "in": OperatorRule("one of the values in the array", _among, value=_ARRAY),
        "not_in": OperatorRule(
            "none of the values in the array",
            lambda left, right: not _among(left, right),
            value=_ARRAY,
        ),
        "contains": OperatorRule(
            "the array has the value, or the text has the text",
            _contains,
            field=(JsonKind.ARRAY, JsonKind.STRING),
        ),
        "exists": OperatorRule(
            "whether there is a value at all is `true` or `false` as said",
            lambda there, said: there is said,
            value=(JsonKind.BOOLEAN,),
        ),
    }
)
EXISTS = "exists"
LIMITS = ("lt", "le")


def holds(name: str, field: Json, value: Json) -> bool:
    """Whether a condition holds; for `exists`, `field` says whether there is a value.

    Raises:
        Unresolved: A value is not of a kind that the operator compares.
    """
    rule = OPERATORS[name]
    for side, found, kinds in (("field", field, rule.field), ("value", value, rule.value)):
        if kinds and kind_of(found) not in kinds:
            wanted = " or ".join(kinds)
            raise Unresolved(f"the {side} of `{name}` is {_called(found)}: it must be {wanted}.")
    return rule.holds(field, value)


def _called(value: Json) -> str:
    kind = kind_of(value)
    if kind in (JsonKind.OBJECT, JsonKind.ARRAY):
        return f"an {kind}"
    return "null" if kind is JsonKind.NULL else f"the {kind} {str(value)[:40]!r}"
