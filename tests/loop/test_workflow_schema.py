"""The JSON schema for editors judges as the loader does, as far as a schema can."""

import json
from copy import deepcopy
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.loop.workflow.expressions import OPERATORS
from hornbook.loop.workflow.load import MAX_STEPS, TRIGGER_KEYS, WORKFLOW_KEYS, load_workflow
from hornbook.loop.workflow.parts import CONDITION_KEYS, STEP_KEYS
from hornbook.loop.workflow.subjects import ActionType
from tests.kit.workflow_texts import BAD, FOLDER, LOOP, SHIPPED, Bad, made

SCHEMA = json.loads((FOLDER / "workflow.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

# What needs more than one place of a definition, or the inside of a text.
BEYOND = (
    "duplicate_key:", "duplicate_step:", "unknown_step:", "unknown_field:", "bad_expression",
    "unreachable_step:", "cannot_end:", "unguarded_cycle:", "may_be_missing:", "stale:",
    "review_without_gates:", "review_without_context:", "unearned_approval:", "bad_value:output_as",
    "bad_value:field", "bad_value:value",
)  # fmt: skip


def accepts(value: object) -> bool:
    return bool(VALIDATOR.is_valid(value))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_lists_what_the_tables_list() -> None:
    parts = SCHEMA["$defs"]
    assert set(SCHEMA["properties"]) == set(WORKFLOW_KEYS)
    assert set(SCHEMA["required"]) == {name for name, key in WORKFLOW_KEYS.items() if key.required}
    assert set(SCHEMA["properties"]["trigger"]["properties"]) == set(TRIGGER_KEYS)
    assert SCHEMA["properties"]["steps"]["maxItems"] == MAX_STEPS
    assert set(parts["step"]["properties"]) == set(STEP_KEYS)
    assert set(parts["condition"]["properties"]) == set(CONDITION_KEYS)
    assert parts["condition"]["properties"]["operator"]["enum"] == list(OPERATORS)
    assert parts["action"]["properties"]["type"]["enum"] == list(ActionType)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_the_schema_accepts_what_ships(file: Any) -> None:
    VALIDATOR.validate(json.loads(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.id)
def test_the_schema_sees_what_a_schema_can_see(bad: Bad) -> None:
    assert accepts(json.loads(made(bad))) != bad.seen


Path = tuple[str | int, ...]


def places(value: Any, above: Path = ()) -> list[Path]:
    inner: list[Path] = []
    if isinstance(value, dict):
        inner = [place for key, each in value.items() for place in places(each, (*above, key))]
    elif isinstance(value, list):
        inner = [
            place for index, each in enumerate(value) for place in places(each, (*above, index))
        ]
    return [above, *inner] if above else inner


GOOD = [json.loads(file.read_text(encoding="utf-8")) for file in SHIPPED]
WORDS = ["", " ", "eq", "lt", "exists", "call", "ask", "publish", "publish_agent", "complete", "5m",
         "1.0.0", "a b", "workflow.events", "workflow.trigger.x", "workflow.gate.structural",
         "user.signal.question", "agent.task.review", "${execution.iteration}", "approved"]  # fmt: skip
SIMPLE = st.none() | st.booleans() | st.integers(-2, 200) | st.sampled_from(WORDS)
ODD = SIMPLE | st.lists(SIMPLE, max_size=2) | st.dictionaries(st.sampled_from(["type", "subject", "x"]), SIMPLE, max_size=2)  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn) -> Any:
    of = deepcopy(draw(st.sampled_from(GOOD)))
    for _ in range(draw(st.integers(1, 3))):
        *above, key = draw(st.sampled_from(places(of)))
        holder = of
        for each in above:
            holder = holder[each]
        how = draw(st.sampled_from(["drop", "put", "add"]))
        if how == "drop":
            del holder[key]
        elif how == "put":
            holder[key] = draw(ODD)
        elif isinstance(holder, dict):
            names = sorted({*STEP_KEYS, *WORKFLOW_KEYS, "payload", "role", "status", "typ"})
            holder[draw(st.sampled_from(names))] = draw(ODD)
    return of


def another_trigger(of: Any) -> bool:
    trigger = of.get("trigger")
    return (
        isinstance(trigger, dict) and trigger.get("subject") != f"workflow.trigger.{of.get('id')}"
    )


@given(mutations())
def test_the_loader_refuses_what_the_schema_refuses_and_more_only_beyond_a_schema(of: Any) -> None:
    errors = load_workflow(json.dumps(of, indent=2)).errors
    seen = [error.code for error in errors if not error.code.startswith(BEYOND)]
    if another_trigger(of):
        seen = [code for code in seen if code != "bad_value:subject"]
    if accepts(of):
        assert seen == []
    else:
        assert errors


def test_the_schema_is_not_laxer_than_it_must_be() -> None:
    """A text that repeats a key is one that only the loader can see."""
    twice = LOOP.replace('"enabled": true,', '"enabled": true, "enabled": true,')
    assert accepts(json.loads(twice))
    assert [error.code for error in load_workflow(twice).errors] == ["duplicate_key:enabled"]
