"""What a proxy, a browser and a cache expect of a server: HEAD, gzip, tags, CORS, a path before."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hornbook.errors import ConfigError
from hornbook.serve.app import create_app
from hornbook.serve.http.answer_writer import takes_gzip
from hornbook.serve.http.proxy import clean_prefix
from hornbook.settings.load import parse_settings
from tests.kit.servers import HERE, READER, TOKENS, client, secret_header, workspace

OURS = "https://ours.example"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("manners"), f"serve:\n  origins: ['{OURS}']\n")


@pytest.fixture(scope="module")
def local(root: Path) -> Iterator[TestClient]:
    with client(root, named=False) as found:
        yield found


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/readyz", "/metrics", "/docs", "/api/v1/plans", "/nowhere"]
)
def test_head_is_get_without_a_body(local: TestClient, path: str) -> None:
    plain = {"accept-encoding": "identity"}
    asked, told = local.get(path, headers=plain), local.head(path, headers=plain)
    assert told.status_code == asked.status_code
    assert told.content == b""
    lively = {"x-request-id", "date", "content-length"}
    assert set(told.headers) - lively == set(asked.headers) - lively


def test_head_of_a_stream_ends(root: Path, local: TestClient) -> None:
    headers = secret_header(root)
    assert local.post("/api/v1/plans", json={"title": "Endless"}, headers=headers).is_success
    told = local.head("/api/v1/runs/plan.endless/events")
    assert (told.status_code, told.content) == (200, b"")
    assert told.headers["content-type"].startswith("text/event-stream")


def test_large_answers_are_compressed_for_those_who_take_it(local: TestClient) -> None:
    whole = local.get("/openapi.json", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in whole.headers
    with local.stream("GET", "/openapi.json", headers={"accept-encoding": "gzip"}) as small:
        sent = b"".join(small.iter_raw())
    assert small.headers["content-encoding"] == "gzip"
    assert small.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(sent) == whole.content
    assert len(sent) == int(small.headers["content-length"]) < len(whole.content) / 3
    tiny = local.get("/healthz", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in tiny.headers


@pytest.mark.parametrize(
    ("accepted", "taken"),
    [("gzip", True), ("br, GZIP;q=0.5", True), ("gzip;q=0", False), ("", False), ("br", False)],
)
def test_what_a_client_takes_is_read_from_its_header(accepted: str, taken: bool) -> None:
    assert takes_gzip(accepted) is taken


def test_each_representation_has_a_weak_tag_of_its_own(local: TestClient) -> None:
    path = "/api/v1/entities/source.doc.sops.error-handling"
    plain = local.get(path, headers={"accept-encoding": "identity"}).headers["etag"]
    small = local.get(path, headers={"accept-encoding": "gzip"}).headers["etag"]
    assert plain.startswith('W/"')
    assert small != plain
    for tag in (plain, small, plain.removeprefix("W/"), f'"other", {small}'):
        assert local.get(path, headers={"if-none-match": tag}).status_code == 304
    assert local.get(path, headers={"if-none-match": 'W/"other"'}).status_code == 200


SELECT = "/sparql?query=SELECT%20*%20%7B%3Fs%20source.doc%3Atitle%20%3Ft%7D"


@pytest.mark.parametrize("path", ["/api/v1/rules", "/api/v1/decisions", SELECT])
def test_what_a_client_has_is_not_sent_again(local: TestClient, path: str) -> None:
    for accept in ("application/json", "text/csv") if path == SELECT else ("application/json",):
        first = local.get(path, headers={"accept": accept})
        again = local.get(path, headers={"accept": accept, "if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert not {"content-length", "content-type"} & set(again.headers)


def test_the_forms_of_an_answer_have_weak_tags_of_their_own(local: TestClient) -> None:
    forms = ("application/json", "text/csv", "application/sparql-results+xml")
    tags = {local.get(SELECT, headers={"accept": form}).headers["etag"] for form in forms}
    assert len(tags) == len(forms)
    assert all(tag.startswith('W/"') for tag in tags)


@pytest.mark.parametrize(
    "path",
    ["/api/v1/reviews", "/api/v1/problems", "/sparql?query=SELECT%20(RAND()%20AS%20%3Fr)%20%7B%7D"],
)
def test_what_the_graph_alone_does_not_tell_has_no_tag(local: TestClient, path: str) -> None:
    assert "etag" not in local.get(path).headers


def test_a_cache_is_told_that_answers_may_be_compressed(local: TestClient) -> None:
    whole = local.get("/openapi.json", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in whole.headers
    assert whole.headers["vary"] == "Accept-Encoding"


def test_a_listed_origin_may_read_answers(local: TestClient) -> None:
    answer = local.get("/api/v1/plans", headers={"origin": OURS})
    assert answer.headers["access-control-allow-origin"] == OURS
    assert "Origin" in answer.headers["vary"]
    assert "etag" in answer.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in answer.headers
    refused = local.post("/api/v1/ingest", json={}, headers={"origin": OURS})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, OURS)
    own = local.get("/api/v1/plans", headers={"origin": HERE})
    assert "access-control-allow-origin" not in own.headers


def test_a_listed_origin_is_granted_what_it_asks_for_before(local: TestClient) -> None:
    asked = {"access-control-request-method": "POST", "origin": OURS}
    granted = local.options("/graphql", headers=asked)
    assert granted.status_code == 204
    assert granted.headers["access-control-allow-origin"] == OURS
    assert "POST" in granted.headers["access-control-allow-methods"]
    assert "authorization" in granted.headers["access-control-allow-headers"]
    foreign = local.options("/graphql", headers=asked | {"origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert not [name for name in foreign.headers if name.startswith("access-control")]


def test_the_server_may_lie_below_a_path(tmp_path: Path) -> None:
    root = workspace(tmp_path, "serve:\n  base_path: /rules\n")
    with client(root) as found:
        assert found.get("/rules/healthz").status_code == 200
        assert found.get("/rules/api/v1/plans").status_code == 200
        assert found.get("/healthz").status_code == 200
        assert found.get("/rulesx/healthz").status_code == 404
        begun = found.post("/rules/api/v1/plans", json={"title": "Below"})
        assert begun.headers["location"] == "/rules/api/v1/plans/below"
        assert found.get("/rules/openapi.json").json()["servers"] == [{"url": "/rules"}]
        assert found.get("/openapi.json").json()["servers"] == [{"url": "/"}]
        assert 'href="/rules/graphql"' in found.get("/rules/").text
        asked = {"query": "{ version }"}
        assert found.post("/rules/graphql", json=asked).json()["data"]["version"]
    (problem,) = _problems("serve:\n  base_path: rules/\n")
    assert "base_path" in problem


def _problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as told:
        parse_settings(text.encode())
    return told.value.problems


def test_a_proxy_that_is_trusted_says_which_path_stands_before(root: Path) -> None:
    said = {"x-forwarded-prefix": "/team/rules/", "authorization": f"Bearer {READER}"}
    for peer, prefix in (("127.0.0.1", "/team/rules"), ("10.0.0.9", "/")):
        app = create_app(root, environment=TOKENS)
        with TestClient(app, base_url=HERE, client=(peer, 5)) as found:
            told = found.get("/openapi.json", headers=said).json()
            assert told["servers"] == [{"url": prefix}]


@pytest.mark.parametrize("text", ["//evil.example", "/a/../b", "javascript:x", "/a b", 'x"', "/"])
def test_what_is_no_path_stands_before_nothing(text: str) -> None:
    assert clean_prefix(text) == ""


def test_operations_have_names_that_people_read(local: TestClient) -> None:
    paths = local.get("/openapi.json").json()["paths"]
    names = [each["operationId"] for path in paths.values() for each in path.values()]
    assert len(names) == len(set(names))
    assert {"ingest", "why", "begin_plan", "run_events", "audit", "readyz"} <= set(names)
    assert all(name.isidentifier() and "api_v1" not in name for name in names)


def test_a_server_that_stops_or_has_lost_its_log_is_not_ready(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    with client(root, named=False) as found:
        state: Any = found.app.state  # type: ignore[attr-defined]  # FastAPI's own
        assert found.get("/readyz").json()["status"] == "ready"
        (root / ".hornbook/events.db").unlink(missing_ok=True)
        (root / ".hornbook/events.db").write_bytes(b"this is no database, whoever looks" * 40)
        lost = found.get("/readyz")
        assert (lost.status_code, lost.json()["code"]) == (503, "events")
        assert found.get("/healthz").status_code == 200
        (root / ".hornbook/events.db").unlink()
        assert found.get("/readyz").status_code == 200
        state.updates.closing.set()
        assert found.get("/readyz").status_code == 503
