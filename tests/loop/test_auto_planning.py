"""A planner is asked again with what is wrong with its plan, a few times and no more."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.loop.engine.plan_engine import PlanEngine
from hornbook.loop.plan_book import PlanCheck
from hornbook.loop.planner import TRIES, PlanDraft, planned, planning_prompt
from hornbook.plans.log import EventLog
from hornbook.plans.run_kinds import kinds_for
from tests.kit.plans import PLAN, with_a_plan

UNREADABLE = "# Plan: any\n\n## Mission\n\nOne.\n\n## Mission\n\nTwo.\n"
EMPTY = "# Plan: any\n\n## Situation\n\nNone.\n"


@dataclass
class Planner:
    """Answers with one text after the other, the last one for all further tries."""

    texts: Sequence[str]
    asked: list[tuple[PlanDraft, ...]] = field(default_factory=list)

    def write(self, topic: str, drafts: Sequence[PlanDraft] = ()) -> str:
        self.asked.append(tuple(drafts))
        return self.texts[min(len(drafts), len(self.texts) - 1)].replace("any", topic, 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with_a_plan(tmp_path)
    with Workspace.open(tmp_path) as work:
        work.ingest()
    return tmp_path


def tries(root: Path, plan: str) -> list[dict[str, object]]:
    log = EventLog(root / ".hornbook", lambda: "2026-11-16T08:00:00.000Z", kinds=kinds_for(()))
    try:
        return [dict(each.data) for each in log.events(plan) if each.kind == "plan.tried"]
    finally:
        log.close()


def test_a_plan_that_fails_is_written_anew_with_what_was_found(root: Path) -> None:
    planner = Planner([UNREADABLE, EMPTY, f"```markdown\n{PLAN}```\n"])
    with Workspace.open(root) as work:
        found = planned(work.plan_book(), planner, "Limits")
    assert found.passed
    assert [len(each) for each in planner.asked] == [0, 1, 2]
    unread, empty = planner.asked[2]
    assert any("the planner's answer, line" in each for each in unread.findings)
    assert any("section" in each or "task" in each for each in empty.findings)
    assert [(each["try"], bool(each["findings"])) for each in tries(root, "limits")] == [
        (1, True),
        (2, True),
        (3, False),
    ]
    with Workspace.open(root) as work:
        view = work.plan_book().view("limits")
    assert not view.plan.committed
    assert view.plan.execution


@pytest.mark.parametrize("text", [UNREADABLE, EMPTY])
def test_a_planner_that_never_mends_its_plan_is_asked_so_often_and_the_check_is_shown(
    root: Path, text: str
) -> None:
    planner = Planner([text])
    with Workspace.open(root) as work:
        found = planned(work.plan_book(), planner, "Limits")
    assert not found.passed
    assert len(planner.asked) == len(tries(root, "limits")) == TRIES
    if text == UNREADABLE:
        assert found.problems[0].code == "not_a_plan"


def test_a_plan_that_fails_its_check_is_not_begun(root: Path) -> None:
    planner = Planner([EMPTY])
    with Workspace.open(root) as work:
        ended = PlanEngine(work).auto("Limits", open_planner=lambda *_: planner)
        assert isinstance(ended, PlanCheck)
        assert ended.problems == work.plan_book().check("limits").problems
        assert not work.plan("limits").plan.committed


def test_the_prompt_of_another_try_has_the_plan_and_every_finding() -> None:
    assert planning_prompt("Limits", ()) == "# The topic\n\nLimits\n"
    again = planning_prompt(
        "Limits", [PlanDraft("old", ("x",)), PlanDraft("# Plan: any", ("a", "b"))]
    )
    assert "old" not in again
    assert "# Plan: any\n" in again
    assert "- a\n- b\n" in again
