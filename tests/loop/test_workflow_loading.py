"""Workflows are loaded whole, or refused with every problem, its code, line and remedy."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from hornbook.errors import ConfigError
from hornbook.located import MAX_BYTES, MAX_DEPTH, JsonDocument, Refusal, read_json
from hornbook.loop.workflow.definition import SHIPPED, seconds_of
from hornbook.loop.workflow.load import (
    MAX_STEPS,
    load_workflow,
    load_workflows,
    require_workflow,
    shipped_workflow,
    shipped_workflows,
)
from tests.kit.workflow_texts import (
    BAD,
    JSON,
    LOOP,
    SOURCE,
    Bad,
    Definition,
    action,
    definition,
    made,
    step,
    text_of,
)
from tests.kit.workflow_texts import SHIPPED as FILES


def codes(text: str | bytes) -> list[str]:
    return [error.code for error in load_workflow(text).errors]


# Bad definitions


def test_the_table_of_bad_definitions_is_large_and_names_each_kind_of_code() -> None:
    assert len(BAD) >= 40
    assert len({bad.id for bad in BAD}) == len(BAD)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.id)
def test_every_bad_definition_is_refused_with_code_line_and_hint(bad: Bad) -> None:
    text = made(bad)
    loaded = load_workflow(text)
    assert loaded.workflow is None
    line = text[: text.index(bad.at) + 1].count("\n") + (bad.at[0] != "\n")
    found = [error for error in loaded.errors if error.code == bad.code]
    assert [error.line for error in found][:1] == [line], loaded.errors
    assert any(bad.hint in error.message for error in found), found
    assert all(error.message.endswith((".", "?")) for error in loaded.errors)


def test_all_problems_are_told_at_once_in_the_order_of_their_lines() -> None:
    of = definition()
    of["enbled"] = of.pop("enabled")
    step(of, "verdict_check")["condition"]["operator"] = "equals"
    step(of, "reviewer")["on_fail"] = "reviewer_faild"
    action(of, "complete")["payload"]["x"] = "${"
    of["max_iterations"] = -1
    loaded = load_workflow(text_of(of))
    assert [error.code for error in loaded.errors] == snapshot(
        [
            "unknown_step:reviewer_faild",
            "unknown_operator:equals",
            "bad_expression",
            "bad_value:max_iterations",
            "unknown_key:enbled",
        ]
    )
    assert loaded.steps == tuple(each["name"] for each in of["steps"])


def test_a_key_that_stands_twice_is_refused_wherever_it_stands() -> None:
    text = LOOP.replace('"timeout": "30s"', '"timeout": "30s",\n      "timeout": "31s"')
    (error,) = load_workflow(text).errors
    assert (error.code, error.path) == ("duplicate_key:timeout", "steps[2].timeout")
    assert text.split("\n")[error.line - 1].strip() == '"timeout": "31s"'
    assert "line " + str(error.line - 1) in error.message


def test_requiring_a_bad_workflow_tells_every_problem_with_file_and_line() -> None:
    with pytest.raises(ConfigError) as caught:
        require_workflow('{"id": "a",\n "steps": 3}', "a.json")
    assert caught.value.problems == snapshot(
        [
            "a.json, line 1: `max_iterations` is missing: add it.",
            "a.json, line 1: `timeout` is missing: add it.",
            "a.json, line 1: `trigger` is missing: add it.",
            "a.json, line 1: `version` is missing: add it.",
            "a.json, line 2: steps: `steps` is of kind number: write one of kind array.",
        ]
    )


def test_too_many_steps_are_refused() -> None:
    of = definition()
    of["steps"] += [of["steps"][-1]] * MAX_STEPS
    assert "bad_value:steps" in codes(text_of(of))


# Warnings


def test_limits_that_the_workflow_cuts_short_are_told() -> None:
    of = definition()
    step(of, "reviewer")["timeout"] = "31m"
    step(of, "retry_developer_gates")["condition"]["value"] = 4
    loaded = load_workflow(text_of(of))
    assert loaded.workflow is not None
    assert [warning.code for warning in loaded.warnings] == [
        "beyond_limit:reviewer",
        "beyond_limit:retry_developer_gates",
    ]


# The source's definition


def differences(left: object, right: object, path: str = "") -> dict[str, tuple[object, object]]:
    """What two JSON values differ in; steps are compared by their names."""
    if isinstance(left, dict) and isinstance(right, dict):
        found: dict[str, tuple[object, object]] = {}
        for key in sorted({*left, *right}):
            place = f"{path}.{key}" if path else key
            found |= differences(left.get(key), right.get(key), place)
        return found
    return {} if left == right else {path: (left, right)}


def by_name(of: Definition) -> Definition:
    return {**of, "steps": {each["name"]: each for each in of["steps"]}}


def test_the_shipped_loop_is_the_sources_with_exactly_three_edits() -> None:
    source = json.loads(SOURCE.read_text(encoding="utf-8"))
    found = differences(by_name(source), by_name(definition()))
    failing_context = {path: value for path, value in found.items() if "context" in path}
    newest_attempt = {path: value for path, value in found.items() if "context" not in path}
    assert failing_context == snapshot(
        {
            "steps.assemble_context.on_fail": ("reviewer", "context_failed"),
            "steps.context_failed": (
                None,
                {
                    "name": "context_failed",
                    "action": {
                        "type": "publish",
                        "subject": "user.signal.escalate",
                        "payload": {
                            "task_id": "${trigger.payload.task_id}",
                            "reason": "Context assembly failed: ${steps.assemble_context.error}",
                        },
                    },
                    "on_success": "complete",
                },
            ),
        }
    )
    assert newest_attempt == snapshot(
        {
            "steps.max_retries_exceeded.action.payload.last_feedback": (
                "${steps.reviewer.output.feedback}",
                "${steps.last_check.output.feedback}",
            ),
            "steps.structural_gates.action.payload.preset": (
                "${trigger.payload.gate_preset:-go}",
                "${trigger.payload.gate_preset}",
            ),
            "steps.retry_developer_feedback.output_as": (None, "developer"),
            "steps.retry_developer_gates.output_as": (None, "developer"),
            "steps.reviewer.output_as": (None, "last_check"),
            "steps.structural_gates.output_as": (None, "last_check"),
        }
    )
    names = [each["name"] for each in definition()["steps"]]
    assert [each["name"] for each in source["steps"]] == [n for n in names if n != "context_failed"]


def test_the_source_unedited_is_refused_for_what_the_two_edits_mend_and_nothing_else() -> None:
    assert [(error.code, error.path) for error in load_workflow(SOURCE.read_bytes()).errors] == (
        snapshot(
            [
                ("stale:developer", "steps[2].action.payload.files"),
                ("review_without_context:reviewer", "steps[3]"),
                ("may_be_missing:assemble_context", "steps[3].action.prompt"),
                ("may_be_missing:assemble_context", "steps[3].action.prompt"),
                ("stale:developer", "steps[3].action.prompt"),
                ("may_be_missing:assemble_context", "steps[4].action.payload.expected_sops"),
                ("may_be_missing:reviewer", "steps[14].action.payload.last_feedback"),
            ]
        )
    )


# What ships, and what a repository puts in its place


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_shipped_workflow_loads_without_a_warning(file: Path) -> None:
    loaded = load_workflow(file.read_bytes())
    assert (loaded.errors, loaded.warnings) == ((), ())
    assert loaded.id == file.stem


def test_the_shipped_workflows_are_the_files_and_hand_on_to_each_other() -> None:
    assert sorted(SHIPPED) == [file.stem for file in FILES]
    assert set(load_workflows(shipped_workflows(), {})) == set(SHIPPED)


def test_a_repositorys_workflow_wins_by_its_id() -> None:
    own = {"mine.json": LOOP.replace('"30m"', '"40m"').encode()}
    found = load_workflows(shipped_workflows(), own)
    assert found["plan-and-execute"].timeout == 2400
    assert found["plan-refinement"] == shipped_workflow("plan-refinement")


def test_problems_of_all_files_are_told_together() -> None:
    own = {"b.json": LOOP.encode(), "a.json": LOOP.encode(), "c.json": b"[]", "d.json": b"{"}
    with pytest.raises(ConfigError) as caught:
        load_workflows(shipped_workflows(), own)
    assert caught.value.problems == snapshot(
        [
            "b.json: `plan-and-execute` is the id of a.json too: change one.",
            "c.json, line 1: `workflow` is of kind array: write one of kind object.",
            'd.json, line 1: expected a key in `"`, the text ends: correct the JSON.',
        ]
    )


def test_a_workflow_hands_on_only_to_one_that_there_is_and_that_is_enabled() -> None:
    own = {"a.json": LOOP.replace("trigger.task-decomposition", "trigger.task-decompose").encode()}
    with pytest.raises(ConfigError, match="did you mean `task-decomposition`"):
        load_workflows(shipped_workflows(), own)
    off = replace(shipped_workflow("plan-refinement"), enabled=False)
    with pytest.raises(ConfigError, match="`plan-refinement`, which is not enabled"):
        load_workflows([*shipped_workflows(), off], {})


# JSON with lines


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("", 1, "the text ends"),
        ('{\n"a": 1,\n}', 3, "comma too many"),
        ("[1,\n]", 2, "comma too many"),
        ("{\n// no\n}", 2, "no comments"),
        ("{'a': 1}", 1, 'stand in `"`'),
        ('{"a"\n1}', 2, "`:` after the key `a`"),
        ("[1\n2]", 2, "`,` or `]`"),
        ("[NaN]", 1, "a value"),
        ("[1e999]", 1, "too large"),
        ("[" + "9" * 101 + "]", 1, "more than 100 digits"),
        ("[01]", 1, "`,` or `]`"),
        ('["a\nb"]', 1, "control character"),
        ('[\n"\\ud800"]', 2, "surrogate"),
        ("{}\n{}", 2, "after the end"),
        (b'{\n"a": "\xff"}', 2, "UTF-8"),
    ],
)
def test_json_that_is_none_is_refused_at_its_line(text: str | bytes, line: int, hint: str) -> None:
    refusal = read_json(text)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.line) == ("not_json", line)
    assert hint in refusal.message


def test_large_and_deep_texts_are_refused() -> None:
    large, deep = read_json(" " * (MAX_BYTES + 1)), read_json("[" * (MAX_DEPTH + 1))
    assert isinstance(large, Refusal)
    assert isinstance(deep, Refusal)
    assert (large.code, deep.code) == ("too_large", "too_deep")
    assert isinstance(read_json("[" * MAX_DEPTH + "]" * MAX_DEPTH), JsonDocument)


@given(JSON, st.sampled_from([None, 1]), st.booleans())
def test_the_reader_reads_what_the_standard_one_writes(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    read = read_json(json.dumps(value, indent=indent, ensure_ascii=ascii_only))
    assert isinstance(read, JsonDocument)
    assert read.root.plain() == value


@given(st.text() | st.binary())
def test_no_text_makes_loading_raise(text: str | bytes) -> None:
    assert load_workflow(text).errors


@given(st.integers(0, len(LOOP)), st.integers(0, 40), st.text(max_size=5))
def test_no_slip_in_a_definition_makes_loading_raise(at: int, cut: int, put: str) -> None:
    loaded = load_workflow(LOOP[:at] + put + LOOP[at + cut :])
    assert (loaded.workflow is None) == bool(loaded.errors)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("1h30m", 5400), ("1h1s", 3601), ("0s", None), ("", None),
     ("5", None), ("m5", None), ("5m\n", None), ("-5m", None), ("1m1h", None)],
)  # fmt: skip
def test_durations(text: str, seconds: int | None) -> None:
    assert seconds_of(text) == seconds
