"""What people see of runs on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.errors import NotFound, UsageError
from hornbook.loop.engine.engine_runs import EngineRun, RunPhase
from hornbook.loop.engine.plan_engine import Execution, ObservedRun
from hornbook.loop.runs.files import event_summary
from hornbook.loop.runs.log import Progress
from hornbook.plans.events import Event
from hornbook.plans.principal import unknown
from tests.kit.commands import expect
from tests.kit.fakes import fails, reviews, writes
from tests.kit.loops import BROKEN, GREET, Stage, repository


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a run that asks a person: two failed gates, then a rejection."""
    root = repository(tmp_path_factory.mktemp("runs"))
    badly, well = writes({"src/greet.py": BROKEN}), writes({"src/greet.py": GREET})
    no = reviews("rejected", "fixable", violated=True, feedback="Name the person.")
    Stage(root, [badly, badly, well], [no]).go()
    return root


def answer(root: Path, *arguments: str) -> Any:
    return json.loads(expect(root, *arguments, "--json").stdout)


def test_runs_are_listed_with_what_they_ask(root: Path) -> None:
    (line,) = answer(root, "runs")["runs"]
    assert (line["id"], line["task"], line["status"]) == ("run-1", "task.hello.1", "asking")
    assert line["message"] == "Max retries exceeded after 3 attempts"
    listed = expect(root, "runs")
    assert "run-1" in listed.stdout
    assert "hornbook runs show run-1" in listed.stderr


def test_a_run_is_shown_attempt_by_attempt(root: Path) -> None:
    shown = answer(root, "runs", "show", "run-1")
    assert [each["number"] for each in shown["attempts"]] == [1, 2, 3]
    assert shown["attempts"][0]["gates"].startswith("failed: check on tree ")
    assert shown["attempts"][2]["review"] == "review rejected (fixable)"
    assert shown["attempts"][2]["feedback"] == "Name the person."
    assert (shown["breaches"], shown["commit"]) == ([], None)
    told = expect(root, "runs", "show", "run-1")
    assert "attempt 3 by dev" in told.stdout
    assert "  | Name the person." in told.stdout
    assert ".hornbook/records/escalations/run-1-1-" in told.stderr


def test_the_audit_trail_is_whole(root: Path) -> None:
    events = answer(root, "runs", "events", "run-1")["events"]
    assert events[0]["kind"] == "run.started"
    assert [each["seq"] for each in events] == sorted(each["seq"] for each in events)
    told = expect(root, "runs", "events", "run-1").stdout
    assert "dev, attempt 1: changed src/greet.py" in told
    assert "failed: check on tree" in told


def test_a_run_that_is_not_there_is_told_so(root: Path) -> None:
    assert "there is no run 'run-9'" in expect(root, "runs", "show", "run-9", code=1).stderr


def test_a_workspace_without_runs_says_how_to_begin(tmp_path: Path) -> None:
    assert "hornbook execute SLUG" in expect(tmp_path, "runs").stderr
    with Workspace.open(tmp_path) as work, pytest.raises(NotFound):
        work.answer("run-1", "return", "go on")


def test_an_answer_goes_to_the_run_once(tmp_path: Path) -> None:
    root = repository(tmp_path)
    Stage(root, [writes({"src/greet.py": BROKEN})]).go()
    told = answer(root, "answer", "run-1", "--return", "Say hello.")
    assert (told["run"], told["status"], told["action"]) == ("run-1", "running", "return")
    assert told["principal"]["id"] == "human:ann@example.org"
    assert "asks nothing" in expect(root, "answer", "run-1", "--return", "more", code=2).stderr
    with Workspace.open(root) as work, pytest.raises(UsageError, match="says nothing"):
        work.answer("run-1", "return", " ")


def test_an_edited_log_is_not_shown_as_if_nothing_was(tmp_path: Path) -> None:
    root = repository(tmp_path)
    Stage(root).go()
    log = root / ".hornbook" / "plans" / "hello" / "events.jsonl"
    log.write_text(log.read_text("utf-8").replace('"passed":true', '"passed":false'), "utf-8")
    assert "differ: one of them was changed" in expect(root, "runs", "show", "run-1", code=1).stderr


def test_a_setting_that_changes_is_for_runs_that_begin_later(tmp_path: Path) -> None:
    root = repository(tmp_path)
    badly, well = writes({"src/greet.py": BROKEN}), writes({"src/greet.py": GREET})
    Stage(root, [badly, badly, well]).go()
    config = root / ".hornbook" / "config.yaml"
    config.write_text(config.read_text("utf-8") + "engine:\n  attempts: 2\n", "utf-8")
    (line,) = answer(root, "runs")["runs"]
    assert (line["status"], line["attempt"]) == ("approved", 3)
    assert len(answer(root, "runs", "show", "run-1")["attempts"]) == 3


OWN = {
    "id": "plan-and-execute",
    "name": "Mine",
    "version": "1.0.0",
    "trigger": {"subject": "workflow.trigger.plan-and-execute"},
    "max_iterations": 1,
    "timeout": "1h",
    "steps": [
        {
            "name": "only",
            "action": {
                "type": "publish",
                "subject": "user.signal.escalate",
                "payload": {"reason": "no", "task_id": "1"},
            },
        }
    ],
}


def test_a_run_keeps_the_workflow_that_it_was_begun_with(tmp_path: Path) -> None:
    root = repository(tmp_path)
    Stage(root).go()
    Stage(root, [writes({"src/bye.py": BROKEN})]).go("run-2", "2")
    own = root / ".hornbook" / "workflows" / "mine.json"
    own.parent.mkdir()
    own.write_text(json.dumps(OWN), "utf-8")
    lines = {line["id"]: line for line in answer(root, "runs")["runs"]}
    assert (lines["run-1"]["status"], lines["run-2"]["status"]) == ("approved", "asking")
    assert len(answer(root, "runs", "show", "run-1")["attempts"]) == 1
    assert answer(root, "runs", "show", "run-2")["run"]["status"] == "asking"


def test_the_run_of_a_plan_asks_with_those_of_its_tasks_and_is_not_the_one_to_answer(
    tmp_path: Path,
) -> None:
    root = repository(tmp_path)
    Stage(root, [fails("it died")]).go(task=None)
    lines = {line["id"]: line for line in answer(root, "runs")["runs"]}
    assert {line["status"] for line in lines.values()} == {"asking"}
    assert lines["run-1"]["message"] == "a person has to answer hello-t1-1"
    listed = expect(root, "runs").stderr
    assert "1 run asking: `hornbook runs show hello-t1-1" in listed


def test_only_runs_that_ask_by_themselves_are_to_be_answered() -> None:
    def seen(name: str, parent: str | None, phase: RunPhase = RunPhase.ASKING) -> ObservedRun:
        one = EngineRun(name, "p", None, None, parent, 1, phase, "", "", "", 1, 1.0)
        return ObservedRun(one, Progress())

    every = (seen("p-1", None), seen("p-t1-1", "p-1"), seen("p-t2-1", "p-1", RunPhase.ENDED))
    assert [each.run for each in Execution("p", every[0].run, every, approved=False).asking] == [
        "p-t1-1"
    ]
    assert [
        each.run for each in Execution("p", every[0].run, every[:1], approved=False).asking
    ] == ["p-1"]


STEP = {"step": 2, "action": "edit_file", "target": "a.py", "summary": "changed a.py (+1 lines)"}
CALL = {
    "action": "answer",
    "model": "tiny",
    "input_tokens": 90,
    "output_tokens": 40,
    "output_limit": 40,
    "constrained": True,
    "cut": True,
    "notes": [],
}


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (STEP, "step 2, edit_file a.py: changed a.py (+1 lines)"),
        (
            {"step": 3, "action": "recover", "summary": "put right a.py"},
            "step 3, recover: put right a.py",
        ),
        (CALL, "tiny answered: 90 tokens in, 40 out, cut at 40; held to the schema"),
        (
            {**CALL, "cut": False, "constrained": False, "notes": ["asked without it"]},
            "tiny answered: 90 tokens in, 40 out; not held to a schema; asked without it",
        ),
        ({"ignored": "risk-1", "reason": "it is blank"}, "risk-1 was left out: it is blank"),
        ({"kind": "agent.started", "agent": "ours", "role": "reviewer"}, "agent.started reviewer"),
    ],
)
def test_what_an_agent_told_stands_in_the_audit_trail(said: dict[str, Any], line: str) -> None:
    event = Event(
        1, "p", 1, "agent.told", "", "k", "agent", {"told": said}, "", "", unknown("agent")
    )
    assert event_summary(event) == line
