"""MCP at `/mcp` of the whole server, over real HTTP, with and without tokens."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.kit.mcp_clients import (
    ERRORS,
    REVISIONS,
    call,
    in_process,
    over_stdio,
    repository,
    the_same_everywhere,
)
from tests.kit.servers import READER, TOKENS, on_a_port
from tests.kit.waiting import SAFETY

ACCEPT = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("mcp") / "repo")


@pytest.fixture(scope="module")
def local(root: Path) -> Iterator[str]:
    with on_a_port(root) as address:
        yield f"{address}/mcp"


@pytest.fixture(scope="module")
def guarded(root: Path) -> Iterator[str]:
    with on_a_port(root, environment=TOKENS) as address:
        yield f"{address}/mcp"


def post(address: str, **headers: str) -> Any:
    """The status, headers and body of a bare request for the tools."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    given = {"content-type": "application/json", "accept": ACCEPT}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(address, json.dumps(body).encode(), given)
    try:
        with urllib.request.urlopen(request, timeout=SAFETY) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.headers, refusal.read()


def test_the_whole_server_answers_like_every_other_transport(root: Path, local: str) -> None:
    async def ask() -> list[list[object]]:
        found = []
        for mode, revision in REVISIONS:
            async with Client(local, mode=mode) as client:
                assert client.protocol_version == revision
                found.append(await the_same_everywhere(client))
        async with over_stdio(root, mode="auto") as client:
            found.append(await the_same_everywhere(client))
        async with in_process(root) as client:
            found.append(await the_same_everywhere(client))
        return found

    first, *others = anyio.run(ask)
    assert all(other == first for other in others)


def test_a_post_is_answered_at_once_with_and_without_a_slash(local: str) -> None:
    for address in (local, f"{local}/"):
        status, headers, body = post(address)
        assert (status, headers["content-type"]) == (200, "application/json")
        assert headers["x-request-id"]
        assert len(json.loads(body)["result"]["tools"]) == 8


def test_a_reader_may_use_every_tool(guarded: str) -> None:
    async def ask() -> Any:
        headers = {"authorization": f"Bearer {READER}"}
        async with httpx2.AsyncClient(headers=headers, timeout=SAFETY) as http:
            transport = streamable_http_client(guarded, http_client=http)
            async with Client(transport) as client:
                tools = await client.list_tools()
                notes = [tool.annotations for tool in tools.tools]
                assert all(note is not None and note.read_only_hint for note in notes)
                await call(client, "review_context", diff="HEAD~1..HEAD")
                return await call(client, "rules_for_files", files=["handlers/user.go"])

    (answer,) = anyio.run(ask)["files"]
    assert ERRORS in [rule["id"] for rule in answer["rules"]]


def test_where_there_are_tokens_none_is_no_answer(guarded: str) -> None:
    for headers in ({}, {"authorization": "Bearer wrong-token-0123456789"}):
        status, told, body = post(guarded, **headers)
        assert (status, json.loads(body)["code"]) == (401, "token")
        assert told["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"}, 403),
        ({"content_type": "text/plain"}, 400),
        ({"content_type": "application/x-www-form-urlencoded"}, 400),
    ],
)
def test_the_gate_stands_before_mcp_too(local: str, headers: dict[str, str], status: int) -> None:
    assert post(local, **headers)[0] == status


def test_our_own_page_and_a_trailing_blank_are_let_in(local: str) -> None:
    origin = local.removesuffix("/mcp")
    assert post(local, origin=origin)[0] == 200
    assert post(local, mcp_protocol_version="2025-11-25 ")[0] == 200
