"""Tiers: core, task, transient, in that order, of the active plan and of nothing else."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.context.prompt import Outcome
from hornbook.context.tier_sources import recent_units
from hornbook.context.tiers import CORE_FILES, TIER_OF, Tier
from hornbook.gates.gate_run import run_listed
from hornbook.hooks.session_context import session_context
from tests.kit.commands import expect
from tests.kit.plans import PLAN, with_a_plan
from tests.kit.workspaces import write

CORE = {
    "CLAUDE.md": "# Claude\n\nAlways be kind.\n",
    "docs/context/CONTEXT_CORE.md": "# Core\n\nMoney is an integer.\n",
    "docs/context/ROLES.md": "# Roles\n\nReviewers read.\n",
    "docs/context/GUARDRAILS.md": "# Guardrails\n\nNo force pushes.\n",
}


def git(root: Path, *arguments: str) -> str:
    names = ("-c", "user.name=N", "-c", "user.email=n@example.org")
    done = subprocess.run(
        ["git", *names, *arguments], cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a core, an active plan and another one."""
    with_a_plan(tmp_path)
    write(tmp_path, CORE)
    git(tmp_path, "init", "-b", "main")
    with Workspace.open(tmp_path) as work:
        work.ingest()
        book = work.plan_book()
        book.commit("Other", PLAN.replace("Limit the rate.", "Zebra mission."))
        book.decide("other", decision="Zebra decision", reason="r", impact="i")
        book.risk("other", name="R9", severity="high", text="Zebra risk")
        book.commit("Limits", PLAN)
        book.decide("limits", decision="A bucket", reason="fair", impact="memory")
        book.risk("limits", name="R1", severity="high", text="a restart forgets")
        work.ingest()
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-m", "one")
    return tmp_path


def told(root: Path, *arguments: str) -> Any:  # JSON
    return json.loads(expect(root, "context", *arguments, "--json").stdout)


def is_in_tier_order(sections: list[str]) -> bool:
    order = [list(Tier).index(TIER_OF[name]) for name in sections]
    return order == sorted(order)


def test_a_developers_context_has_the_tiers_in_order_and_says_what_each_gave(root: Path) -> None:
    write(root, {"handlers/user.go": "package handlers\n\n// changed\n"})
    made = told(root, "develop", "--task", "task.limits.2")
    names = [section["name"] for section in made["sections"]]
    assert names == [
        "instructions",
        "core",
        "plan",
        "decisions",
        "risks",
        "task",
        "recent",
        "files",
    ]
    core, task, transient = made["tiers"]
    assert [each["tier"] for each in made["tiers"]] == ["core", "task", "transient"]
    assert core["items"] == ["instructions", *CORE_FILES[1:]]
    assert core["left_out"] == ["CLAUDE.md"]
    assert task["items"] == ["plan", "decision.limits-1", "risk.limits-r1", "task"]
    assert transient["items"] == ["diff.handlers/user.go", "handlers/user.go"]
    assert sum(each["tokens"] for each in made["tiers"]) == sum(
        section["tokens"] for section in made["sections"]
    )
    assert {"id": "CLAUDE.md", "reason": "the agent's host loads it itself", "path": None} in made[
        "left_out"
    ]


def test_a_reviewers_context_has_the_tiers_in_order_and_nothing_twice(root: Path) -> None:
    made = told(root, "review", "--files", "handlers/user.go", "--plan", "limits")
    names = [section["name"] for section in made["sections"]]
    assert is_in_tier_order(names)
    assert names[:3] == ["instructions", "core", "sops"]
    held = {
        section["name"]: [item["id"] for item in section["items"]] for section in made["sections"]
    }
    assert "source.doc.sops.claude-claude" in held["sops"]
    assert held["core"] == list(CORE_FILES[1:])
    assert {"id": "CLAUDE.md", "reason": "it is among the rules", "path": None} in made["left_out"]
    assert made["tiers"][0]["items"][1:4] == list(CORE_FILES[1:])


@pytest.mark.parametrize("how", ["develop", "review", "session"])
def test_nothing_bleeds_from_another_plan(root: Path, how: str) -> None:
    with Workspace.open(root) as work:
        if how == "develop":
            text = work.develop_packet(plan="limits", task="1").context.text or ""
        elif how == "review":
            text = work.review_context(["main.go"], plan="limits").text or ""
        else:
            text = session_context(str(root))
    assert "Limit the rate." in text
    assert "A bucket" in text
    assert not re.search("zebra", text, re.IGNORECASE)


def test_the_core_of_a_change_is_that_of_its_base(root: Path) -> None:
    base = git(root, "rev-parse", "HEAD")
    write(root, {"docs/context/ROLES.md": "# Roles\n\nAnybody may.\n", "main.go": "package x\n"})
    git(root, "commit", "-am", "two")
    with Workspace.open(root) as work:
        made = work.review_context(diff=f"{base}..HEAD")
    core = next(section for section in made.sections if section.name == "core")
    data = (made.text or "").encode()[core.offset : core.offset + core.length].decode()
    assert "Reviewers read." in data
    assert "Anybody may." not in data


def test_a_core_that_is_too_large_is_refused_not_cut(root: Path) -> None:
    write(root, {".hornbook/config.yaml": "budget:\n  core: 5\n"})
    with Workspace.open(root) as work:
        developed = work.develop_packet(plan="limits", task="1").context
        reviewed = work.review_context(["main.go"])
    assert developed.text is None
    assert [reason.code for reason in developed.reasons] == ["core_over_budget"]
    assert (reviewed.outcome, reviewed.reasons[0].code) == (Outcome.FAILED, "core_over_budget")


def test_notes_that_do_not_fit_are_left_out_whole_and_told(root: Path) -> None:
    with Workspace.open(root) as work:
        work.plan_book().decide("limits", decision="long " * 4000, reason="r", impact="i")
        made = work.develop_packet(plan="limits", task="1").context
    assert "decision.limits-2" in made.tiers[1].left_out
    assert "decision.limits-1" in made.tiers[1].items
    assert "long long" not in (made.text or "")


def test_a_session_starts_with_notes_that_are_whole_and_in_one_piece(root: Path) -> None:
    with Workspace.open(root) as work:
        work.plan_book().decide("limits", decision="two\n\n## parts", reason="r", impact="i")
    text = session_context(str(root))
    assert "- Decision: two\n  \n  ## parts\n- Reason: r\n- Impact: i\n" in text
    assert text.index("## parts") < text.index("A bucket"), "the newest comes first"


# Transient


def entry(at: str, target: str, **more: str) -> str:
    facts = {"kind": "tool_used", "tool": "Edit", "target": target, "outcome": "ok", "at": at}
    return json.dumps({**facts, **more}) + "\n"


def test_the_work_log_is_that_of_the_newest_session_since_its_compaction(root: Path) -> None:
    compacted = json.dumps({"kind": "post_compact", "at": "2026-11-16T09:00:00.000Z"}) + "\n"
    denied = entry("2026-11-16T09:30:00.000Z", "", kind="guard_denied", path="core/x.go")
    write(
        root,
        {
            ".hornbook/logs/sessions/a.jsonl": entry("2026-11-15T08:00:00.000Z", "yesterday.go"),
            ".hornbook/logs/sessions/b.jsonl": entry("2026-11-16T08:00:00.000Z", "before.go")
            + entry("2026-11-16T10:00:00.000Z", "after.go")
            + '{"torn',
            ".hornbook/spool/b.jsonl": compacted + denied,
        },
    )
    (log,) = recent_units(root)
    assert log.id == "work_log.b"
    assert log.text.splitlines()[2:] == [
        "- 2026-11-16T09:30:00.000Z Edit core/x.go: denied",
        "- 2026-11-16T10:00:00.000Z Edit after.go: ok",
    ]


def test_the_output_of_failing_gates_counts_for_their_own_tree_only(root: Path) -> None:
    gates = "gates:\n  additional:\n    - {name: test, command: grep -q good main.go}\n"
    write(root, {".hornbook/config.yaml": gates})
    with Workspace.open(root) as work:
        report = run_listed(work.root, work.gates())
    assert not report.passed
    assert [unit.id for unit in recent_units(root)] == ["gate.test"]
    write(root, {"main.go": "package good\n"})
    assert [unit.id for unit in recent_units(root)] == ["diff.main.go"]


def test_rules_that_changed_are_no_part_of_the_developers_diff(root: Path) -> None:
    write(root, {"CLAUDE.md": "# Other\n", "main.go": "package other\n"})
    (sop,) = sorted((root / ".semspec/sources/docs/sops").glob("error-handling.md"))
    sop.write_text("# Other\n")
    assert [unit.id for unit in recent_units(root)] == ["diff.main.go"]


def test_without_git_and_logs_nothing_just_happened(tmp_path: Path) -> None:
    assert recent_units(tmp_path) == ()


# The guard follows the plan


def test_every_change_of_the_active_plan_compiles_the_guard_anew(root: Path) -> None:
    path = root / ".hornbook" / "active.json"
    with Workspace.open(root) as work:
        book = work.plan_book()
        path.unlink()
        book.use("other")
        assert json.loads(path.read_bytes())["plan"] == "other"
        book.explore("Third", PLAN)
        assert json.loads(path.read_bytes())["plan"] == "third"
        text = "## Constraints\n\n- IN: only/**\n"
        book.rewrite(None, text, ("Constraints",))
        assert json.loads(path.read_bytes())["scope"]["inside"]["included"][0][0] == "only/**"
        path.unlink()
        book.promote()
        assert json.loads(path.read_bytes())["plan"] == "third"


def test_a_constraint_that_no_guard_can_hold_is_told_and_refuses_nothing(root: Path) -> None:
    bad = PLAN.replace("- OUT: handlers/admin/**", '- OUT: "[unclosed"')
    with Workspace.open(root) as work:
        view = work.plan_book().explore("Bad", bad)
    assert [problem.code for problem in view.problems] == ["guard_not_compiled"]
