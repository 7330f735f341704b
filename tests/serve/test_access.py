"""Who may come in: hosts, origins, tokens, scopes."""

import json
import logging
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from hornbook.errors import ConfigError, UsageError
from hornbook.serve.access.callers import Access, CallerCheck
from hornbook.serve.access.tokens import load_tokens
from hornbook.serve.app import create_app
from hornbook.serve.http.host_check import is_loopback
from tests.kit.commands import expect
from tests.kit.servers import (
    READER,
    SOCKET,
    TOKENS,
    WRITER,
    ask,
    client,
    secret_header,
    workspace,
)
from tests.kit.workspaces import write


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("doors"))


@pytest.fixture(scope="module")
def local(root: Path) -> Iterator[TestClient]:
    with client(root, named=False) as found:
        yield found


@pytest.fixture(scope="module")
def guarded(root: Path) -> Iterator[TestClient]:
    with client(root, host="0.0.0.0", environment=TOKENS) as found:
        yield found


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


EVERYWHERE = ["/", "/graphql?query={__typename}", "/sparql?query=ASK{}", "/api/v1/entities/x.y", "/metrics", "/openapi.json"]  # fmt: skip


@pytest.mark.parametrize("path", [*EVERYWHERE, "/healthz", "/nothing"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", ""])
def test_a_rebound_name_gets_nowhere(local: TestClient, path: str, host: str) -> None:
    answer = local.get(path, headers={"host": host})
    assert answer.status_code == 421
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "host"


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765"])
def test_loopback_names_are_answered(local: TestClient, host: str) -> None:
    assert local.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", EVERYWHERE)
@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://127.0.0.1:9999", "http://127.0.0.1:8765.evil"],
)
def test_pages_of_other_origins_get_nowhere(local: TestClient, path: str, origin: str) -> None:
    answer = local.get(path, headers={"origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "origin")
    assert "access-control-allow-origin" not in answer.headers


def test_a_preflight_is_not_granted(local: TestClient) -> None:
    answer = local.options(
        "/graphql",
        headers={"origin": "https://evil.example", "access-control-request-method": "POST"},
    )
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_our_own_pages_may_ask(local: TestClient) -> None:
    answer = local.post(
        "/graphql", json={"query": "{__typename}"}, headers={"origin": "http://127.0.0.1:8765"}
    )
    assert answer.json() == {"data": {"__typename": "Query"}}


def test_a_listed_origin_may_ask(tmp_path: Path) -> None:
    root = workspace(tmp_path, "serve:\n  origins: ['https://ours.example']\n")
    with client(root) as found:
        headers = {"origin": "https://ours.example"}
        assert found.get("/healthz", headers=headers).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_foreign_page_cannot_make_a_browser_ask(local: TestClient, site: str) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    assert local.get("/sparql?query=ASK{}", headers=headers).status_code == 403
    navigation = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "accept": "text/html"}
    assert local.get("/", headers=navigation).status_code == 200
    assert local.get("/sparql?query=ASK{}", headers=navigation).status_code == 403


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_content_types_that_a_form_can_send_are_refused(
    root: Path, local: TestClient, kind: str
) -> None:
    body = json.dumps({"query": "mutation { ingest { documents } }", "files": ["a"]})
    headers = {"content-type": kind}
    assert local.post("/graphql", content=body, headers=headers).status_code == 415
    assert local.post("/api/v1/ingest", content=body, headers=headers).status_code == 401
    headers |= secret_header(root)
    assert local.post("/api/v1/ingest", content=body, headers=headers).status_code in {415, 422}


def test_a_mutation_by_get_is_refused(local: TestClient) -> None:
    answer = local.get("/graphql", params={"query": "mutation { ingest { documents } }"})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


def test_a_socket_from_another_origin_or_host_is_refused(local: TestClient) -> None:
    for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
        with (
            pytest.raises(WebSocketDisconnect),
            local.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"], headers=headers),
        ):
            pass


# Tokens


def test_who_is_refused_is_not_told_that_it_serves(root: Path) -> None:
    done = expect(root, "serve", "--host", "0.0.0.0", code=2)
    assert "there are no tokens" in done.stderr
    assert "serving" not in done.stderr.replace("docs/serving.md", "")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_beyond_loopback_nothing_starts_without_tokens(root: Path, host: str) -> None:
    with pytest.raises(UsageError, match="tokens"):
        create_app(root, host=host)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.0.0.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("10.0.0.1", False), ("evil", False)],
)  # fmt: skip
def test_loopback_is_told_from_the_rest(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize("path", EVERYWHERE)
@pytest.mark.parametrize(
    "headers",
    [{}, bearer("wrong-token-0123456789"), {"authorization": f"Basic {READER}"}, {"authorization": READER}, bearer("")],
)  # fmt: skip
def test_without_a_token_there_is_no_answer(
    guarded: TestClient, path: str, headers: dict[str, str]
) -> None:
    answer = guarded.get(path, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "token"


def test_a_query_is_no_page_that_opens_without_a_token(guarded: TestClient) -> None:
    headers = {"accept": "text/html"}
    answer = guarded.get("/graphql", params={"query": "{version}"}, headers=headers)
    assert answer.status_code == 401


def test_health_needs_no_token(guarded: TestClient) -> None:
    assert guarded.get("/healthz").status_code == 200
    assert guarded.get("/readyz").status_code == 200


def test_a_reader_reads_and_cannot_write(guarded: TestClient) -> None:
    headers = bearer(READER)
    answer = guarded.post("/graphql", json={"query": "{version}"}, headers=headers)
    assert answer.json()["data"]["version"]
    mutation = {"query": "mutation { ingest { documents } }"}
    (error,) = guarded.post("/graphql", json=mutation, headers=headers).json()["errors"]
    assert error["extensions"]["code"] == "FORBIDDEN"
    refused = guarded.post("/api/v1/ingest", json={}, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "scope")


def test_a_writer_writes(guarded: TestClient) -> None:
    headers = bearer(WRITER)
    mutation = {"query": "mutation { ingest { documents } }"}
    found = guarded.post("/graphql", json=mutation, headers=headers).json()
    assert found == {"data": {"ingest": {"documents": 4}}}
    assert guarded.post("/api/v1/ingest", json={}, headers=headers).json()["documents"] == 4


def test_a_socket_needs_a_token_too(guarded: TestClient) -> None:
    with guarded.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"]) as socket:
        socket.send_json({"type": "connection_init"})
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 4403
    with guarded.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"]) as socket:
        payload = {"Authorization": f"Bearer {READER}"}
        socket.send_json({"type": "connection_init", "payload": payload})
        assert socket.receive_json() == {"type": "connection_ack"}


def test_beyond_loopback_the_schema_and_the_pages_are_off(guarded: TestClient) -> None:
    headers = bearer(READER)
    (error,) = guarded.post(
        "/graphql", json={"query": "{ __schema { types { name } } }"}, headers=headers
    ).json()["errors"]
    assert error["extensions"]["code"] == "INTROSPECTION_OFF"
    for path in ("/docs", "/openapi.json"):
        assert guarded.get(path, headers=headers).status_code == 404
    page = guarded.get("/graphql", headers={**headers, "accept": "text/html"})
    assert "<html" not in page.text


def test_introspection_is_on_where_it_is_enabled(tmp_path: Path) -> None:
    root = workspace(tmp_path, "serve:\n  introspection: always\n")
    with client(root, host="0.0.0.0", environment=TOKENS) as found:
        assert found.get("/docs", headers={"accept": "text/html"}).status_code == 200
        answer = found.post(
            "/graphql", json={"query": "{ __schema { types { name } } }"}, headers=bearer(READER)
        )
        assert "errors" not in answer.json()
    write(root, {".hornbook/config.yaml": "serve:\n  introspection: never\n"})
    with client(root) as found:
        assert ask(found, "{ __schema { types { name } } }")["errors"]


def test_no_token_and_no_query_reaches_the_log(
    guarded: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "hornbook.serve"):
        guarded.get("/graphql", params={"query": "{version}"}, headers=bearer(READER))
        guarded.get("/metrics", headers=bearer("wrong-token-0123456789"))
    told = " ".join(str(vars(record)) for record in caplog.records)
    assert "'caller': 'ci'" in told
    assert READER not in told
    assert "wrong-token" not in told
    assert "{version}" not in told


def test_a_token_file_is_read_and_one_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"# ours\nci read {READER}\n\nops write {WRITER}\n")
    path.chmod(0o600)
    callers = CallerCheck(Access(path))
    caller = callers.caller(f"bearer {WRITER}", "")
    assert caller is not None
    assert (caller.name, sorted(caller.scopes)) == ("ops", ["execute", "ingest", "plan", "read"])
    assert callers.caller(f"Bearer {READER}x", "") is None
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_tokens(path, {})


def test_all_problems_of_tokens_are_told_without_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as told:
        load_tokens(
            tmp_path / "none",
            {
                "HORNBOOK_TOKENS": f"a:read:short,b:boss:{READER},c:read,d:read:{READER},d:read:{WRITER}"
            },
        )
    assert len(told.value.problems) == 4
    assert READER not in str(told.value)
    assert "short" not in str(told.value)


def test_a_token_made_for_a_person_acts_as_that_person(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    digest = sha256(WRITER.encode()).hexdigest()
    path.write_text(f"ci write {READER}\nann write sha256:{digest} for=human:ann\n")
    path.chmod(0o600)
    callers = CallerCheck(Access(path))
    ann, ci = callers.caller(f"Bearer {WRITER}", ""), callers.caller(f"Bearer {READER}", "")
    assert ann is not None
    assert ci is not None
    found = ann.principal("r1")
    assert (found.id, found.is_human, found.via, found.request) == (
        "human:ann",
        True,
        "token",
        "r1",
    )
    assert (ci.principal("r2").id, ci.principal("r2").is_human) == ("token:ci", False)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ann write sha256:12ab for=human:ann", "64 digits"),
        (f"ann write {WRITER} for=boss", "for=human:NAME"),
        (f"ann write {WRITER} expires=90d", "2027-01-31"),
        (f"ann write {WRITER} until=2030-01-01", "is not known here"),
        (f"ann write {WRITER} for=human:a for=human:b", "each once"),
        (f"ann read,boss {WRITER}", "read, ingest, plan, execute, answer, admin"),
        (f"ann write {WRITER} repositories=[a", "repositories"),
    ],
)
def test_a_token_line_that_says_more_than_we_know_is_refused(
    tmp_path: Path, line: str, told: str
) -> None:
    path = tmp_path / "tokens"
    path.write_text(line + "\n")
    path.chmod(0o600)
    with pytest.raises(ConfigError, match=told):
        load_tokens(path, {})
