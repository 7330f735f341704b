"""Runs that a server accepted: whoever executes their plan may end, and they are gone on with."""

import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from hornbook import Workspace
from hornbook.loop.engine.background_runs import Executions
from hornbook.loop.engine.engine_runs import EngineRun, EngineRuns, Request, RunPhase
from hornbook.loop.engine.workers import Roster, connect, database_url, disconnect
from hornbook.loop.protocol import StepKind, StepOutcome
from tests.kit.tax_plan import CONFIG, with_the_tax_plan
from tests.kit.waiting import until

PLAN, RUN, TASK = "add-tax", "add-tax-1", "add-tax-t1-1"
BEATS = {".hornbook/config.yaml": f"{CONFIG}engine: {{heartbeat_seconds: 1}}\n"}


class Elsewhere:
    """Another process that works on a plan, as those of this machine see it."""

    def __init__(self, root: Path) -> None:
        state = root / ".hornbook"
        self._tables = connect(database_url(state, ""))
        self._roster = Roster(self._tables, state, 30.0)
        self.runs = EngineRuns(self._tables)

    def executes(self, *requests: Request) -> None:
        self._roster.join()
        self._roster.hold(PLAN)
        self.runs.add(requests)

    def is_killed(self) -> None:
        handle = self._roster._lock  # what its process would hold
        assert handle is not None
        os.close(handle)

    def finishes(self, run: str) -> None:
        self.runs.settle(StepOutcome(StepKind.ENDED, run, status="approved"))

    def leaves(self) -> None:
        self._roster.leave()

    def close(self) -> None:
        disconnect(self._tables)


@contextmanager
def executions(environment: dict[str, str] | None = None) -> Iterator[tuple[Executions, list[str]]]:
    """What carries out plans beside a server, and the runs of which it told that a process ended."""
    told: list[str] = []
    started = Executions(environment or dict(os.environ), lambda run, _code: told.append(run))
    try:
        yield started, told
    finally:
        started.close()


def begun(started: Executions, root: Path, task: str | None = None) -> str:
    with Workspace.open(root) as work:
        return started.begin(work, PLAN, task=task, agent="scripted")


def ended(runs: EngineRuns, run: str) -> EngineRun:
    """A run, once it has ended."""

    def found() -> EngineRun | None:
        known = [each for each in runs.of_plan(PLAN) if each.run == run]
        return known[0] if known and known[0].phase is RunPhase.ENDED else None

    return until(found, f"the end of {run}", every=0.1)


def test_a_run_whose_holder_ends_after_it_was_accepted_is_gone_on_with(tmp_path: Path) -> None:
    root = with_the_tax_plan(tmp_path, **BEATS)
    with closing(Elsewhere(root)) as holder, executions() as (started, told):
        holder.executes(Request(RUN, PLAN, None, "scripted"))
        assert begun(started, root) == RUN
        assert told == []
        holder.is_killed()
        assert ended(holder.runs, RUN).status == "approved"


def test_a_run_that_its_holder_finished_is_not_begun_again(tmp_path: Path) -> None:
    root = with_the_tax_plan(tmp_path, **BEATS)
    with closing(Elsewhere(root)) as holder, executions() as (started, told):
        holder.executes(Request(RUN, PLAN, None, "scripted"))
        assert begun(started, root) == RUN
        holder.finishes(RUN)
        holder.leaves()
        until(lambda: not looking(), "whoever looks after it")
        assert told == []
        assert [each.run for each in holder.runs.of_plan(PLAN)] == [RUN]


def test_a_run_whose_process_found_the_plan_held_is_begun_when_it_is_free(tmp_path: Path) -> None:
    root, early = tmp_path / "root", tmp_path / "early"
    root.mkdir()
    early.mkdir()
    with_the_tax_plan(root, **BEATS)
    os.mkfifo(early / "pipe")
    # Runs before all else in the process, the first time only.
    (early / "sitecustomize.py").write_text(
        f"import os\nif os.path.exists({str(early / 'pipe')!r}):\n"
        f"    open({str(early / 'pipe')!r}).read()\n"
    )
    slow = {**os.environ, "PYTHONPATH": str(early)}
    with closing(Elsewhere(root)) as holder, executions(slow) as (started, told):
        names: list[str] = []
        asking = threading.Thread(target=lambda: names.append(begun(started, root, "1")))
        asking.start()
        with (early / "pipe").open("w"):  # which the process has opened
            holder.executes()
            (early / "pipe").unlink()
        asking.join()
        assert names == [TASK]
        until(lambda: told == [TASK], "the end of the process that was refused")
        holder.leaves()
        assert ended(holder.runs, TASK).status == "approved"


def looking() -> list[threading.Thread]:
    """The threads that look after a run."""
    return [each for each in threading.enumerate() if each.name == "hornbook-accepted"]
