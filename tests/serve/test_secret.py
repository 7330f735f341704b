"""Writing needs a name, also on loopback: the secret of this machine, and who may do without."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hornbook.errors import ConfigError, UsageError
from hornbook.plans.principal import at_command_line
from hornbook.process.secret_mask import SecretMask, secret_beside
from hornbook.serve.access.secret import local_secret, read_secret
from hornbook.serve.app import create_app
from hornbook.serve.paths import inside
from hornbook.settings.places import Places, relative_to_root
from tests.kit.git import git, start
from tests.kit.servers import HERE, READER, SOCKET, TOKENS, client, secret_header, workspace
from tests.kit.waiting import until

INGEST = "mutation { ingest { documents } }"
CHECK = "mutation { checkReview(review: {}, receipt: {}) { outcome } }"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("secret"))


@pytest.fixture(scope="module")
def unnamed(root: Path) -> Iterator[TestClient]:
    with client(root, named=False) as found:
        yield found


def graphql(found: TestClient, query: str, **more: Any) -> Any:
    headers = more.pop("headers", {})
    return found.post("/graphql", json={"query": query, **more}, headers=headers)


def test_the_secret_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    places = Places(tmp_path)
    found = local_secret(places)
    assert len(found) > 40
    assert local_secret(places) == found
    assert places.secret.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in places.state.iterdir()) == [".gitignore", "secret"]


def test_servers_that_start_at_once_have_one_secret(tmp_path: Path) -> None:
    places, found = Places(tmp_path), set()
    ready = threading.Barrier(8)

    def start() -> None:
        ready.wait()
        found.add(local_secret(places))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 1


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602, 0o660])
def test_a_secret_that_others_can_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    places = Places(tmp_path)
    local_secret(places)
    places.secret.chmod(mode)
    with pytest.raises(ConfigError, match=r"other accounts.*remove it"):
        create_app(tmp_path)
    places.secret.unlink()  # the remedy works
    create_app(tmp_path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_secret_of_another_account_is_refused(tmp_path: Path) -> None:
    places = Places(tmp_path)
    local_secret(places)
    os.chown(places.secret, 12345, -1)
    with pytest.raises(ConfigError, match="account 12345"):
        local_secret(places)


def test_a_secret_that_is_a_link_or_damaged_is_refused(tmp_path: Path) -> None:
    places = Places(tmp_path)
    places.prepare()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("x" * 40)
    elsewhere.chmod(0o600)
    places.secret.symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_secret(places)
    places.secret.unlink()
    places.secret.write_text("short")
    places.secret.chmod(0o600)
    with pytest.raises(ConfigError, match="damaged"):
        read_secret(places)
    places.secret.unlink()
    os.mkfifo(places.secret, 0o600)
    with pytest.raises(ConfigError, match="no file"):
        read_secret(places)


def test_git_ignores_the_secret_also_where_the_ignore_file_is_older(tmp_path: Path) -> None:
    start(tmp_path, {".hornbook/.gitignore": "# ours\n/store/"})
    local_secret(Places(tmp_path))
    ignored = (tmp_path / ".hornbook/.gitignore").read_text().splitlines()
    assert ignored[:2] == ["# ours", "/store/"]
    assert {"/secret", "/tokens"} <= set(ignored)
    assert "secret" not in git(tmp_path, "status", "--porcelain", "--untracked-files=all")
    local_secret(Places(tmp_path))
    assert (tmp_path / ".hornbook/.gitignore").read_text().splitlines() == ignored


def test_no_interface_shows_the_secret(root: Path, unnamed: TestClient) -> None:
    (root / "innocent.txt").symlink_to(root / ".hornbook/secret")
    for name in (".hornbook/secret", ".hornbook/./secret", "innocent.txt", ".hornbook/tokens"):
        with pytest.raises(UsageError, match="never shown"):
            inside(root, [name])
    with pytest.raises(UsageError, match="never shown"):
        relative_to_root(root, ".hornbook/canaries/x.json")
    secret = (root / ".hornbook/secret").read_text().strip()
    for files in ([".hornbook/secret"], [".hornbook/*"], ["**/secret"], ["innocent.txt"]):
        for path in ("context/develop", "context/review", "size", "why"):
            body = {"files": files, "description": "x"} if path != "why" else {"files": files}
            if path == "context/review":
                body = {"files": files}
            assert secret not in unnamed.post(f"/api/v1/{path}", json=body).text
    (root / "innocent.txt").unlink()


def test_the_secret_is_masked_in_what_programs_print(tmp_path: Path) -> None:
    secret = local_secret(Places(tmp_path))
    log = tmp_path / ".hornbook/logs/agents/x.log"
    mask = SecretMask(secret_beside(log))
    assert mask.masked(f"it is {secret}.".encode()) == b"it is [masked]."
    assert secret_beside(tmp_path / "elsewhere.log") == {}


# What is open on loopback


def test_reading_needs_no_name_on_loopback(unnamed: TestClient) -> None:
    assert graphql(unnamed, "{ version }").status_code == 200
    assert "UNAUTHENTICATED" not in graphql(unnamed, CHECK).text
    assert unnamed.get("/sparql", params={"query": "ASK{}"}).status_code == 200
    for path, body in (
        ("why", {"files": ["a.go"]}),
        ("size", {"files": ["a.go"]}),
        ("context/review", {"files": ["a.go"]}),
        ("context/develop", {"files": ["a.go"], "description": "x"}),
        ("reviews/check", {"review": {}, "receipt": {}}),
    ):
        assert unnamed.post(f"/api/v1/{path}", json=body).status_code in {200, 404, 422}, path
    for path in ("/", "/api/v1/plans", "/api/v1/runs", "/metrics", "/openapi.json"):
        assert unnamed.get(path).status_code == 200


def test_nothing_is_open_where_reading_needs_the_secret(tmp_path: Path) -> None:
    root = workspace(tmp_path, "serve:\n  read: secret\n")
    with client(root, named=False) as found:
        for path in ("/", "/api/v1/plans", "/metrics", "/sparql?query=ASK{}"):
            assert found.get(path).status_code == 401
            assert found.get(path, headers=secret_header(root)).status_code == 200
        assert graphql(found, "{ version }").status_code == 401
        assert found.get("/healthz").status_code == 200
        with found.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"]) as socket:
            socket.send_json({"type": "connection_init"})
            assert socket.receive()["code"] == 4403


def test_a_wrong_secret_is_refused_also_where_reading_is_open(unnamed: TestClient) -> None:
    headers = {"authorization": "Bearer wrong-0123456789abcdef"}
    assert unnamed.get("/api/v1/plans", headers=headers).status_code == 401


def test_the_secret_writes_as_whoever_runs_the_server(root: Path, unnamed: TestClient) -> None:
    answer = unnamed.post("/api/v1/plans", json={"title": "Mine"}, headers=secret_header(root))
    assert answer.status_code == 201
    first, *_ = events_of(root, "mine")
    who = at_command_line(root / ".hornbook")
    assert (first["principal"]["id"], first["principal"]["via"]) == (who.id, "secret")
    assert first["principal"]["request"] == answer.headers["x-request-id"]


def events_of(root: Path, slug: str) -> list[Any]:
    """The events of a plan, as its export has them."""
    text = (root / ".hornbook/plans" / slug / "events.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_secret_that_is_replaced_is_good_for_nothing(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    with client(root, named=False) as found:
        before = secret_header(root)
        assert found.post("/api/v1/ingest", json={}, headers=before).status_code == 200
        (root / ".hornbook/secret").unlink()
        local_secret(Places(root))
        until(
            lambda: found.post("/api/v1/ingest", json={}, headers=before).status_code == 401, "401"
        )
        after = secret_header(root)
        assert found.post("/api/v1/ingest", json={}, headers=after).status_code == 200


def test_beyond_loopback_the_secret_opens_nothing(root: Path) -> None:
    with client(root, host="0.0.0.0", environment=TOKENS) as found:
        assert found.get("/api/v1/plans", headers=secret_header(root)).status_code == 401


# GraphQL decides by the operation


TWO = f"query Look {{ version }} {INGEST.replace('mutation', 'mutation Write')}"


@pytest.mark.parametrize(
    ("query", "more"),
    [
        (INGEST, {}),
        (TWO, {"operationName": "Write"}),
        ("mutation { ...F } fragment F on Mutation { ingest { documents } }", {}),
        ("mutation { ... on Mutation { ... { ingest { documents } } } }", {}),
        ("mutation { x: ingest @skip(if: true) { documents } }", {}),
        ("mutation { __typename ingest { documents } }", {}),
        ("mutation { checkReview(review: {}, receipt: {}) { outcome } ingest { documents } }", {}),
        ('mutation { createPlan(title: "x") { id } }', {}),
    ],
)
def test_a_mutation_without_a_name_is_refused(
    unnamed: TestClient, query: str, more: dict[str, str]
) -> None:
    for accept in ("application/json", "application/graphql-response+json"):
        answer = graphql(unnamed, query, headers={"accept": accept}, **more)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        (error,) = answer.json()["errors"]
        assert error["extensions"]["code"] == "UNAUTHENTICATED"


def test_of_several_operations_only_the_one_that_runs_counts(unnamed: TestClient) -> None:
    assert graphql(unnamed, TWO, operationName="Look").json()["data"]["version"]


def test_other_ways_to_send_a_mutation_lead_nowhere(unnamed: TestClient) -> None:
    assert unnamed.get("/graphql", params={"query": INGEST}).status_code == 405
    assert unnamed.post("/graphql", json=[{"query": INGEST}]).status_code == 400
    stored = {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": "0" * 64}}}
    assert unnamed.post("/graphql", json=stored).status_code == 400
    streamed = graphql(unnamed, INGEST, headers={"accept": "text/event-stream"})
    assert "UNAUTHENTICATED" in streamed.text
    assert "documents" not in streamed.text


def test_a_mutation_over_a_socket_needs_a_name_too(root: Path, unnamed: TestClient) -> None:
    asked = {"type": "subscribe", "id": "1", "payload": {"query": INGEST}}
    with unnamed.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"]) as socket:
        socket.send_json({"type": "connection_init"})
        assert socket.receive_json() == {"type": "connection_ack"}
        socket.send_json(asked)
        told = socket.receive_json()
        assert told["type"] == "error"
        assert told["payload"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    with unnamed.websocket_connect(SOCKET, subprotocols=["graphql-transport-ws"]) as socket:
        socket.send_json({"type": "connection_init", "payload": secret_header(root)})
        assert socket.receive_json() == {"type": "connection_ack"}
        socket.send_json(asked)
        assert socket.receive_json()["payload"]["data"]["ingest"]["documents"] >= 4


def test_a_missing_scope_is_told_before_anything_is_looked_up(root: Path) -> None:
    headers = {"authorization": f"Bearer {READER}", "content-type": "application/json"}
    with client(root, environment=TOKENS) as found:
        for path in ("plans/no-such-plan/promote", "runs/no-such-run/answer", "ingest"):
            answer = found.post(f"/api/v1/{path}", content=b"{not json", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "scope"), path
        answer = graphql(found, 'mutation { promotePlan(slug: "none") { id } }', headers=headers)
        assert answer.status_code == 403
        assert answer.json()["errors"][0]["extensions"]["code"] == "FORBIDDEN"


# Proxies


@pytest.mark.parametrize(
    "header", ["forwarded", "via", "x-forwarded-for", "x-forwarded-proto", "x-real-ip"]
)
def test_what_came_through_a_proxy_is_refused_without_tokens(
    root: Path, unnamed: TestClient, header: str
) -> None:
    for named in ({}, secret_header(root)):
        answer = unnamed.get("/api/v1/plans", headers={header: "10.0.0.1", **named})
        assert (answer.status_code, answer.json()["code"]) == (403, "proxy")
        assert "hornbook token new" in answer.json()["detail"]
    assert unnamed.get("/healthz", headers={header: "10.0.0.1"}).status_code == 200


def test_a_proxy_that_adds_nothing_shows_itself_by_its_old_protocol(root: Path) -> None:
    app = create_app(root)

    async def old(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "http_version": "1.0"} if scope["type"] == "http" else scope, receive, send)  # fmt: skip

    with TestClient(old, base_url=HERE) as found:
        assert found.get("/api/v1/plans").json()["code"] == "proxy"
        assert found.get("/healthz").status_code == 200


def test_with_tokens_a_proxy_may_stand_before_the_server(root: Path) -> None:
    headers = {"x-forwarded-for": "10.0.0.1", "authorization": f"Bearer {READER}"}
    with client(root, environment=TOKENS) as found:
        assert found.get("/api/v1/plans", headers=headers).status_code == 200
        assert found.get("/api/v1/plans", headers={"via": "1.1 x"}).status_code == 401
