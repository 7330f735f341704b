"""The linked types: rules, files, plans, runs and reviews, reached from each other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.graph.store import RecordingStore
from hornbook.serve.graphql.schema import execute
from tests.kit.loops import Stage, repository
from tests.kit.workspaces import write

RULE = "source.doc.sops.greetings"
SECOND = """\
---
category: sop
applies_to: ["src/bye.py", "docs/**"]
severity: warning
---

# Goodbyes

Goodbyes SHOULD be short.
"""
OLD = "# 1. Old\n\n## Status\n\nSuperseded by [2](0002-new.md)\n"
NEW = "# 2. New\n\n## Status\n\nAccepted\n"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A repository in which one task was carried out, reviewed and approved."""
    root: Path = repository(tmp_path_factory.mktemp("typed"))
    stage = Stage(root)
    assert stage.go().status == "approved"
    write(
        root,
        {
            ".hornbook/sources/docs/sops/goodbyes.md": SECOND,
            "docs/adr/0001-old.md": OLD,
            "docs/adr/0002-new.md": NEW,
            "CODEOWNERS": "/.hornbook/sources/docs/sops/greetings.md @greeters\n",
        },
    )
    with Workspace.open(root) as opened:
        opened.plan_book().decide("hello", decision="Be kind", reason="People", impact="All")
        opened.ingest()
        yield opened


def data(work: Workspace, text: str, **variables: object) -> Any:
    answer = execute(work, text, variables)
    assert "errors" not in answer, answer["errors"]
    return answer["data"]


def test_a_rule_leads_to_its_text_files_and_reviews(work: Workspace) -> None:
    text = """query ($id: ID!) { rule(id: $id) {
        id title path line category severity activation tokens text owner enforced
        patterns { raw pattern line } repository { name } history { event at }
        files { totalCount nodes { path exists rules { rule { id } reason } } }
        reviews { nodes { id outcome route at reviewer receipt { id verified rules { id } } } }
        findings { nodes { status statusKind severityKind rule { id } review { id } path line } }
        changes { nodes { base head reviews { id } } } } }"""
    rule = data(work, text, id=RULE)["rule"]
    assert rule["text"].lstrip().startswith("# Greetings")
    assert (rule["line"], rule["severity"], rule["activation"]) == (7, "ERROR", "GLOB")
    assert rule["patterns"] == [{"raw": "src/**", "pattern": "src/**", "line": 3}]
    assert rule["owner"] == ["@greeters"]
    assert rule["history"][0]["event"] == "added"
    assert [each["path"] for each in rule["files"]["nodes"]] == ["src/app.py", "src/legacy.py"]
    assert rule["files"]["nodes"][0]["rules"][0] == {
        "rule": {"id": RULE},
        "reason": ".hornbook/sources/docs/sops/greetings.md:3 applies to src/**",
    }
    (review,) = rule["reviews"]["nodes"]
    assert (review["outcome"], review["reviewer"]) == ("APPROVED", "rev-1")
    assert review["receipt"]["verified"] is True
    assert review["receipt"]["rules"] == [{"id": RULE}]
    assert rule["findings"]["nodes"][0]["rule"] == {"id": RULE}
    assert rule["findings"]["nodes"][0]["review"] == {"id": review["id"]}
    (change,) = rule["changes"]["nodes"]
    assert change["reviews"] == [{"id": review["id"]}]


def test_a_run_leads_to_its_steps_plan_and_reviews(work: Workspace) -> None:
    text = """{ run(id: "run-1") { id plan task status statusKind tokens cost { amount currency }
        question answeredBy { id } planNode { slug statusKind runs { nodes { id } } }
        taskNode { id number type status statusKind plan { slug } files { path } dependsOn { id } }
        steps { role attempt startedAt endedAt tokens run { id } receipt { id }
                gates { name status required seconds origin } review { id outcome } }
        reviews { totalCount nodes { id run { id } } } } }"""
    run = data(work, text)["run"]
    assert (run["status"], run["statusKind"], run["plan"]) == ("approved", "APPROVED", "hello")
    assert run["planNode"]["runs"]["nodes"] == [{"id": "run-1"}]
    assert run["taskNode"]["status"] == "approved"
    assert run["taskNode"]["files"] == [{"path": "src/greet.py"}]
    roles = [step["role"] for step in run["steps"]]
    assert roles.index("developer") < roles.index("reviewer")
    gates = [gate for step in run["steps"] for gate in step["gates"]]
    assert {"check"} <= {gate["name"] for gate in gates if gate["status"] == "PASSED"}
    reviewed = next(step["review"] for step in run["steps"] if step["review"] is not None)
    assert reviewed["outcome"] == "APPROVED"
    assert run["reviews"] == {
        "totalCount": 1,
        "nodes": [{"id": reviewed["id"], "run": {"id": "run-1"}}],
    }


def test_every_id_is_found_by_node(work: Workspace) -> None:
    text = """{ repository { id rules { nodes { id } } plans { nodes { id tasksConnection {
        nodes { id } } } } runs { nodes { id } } reviews { nodes { id receipts { id } } }
        decisions { nodes { id } } } }"""
    found = data(work, text)["repository"]
    wanted = {found["id"]: "Repository"}
    wanted |= {each["id"]: "Rule" for each in found["rules"]["nodes"]}
    wanted |= {each["id"]: "Run" for each in found["runs"]["nodes"]}
    wanted |= {each["id"]: "Decision" for each in found["decisions"]["nodes"]}
    for plan in found["plans"]["nodes"]:
        wanted[plan["id"]] = "Plan"
        wanted |= {each["id"]: "Task" for each in plan["tasksConnection"]["nodes"]}
    for review in found["reviews"]["nodes"]:
        wanted[review["id"]] = "Review"
        wanted |= {each["id"]: "Receipt" for each in review["receipts"]}
    wanted[f"{RULE}.chunk.1"] = "Entity"
    assert len(set(wanted.values())) == 9
    text = "query ($id: ID!) { node(id: $id) { __typename id } }"
    for name, kind in wanted.items():
        assert data(work, text, id=name)["node"] == {"__typename": kind, "id": name}
        with_repository = data(work, text, id=f"{found['id']}:{name}")["node"]
        assert with_repository["id"] == name
    assert data(work, text, id="other:plan.hello") == {"node": None}
    assert data(work, text, id="source.doc.sops.nothing") == {"node": None}


PAGES = """query ($first: Int, $after: String, $last: Int, $before: String) {
    rules(first: $first, after: $after, last: $last, before: $before) {
        totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        edges { cursor node { id } } nodes { id } } }"""


def test_pages_tile_a_list_from_both_ends(work: Workspace) -> None:
    goodbyes = "source.doc.sops.goodbyes"
    first = data(work, PAGES, first=1)["rules"]
    assert (first["totalCount"], first["nodes"]) == (2, [{"id": goodbyes}])
    assert first["pageInfo"]["hasNextPage"]
    assert not first["pageInfo"]["hasPreviousPage"]
    second = data(work, PAGES, first=1, after=first["pageInfo"]["endCursor"])["rules"]
    assert second["nodes"] == [{"id": RULE}]
    assert not second["pageInfo"]["hasNextPage"]
    assert second["pageInfo"]["hasPreviousPage"]
    assert data(work, PAGES, last=1)["rules"] == second
    again = data(work, PAGES, last=5, before=second["pageInfo"]["startCursor"])["rules"]
    assert again == first


def test_what_people_ask_of_rules_is_a_filter(work: Workspace) -> None:
    def ids(conditions: str) -> list[str]:
        text = f"{{ rules(filter: {{ {conditions} }}) {{ nodes {{ id }} }} }}"
        return [each["id"] for each in data(work, text)["rules"]["nodes"]]

    assert ids('file: "src/bye.py"') == ["source.doc.sops.goodbyes", RULE]
    assert ids('folder: "src"') == [RULE]
    assert ids('folder: "docs"') == ["source.doc.sops.goodbyes"]
    assert ids('folder: ".hornbook/sources"') == ["source.doc.sops.goodbyes", RULE]
    assert ids('owner: "@greeters"') == [RULE]
    assert ids("severity: WARNING, enforced: true") == ["source.doc.sops.goodbyes"]
    assert ids('text: "greet"') == [RULE]


def test_reviews_are_found_by_rule_path_and_line(work: Workspace) -> None:
    text = """query ($rule: ID, $path: String, $from: Int, $to: Int) {
        reviewsConnection(rule: $rule, path: $path, fromLine: $from, toLine: $to) {
            nodes { id findings { path line oldSide } } } }"""
    (review,) = data(work, text, rule=RULE)["reviewsConnection"]["nodes"]
    (finding,) = [each for each in review["findings"] if each["path"] is not None]
    path, line = finding["path"], finding["line"]
    assert finding["oldSide"] is False
    assert data(work, text, path=path)["reviewsConnection"]["nodes"] == [review]
    there = {"path": path, "from": line, "to": line}
    assert data(work, text, **there)["reviewsConnection"]["nodes"] == [review]
    beyond = {"path": path, "from": line + 1, "to": line + 9}
    assert data(work, text, **beyond)["reviewsConnection"]["nodes"] == []
    assert data(work, text, rule="source.doc.sops.goodbyes")["reviewsConnection"]["nodes"] == []


def test_changes_are_found_by_rule_and_path(work: Workspace) -> None:
    text = """query ($rule: ID, $path: String) { changes(rule: $rule, path: $path) {
        totalCount nodes { head receipts { files } } } }"""
    by_rule = data(work, text, rule=RULE)["changes"]
    assert by_rule["totalCount"] == 1
    assert by_rule["nodes"][0]["receipts"] == [{"files": ["src/greet.py"]}]
    assert data(work, text, path="src/greet.py")["changes"] == by_rule
    assert data(work, text, path="src/app.py")["changes"]["totalCount"] == 0
    history = '{ file(path: "src/greet.py") { exists history { head } } }'
    head = by_rule["nodes"][0]["head"]
    assert data(work, history)["file"] == {"exists": False, "history": [{"head": head}]}


def test_plans_are_found_by_decision_and_decisions_by_plan(work: Workspace) -> None:
    text = """{ plansConnection { nodes { slug decisionsConnection { nodes {
        id title reason plan { slug } } } } } }"""
    (plan,) = data(work, text)["plansConnection"]["nodes"]
    (decision,) = plan["decisionsConnection"]["nodes"]
    assert (decision["title"], decision["plan"]["slug"]) == ("Be kind", "hello")
    text = """query ($id: ID!) { plansConnection(decision: $id) { nodes { slug } } }"""
    assert data(work, text, id=decision["id"])["plansConnection"]["nodes"] == [{"slug": "hello"}]
    assert data(work, text, id="decision.0002-new")["plansConnection"]["nodes"] == []
    text = '{ decision(id: "decision.0001-old") { supersededBy { id supersedes { id } } } }'
    assert data(work, text)["decision"]["supersededBy"] == {
        "id": "decision.0002-new",
        "supersedes": {"id": "decision.0001-old"},
    }


def test_budget_coverage_problems_and_health_answer(work: Workspace) -> None:
    text = """{ budget(files: ["src/app.py"]) { window reserve reserveFromKind rules decisions
        diff fits outcomeKind reasons { code } }
        coverage { files bound share folders { folder files bound } unbound { nodes { path } } }
        problems { totalCount nodes { path code levelKind } }
        health { grade errors } doctor(code: "unowned") { nodes { code level path rule { id } } } }"""
    found = data(work, text)
    budget = found["budget"]
    assert (budget["fits"], budget["outcomeKind"]) == (True, "COMPLETE")
    assert budget["rules"] > 0
    assert budget["reserveFromKind"] == "DEFAULT"
    covered = {each["folder"]: each for each in found["coverage"]["folders"]}
    assert covered["src"] == {"folder": "src", "files": 2, "bound": 2}
    assert {"path": "check.sh"} in found["coverage"]["unbound"]["nodes"]
    assert found["coverage"]["files"] == sum(each["files"] for each in covered.values())
    assert found["health"]["errors"] == 0
    (unowned,) = found["doctor"]["nodes"]
    assert unowned["rule"] == {"id": "source.doc.sops.goodbyes"}


def test_a_budget_that_is_refused_says_what_the_rules_take(work: Workspace) -> None:
    text = '{ budget(files: ["src/nothing.py"]) { outcome fits rules decisions diff } }'
    found = data(work, text)["budget"]
    assert (found["outcome"], found["fits"]) == ("failed", False)
    assert found["rules"] > 0
    assert found["diff"] is None


def test_a_replay_tells_of_each_change_by_two_rule_sets(work: Workspace) -> None:
    text = """{ replay(last: 5, draft: true) { summary { changes complete changed } notes neverBound
        changes { commit base date subject files changed packet { outcome ruleIds rules { id } }
                  against { outcome ruleIds } } } }"""
    found = data(work, text)["replay"]
    assert found["summary"]["changes"] == len(found["changes"]) >= 1
    assert found["changes"][-1]["subject"] == "begin"
    assert found["changes"][-1]["packet"]["rules"] == [{"id": RULE}]


def test_a_page_of_rules_asks_the_graph_once_for_all(work: Workspace) -> None:
    text = """{ rules(first: 100) { nodes { id text sections { id } files { nodes { path } }
        reviews { nodes { id } } changes { nodes { head } } } } }"""
    snapshot = work.refresh()
    recording = RecordingStore(snapshot.store)
    snapshot.__dict__["store"] = recording
    try:
        assert len(data(work, text)["rules"]["nodes"]) == 2
    finally:
        snapshot.__dict__["store"] = recording.store
    assert sorted(each.name for each in recording.asked) == [
        "changes_by_rule",
        "documents",
        "reviews_by_rule",
    ]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{ rules(first: 0) { totalCount } }", "first"),
        ("{ rules(last: 1001) { totalCount } }", "last"),
        ('{ rules(after: "x") { totalCount } }', "after"),
        ('{ rules(before: "x") { totalCount } }', "before"),
        ('{ file(path: "../x") { path } }', "path"),
        ("{ replay(last: 0) { notes } }", "last"),
        ("{ changes { totalCount } }", "rule"),
        ("{ reviewsConnection(fromLine: 1) { totalCount } }", "fromLine"),
    ],
)
def test_a_wrong_argument_is_named(work: Workspace, text: str, field: str) -> None:
    answer: Any = execute(work, text, {})
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["extensions"]["field"] == field


def test_a_person_accepts_a_finding_and_stops_a_run(work: Workspace) -> None:
    text = """mutation { acceptFinding(code: "unowned", reason: "known",
        path: ".hornbook/sources/docs/sops/goodbyes.md") { code path acceptedUntil } }"""
    (found,) = data(work, text)["acceptFinding"]
    assert found["code"] == "unowned"
    assert found["acceptedUntil"] is not None
    assert "known (human:ann@example.org)" in (work.root / ".hornbook/doctor.yaml").read_text()
    assert codes(execute(work, text, {})) == ["NOT_FOUND"]
    late = text.replace('reason: "known"', 'reason: "known", until: "2020-01-01"')
    assert codes(execute(work, late, {})) == ["BAD_USER_INPUT"]
    anywhere = 'mutation { acceptFinding(code: "unowned", reason: "known") { code } }'
    assert codes(execute(work, anywhere, {})) == ["BAD_USER_INPUT"]
    assert codes(execute(work, 'mutation { stopRun(id: "run-1") { id } }', {})) == ["ENDED"]
    assert codes(execute(work, 'mutation { stopRun(id: "nothing") { id } }', {})) == ["NOT_FOUND"]


def test_nobody_but_a_person_accepts_a_finding(
    work: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HORNBOOK_ROLE", "developer")
    text = 'mutation { acceptFinding(code: "unowned", reason: "known") { code } }'
    assert codes(execute(work, text, {})) == ["FORBIDDEN"]


def codes(answer: Any) -> list[str]:
    return [error["extensions"]["code"] for error in answer["errors"]]
