"""Tokens: made, listed, revoked, and known to a server that runs."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from starlette.websockets import WebSocketDisconnect

from hornbook.cli.app import app
from hornbook.disk import to_seconds
from hornbook.errors import ConfigError, NotAPerson, NotFound, UsageError
from hornbook.serve.access.callers import Access, CallerCheck
from hornbook.serve.access.scopes import ALL, READ_ONLY
from hornbook.serve.access.tokens import (
    Token,
    expiry,
    last_uses,
    load_tokens,
    make_token,
    note_uses,
    revoke_token,
)
from tests.kit.git import start
from tests.kit.servers import SOCKET, client, workspace
from tests.kit.waiting import until

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    start(tmp_path, {"a.txt": "a\n"})
    return tmp_path


def cli(root: Path, *arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(
        app, ["--root", str(root), *arguments], env=environment, catch_exceptions=True
    )


def made(root: Path, *arguments: str) -> str:
    result = cli(root, "token", "new", *arguments)
    assert result.exception is None, result.output
    return result.stdout.strip()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_a_token_is_printed_once_and_kept_as_a_hash(root: Path) -> None:
    token = made(root, "release", "--scopes", "read,execute", "--expires", "30d")
    path = root / ".hornbook/tokens"
    assert token not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    (kept,) = load_tokens(path, {})
    assert (kept.name, kept.principal, sorted(kept.scopes)) == (
        "release",
        "token:release",
        ["execute", "read"],
    )
    caller = CallerCheck(Access(path)).caller(f"Bearer {token}", "")
    assert caller is not None
    assert caller.principal("r").id == "token:release"


def test_tokens_are_listed_without_what_is_secret(root: Path) -> None:
    token = made(root, "ci", "--for", "ci:nightly", "--repositories", "acme-*,shop")
    note_uses(root / ".hornbook/tokens", {"ci": "2026-01-31T12:00:00Z"})
    listed = cli(root, "token", "list", "--json").stdout
    (row,) = json.loads(listed)["tokens"]
    assert row.pop("expires_at") > to_seconds(datetime.now(UTC))
    assert row == {
        "name": "ci",
        "principal": "ci:nightly",
        "scopes": ["read"],
        "repositories": ["acme-*", "shop"],
        "last_used_at": "2026-01-31T12:00:00Z",
    }
    assert token not in listed + cli(root, "token", "list").stdout


def test_a_revoked_token_is_gone_and_the_others_and_comments_stay(root: Path) -> None:
    path = root / ".hornbook/tokens"
    path.parent.mkdir()
    path.write_text("# ours\nold read 0123456789abcdef0123")
    path.chmod(0o600)
    made(root, "new")
    revoke_token(path, "new")
    assert path.read_text() == "# ours\nold read 0123456789abcdef0123\n"
    with pytest.raises(NotFound, match="token list"):
        revoke_token(path, "new")


def test_a_name_is_taken_once(root: Path) -> None:
    made(root, "ci")
    assert isinstance(cli(root, "token", "new", "ci").exception, UsageError)
    assert isinstance(cli(root, "token", "new", "a b").exception, UsageError)
    assert isinstance(cli(root, "token", "new", "x", "--scopes", "boss").exception, UsageError)
    assert isinstance(cli(root, "token", "new", "x", "--for", "boss").exception, UsageError)


@pytest.mark.parametrize(
    "asked",
    [
        ("--repositories", ""),
        ("--repositories", ","),
        ("--repositories", "acme shop"),
        ("--for", "human:ann smith"),
        ("--for", "human:ann\texpires=never"),
    ],
)
def test_what_would_be_read_otherwise_than_it_was_meant_is_refused(
    root: Path, asked: tuple[str, ...]
) -> None:
    assert isinstance(cli(root, "token", "new", "x", *asked).exception, UsageError)
    assert not (root / ".hornbook/tokens").exists()


def test_a_line_that_names_no_repository_is_good_for_none(root: Path) -> None:
    path = root / ".hornbook/tokens"
    path.parent.mkdir()
    path.write_text(f"ci read sha256:{'0' * 64} repositories=,\n")
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="repositories"):
        load_tokens(path, {})


def test_a_token_for_a_person_needs_a_person_at_the_command_line(root: Path) -> None:
    asked = ("token", "new", "ann", "--for", "human:ann@example.org", "--scopes", "answer")
    refused = cli(root, *asked, HORNBOOK_ROLE="developer")
    assert isinstance(refused.exception, NotAPerson)
    assert not (root / ".hornbook/tokens").exists()
    # A token for a machine is no person's word.
    assert cli(root, "token", "new", "ci", HORNBOOK_ROLE="developer").exception is None


def test_a_span_and_a_time_say_when_a_token_ends() -> None:
    assert expiry("90d", NOW) == "2026-05-01T12:00:00Z"
    assert expiry("12h", NOW) == "2026-02-01T00:00:00Z"
    assert expiry("2027-01-31T01:00:00+01:00", NOW) == "2027-01-31T00:00:00Z"
    for wrong in ("soon", "0d", "2020-01-01", "-3d", "999999w"):
        with pytest.raises(UsageError, match="--expires"):
            expiry(wrong, NOW)


def test_a_token_ends_at_its_time(tmp_path: Path) -> None:
    moment = NOW
    path = tmp_path / "tokens"
    token = make_token(path, Token("x", ALL, b"", expires_at=to_seconds(NOW + timedelta(hours=1))))
    callers = CallerCheck(Access(path), lambda: moment)
    caller = callers.caller(f"Bearer {token}", "")
    assert callers.holds(caller)
    moment = NOW + timedelta(hours=1)
    assert callers.caller(f"Bearer {token}", "") is None
    assert not callers.holds(caller)


def test_a_token_for_other_repositories_may_do_nothing_here(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    token = make_token(path, Token("x", ALL, b"", repositories=("acme-*",)))
    here = CallerCheck(Access(path, repository="acme-shop-1a2b3c")).caller(f"Bearer {token}", "")
    assert here is not None
    assert here.scopes == ALL
    for name in ("other-1a2b3c", ""):
        there = CallerCheck(Access(path, repository=name)).caller(f"Bearer {token}", "")
        assert there is not None
        assert there.scopes == frozenset()


def test_a_line_that_is_damaged_later_lets_nobody_in_and_opens_nothing(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    path = root / ".hornbook/tokens"
    token = make_token(path, Token("x", READ_ONLY, b""))
    with client(root, named=False) as found:
        assert found.get("/api/v1/plans", headers=bearer(token)).status_code == 200
        path.chmod(0o644)  # others could have read it
        until(
            lambda: found.get("/api/v1/plans", headers=bearer(token)).status_code == 401, "refused"
        )
        path.unlink()
        assert found.get("/api/v1/plans").status_code == 401  # it is not open again
    path.write_text("x read 0123456789abcdef")
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_tokens(path, {})


def test_a_token_that_is_made_while_the_server_runs_is_known(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    with client(root, named=False) as found:
        token = make_token(root / ".hornbook/tokens", Token("late", READ_ONLY, b""))
        until(lambda: found.get("/metrics", headers=bearer(token)).status_code == 200, "known")
        assert found.get("/metrics").status_code == 401
    assert set(last_uses(root / ".hornbook/tokens")) == {"late"}


def test_a_socket_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    path = root / ".hornbook/tokens"
    token = make_token(path, Token("watcher", READ_ONLY, b""))
    asked = {"query": "subscription { graphVersions { version } }"}
    with (
        client(root, named=False) as found,
        found.websocket_connect(
            SOCKET, subprotocols=["graphql-transport-ws"], headers=bearer(token)
        ) as socket,
    ):
        socket.send_json({"type": "connection_init"})
        assert socket.receive_json() == {"type": "connection_ack"}
        socket.send_json({"type": "subscribe", "id": "1", "payload": asked})
        assert socket.receive_json()["type"] == "next"
        revoke_token(path, "watcher")
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 4403


def test_a_stream_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    path = root / ".hornbook/tokens"
    token = make_token(path, Token("watcher", ALL, b""))
    headers = bearer(token) | {"accept": "text/event-stream"}
    with client(root, named=False) as found:
        assert found.post("/api/v1/plans", json={"title": "A"}, headers=headers).is_success
        revoke_after = iter([lambda: revoke_token(path, "watcher")])
        with found.stream("GET", "/api/v1/runs/plan.a/events", headers=headers) as answer:
            assert answer.status_code == 200
            for _ in answer.iter_raw():
                next(revoke_after, lambda: None)()
        # The stream of a plan has no end of its own: that we are here is the proof.
        assert found.get("/api/v1/plans", headers=headers).status_code == 401


def test_a_first_token_shuts_out_those_without_one(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    with client(root, named=False) as found:
        assert found.get("/api/v1/runs").status_code == 200
        make_token(root / ".hornbook/tokens", Token("first", READ_ONLY, b""))
        until(lambda: found.get("/api/v1/runs").status_code == 401, "the token is known")


def test_a_person_who_may_write_may_answer(root: Path) -> None:
    told = json.loads(
        cli(root, "token", "new", "ann", "--for", "human:ann", "--scopes", "write", "--json").stdout
    )
    assert "answer" in told["scopes"]


def test_a_one_time_address_of_any_characters_is_refused(tmp_path: Path) -> None:
    with client(workspace(tmp_path), named=False) as found:
        assert found.get("/login?once=a.\u00e9", follow_redirects=False).status_code == 403
