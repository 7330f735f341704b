"""The context of a step: two messages, budgets, compression, memory."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbook.agents.assignment import RuleViolation
from hornbook.agents.embedded.fitting import (
    COMPRESSION,
    FittedError,
    FittedList,
    FittedText,
    fit,
    fit_actions,
    fit_file,
    omitted,
    one_line,
    short_error,
    short_list,
    to_yaml,
)
from hornbook.agents.embedded.step import (
    LOADED_ITEMS,
    SCHEMA_TOKENS,
    TOKEN_BUDGET,
    FileEdit,
    Phase,
    Requirement,
    Result,
    StepRecord,
    StepTask,
    loaded_items,
    phase_of,
    task_of,
)
from hornbook.agents.embedded.step_context import StepContext, View, build, system_prompt
from hornbook.errors import UsageError
from hornbook.plans.plan import Constraints
from hornbook.plans.working_memory import MAX_ITEMS
from hornbook.text.tokens import counter
from tests.kit.paths import DOCS
from tests.kit.step_runs import COUNT, PROMPT, assignment, gate

SECTIONS = [
    "task_frame",
    "current_state",
    "recent_actions",
    "verification_status",
    "available_actions",
]


def task(phase: Phase = Phase.IMPLEMENT_GREEN, **more: Any) -> StepTask:
    values: dict[str, Any] = {
        "success_criteria": ("Pages tile",),
        "scope": Constraints(inside=("src/**",)),
        "files": ("src/a.py",),
        "requirements": (Requirement("REQ-1", "Pages tile", ("AC-1: no gap",)),),
    }
    return StepTask("task.p.1", "Add paging.", phase, **{**values, **more})


def record(step: int, action: str = "run_check", **more: Any) -> StepRecord:
    return StepRecord(step, action, **{"target": "all", "summary": f"step {step}", **more})


def sections(context: StepContext) -> dict[str, Any]:
    read = yaml.safe_load(context.context)
    assert isinstance(read, dict)
    return read


def lines(count: int) -> str:
    return "".join(f"value_{n} = {n}\n" for n in range(count))


# Rendering


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=20), inner),
    max_leaves=12,
)


@given(TREES)
def test_yaml_is_read_back_as_it_was(tree: object) -> None:
    assert yaml.safe_load(to_yaml(tree)) == tree


def test_a_text_of_several_lines_stands_as_it_is() -> None:
    assert to_yaml({"a": "x: 1\n  y #\n"}) == "a: |\n  x: 1\n    y #\n"


# Compression, one test for each row of the table


def test_file_content_keeps_first_and_last_lines_around_the_marker() -> None:
    given = [f"line {n}" for n in range(100)]
    shown = fit_file(given, 60, COUNT)
    marker = next(line for line in shown if line.startswith("#"))
    at = shown.index(marker)
    left_out = 100 - (len(shown) - 1)
    assert marker == f"# ... {left_out} lines omitted ..."
    assert shown[:at] == given[:at]
    assert shown[at + 1 :] == given[-at:]
    assert at > 2
    assert COUNT("\n".join(shown)) <= 60


def test_file_content_around_a_place_says_what_is_left_out_on_both_sides() -> None:
    given = [f"line {n}" for n in range(100)]
    shown = fit_file(given, 80, COUNT, focus=50)
    assert "line 50" in shown
    assert re.fullmatch(r"# \.\.\. \d+ lines omitted \.\.\.", shown[0])
    assert re.fullmatch(r"# \.\.\. \d+ lines omitted \.\.\.", shown[-1])
    hidden = sum(int(line.split()[2]) for line in (shown[0], shown[-1]))
    assert hidden + len(shown) - 2 == 100


def test_file_content_that_fits_is_whole() -> None:
    assert fit_file(["a", "b"], 50, COUNT) == ["a", "b"]


@given(st.lists(st.text(alphabet="ab 世\t", max_size=30), min_size=1, max_size=60), st.integers(0, 200))  # fmt: skip
def test_shown_and_omitted_lines_are_all_lines(given: list[str], room: int) -> None:
    shown = fit_file(given, room, COUNT)
    markers = [line for line in shown if re.fullmatch(r"# \.\.\. \d+ lines omitted \.\.\.", line)]
    hidden = sum(int(line.split()[2]) for line in markers)
    assert len(shown) - len(markers) + hidden == len(given)


def test_recent_actions_are_the_last_three_or_two_if_still_over() -> None:
    rows = [1, 2, 3, 4, 5]
    assert fit_actions(rows, lambda few: True) == [3, 4, 5]
    assert fit_actions(rows, lambda few: len(few) < 3) == [4, 5]


def test_tool_results_are_one_line() -> None:
    assert one_line("a\n  b\tc\n") == "a b c"
    assert one_line("word " * 100).count("\n") == 0
    assert len(one_line("word " * 100)) == 160


def test_error_messages_are_their_first_500_characters() -> None:
    text = "".join(chr(97 + n % 26) for n in range(900))
    assert short_error(text) == text[:500]


def test_lists_keep_their_first_items_and_count_the_rest() -> None:
    assert short_list(list("abcde"), 3) == ["a", "b", "c", "and 2 more"]
    assert short_list(["a"], 3) == ["a"]


def test_every_row_of_the_documented_table_is_the_codes() -> None:
    page = (DOCS / "embedded-developer.md").read_text(encoding="utf-8")
    table = page.partition("| Content Type | Compression Strategy |\n")[2].split("\n\n")[0]
    listed = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")]
    assert dict(listed[1:]) == COMPRESSION
    assert omitted(7) == "# ... 7 lines omitted ..."


def test_every_budget_is_documented() -> None:
    page = (DOCS / "embedded-developer.md").read_text(encoding="utf-8")
    for name, tokens in (*TOKEN_BUDGET.items(), *SCHEMA_TOKENS.items()):
        assert f"| `{name}` | {tokens} |" in page


@given(st.lists(st.text(max_size=400), max_size=30), st.text(max_size=3000), st.integers(300, 900))
@settings(max_examples=60, deadline=None)
def test_whatever_is_fitted_keeps_to_its_room(items: list[str], text: str, room: int) -> None:
    tree = {
        "list": FittedList(items),
        "text": FittedText(text),
        "word": text,
        "error": FittedError(text),
    }
    assert COUNT(to_yaml(fit(tree, room, COUNT))) <= room


@pytest.mark.parametrize("room", range(20, 500, 7))
def test_a_text_that_grows_when_it_is_quoted_still_keeps_to_its_room(room: int) -> None:
    tree = {"text": FittedText('\\"' * 150), "more": FittedText("'\t\\" * 90)}
    assert COUNT(to_yaml(fit(tree, max(room, 40), COUNT))) <= max(room, 40)


# Budgets and sections


def test_the_budget_is_the_sources_and_comes_to_8000() -> None:
    assert list(TOKEN_BUDGET.values()) == [1000, 500, 4500, 1000, 200, 800]
    assert sum(TOKEN_BUDGET.values()) == 8000
    assert list(SCHEMA_TOKENS.values()) == [6000, 8000, 6000]


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("name", ["cl100k", "o200k"])
def test_what_never_changes_fits_its_budget(phase: Phase, name: str) -> None:
    count = counter(name)
    context = build(View(task(phase)), count)
    for section, tokens in context.sections.items():
        assert tokens <= TOKEN_BUDGET[section], section
    assert "{actions}" not in system_prompt(phase)
    assert "read_file, search, edit_file" in system_prompt(phase)


def test_a_step_has_the_sections_of_the_source_in_order() -> None:
    records = (
        record(0, gates=(gate("build", passed=True), gate("test", passed=False, output="x"))),
        record(1, "edit_file", result=Result.ERROR, error="no"),
    )
    read = sections(build(View(task(), records, {"src/a.py": "x = 1\n"}), COUNT))
    assert list(read) == SECTIONS
    assert list(read["task_frame"]) == ["id", "goal", "success_criteria", "phase", "constraints"]
    assert read["task_frame"]["constraints"] == ["IN: src/**"]
    assert list(read["recent_actions"][0]) == ["step", "action", "target", "result", "summary", "error"]  # fmt: skip
    assert read["verification_status"] == {
        "checks_passing": 1,
        "checks_failing": 1,
        "tests_passing": False,
        "ready_for_completion": False,
    }
    assert [each["name"] for each in read["available_actions"]] == [
        "read_file",
        "search",
        "edit_file",
        "run_check",
        "load_context",
        "clear_context",
        "complete",
        "escalate",
    ]


def test_a_violation_is_shown_with_its_check_and_the_numbered_file() -> None:
    broken = RuleViolation("V-1", "cli-help", "major", "src/a.py", "no help", "add help=", 2, "help=", "every option has help")  # fmt: skip
    view = View(task(Phase.FIX_VIOLATION, violation=broken), (), {"src/a.py": "x = 1\ny = 2\n"})
    state = sections(build(view, COUNT))["current_state"]
    assert state["violation"] == {
        "id": "V-1",
        "check_id": "cli-help",
        "severity": "major",
        "file_path": "src/a.py",
        "message": "no help",
        "fix_hint": "add help=",
    }
    assert state["check_definition"] == {
        "pattern": "help=",
        "requirement": "every option has help",
    }
    assert state["file_content"] == {"path": "src/a.py", "content": "   1  x = 1\n   2  y = 2"}


def test_a_violation_follows_from_a_failing_gate_where_none_is_given() -> None:
    failing = gate("lint", passed=False, output="src/a.py:700: E1 bad name\n")
    view = View(task(Phase.FIX_VIOLATION), (record(0, gates=(failing,)),), {"src/a.py": lines(3000)})  # fmt: skip
    state = sections(build(view, COUNT))["current_state"]
    assert state["violation"]["check_id"] == "lint"
    assert state["violation"]["message"] == "E1 bad name"
    assert " 700  value_699 = 699" in state["file_content"]["content"]
    assert state["verification"]["remaining_issues"] == [
        {"line": 700, "file": "src/a.py", "issue": "E1 bad name"}
    ]


def test_a_feature_shows_its_spec_files_and_test_requirements() -> None:
    view = View(
        task(files=("src/a.py", "src/b.py"), test_requirements=("`make test` must pass",)),
        (),
        {"src/a.py": "x = 1\n", "src/b.py": None},
    )
    state = sections(build(view, COUNT))["current_state"]
    assert state["spec"]["requirements"] == [
        {"id": "REQ-1", "description": "Pages tile", "acceptance_criteria": ["AC-1: no gap"]}
    ]
    assert state["target_files"] == [
        {"path": "src/a.py", "status": "to_modify", "relevant_section": "   1  x = 1"},
        {"path": "src/b.py", "status": "to_create"},
    ]
    assert state["test_requirements"] == ["`make test` must pass"]


def test_tests_to_write_are_shown_an_example_and_their_file() -> None:
    view = View(
        task(Phase.IMPLEMENT_RED, files=("src/a.py", "tests/test_a.py")),
        (),
        {"src/a.py": "x = 1\n", "tests/test_a.py": None},
        example="def test_b():\n    assert 1\n",
    )
    state = sections(build(view, COUNT))["current_state"]
    assert state["test_patterns"]["example_test"] == "def test_b():\n    assert 1"
    assert state["target_test_file"] == {"path": "tests/test_a.py", "existing_content": None}


def test_loaded_items_stand_inside_the_current_state() -> None:
    view = View(task(), (), {}, (("full_file:src/z.py", "z = 26\n"),))
    read = sections(build(view, COUNT))
    assert read["current_state"]["loaded_context"] == [
        {"key": "full_file:src/z.py", "content": "z = 26"}
    ]
    assert list(read) == SECTIONS


def test_three_rows_with_long_errors_stay_within_their_budget() -> None:
    records = tuple(
        record(n, result=Result.ERROR, error="世界" * 900, summary="é" * 900) for n in range(1, 5)
    )
    context = build(View(task(), records), COUNT)
    assert context.sections["recent_actions"] <= 1000
    assert "世界世界世界" in context.context


def test_the_last_error_stays_visible_after_it_left_the_recent_actions() -> None:
    records = (
        record(1, "edit_file", result=Result.ERROR, error="`search` is not in src/a.py"),
        *(record(n) for n in range(2, 40)),
    )
    state = sections(build(View(task(), records), COUNT))["current_state"]
    assert state["last_error"] == {
        "step": 1,
        "action": "edit_file",
        "error": "`search` is not in src/a.py",
    }


TEXTS = st.text(max_size=60) | st.sampled_from(
    ["世界" * 400, "word " * 900, "\x00\x1b[0m\r\n" * 50]
)


@given(
    phase=st.sampled_from(list(Phase)),
    words=st.lists(TEXTS, max_size=20),
    text=TEXTS,
    count=st.sampled_from(["cl100k", "o200k"]),
    repeated=st.integers(1, 300),
)
@settings(max_examples=60, deadline=None)
def test_no_prompt_is_over_its_budget_whatever_it_is_made_from(
    phase: Phase, words: list[str], text: str, count: str, repeated: int
) -> None:
    many = tuple(words)
    view = View(
        StepTask(
            text,
            text * 3,
            phase,
            many,
            Constraints(many),
            ("src/a.py",),
            text,
            tuple(Requirement(word, word, (word,)) for word in many),
            many,
            many,
            feedback=text * repeated,
        ),
        tuple(
            record(
                n,
                target=text,
                summary=text,
                error=text or None,
                gates=(gate(text[:20], passed=n % 2 == 0, output=text * 9),),
            )
            for n in range(6)
        ),
        {"src/a.py": text * repeated, text[:50]: text, "src/c.py": None},
        (("a", text * repeated), ("b", text)),
        text,
    )
    context = build(view, counter(count))
    assert context.tokens <= SCHEMA_TOKENS[phase.schema]
    assert list(sections(context)) == SECTIONS


# Memory


def load(step: int, key: str, **given: str) -> StepRecord:
    return record(step, "load_context", parameters=tuple({"item": key, **given}.items()), loads=key)


def keys(records: list[StepRecord], step: int) -> list[str]:
    return [item.key for item in loaded_items(records, step)]


def test_memory_has_five_slots_of_which_two_hold_loaded_items() -> None:
    assert (MAX_ITEMS, LOADED_ITEMS) == (5, 2)
    records = [load(1, "a"), load(2, "b"), load(3, "c")]
    assert keys(records, 4) == ["b", "c"]


def test_a_loaded_item_is_shown_for_three_steps() -> None:
    assert [keys([load(1, "a")], step) for step in (2, 4, 5)] == [["a"], ["a"], []]


def test_a_pinned_item_is_neither_displaced_nor_expired() -> None:
    records = [load(1, "a", pinned="true"), load(2, "b"), load(3, "c")]
    assert keys(records, 4) == ["a", "c"]
    assert keys(records, 90) == ["a"]


def test_a_cleared_item_is_gone_and_one_loaded_again_is_new() -> None:
    records = [load(1, "a"), load(2, "b"), record(3, "clear_context", parameters=(("item", "a"),))]
    assert keys(records, 4) == ["b"]
    assert keys([*records, record(4, "clear_context")], 5) == []
    assert keys([load(1, "a"), load(2, "b"), load(3, "a"), load(4, "c")], 5) == ["a", "c"]


# Tasks


def test_a_task_is_made_from_its_assignment(tmp_path: Path) -> None:
    made = task_of(assignment(tmp_path, "src/a.py", feedback="No."))
    assert made.goal == "Mark every part of the ledger."
    assert made.phase is Phase.IMPLEMENT_GREEN
    assert made.success_criteria == ("Every part is marked",)
    assert made.test_requirements == ("`make test` must pass",)
    assert (made.feedback, made.specification) == ("No.", PROMPT)


def test_phases_have_their_schemas_and_unknown_ones_are_refused() -> None:
    assert [
        phase_of(name).schema.value
        for name in ("fix_violation", "implement_red", "implement_green", "refine")
    ] == [
        "fix_violation",
        "write_tests",
        "implement_feature",
        "implement_feature",
    ]
    assert phase_of("write_tests") is Phase.IMPLEMENT_RED
    with pytest.raises(UsageError, match="did you mean 'refine'"):
        phase_of("refin")


def test_changed_files_are_shown_beside_the_tasks() -> None:
    records = (record(1, "edit_file", change=FileEdit("src/new.py", None, "x")),)
    state = sections(build(View(task(), records, {"src/new.py": "n = 1\n"}), COUNT))[
        "current_state"
    ]
    assert {"path": "src/new.py", "status": "to_modify", "relevant_section": "   1  n = 1"} in state["target_files"]  # fmt: skip
