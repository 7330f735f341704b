"""Conditions: operators that compare two values of a kind, and nothing else."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hornbook.execute.workflow.expressions import Unresolved
from hornbook.execute.workflow.json_reading import Json, Kind, kind_of


@dataclass(frozen=True, slots=True)
class OperatorRule:
    """What an operator means, and which kinds stand on its two sides; none named is any."""

    meaning: str
    holds: Callable[[Json, Json], bool]
    field: tuple[Kind, ...] = ()
    value: tuple[Kind, ...] = ()


def equal(left: Json, right: Json) -> bool:
    """Whether two values are equal; `null` is equal to `null` only.

    Raises:
        Unresolved: They are of different kinds, which no comparison was meant for.
    """
    kinds = kind_of(left), kind_of(right)
    if Kind.NULL in kinds:
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

    return OperatorRule(meaning, holds, (Kind.NUMBER,), (Kind.NUMBER,))


_ARRAY = (Kind.ARRAY,)

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
            field=(Kind.ARRAY, Kind.STRING),
        ),
        "exists": OperatorRule(
            "whether there is a value at all is `true` or `false` as said",
            lambda there, said: there is said,
            value=(Kind.BOOLEAN,),
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
    if kind in (Kind.OBJECT, Kind.ARRAY):
        return f"an {kind}"
    return "null" if kind is Kind.NULL else f"the {kind} {str(value)[:40]!r}"
