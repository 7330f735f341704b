"""Requests that must not write without a name, as somebody would send them who looks for a way in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.kit.servers import client, workspace

PLAN = {"title": "Written"}
MUTATION = 'mutation { createPlan(title: "Written") { slug } }'
JSON = {"content-type": "application/json"}
ATTACKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "plainly": ("POST", "/api/v1/plans", {"json": PLAN}),
    "method override by header": (
        "GET", "/api/v1/plans", {"headers": {"x-http-method-override": "POST"}, "params": PLAN}
    ),
    "method override by field": ("POST", "/api/v1/plans?_method=GET", {"json": PLAN}),
    "HEAD": ("HEAD", "/api/v1/plans/x/promote", {}),
    "OPTIONS": ("OPTIONS", "/api/v1/plans", {"content": b'{"title": "Written"}', "headers": JSON}),
    "preflight of a foreign page": (
        "OPTIONS", "/api/v1/plans",
        {"headers": {"origin": "https://evil.example", "access-control-request-method": "POST"}},
    ),
    "PUT": ("PUT", "/api/v1/plans", {"json": PLAN}),
    "a made-up method": ("POSTS", "/api/v1/plans", {"json": PLAN}),
    "two slashes": ("POST", "//api/v1/plans", {"json": PLAN}),
    "a slash behind": ("POST", "/api/v1/plans/", {"json": PLAN}),
    "percent-encoded path": ("POST", "/api/v1/%70lans", {"json": PLAN}),
    "percent-encoded slash": ("POST", "/api%2Fv1%2Fplans", {"json": PLAN}),
    "a way through a page": ("POST", "/healthz/../api/v1/plans", {"json": PLAN}),
    "a way through what is open": ("POST", "/assets/../api/v1/plans", {"json": PLAN}),
    "a way through what is open, encoded": ("POST", "/assets/%2e%2e/api/v1/plans", {"json": PLAN}),
    "prefix of a proxy": (
        "POST", "/healthz", {"headers": {"x-forwarded-prefix": "/api/v1/plans"}, "json": PLAN}
    ),
    "rewritten path": (
        "POST", "/healthz", {"headers": {"x-original-url": "/api/v1/plans"}, "json": PLAN}
    ),
    "said to be local": (
        "POST", "/api/v1/plans", {"headers": {"x-forwarded-for": "127.0.0.1"}, "json": PLAN}
    ),
    "by a proxy": ("POST", "/api/v1/plans", {"headers": {"via": "1.1 x"}, "json": PLAN}),
    "rebound name": ("POST", "/api/v1/plans", {"headers": {"host": "evil.example"}, "json": PLAN}),
    "foreign page": (
        "POST", "/api/v1/plans", {"headers": {"origin": "https://evil.example"}, "json": PLAN}
    ),
    "page without an origin": (
        "POST", "/api/v1/plans", {"headers": {"origin": "null"}, "json": PLAN}
    ),
    "form of a foreign page": (
        "POST", "/api/v1/plans", {"headers": {"sec-fetch-site": "cross-site"}, "data": PLAN}
    ),
    "made-up session": ("POST", "/api/v1/plans", {"headers": {"cookie": "hornbook=x"}, "json": PLAN}),
    "empty token": ("POST", "/api/v1/plans", {"headers": {"authorization": "Bearer "}, "json": PLAN}),
    "token of another kind": (
        "POST", "/api/v1/plans", {"headers": {"authorization": "Basic Og=="}, "json": PLAN}
    ),
    "GraphQL": ("POST", "/graphql", {"json": {"query": MUTATION}}),
    "GraphQL by GET": ("GET", "/graphql", {"params": {"query": MUTATION}}),
    "GraphQL by HEAD": ("HEAD", "/graphql", {"params": {"query": MUTATION}}),
    "GraphQL in a batch": ("POST", "/graphql", {"json": [{"query": MUTATION}]}),
    "GraphQL beside a query": (
        "POST", "/graphql",
        {"json": {"query": f"query A {{ version }} {MUTATION.replace('mutation', 'mutation B')}",
                  "operationName": "B"}},
    ),
    "GraphQL as a stream": (
        "POST", "/graphql", {"json": {"query": MUTATION}, "headers": {"accept": "text/event-stream"}}
    ),
    "GraphQL as a stream by GET": (
        "GET", "/graphql", {"params": {"query": MUTATION}, "headers": {"accept": "text/event-stream"}}
    ),
    "GraphQL as a form": ("POST", "/graphql", {"data": {"query": MUTATION}}),
    "GraphQL as plain text": (
        "POST", "/graphql", {"content": b'{"query": "x"}', "headers": {"content-type": "text/plain"}}
    ),
    "SPARQL": ("POST", "/sparql", {"data": {"update": "CLEAR ALL"}}),
    "SPARQL by GET": ("GET", "/sparql", {"params": {"update": "CLEAR ALL"}}),
    "a page's form": ("POST", "/plans", {"data": PLAN}),
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("attacked"))


@pytest.fixture(scope="module")
def stranger(root: Path) -> Iterator[TestClient]:
    with client(root, named=False) as found:
        found.follow_redirects = False
        yield found


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_is_written_without_a_name(stranger: TestClient, root: Path, name: str) -> None:
    method, path, given = ATTACKS[name]
    answer = stranger.request(method, path, **given)
    assert answer.status_code < 500, answer.text
    if answer.status_code == 200 and answer.content and method not in {"HEAD", "OPTIONS"}:
        assert "written" not in answer.text
    assert not list((root / ".hornbook").glob("plans/*"))
    assert "access-control-allow-origin" not in answer.headers


def test_no_socket_writes_without_a_name(stranger: TestClient, root: Path) -> None:
    with stranger.websocket_connect(
        "ws://127.0.0.1:8765/graphql", subprotocols=["graphql-transport-ws"]
    ) as socket:
        socket.send_json({"type": "connection_init"})
        assert socket.receive_json() == {"type": "connection_ack"}
        socket.send_json({"type": "subscribe", "id": "1", "payload": {"query": MUTATION}})
        assert socket.receive_json()["type"] == "error"
    assert not list((root / ".hornbook").glob("plans/*"))


@pytest.mark.parametrize("name", ["plainly", "GraphQL"])
def test_the_same_request_writes_with_a_name(tmp_path: Path, name: str) -> None:
    method, path, given = ATTACKS[name]
    root = workspace(tmp_path)
    with client(root) as owner:
        answer = owner.request(method, path, **given)
    assert (root / ".hornbook/plans/written").is_dir(), answer.text
