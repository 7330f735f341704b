"""REST: the answers of the command line, problem details, ETags, a true description."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from hornbook.cli.main import app as command
from tests.kit.git import commit, start
from tests.kit.servers import client, workspace
from tests.kit.workspaces import write


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = workspace(tmp_path_factory.mktemp("rest"))
    return write(found, {"handlers/user.go": "package handlers\n"})


@pytest.fixture(scope="module")
def local(root: Path) -> Iterator[TestClient]:
    with client(root) as found:
        yield found


def told(root: Path, *arguments: str) -> object:
    done = CliRunner().invoke(command, ["--root", str(root), *arguments, "--json"])
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("route", "body", "arguments"),
    [
        ("why", {"files": ["handlers/user.go"]}, ["why"]),
        ("size", {"files": ["handlers/user.go"], "description": "x"}, ["size", "--description", "x", "--files"]),
        ("context/review", {"files": ["handlers/user.go"]}, ["context", "review", "--files"]),
        ("context/develop", {"files": ["handlers/user.go"], "description": "x"}, ["context", "develop", "--description", "x", "--files"]),
    ],
)  # fmt: skip
def test_an_answer_is_that_of_the_command(  # noqa: PLR0917  # pytest passes by name
    local: TestClient, root: Path, route: str, body: dict[str, object], arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.chdir(root)
    answer = local.post(f"/api/v1/{route}", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json() == told(root, *arguments, "handlers/user.go")


def test_a_change_is_answered_at_both_doors_as_by_the_command(tmp_path: Path) -> None:
    start(tmp_path, {"AGENTS.md": "# House\n\nYou MUST be kind.\n", "a.py": "a = 1\n"})
    commit(tmp_path, {"a.py": "a = 2\n", "b.py": "b = 1\n"})
    told(tmp_path, "ingest")
    query = (
        "query ($diff: String, $at: String) { why(diff: $diff, at: $at) { path rules { path } } }"
    )
    with client(tmp_path) as found:
        answer = found.post("/api/v1/why", json={"diff": "main..work"})
        graph, refused = (
            found.post("/graphql", json={"query": query, "variables": variables}).json()
            for variables in ({"diff": "main..work"}, {"diff": "main..work", "at": "main"})
        )
        wrong = [
            found.post("/api/v1/why", json=body)
            for body in ({}, {"files": ["a"], "diff": "main..work"}, {"diff": "x..y", "at": "main"})
        ]
    assert answer.json() == told(tmp_path, "why", "--diff", "main..work")
    bound = [{"path": "AGENTS.md"}]
    assert graph["data"]["why"] == [{"path": name, "rules": bound} for name in ("a.py", "b.py")]
    assert [(each.status_code, each.json()["code"]) for each in wrong] == [(422, "invalid")] * 3
    assert "leave `at` out" in refused["errors"][0]["message"]


def test_an_absolute_path_inside_the_root_is_the_relative_one(
    local: TestClient, root: Path
) -> None:
    def of(path: str) -> Any:
        return local.post("/api/v1/context/review", json={"files": [path]}).json()["sop_ids"]

    bound = of("handlers/user.go")
    assert bound
    assert of(str(root / "handlers/user.go")) == bound
    query = "query ($files: [String!]!) { why(files: $files) { path } }"
    files = [str(root / "handlers/user.go")]
    answer = local.post("/graphql", json={"query": query, "variables": {"files": files}}).json()
    assert answer == {"data": {"why": [{"path": "handlers/user.go"}]}}
    outside = local.post("/api/v1/why", json={"files": ["/etc/passwd", "a/../../b"]})
    assert outside.status_code == 422
    assert outside.json()["detail"].count("root") == 2


def test_an_ingest_answers_with_its_report(local: TestClient) -> None:
    answer = local.post("/api/v1/ingest", json={}).json()
    assert (answer["documents"], answer["unchanged"], answer["problems"]) == (4, 4, [])


def test_an_entity_has_a_tag_by_which_it_is_not_sent_again(local: TestClient, root: Path) -> None:
    path = "/api/v1/entities/source.doc.sops.error-handling"
    first = local.get(path)
    assert first.json() == told(root, "show", "source.doc.sops.error-handling")
    tag = first.headers["etag"]
    for given in (tag, tag.removeprefix("W/"), f'"x", {tag}'):
        again = local.get(path, headers={"if-none-match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert local.get(path, headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/v1/entities/no.such", None, 404, "not-found"),
        ("GET", "/api/v1/nothing", None, 404, "not-found"),
        ("GET", "/api/v1/why", None, 405, "method"),
        ("POST", "/api/v1/why", {"files": []}, 422, "invalid"),
        ("POST", "/api/v1/why", {"files": ["a"], "more": 1}, 422, "invalid"),
        ("POST", "/api/v1/why", {"files": ["../../etc/passwd"]}, 422, "refused"),
        ("POST", "/api/v1/why", {"files": ["a"], "at": "--output=x"}, 422, "refused"),
        ("POST", "/api/v1/why", {"files": ["a" * 300]}, 422, "refused"),
        ("POST", "/api/v1/size", {"files": ["a"], "window": 10}, 422, "configuration"),
        ("POST", "/api/v1/size", {"files": ["handlers"]}, 422, "refused"),
        ("POST", "/api/v1/context/review", {}, 422, "invalid"),
        ("POST", "/api/v1/context/review", {"files": ["a"], "model": "none"}, 422, "refused"),
        ("POST", "/api/v1/ingest", {"paths": ["../x"]}, 422, "refused"),
    ],
)
def test_a_refusal_is_a_problem(  # noqa: PLR0917  # pytest passes by name
    local: TestClient, method: str, path: str, body: object, status: int, code: str
) -> None:
    answer = local.request(method, path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json()) >= {"type", "title", "status", "detail", "instance"}
    assert answer.headers["x-request-id"] in answer.json()["instance"]


def test_all_that_is_wrong_with_a_body_is_told(local: TestClient) -> None:
    answer = local.post("/api/v1/size", json={"files": "x", "window": "y", "more": 1}).json()
    assert {each["pointer"] for each in answer["errors"]} == {"#/files", "#/window", "#/more"}


def test_a_body_that_is_not_json_is_a_bad_request(local: TestClient) -> None:
    headers = {"content-type": "application/json"}
    answer = local.post("/api/v1/why", content=b"{", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "json")


def test_a_question_about_rules_is_answered_from_the_files(tmp_path: Path) -> None:
    with client(tmp_path) as found:
        assert found.get("/readyz").json()["documents"] == 0
        assert "Nothing yet" in found.get("/").text
        answer = found.post("/api/v1/why", json={"files": ["a.go"]})
        assert answer.json()["files"][0]["rules"] == []
    write(tmp_path, {"AGENTS.md": "# Agents\n\nMUST be kind.\n"})
    with client(tmp_path) as found:
        answer = found.post("/api/v1/why", json={"files": ["a.go"]})
        assert [rule["path"] for rule in answer.json()["files"][0]["rules"]] == ["AGENTS.md"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hornbook", "AGENTS.md"]


def test_a_damaged_store_is_told_and_not_empty(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    with client(root) as found:
        (root / ".hornbook/store/CURRENT").write_bytes(b"nonsense")
        for path in ("/readyz", "/api/v1/entities/a.b"):
            answer = found.get(path)
            assert (answer.status_code, answer.json()["code"]) == (503, "store")


def test_the_description_names_every_route_and_no_other(local: TestClient) -> None:
    described = local.get("/openapi.json").json()
    assert sorted(described["paths"]) == [
        "/api/v1/audit",
        "/api/v1/context/develop",
        "/api/v1/context/review",
        "/api/v1/decisions",
        "/api/v1/doctor",
        "/api/v1/entities/{id}",
        "/api/v1/fleet",
        "/api/v1/ingest",
        "/api/v1/plans",
        "/api/v1/plans/{slug}",
        "/api/v1/plans/{slug}/amend",
        "/api/v1/plans/{slug}/execute",
        "/api/v1/plans/{slug}/promote",
        "/api/v1/problems",
        "/api/v1/replay",
        "/api/v1/reviews",
        "/api/v1/reviews/check",
        "/api/v1/rules",
        "/api/v1/rules/{id}",
        "/api/v1/runs",
        "/api/v1/runs/{id}",
        "/api/v1/runs/{id}/answer",
        "/api/v1/runs/{id}/events",
        "/api/v1/runs/{id}/stop",
        "/api/v1/size",
        "/api/v1/why",
        "/healthz",
        "/metrics",
        "/readyz",
    ]
    for operations in described["paths"].values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/problem+json"]


def test_metrics_count_requests_by_a_fixed_set_of_routes(local: TestClient) -> None:
    local.get("/some/made-up/path")
    text = local.get("/metrics").text
    assert 'hornbook_requests_total{method="GET",route="other",status="404"}' in text
    assert "made-up" not in text
    assert "hornbook_documents 4.0" in text


def test_a_number_without_a_fraction_is_an_integer_as_described(local: TestClient) -> None:
    def size(window: object) -> Any:
        return local.post("/api/v1/size", json={"files": ["a.go"], "window": window})

    described = local.get("/openapi.json").json()["components"]["schemas"]["SizeBody"]
    bounds = {"type": "integer", "minimum": 1.0, "maximum": 1_000_000_000.0}
    assert bounds in described["properties"]["window"]["anyOf"]
    assert size(100000.0).json() == size(100000).json()
    assert size(100000.0).status_code == 200
    for wrong in (100000.5, "100000", True, 1e400, -1.0):
        content = json.dumps({"files": ["a.go"], "window": wrong})
        headers = {"content-type": "application/json"}
        answer = local.post("/api/v1/size", content=content, headers=headers)
        assert answer.status_code in {400, 422}, wrong
