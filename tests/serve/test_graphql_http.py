"""GraphQL over HTTP, as a stream of events and over a WebSocket."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from graphql import GraphQLObjectType, GraphQLWrappingType
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from hornbook import Workspace
from hornbook.graph.oxigraph import OxigraphStore
from hornbook.serve.console.assets import asset_path
from hornbook.serve.graphql.schema import graphql_schema
from tests.kit.servers import HERE, SOCKET, ask, client, on_a_port, workspace
from tests.kit.waiting import SAFETY
from tests.kit.workspaces import SOPS, write

RESPONSE = "application/graphql-response+json"
VERSIONS = "subscription { graphVersions { version documents } }"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("graphql"))


@pytest.fixture(scope="module")
def local(root: Path) -> Iterator[TestClient]:
    with client(root) as found:
        yield found


def data(found: TestClient, query: str, **variables: object) -> Any:
    answer = ask(found, query, **variables)
    assert "errors" not in answer, answer
    return answer["data"]


def test_a_listing_never_opens_the_store(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(folder: Path) -> None:
        raise AssertionError(f"{folder} was opened")

    monkeypatch.setattr(OxigraphStore, "read_only", opened)
    listing = "{ entities { id triples { predicate object } } }"
    with client(root) as found:
        assert len(data(found, listing)["entities"]) == 4
        assert len(data(found, f"{listing[:-1]} sops {{ id }} }}")["entities"]) == 4
        assert found.get("/readyz").status_code == 200
        assert found.post("/api/v1/why", json={"files": ["a.go"]}).status_code == 200


@pytest.mark.parametrize(
    ("accept", "given"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        (RESPONSE, RESPONSE),
        (f"{RESPONSE}, application/json;q=0.9", RESPONSE),
        (f"{RESPONSE};q=0.1, application/json", "application/json"),
        ("text/html;q=0.9, */*;q=0.1", "application/json"),
    ],
)
def test_the_answer_has_the_form_that_is_wanted(
    local: TestClient, accept: str | None, given: str
) -> None:
    request = local.build_request("POST", "/graphql", json={"query": "{__typename}"})
    del request.headers["accept"]
    if accept is not None:
        request.headers["accept"] = accept
    answer = local.send(request)
    assert answer.headers["content-type"] == f"{given}; charset=utf-8"
    assert answer.content == b'{"data":{"__typename":"Query"}}'


@pytest.mark.parametrize(
    ("accept", "status"), [(RESPONSE, 400), ("application/json", 200), ("image/png", 406)]
)
def test_an_invalid_document_has_its_status(local: TestClient, accept: str, status: int) -> None:
    answer = local.post("/graphql", json={"query": "{nothing}"}, headers={"accept": accept})
    assert answer.status_code == status
    assert "data" not in answer.json()


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"x"', b"{}", b'{"query":1}', b'{"query":"{a}","variables":[]}', b'{"query":"{a}","operationName":1}', b'{"query":"{a}","extensions":1}', b'{"query":"\xff"}', b'[{"query":"{version}"}]', b'{"query":"\\ud800"}'],
)  # fmt: skip
def test_what_is_no_request_is_refused(local: TestClient, body: bytes) -> None:
    answer = local.post("/graphql", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["errors"]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(local: TestClient, method: str) -> None:
    answer = local.request(method, "/graphql")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")


def test_a_query_may_be_sent_by_get(local: TestClient) -> None:
    text = "query A($id: ID!) { entity(id: $id) { id } } query B { version }"
    parameters = {
        "query": text,
        "operationName": "A",
        "variables": json.dumps({"id": "decision.0002-rust"}),
    }
    answer = local.get("/graphql", params=parameters)
    assert answer.json() == {"data": {"entity": {"id": "decision.0002-rust"}}}
    answer = local.get("/graphql", params={"query": text})
    assert answer.json()["errors"][0]["extensions"]["code"] == "OPERATION_RESOLUTION_FAILURE"


def test_a_browser_gets_a_page_that_needs_no_other_server(local: TestClient) -> None:
    answer = local.get("/graphql", headers={"accept": "text/html,*/*;q=0.8"})
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "https://" not in answer.text
    assert "http://" not in answer.text


def test_the_page_asks_for_types_as_deep_as_the_schema_nests_them(local: TestClient) -> None:
    def levels(kind: object) -> int:
        return 1 + levels(kind.of_type) if isinstance(kind, GraphQLWrappingType) else 0

    page = local.get(asset_path("graphql.js")).text
    asked = re.search(r"LEVELS = (\d+)", page)
    assert asked is not None
    fields = (
        field
        for each in graphql_schema.type_map.values()
        if isinstance(each, GraphQLObjectType)
        for field in each.fields.values()
    )
    assert max(levels(field.type) for field in fields) <= int(asked[1])


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ('{ entities(filter: {severity: "fatal"}) { id } }', "severity"),
        ('{ entities(filter: {category: "sops"}) { id } }', "category"),
        ('{ entitiesConnection(after: "!!") { edges { cursor } } }', "after"),
        ('{ entities(filter: {appliesTo: "../x"}) { id } }', "appliesTo"),
        ('{ why(files: ["/../../etc/passwd"]) { path } }', "files"),
        ('{ sops(files: ["a\\u0000b"]) { id } }', "files"),
        ("{ reviewContext(files: []) { outcome } }", "files"),
        ('mutation { ingest(paths: ["../.."]) { documents } }', "paths"),
    ],
)  # fmt: skip
def test_bad_input_has_a_field_and_a_remedy(local: TestClient, query: str, field: str) -> None:
    (error,) = ask(local, query)["errors"]
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["extensions"]["field"] == field
    assert error["extensions"]["remedy"]


def test_unknown_values_come_with_the_known_ones(local: TestClient) -> None:
    (error,) = ask(local, '{ entities(filter: {severity: "fatal"}) { id } }')["errors"]
    assert error["extensions"]["remedy"] == "use one of error, warning, info"


def test_bad_variables_are_bad_input(local: TestClient) -> None:
    text = "query ($n: Int!) { entities(first: $n) { id } }"
    answer = local.post(
        "/graphql", json={"query": text, "variables": {"n": "x"}}, headers={"accept": RESPONSE}
    )
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"


def test_names_of_other_graphs_answer(local: TestClient) -> None:
    text = """{ byPredicate: entitiesByPredicate(predicate: "decision.status") { id }
        byPrefix: entitiesByPrefix(prefix: "source.doc.sops") { id }
        none: entitiesByPredicate(predicate: "source.doc.sops") { id } }"""
    assert data(local, text) == {
        "byPredicate": [{"id": "decision.0001-use-go"}, {"id": "decision.0002-rust"}],
        "byPrefix": [
            {"id": "source.doc.sops.error-handling"},
            {"id": "source.doc.sops.test-coverage"},
        ],
        "none": [],
    }


def test_decisions_and_those_of_a_plan(local: TestClient) -> None:
    found = data(local, '{ decisions { id } none: decisions(planId: "plan.x") { id } }')
    assert [each["id"] for each in found["decisions"]] == [
        "decision.0001-use-go",
        "decision.0002-rust",
    ]
    assert found["none"] == []


def test_a_review_context_is_whole(local: TestClient, root: Path) -> None:
    write(root, {"handlers/user.go": "package handlers\n"})
    text = """{ reviewContext(files: ["handlers/user.go"]) {
        outcome sopIds text sections { name items { id } } reasons { code } } }"""
    found = data(local, text)["reviewContext"]
    assert found["outcome"] == "complete"
    assert found["sopIds"] == ["source.doc.sops.error-handling", "source.doc.sops.test-coverage"]
    assert "fmt.Errorf" in found["text"]


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("a secret")
    inside = tmp_path / "repo"
    inside.mkdir()
    root = workspace(inside)
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "folder").symlink_to(tmp_path)
    with client(root) as found:
        for path in ("link.txt", "folder/outside.txt"):
            answer = ask(found, f'{{ reviewContext(files: ["{path}"]) {{ text }} }}')
            assert answer["errors"][0]["extensions"]["field"] == "files"
            for route in ("size", "context/develop", "context/review"):
                body = {"files": [path], "description": "x"}
                if route == "context/review":
                    del body["description"]
                answer = found.post(f"/api/v1/{route}", json=body)
                assert answer.status_code == 422
                assert "secret" not in answer.text


def test_an_ingest_is_seen_by_the_next_request(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    with client(root) as found:
        before = data(found, "{ version }")["version"]
        write(root, {f"{SOPS}/new.md": "---\napplies_to: '*.c'\n---\n# New\n\nText.\n"})
        report = data(found, "mutation { ingest { added documents problems { code } } }")["ingest"]
        assert report == {"added": 1, "documents": 5, "problems": []}
        assert data(found, "{ version }")["version"] != before


# Streams


def test_a_query_may_be_answered_as_events(local: TestClient) -> None:
    answer = local.post(
        "/graphql", json={"query": "{__typename}"}, headers={"accept": "text/event-stream"}
    )
    assert answer.text == (
        ':\n\nevent: next\ndata: {"data":{"__typename":"Query"}}\n\nevent: complete\ndata:\n\n'
    )


def test_a_subscription_needs_a_stream(local: TestClient) -> None:
    assert local.post("/graphql", json={"query": VERSIONS}).status_code == 406


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription {", "GRAPHQL_PARSE_FAILED"),
        (" ", "GRAPHQL_PARSE_FAILED"),
        ('subscription { runEvents(id: "nothing") { seq } }', "NOT_FOUND"),
        ("{ entities(first: 0) { id } }", "BAD_USER_INPUT"),
        ("query A { version } query B { version }", "OPERATION_RESOLUTION_FAILURE"),
    ],
)
def test_errors_come_through_the_stream(local: TestClient, query: str, code: str) -> None:
    answer = local.post("/graphql", json={"query": query}, headers={"accept": "text/event-stream"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    first, sent, complete, rest = answer.text.split("\n\n")
    event, data = sent.split("\n")
    assert (first, event, complete, rest) == (":", "event: next", "event: complete\ndata:", "")
    (error,) = json.loads(data.removeprefix("data: "))["errors"]
    assert error["extensions"]["code"] == code


def test_a_stream_tells_of_the_next_version(tmp_path: Path) -> None:
    import http.client

    root = workspace(tmp_path)
    with on_a_port(root) as address:
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=SAFETY)
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        connection.request("POST", "/graphql", json.dumps({"query": VERSIONS}), headers)
        answer = connection.getresponse()

        def following() -> Any:
            while True:
                line = answer.fp.readline()
                if line.startswith(b"data: "):
                    return json.loads(line[6:])["data"]["graphVersions"]

        assert following()["documents"] == 4
        write(root, {f"{SOPS}/new.md": "# New\n\nText.\n"})
        with Workspace.open(root) as work:
            work.ingest()
        assert following()["documents"] == 5
        connection.close()


@contextmanager
def greeted(found: TestClient) -> Iterator[Any]:
    with found.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"]) as socket:
        socket.send_json({"type": "connection_init"})
        assert socket.receive_json() == {"type": "connection_ack"}
        yield socket


def test_a_socket_answers_queries_errors_and_subscriptions(local: TestClient) -> None:
    with greeted(local) as socket:
        socket.send_json({"type": "ping"})
        assert socket.receive_json() == {"type": "pong"}
        socket.send_json({"type": "subscribe", "id": "1", "payload": {"query": "{__typename}"}})
        assert socket.receive_json() == {
            "type": "next",
            "id": "1",
            "payload": {"data": {"__typename": "Query"}},
        }
        assert socket.receive_json() == {"type": "complete", "id": "1"}
        socket.send_json({"type": "subscribe", "id": "2", "payload": {"query": "{nothing}"}})
        assert socket.receive_json()["type"] == "error"
        socket.send_json({"type": "subscribe", "id": "3", "payload": {"query": VERSIONS}})
        assert socket.receive_json()["payload"]["data"]["graphVersions"]["documents"] == 4
        socket.send_json({"type": "complete", "id": "3"})
        socket.send_json({"type": "subscribe", "id": "3", "payload": {"query": "{__typename}"}})
        assert socket.receive_json()["id"] == "3"


def _all_messages(socket: Any) -> None:
    while True:
        socket.receive_text()


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        (["nonsense"], 4400),
        (["[]"], 4400),
        (['{"type":"what"}'], 4400),
        (['{"type":"subscribe","id":"1","payload":{"query":"{version}"}}'], 4401),
        (['{"type":"connection_init"}', '{"type":"connection_init"}'], 4429),
        (['{"type":"connection_init"}', '{"type":"subscribe","id":"1","payload":{}}'], 4400),
        (['{"type":"connection_init"}', *[json.dumps({"type": "subscribe", "id": "1", "payload": {"query": VERSIONS}})] * 2], 4409),
    ],
)  # fmt: skip
def test_a_socket_that_breaks_the_protocol_is_closed(
    local: TestClient, messages: list[str], code: int
) -> None:
    with local.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"]) as socket:
        for message in messages:
            socket.send_text(message)
        with pytest.raises(WebSocketDisconnect) as closed:
            _all_messages(socket)
        assert closed.value.code == code


def test_a_socket_without_our_protocol_is_closed(local: TestClient) -> None:
    with local.websocket_connect(SOCKET, subprotocols=["graphql-ws"]) as socket:
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
        assert closed.value.code == 4406


def test_there_are_only_so_many_streams(tmp_path: Path) -> None:
    root = workspace(tmp_path, "serve:\n  streams: 1\n")
    with (
        client(root) as found,
        greeted(found),
        found.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"]) as socket,
    ):
        socket.send_json({"type": "connection_init"})
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
        assert closed.value.code == 1013
        answer = found.post(
            "/graphql", json={"query": VERSIONS}, headers={"accept": "text/event-stream"}
        )
        assert (answer.status_code, answer.json()["code"]) == (503, "streams")


def test_every_answer_comes_from_one_version_while_ingests_run(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    text = "{ a: version entities { id } b: version sops { id } }"
    wrong: list[object] = []
    done = threading.Event()

    with client(root) as found:

        def look() -> None:
            while not done.is_set():
                answer = ask(found, text)
                sops = [e for e in answer["data"]["entities"] if ".sops." in e["id"]]
                if answer["data"]["a"] != answer["data"]["b"] or sops != answer["data"]["sops"]:
                    wrong.append(answer)

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(5):
            write(root, {f"{SOPS}/new-{number}.md": f"# New {number}\n\nText.\n"})
            with Workspace.open(root) as work:
                work.ingest()
        done.set()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len(data(found, "{ sops { id } }")["sops"]) == 7


def test_an_unknown_path_of_ours_is_a_problem(local: TestClient) -> None:
    answer = local.get(f"{HERE}/graphql/more")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.status_code == 404


@pytest.mark.parametrize("key", ["predicatePrefix", "idPrefix"])
@pytest.mark.parametrize("prefix", ["source.doc", "source.doc.sops", "decision", "source.meta"])
def test_a_prefix_may_end_with_its_dot_and_never_in_a_word(
    local: TestClient, key: str, prefix: str
) -> None:
    text = '{{ entities(filter: {{ {0}: "{1}" }}) {{ id triples(predicatePrefix: "{1}") {{ object }} }} }}'
    plain, dotted, cut = (
        data(local, text.format(key, each))["entities"]
        for each in (prefix, f"{prefix}.", prefix[:-1])
    )
    assert plain == dotted
    assert cut == []
    assert plain or (key, prefix) == ("idPrefix", "source.meta")
