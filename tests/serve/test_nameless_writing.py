"""Nobody writes without a name: every way that the application, the schema and the tools have.

The tables are derived: a route, mutation or tool that somebody adds is tried here, and one that
says nothing of what it needs is shut.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from fastapi.routing import APIRoute
from graphql import GraphQLNonNull, GraphQLObjectType, get_named_type
from starlette.testclient import TestClient

from hornbook.cli.app import app as command_line
from hornbook.serve.access.required_scope import SAFE, needs, required_scope, scope_of_route
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.app import create_app
from hornbook.serve.graphql.executor import scope_of_field
from hornbook.serve.graphql.schema import graphql_schema
from hornbook.serve.mcp import server
from hornbook.serve.mcp.tools import TOOLS
from hornbook.serve.rest.routes import router
from tests.kit.servers import HERE, READER, TOKENS, client, secret_header, workspace


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("nameless"))


@pytest.fixture(scope="module")
def unnamed(root: Path) -> Iterator[TestClient]:
    with client(root, named=False) as found:
        yield found


@pytest.fixture(scope="module")
def reader(root: Path) -> Iterator[TestClient]:
    with client(root, environment=TOKENS) as found:
        found.headers["authorization"] = f"Bearer {READER}"
        yield found


def unsafe_routes(root: Path) -> list[tuple[str, str, AccessScope]]:
    """Every method and path of the application that is not only asked."""
    routes = [*router.routes, *create_app(root).routes]
    return sorted(
        (method, re.sub(r"\{[^}]*\}", "x", route.path), scope_of_route(route))
        for route in routes
        if isinstance(route, APIRoute)
        for method in (route.methods or set()) - SAFE
    )


OPEN_POSTS = {
    "/api/v1/why",
    "/api/v1/size",
    "/api/v1/context/review",
    "/api/v1/context/develop",
    "/api/v1/reviews/check",
}
NAMED = {"/api/v1/replay"}
SIGNING_IN = {"/login", "/logout"}
"""Who sends these shows who they are with them."""


def test_only_what_reads_is_open(root: Path) -> None:
    reads = {path for _, path, scope in unsafe_routes(root) if scope is AccessScope.READ}
    assert reads - SIGNING_IN == OPEN_POSTS | NAMED


def test_what_reads_and_takes_long_needs_a_name(unnamed: TestClient, reader: TestClient) -> None:
    for path in NAMED:
        refused = unnamed.post(path, json={"no": "such key"})
        assert (refused.status_code, refused.json()["code"]) == (401, "token")
        assert refused.headers["www-authenticate"]
        assert reader.post(path, json={"no": "such key"}).status_code == 422


def test_no_route_writes_without_a_name(
    root: Path, unnamed: TestClient, reader: TestClient
) -> None:
    tried = 0
    for method, path, scope in unsafe_routes(root):
        if scope is AccessScope.READ:
            continue
        for body in (b"", b"{}", b"{not json"):
            kind = {"content-type": "application/json"}
            refused = unnamed.request(method, path, content=body, headers=kind)
            assert (refused.status_code, refused.json()["code"]) == (401, "token"), path
            assert refused.headers["www-authenticate"]
            refused = reader.request(method, path, content=body, headers=kind)
            assert (refused.status_code, refused.json()["code"]) == (403, "scope"), path
        tried += 1
    assert tried >= 5


def test_a_route_that_says_nothing_is_shut() -> None:
    async def forgotten() -> None:
        raise AssertionError("it must not be reached")

    routes = [
        APIRoute("/forgotten", forgotten, methods=["POST"]),
        APIRoute("/told", forgotten, methods=["POST"], openapi_extra=needs(AccessScope.PLAN)),
    ]
    scope_of = required_scope(routes, by_operation={"/graphql"}, shut={"/added"})

    def asked(method: str, path: str) -> AccessScope:
        return scope_of({"type": "http", "method": method, "path": path, "headers": []})

    assert asked("POST", "/forgotten") is AccessScope.ADMIN
    assert asked("POST", "/told") is AccessScope.PLAN
    assert asked("POST", "/added") is AccessScope.ADMIN
    assert asked("POST", "/graphql") is AccessScope.READ
    assert asked("GET", "/forgotten") is AccessScope.READ


def test_an_endpoint_that_is_added_is_shut(root: Path) -> None:
    async def answers(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"written"})

    app = create_app(root, endpoints={"/added": lambda _leases: answers})
    with TestClient(app, base_url=HERE) as found:
        assert found.post("/added").status_code == 401
        assert found.post("/added", headers=secret_header(root)).text == "written"


def mutations() -> dict[str, str]:
    """A document for each mutation, with something in the place of what it must be given."""
    made = {}
    kind = graphql_schema.mutation_type
    assert kind is not None
    for name, field in kind.fields.items():
        given = ", ".join(
            argument + (": {}" if str(get_named_type(each.type)) == "JSON" else ': "x"')
            for argument, each in field.args.items()
            if isinstance(each.type, GraphQLNonNull) and each.default_value is not False
        )
        inner = get_named_type(field.type)
        shown = " { __typename }" if isinstance(inner, GraphQLObjectType) else ""
        made[name] = f"mutation {{ {name}{f'({given})' if given else ''}{shown} }}"
    return made


def test_no_mutation_but_the_check_of_a_review_runs_without_a_name(
    unnamed: TestClient, reader: TestClient
) -> None:
    for name, document in mutations().items():
        answer = unnamed.post("/graphql", json={"query": document})
        scoped = reader.post("/graphql", json={"query": document})
        if name == "checkReview":
            assert (answer.status_code, scoped.status_code) == (200, 200)
            continue
        assert answer.status_code == 401, f"{document}: {answer.text}"
        assert scoped.status_code == 403, f"{document}: {scoped.text}"


def test_every_mutation_says_which_scope_it_needs() -> None:
    kind = graphql_schema.mutation_type
    assert kind is not None
    told = {name: scope_of_field(field) for name, field in kind.fields.items()}
    assert AccessScope.ADMIN not in told.values(), told
    assert [name for name, scope in told.items() if scope is AccessScope.READ] == ["checkReview"]


def call_tool(found: TestClient, name: str, arguments: dict[str, object]) -> Any:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    headers = {"accept": "application/json, text/event-stream"}
    return found.post("/mcp", json=body, headers=headers).json()["result"]


def test_no_tool_writes_without_a_name(
    root: Path, unnamed: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {tool.name: tool.scope for tool in TOOLS if not tool.read_only} == {}
    tool = next(each for each in TOOLS if each.name == "plan_status")
    assert not call_tool(unnamed, tool.name, {}).get("isError")
    monkeypatch.setitem(server.BY_NAME, tool.name, replace(tool, scope=AccessScope.PLAN))
    refused = call_tool(unnamed, tool.name, {})
    assert refused["isError"]
    assert "scope plan" in refused["content"][0]["text"]
    unnamed.headers |= secret_header(root)
    try:
        assert not call_tool(unnamed, tool.name, {}).get("isError")
    finally:
        del unnamed.headers["authorization"]


def test_sparql_never_writes(unnamed: TestClient) -> None:
    for text in ("INSERT DATA { <urn:a> <urn:b> 1 }", "CLEAR ALL", "DROP ALL"):
        assert unnamed.post("/sparql", data={"update": text}).status_code in {400, 403, 415}
        assert unnamed.post("/sparql", data={"query": text}).status_code in {400, 403}


WRITING = {
    *("init", "ingest", "explore", "plan", "promote", "plans", "decide", "risk", "tasks"),
    *("propose", "design", "spec", "checkpoint", "recover", "invariants", "execute", "resume"),
    *("auto", "fix", "worker", "runs", "review", "conventions", "doctor", "gates", "export"),
    *("serve", "mcp", "token", "answer", "hook", "query", "backup", "restore"),
}
READING = {
    *("why", "match", "chunks", "tokens", "size", "context", "reviews", "replay", "agents"),
    *("template", "workflow", "show", "history", "sparql", "audit", "confine", "login", "verify"),
    "fleet",
}


def test_it_is_known_of_every_command_whether_it_writes() -> None:
    assert isinstance(command_line, click.Group)
    known = WRITING | READING
    missing = set(command_line.commands) - known
    assert not missing, f"say of {sorted(missing)} whether they write, and as whom"
