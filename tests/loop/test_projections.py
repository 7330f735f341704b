"""Projections that go on from the last event say what a projection of all events says."""

from collections.abc import Callable, Sequence

import pytest

from hornbook.agents.assignment import Answer, Assignment
from hornbook.errors import EventLogError
from hornbook.loop.protocol import StepKind
from hornbook.loop.runs.files import Projections
from hornbook.loop.runs.state import by_run, project_run
from hornbook.loop.workflow.load import shipped_workflows
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.state import project
from hornbook.plans.tasks import ledger_of
from tests.kit.fakes import reviews, writes
from tests.kit.loops import GREET, Stage, repository

WORKFLOWS = {flow.id: flow for flow in shipped_workflows()}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """A run that a person had to answer, and that was approved after that."""
    again = reviews("rejected", "fixable", violated=True, feedback="Still not.")
    answers = iter((again, again, again, reviews()))
    root = repository(tmp_path_factory.mktemp("projections"))

    def review(assignment: Assignment) -> Answer:
        return next(answers)(assignment)

    stage = Stage(root, [writes({"src/greet.py": GREET})], [review])
    assert stage.go().kind is StepKind.ASKING
    stage.answer("run-1", "return", "Try it once more.")
    assert stage.drive("run-1").status == "approved"
    return stage.log()


def up_to_date(events: Sequence[Event], after: Callable[[int], bool]) -> Projections:
    found = Projections()
    found.use(WORKFLOWS)
    for length in range(1, len(events) + 1):
        if after(length):
            _compare(found, events[:length])
    return found


def _compare(found: Projections, log: Sequence[Event]) -> None:
    assert found.plan("hello", log) == project(log)
    assert found.ledger("hello", log) == ledger_of("hello", log)
    whole = {run_id: project_run(log, run_id, WORKFLOWS) for run_id in by_run(log)}
    assert {run_id: found.run(log, run_id) for run_id in whole} == whole
    assert found.runs(log) == list(whole.values())


@pytest.mark.parametrize("each", [1, 2, 7])
def test_going_on_says_the_same_as_beginning_anew(events: list[Event], each: int) -> None:
    assert any(event.kind == kinds.ANSWERED for event in events)
    up_to_date(events, lambda length: length % each == 0 or length == len(events))


def test_what_did_not_change_is_the_same_value(events: list[Event]) -> None:
    found = up_to_date(events, lambda length: length == len(events))
    assert found.run(events, "run-1") is found.run(list(events), "run-1")


def test_a_log_that_was_replaced_is_projected_anew(events: list[Event]) -> None:
    found = up_to_date(events, lambda length: length == len(events))
    _compare(found, events[:5])
    _compare(found, events)


def test_a_run_whose_workflow_is_gone_is_told_by_its_end_alone(events: list[Event]) -> None:
    found = up_to_date(events, lambda length: length == len(events))
    found.use({})
    gone = found.run(events, "run-1")
    assert gone is not None
    assert (gone.machine, gone.status) == (None, "approved")
    with pytest.raises(EventLogError, match="not there any more"):
        found.run(events[:-1], "run-1")
