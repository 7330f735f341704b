"""Sessions of browsers: opened by a one-time address or a token, ended in four ways."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from hornbook.cli.app import app as command_line
from hornbook.errors import UsageError
from hornbook.plans.principal import Principal, PrincipalKind, Via
from hornbook.serve.access.callers import Access, CallerCheck
from hornbook.serve.access.scopes import ALL, READ_ONLY, scopes_in
from hornbook.serve.access.secret import local_secret
from hornbook.serve.access.sessions import CODE_SECONDS, IDLE_SECONDS, Sessions, make_code
from hornbook.serve.access.tokens import Token, make_token, revoke_token
from hornbook.serve.app import create_app
from hornbook.settings.places import Places
from tests.kit.servers import HERE, SOCKET, TOKENS, WRITER, client, workspace
from tests.kit.waiting import until

ANN = Principal("human:ann", PrincipalKind.HUMAN, Via.CLI)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("sessions"))


@pytest.fixture
def browser(root: Path) -> Iterator[TestClient]:
    with client(root, named=False) as found:
        found.follow_redirects = False
        yield found


def code(root: Path, who: Principal = ANN) -> str:
    return make_code(local_secret(Places(root)), who, time.time())


def csrf(browser: TestClient) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', browser.get("/login").text)
    assert found is not None
    return found[1]


def signed_in(browser: TestClient, root: Path) -> dict[str, str]:
    """A browser in a session, and what its pages send with what they write."""
    assert browser.get(f"/login?once={code(root)}").status_code == 303
    return {"origin": HERE, "x-csrf-token": csrf(browser)}


def test_a_one_time_address_opens_a_session_once_and_is_dropped(
    root: Path, browser: TestClient
) -> None:
    once = code(root)
    answer = browser.get(f"/login?once={once}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    given = answer.headers["set-cookie"]
    assert given.startswith("hornbook=")
    assert "HttpOnly" in given
    assert "SameSite=Lax" in given
    assert "Secure" not in given
    assert "human:ann" in browser.get("/login").text
    browser.cookies.clear()
    again = browser.get(f"/login?once={once}")
    assert (again.status_code, "set-cookie" in again.headers) == (403, False)


def test_a_session_writes_as_whoever_opened_it(root: Path, browser: TestClient) -> None:
    headers = signed_in(browser, root)
    answer = browser.post("/api/v1/plans", json={"title": "By session"}, headers=headers)
    assert answer.status_code == 201
    told = browser.get("/api/v1/audit", params={"plan": "by-session"}).json()["items"][0]
    assert (told["principal"]["id"], told["principal"]["via"]) == ("human:ann", "session")


@pytest.mark.parametrize("missing", ["origin", "x-csrf-token"])
def test_what_is_not_sent_by_our_own_page_writes_nothing(
    root: Path, browser: TestClient, missing: str
) -> None:
    headers = signed_in(browser, root)
    del headers[missing]
    refused = browser.post("/api/v1/ingest", json={}, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
    wrong = signed_in(browser, root) | {"x-csrf-token": "wrong"}
    assert browser.post("/api/v1/ingest", json={}, headers=wrong).status_code == 403
    foreign = headers | {"origin": "https://evil.example", "x-csrf-token": "wrong"}
    assert browser.post("/api/v1/ingest", json={}, headers=foreign).json()["code"] == "origin"


def test_a_socket_of_a_session_only_reads(root: Path, browser: TestClient) -> None:
    signed_in(browser, root)
    asked = {"query": "mutation { ingest { documents } }"}
    with browser.websocket_connect(
        SOCKET, subprotocols=["graphql-transport-ws"], headers={"origin": HERE}
    ) as socket:
        socket.send_json({"type": "connection_init"})
        assert socket.receive_json() == {"type": "connection_ack"}
        socket.send_json({"type": "subscribe", "id": "1", "payload": asked})
        assert socket.receive_json()["type"] == "error"


def test_signing_out_ends_the_session_and_needs_our_own_page(
    root: Path, browser: TestClient
) -> None:
    headers = signed_in(browser, root)
    assert browser.post("/logout", headers={"origin": HERE}).json()["code"] == "csrf"
    kept = dict(browser.cookies)
    answer = browser.post(
        "/logout", data={"csrf": headers["x-csrf-token"]}, headers={"origin": HERE}
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    browser.cookies.update(kept)
    assert browser.post("/api/v1/ingest", json={}, headers=headers).status_code == 401


def test_a_token_signs_in_and_its_session_ends_with_it(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    path = root / ".hornbook/tokens"
    token = make_token(path, Token("ann", ALL, b"", acts_for="human:ann"))
    with client(root, named=False) as browser:
        browser.follow_redirects = False
        assert browser.get("/login").status_code == 200
        assert browser.get("/api/v1/plans").status_code == 401
        wrong = browser.post("/login", data={"token": "wrong"}, headers={"origin": HERE})
        assert (wrong.status_code, "set-cookie" in wrong.headers) == (403, False)
        answer = browser.post("/login", data={"token": token}, headers={"origin": HERE})
        assert answer.status_code == 303
        assert browser.get("/api/v1/plans").status_code == 200
        revoke_token(path, "ann")
        until(lambda: browser.get("/api/v1/plans").status_code == 401, "the session's end")


def test_a_session_by_a_token_acts_as_the_token_may(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    path = root / ".hornbook/tokens"
    token = make_token(path, Token("rel", scopes_in("read,plan"), b""))
    with client(root, named=False) as browser:
        browser.follow_redirects = False
        browser.post("/login", data={"token": token}, headers={"origin": HERE})
        headers = {"origin": HERE, "x-csrf-token": csrf(browser)}
        made = browser.post("/api/v1/plans", json={"title": "By token"}, headers=headers)
        assert made.status_code == 201, made.text
        told = browser.get("/api/v1/audit", params={"plan": "by-token"}).json()["items"][0]
        refused = [
            browser.post("/api/v1/ingest", json={}, headers=headers),
            browser.post("/api/v1/plans/by-token/promote", headers=headers),
        ]
    assert told["actor"] == "token:rel"
    assert (told["principal"]["kind"], told["principal"]["via"]) == ("token", "session")
    codes = [(each.status_code, each.json()["code"]) for each in refused]
    assert codes == [(403, "scope"), (403, "not-a-person")]


def test_a_session_ends_when_its_token_expires(tmp_path: Path) -> None:
    moments = [datetime(2027, 1, 1, tzinfo=UTC)]
    token = make_token(
        tmp_path / "tokens", Token("x", READ_ONLY, b"", expires_at="2027-01-02T00:00:00Z")
    )
    callers = CallerCheck(Access(tmp_path / "tokens"), lambda: moments[-1])
    caller = callers.caller(f"Bearer {token}", "")
    assert caller is not None
    sessions = Sessions(callers)
    name = sessions.open(caller)
    assert sessions.is_open(name)
    moments.append(datetime(2027, 1, 2, tzinfo=UTC))
    assert not sessions.is_open(name)
    assert sessions.caller(name) is None


def test_signing_out_ends_the_streams_of_the_session(root: Path, browser: TestClient) -> None:
    headers = signed_in(browser, root)
    with browser.websocket_connect(
        SOCKET, subprotocols=["graphql-transport-ws"], headers={"origin": HERE}
    ) as socket:
        socket.send_json({"type": "connection_init"})
        assert socket.receive_json() == {"type": "connection_ack"}
        assert browser.post("/logout", headers=headers).status_code == 303
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
    assert closed.value.code == 4403


def test_under_tls_the_cookie_is_of_this_host_alone(root: Path) -> None:
    secure = {"x-forwarded-proto": "https", "x-forwarded-prefix": "/rules"}
    app = create_app(root, host="0.0.0.0", environment=TOKENS)
    with TestClient(app, base_url=HERE, client=("127.0.0.1", 5), follow_redirects=False) as proxy:
        answer = proxy.post("/login", data={"token": WRITER}, headers=secure)
        assert re.match("__Host-hornbook=.*; Path=/; .*Secure", answer.headers["set-cookie"])
        assert answer.headers["location"] == "/rules/"
    app = create_app(root, host="0.0.0.0", environment=TOKENS)
    with TestClient(app, base_url=HERE, client=("10.0.0.9", 5)) as stranger:
        # What somebody says who is no proxy of ours counts nothing.
        refused = stranger.post("/login", data={"token": WRITER}, headers=secure)
        assert refused.json()["code"] == "tls"


def test_beyond_this_machine_a_session_needs_tls(root: Path) -> None:
    with client(root, host="0.0.0.0", environment=TOKENS) as browser:
        refused = browser.post("/login", data={"token": WRITER})
        assert (refused.status_code, refused.json()["code"]) == (403, "tls")


class Clocks:
    """Times that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_ends_when_nothing_comes_of_it(tmp_path: Path) -> None:
    clock = Clocks()
    token = make_token(tmp_path / "tokens", Token("x", READ_ONLY, b""))
    callers = CallerCheck(Access(tmp_path / "tokens"))
    caller = callers.caller(f"Bearer {token}", "")
    assert caller is not None
    sessions = Sessions(callers, clock=clock, wall=clock)
    name = sessions.open(caller)
    clock.now += IDLE_SECONDS - 1
    assert sessions.caller(name) is not None
    clock.now += IDLE_SECONDS - 1
    assert sessions.caller(name) is not None
    clock.now += IDLE_SECONDS + 1
    assert sessions.caller(name) is None
    assert sessions.csrf(name) == ""


def test_an_address_is_good_for_a_minute_of_this_server(tmp_path: Path) -> None:
    clock = Clocks()
    secret = local_secret(Places(tmp_path))
    callers = CallerCheck(Access(tmp_path / "tokens", secret_in=Places(tmp_path)))
    sessions = Sessions(callers, clock=clock, wall=clock)
    late, early = make_code(secret, ANN, clock.now), make_code(secret, ANN, clock.now - 1)
    assert sessions.by_code(early) is None  # it may have been used before the start
    forged = make_code("another-secret", ANN, clock.now)
    for wrong in (forged, late.replace(".", ".0"), late + "0", "", "a.b", "."):
        assert sessions.by_code(wrong) is None
    clock.now += CODE_SECONDS + 1
    assert sessions.by_code(late) is None
    good = make_code(secret, ANN, clock.now)
    assert sessions.by_code(good) is not None
    assert sessions.by_code(good) is None


def test_the_command_prints_an_address_for_whoever_runs_it(root: Path, browser: TestClient) -> None:
    asked = ["--root", str(root), "login", "--print", "--url", HERE]
    printed = CliRunner().invoke(command_line, asked).stdout.strip()
    assert printed.startswith(f"{HERE}/login?once=")
    assert browser.get(printed.removeprefix(HERE)).status_code == 303


def test_there_is_no_address_before_a_server_was_started(tmp_path: Path) -> None:
    asked = ["--root", str(tmp_path), "login", "--print"]
    told = CliRunner().invoke(command_line, asked).exception
    assert isinstance(told, UsageError)
    assert "hornbook serve" in str(told)
