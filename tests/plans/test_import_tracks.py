"""Tracks of another layout become plans, and every file is accounted for."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.errors import NotFound, UsageError
from hornbook.loop.track_import import (
    ImportReport,
    read_approach,
    read_decisions,
    read_risks,
    read_specification,
)
from hornbook.plans.plan import Plan
from hornbook.plans.text import parse, render
from tests.kit.commands import expect
from tests.kit.plan_memory import made_files
from tests.kit.tracks import FILES, SPEC, taken_over
from tests.kit.workspaces import write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path, FILES)


def outcomes(report: ImportReport) -> dict[str, str]:
    return {each.path: each.outcome for each in report.files}


def test_a_track_becomes_a_plan_with_its_decisions_and_risks(root: Path) -> None:
    report = taken_over(root, root)
    assert set(report.plans) == {
        "rate-limits",
        "bare",
        "empty",
    }
    with Workspace.open(root) as work:
        view = work.plan_book().view(None)
    plan = view.plan
    assert (plan.slug, plan.title, plan.committed) == ("rate-limits", "Limit the rate", False)
    assert plan.situation == (
        "Intro.\n\nAnybody asks as often as they like.\n\n### Notes\n\nSee the wiki."
    )
    assert plan.mission == (
        "Limit it.\n\nSuccess criteria:\n\n- request 101 gets 429\n- nobody waits"
    )
    assert plan.execution.startswith("1. Count the requests\n2. Refuse the rest\n\n### Phase two")
    assert "Be careful." in plan.execution
    assert plan.constraints.inside == ("handlers/**",)
    assert plan.constraints.do_not_touch == ("handlers/legacy.go",)
    assert plan.coordination == "The counter service."
    first, second = view.state.decisions
    assert (first.decision, first.reason, first.at) == (
        "A token bucket",
        "bursts are fine\nfor us",
        "2026-01-02",
    )
    assert (second.reason, second.at) == ("not stated", "2026-01-03T10:00:00Z")
    assert {each.id: each.severity for each in view.state.risks} == {
        "slow": "high",
        "R7": "critical",
        "R3": "medium",
    }
    assert not view.problems


def test_every_file_is_accounted_for(root: Path) -> None:
    report = taken_over(root, root)
    assert outcomes(report) == {
        "CLAUDE.md": "kept",
        "docs/context/CONTEXT_CORE.md": "kept",
        "docs/context/CONTEXT_TIERS.md": "left",
        "docs/tracks/ACTIVE_TRACK": "imported",
        "docs/tracks/Rate_Limits/SPEC.md": "imported",
        "docs/tracks/Rate_Limits/PLAN.md": "imported",
        "docs/tracks/Rate_Limits/DECISIONS.md": "imported",
        "docs/tracks/Rate_Limits/RISKS.md": "imported",
        "docs/tracks/Rate_Limits/sketch.txt": "left",
        "docs/tracks/bare/PLAN.md": "imported",
        "docs/tracks/empty/notes.txt": "left",
        "artifacts/sessions/s1/test_output.txt": "imported",
        "artifacts/sessions/s0/test_output.txt": "left",
        "artifacts/checkpoints/Rate_Limits/latest.json": "imported",
    }
    assert set(outcomes(report)) == set(FILES)
    assert all(each.message for each in report.files)
    assert any("line 14: not imported: An afterthought." in each for each in report.notes)
    assert any("decision 2 does not state its reason" in each for each in report.notes)
    assert any("medium is assumed" in each for each in report.notes)


def test_the_sources_stay_and_a_second_import_changes_nothing(root: Path) -> None:
    taken_over(root, root)
    before = made_files(root)
    assert outcomes(taken_over(root, root))["docs/tracks/Rate_Limits/SPEC.md"] == "imported"
    assert made_files(root) == before
    assert {path: (root / path).read_text() for path in FILES} == FILES


def test_a_specification_that_changed_later_is_told_and_not_taken(root: Path) -> None:
    taken_over(root, root)
    write(root, {"docs/tracks/Rate_Limits/SPEC.md": SPEC.replace("Limit it.", "Lift it.")})
    assert outcomes(taken_over(root, root))["docs/tracks/Rate_Limits/SPEC.md"] == "left"
    with Workspace.open(root) as work:
        assert "Limit it." in work.plan("rate-limits").plan.mission


def test_what_the_newest_checkpoint_refers_to_is_recovered(root: Path) -> None:
    taken_over(root, root)
    with Workspace.open(root) as work:
        work.memory().checkpoint()
        found = work.memory().recover()
    assert found.passed
    (artifact,) = found.artifacts
    assert artifact.path.endswith("artifacts/inputs/sessions/s1/test_output.txt")
    assert (root / artifact.path).read_text() == "ok\n"


def test_another_folder_and_an_active_plan_stay_as_they_are(tmp_path: Path) -> None:
    source = write(tmp_path / "source", FILES)
    root = tmp_path / "target"
    root.mkdir()
    with Workspace.open(root) as work:
        work.plan_book().explore("Mine")
    report = taken_over(root, source)
    assert outcomes(report)["docs/tracks/ACTIVE_TRACK"] == "left"
    assert outcomes(report)["CLAUDE.md"] == "left"
    assert (root / ".hornbook/ACTIVE_PLAN").read_text() == "mine\n"
    assert sorted(path.name for path in source.iterdir()) == ["CLAUDE.md", "artifacts", "docs"]


def test_a_plan_that_is_another_one_is_not_overwritten(root: Path) -> None:
    with Workspace.open(root) as work:
        work.plan_book().explore("Bare")
    report = taken_over(root, root)
    assert outcomes(report)["docs/tracks/bare/PLAN.md"] == "left"
    with Workspace.open(root) as work:
        assert work.plan("bare").plan.execution == ""


def test_what_cannot_be_imported_is_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="has no track"):
        taken_over(root, tmp_path / "artifacts")
    write(root, {"docs/tracks/rate-limits/PLAN.md": "x\n"})
    with pytest.raises(UsageError, match="have the same slug"):
        taken_over(root, root)


def test_an_active_track_or_a_checkpoint_that_cannot_be_read_is_left(root: Path) -> None:
    write(
        root,
        {
            "docs/tracks/ACTIVE_TRACK": "gone\n",
            "artifacts/checkpoints/Rate_Limits/latest.json": "{",
        },
    )
    report = taken_over(root, root)
    assert report.active is None
    assert outcomes(report)["docs/tracks/ACTIVE_TRACK"] == "left"
    assert outcomes(report)["artifacts/checkpoints/Rate_Limits/latest.json"] == "left"


def test_the_command_tells_what_became_of_each_file(root: Path) -> None:
    done: Any = json.loads(expect(root, "plans", "import", ".", "--json").stdout)
    assert done["active"] == "rate-limits"
    assert {each["path"] for each in done["files"]} == set(FILES)
    assert "imported" in expect(root, "plans", "import", ".").stdout


@given(st.text())
def test_any_text_is_read_and_makes_a_plan_that_is_read_back(text: str) -> None:
    said, how = read_specification(text), read_approach(text)
    plan = Plan(
        "any",
        "Any",
        situation=said.situation,
        mission=said.mission,
        execution=how.execution,
        constraints=how.constraints,
        coordination=how.coordination,
    )
    assert parse(render(plan)).plan == plan
    for notes in (read_decisions(text), read_risks(text)):
        assert all(entry.get("decision") or entry.get("risk") for entry in notes.entries)
