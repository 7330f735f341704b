"""A plan carried out from the command line: scripted, by a command of one's own, cut off and resumed."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.cli.commands.execute import only_changes
from hornbook.errors import EngineError
from hornbook.loop.engine.plan_engine import PlanEngine
from tests.kit.git import commit, git
from tests.kit.tax_plan import AGENT, CONFIG, command, hornbook, with_the_tax_plan


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_the_tax_plan(tmp_path)


def executed(root: Path, agent: str) -> dict[str, object]:
    answer = hornbook(root, "execute", "add-tax", "--agent", agent, "--json")
    assert answer.returncode == 0, answer.stderr
    found: dict[str, object] = json.loads(answer.stdout)
    return found


def test_a_plan_is_carried_out_task_by_task(root: Path) -> None:
    found = executed(root, "scripted")
    assert found["approved"] is True
    assert git(root, "log", "--format=%s", "hornbook/add-tax").splitlines()[:2] == [
        "Use it in price",
        "Add a tax function",
    ]
    trailers = git(root, "log", "-1", "--format=%(trailers:only)", "hornbook/add-tax")
    assert "Hornbook-Task: task.add-tax.2" in trailers
    assert "Hornbook-Receipt: " in trailers
    assert git(root, "status", "--porcelain", "--", "shop") == ""
    assert git(root, "worktree", "list").count("\n") <= 1, (
        "worktrees of tasks that are done are gone"
    )
    kinds = [
        event["kind"]
        for event in json.loads(hornbook(root, "runs", "events", "add-tax-t1-1", "--json").stdout)[
            "events"
        ]
    ]
    assert (
        kinds.index("gates.ran") < kinds.index("agent.task.review") < kinds.index("task.approved")
    )
    with Workspace.open(root) as work:
        work.ingest()
        assert [each.outcome for each in work.reviews()] == ["approved", "approved"]


def test_a_plan_that_is_queued_is_carried_out_by_a_worker(root: Path) -> None:
    options = ("--agent", "scripted", "--priority", "3")
    told = hornbook(root, "execute", "add-tax", "--queue", *options)
    assert told.stdout == "add-tax-1 waits for a worker: `hornbook fleet` shows who works\n"
    again = json.loads(hornbook(root, "execute", "add-tax", "--queue", "--json").stdout)
    assert again == {"plan": "add-tax", "run": "add-tax-1", "status": "queued"}
    waiting = json.loads(hornbook(root, "fleet", "--json").stdout)["waiting"]
    assert [(each["run"], each["phase"]) for each in waiting] == [("add-tax-1", "new")]
    ended = threading.Event()
    with Workspace.open(root) as work:

        def tell(who: str, what: str) -> None:
            if (who, what) == ("add-tax-1", "ended approved"):
                ended.set()

        PlanEngine(work).work(ended, tell)
    assert git(root, "log", "-1", "--format=%s", "hornbook/add-tax") == "Use it in price"
    begun = json.loads(hornbook(root, "runs", "events", "add-tax-1", "--json").stdout)["events"][0]
    assert (begun["principal"]["kind"], begun["principal"]["via"]) == ("human", "cli")


def test_a_run_that_was_killed_goes_on_where_it_was(root: Path) -> None:
    asked = command(root, "execute", "add-tax", "--agent", "scripted")
    with subprocess.Popen(
        asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if "structural_gates" in line:
                break
        os.killpg(running.pid, signal.SIGKILL)
    before = (root / ".hornbook/plans/add-tax/events.jsonl").read_text()
    assert executed(root, "scripted")["approved"] is True
    after = (root / ".hornbook/plans/add-tax/events.jsonl").read_text()
    assert after.startswith(before[: before.rfind("\n") + 1])
    assert hornbook(root, "recover", "add-tax").returncode == 0


def test_a_command_of_ones_own_develops_and_reviews(root: Path) -> None:
    own = f"agents:\n  ours: {{command: {sys.executable} agent.py, prompt: stdin, output: text}}\n"
    commit(root, {".hornbook/config.yaml": CONFIG + own, "agent.py": AGENT})
    assert executed(root, "ours")["approved"] is True
    assert "tax" in git(root, "show", "hornbook/add-tax:shop/tax.py")


def test_an_agent_that_cannot_work_is_refused_before_anything_begins(root: Path) -> None:
    own = "agents:\n  ours: {command: sh agent.sh, inherits: [NOBODY_HAS_THIS_KEY]}\n"
    commit(root, {".hornbook/config.yaml": CONFIG + own})
    before = (root / ".hornbook/plans/add-tax/events.jsonl").read_bytes()
    with (
        Workspace.open(root) as work,
        pytest.raises(EngineError, match=r"developer and reviewer ours: .*NOBODY_HAS_THIS_KEY"),
    ):
        PlanEngine(work).execute("add-tax", agent="ours")
    assert (root / ".hornbook/plans/add-tax/events.jsonl").read_bytes() == before
    assert executed(root, "scripted")["approved"] is True


def test_the_developers_context_lists_the_commands_that_must_pass(root: Path) -> None:
    with Workspace.open(root) as work:
        text = work.develop_packet(task="task.add-tax.2").context.text
    assert text is not None
    assert "test -f shop/price.py" in text


def test_a_worker_tells_what_changed_and_not_that_it_waits() -> None:
    told: list[str] = []
    hear = only_changes(told.append)
    for what in ("taken", "waiting", "taken", "waits 5 seconds", "waiting", "ended approved"):
        hear("a-1", what)
    assert told == ["a-1: taken", "a-1: waiting", "a-1: ended approved"]
