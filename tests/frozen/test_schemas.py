"""What others generate clients from: GraphQL's schema, OpenAPI's, the tools of MCP; and HTTP itself."""

import json
from pathlib import Path
from typing import Any

from graphql import build_client_schema, get_introspection_query, print_schema
from starlette.testclient import TestClient

from tests.frozen import doors
from tests.frozen import repositories as given
from tests.frozen.kept import hold
from tests.frozen.stories import Story, tell

HERE = "http://127.0.0.1:8765"
READS = [
    "/healthz",
    f"/api/v1/entities/{given.ERRORS}",
    "/api/v1/entities/nothing",
    "/api/v1/plans",
    "/api/v1/plans/two-rates",
    "/api/v1/plans/nothing",
    "/api/v1/runs",
    "/api/v1/runs/nothing",
    "/nowhere",
]
ASKED: dict[str, object] = {
    "why": {"files": ["handlers/user.go", "app/price.py"]},
    "size": {"files": ["app/price.py"], "description": "Two rates"},
    "context/review": {"files": ["handlers/user.go"]},
    "context/develop": {"files": ["app/tax.py"], "description": "Two rates"},
    "plans": {"title": 7},
}
QUERIES = [
    "{ entities { id triples { predicate object } } }",
    "{ plans { id } }",
    "query A { __typename } query B { __typename }",
    "{ nothing }",
]
_LIVELY = {"date", "content-length", "x-request-id", "etag"}


def _shop(story: Story) -> None:
    story.begin({**given.RULES, **given.SOURCES, "limits.md": given.PLAN})
    assert story.play("ingest").code == 0
    assert story.play("plan", "Two rates", "--from", "limits.md").code == 0


def _messages(*methods: tuple[str, dict[str, object]]) -> str:
    first = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "frozen", "version": "1"},
    }
    sent: list[dict[str, object]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": first},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    for number, (method, params) in enumerate(methods, 1):
        sent.append({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    return "".join(json.dumps(each) + "\n" for each in sent)


def test_graphql_and_mcp_offer_what_is_stored(tmp_path: Path) -> None:
    story = tell(tmp_path, "shop")
    _shop(story)
    asked = json.loads(story.play("query", "--text", get_introspection_query()).out)
    story.answers["graphql"] = {
        "sdl": print_schema(build_client_schema(asked["data"])).splitlines()
    }
    lists = [(f"{kind}/list", dict[str, object]()) for kind in ("tools", "prompts", "resources", "resources/templates")]  # fmt: skip
    call: tuple[str, dict[str, object]] = (
        "tools/call",
        {"name": "rules_for_files", "arguments": {"files": ["handlers/user.go"]}},
    )
    said = story.play("mcp", stdin=_messages(*lists, call))
    answers = [json.loads(line) for line in said.out.splitlines()]
    story.answers["mcp"] = {
        str(each["id"]): each for each in sorted(answers, key=lambda each: each["id"])
    }
    hold("schemas", story.answers)


def test_http_answers_as_stored(tmp_path: Path) -> None:
    story = tell(tmp_path, "shop")
    _shop(story)
    answers: dict[str, object] = {}
    with TestClient(
        doors.create_app(story.root),
        base_url=HERE,
        raise_server_exceptions=False,
        headers={"x-request-id": "frozen"},
    ) as client:
        answers["openapi"] = client.get("/openapi.json").json()
        answers["reads"] = {path: _told(client.get(path)) for path in READS}
        answers["posts"] = {
            path: _told(client.post(f"/api/v1/{path}", json=body)) for path, body in ASKED.items()
        }
        answers["graphql"] = {
            query: _told(client.post("/graphql", json={"query": query})) for query in QUERIES
        }
        answers["sparql"] = {
            accept: _told(client.get("/sparql", params={"query": "SELECT ?s { ?s ?p ?o } ORDER BY ?s LIMIT 3"}, headers={"accept": accept}))
            for accept in ("application/sparql-results+json", "text/csv", "application/sparql-results+xml", "image/png")
        }  # fmt: skip
        answers["refused"] = {
            host: _told(client.get("/healthz", headers={"host": host})) for host in ("evil.example", "localhost")
        }  # fmt: skip
    hold("http", answers)


def _told(answer: Any) -> dict[str, object]:  # what the test client gives is httpx's
    headers = {name: value for name, value in sorted(answer.headers.items()) if name not in _LIVELY}
    try:
        body = answer.json()
    except ValueError:
        body = answer.text.splitlines()
    return {"status": answer.status_code, "headers": headers, "body": body}
