"""What work may cost: over a limit a person is asked once, and nothing is paid for again."""

from dataclasses import replace
from pathlib import Path

import pytest

from hornbook.agents.assignment import Answer, Assignment, Record, Usage
from hornbook.agents.embedded.developer import EmbeddedDeveloper
from hornbook.loop.protocol import StepKind
from hornbook.plans.events import Event
from hornbook.plans.log import EventLog
from hornbook.plans.run_costs import CostBook, RunCost, cost_sum, paid_costs
from hornbook.plans.run_kinds import kinds_for
from tests.kit.fakes import Script, writes
from tests.kit.loops import BYE, CONFIG, GREET, PLAN, Stage, repository
from tests.kit.step_runs import COUNT, act, gate, report
from tests.kit.step_runs import Script as Model

HALF = Usage(800, 300, 1, 0.5)


def dear(assignment: Assignment) -> Answer:
    path, text = (
        ("src/greet.py", GREET) if assignment.task_id.endswith(".1") else ("src/bye.py", BYE)
    )
    return writes({path: text}, usage=HALF)(assignment)


def limited(root: Path, text: str = PLAN, /, **cents: int) -> Stage:
    told = ", ".join(f"{name}: {most}" for name, most in cents.items())
    config = CONFIG + f"engine:\n  cost: {{{told}}}\n"
    return Stage(repository(root, text, config), [dear])


@pytest.mark.parametrize("scope", ["run", "plan", "day", "repository"])
def test_over_a_limit_nobody_is_asked_before_a_person_agrees(tmp_path: Path, scope: str) -> None:
    stage = limited(tmp_path, **{scope: 50})
    outcome = stage.go()
    assert outcome.kind is StepKind.ASKING
    assert "cost 50.00 cents" in outcome.message
    assert f"`engine.cost.{scope}`" in outcome.message
    assert (len(stage.developer.seen), len(stage.reviewer.seen)) == (1, 0)
    assert stage.drive("run-1").kind is StepKind.ASKING
    stage.answer("run-1", "return", "It is worth it.")
    assert stage.drive("run-1").status == "approved"
    assert len(stage.developer.seen) == 1, "what was paid for is not done again"


def test_below_every_limit_nobody_is_asked(tmp_path: Path) -> None:
    stage = limited(tmp_path, run=51, plan=101, day=101, repository=101)
    assert stage.go(task=None).status == "approved"


@pytest.mark.parametrize(
    ("amounts", "total", "cents"),
    [((0.1, 0.2), 0.3, 30), ((0.1,) * 10, 1.0, 100), ((0.29,), 0.29, 29)],
)
def test_costs_add_up_as_money_does(amounts: tuple[float, ...], total: float, cents: int) -> None:
    (found,) = cost_sum(RunCost(each, "USD") for each in amounts).amounts
    assert found.amount == total
    assert found.cents == cents


def test_other_runs_wait_for_the_word_on_their_limit(tmp_path: Path) -> None:
    stage = limited(tmp_path, PLAN.replace("   - Depends on: 1\n", ""), plan=50)
    stage.go(task=None)
    asked = [event for event in stage.log() if event.kind == "user.signal.escalate"]
    assert [event.data["payload"]["scope"] for event in asked] == ["plan"]
    assert not stage.reviewer.seen
    stage.answer(str(asked[0].data["run"]), "stop", reason="Too much.")
    assert stage.newest("run.ended").data["status"] == "stopped"


def test_currencies_are_held_to_a_limit_each_by_itself(tmp_path: Path) -> None:
    stage = limited(tmp_path, plan=80)

    def paid(assignment: Assignment) -> Answer:
        currency = "EUR" if assignment.task_id.endswith(".1") else "USD"
        return replace(dear(assignment), usage=replace(HALF, currency=currency))

    stage.developer.moves = [paid]
    assert stage.go(task=None).status == "approved", "50 cents and 50 cents are no 100"
    assert str(paid_costs(stage.log()).spent("plan")) == "0.50 EUR + 0.50 USD"


def test_what_was_read_once_is_not_read_again(tmp_path: Path) -> None:
    stage = limited(tmp_path, repository=1000)
    assert stage.go(task=None).status == "approved"
    log = _Counting(tmp_path / ".hornbook", stage.clock, kinds=kinds_for(()))
    book = CostBook()
    try:
        assert book.read(log).spent("repository").amounts == (RunCost(1.0, "USD"),)
        first = log.lines
        assert book.read(log).spent("repository").amounts == (RunCost(1.0, "USD"),)
        assert log.lines == first
        told = {"told": {"key": "k", "cost": 0.25}, "run": "run-1", "round": 1, "number": 1}
        for execution in (1, 2):  # told again after a kill
            log.append("hello", "agent.told", {**told, "execution": execution}, key=f"{execution}")
        assert book.read(log).spent("repository").amounts == (RunCost(1.25, "USD"),)
        assert log.lines == first + 2
    finally:
        log.close()


class _Counting(EventLog):
    """A log that counts the events that it reads."""

    lines = 0

    def _read(self, asked: str, *values: object) -> list[Event]:
        found = super()._read(asked, *values)
        self.lines += len(found)
        return found


class _Steps(Script):
    """The embedded developer with a model that follows a script, each call for 20 cents."""

    def __init__(self, state: Path, answers: list[str]) -> None:
        super().__init__("embedded", ())
        self.state = state
        self.model = Model(answers)

    def work(self, assignment: Assignment, record: Record) -> Answer:
        made = (Path(assignment.folder) / "src/greet.py").exists
        developer = EmbeddedDeveloper(
            self.model,
            lambda _names: report(gate("check", passed=made())),
            lambda given: self.state / given.key.replace("/", "-"),
            COUNT,
            price=lambda usage: replace(usage, cost=0.2, currency="EUR"),
        )
        return developer.work(assignment, record)


def test_a_limit_is_met_between_the_steps_of_an_attempt(tmp_path: Path) -> None:
    stage = limited(tmp_path, run=50)
    answers = [
        *(act("read_file", path=path) for path in ("src/app.py", "src/legacy.py", "check.sh")),
        act("edit_file", path="src/greet.py", content=GREET),
        act("complete", summary="greeted"),
    ]
    steps = _Steps(tmp_path / ".hornbook" / "steps", answers)
    stage.developer = steps
    outcome = stage.go()
    assert outcome.kind is StepKind.ASKING
    assert "Agents cost 60.00 cents (EUR) for the run run-1" in outcome.message
    assert len(steps.model.asked) == 3
    stage.answer("run-1", "return", "Go on.")
    assert stage.drive("run-1").status == "approved"
    assert len(steps.model.asked) == len(answers), "no step is paid for again"
    paid = [each.cost for each in paid_costs(stage.log()).payments]
    assert paid == [RunCost(0.2, "EUR")] * len(answers), "and the answer adds nothing to them"
