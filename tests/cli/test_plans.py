"""Plans in a workspace: commands, graph and contexts, as a person meets them."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.context.prompt import Outcome
from hornbook.errors import ConfigError, NotFound, UsageError
from hornbook.graph.selection import Filter
from hornbook.plans.files import parse_decisions
from hornbook.plans.text import parse
from hornbook.rules.code.file import code_id
from hornbook.text.plan_syntax import GUIDANCE
from hornbook.vocabulary import predicates as p
from tests.kit.commands import expect, run
from tests.kit.forks import own_processes
from tests.kit.plans import PLAN, with_a_plan
from tests.kit.waiting import SAFETY
from tests.kit.workspaces import write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_a_plan(tmp_path)


def answer(root: Path, *arguments: str, code: int = 0) -> Any:
    return json.loads(expect(root, *arguments, "--json", code=code).stdout)


def committed(root: Path) -> Workspace:
    work = Workspace.open(root)
    work.ingest()
    work.plan_book().commit("Limits", PLAN)
    return work


def test_from_an_exploration_to_tasks(root: Path) -> None:
    expect(root, "ingest")
    made = answer(root, "explore", "Limits", "--from", "limits.md")
    assert (made["id"], made["committed"], made["active"]) == ("plan.limits", False, True)
    assert made["constraints"]["do_not_touch"] == ["handlers/legacy.go"]
    shown = answer(root, "tasks", "limits")
    assert shown["fixed"] is False
    assert not (root / ".hornbook/plans/limits/tasks").exists()
    listed = expect(root, "plans")
    assert "exploring" in listed.stdout
    assert "1 plan not committed: limits" in listed.stderr
    assert answer(root, "plans", "check")["passed"] is True
    assert answer(root, "promote")["status"] == "committed"
    tasks = answer(root, "tasks", "limits")["tasks"]
    assert [(each["id"], each["depends_on"], each["size"]["fits"]) for each in tasks] == [
        ("task.limits.1", [], True),
        ("task.limits.2", ["task.limits.1"], True),
    ]
    assert (root / ".hornbook/plans/limits/tasks/2/task.yaml").is_file()


def test_uncommitted_plans_come_first(root: Path) -> None:
    expect(root, "plan", "A", "--from", "limits.md")
    for title in ("Z", "M"):
        expect(root, "explore", title)
    plans = answer(root, "plans")["plans"]
    assert [(each["slug"], each["committed"]) for each in plans] == [
        ("m", False),
        ("z", False),
        ("a", True),
    ]


def test_an_empty_plan_stays_an_exploration_and_says_how_to_fill_it(root: Path) -> None:
    made = answer(root, "plan", "Limits", code=1)
    assert (made["committed"], made["status"], made["active"]) == (False, "exploring", True)
    assert [each["code"] for each in made["problems"]] == ["empty_section"] * 3
    text = (root / ".hornbook/plans/limits/plan.md").read_text("utf-8")
    assert "What exists now. Entity references to existing code/specs." in text
    assert "- DO NOT TOUCH: files/systems that must not be modified" in text
    refused = expect(root, "promote", "limits", code=1)
    for number, name in ((9, "Situation"), (13, "Mission"), (17, "Execution")):
        assert f"plan.md, line {number}: `## {name}` is empty" in refused.stderr
    parts = PLAN.split("## Execution")
    write(root, {"a.md": parts[0], "b.md": f"## Execution{parts[1]}"})
    amended = answer(root, "plans", "amend", "limits", "--from", "a.md")
    assert (amended["mission"].split("\n")[0], amended["execution"]) == ("Limit the rate.", "")
    assert "`## Execution` is empty" in expect(root, "promote", code=1).stderr
    expect(root, "plans", "amend", "--from", "b.md")
    assert answer(root, "promote")["status"] == "committed"
    assert "What exists now." not in (root / ".hornbook/plans/limits/plan.md").read_text("utf-8")


def test_an_amendment_of_a_commitment_needs_a_text_a_reason_and_the_fixed_tasks(
    root: Path,
) -> None:
    expect(root, "ingest")
    expect(root, "plan", "Limits", "--from", "limits.md")
    expect(root, "tasks", "limits")
    write(root, {"more.md": "## Coordination\n\nAfter the login.\n"})
    assert "--from FILE" in expect(root, "plans", "amend", code=2).stderr
    refused = expect(root, "plans", "amend", "--from", "more.md", code=2)
    assert "give a --reason" in refused.stderr
    made = answer(root, "plans", "amend", "--from", "more.md", "--reason", "They asked.")
    assert (made["coordination"], made["amendments"][0]["reason"]) == (
        "After the login.",
        "They asked.",
    )
    write(root, {"other.md": "## Execution\n\n1. Something else\n"})
    refused = expect(root, "plans", "amend", "--from", "other.md", "--reason", "r", code=2)
    assert "task 1 of plan limits was fixed" in refused.stderr


@pytest.mark.parametrize("marked", ["HORNBOOK_ROLE", "HORNBOOK_CONFINED"])
def test_nobody_but_a_person_commits_to_a_plan(root: Path, marked: str) -> None:
    def said(*arguments: str) -> str:
        done = run(root, *arguments, **{marked: "1"})
        assert done.returncode == 1, done.stdout + done.stderr
        return done.stderr

    assert "only a person may commit" in said("plan", "Limits", "--from", "limits.md")
    assert answer(root, "plans")["plans"] == []
    expect(root, "explore", "Limits", "--from", "limits.md")
    assert "only a person may commit" in said("promote")
    assert answer(root, "promote")["committed"] is True
    write(root, {"more.md": "## Constraints\n\n- IN: **\n"})
    amend = ("plans", "amend", "--from", "more.md", "--reason", "wider")
    assert "only a person may change" in said(*amend)


def test_guidance_is_in_no_graph_guard_or_session(root: Path) -> None:
    expect(root, "explore", "Limits")
    expect(root, "ingest")
    said = {each["predicate"] for each in answer(root, "show", "plan.limits")["triples"]}
    assert said.isdisjoint({p.PLAN_IN.name, p.PLAN_OUT.name, p.PLAN_DO_NOT_TOUCH.name})
    assert p.SUMMARY.name not in said
    exported = expect(root, "export").stdout
    assert "plan/limits/chunk/1" in exported
    assert not any(line in exported for lines in GUIDANCE.values() for line in lines)
    guard = json.loads((root / ".hornbook/active.json").read_text("utf-8"))["scope"]
    assert [each["included"] for each in guard.values()] == [[], [], []]
    session = {"hook_event_name": "SessionStart", "cwd": str(root), "session_id": "s"}
    started = expect(root, "hook", "session-start", sent=json.dumps(session)).stdout
    assert "## Situation" in started
    assert "What exists now" not in started
    assert "what's in scope" not in started


def test_what_a_plan_names_becomes_edges_and_what_is_not_there_is_told(root: Path) -> None:
    named = (
        "After source.doc.sops.error-handling, `source.doc.sops.test-coverage.section.head` and "
        "`decision.none`, as in plan.md."
    )
    write(root, {"limits.md": PLAN.replace("None.", named)})
    expect(root, "explore", "Limits", "--from", "limits.md")
    expect(root, "ingest")
    shown = answer(root, "plans", "show", "limits")["references"]
    sops = ["source.doc.sops.error-handling", "source.doc.sops.test-coverage"]
    files = [code_id("handlers/limit.go"), code_id("handlers/user.go")]
    assert shown == [*files, *sops]
    assert f"refers to {sops[0]}" in expect(root, "plans", "show", "limits").stdout
    query = (
        f'{{ traverse(start: "{sops[0]}", direction: INBOUND) {{ edges {{ source predicate }} }} }}'
    )
    edges = json.loads(expect(root, "query", "--text", query).stdout)["data"]["traverse"]["edges"]
    assert {"source": "plan.limits", "predicate": "plan.references"} in edges
    told = answer(root, "plans", "check", "limits")["problems"]
    (unknown,) = [each for each in told if each["code"] == "unknown_reference"]
    assert (unknown["level"], "`decision.none`" in unknown["message"]) == ("warning", True)
    text = (root / ".hornbook/plans/limits/plan.md").read_text("utf-8").split("\n")
    assert "decision.none" in text[unknown["line"] - 1]


def test_what_a_plan_names_is_an_edge_as_soon_as_it_is_there(root: Path) -> None:
    write(root, {"limits.md": PLAN.replace("None.", "As source.doc.sops.later has it.")})
    expect(root, "explore", "Limits", "--from", "limits.md")
    expect(root, "ingest")
    assert "source.doc.sops.later" not in answer(root, "plans", "show")["references"]
    write(root, {".hornbook/sources/docs/sops/later.md": "# Later\n\nBe late.\n"})
    expect(root, "ingest")
    assert "source.doc.sops.later" in answer(root, "plans", "show")["references"]


def test_a_failing_check_exits_1_and_lists_the_rules_for_plans(root: Path) -> None:
    rule = "---\nscope: {scope}\napplies_to: '{glob}'\n---\n# {scope}\n\nSay it.\n"
    write(
        root,
        {
            f".hornbook/sources/docs/sops/{scope}.md": rule.format(scope=scope, glob=glob)
            for scope, glob in (("plan", "**"), ("all", "handlers/**"), ("code", "**"))
        },
    )
    write(root, {".hornbook/sources/docs/sops/far.md": rule.format(scope="all", glob="web/**")})
    expect(root, "ingest")
    text = PLAN.replace(" (human)", "")
    write(root, {"limits.md": text})
    expect(root, "explore", "Limits", "--from", "limits.md")
    found = answer(root, "plans", "check", "limits", code=1)
    assert [each["code"] for each in found["problems"] if each["level"] == "error"] == [
        "criterion_untied"
    ]
    assert [each["id"] for each in found["rules"]] == [
        "source.doc.sops.all",
        "source.doc.sops.plan",
    ]


@pytest.mark.parametrize(
    ("pointer", "said"), [("", "is empty"), ("a\nb\n", "has 2 lines"), ("../x\n", "is no slug")]
)
def test_a_bad_pointer_is_refused(root: Path, pointer: str, said: str) -> None:
    write(root, {".hornbook/ACTIVE_PLAN": pointer})
    done = expect(root, "promote", code=2)
    assert said in done.stderr
    assert "hornbook plans use" in done.stderr


def test_a_missing_pointer_is_told(root: Path) -> None:
    assert "no plan is named" in expect(root, "promote", code=2).stderr
    assert expect(root, "plans").stdout == ""


def test_use_chooses_the_active_plan(root: Path) -> None:
    expect(root, "explore", "One")
    expect(root, "explore", "Two")
    assert (root / ".hornbook/ACTIVE_PLAN").read_text() == "two\n"
    expect(root, "plans", "use", "one")
    assert answer(root, "plans", "show")["slug"] == "one"
    assert "there are one, two" in expect(root, "plans", "use", "three", code=1).stderr


def test_a_clash_of_titles_is_refused(root: Path) -> None:
    expect(root, "explore", "Limits")
    assert "choose another title" in expect(root, "plan", "limits", code=2).stderr


def test_a_file_that_is_no_plan_is_refused_with_every_problem(root: Path) -> None:
    write(root, {"bad.md": "# x\n\n## Situation\n\n## Risks\n"})
    told = expect(root, "plan", "Limits", "--from", "bad.md", code=2).stderr
    assert "bad.md, line 5: `## Risks` is no section" in told
    assert told.count("is missing") == 4
    assert not (root / ".hornbook/plans/limits").exists()


def test_old_commands_warn_and_still_work(root: Path) -> None:
    done = expect(root, "propose", "Limits", "--from", "limits.md")
    assert done.stderr.splitlines()[0] == "Use /explore or /plan instead"
    done = expect(root, "design", "limits")
    assert done.stderr == "Design is now part of /plan\n"
    assert done.stdout.startswith("## Execution\n\nA token bucket")
    done = expect(root, "spec")
    assert done.stderr == "Specs are now part of /plan\n"
    assert "- OUT: handlers/admin/**" in done.stdout
    write(root, {"steps.md": "1. All at once\n", "spec.md": "## Constraints\n- IN: main.go\n"})
    expect(root, "design", "--from", "steps.md")
    expect(root, "spec", "--from", "spec.md")
    plan = answer(root, "plans", "show")
    assert (plan["execution"], plan["constraints"]["in"]) == ("1. All at once", ["main.go"])
    assert plan["mission"].startswith("Limit the rate.")
    expect(root, "promote")
    assert "its text is frozen" in expect(root, "design", "--from", "limits.md", code=2).stderr
    expect(root, "design", "--from", "limits.md", "--reason", "asked for")
    assert answer(root, "plans", "show")["amendments"][0]["reason"] == "asked for"
    assert "has no section" in expect(root, "spec", "--from", "steps.md", code=2).stderr


def test_an_edited_commitment_is_reported_and_not_taken(root: Path) -> None:
    expect(root, "plan", "Limits", "--from", "limits.md")
    path = root / ".hornbook/plans/limits/plan.md"
    path.write_text(path.read_text().replace("Limit the rate.", "Other."))
    assert "plan_differs" in expect(root, "plans", "show").stderr
    codes = [each["code"] for each in answer(root, "plans", "check", code=1)["problems"]]
    assert "plan_differs" in codes
    assert answer(root, "plans", "show")["mission"].startswith("Limit the rate.")


def test_a_committed_plan_without_criteria_gets_them_as_its_check_says(root: Path) -> None:
    text = (root / "limits.md").read_text()
    lacking = text[: text.index("Success criteria:")] + text[text.index("## Execution") :]
    (root / "lacking.md").write_text(lacking)
    expect(root, "plan", "Limits", "--from", "lacking.md")
    done = expect(root, "plans", "check", code=1)
    assert "no_criteria" in done.stdout
    command = re.findall(r"`hornbook ([^`]*)`", done.stderr)[-1]
    path = root / ".hornbook/plans/limits/plan.md"
    path.write_text(
        path.read_text().replace("## Execution", "Success criteria:\n- so (human)\n\n## Execution")
    )
    expect(root, *command.replace("…", "forgotten").split())
    codes = [
        each["code"]
        for each in json.loads(run(root, "plans", "check", "--json").stdout)["problems"]
    ]
    assert not {"no_criteria", "plan_differs"}.intersection(codes)


def test_decisions_and_risks_become_entities_derived_from_the_plan(root: Path) -> None:
    expect(root, "plan", "Limits", "--from", "limits.md")
    words = ("--reason", "r", "--impact", "i")
    assert expect(root, "decide", "--decision", "A bucket", *words).stdout == "decision.limits-1\n"
    old = ("--supersedes", "decision.limits-1")
    expect(root, "decide", "limits", "--decision", "A window", *words, *old)
    expect(root, "risk", "--id", "R1", "--severity", "high", "--text", "Memory\ngrows")
    assert (
        "there is no decision"
        in expect(
            root, "decide", "--decision", "C", *words, "--supersedes", "decision.x", code=1
        ).stderr
    )
    with Workspace.open(root) as work:
        report = work.ingest(strict=True)
        work.plan_book().tasks("limits")
        report = work.ingest(strict=True)
        assert report.problems == ()
        family = work.snapshot().plan_family("plan.limits")
        assert list(family) == [
            "decision.limits-1",
            "decision.limits-2",
            "plan.limits",
            "risk.limits-r1",
            "task.limits.1",
            "task.limits.2",
        ]
        assert family["plan.limits"]["plan.in"] == ["handlers/**"]
        assert family["plan.limits"]["plan.committed"] == ["true"]
        assert family["decision.limits-1"]["decision.status"] == ["superseded"]
        assert family["task.limits.2"]["task.depends_on"] == ["task.limits.1"]
        assert family["task.limits.1"]["task.criterion"] == ["request 101 gets 429"]
        assert family["risk.limits-r1"]["risk.severity"] == ["high"]
        shown = json.loads(expect(root, "show", "plan.limits", "--json").stdout)["derived"]
        assert shown == {name: said for name, said in family.items() if name != "plan.limits"}
        assert "request 101 gets 429" in expect(root, "show", "plan.limits").stdout
        assert "derived" not in json.loads(expect(root, "show", "task.limits.1", "--json").stdout)
        assert work.snapshot().superseded == {"decision.limits-1": "decision.limits-2"}
        assert [each.id for each in work.decisions("plan.limits")] == ["decision.limits-2"]
        before = work.export()
        work.ingest(rebuild=True)
        assert work.export() == before
        assert all(
            not each.rules or "limits" not in each.rules[0].id for each in work.why(["a.go"])
        )


def test_a_plan_that_supersedes_says_so_in_the_graph(root: Path) -> None:
    with committed(root) as work:
        book = work.plan_book()
        book.explore("Better limits", PLAN, supersedes="limits")
        book.promote()
        work.ingest()
        family = work.snapshot().plan_family("plan.better-limits")
        assert family["plan.better-limits"]["plan.supersedes"] == ["plan.limits"]
        assert [each.state.status for each in work.plans()] == ["committed", "superseded"]


def test_a_damaged_record_is_kept_with_a_problem(root: Path) -> None:
    write(
        root,
        {
            ".hornbook/records/decisions/decision.a-1.json": "{}",
            ".hornbook/records/risks/risk.a-r.json": "[]",
            ".hornbook/plans/a/tasks/1/task.yaml": "a: [",
        },
    )
    with Workspace.open(root) as work:
        report = work.ingest()
        codes = [(each.path, each.code) for each in report.problems if each.level == "error"]
    assert [code for _, code in codes] == ["bad_record"] * 3


def test_only_plans_and_tasks_of_a_plans_folder_are_documents(root: Path) -> None:
    with committed(root) as work:
        work.plan_book().tasks("limits")
        write(root, {".hornbook/plans/limits/tasks/1/artifacts/outputs/x.md": "# Not a document\n"})
        work.ingest()
        paths = [entry.path for entry in work.snapshot().catalog.entries]
    assert [path for path in paths if path.startswith(".hornbook/plans/")] == [
        ".hornbook/plans/limits/plan.md",
        ".hornbook/plans/limits/tasks/1/task.yaml",
        ".hornbook/plans/limits/tasks/2/task.yaml",
    ]


def test_without_files_a_task_is_sized_by_the_scope_of_its_plan(root: Path) -> None:
    with committed(root) as work:
        sizing = work.size([], plan="limits")
        assert [file.path for file in sizing.files] == ["handlers/user.go"]
        with pytest.raises(UsageError, match="name them with --files, or a plan"):
            work.size([])
    assert answer(root, "size", "--plan", "limits")["fits"] is True


def test_a_task_without_files_takes_those_in_scope(root: Path) -> None:
    text = PLAN.replace("   - Files: handlers/limit.go (new)\n", "")
    with Workspace.open(root) as work:
        work.ingest()
        work.plan_book().explore("Limits", text)
        _, sized = work.plan_book().tasks()
    assert [file.path for file in sized[0].size.files] == ["handlers/user.go"]


def test_tasks_that_wait_for_each_other_are_refused_by_name(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        work.plan_book().explore("Limits", PLAN.replace("Depends on: 1", "Depends on: 2"))
        with pytest.raises(ConfigError, match="2 → 2"):
            work.plan_book().tasks()


def test_the_developer_sees_plan_task_criteria_and_constraints(root: Path) -> None:
    with committed(root) as work:
        context = work.develop_packet(plan="limits", task="task.limits.1").context
        again = work.develop_packet(task="task.limits.1").context
    text = context.text or ""
    assert again.text == text
    for said in (
        "answers as often as it is asked",
        "Limit the rate.",
        "Count the requests",
        "- request 101 gets 429",
        "- DO NOT TOUCH: handlers/legacy.go",
        "## handlers/limit.go\n\nTo be created.",
    ):
        assert said in text
    assert "Wrap errors" not in text


def test_the_reviewer_sees_the_plan_and_its_decisions_that_stand(root: Path) -> None:
    with committed(root) as work:
        book = work.plan_book()
        book.decide("limits", decision="A bucket", reason="fair", impact="memory")
        old = "decision.limits-1"
        book.decide("limits", decision="A window", reason="r", impact="i", supersedes=old)
        work.ingest()
        packet = work.review_packet(["handlers/user.go"], plan="limits", task="2")
    context = packet.context
    assert context.outcome is Outcome.COMPLETE
    text = context.text or ""
    assert [section.name for section in context.sections] == [
        "instructions",
        "sops",
        "task",
        "decisions",
        "situation",
        "files",
    ]
    assert "## A window" in text
    assert "## A bucket" not in text
    assert "Ask the counter" in text
    left = {each.id: each.reason for each in context.left_out}
    assert left[old] == "it is superseded by decision.limits-2"
    with Workspace.open(root) as work:
        (decision,) = next(s for s in context.sections if s.name == "decisions").items
        assert decision.revision == work.snapshot().document(decision.id).revision


def test_a_plan_that_is_too_long_is_refused_not_cut(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        work.plan_book().commit("Limits", PLAN.replace("Limit the rate.", "Limit the rate. " * 500))
        context = work.review_context(["handlers/user.go"], plan="limits")
        developing = work.develop_packet(
            ["handlers/user.go"], plan="limits", description="x"
        ).context
    assert (context.outcome, context.text) == (Outcome.FAILED, None)
    # without a task the reviewer is told the mission in its place
    assert [each.code for each in context.reasons] == ["task_over_budget"]
    assert context.reasons[0].message.endswith("are reserved: raise `budget.task`.")
    assert [each.code for each in developing.reasons] == ["plan_over_budget"]


def test_no_step_sees_an_exploration(root: Path) -> None:
    with Workspace.open(root) as work:
        work.ingest()
        work.plan_book().explore("Limits", PLAN)
        with pytest.raises(UsageError, match="is not committed"):
            work.review_context(["handlers/user.go"], plan="limits")
        work.plan_book().promote()
        with pytest.raises(NotFound, match="has no task '7'"):
            work.develop_packet(plan="limits", task="7")
        with pytest.raises(UsageError, match="no task"):
            work.develop_packet(["main.go"], plan="limits")


def test_rules_about_the_same_subject_are_listed_and_not_added(root: Path) -> None:
    head = (
        "---\ncategory: sop\ndomain: {}\nkeywords: {}\napplies_to: '{}'\n---\n# {}\n\nText of {}.\n"
    )
    sops = ".hornbook/sources/docs/sops"
    write(
        root,
        {
            f"{sops}/go.md": head.format("errors", "wrapping", "*.go", "Go", "go"),
            f"{sops}/py.md": head.format("Errors", "x", "*.py", "Py", "py"),
            f"{sops}/web.md": head.format("web", "wrapping", "*.ts", "Web", "web"),
            f"{sops}/other.md": head.format("other", "other", "*.ts", "Other", "other"),
        },
    )
    with Workspace.open(root) as work:
        work.ingest()
        context = work.review_context(["main.go"])
    listed = [(each.id, each.reason) for each in context.left_out]
    assert listed == [
        ("source.doc.sops.py", "related, not binding: it shares domain errors"),
        ("source.doc.sops.web", "related, not binding: it shares keyword wrapping"),
    ]
    assert "source.doc.sops.py" not in context.sop_ids
    assert "Text of py." not in (context.text or "")


TEMPLATE = """\
<task type="atomic" subtype="subtask">
  <description>x</description>
  <prompt><part name="a">Look twice.</part><part name="b">Be brief.</part></prompt>
</task>
"""


def test_a_teams_template_takes_the_place_of_the_instructions(root: Path) -> None:
    write(
        root,
        {
            ".hornbook/templates/reviewer.xml": TEMPLATE,
            ".hornbook/templates/developer.xml": TEMPLATE.replace("Look", "Think").replace(
                "subtask", "standard"
            ),
        },
    )
    with committed(root) as work:
        review = work.review_context(["main.go"]).text or ""
        develop = work.develop_packet(["main.go"], description="x").context.text or ""
    assert review.startswith("# Instructions\n\nLook twice.\n\nBe brief.\n\nRules, decisions")
    assert "Answer with one JSON object" in review
    assert "would I trust this in production" not in review
    assert develop.startswith("# Instructions\n\nThink twice.\n\nBe brief.\n")


def test_a_template_that_is_wrong_stops_the_context(root: Path) -> None:
    write(root, {".hornbook/templates/reviewer.xml": "<task type='atomic'><bogus/></task>"})
    with Workspace.open(root) as work:
        work.ingest()
        with pytest.raises(ConfigError, match=r"\.hornbook/templates/reviewer\.xml, line 1"):
            work.review_context(["main.go"])


def test_a_change_is_reviewed_with_the_template_of_its_base(root: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)

    write(root, {".hornbook/templates/reviewer.xml": TEMPLATE})
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "base")
    write(root, {".hornbook/templates/reviewer.xml": TEMPLATE.replace("Look twice", "Approve")})
    git("add", "-A")
    git("commit", "-qm", "head")
    with Workspace.open(root) as work:
        packet = work.review_packet(diff="HEAD~1..HEAD")
    assert (packet.context.text or "").startswith("# Instructions\n\nLook twice.")
    assert packet.made_for.findings == (".hornbook/templates/reviewer.xml",)


def _decide(root: str, name: str) -> None:
    with Workspace.open(root) as work:
        for number in range(5):
            work.plan_book().decide("limits", decision=f"{name}{number}", reason="r", impact="i")
    os._exit(0)


def test_processes_that_decide_at_once_lose_nothing(root: Path) -> None:
    committed(root).close()
    processes = own_processes(__name__)
    workers = [processes.Process(target=_decide, args=(str(root), name)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(SAFETY)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with Workspace.open(root) as work:
        view = work.plan("limits")
        assert view.problems == ()
        assert sorted(each.decision for each in view.state.decisions) == sorted(
            f"{name}{number}" for name in "ab" for number in range(5)
        )
    text = (root / ".hornbook/plans/limits/decisions.md").read_text("utf-8")
    assert parse_decisions(text) == view.state.decisions


def test_a_decision_may_replace_one_of_the_repository(root: Path) -> None:
    write(root, {"docs/adr/0001-go.md": "---\nstatus: accepted\napplies_to: '*.go'\n---\n# Go\n"})
    with committed(root) as work:
        work.plan_book().decide(
            "limits", decision="Rust", reason="r", impact="i", supersedes="decision.0001-go"
        )
        work.ingest(strict=True)
        context = work.review_context(["main.go"], plan="limits")
        chosen = Filter(derived_from="plan.limits")
        assert work.snapshot().select(chosen, 10, None)[0] == ["decision.limits-1"]
    left = {each.id: each.reason for each in context.left_out}
    assert left["decision.0001-go"] == "it is superseded by decision.limits-1"


def test_the_file_of_a_plan_is_the_plan(root: Path) -> None:
    with committed(root) as work:
        text = (root / ".hornbook/plans/limits/plan.md").read_text("utf-8")
        assert parse(text).plan == work.plan("limits").plan
        with pytest.raises(NotFound):
            work.plan("nothing")


def test_an_amended_plan_leaves_its_tasks_as_they_are(root: Path) -> None:
    with committed(root) as work:
        work.ingest()
        work.plan_book().tasks("limits")
        wider = "## Constraints\n\n- IN: **\n"
        view = work.plan_book().rewrite(
            "limits", wider, ["Constraints"], reason="it reaches further"
        )
        assert view.plan.constraints.inside == ("**",)
        assert work.plan("limits").problems == ()
