import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hornbook.errors import ConfigError, EventLogError, NotFound, UsageError
from hornbook.plans.files import parse_decisions, parse_risks
from hornbook.plans.log import EventLog
from hornbook.plans.plan import Constraints, Plan
from hornbook.plans.state import PlanStatus
from hornbook.plans.store import PlanStore
from hornbook.plans.tasks import read_tasks
from hornbook.plans.text import parse, render

TEXT = render(
    Plan(
        "x",
        "X",
        situation="Now.",
        mission="Limit.",
        execution="1. Count\n2. Wire\n   - Depends on: 1",
        constraints=Constraints(("src/**",)),
        coordination="None.",
    )
)


class Clock:
    def __init__(self) -> None:
        self.minutes = 0

    def __call__(self) -> str:
        self.minutes += 1
        return f"2026-11-16T08:{self.minutes:02}:00Z"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PlanStore]:
    log = EventLog(tmp_path, Clock())
    yield PlanStore(tmp_path, log)
    log.close()


def file(root: Path, name: str = "plan.md") -> Path:
    return root / "plans" / "rates" / name


def kinds(store: PlanStore) -> list[str]:
    return [event.kind for event in store.events("rates")]


def test_an_exploration_is_uncommitted_and_lies_on_disk(store: PlanStore, tmp_path: Path) -> None:
    view = store.begin("Rates")
    assert (view.plan.slug, view.plan.committed) == ("rates", False)
    read = parse(file(tmp_path).read_text("utf-8"))
    assert read.plan == view.plan
    assert read.plan.created_at == "2026-11-16T08:01:00Z"


def test_a_slug_that_is_taken_is_refused_with_the_remedy(store: PlanStore) -> None:
    store.begin("Rates")
    with pytest.raises(UsageError, match="choose another title"):
        store.begin(" rates! ")


def test_letters_that_latin_has_besides_are_spelt_out_in_a_slug(store: PlanStore) -> None:
    assert store.begin("Räume & Größen").plan.slug == "raume-grossen"
    assert store.begin("Łódź før Ærø").plan.slug == "lodz-for-aero"


@pytest.mark.parametrize("title", ["", " \n", "a\x00b"])
def test_a_title_that_is_none_is_refused(store: PlanStore, title: str) -> None:
    with pytest.raises(UsageError, match="is none"):
        store.begin(title)


def test_an_edit_of_an_exploration_becomes_an_event(store: PlanStore, tmp_path: Path) -> None:
    store.begin("Rates", TEXT)
    text = file(tmp_path).read_text("utf-8")
    file(tmp_path).write_text(text.replace("Now.", "Then."), "utf-8")
    view = store.view("rates")
    assert (view.plan.situation, view.problems) == ("Then.", ())
    file(tmp_path).write_text(text, "utf-8")
    assert store.view("rates").plan.situation == "Now."
    assert store.view("rates").plan.situation == "Now."
    assert kinds(store) == ["plan.explored", "plan.edited", "plan.edited"]
    assert dict(store.events("rates")[1].data) == {"situation": "Then."}


def test_an_edit_that_drops_a_section_empties_it(store: PlanStore, tmp_path: Path) -> None:
    store.begin("Rates", TEXT)
    text = file(tmp_path).read_text("utf-8")
    file(tmp_path).write_text(text.partition("\n## Coordination")[0], "utf-8")
    view = store.view("rates")
    assert (view.plan.coordination, view.problems) == ("", ())
    assert "## Coordination" in file(tmp_path).read_text("utf-8")


def test_an_edit_that_is_no_plan_is_told_and_not_taken(store: PlanStore, tmp_path: Path) -> None:
    store.begin("Rates", TEXT)
    broken = file(tmp_path).read_text("utf-8").replace("committed: false", "committed: true")
    broken = broken.replace("## Mission", "## Goal")
    file(tmp_path).write_text(broken, "utf-8")
    view = store.view("rates")
    assert {each.code for each in view.problems} == {"unknown_section", "plan_head_edited"}
    assert view.plan.committed is False
    assert file(tmp_path).read_text("utf-8") == broken
    assert kinds(store) == ["plan.explored"]
    with pytest.raises(ConfigError, match="no section of a plan"):
        store.promote("rates")


def test_promoting_freezes_the_text(store: PlanStore, tmp_path: Path) -> None:
    store.begin("Rates", TEXT)
    view = store.promote("rates")
    assert view.state.status is PlanStatus.COMMITTED
    assert "committed: true" in file(tmp_path).read_text("utf-8")
    assert store.promote("rates") == view
    edited = file(tmp_path).read_text("utf-8").replace("Now.", "Then.")
    file(tmp_path).write_text(edited, "utf-8")
    view = store.view("rates")
    assert [(each.code, each.path) for each in view.problems] == [
        ("plan_differs", ".hornbook/plans/rates/plan.md")
    ]
    assert view.plan.situation == "Now."
    store.decide("rates", decision="A", reason="r", impact="i")
    assert file(tmp_path).read_text("utf-8") == edited
    file(tmp_path).unlink()
    assert store.view("rates").problems == ()
    assert parse(file(tmp_path).read_text("utf-8")).plan.situation == "Now."


def test_an_edited_commitment_is_amended_by_its_own_file(store: PlanStore, tmp_path: Path) -> None:
    store.commit("Rates", TEXT)
    edited = file(tmp_path).read_text("utf-8").replace("Now.", "Then.")
    file(tmp_path).write_text(edited, "utf-8")
    (problem,) = store.view("rates").problems
    shown = ".hornbook/plans/rates/plan.md"
    assert f"`hornbook plans amend rates --from {shown} --reason …` takes it" in problem.message
    with pytest.raises(ConfigError, match="does not say what the plan's events say"):
        store.amend("rates", edited.replace("Then.", "Never."), reason="r")
    view = store.amend("rates", edited, reason="r", path=shown)
    assert (view.plan.situation, view.problems) == ("Then.", ())
    assert store.view("rates").problems == ()


def test_another_layout_is_no_difference(store: PlanStore, tmp_path: Path) -> None:
    store.commit("Rates", TEXT)
    file(tmp_path).write_text(file(tmp_path).read_text("utf-8").replace("\n\n## M", "\n\n##  M"))
    assert store.view("rates").problems == ()


def test_a_committed_plan_is_amended_with_a_reason_only(store: PlanStore, tmp_path: Path) -> None:
    plan = store.commit("Rates", TEXT).plan
    changed = parse(render(plan).replace("Limit.", "Limit more.")).plan
    with pytest.raises(UsageError, match="its text is frozen"):
        store.change("rates", changed)
    view = store.change("rates", changed, reason="asked for")
    assert [each.changed for each in view.state.amendments] == [("mission",)]
    assert "Limit more." in file(tmp_path).read_text("utf-8")
    assert view.problems == ()


def test_a_committed_plan_needs_every_section(store: PlanStore) -> None:
    with pytest.raises(ConfigError) as caught:
        store.commit("Rates", "# Plan: x\n## Situation\n## Mission\n", path="x.md")
    assert len(caught.value.problems) == 3
    assert caught.value.problems[0].startswith("x.md, line 4: ")
    assert store.slugs() == []


def test_a_successor_supersedes_when_it_is_promoted(store: PlanStore, tmp_path: Path) -> None:
    store.commit("Rates", TEXT)
    store.begin("Limits", TEXT, supersedes="rates")
    assert store.view("rates").state.status is PlanStatus.COMMITTED
    store.promote("limits")
    assert store.view("rates").state.superseded_by == "limits"
    assert store.view("limits").plan.supersedes == "rates"
    with pytest.raises(UsageError, match="superseded by limits"):
        store.change("rates", Plan("rates", "Rates"), reason="late")
    with pytest.raises(NotFound):
        store.begin("More", supersedes="nothing")


def test_decisions_are_kept_once_and_written_out(store: PlanStore, tmp_path: Path) -> None:
    store.begin("Rates", TEXT)
    for decision, old in (("A", None), ("A", None), ("B\n- Id: x", "decision.rates-1")):
        store.decide("rates", decision=decision, reason="r", impact="i", supersedes=old)
    state = store.view("rates").state
    assert [each.decision for each in state.decisions] == ["A", "B\n- Id: x"]
    assert parse_decisions(file(tmp_path, "decisions.md").read_text("utf-8")) == state.decisions
    record = json.loads((tmp_path / "records/decisions/decision.rates-1.json").read_bytes())
    assert (record["plan"], record["superseded_by"]) == ("plan.rates", "decision.rates-2")
    with pytest.raises(UsageError, match="needs its reason, impact"):
        store.decide("rates", decision="C", reason=" ", impact="")


def test_the_last_word_on_a_risk_counts(store: PlanStore, tmp_path: Path) -> None:
    store.begin("Rates", TEXT)
    for severity in ("high", "low", "low", "high"):
        store.risk("rates", name="R 1", severity=severity, text="late")
    (risk,) = store.view("rates").state.risks
    assert risk.severity == "high"
    assert kinds(store).count("risk.recorded") == 3
    assert parse_risks(file(tmp_path, "risks.md").read_text("utf-8")) == (risk,)
    assert (tmp_path / "records/risks/risk.rates-r-1.json").is_file()
    with pytest.raises(UsageError, match="write one of low, medium, high, critical"):
        store.risk("rates", name="R", severity="hot", text="x")


def test_tasks_are_fixed_once(store: PlanStore, tmp_path: Path) -> None:
    store.begin("Rates", TEXT)
    tasks = read_tasks(store.view("rates").plan.execution).tasks
    with pytest.raises(UsageError, match="only a committed one"):
        store.fix_tasks("rates", tasks)
    store.promote("rates")
    view = store.fix_tasks("rates", tasks)
    assert view.state.tasks == tasks
    said = yaml.safe_load(file(tmp_path, "tasks/2/task.yaml").read_text("utf-8"))
    assert (said["id"], said["depends_on"]) == ("task.rates.2", ["task.rates.1"])
    assert store.fix_tasks("rates", tasks) == view
    longer = read_tasks("1. Count\n2. Wire\n   - Depends on: 1\n3. Tell").tasks
    assert len(store.fix_tasks("rates", longer).state.tasks) == 3
    with pytest.raises(UsageError, match="task 1 of plan rates was fixed"):
        store.fix_tasks("rates", read_tasks("1. Other\n2. Wire\n3. Tell").tasks)
    with pytest.raises(UsageError, match="task 3 of plan rates"):
        store.fix_tasks("rates", tasks)
    file(tmp_path, "tasks/1/task.yaml").write_text("id: other\n", "utf-8")
    assert [each.path for each in store.view("rates").problems] == [
        ".hornbook/plans/rates/tasks/1/task.yaml"
    ]


def test_a_clone_without_the_database_has_the_same_plans(store: PlanStore, tmp_path: Path) -> None:
    store.commit("Rates", TEXT)
    store.decide("rates", decision="A", reason="r", impact="i")
    clone = tmp_path / "clone"
    clone.mkdir()
    shutil.copytree(tmp_path / "plans", clone / "plans")
    log = EventLog(clone, Clock())
    copy = PlanStore(clone, log)
    assert copy.slugs() == ["rates"]
    assert copy.view("rates") == store.view("rates")
    assert (clone / "records/decisions/decision.rates-1.json").is_file()
    log.close()


def test_files_that_a_crash_left_behind_are_written_anew(store: PlanStore, tmp_path: Path) -> None:
    store.begin("Rates", TEXT)
    log = EventLog(tmp_path, Clock())
    log.append("rates", "plan.edited", {"mission": "Other."}, key="k")
    log.append("rates", "plan.promoted", {}, key="plan.promoted")
    log.close()
    view = store.view("rates")
    assert (view.plan.mission, view.problems) == ("Other.", ())
    assert parse(file(tmp_path).read_text("utf-8")).plan == view.plan
    assert kinds(store) == ["plan.explored", "plan.edited", "plan.promoted"]


def test_a_forged_log_stops_everything(store: PlanStore, tmp_path: Path) -> None:
    store.begin("Rates", TEXT)
    log = file(tmp_path, "events.jsonl")
    log.write_text(log.read_text("utf-8").replace("Now.", "Then."), "utf-8")
    with pytest.raises(EventLogError, match="line 1 and event 1"):
        store.view("rates")


def test_a_plan_that_is_not_there_is_told_with_those_that_are(store: PlanStore) -> None:
    with pytest.raises(NotFound, match="none yet"):
        store.view("rates")
    store.begin("Rates")
    with pytest.raises(NotFound, match="there are rates"):
        store.view("rats")
