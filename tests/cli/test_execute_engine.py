"""`execute`, `resume`, `auto` and `worker` as a person meets them."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hornbook import Workspace
from tests.kit.commands import read_terminal
from tests.kit.engines import Watched, attempts, prepare, watched
from tests.kit.forks import SCRIPTED, ForkedProcess, decoded, fork_run
from tests.kit.git import git
from tests.kit.paths import ROOT
from tests.kit.plans import PLAN, with_a_plan
from tests.kit.waiting import SAFETY

COMMAND = [sys.executable, "-m", "tests.kit.engine_cli"]
DONE = ["continue", "end approved"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a committed plan whose run spawns one for its task."""
    git(tmp_path, "init", "-q", "-b", "main")
    with_a_plan(tmp_path)
    with Workspace.open(tmp_path) as work:
        work.ingest()
        work.plan_book().commit("Limits", PLAN)
    scripted(tmp_path, {"limits-1": ["spawn limits-t1-1", *DONE], "limits-t1-1": DONE})
    return tmp_path


def scripted(root: Path, script: dict[str, list[str]]) -> Path:
    return prepare(root / ".hornbook", script)


def hornbook(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    whole = ["--root", str(root), *arguments]
    return decoded(fork_run(whole, folder=ROOT, environment=os.environ, entry=SCRIPTED))


@contextmanager
def running(root: Path, *arguments: str) -> Iterator[Watched]:
    whole = ["--root", str(root), *arguments]
    process = ForkedProcess(whole, folder=ROOT, environment=os.environ, entry=SCRIPTED)
    with watched(process) as found:
        yield found


def test_execute_tells_what_it_does_and_sums_it_up(root: Path) -> None:
    done = hornbook(root, "execute", "limits", "--agent", "scripted")
    assert done.returncode == 0, done.stderr
    assert "limits-1: approved (5 steps, 0 tokens" in done.stdout
    assert "limits-t1-1: approved" in done.stderr
    again = hornbook(root, "execute", "limits", "--json")
    assert again.returncode == 1  # the script knows of no second run
    found = json.loads(again.stdout.partition("{")[1] + again.stdout.partition("{")[2])
    assert (found["run"], found["approved"], found["status"]) == ("limits-2", False, "failed")
    assert {each["id"]: each["status"] for each in found["runs"]} == {
        "limits-1": "approved",
        "limits-t1-1": "approved",
        "limits-2": "failed",
    }


def test_execute_shows_a_live_table_on_a_terminal(root: Path) -> None:
    shown, terminal = pty.openpty()
    command = [*COMMAND, "--root", str(root), "execute", "limits"]
    done = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, cwd=ROOT)
    os.close(terminal)
    text = read_terminal(shown)
    os.close(shown)
    done.wait(SAFETY)
    assert done.returncode == 0
    for word in ("phase", "attempt", "last action", "tokens", "limits-1"):
        assert word in text


def test_one_task_may_be_executed_alone(root: Path) -> None:
    done = hornbook(root, "execute", "limits", "--task", "task.limits.1", "--json")
    assert done.returncode == 0
    assert {each["run"] for each in attempts(root / ".hornbook")} == {"limits-t1-1"}
    missing = hornbook(root, "execute", "limits", "--task", "7")
    assert missing.returncode == 1
    assert "has no task '7'" in missing.stderr


def test_a_plan_that_is_not_committed_is_not_executed(root: Path) -> None:
    with Workspace.open(root) as work:
        work.plan_book().explore("Later")
    done = hornbook(root, "execute", "later")
    assert done.returncode == 2
    assert "`hornbook promote later`" in done.stderr
    assert hornbook(root, "execute", "nothing").returncode == 1


def test_an_interruption_keeps_everything_and_says_how_to_go_on(root: Path) -> None:
    pipe = root / "pipe"
    os.mkfifo(pipe)
    scripted(root, {"limits-1": ["continue", f"block {pipe}", "end approved"]})
    with running(root, "execute", "limits") as first:
        first.until("effect limits-1 1")
        first.signal(signal.SIGINT)
        first.process.wait(SAFETY)
        assert first.process.returncode == 1
        assert "go on with `hornbook execute limits`" in first.error()
    scripted(root, {"limits-1": ["continue", "continue", "end approved"]})
    done = hornbook(root, "resume", "limits-1", "--json")
    assert done.returncode == 0, done.stderr
    assert [each["number"] for each in attempts(root / ".hornbook")] == [0, 1, 1, 2]
    over = hornbook(root, "resume", "limits-1")
    assert (over.returncode, "has ended (approved)" in over.stderr) == (1, True)


INTERRUPTED_WITHIN_A_LINE = """
import io, signal, sys
from hornbook.cli.commands.execute import _interruptible

class Interrupted(io.RawIOBase):
    def writable(self):
        return True
    def write(self, data):
        signal.raise_signal(signal.SIGINT)
        return len(data)

with _interruptible("hornbook execute limits"):
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(Interrupted()), write_through=True)
    sys.stderr.write("a line of progress\\n" * 10_000)
    sys.exit(3)
"""


def test_an_interruption_within_a_printed_line_ends_it_too(root: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED_WITHIN_A_LINE]
    ended = subprocess.run(command, check=False, cwd=root, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("\nstopped.")


def test_a_run_that_asks_is_left_to_a_person(root: Path) -> None:
    scripted(root, {"limits-1": ["ask", "end approved"]})
    done = hornbook(root, "execute", "limits")
    assert done.returncode == 1
    assert "Which one?" in done.stdout
    assert "limits-1 asks: `hornbook runs show limits-1` says what" in done.stderr


def test_a_worker_goes_on_with_what_was_left_and_ends_when_told(root: Path) -> None:
    pipe = root / "pipe"
    os.mkfifo(pipe)
    scripted(root, {"limits-1": ["continue", f"block {pipe}", "end approved"]})
    with running(root, "execute", "limits") as first:
        first.until("effect limits-1 1")
        first.signal(signal.SIGKILL)
    with running(root, "worker") as second:
        second.until("effect limits-1 1")
        pipe.write_bytes(b"go")
        second.until("effect limits-1 2")
        second.signal(signal.SIGTERM)
        assert second.process.wait(SAFETY) == 0
        assert "works" in second.error()


def test_auto_plans_checks_commits_and_executes(root: Path) -> None:
    nobody = hornbook(root, "auto", "Limits")
    assert nobody.returncode == 2
    assert "nobody plans" in nobody.stderr
    (root / "planned.md").write_text("# Plan: any\n\n## Situation\n\nNone.\n")
    refused = hornbook(root, "auto", "Empty", "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["problems"]
    assert "hornbook promote empty" in refused.stderr
    (root / "planned.md").write_text(PLAN)
    done = hornbook(root, "auto", "Again", "--json")
    # the scripted loop knows one plan only: what matters is that this one was begun
    assert json.loads(done.stdout)["run"] == "again-1"
    with Workspace.open(root) as work:
        assert work.plan("again").plan.committed
