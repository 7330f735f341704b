"""The embedded developer from its first step to its last: loops, restarts, limits, flatness."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from hornbook.agents.assignment import Answer, Limits, Role
from hornbook.agents.embedded.progress import LoopRules, allowed_steps, progress_steps, stuck
from hornbook.agents.embedded.scoped_worktree import ScopedWorktree
from hornbook.agents.embedded.step import FileEdit, Phase, Result, StepRecord, StepTask
from hornbook.agents.embedded.step_store import StepStore
from hornbook.errors import StoreError, UsageError
from hornbook.gates.gate import GateReport
from hornbook.plans.plan import Constraints
from tests.kit.paths import DOCS
from tests.kit.pytest_command import PYTEST
from tests.kit.step_runs import (
    COUNT,
    LONG_STEPS,
    LongRun,
    Script,
    act,
    assignment,
    developer,
    gate,
    long_run,
    report,
)
from tests.kit.working_memory import require_shape
from tests.kit.workspaces import write

TASK = StepTask("t", "g", Phase.IMPLEMENT_GREEN)
RULES = LoopRules()


def step(number: int, action: str = "run_check", **more: Any) -> StepRecord:
    return StepRecord(number, action, **more)


def changed(number: int, after: str, output: str | None, before: str = "0") -> StepRecord:
    gates = (gate("test", passed=output is None, output=output or ""),)
    return step(number, "edit_file", parameters=(("n", after),), change=FileEdit("a", before, after), gates=gates)  # fmt: skip


# Loop rules


def test_the_same_action_with_the_same_parameters_three_times_is_a_loop() -> None:
    looking = [step(n, "read_file", parameters=(("path", "a"),), target="a") for n in (1, 2, 3)]
    assert stuck(looking[:2], TASK, RULES) is None
    told = stuck(looking, TASK, RULES)
    assert told == "read_file a was asked for 3 times with the same parameters"


def test_looking_again_after_a_change_is_no_repetition() -> None:
    looks = [step(n, "run_check") for n in range(1, 7)]
    records = [*looks[:2], changed(3, "x", None), *(replace(each, step=each.step + 1) for each in looks[2:4])]  # fmt: skip
    assert stuck(records, TASK, RULES) is None


def test_the_same_error_three_times_is_a_loop_and_no_error_is_not() -> None:
    failed = [step(n, f"a{n}", result=Result.ERROR, error="no such file") for n in (1, 2, 3)]
    assert stuck(failed[:2], TASK, RULES) is None
    assert stuck(failed, TASK, RULES) == "the same error came 3 times: no such file"
    assert stuck([step(n, f"a{n}", error=None) for n in range(1, 9)], TASK, RULES) is None
    assert stuck([step(n, f"a{n}", error="") for n in range(1, 9)], TASK, RULES) is None


def test_the_same_diff_twice_is_a_loop() -> None:
    there_and_back = [changed(1, "x", "e1"), changed(2, "0", "e2", before="x"), changed(3, "x", "e3")]  # fmt: skip
    assert stuck(there_and_back[:2], TASK, RULES) is None
    assert stuck(there_and_back, TASK, RULES) == "the same change of a was made 2 times"


def test_the_same_gate_failure_after_two_changes_is_a_loop() -> None:
    records = [changed(1, "x", "E in 0.12s"), step(2), changed(3, "y", "E in 3.4s")]
    assert stuck(records, TASK, RULES) == "test failed in the same way after 2 changes"
    assert stuck([records[0], changed(3, "y", "F")], TASK, RULES) is None
    passed = [changed(1, "x", None), changed(2, "y", None)]
    assert stuck(passed, TASK, RULES) is None


def test_where_tests_are_written_their_failure_is_no_loop() -> None:
    records = [changed(1, "x", "E"), changed(2, "y", "E")]
    assert stuck(records, replace(TASK, phase=Phase.IMPLEMENT_RED), RULES) is None


def test_no_progress_after_the_first_change_is_a_loop() -> None:
    looks = [step(n, f"look{n}") for n in range(1, 12)]
    assert stuck(looks, TASK, RULES) is None
    idle = [changed(1, "x", "E"), *(step(n, f"look{n}") for n in range(2, 12))]
    assert stuck(idle[:-1], TASK, RULES) is None
    assert stuck(idle, TASK, RULES) == "no progress in the 10 steps since step 1"


def outputs(left: int) -> str:
    return "".join(f"a.py:{n}: wrong\n" for n in range(1, left + 1))


def progressing(count: int) -> list[StepRecord]:
    """A change every third step, each of which leaves one issue less."""
    records = [step(0, gates=(gate("test", passed=False, output=outputs(99)),))]
    for n in range(1, count + 1):
        if n % 3 == 0:
            records.append(changed(n, f"x{n}", outputs(99 - n)))
        else:
            records.append(step(n, f"look{n}"))
    return records


def test_steps_grow_from_15_with_progress_up_to_the_most() -> None:
    looks = [step(n, f"look{n}") for n in range(16)]
    assert stuck(looks[:15], TASK, RULES) is None
    assert stuck(looks, TASK, RULES) == "15 steps were taken and 15 are allowed"
    assert progress_steps(progressing(7), TASK) == (3, 6)
    assert [allowed_steps(progress_steps(progressing(n), TASK), RULES) for n in (2, 3, 6, 49)] == [
        15,
        25,
        35,
        175,
    ]
    few = replace(RULES, most_steps=50)
    assert stuck(progressing(49), TASK, few) is None
    assert stuck(progressing(50), TASK, few) == "50 steps were taken and 50 are allowed"


def test_more_issues_than_the_fewest_so_far_are_no_progress() -> None:
    records = [
        step(0, gates=(gate("test", passed=False, output=outputs(5)),)),
        changed(1, "a", outputs(3)),
        changed(2, "b", outputs(4)),
        changed(3, "c", outputs(3)),
        changed(4, "d", None),
    ]
    assert progress_steps(records, TASK) == (1, 4)


def test_a_feature_advances_on_a_green_base() -> None:
    task = replace(TASK, files=("a.py", "b.py", "test_a.py"))
    output = "===== {} passed in 0.10s ====="

    def made(number: int, path: str, said: str, *, passed: bool = True) -> StepRecord:
        check = gate("test", passed=passed, output=said)
        return step(number, "edit_file", change=FileEdit(path, "", str(number)), gates=(check,))

    begun = [step(0, gates=(gate("test", passed=True, output=output.format(2)),))]
    broken = [
        made(1, "a.py", outputs(4), passed=False),
        made(2, "a.py", outputs(3), passed=False),  # less to mend than since work began
        made(3, "a.py", output.format(2)),
    ]
    assert progress_steps([*begun, *broken], task) == (2, 3)
    grown = [
        made(4, "b.py", output.format(2)),  # another of the task's files
        made(5, "b.py", output.format(2)),
        made(6, "c.py", output.format(2)),  # one that is none of the task's
        made(7, "test_a.py", output.format(3)),
        made(8, "test_a.py", output.format(4)),  # one more test that passes
        made(9, "test_a.py", output.format(3)),
        made(10, "a.py", outputs(1), passed=False),
        made(11, "a.py", output.format(4)),  # broken and mended is where it was
    ]
    assert progress_steps([*begun, *broken, *grown], task) == (2, 3, 4, 7, 8)


# Whole runs


def run(
    root: Path,
    answers: Sequence[str | Answer],
    check: Any,
    *files: str,
    **more: Any,
) -> tuple[Answer, Script, list[Mapping[str, object]]]:
    model, events = Script(answers), list[Mapping[str, object]]()
    made = developer(model, check, root / "state", **more.pop("developer", {}))
    answer = made.work(assignment(root / "tree", *files, **more), events.append)
    return answer, model, events


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "tree", {"src/a.py": "x = 1\n", "src/b.py": "import a\n"})
    return tmp_path


def wants_two(root: Path) -> Any:
    def check(names: Sequence[str]) -> GateReport:
        del names
        text = (root / "tree/src/a.py").read_text()
        right = text == "x = 2\n"
        return report(gate("test", passed=right, output=f"src/a.py:1: x is not 2 but {text!r}\n"))

    return check


LOOK = act("load_context", item="full_file:src/b.py")
WRONG = act("edit_file", path="src/a.py", search="x = 1", replace="x = 3")
RIGHT = act("edit_file", path="src/a.py", search="x = 3", replace="x = 2")
DONE = act("complete", summary="x is 2")


def test_a_task_is_worked_on_until_it_is_complete(root: Path) -> None:
    answers = [LOOK, DONE, WRONG, RIGHT, DONE]
    answer, model, events = run(root, answers, wants_two(root), "src/a.py")
    assert (answer.text, answer.error, answer.escalation) == ("x is 2", None, None)
    assert answer.claimed_files == ("src/a.py",)
    assert (answer.usage.steps, answer.usage.input_tokens, answer.usage.output_tokens) == (5, 50, 25)  # fmt: skip
    assert (root / "tree/src/a.py").read_text() == "x = 2\n"
    told = [(event["step"], event["action"], event["result"]) for event in events]
    assert told == [
        (0, "run_check", "failing"),
        (1, "load_context", "success"),
        (2, "complete", "error"),
        (3, "edit_file", "failing"),
        (4, "edit_file", "success"),
        (5, "complete", "success"),
    ]
    for event, (system, context) in zip(events[1:], model.asked, strict=True):
        tokens = COUNT(system) + COUNT(context)
        assert (event["tokens"], event["utilisation"]) == (tokens, round(tokens / 8000, 4))


def test_every_key_of_an_event_is_documented(root: Path) -> None:
    _, _, events = run(root, [WRONG, RIGHT, DONE], wants_two(root), "src/a.py")
    page = (DOCS / "embedded-developer.md").read_text(encoding="utf-8")
    table = page.partition("| key | value |\n")[2].split("\n\n")[0]
    listed = re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.split("\n")))
    assert listed == list(events[0])


def test_each_step_sees_what_the_one_before_it_did(root: Path) -> None:
    answers = [LOOK, DONE, WRONG, RIGHT, DONE]
    _, model, _ = run(root, answers, wants_two(root), "src/a.py")
    seen = [yaml.safe_load(context) for _, context in model.asked]
    loaded = [view["current_state"].get("loaded_context") for view in seen]
    item = [{"key": "full_file:src/b.py", "content": "   1  import a"}]
    assert loaded == [None, item, item, item, None]
    assert "not complete" in seen[2]["recent_actions"][-1]["error"]
    assert [view["current_state"]["target_files"][0]["relevant_section"] for view in seen[2:]] == ["   1  x = 1", "   1  x = 3", "   1  x = 2"]  # fmt: skip
    assert [view["verification_status"]["ready_for_completion"] for view in seen] == [False] * 4 + [True]  # fmt: skip


SHOWN = {
    "full_file:src/b.py": "1  import a",
    "related_files": "== src/b.py ==",
    "test_output": "x is not 2 but",
    "spec_section:the-task": "# The task",
    "error_details": "== test: failed ==",
}


@pytest.mark.parametrize("item", SHOWN)
def test_what_is_loaded_is_in_the_next_prompt(root: Path, item: str) -> None:
    answers: list[str | Answer] = [act("load_context", item=item), Answer(error="stop")]
    _, model, _ = run(root, answers, wants_two(root), "src/a.py")
    state = yaml.safe_load(model.asked[1][1])["current_state"]
    assert [each["key"] for each in state["loaded_context"]] == [item]
    assert SHOWN[item] in state["loaded_context"][0]["content"]
    assert "loaded_context" not in yaml.safe_load(model.asked[0][1])["current_state"]


def test_an_unreadable_answer_is_an_error_that_the_model_sees(root: Path) -> None:
    answers = ["I would rather not.", act("escalate", reason="What is x?")]
    answer, model, _ = run(root, answers, wants_two(root), "src/a.py")
    assert answer.escalation == "What is x?"
    row = yaml.safe_load(model.asked[1][1])["recent_actions"][-1]
    assert row["action"] == "unreadable"
    assert row["error"].startswith("no action was found")


def test_a_loop_ends_in_an_escalation_with_its_reason(root: Path) -> None:
    answer, model, _ = run(root, [act("search", pattern="x")] * 9, wants_two(root), "src/a.py")
    assert answer.escalation == "search x was asked for 3 times with the same parameters"
    assert len(model.asked) == 3
    assert yaml.safe_load((root / "state/state.yaml").read_text())["status"] == "escalated"


def test_without_any_check_nothing_is_ever_complete(root: Path) -> None:
    answers = [WRONG, DONE, act("escalate", reason="no checks")]
    answer, model, _ = run(root, answers, lambda names: report(), "src/a.py")
    assert answer.escalation == "no checks"
    statuses = [yaml.safe_load(context)["verification_status"] for _, context in model.asked]
    assert [status["ready_for_completion"] for status in statuses] == [False] * 3
    assert [status["tests_passing"] for status in statuses] == [None] * 3


def test_an_edit_out_of_scope_is_told_and_not_made(root: Path) -> None:
    answers = [WRONG, act("escalate", reason="scope")]
    _, model, _ = run(root, answers, wants_two(root), constraints=Constraints(outside=("src/**",)))
    assert "out of scope" in yaml.safe_load(model.asked[1][1])["recent_actions"][0]["error"]
    assert (root / "tree/src/a.py").read_text() == "x = 1\n"


def test_a_wait_is_handed_on_and_the_same_step_is_asked_again(root: Path) -> None:
    busy = Answer(error="429", retry_after=7.0)
    answer, _, events = run(root, [WRONG, busy], wants_two(root), "src/a.py")
    assert (answer.retry_after, answer.usage.steps) == (7.0, 1)
    answer, model, later = run(root, [RIGHT, DONE], wants_two(root), "src/a.py")
    assert (answer.text, answer.usage.steps) == ("x is 2", 3)
    assert [event["step"] for event in (*events, *later)] == [0, 1, 1, 2, 3]
    assert later[0] == events[1]
    assert yaml.safe_load(model.asked[0][1])["recent_actions"][-1]["step"] == 1


def test_an_error_of_the_model_is_handed_on(root: Path) -> None:
    answer, _, _ = run(root, [Answer(error="bad key")], wants_two(root), "src/a.py")
    assert (answer.error, answer.retry_after, answer.text) == ("bad key", None, "")


def test_steps_tokens_and_seconds_are_limited(root: Path) -> None:
    answers = [act("search", pattern=f"x{n}") for n in range(30)]
    answer, _, _ = run(root, answers, wants_two(root), limits=Limits(steps=4))
    assert answer.escalation == "4 steps were taken and 4 are allowed"
    shutil.rmtree(root / "state")
    answer, _, _ = run(root, answers, wants_two(root), limits=Limits(tokens=40))
    assert answer.escalation == "45 tokens were spent and 40 are allowed"
    shutil.rmtree(root / "state")
    ticks = iter(range(0, 10_000, 100))
    clock = {"clock": lambda: float(next(ticks))}
    answer, _, _ = run(root, answers, wants_two(root), limits=Limits(seconds=250), developer=clock)
    assert answer.error == "the 250 seconds of this attempt are spent; step 3 was next"


def test_a_model_with_a_small_window_gets_smaller_prompts_or_is_told(root: Path) -> None:
    write(root / "tree", {"src/a.py": "".join(f"x{n} = {n}\n" for n in range(3000))})
    stop: list[str | Answer] = [Answer(error="stop")]
    small = {"room": 2500}
    _, model, _ = run(root, stop, wants_two(root), "src/a.py", developer=small)
    ((system, context),) = model.asked
    assert 2000 < COUNT(system) + COUNT(context) <= 2500
    answer, model, _ = run(root, stop, wants_two(root), "src/a.py", developer={"room": 500})
    assert "tokens and may have 500" in (answer.error or "")
    assert model.asked == []


def test_another_role_is_refused(root: Path) -> None:
    with pytest.raises(UsageError, match="not a reviewer"):
        run(root, [], wants_two(root), role=Role.REVIEWER)


# State on disk


def test_the_state_on_disk_is_the_sources(root: Path) -> None:
    run(root, [LOOK, WRONG, RIGHT, DONE], wants_two(root), "src/a.py")
    state = root / "state"
    assert sorted(each.name for each in state.iterdir()) == ["actions.jsonl", "artifacts", "state.yaml", "task.yaml", "working_memory.yaml"]  # fmt: skip
    task = yaml.safe_load((state / "task.yaml").read_text())
    assert (task["id"], task["goal"]) == ("task.ledger.1", "Mark every part of the ledger.")
    projected = yaml.safe_load((state / "state.yaml").read_text())
    assert (projected["status"], projected["step"]) == ("complete", 4)
    assert projected["verification"]["checks"]["test"]["passing"] is True
    memory = yaml.safe_load((state / "working_memory.yaml").read_text())
    require_shape(memory)
    assert [item["type"] for item in memory["items"]] == ["action_result"] * 3
    snapshots = state / "artifacts/snapshots"
    assert (snapshots / "0002/before").read_text() == "x = 1\n"
    assert (snapshots / "0002/after").read_text() == "x = 3\n"
    assert (state / "artifacts/inputs/specification.md").read_text().startswith("# Instructions")
    assert (state / "artifacts/outputs/0002-test.txt").read_text().startswith("src/a.py:1:")
    assert len((state / "actions.jsonl").read_text().splitlines()) == 5


def test_loaded_items_are_in_the_working_memory(root: Path) -> None:
    run(root, [LOOK, Answer(error="stop")], wants_two(root), "src/a.py")
    memory = yaml.safe_load((root / "state/working_memory.yaml").read_text())
    require_shape(memory)
    assert memory["items"][1] == {
        "type": "loaded_context",
        "key": "full_file:src/b.py",
        "content": "   1  import a",
        "added_at": "2026-01-01T00:00:00+00:00",
        "expires_after_steps": 3,
    }


SCRIPT = [LOOK, DONE, WRONG, "hm", RIGHT, DONE]


@pytest.mark.parametrize("cut", range(1, 6))
@pytest.mark.parametrize("reset", [False, True])
def test_a_restart_at_any_step_asks_and_ends_as_if_nothing_had_happened(
    tmp_path: Path, cut: int, reset: bool
) -> None:
    prompts: list[list[tuple[str, str]]] = []
    logs: list[str] = []
    for name, stops in (("straight", []), ("cut", [cut])):
        root = tmp_path / name
        write(root / "tree", {"src/a.py": "x = 1\n", "src/b.py": "import a\n"})
        asked: list[tuple[str, str]] = []
        for stop in stops:
            halted: list[str | Answer] = [*SCRIPT[:stop], Answer(error="killed")]
            asked += run(root, halted, wants_two(root), "src/a.py")[1].asked[:stop]
            if reset:
                (root / "tree/src/a.py").write_text("x = 1\n")
        rest = SCRIPT[len(asked) :]
        answer, model, _ = run(root, rest, wants_two(root), "src/a.py")
        assert (answer.text, answer.usage.steps) == ("x is 2", 6)
        prompts.append(asked + model.asked)
        logs.append((root / "state/actions.jsonl").read_text())
    assert prompts[0] == prompts[1]
    assert logs[0] == logs[1]


def test_a_finished_task_is_answered_again_without_asking(root: Path) -> None:
    run(root, [WRONG, RIGHT, DONE], wants_two(root), "src/a.py")
    answer, model, _ = run(root, [], wants_two(root), "src/a.py")
    assert (answer.text, model.asked) == ("x is 2", [])


def test_a_torn_last_line_is_dropped_reported_and_its_edit_undone(root: Path) -> None:
    run(root, [WRONG, RIGHT, Answer(error="killed")], wants_two(root), "src/a.py")
    log = root / "state/actions.jsonl"
    log.write_bytes(log.read_bytes()[:-40])
    answer, model, events = run(root, [RIGHT, DONE], wants_two(root), "src/a.py")
    told = [str(event["summary"]) for event in events if event["action"] == "recover"]
    assert [each.split()[0] for each in told] == ["dropped", "put"]
    assert "actions.jsonl:3" in told[0]
    assert "   1  x = 3" in model.asked[0][1]
    assert (answer.text, answer.usage.steps) == ("x is 2", 3)


def test_a_crash_between_an_edit_and_its_record_leaves_nothing_of_the_step(root: Path) -> None:
    class Killed(BaseException):
        pass

    calm, calls = wants_two(root), list[int]()

    def dies(names: Sequence[str]) -> GateReport:
        calls.append(1)
        if len(calls) == 3:
            raise Killed
        return calm(names)  # type: ignore[no-any-return]  # a check of this page

    with pytest.raises(Killed):
        run(root, [WRONG, RIGHT], dies, "src/a.py")
    assert (root / "tree/src/a.py").read_text() == "x = 2\n"
    answer, model, events = run(root, [RIGHT, DONE], calm, "src/a.py")
    assert events[0]["summary"] == "put right src/a.py"
    assert "   1  x = 3" in model.asked[0][1]
    assert (answer.text, answer.usage.steps) == ("x is 2", 3)


def test_a_file_that_a_lost_step_created_is_removed(root: Path) -> None:
    create = act("edit_file", path="src/new.py", content="n = 1\n")
    run(root, [create, Answer(error="killed")], wants_two(root), "src/a.py")
    log = root / "state/actions.jsonl"
    log.write_bytes(log.read_bytes().split(b"\n")[0] + b"\n")
    run(root, [Answer(error="stop")], wants_two(root), "src/a.py")
    assert not (root / "tree/src/new.py").exists()


def test_a_damaged_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path) -> None:
    store = StepStore(tmp_path)
    for number in range(3):
        store.append(step(number))
    log = tmp_path / "actions.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text(lines[0] + "{}\n" + lines[2])
    with pytest.raises(StoreError, match=r"actions\.jsonl:2"):
        store.records()


def test_a_last_line_without_its_end_is_whole_if_it_reads(tmp_path: Path) -> None:
    store = StepStore(tmp_path)
    for number in range(2):
        store.append(step(number))
    log = tmp_path / "actions.jsonl"
    log.write_bytes(log.read_bytes()[:-1])
    assert [record.step for record in store.records()[0]] == [0, 1]
    store.append(step(2))
    assert len(store.records()[0]) == 3


def test_the_task_on_disk_is_never_replaced(root: Path) -> None:
    run(root, [Answer(error="stop")], wants_two(root), "src/a.py")
    with pytest.raises(UsageError, match="holds another task"):
        run(root, [], wants_two(root), "src/b.py")


def test_snapshots_put_a_reset_worktree_right(root: Path) -> None:
    run(root, [WRONG, RIGHT, Answer(error="killed")], wants_two(root), "src/a.py")
    (root / "tree/src/a.py").write_text("x = 1\n")
    store = StepStore(root / "state")
    worktree = ScopedWorktree(root / "tree")
    assert store.restore(worktree, store.records()[0]) == ("src/a.py",)
    assert (root / "tree/src/a.py").read_text() == "x = 2\n"
    assert store.restore(worktree, store.records()[0]) == ()


# Tests first, judged by a real test runner


def pytest_gate(tree: Path) -> Any:
    def check(names: Sequence[str]) -> GateReport:
        del names
        command = [*PYTEST, "-q", "--rootdir", ".", "-c", "/dev/null"]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        return report(gate("test", passed=done.returncode == 0, output=done.stdout))

    return check


def test_failing_tests_are_complete_only_when_they_fail_for_the_right_reason(
    tmp_path: Path,
) -> None:
    tree = write(
        tmp_path / "tree",
        {"test_old.py": "def test_old():\n    assert True\n", "paging.py": "SIZE = 10\n"},
    )
    typo = "def test_pages():\n    import pagging\n    assert pagging.pages(25) == 3\n"
    right = "import paging\n\n\ndef test_pages():\n    assert paging.pages(25) == 3\n"
    answers = [
        act("edit_file", path="test_paging.py", content="import nothing_there\n"),
        act("complete", summary="red"),
        act("edit_file", path="test_paging.py", content=typo),
        act("complete", summary="red"),
        act("edit_file", path="test_paging.py", content=right),
        act("complete", summary="red"),
    ]
    answer, model, events = run(
        tmp_path, answers, pytest_gate(tree), "paging.py", "test_paging.py", phase="implement_red"
    )
    assert answer.text == "red"
    errors = [str(event["error"]) for event in events if event["action"] == "complete"]
    assert "not collected: test_paging.py" in errors[0]
    assert "pagging is none of the task's files" in errors[1]
    assert errors[2] == "None"
    example = yaml.safe_load(model.asked[0][1])["current_state"]["test_patterns"]
    assert example["example_test"] == "def test_old():\n    assert True"


# Three hundred steps


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> LongRun:
    return long_run(tmp_path_factory.mktemp("long"))


def test_three_hundred_steps_are_taken_and_each_is_two_messages(long: LongRun) -> None:
    assert len(long.prompts) == LONG_STEPS
    assert [event["step"] for event in long.events] == list(range(LONG_STEPS + 1))
    assert {event["action"] for event in long.events} >= {"read_file", "edit_file", "run_check", "load_context", "search", "clear_context", "unreadable"}  # fmt: skip


def test_no_prompt_of_three_hundred_has_more_than_8000_tokens(long: LongRun) -> None:
    assert max(long.tokens) <= 8000


def test_prompts_are_flat_from_step_4_on(long: LongRun) -> None:
    steady = long.tokens[3:]
    assert max(steady) / min(steady) <= 1.10


def test_the_last_error_is_in_every_prompt(long: LongRun) -> None:
    last: str | None = None
    for event, (_, context) in zip(long.events, long.prompts, strict=False):
        last = str(event["error"]) if event["error"] else last
        if last is not None:
            assert json.dumps(last, ensure_ascii=False) in context or last in context
    assert last is not None


@pytest.mark.parametrize("phase", ["fix_violation", "write_tests", "refine"])
def test_other_phases_keep_to_their_budgets(
    phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.kit.step_runs.LONG_STEPS", 30)
    tokens = long_run(tmp_path, phase).tokens
    assert len(tokens) == 30
    assert max(tokens) <= (8000 if phase == "refine" else 6000)
    assert max(tokens[3:]) / min(tokens[3:]) <= 1.10


def test_a_hundred_steps_are_taken_where_each_few_of_them_advance(tmp_path: Path) -> None:
    parts = 120
    tree = write(
        tmp_path / "tree",
        {"src/ledger.py": "".join(f"part_{n} = {int(n > parts)}\n" for n in range(1, 1200))},
    )

    def check(names: Sequence[str]) -> GateReport:
        del names
        left = (tree / "src/ledger.py").read_text().count(" = 0\n")
        said = "".join(f"src/ledger.py:{n}: not marked\n" for n in range(1, left + 1))
        return report(gate("check", passed=not left, output=said))

    def answer(step: int) -> str:
        if step > parts:
            return act("complete", summary="marked")
        text = {"search": f"part_{step} = 0\n", "replace": f"part_{step} = 1\n"}
        return act("edit_file", path="src/ledger.py", **text)

    model = Script(answer)
    ours = developer(model, check, tmp_path / "state")
    ended = ours.work(assignment(tree, "src/ledger.py"), lambda _: None)
    assert (ended.text, ended.usage.steps) == ("marked", parts + 1)
    tokens = [COUNT(system) + COUNT(context) for system, context in model.asked]
    assert max(tokens) <= 8000
    assert max(tokens[3:100]) <= min(tokens[3:100]) * 1.1


def test_time_that_is_spent_goes_on_where_the_work_advances_and_else_ends(tmp_path: Path) -> None:
    tree = write(tmp_path / "tree", {"a.py": "x = 0\ny = 0\n"})

    def check(names: Sequence[str]) -> GateReport:
        del names
        left = (tree / "a.py").read_text().count(" = 0\n")
        said = "".join(f"a.py:{n}: not marked\n" for n in range(1, left + 1))
        return report(gate("check", passed=not left, output=said))

    ticks = iter(range(0, 10_000, 8))
    answers = [
        act("edit_file", path="a.py", search="x = 0\n", replace="x = 1\n"),
        act("read_file", path="a.py"),
    ]
    ours = developer(Script(answers), check, tmp_path / "state", clock=lambda: float(next(ticks)))
    task = replace(assignment(tree, "a.py"), limits=Limits(seconds=10))
    first = ours.work(task, lambda _: None)
    assert (first.retry_after, first.error is not None) == (0.0, True)
    second = ours.work(task, lambda _: None)
    assert (second.retry_after, "seconds of this attempt are spent" in str(second.error)) == (
        None,
        True,
    )
