"""REST's lists: a page at a time, in a steady order, with cursors that survive changes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from starlette.testclient import TestClient

from hornbook.errors import UsageError
from hornbook.plans.principal import Principal, PrincipalKind, Via
from hornbook.serve.lists import page
from hornbook.workspace import Workspace
from tests.kit.git import commit, start
from tests.kit.servers import client, workspace
from tests.kit.workspaces import write

ANN = Principal("human:ann", PrincipalKind.HUMAN, Via.TOKEN, "r1")
BROKEN = "---\nseverity: dire\napplies_to: '**/*.py'\n---\n# Broken\n\nYou MUST mend it.\n"
INCLUDING = "# House\n\nBe kind.\n\n@more.md\n"
LISTS = ("rules", "reviews", "problems", "decisions", "audit", "doctor", "fleet")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("lists")
    start(found, {"handlers/user.go": "package handlers\n", "CLAUDE.md": INCLUDING})
    write(found, {"more.md": "Be brief.\n"})
    write(found, {f".hornbook/sources/docs/sops/broken-{n}.md": BROKEN for n in range(3)})
    workspace(found, "sources: [nowhere]")
    commit(found, {"handlers/user.go": "package handlers\n\nvar a = 1\n"})
    with Workspace.open(found) as work:
        work.plan_book(ANN).explore("Two")
        for what in ("Use Go", "Use Rust"):
            work.plan_book(ANN).decide("two", decision=what, reason="fast", impact="all")
        work.ingest()
    return found


@pytest.fixture(scope="module")
def local(root: Path) -> Iterator[TestClient]:
    with client(root) as found:
        yield found


def got(found: TestClient, path: str, **parameters: object) -> Any:
    answer = found.get(f"/api/v1/{path}", params=parameters)  # type: ignore[arg-type]  # plain values
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("name", LISTS)
def test_pages_put_together_are_the_list(local: TestClient, name: str) -> None:
    whole = got(local, name, first=1000)
    assert whole["next"] is None
    assert whole["total"] == len(whole["items"])
    cursor: dict[str, str] = {}
    pieces: list[object] = []
    while True:
        piece = got(local, name, first=2, **cursor)
        assert len(piece["items"]) <= 2
        assert piece["total"] == whole["total"]
        pieces += piece["items"]
        if piece["next"] is None:
            break
        cursor = {"after": piece["next"]}
    assert pieces == whole["items"]
    assert pieces or name in {"reviews", "fleet"}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("cursor", ["nothing", "W10=", "bnVsbA==", "WyJydWxlcyIsIHt9XQ=="])
def test_what_is_no_cursor_of_the_list_is_refused(
    local: TestClient, name: str, cursor: str
) -> None:
    refused = local.get(f"/api/v1/{name}", params={"after": cursor})
    assert refused.status_code == 422, refused.text
    assert refused.json()["code"] == "refused"
    assert "`next`" in refused.json()["detail"]


def test_what_no_cursor_can_be_is_not_as_described(local: TestClient) -> None:
    refused = local.get("/api/v1/rules", params={"after": "é"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")


def test_a_cursor_of_another_list_is_refused(local: TestClient) -> None:
    cursor = got(local, "rules", first=1)["next"]
    refused = local.get("/api/v1/decisions", params={"after": cursor})
    assert (refused.status_code, refused.json()["code"]) == (422, "refused")


@given(some.lists(some.text(max_size=3), unique=True), some.integers(1, 5), some.booleans())
def test_pages_tile_a_list_though_items_come_and_go(
    names: list[str], first: int, descending: bool
) -> None:
    def one(items: list[str], after: str | None) -> tuple[list[str], str | None]:
        told = page("x", items, lambda e: (e,), first, after, descending=descending)
        return list(told.items), told.next

    ordered = sorted(names, reverse=descending)
    seen, cursor = one(ordered, None)
    rest = [each for each in ordered if each != (seen or [""])[-1]]  # the last one given is gone
    while cursor is not None:
        more, cursor = one(rest, cursor)
        seen += more
    assert seen == ordered


def test_a_cursor_holds_parts_of_the_kinds_that_its_list_has() -> None:
    cursor = page("x", ["a", "b"], lambda e: (e,), 1).next
    with pytest.raises(UsageError, match="no cursor of x"):
        page("x", ["a", "b"], lambda _: (1,), 1, cursor)


def test_rules_say_whether_they_bind_and_why_not(local: TestClient) -> None:
    found = {each["id"]: each for each in got(local, "rules")["items"]}
    errors = found["source.doc.sops.error-handling"]
    assert errors["enforced"]
    assert errors["patterns"][0]["pattern"]
    assert errors["revision"].startswith("source.doc.sops.error-handling.rev.")
    assert [*found] == sorted(found)


def test_a_rule_is_whole_with_what_it_includes(local: TestClient) -> None:
    rule = got(local, "rules/source.doc.sops.claude-claude")
    assert rule["text"] == INCLUDING
    assert [(e["path"], e["text"]) for e in rule["includes"]] == [("more.md", "Be brief.\n")]
    missing = local.get("/api/v1/rules/decision.0001-use-go")
    assert missing.status_code == 404
    assert "category decision" in missing.json()["detail"]


def test_problems_are_those_of_ingest(local: TestClient, root: Path) -> None:
    with Workspace.open(root) as work:
        told = work.ingest().problems
    found = got(local, "problems")["items"]
    assert [(e["path"], e["code"]) for e in found] == [(e.path, e.code) for e in told]
    assert {"missing_source"} < {e["code"] for e in found}
    only = got(local, "problems", code="missing_source")["items"]
    assert [e["code"] for e in only] == ["missing_source"]


def test_decisions_name_their_plan_and_what_replaced_them(local: TestClient) -> None:
    found = {each["id"]: each for each in got(local, "decisions")["items"]}
    assert found["decision.0001-use-go"]["superseded_by"] == "decision.0002-rust"
    assert found["decision.0002-rust"]["supersedes"] == ["decision.0001-use-go"]
    of_plan = got(local, "decisions", plan="two")["items"]
    assert [(e["title"], e["plan"]) for e in of_plan] == [
        ("Use Go", "plan.two"),
        ("Use Rust", "plan.two"),
    ]


def test_the_doctor_tells_grade_and_findings(local: TestClient, root: Path) -> None:
    told = got(local, "doctor", first=1)
    with Workspace.open(root) as work:
        health = work.doctor()
    assert (told["grade"], told["counts"]) == (health.grade, health.counts)
    assert told["total"] == len(health.findings)
    assert told["items"] == [health.findings[0].answer()]


def test_a_replay_needs_a_name_and_tells_past_changes(local: TestClient) -> None:
    unnamed = local.post("/api/v1/replay", json={}, headers={"authorization": ""})
    assert unnamed.status_code == 401
    told = local.post("/api/v1/replay", json={"last": 1.0}).json()
    assert told["summary"]["changes"] == 1
    assert "handlers/user.go" in told["changes"][0]["files"]
    assert "against" not in told["changes"][0]
    twice = local.post("/api/v1/replay", json={"last": 1, "worktree": True}).json()
    assert {"outcome", "rules", "tokens"} <= set(twice["changes"][0]["against"])
    refused = local.post("/api/v1/replay", json={"last": 1, "range": "main..work"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
