"""`${…}` and conditions: types are kept, what is missing is told, nothing is read twice."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.located import Json
from hornbook.loop.workflow.expressions import (
    OPERATORS,
    BadExpression,
    ExpressionTemplate,
    Templated,
    Unresolved,
    as_written,
    holds,
    member,
    parse,
    references,
    resolve,
    text_of,
)
from tests.kit.workflow_texts import JSON

VALUES: dict[str, Json] = {
    "text": "go",
    "list": ["a", 1],
    "object": {"inner": {"deep": True}},
    "number": 3,
    "nothing": None,
    "trap": "${number}",
}


def look_up(path: tuple[str, ...]) -> Json:
    return member(VALUES, path, "values")


def value_of(text: str) -> Json:
    return resolve(parse(text), look_up)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("", ""),
        ("${text}", "go"),
        ("${list}", ["a", 1]),
        ("${object}", {"inner": {"deep": True}}),
        ("${object.inner.deep}", True),
        ("${number}", 3),
        ("${nothing}", None),
        ("${nothing:-x}", None),
        (" ${number}", " 3"),
        ("${number}${number}", "33"),
        ("a ${list} b", 'a ["a", 1] b'),
        ("a ${object.inner} b", 'a {"deep": true} b'),
        ("is ${nothing}", "is null"),
        ("${trap}", "${number}"),
        ("x ${trap}", "x ${number}"),
        ("$${number}", "${number}"),
        ("$$${number}", "$${number}"),
        ("$5 and $ {number}", "$5 and $ {number}"),
        ("${missing:-[]}", []),
        ("${missing:-go}", "go"),
        ("${missing:-go 1.22, or so}", "go 1.22, or so"),
        ("${missing:-3}", 3),
        ("${missing:-true}", True),
        ("${missing:-null}", None),
        ('${missing:-""}', ""),
        ('${missing:-"}"}', "}"),
        ('${missing:-{"a": {"b": [1]}}}', {"a": {"b": [1]}}),
        ("${text.below:-x}", "x"),
        ("in ${missing:-[1, 2]}", "in [1, 2]"),
        ("${text:-x}", "go"),
    ],
)
def test_what_an_expression_stands_for(text: str, value: Json) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${missing}", "`values.missing` has no value: `values` has `list`, `nothing`"),
        ("a ${missing} b", "`values.missing` has no value"),
        ("${object.x}", "`values.object.x` has no value: `values.object` has `inner`"),
        ("${text.x}", "`values.text` has no members"),
        ("${list.x}", "`values.list` has no members"),
    ],
)
def test_what_is_missing_is_an_error_and_never_an_empty_text(text: str, message: str) -> None:
    with pytest.raises(Unresolved) as caught:
        value_of(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${", "names no value"),
        ("${}", "names no value"),
        ("${ text }", "names no value"),
        ("${text", "not closed"),
        ("${text }", "not closed"),
        ("${a..b}", "not closed"),
        ("${text-}:", None),
        ("${text:-}", '`:-""`'),
        ("${text:-a", "neither JSON"),
        ("${text:-[1}", "neither JSON"),
        ("${text:-${number}}", "neither JSON"),
        ("${text:-NaN}", "no JSON number"),
        ("${text:-[Infinity]}", "no JSON number"),
    ],
)
def test_what_is_no_expression_is_told(text: str, message: str | None) -> None:
    if message is None:
        assert parse(text).parts
        return
    with pytest.raises(BadExpression) as caught:
        parse(text)
    assert message in str(caught.value)


def test_values_inside_of_payloads_are_replaced_at_every_depth() -> None:
    tree: Templated = {"a": (parse("${list}"), 1, None), "b": {"c": parse("x${number}")}}
    assert resolve(tree, look_up) == {"a": [["a", 1], 1, None], "b": {"c": "x3"}}
    assert [each.name for each in references(tree)] == ["list", "number"]
    assert as_written(tree) == "{a: [${list}, 1, null], b: {c: x${number}}}"


def test_a_value_that_was_taken_can_be_changed_without_changing_the_run() -> None:
    taken = value_of("${list}")
    assert isinstance(taken, list)
    taken.append("more")
    assert VALUES["list"] == ["a", 1]


@given(st.text())
def test_a_text_without_an_opening_is_itself(text: str) -> None:
    escaped = text.replace("${", "$${")
    if "$" + "${" not in text:
        assert resolve(parse(escaped), look_up) == text


@given(JSON)
def test_one_expression_keeps_the_value_and_a_text_shows_it(value: Any) -> None:
    template = parse("${x}")
    assert resolve(template, lambda _path: value) == value
    assert isinstance(text_of(template, lambda _path: value), str)


@given(JSON)
def test_every_json_value_can_be_a_default(value: Any) -> None:
    assert value_of(f"${{missing:-{json.dumps(value)}}}") == value


@given(st.text())
def test_parsing_answers_or_refuses(text: str) -> None:
    with suppress(BadExpression):
        assert isinstance(parse(text), ExpressionTemplate)


# Conditions


@pytest.mark.parametrize(
    ("field", "operator", "value", "expected"),
    [
        ("a", "eq", "a", True),
        ("a", "eq", "b", False),
        (1, "eq", 1.0, True),
        (None, "eq", "fixable", False),
        (None, "eq", None, True),
        (0, "eq", None, False),
        ([1], "eq", [1], True),
        ([1], "eq", [True], False),
        ({"a": 1}, "eq", {"a": 1}, True),
        ({"a": 1}, "eq", {"a": True}, False),
        ("a", "ne", "b", True),
        (None, "ne", "b", True),
        (2, "lt", 3, True),
        (3, "lt", 3, False),
        (3, "le", 3, True),
        (4, "gt", 3, True),
        (3, "ge", 3, True),
        (0.7, "ge", 0.7, True),
        ("a", "in", ["a", "b"], True),
        ("c", "in", ["a", "b"], False),
        (None, "in", ["a"], False),
        ("c", "not_in", ["a", "b"], True),
        (["a"], "contains", "a", True),
        ([], "contains", "a", False),
        ("text", "contains", "ex", True),
        (True, "exists", True, True),
        (False, "exists", True, False),
        (False, "exists", False, True),
    ],
)
def test_operators(field: Json, operator: str, value: Json, expected: bool) -> None:
    assert holds(operator, field, value) is expected


@pytest.mark.parametrize(
    ("field", "operator", "value"),
    [
        ("1", "eq", 1),
        (1, "eq", True),
        (1, "ne", "1"),
        ("1", "lt", 3),
        (None, "lt", 3),
        (True, "lt", 3),
        (1, "lt", "3"),
        ("a", "in", "abc"),
        ("a", "in", ["a", 1]),
        ("a", "not_in", [1]),
        (3, "contains", 3),
        ("3", "contains", 3),
        ([1], "contains", "1"),
        (True, "exists", "yes"),
    ],
)
def test_kinds_that_do_not_fit_are_an_error_and_never_false(
    field: Json, operator: str, value: Json
) -> None:
    with pytest.raises(Unresolved):
        holds(operator, field, value)


@given(JSON, st.sampled_from(sorted(OPERATORS)), JSON)
def test_every_comparison_answers_or_says_why_not(field: Any, operator: str, value: Any) -> None:
    with suppress(Unresolved):
        assert holds(operator, field, value) in (True, False)
