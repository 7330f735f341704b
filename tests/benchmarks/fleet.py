"""Many plans in one Postgres, and many workers on it: `make fleet`.

Plans of three tasks are carried out by the scripted agent, each worker a process with a clone of its
own. (a) How many tasks a minute 1, 2, 4 and 8 workers end while more plans wait than they can take.
(b) How long a run waits from ready to begun while plans arrive at half of that rate. (c) What a step
asks of the database with few plans in it, and with all of them. It fails if a promise of
`docs/scale.md` is broken.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from hornbook import Workspace
from hornbook.disk import now
from hornbook.loop.engine.background_runs import leave_to_workers
from hornbook.loop.engine.engine_runs import EngineRun, EngineRuns, RunPhase, run_of_row
from hornbook.loop.engine.plan_engine import PlanEngine
from hornbook.loop.engine.workers import RUNS, connect, database_url, disconnect
from hornbook.plans.workspace_log import open_log
from tests.kit.engines import database_for
from tests.kit.git import git, start
from tests.kit.paths import ROOT

REPOSITORY = "shop"
WORKERS = (1, 2, 4, 8)
FEW = 10
COUNTED = 3
"""How many plans are carried out to count what their steps ask for."""
COUNTS = ("statements", "bytes", "log_reads", "log_rows", "beside")
LOOK = 0.2
WORST_WAIT, MOST_GROWTH, MOST_CONNECTIONS = 5.0, 0.10, 4
RULE = """\
---
applies_to: "**/*.py"
severity: error
---
# Naming

Functions MUST have names that say what they return.
"""
PLAN = """\
# Plan: {title}

## Situation
`shop/price.py` computes prices without tax.

## Mission
Prices with tax.

Success criteria:
- it is there (gate: there)

## Execution
{tasks}
## Constraints
- IN: shop/**

## Coordination
None.
"""
TASK = "{number}. Add part {number}\n   - Files: `shop/{slug}/part{number}.py` (new)\n   - Criteria: it is there\n"  # fmt: skip


@dataclass(frozen=True)
class Counts:
    """What a worker did: statements, bytes of answers and reads of the log in its steps."""

    steps: int
    statements: int
    bytes: int
    log_reads: int
    log_rows: int
    beside: int
    cpu: float

    def per_step(self) -> dict[str, float]:
        """Each of them for one step."""
        named = ("statements", "bytes", "log_reads", "log_rows")
        return {name: getattr(self, name) / max(1, self.steps) for name in named}


class Fleet:
    """A repository with plans in a Postgres, and clones for workers."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self._plans = 0
        config = f"repository: {REPOSITORY}\nengine:\n  database: {url}\n  agent: scripted\n"
        config += "gates:\n  additional:\n    - {name: there, command: test -f shop/price.py}\n"
        self.root = folder / "origin"
        files = {
            ".hornbook/config.yaml": config,
            ".hornbook/sources/docs/sops/naming.md": RULE,
            "shop/price.py": "def price(n):\n    return n * 2\n",
        }
        self.root.mkdir()
        start(self.root, files)
        with Workspace.open(self.root) as work:
            work.ingest()
        self.database = connect(database_url(folder, url), REPOSITORY)
        self.runs = EngineRuns(self.database, REPOSITORY)

    def close(self) -> None:
        """Let go of the database."""
        disconnect(self.database)

    def add_plans(self, count: int) -> list[str]:
        """Commit to so many more plans; their slugs."""
        slugs = []
        with Workspace.open(self.root) as work:
            book = work.plan_book()
            for _ in range(count):
                self._plans += 1
                slug = f"plan-{self._plans}"
                tasks = "".join(TASK.format(number=n, slug=slug) for n in (1, 2, 3))
                title = f"Plan {self._plans}"
                book.commit(title, PLAN.format(title=title, tasks=tasks))
                slugs.append(slug)
        return slugs

    def queue(self, slugs: Sequence[str]) -> None:
        """Leave plans to the workers."""
        with Workspace.open(self.root) as work:
            for slug in slugs:
                leave_to_workers(work, slug)

    def rows(self) -> list[tuple[EngineRun, float, float]]:
        """Every run with when its phase changed, and the database's time."""
        moment = sql.literal_column("extract(epoch from clock_timestamp())", sql.Float)
        with self.database.begin() as connection:
            now_there = float(connection.execute(sql.select(moment)).scalar_one())
            found = connection.execute(sql.select(RUNS)).all()
        return [(run_of_row(row), float(row.changed), now_there) for row in found]

    def tasks_ended(self) -> int:
        """How many runs of tasks are approved."""
        asked = sql.select(sql.func.count()).where(
            RUNS.c.phase == RunPhase.ENDED, RUNS.c.status == "approved", RUNS.c.parent.is_not(None)
        )
        with self.database.begin() as connection:
            return int(connection.execute(asked).scalar_one())

    def steps(self) -> int:
        """How many steps all runs took."""
        with self.database.begin() as connection:
            return int(connection.execute(sql.select(sql.func.sum(RUNS.c.steps))).scalar() or 0)

    def connections(self) -> Counter[str]:
        """How many connections each worker has open."""
        text = (
            "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'worker-%%'"
        )
        with self.database.begin() as connection:
            return Counter(connection.exec_driver_sql(text).scalars())

    @contextmanager
    def workers(self, count: int) -> "Iterator[list[Worker]]":
        """So many workers, until the block ends; afterwards each has its report."""
        with ExitStack() as stack:
            yield [stack.enter_context(Worker(self, number).running()) for number in range(count)]


class Worker:
    """A process with a clone of its own."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        self.name = f"worker-{number}"
        self._root = fleet.folder / self.name
        if not self._root.exists():
            subprocess.run(["git", "clone", "-q", str(fleet.root), str(self._root)], check=True)
            git(self._root, "config", "user.email", f"{self.name}@example.org")
            git(self._root, "config", "user.name", self.name)
        self._report = fleet.folder / f"{self.name}.json"
        self.counts: dict[str, float] = {}

    @contextmanager
    def running(self) -> "Iterator[Worker]":
        """Work until the block ends."""
        command = [sys.executable, "-m", "tests.benchmarks.fleet", "--work", str(self._root)]
        log = self._report.with_suffix(".log").open("ab")
        process = subprocess.Popen(
            [*command, "--report", str(self._report)],
            cwd=ROOT,
            env={**os.environ, "PGAPPNAME": self.name},
            stdout=log,
            stderr=log,
        )
        try:
            yield self
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
            log.close()
            self.counts = json.loads(self._report.read_text())


def work(root: Path, report: Path) -> None:
    """Be a worker that counts what it asks of the database, until SIGTERM."""
    until = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: until.set())
    counted: Counter[str] = Counter()
    lock = threading.Lock()

    def executed(_c: object, cursor: Any, text: str, *_more: object) -> None:
        in_step = threading.current_thread().name.startswith("dbos-executor")
        found = getattr(cursor, "pgresult", None)
        size = rows = 0
        if found is not None:
            rows = found.ntuples
            size = sum(
                len(found.get_value(row, column) or b"")
                for row in range(rows)
                for column in range(found.nfields)
            )
        with lock:
            if not in_step:
                counted["beside"] += 1
                return
            counted["statements"] += 1
            counted["bytes"] += size + len(text)
            if "hornbook_events" in text and text.lstrip().startswith("SELECT"):
                counted["log_reads"] += 1
                counted["log_rows"] += rows

    sql.event.listen(sql.Engine, "after_cursor_execute", executed)
    with Workspace.open(root) as opened:
        PlanEngine(opened).work(
            until, lambda who, what: print(f"{now()} {who}: {what}", flush=True)
        )
    used = os.times()
    cpu = used.user + used.system + used.children_user + used.children_system
    report.write_text(json.dumps({**counted, "cpu": cpu}))
    os._exit(0)


def until_over(fleet: Fleet, slugs: Sequence[str]) -> None:
    """Wait until plans are carried out."""
    wanted = {f"{slug}-1" for slug in slugs}
    while True:
        phases = {each.run: each for each, _, _ in fleet.rows() if each.run in wanted}
        asking = [each for each in phases.values() if each.phase is RunPhase.ASKING]
        if asking:
            raise SystemExit(f"{asking[0].run} asks a person: {asking[0].message}")
        if all(each.phase is RunPhase.ENDED for each in phases.values()):
            return
        time.sleep(LOOK)


def counted(fleet: Fleet) -> Counts:
    """What the steps of a few plans ask of the database, with one worker."""
    slugs = fleet.add_plans(COUNTED)
    before = fleet.steps()
    fleet.queue(slugs)
    with fleet.workers(1) as (worker,):
        until_over(fleet, slugs)
    told = {name: int(worker.counts.get(name, 0)) for name in COUNTS}
    return Counts(steps=fleet.steps() - before, cpu=worker.counts["cpu"], **told)


@dataclass
class Capacity:
    """What so many workers got done in a while."""

    workers: int
    tasks: int
    seconds: float
    cpu: float
    connections: int

    @property
    def per_minute(self) -> float:
        """Tasks a minute."""
        return self.tasks * 60 / self.seconds


def capacity(fleet: Fleet, slugs: Sequence[str], count: int, seconds: float) -> Capacity:
    """Let workers take from plans that all wait at once; what they get done in so many seconds."""
    fleet.queue(slugs)
    most = 0
    with fleet.workers(count) as workers:
        before = fleet.tasks_ended()
        while fleet.tasks_ended() == before:  # they are up
            time.sleep(LOOK)
        first, began = fleet.tasks_ended(), time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            most = max([most, *fleet.connections().values()])
            time.sleep(LOOK)
        done = fleet.tasks_ended() - first
    used = sum(each.counts["cpu"] for each in workers)
    return Capacity(count, done, passed, used / max(1, fleet.tasks_ended() - before), most)


def arrivals(fleet: Fleet, slugs: Sequence[str], workers: int, pause: float, seconds: float) -> list[float]:  # fmt: skip
    """Let plans arrive one after the other; how long each run waited from ready to begun."""
    waits: dict[tuple[str, int], float] = {}
    since: dict[tuple[str, int], float] = {}
    coming = iter(slugs)
    known = {each.run for each, _, _ in fleet.rows()}
    with fleet.workers(workers):
        began = time.monotonic()
        following = 0.0
        while (passed := time.monotonic() - began) < seconds:
            if passed >= following:
                slug = next(coming, None)
                if slug is None:
                    break
                fleet.queue([slug])
                following += pause
            for run, changed, moment in fleet.rows():
                if run.run in known:
                    continue
                leg = (run.run, run.leg)
                if run.phase in {RunPhase.NEW, RunPhase.QUEUED} and not run.worker:
                    since.setdefault(leg, changed)
                    waits[leg] = max(waits.get(leg, 0.0), moment - since[leg])
                else:
                    waits.setdefault(leg, 0.0)
            time.sleep(LOOK)
    return sorted(waits.values())


def measured(options: argparse.Namespace) -> Iterator[str]:
    """Measure all of it, and tell each figure as it is known; broken promises begin with FAILED."""
    with database_for("postgres") as url, tempfile.TemporaryDirectory(prefix="hornbook-fleet-") as place:  # fmt: skip
        fleet = Fleet(Path(place).resolve(), url)
        fleet.add_plans(FEW - COUNTED)
        few = counted(fleet)
        began = time.monotonic()
        slugs = fleet.add_plans(options.plans - FEW)
        yield f"{len(slugs)} plans were made in {time.monotonic() - began:.0f} s"
        many = counted(fleet)
        yield from growth(few, many, options.plans)
        found = []
        for count in options.workers:
            batch, slugs = slugs[: options.at_once], slugs[options.at_once :]
            each = capacity(fleet, batch, count, options.seconds)
            found.append(each)
            yield (
                f"{count} workers: {each.per_minute:.1f} tasks a minute, {each.cpu:.2f} s of CPU "
                f"a task, at most {each.connections} connections a worker"
            )
            if each.connections > MOST_CONNECTIONS:
                yield f"FAILED a worker had {each.connections} connections"
        rest = [each.run for each, _, _ in fleet.rows() if each.phase is not RunPhase.ENDED]
        yield f"{len(rest)} runs are still open"
        with fleet.database.begin() as connection:  # the next part begins with nothing to do
            connection.execute(sql.update(RUNS).values(phase=RunPhase.ENDED, status="stopped"))
        best = max(found, key=lambda each: each.per_minute)
        pause = 3 * 2 * 60 / best.per_minute
        waits = arrivals(fleet, slugs, best.workers, pause, options.minutes * 60)
        p95 = statistics.quantiles(waits, n=20)[-1] if len(waits) > 1 else 0.0
        yield (
            f"a plan every {pause:.1f} s on {best.workers} workers for {options.minutes:g} minutes: "
            f"{len(waits)} legs, p50 {statistics.median(waits):.2f} s, p95 {p95:.2f} s from ready "
            "to begun"
        )
        if p95 > WORST_WAIT:
            yield f"FAILED p95 is over {WORST_WAIT:g} s"
        log = open_log_of(fleet)
        yield f"{log} events in the database"
        fleet.close()


def open_log_of(fleet: Fleet) -> int:
    """How many events the log has."""
    with Workspace.open(fleet.root) as work:
        log = open_log(work.places, work.settings, now)
        try:
            return sum(len(log.events(plan)) for plan in log.plans())
        finally:
            log.close()


def growth(few: Counts, many: Counts, plans: int) -> Iterator[str]:
    """What a step asks for with few and with many plans."""
    before, after = few.per_step(), many.per_step()
    for name, small in before.items():
        large = after[name]
        yield f"{name} a step: {small:.1f} with {FEW} plans, {large:.1f} with {plans}"
        if abs(large - small) > MOST_GROWTH * small:
            yield f"FAILED {name} a step differ by more than {MOST_GROWTH:.0%}"
    yield f"steps: {few.steps} and {many.steps}; statements beside steps: {few.beside} and {many.beside}"  # fmt: skip


def main() -> None:
    """Measure, and exit 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=100)
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    parser.add_argument("--seconds", type=float, default=90, help="of each part of (a)")
    parser.add_argument("--minutes", type=float, default=10, help="of (b)")
    parser.add_argument("--work", type=Path, help="be a worker in this clone")
    parser.add_argument("--report", type=Path)
    chosen = parser.parse_args()
    if chosen.work is not None:
        work(chosen.work, chosen.report)
    failed = False
    for line in measured(chosen):
        print(line, flush=True)
        failed |= line.startswith("FAILED")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
