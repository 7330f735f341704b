"""Whose turn it is: no plan or repository starves another, and limits hold over all machines."""

import threading
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sql

from hornbook.loop.engine.engine import Engine, Options
from hornbook.loop.engine.engine_runs import EngineRuns, Request, RunPhase
from hornbook.loop.engine.turns import Turns, Wished, as_text
from hornbook.loop.engine.workers import Roster, connect, database_url, disconnect
from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.plans.databases.shared_database import FORM, checked_url
from tests.kit.engine_loop import ScriptedLoop
from tests.kit.engines import DATABASES, RUN, database_for, prepare, tried
from tests.kit.loops import CONFIG, Stage, repository
from tests.kit.waiting import SAFETY, until

ANY = Wished()
ALIVE = 30.0


@pytest.fixture(params=DATABASES)
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sql.Engine]:
    with database_for(request.param) as url:
        engine = connect(database_url(tmp_path, url), "shop")
        yield engine
        disconnect(engine)


class Machine:
    """A worker of a repository that takes runs and ends them."""

    def __init__(
        self, tables: sql.Engine, folder: Path, repository: str = "shop", **places: int
    ) -> None:
        self.roster = Roster(tables, folder / repository, ALIVE, repository)
        self.roster.join()
        self.runs = EngineRuns(tables, repository)
        limits = {f"agent:{name}": most for name, most in places.items()}
        self.turns = Turns(tables, repository, self.roster.worker, limits, ALIVE)

    def want(self, plan: str, count: int, *needs: str) -> None:
        names = [f"{plan}-{number}" for number in range(count)]
        self.runs.add([Request(name, plan, parent="root") for name in names])
        for name in names:
            self.runs.queued(name, 1, 0.0, as_text([f"agent:{each}" for each in needs]))

    def take(self) -> str | None:
        run = self.turns.take(ANY)
        return None if run is None else run.run

    def end(self, run: str) -> None:
        self.runs.settle(StepOutcome(StepKind.ENDED, run, status="approved"))


def test_a_plan_with_many_tasks_does_not_keep_another_waiting(
    tables: sql.Engine, tmp_path: Path
) -> None:
    machine = Machine(tables, tmp_path)
    machine.want("large", 500)
    machine.want("small", 3)
    ended = []
    for _ in range(6):  # one at a time, each ended before the next
        run = str(machine.take())
        ended.append(run.split("-", maxsplit=1)[0])
        machine.end(run)
    assert sorted(ended) == ["large"] * 3 + ["small"] * 3
    machine.want("late", 2)
    at_once = [str(machine.take()).split("-")[0] for _ in range(4)]  # none of them ends
    assert sorted(at_once) == ["large", "large", "late", "late"]


def test_plans_of_higher_priority_come_first(tables: sql.Engine, tmp_path: Path) -> None:
    machine = Machine(tables, tmp_path)
    for plan in ("low", "usual", "urgent"):
        machine.want(plan, 2)
    machine.turns.prioritise("urgent", 5)
    machine.turns.prioritise("low", -5)
    order = [str(machine.take()).split("-")[0] for _ in range(6)]
    assert order == ["urgent", "urgent", "usual", "usual", "low", "low"]
    assert machine.take() is None


def test_nobody_takes_what_is_not_due_or_what_another_has(
    tables: sql.Engine, tmp_path: Path
) -> None:
    first, second = Machine(tables, tmp_path), Machine(tables, tmp_path)
    first.runs.add([Request("later", "a"), Request("now", "a")])
    first.runs.queued("later", 1, 3600.0)
    assert first.take() == "now"
    assert second.take() is None
    first.runs.woken("later")
    assert second.take() == "later"


def test_a_dead_machines_runs_are_taken_by_another(tables: sql.Engine, tmp_path: Path) -> None:
    dead, alive = Machine(tables, tmp_path), Machine(tables, tmp_path)
    dead.want("a", 2)
    first, second = str(dead.take()), str(dead.take())
    dead.runs.taken(first, 1, dead.roster.worker)  # at work with one, about to begin the other
    assert alive.take() is None
    alive.turns.release([first, second], [alive.roster.worker])
    assert {alive.take(), alive.take()} == {first, second}
    living = [dead.roster.worker, alive.roster.worker]
    alive.turns.release([first, second], living)
    assert {each.worker for each in alive.runs.at_work()} == {alive.roster.worker}


def test_a_limit_counts_the_steps_of_all_machines_and_repositories(
    tables: sql.Engine, tmp_path: Path
) -> None:
    shop, till = (Machine(tables, tmp_path, name, claude=2) for name in ("shop", "till"))
    shop.want("a", 9, "claude")
    shop.want("b", 1)
    till.want("c", 9, "claude")
    taken = [shop.take(), shop.take(), shop.take()]
    assert sorted(map(str, taken)) == ["a-0", "a-1", "b-0"]  # who needs no place waits for none
    assert till.take() is None
    shop.runs.note(StepOutcome(StepKind.CONTINUED, "a-0"), shop.roster.worker, spent=0.0)
    assert shop.take() is None, "the place is for the repository that has none"
    assert till.take() == "c-0"
    assert not shop.turns.keep("a-0", ["agent:claude"]), "both are taken"
    till.end("c-0")
    assert shop.turns.keep("a-0", ["agent:claude"])
    shop.roster.leave()  # its machine is gone, and with it the places of its runs
    assert {till.take(), till.take()} == {"c-1", "c-2"}
    assert till.take() is None


class Crowd:
    """A loop whose steps need a place, and tell when three of them are at it at once."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.crowded = threading.Event()
        self._inside = 0
        self._lock = threading.Lock()

    def start(self, plan: str, task: str | None, *, agent: str | None, run_id: str) -> StepOutcome:
        return StepOutcome(StepKind.CONTINUED, run_id)

    def step(self, run_id: str, held: Collection[str] | None = None) -> StepOutcome:
        needs = ("agent:claude",)
        if held is not None and not set(needs) <= set(held):
            return StepOutcome(StepKind.CONTINUED, run_id, needs=needs)
        with self._inside_counted():
            self.crowded.wait(self._patience)  # time for a third, should one be let in
        return StepOutcome(StepKind.ENDED, run_id, status="approved")

    def gave_up(self, run_id: str, reason: str, status: str) -> StepOutcome:
        return StepOutcome(StepKind.ENDED, run_id, status=status, message=reason)

    @contextmanager
    def _inside_counted(self) -> Iterator[None]:
        with self._lock:
            self._inside += 1
            if self._inside > 2:
                self.crowded.set()
        yield
        with self._lock:
            self._inside -= 1


@pytest.mark.parametrize("limited", [True, False])
def test_an_engine_lets_no_more_steps_at_an_agent_than_there_are_places(
    tmp_path: Path, *, limited: bool
) -> None:
    loop = Crowd(0.1 if limited else SAFETY)
    places = {"agent:claude": 2} if limited else {}
    options = Options(tmp_path, "", 4, 0.2, ALIVE, places=places)
    with Engine(loop, options) as engine:
        for number in range(6):
            engine.begin(Request(f"run-{number}", "a", "task"))
        found = engine.runs.of_plan
        until(lambda: all(each.phase is RunPhase.ENDED for each in found("a")), "the runs")
        assert {each.status for each in found("a")} == {"approved"}
    assert loop.crowded.is_set() is not limited


def test_a_run_of_the_release_before_goes_on_and_that_release_is_refused(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state", {RUN: ["continue", "wait 3600", "end approved"]})
    with database_for("postgres") as url:
        options = Options(state, url, 2, 0.2, ALIVE, repository="shop")
        for ends in (RunPhase.WAITING, RunPhase.ENDED):
            loop = ScriptedLoop(state, database=url, repository="shop")
            with closing(loop), Engine(loop, options) as engine:
                engine.begin(Request(RUN, "alpha", "task.alpha.1"))
                until(partial(is_in, engine.runs, ends), "the run")
            if ends is RunPhase.WAITING:
                before = made_by_the_release_before(url)
        assert before == 1
        with plain(url).begin() as connection:
            form = connection.exec_driver_sql("SELECT max(number) FROM hornbook.hornbook_form")
            assert form.scalar() == FORM, "which the release before does not know"
    assert tried(state) == {(RUN, 0): 1, (RUN, 1): 1, (RUN, 2): 1}


def is_in(runs: EngineRuns, phase: RunPhase) -> bool:
    return runs.get(RUN).phase is phase


def plain(database: str) -> sql.Engine:
    return sql.create_engine(checked_url(database), poolclass=sql.NullPool)


def made_by_the_release_before(url: str) -> int:
    """Give the tables the form of the release before, whose worker had the run; its form."""
    with plain(url).begin() as connection:
        for statement in (
            "SET search_path TO hornbook",
            "ALTER TABLE hornbook_runs DROP COLUMN due, DROP COLUMN needs",
            "DROP INDEX hornbook_runs_at_work",
            "DROP TABLE hornbook_turns, hornbook_wants",
            "UPDATE hornbook_form SET number = 1",
            "UPDATE hornbook_runs SET worker = 'gone'",
            "UPDATE workflow_status SET queue_name = 'shop/plan:alpha' WHERE status = 'ENQUEUED'",
            "UPDATE workflow_status SET status = 'DELAYED' WHERE status = 'ENQUEUED'",
        ):
            connection.exec_driver_sql(statement)
        return int(connection.exec_driver_sql("SELECT number FROM hornbook_form").scalar_one())


def test_an_agent_is_not_asked_before_its_step_has_a_place(tmp_path: Path) -> None:
    config = CONFIG + "agents: {dev: {command: dev}}\nengine:\n  at_once: {agents: {dev: 1}}\n"
    stage = Stage(repository(tmp_path, config=config))
    loop = stage.loop()
    loop.start("hello", "1", agent=None, run_id="run-1")
    outcome = loop.step("run-1", ())
    while not outcome.needs:
        outcome = loop.step("run-1", ())
    assert (outcome.kind, outcome.needs) == (StepKind.CONTINUED, ("agent:dev",))
    assert loop.step("run-1", ()).needs == ("agent:dev",)
    assert not stage.developer.seen
    loop.step("run-1", ("agent:dev",))
    assert len(stage.developer.seen) == 1
