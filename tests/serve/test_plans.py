"""Plans and reviews over REST and GraphQL: the answers of the command line."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from hornbook import Workspace
from hornbook.cli.main import app as command
from hornbook.review.printed_review import PrintedReview
from hornbook.review.review_record import JudgedReview
from tests.kit import review_cases as cases
from tests.kit.git import commit, start
from tests.kit.plans import PLAN, with_a_plan
from tests.kit.reviews import prepared
from tests.kit.servers import READER, TOKENS, WRITER, ask, client

FIELDS = "id slug title status committed active supersedes supersededBy"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with_a_plan(tmp_path)
    with Workspace.open(tmp_path) as work:
        work.ingest()
    return tmp_path


@pytest.fixture
def local(root: Path) -> Iterator[TestClient]:
    """A client with the token of a person: nobody else commits to a plan."""
    path = root / ".hornbook" / "tokens"
    path.write_text(f"ann write {WRITER} for=human:ann\nci write {READER}\n")
    path.chmod(0o600)
    with client(root) as found:
        found.headers["authorization"] = f"Bearer {WRITER}"
        yield found


def told(root: Path, *arguments: str) -> Any:
    done = CliRunner().invoke(command, ["--root", str(root), *arguments, "--json"])
    return json.loads(done.stdout)


def begin(local: TestClient, **body: object) -> Any:
    answer = local.post("/api/v1/plans", json={"title": "Limits", "text": PLAN, **body})
    assert answer.status_code == 201, answer.text
    return answer


def test_plans_over_rest_are_those_of_the_command_line(local: TestClient, root: Path) -> None:
    assert local.get("/api/v1/plans").json() == {"plans": []}
    begun = begin(local)
    assert begun.headers["location"] == "/api/v1/plans/limits"
    assert begun.json() == {**told(root, "plans", "show", "limits"), "references": None}
    decision = {"decision": "In memory", "reason": "One process", "impact": "Lost on restart"}
    with Workspace.open(root) as work:
        work.plan_book().decide("limits", **decision)
        work.plan_book().risk("limits", name="R1", severity="high", text="Clocks drift")
    promoted = local.post("/api/v1/plans/limits/promote")
    assert (promoted.status_code, promoted.json()["status"]) == (200, "committed")
    with Workspace.open(root) as work:
        work.plan_book().tasks("limits")
    assert local.get("/api/v1/plans/limits").json() == told(root, "plans", "show", "limits")
    listed = local.get("/api/v1/plans").json()
    assert listed == told(root, "plans")
    assert listed["plans"][0]["constraints"]["in"] == ["handlers/**"]
    assert len(listed["plans"][0]["tasks"]) == 2


def test_plans_over_graphql_are_those_of_rest(local: TestClient) -> None:
    mutation = (
        f"mutation ($text: String) {{ createPlan(title: $title, text: $text) {{ {FIELDS} }} }}"
    )
    created = ask(local, mutation.replace("$title", '"Limits"'), text=PLAN)["data"]["createPlan"]
    assert (created["slug"], created["status"], created["active"]) == ("limits", "exploring", False)
    promoted = ask(local, f'mutation {{ promotePlan(slug: "limits") {{ {FIELDS} }} }}')
    assert promoted["data"]["promotePlan"]["committed"] is True
    found = ask(
        local,
        "{ plans { id slug title committed situation mission execution coordination status active "
        "constraints { in out doNotTouch } decisions { id } risks { id } tasks { id title } "
        'amendments { reason } problems { code } } plan(slug: "plan.limits") { title } '
        'none: plan(slug: "nope") { title } }',
    )
    assert "errors" not in found
    (plan,) = found["data"]["plans"]
    by_rest = local.get("/api/v1/plans/limits").json()
    constraints = plan.pop("constraints")
    assert {name: by_rest[name] for name in plan} == plan
    assert constraints["doNotTouch"] == by_rest["constraints"]["do_not_touch"]
    assert found["data"]["plan"] == {"title": "Limits"}
    assert found["data"]["none"] is None


def test_an_empty_plan_stays_an_exploration_over_http(local: TestClient) -> None:
    made = begin(local, text=None, committed=True).json()
    assert (made["committed"], made["active"]) == (False, False)
    assert [each["code"] for each in made["problems"]] == ["empty_section"] * 3
    refused = local.post("/api/v1/plans/limits/promote")
    assert (refused.status_code, refused.json()["code"]) == (409, "plan-incomplete")
    assert len(refused.json()["problems"]) == 3
    (error,) = ask(local, 'mutation { promotePlan(slug: "limits") { id } }')["errors"]
    assert error["extensions"]["code"] == "PLAN_INCOMPLETE"
    filled = local.post("/api/v1/plans/limits/amend", json={"text": PLAN})
    assert (filled.status_code, filled.json()["committed"]) == (200, False)
    assert local.post("/api/v1/plans/limits/promote").json()["committed"] is True
    amend = 'mutation { amendPlan(slug: "limits", text: "## Coordination\\n\\nLater.", reason: "r")'
    answered = ask(local, f"{amend} {{ coordination amendments {{ reason actor }} }} }}")
    assert answered["data"]["amendPlan"] == {
        "coordination": "Later.",
        "amendments": [{"reason": "r", "actor": "human:ann"}],
    }


def test_only_a_persons_token_commits_to_a_plan(local: TestClient) -> None:
    person = local.headers["authorization"]
    local.headers["authorization"] = f"Bearer {READER}"
    body = {"title": "Limits", "text": PLAN, "committed": True}
    refused = local.post("/api/v1/plans", json=body)
    assert (refused.status_code, refused.json()["code"]) == (403, "not-a-person")
    assert local.get("/api/v1/plans").json() == {"plans": []}
    begin(local)
    assert local.post("/api/v1/plans/limits/promote").status_code == 403
    (error,) = ask(local, 'mutation { promotePlan(slug: "limits") { id } }')["errors"]
    assert error["extensions"]["code"] == "FORBIDDEN"
    local.headers["authorization"] = person
    assert local.post("/api/v1/plans/limits/promote").json()["committed"] is True
    local.headers["authorization"] = f"Bearer {READER}"
    body = {"text": "## Constraints\n\n- IN: **\n", "reason": "wider"}
    assert local.post("/api/v1/plans/limits/amend", json=body).status_code == 403


def test_decisions_of_a_plan_are_entities_once_they_are_ingested(
    local: TestClient, root: Path
) -> None:
    begin(local, committed=True)
    with Workspace.open(root) as work:
        work.plan_book().decide("limits", decision="In memory", reason="One", impact="None")
    assert local.post("/api/v1/ingest", json={}).status_code == 200
    query = '{ decisions(planId: "plan.limits") { id triples { predicate object } } }'
    (decision,) = ask(local, query)["data"]["decisions"]
    assert decision["id"] == "decision.limits-1"
    assert {"predicate": "prov.derived_from", "object": "plan.limits"} in decision["triples"]


def test_a_review_context_for_a_plan_holds_its_mission(local: TestClient) -> None:
    query = (
        'query ($plan: ID) { reviewContext(files: ["handlers/user.go"], planId: $plan) '
        "{ outcome text } }"
    )
    begin(local)
    (error,) = ask(local, query, plan="plan.limits")["errors"]
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    local.post("/api/v1/plans/limits/promote")
    found = ask(local, query, plan="plan.limits")["data"]["reviewContext"]
    assert found["outcome"] == "complete"
    assert "Limit the rate." in found["text"]
    assert "Limit the rate." not in ask(local, query)["data"]["reviewContext"]["text"]
    body = {"files": ["handlers/user.go"], "plan": "limits"}
    assert local.post("/api/v1/context/review", json=body).json()["text"] == found["text"]
    (missing,) = ask(local, query, plan="plan.nope")["errors"]
    assert missing["extensions"]["code"] == "NOT_FOUND"


def test_a_task_of_a_plan_is_developed_without_more_words(local: TestClient) -> None:
    begin(local, committed=True)
    answer = local.post("/api/v1/context/develop", json={"plan": "limits", "task": "1"})
    assert answer.status_code == 200, answer.text
    assert "Count the requests" in answer.json()["text"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/plans/nope", None, 404, "not-found"),
        ("GET", "/plans/..", None, 404, "not-found"),
        ("GET", "/plans/..%2F..%2Fetc", None, 404, "not-found"),
        ("POST", "/plans/nope/promote", None, 404, "not-found"),
        ("POST", "/plans/nope/amend", {"text": "x"}, 404, "not-found"),
        ("POST", "/plans/limits/amend", {"text": "x"}, 422, "configuration"),
        ("POST", "/plans/nope/execute", {}, 404, "not-found"),
        ("POST", "/plans", {"title": ""}, 422, "invalid"),
        ("POST", "/plans", {"title": "  "}, 422, "invalid"),
        ("POST", "/plans", {"title": "Limits"}, 422, "refused"),
        ("POST", "/plans", {"title": "A", "text": "## Nonsense\n"}, 422, "configuration"),
        ("POST", "/plans", {"title": "A", "supersedes": "nope"}, 404, "not-found"),
        ("POST", "/plans", {"title": "A", "supersedes": "limits", "committed": True}, 422, "invalid"),
        ("POST", "/plans/limits/execute", {}, 409, "not-committed"),
        ("POST", "/plans/limits/execute", {"tasks": 1}, 422, "invalid"),
        ("GET", "/runs/nope", None, 404, "not-found"),
        ("GET", "/runs/nope/events", None, 404, "not-found"),
        ("POST", "/reviews/check", {"review": {}, "receipt": []}, 422, "invalid"),
        ("POST", "/reviews/check", {"review": {}}, 422, "invalid"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(  # noqa: PLR0917  # pytest passes by name
    local: TestClient, method: str, path: str, body: object, status: int, code: str
) -> None:
    begin(local)
    answer = local.request(method, f"/api/v1{path}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


def test_a_method_that_is_not_taken_is_told_with_those_that_are(local: TestClient) -> None:
    for path, methods in (("plans", "GET, POST"), ("plans/x", "GET"), ("why", "POST")):
        answer = local.delete(f"/api/v1/{path}")
        assert (answer.status_code, answer.headers["allow"]) == (405, methods)


def test_readers_look_at_plans_and_writers_make_them(root: Path) -> None:
    reads, writes = ({"authorization": f"Bearer {each}"} for each in (READER, WRITER))
    with client(root, host="0.0.0.0", environment=TOKENS) as found:
        body = {"title": "Limits"}
        assert found.get("/api/v1/plans", headers=reads).status_code == 200
        for path in ("/plans", "/plans/limits/promote", "/plans/limits/execute"):
            refused = found.post(f"/api/v1{path}", json=body, headers=reads)
            assert (refused.status_code, refused.json()["code"]) == (403, "scope"), path
        for mutation in ('createPlan(title: "x")', 'promotePlan(slug: "x")'):
            asked = {"query": f"mutation {{ {mutation} {{ id }} }}"}
            (error,) = found.post("/graphql", json=asked, headers=reads).json()["errors"]
            assert error["extensions"]["code"] == "FORBIDDEN"
        assert found.post("/api/v1/plans", json=body, headers=writes).status_code == 201


# Reviews


@pytest.fixture
def reviewed(tmp_path: Path) -> Path:
    start(tmp_path, {**cases.RULES, "README.md": "# It\n"})
    commit(tmp_path, cases.CHANGED)
    return tmp_path


CHECK = (
    "mutation ($review: JSON!, $receipt: JSON!, $gates: JSON) { checkReview(review: $review, "
    "receipt: $receipt, gates: $gates) { outcome rejectionType route explanation "
    "problems { code sopId message } findings { sopId severity status path line message } } }"
)


def test_a_review_is_judged_as_on_the_command_line(reviewed: Path) -> None:
    (receipt,) = prepared(reviewed)
    rejected = json.loads(cases.REJECTED[0].printed)
    with Workspace.open(reviewed) as work:
        work.ingest()
        expected = work.check_review([PrintedReview("x", json.dumps(rejected).encode())], [receipt])
    with client(reviewed) as found:
        for review in (rejected, json.dumps(rejected), [rejected]):
            body = {"review": review, "receipt": receipt}
            answer = found.post("/api/v1/reviews/check", json=body)
            assert answer.status_code == 200, answer.text
            judged = answer.json()
            assert judged["outcome"] == expected.outcome == "rejected"
            assert [each["sop_id"] for each in judged["findings"]] == [
                each.sop_id for each in expected.findings
            ]
            by_graphql = ask(found, CHECK, **body)["data"]["checkReview"]
            assert by_graphql["outcome"] == "rejected"
            assert by_graphql["route"] == judged["route"]
            assert len(by_graphql["findings"]) == len(judged["findings"])
        good = {"review": cases.GOOD, "receipt": receipt}
        assert ask(found, CHECK, **good)["data"]["checkReview"]["outcome"] == "approved"
        edited = {**good, "receipt": {**receipt, "files": []}}
        assert ask(found, CHECK, **edited)["data"]["checkReview"]["outcome"] == "invalid"
        gates = {"passed": False, "gates": [{"name": "t", "required": True, "status": "failed"}]}
        failed = found.post("/api/v1/reviews/check", json={**good, "gates": gates}).json()
        assert failed["outcome"] != "approved"
        (error,) = ask(found, CHECK, **good, gates={"passed": 1})["errors"]
        assert error["extensions"]["code"] == "BAD_USER_INPUT"


def test_a_reader_may_have_a_review_judged(reviewed: Path) -> None:
    (receipt,) = prepared(reviewed)
    with client(reviewed, host="0.0.0.0", environment=TOKENS) as found:
        body = {"query": CHECK, "variables": {"review": cases.GOOD, "receipt": receipt}}
        headers = {"authorization": f"Bearer {READER}"}
        answer = found.post("/graphql", json=body, headers=headers).json()
        assert answer["data"]["checkReview"]["outcome"] == "approved"


def test_recorded_reviews_and_the_record_of_rules_are_told(reviewed: Path) -> None:
    receipts = prepared(reviewed)
    with Workspace.open(reviewed) as work:
        reviews = [PrintedReview("review", cases.REJECTED[0].printed)]
        judged = JudgedReview(work.check_review(reviews, receipts), reviews, receipts)
        work.record_receipt(receipts[0])
        work.record_review(judged, at=datetime.now(UTC))
        work.ingest()
        (expected,) = work.reviews()
    with client(reviewed) as found:
        answer = ask(
            found, "{ reviews { id outcome at receipts } ruleRecords { id violated passed last } }"
        )["data"]
        (review,) = answer["reviews"]
        assert (review["id"], review["receipts"]) == (expected.id, list(expected.receipts))
        violated = {each["id"]: each["violated"] for each in answer["ruleRecords"]}
        assert violated[cases.ERRORS] == 1
        triples = f'{{ entity(id: "{expected.id}") {{ triples(predicatePrefix: "prov.derived_from") {{ object }} }} }}'
        used = ask(found, triples)["data"]["entity"]["triples"][0]["object"]
        by_revision = ask(found, "query ($r: ID) { reviews(revision: $r) { id } }", r=used)
        assert by_revision["data"]["reviews"] == [{"id": expected.id}]
        (error,) = ask(found, "{ ruleRecords(days: 0) { id } }")["errors"]
        assert error["extensions"]["field"] == "days"


def test_events_that_were_changed_are_told_as_damage(local: TestClient, root: Path) -> None:
    begin(local)
    log = root / ".hornbook" / "plans" / "limits" / "events.jsonl"
    log.write_text(log.read_text().replace("Limits", "Limitz"))
    answer = local.get("/api/v1/plans/limits")
    assert (answer.status_code, answer.json()["code"]) == (503, "events")
    assert "line 1" in answer.json()["detail"]
    (error,) = ask(local, "{ plans { id } }")["errors"]
    assert error["extensions"]["code"] == "EVENTS_DAMAGED"
