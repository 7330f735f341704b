"""A plan carried out from the command line: scripted, by a command of one's own, cut off and resumed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hornbook import Workspace
from tests.test_review_check import commit, git, start

CONFIG = """\
gates:
  additional:
    - {name: there, command: test -f shop/price.py}
"""
RULE = """\
---
applies_to: "**/*.py"
severity: error
---
# Naming

Functions MUST have names that say what they return.
"""
PLAN = """\
# Plan: Add tax

## Situation
`shop/price.py` computes prices without tax.

## Mission
Prices with tax.

Success criteria:
- it is there (gate: there)

## Execution
1. Add a tax function
   - Files: `shop/tax.py` (new), `tests/test_tax.py` (new)
   - Criteria: tax of 100 is 19
2. Use it in price
   - Files: `shop/price.py`
   - Criteria: price has tax
   - Depends on: 1

## Constraints
- IN: shop/**, tests/**
- DO NOT TOUCH: shop/secret.py

## Coordination
None.
"""
FILES = {
    ".hornbook/config.yaml": CONFIG,
    ".hornbook/sources/docs/sops/naming.md": RULE,
    "shop/price.py": "def price(n):\n    return n * 2\n",
    "shop/secret.py": "KEY = 1\n",
    "tests/test_price.py": "def test_price():\n    assert True\n",
}


def with_the_tax_plan(root: Path, **more: str) -> Path:
    """A repository with a committed plan of two tasks, and the files that a test adds."""
    start(root, {**FILES, **more})
    with Workspace.open(root) as work:
        work.ingest()
        work.plan_book().commit("Add tax", PLAN)
        work.plan_book().tasks("add-tax")
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_the_tax_plan(tmp_path)


def command(root: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "hornbook", "--root", str(root), *arguments]


def hornbook(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(root, *arguments), capture_output=True, text=True, check=False, timeout=240
    )


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


AGENT = """\
import json, pathlib, re, sys

prompt = sys.stdin.read()
if "You review a change" in prompt:
    path = re.search(r"^\\+\\+\\+ b/(\\S+\\.py)$", prompt, re.M)[1]
    line = re.search(r"^\\+(def .*|from .*)$", prompt, re.M)[1]
    entry = {
        "sop_id": "source.doc.sops.naming",
        "status": "passed",
        "evidence": f"{path}:1 `{line}`",
        "violations": [],
    }
    print(json.dumps({"verdict": "approved", "rejection_type": None, "sop_review": [entry],
                      "confidence": 0.9, "feedback": "fine"}))
elif not pathlib.Path("shop/tax.py").exists():
    pathlib.Path("shop/tax.py").write_text("def tax(n):\\n    return n * 19 // 100\\n")
    pathlib.Path("tests/test_tax.py").write_text("def test_tax():\\n    assert True\\n")
    print("added tax")
else:
    pathlib.Path("shop/price.py").write_text(
        "from shop.tax import tax\\n\\n\\ndef price(n):\\n    return n * 2 + tax(0)\\n"
    )
    print("used it")
"""


def test_the_developers_context_lists_the_commands_that_must_pass(root: Path) -> None:
    with Workspace.open(root) as work:
        text = work.develop_context(task="task.add-tax.2").text
    assert text is not None
    assert "test -f shop/price.py" in text
