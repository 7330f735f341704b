"""Task templates: loaded whole or refused with every problem, its task and its line."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.context.templates.context_settings import Operator
from hornbook.context.templates.template import (
    SHAPES,
    LoadedTemplate,
    PromptPart,
    TaskInput,
    TaskTemplate,
    load_template,
)
from tests.kit.paths import DATA

XML_CASES = json.loads((DATA / "cases/xml_templates.json").read_text(encoding="utf-8"))
SETTING_CASES = [
    json.loads(line)
    for line in (DATA / "cases/context_settings.jsonl").read_text("utf-8").splitlines()
]
D = "<description>d</description>"


def errors(inner: str = "", kind: str = 'type="atomic"') -> list[str]:
    """The codes of a task with a description and this inside."""
    return [error.code for error in load_template(f"<task {kind}>{D}{inner}</task>").errors]


def block(**settings: str) -> str:
    return (
        "<context_management>"
        + "".join(f"<{key}>{value}</{key}>" for key, value in settings.items())
        + "</context_management>"
    )


def loaded(text: str) -> TaskTemplate:
    found = load_template(text)
    assert found.template is not None, found.errors
    return found.template


# The tables of cases


@pytest.mark.parametrize("case", XML_CASES, ids=lambda case: case["id"])
def test_every_xml_case_holds(case: dict[str, Any]) -> None:
    found, expected = load_template(case["xml"]), case["expect"]
    assert [error.code for error in found.errors] == expected.get("errors", [])
    if "operator" in expected:
        assert found.operator == expected["operator"]
    if "effective" in expected:
        assert found.template is not None
        assert asdict(found.template.settings) == expected["effective"]
    if "path" in expected:
        assert {error.path for error in found.errors} == {expected["path"]}


PLACES = {
    "atomic.standard": '<task type="atomic">{}</task>',
    "atomic.subtask": '<task type="atomic" subtype="subtask">{}</task>',
    "sequential": '<task type="sequential">{}</task>',
    "reduce": '<task type="reduce">{}</task>',
    "reduce.inner_task": f'<task type="reduce">{D}<inner_task>{{}}</inner_task></task>',
    "reduce.reduction_task": f'<task type="reduce">{D}<reduction_task>{{}}</reduction_task></task>',
    "script": '<task type="script">{}</task>',
}


@pytest.mark.parametrize("case", SETTING_CASES, ids=lambda case: case["id"])
def test_every_settings_case_holds_in_a_template(case: dict[str, Any]) -> None:
    found = load_template(PLACES[case["operator"]].format(D + block(**case["given"])))
    expected = case["expect"]
    assert [error.code for error in found.errors] == expected["errors"]
    assert [warning.code for warning in found.warnings] == expected["warnings"]
    if found.template is not None:
        tasks = [found.template, *found.template.children]
        assert asdict(tasks[-1].settings) == expected["effective"]


# What a template says


def test_a_template_is_loaded_whole() -> None:
    text = """<?xml version="1.0"?>
    <task type="atomic" subtype="subtask">
      <prompt>
        <part name="second">
          Two lines,
            one indented &amp; <![CDATA[<raw>]]>.
        </part>
        <part name="first">x</part>
      </prompt>
      <description> Judge <!-- a comment -->the change. </description>
      <inputs>
        <input name="diff">The change.</input>
        <input name="notes" required="false"/>
      </inputs>
      <role>reviewer</role>
      <output_schema>review.schema.json</output_schema>
    </task>"""
    found = loaded(text)
    assert (found.name, found.operator, found.description) == (
        "task",
        Operator.SUBTASK,
        "Judge the change.",
    )
    assert (found.role, found.output_schema) == ("reviewer", "review.schema.json")
    assert found.inputs == (
        TaskInput("diff", required=True, description="The change."),
        TaskInput("notes", required=False, description=""),
    )
    assert found.prompt == (
        PromptPart("second", "Two lines,\n  one indented & <raw>."),
        PromptPart("first", "x"),
    )
    assert found.children == ()


def test_tasks_nest_and_each_has_its_path() -> None:
    inner = f'<task type="reduce">{D}<inner_task>{D}</inner_task></task>'
    sequence = f'<task type="sequential">{D}<steps>{inner}</steps></task>'
    found = loaded(
        f'<task type="sequential">{D}<steps><task type="script">{D}</task>{sequence}</steps></task>'
    )
    assert [(path, task.operator.value) for path, task in found.descendants()] == [
        ("steps[0]", "script"),
        ("steps[1]", "sequential"),
        ("steps[1]/steps[0]", "reduce"),
        ("steps[1]/steps[0]/inner_task", "reduce.inner_task"),
    ]


def test_what_a_continuation_spawns_is_a_subtask() -> None:
    text = f'<task type="atomic">{D}</task>'
    assert load_template(text).operator is Operator.ATOMIC
    assert load_template(text, continuation=True).operator is Operator.SUBTASK


# What is refused


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("<setps/>", ["unknown_element:setps"]),
        ("<steps/>", ["unknown_element:steps"]),
        ("<inner_task/>", ["unknown_element:inner_task"]),
        ("<command>rm</command>", ["unknown_element:command"]),
        ("<if/>", ["unknown_element:if"]),
        ("<inherit_context>none</inherit_context>", ["unknown_element:inherit_context"]),
        ("<context_management><fresh/></context_management>", ["unknown_element:fresh"]),
        ("<role>a<b/></role>", ["unknown_element:b"]),
        ("<inputs><part name='x'>y</part></inputs>", ["unknown_element:part"]),
        (D, ["duplicate_element:description"]),
        (D + D, ["duplicate_element:description"]),
        (block() + block(), ["duplicate_element:context_management"]),
        ("<inputs><input/></inputs>", ["missing_attribute:name"]),
        ("<prompt><part>x</part></prompt>", ["missing_attribute:name"]),
        ("<inputs><input name='A b'/></inputs>", ["bad_value:name"]),
        ("<inputs><input name='a' required='yes'/></inputs>", ["bad_value:required"]),
        ("<inputs><input name='a'/><input name=' a '/></inputs>", ["duplicate_name:a"]),
        ("<role color='red'>x</role>", ["unknown_attribute:color"]),
        ("<role/>", ["bad_value:role"]),
        ("<prompt><part name='a'> </part></prompt>", ["bad_value:part"]),
        ("text", ["unexpected_text:task"]),
        ("<inputs>text</inputs>", ["unexpected_text:inputs"]),
        (block(fresh_context="on", inherit_context=""), ["bad_value:fresh_context", "bad_value:inherit_context"]),
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused(inner: str, expected: list[str]) -> None:
    assert errors(inner) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", ["missing_attribute:type"]),
        ('subtype="subtask"', ["missing_attribute:type"]),
        ('type=""', ["unknown_operator:"]),
        ('type="parallel"', ["unknown_operator:parallel"]),
        ('type="Atomic"', ["unknown_operator:Atomic"]),
        ('type="atomic.subtask"', ["unknown_operator:atomic.subtask"]),
        ('type="reduce.inner_task"', ["unknown_operator:reduce.inner_task"]),
        ('type="atomic" subtype="other"', ["unknown_operator:atomic.other"]),
        ('type="sequential" subtype="standard"', ["not_applicable:subtype"]),
        ('type="atomic" id="x"', ["unknown_attribute:id"]),
        ('type="atomic" xmlns="http://example.org"', ["unknown_attribute:xmlns"]),
        ('type=" script "', []),
    ],
)
def test_type_and_subtype_must_name_an_operator(attributes: str, expected: list[str]) -> None:
    assert errors(kind=attributes) == expected


def test_only_the_description_is_required() -> None:
    assert errors() == []
    assert [error.code for error in load_template('<task type="script"/>').errors] == [
        "missing_element:description"
    ]
    empty = load_template('<task type="script"><description> </description></task>')
    assert [error.code for error in empty.errors] == ["bad_value:description"]
    for name in ("inner_task", "reduction_task"):
        assert errors(f"<{name}/>", 'type="reduce"') == ["missing_element:description"]


def test_an_inner_task_has_its_operator_from_its_place() -> None:
    assert errors(f"<inner_task type='atomic'>{D}</inner_task>", 'type="reduce"') == [
        "unknown_attribute:type"
    ]
    assert errors(f"<inner_task>{D}<steps/></inner_task>", 'type="reduce"') == [
        "unknown_element:steps"
    ]


def test_an_include_is_an_unknown_element() -> None:
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd"/>'
    assert errors(include) == ["unknown_element:xi:include"]


def test_instructions_to_others_are_skipped() -> None:
    found = load_template(f'<?xml-stylesheet href="x"?><task type="script">{D}<?php x ?></task>')
    assert found.template is not None


def test_all_problems_are_told_at_once_in_order_with_their_lines() -> None:
    text = """<task type="sequential">
      <context_management>
        <fresh_context>enabled</fresh_context>
        <accumulate_date>true</accumulate_date>
      </context_management>
      <steps>
        <task type="parallel">
          <description>s</description>
          <context_management>
            <inherit_context>ful</inherit_context>
          </context_management>
        </task>
        <loop/>
        <task type="reduce">
          <description>s</description>
          <inner_task>
            <context_management>
              <accumulation_format>notes_only</accumulation_format>
            </context_management>
          </inner_task>
        </task>
      </steps>
    </task>"""
    found = load_template(text)
    assert [(error.code, error.path, error.line) for error in found.errors] == [
        ("exclusive:fresh_context/inherit_context", "sequential", 3),
        ("missing_element:description", "sequential", 1),
        ("unknown_element:accumulate_date", "sequential", 4),
        ("unknown_element:loop", "sequential", 13),
        ("bad_value:inherit_context", "sequential/steps[0]", 10),
        ("unknown_operator:parallel", "sequential/steps[0]", 7),
        ("missing_element:description", "sequential/steps[1]/inner_task", 16),
        ("not_applicable:accumulation_format", "sequential/steps[1]/inner_task", 18),
    ]
    assert (found.template, found.operator) == (None, Operator.SEQUENTIAL)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f'<task type="atomic">{D}<rol>x</rol></task>', "did you mean `role`?"),
        (f'<task type="atomic">{D}<steps/></task>', "belongs to a task of type sequential"),
        (f'<task type="atomic">{D}<part name="x">y</part></task>', "but in <prompt>"),
        (f'<task type="sequental">{D}</task>', "did you mean `sequential`?"),
        (f'<task type="atomic" subtype="other">{D}</task>', "write one of `standard`, `subtask`."),
        (f'<task type="script" subtype="x">{D}</task>', "remove it."),
        (f'<task type="atomic.subtask">{D}</task>', 'write type="atomic" subtype="subtask".'),
        (f'<task type="reduce.inner_task">{D}</task>', "write <inner_task>."),
        (f'<task typ="atomic">{D}</task>', "did you mean `type`?"),
        ("<tasks/>", "did you mean `task`?"),
        (f'<task type="script">{D}{block(inheritContext="full")}</task>', "`inherit_context`?"),
    ],
)
def test_messages_say_what_to_write(text: str, hint: str) -> None:
    assert hint in " ".join(error.message for error in load_template(text).errors)


def test_a_collision_names_the_default_and_the_line() -> None:
    text = f'<task type="atomic">{D}\n{block(fresh_context="enabled")}</task>'
    (error,) = load_template(text).errors
    assert "`enabled` (line 2)" in error.message
    assert "`full` (default for atomic.standard)" in error.message


def test_the_first_of_two_values_is_judged() -> None:
    twice = "<fresh_context>disabled</fresh_context><fresh_context>enabled</fresh_context>"
    assert errors(f"<context_management>{twice}</context_management>") == [
        "duplicate_element:fresh_context"
    ]


def test_a_refused_definition_carries_every_problem() -> None:
    found = load_template("<task>\n<x/></task>")
    assert found.template is None
    assert [error.line for error in found.errors] == [1, 1, 2]


words = st.sampled_from([*SHAPES, "x", "type", "atomic", "sequential", "reduce", "none", "enabled"])
markup = st.recursive(
    words | st.text(max_size=3).map(lambda text: text.replace("<", "")),
    lambda inner: st.builds(
        lambda name, kind, parts: f'<{name} type="{kind}">{"".join(parts)}</{name}>',
        words,
        words,
        st.lists(inner, max_size=4),
    ),
)


@given(st.binary() | st.text() | markup | markup.map(lambda text: f'<task type="{text}">'))
def test_any_text_is_loaded_or_refused(data: bytes | str) -> None:
    found = load_template(data)
    assert isinstance(found, LoadedTemplate)
    assert (found.template is None) == bool(found.errors)
    assert all(error.line >= 1 and error.message for error in found.errors)
