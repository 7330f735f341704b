"""Context settings: the table of defaults is law, a template overrides it key by key."""

import json
import re
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbook.context.templates.context_settings import (
    DEFAULTS,
    KEYS,
    NOT_APPLICABLE,
    SUBTYPES,
    VALUES,
    ContextSettings,
    Operator,
    effective,
    operator_for,
    remedy,
)
from tests.kit.paths import DATA, DOCS

CASES = DATA / "cases" / "context_settings.jsonl"
PAGE = DOCS / "context-settings.md"

operators = st.sampled_from(sorted(Operator))
blocks = st.fixed_dictionaries(
    {}, optional={key: st.sampled_from(values) for key, values in VALUES.items()}
)
any_blocks = st.dictionaries(
    st.sampled_from(KEYS) | st.text(max_size=8),
    st.sampled_from([value for values in VALUES.values() for value in values]) | st.text(),
)


def codes(operator: str, asked: dict[str, str]) -> list[str]:
    return [error.code for error in effective(operator, asked).errors]


def as_block(found: ContextSettings) -> dict[str, str]:
    """Settings as a template would write them; a format that is not used cannot be written."""
    written = {key: value for key, value in asdict(found).items() if value is not None}
    return {key: str(value).lower() for key, value in written.items()}


@pytest.mark.parametrize(
    "case",
    [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()],
    ids=lambda case: case["id"],
)
def test_every_case_of_the_table_holds(case: dict[str, Any]) -> None:
    found = effective(case["operator"], case["given"])
    assert case["expect"] == {
        "effective": asdict(found.effective) if found.effective else None,
        "errors": [error.code for error in found.errors],
        "warnings": [warning.code for warning in found.warnings],
    }


def test_every_operator_has_defaults_that_are_values_and_valid_together() -> None:
    assert list(DEFAULTS) == list(Operator)
    for operator, defaults in DEFAULTS.items():
        assert tuple(defaults) == KEYS
        for key, value in defaults.items():
            assert value in {*VALUES[key], NOT_APPLICABLE}
        found = effective(operator, {})
        assert found.effective is not None
        assert (found.errors, found.warnings) == ((), ())


@given(operators, blocks)
def test_what_a_template_says_always_wins(operator: str, asked: dict[str, str]) -> None:
    found = effective(operator, asked)
    if found.effective is None:
        return
    told = as_block(found.effective)
    for key, value in asked.items():
        unused = key == "accumulation_format" and not found.effective.accumulate_data
        assert unused or told[key] == value


@given(operators, blocks)
def test_what_a_template_does_not_say_is_the_default(operator: str, asked: dict[str, str]) -> None:
    found = effective(operator, asked)
    if found.effective is None:
        return
    for key in KEYS[0], KEYS[3]:
        if key not in asked:
            assert asdict(found.effective)[key] == DEFAULTS[Operator(operator)][key]


@given(operators, any_blocks)
@settings(max_examples=300)
def test_a_task_never_continues_and_looks_anew_at_once(
    operator: str, asked: dict[str, str]
) -> None:
    found = effective(operator, asked)
    assert (found.effective is None) == bool(found.errors)
    assert not (found.errors and found.warnings)
    if found.effective is not None:
        assert found.effective.fresh_context == "disabled" or (
            found.effective.inherit_context == "none"
        )
        assert found.effective.accumulate_data == (found.effective.accumulation_format is not None)


@given(operators, blocks)
def test_writing_out_the_effective_settings_changes_nothing(
    operator: str, asked: dict[str, str]
) -> None:
    found = effective(operator, asked).effective
    if found is not None:
        assert effective(operator, as_block(found)).effective == found


@given(st.text(), any_blocks)
def test_any_operator_and_any_block_get_an_answer(operator: str, asked: dict[str, str]) -> None:
    found = effective(operator, asked)
    told = [error.code for error in found.errors]
    assert told == sorted(told)
    assert (f"unknown_operator:{operator}" in told) == (operator not in tuple(Operator))


def test_the_order_of_keys_does_not_matter() -> None:
    asked = {"accumulation_format": "x", "fresh_context": "enabled", "accumulate_data": "maybe"}
    backwards = dict(reversed(asked.items()))
    assert effective("sequential", asked) == effective("sequential", backwards)


@pytest.mark.parametrize("value", ["", "True", "1", "yes", " true", "N/A", "null"])
def test_a_value_outside_the_set_is_refused_whatever_the_operator(value: str) -> None:
    assert codes("sequential", {"accumulate_data": value}) == ["bad_value:accumulate_data"]
    assert codes("script", {"accumulate_data": value}) == ["bad_value:accumulate_data"]


def test_a_bad_value_is_not_also_a_collision() -> None:
    asked = {"inherit_context": "ful", "fresh_context": "enabled"}
    assert codes("sequential", asked) == ["bad_value:inherit_context"]


def test_all_problems_are_told_at_once() -> None:
    asked = {"fresh_context": "enabled", "accumulate_data": "maybe", "inherit": "full"}
    assert codes("atomic.standard", asked) == [
        "bad_value:accumulate_data",
        "exclusive:fresh_context/inherit_context",
        "unknown_element:inherit",
    ]


def test_a_collision_names_both_values_and_where_each_came_from() -> None:
    (default,) = effective(
        "script", {"fresh_context": "enabled"}, lines={"fresh_context": 4}
    ).errors
    assert "fresh_context is `enabled` (line 4)" in default.message
    assert "inherit_context is `full` (default for script)" in default.message
    assert default.line == 4
    (subtask,) = effective("atomic.subtask", {"inherit_context": "subset"}).errors
    assert "fresh_context is `enabled` (default for atomic.subtask)" in subtask.message
    assert "inherit_context is `subset` (given)" in subtask.message
    both = {"inherit_context": "subset", "fresh_context": "enabled"}
    (explicit,) = effective("reduce", both, lines={"inherit_context": 7, "fresh_context": 3}).errors
    assert "(line 3)" in explicit.message
    assert "(line 7)" in explicit.message
    assert explicit.line == 7


def test_messages_name_the_nearest_value() -> None:
    (error,) = effective("sequential", {"inherit_context": "Full"}).errors
    assert error.message == "inherit_context is 'Full': did you mean `full`?"
    assert remedy("zzz", ["a", "b"]) == "write one of `a`, `b`."
    assert remedy("zzz", ["a"]) == "write `a`."
    assert remedy("zzz", []) == "remove it."


@pytest.mark.parametrize(
    ("kind", "subtype", "expected"),
    [
        ("atomic", None, "atomic.standard"),
        ("atomic", "standard", "atomic.standard"),
        ("atomic", "subtask", "atomic.subtask"),
        ("sequential", None, "sequential"),
        ("reduce", None, "reduce"),
        ("script", None, "script"),
        ("atomic", "other", None),
        ("atomic", "", None),
        ("reduce", "inner_task", "reduce"),
        ("reduce.inner_task", None, None),
        ("atomic.subtask", None, None),
        ("", None, None),
    ],
)
def test_type_and_subtype_name_the_operator(
    kind: str, subtype: str | None, expected: str | None
) -> None:
    assert operator_for(kind, subtype) == expected


def test_what_a_continuation_spawns_is_a_subtask() -> None:
    for subtype in (None, *SUBTYPES["atomic"]):
        assert operator_for("atomic", subtype, continuation=True) is Operator.SUBTASK
    assert operator_for("script", continuation=True) is Operator.SCRIPT


def defaults_table() -> str:
    """The table of defaults as the docs show it."""
    rows = [
        ("operator", *KEYS),
        *((operator, *DEFAULTS[operator].values()) for operator in DEFAULTS),
    ]
    head, *body = [
        f"| {' | '.join(cell if cell in {'operator', NOT_APPLICABLE} else f'`{cell}`' for cell in row)} |"
        for row in rows
    ]
    return "\n".join([head, "|---" * len(rows[0]) + "|", *body])


def test_the_docs_show_the_defaults_as_they_are() -> None:
    assert defaults_table() in PAGE.read_text(encoding="utf-8")


def test_the_docs_show_every_value() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for key, values in VALUES.items():
        (row,) = re.findall(rf"^\| `{key}` \| ([^|]+) \|", text, re.MULTILINE)
        assert re.findall(r"`([^`]+)`", row) == list(values)
