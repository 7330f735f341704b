"""MCP over real pipes and real HTTP, and what the server says of itself."""

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp import Client

from hornbook.errors import HornbookError, UsageError
from hornbook.serve.leases import Leases
from hornbook.serve.mcp import prompts, resources
from hornbook.serve.mcp.arguments import cursor_for, place_of, read_arguments
from hornbook.serve.mcp.server import McpHttp, build_server
from hornbook.serve.mcp.tool_types import SearchAsked
from hornbook.serve.mcp.tools import TOOLS
from tests.kit.forks import decoded, fork_run
from tests.kit.mcp_clients import REVISIONS, in_process, over_stdio, repository, the_same_everywhere
from tests.kit.mcp_service import MOST_BYTES, let_in, serving
from tests.kit.paths import DOCS, SOURCES
from tests.kit.servers import client
from tests.kit.workspaces import SOPS, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


def test_every_transport_and_revision_gives_the_same_answers(root: Path) -> None:
    async def ask() -> list[list[object]]:
        found = []
        with serving(root) as address:
            for mode, revision in REVISIONS:
                for client in (over_stdio(root, mode=mode), Client(address, mode=mode)):
                    async with client:
                        assert client.protocol_version == revision
                        found.append(await the_same_everywhere(client))
        async with in_process(root) as client:
            found.append(await the_same_everywhere(client))
        return found

    first, *others = anyio.run(ask)
    for other in others:
        assert other == first


# What a client sends over pipes


def speak(root: Path, lines: list[object], *options: str, program: str | None = None) -> Any:
    """What the server says to these lines; with a program, a fresh interpreter that runs it."""
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    sent = f"{text}\n".encode() if text else b""
    arguments = ["--root", str(root), "mcp", *options]
    if program is None:
        done = fork_run(arguments, folder=root, environment=os.environ, sent=sent)
    else:
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            input=sent,
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
            capture_output=True,
            check=False,
        )
    return decoded(done)


def request(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


HELLO = [
    request(
        0,
        "initialize",
        protocolVersion="2025-11-25",
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    ),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


def test_everything_that_was_asked_before_the_end_is_answered(root: Path) -> None:
    calls = [
        request(n, "tools/call", name="rules_for_files", arguments={"files": [f"{n}.go"]})
        for n in range(1, 21)
    ]
    said = speak(root, [*HELLO, *calls])
    assert (said.returncode, said.stderr) == (0, "")
    answers = [json.loads(line) for line in said.stdout.splitlines()]
    assert sorted(each["id"] for each in answers) == list(range(21))
    assert all("result" in each for each in answers)


ENDLESS = """
from hornbook.serve.mcp import stdio
stdio.ANSWER_SECONDS = 1e6  # how long it waits for questions that nobody settles
from hornbook.cli.main import main
main()
"""


def test_a_cancelled_question_does_not_keep_it_from_ending(root: Path) -> None:
    asked = request(1, "tools/call", name="review_context", arguments={"diff": "HEAD~1..HEAD"})
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    said = speak(root, [*HELLO, asked, cancelled, request(2, "ping")], program=ENDLESS)
    answers = [json.loads(line)["id"] for line in said.stdout.splitlines()]
    assert (said.returncode, sorted(answers)) == (0, [0, 2])


def test_it_ends_at_once_and_silently_when_nothing_is_asked(root: Path) -> None:
    said = speak(root, [])
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")


def test_a_line_that_is_no_message_is_answered_and_ends_nothing(root: Path) -> None:
    said = speak(root, [*HELLO, "not json", "[]", '"\\ud800"', request(1, "ping")])
    answers = [json.loads(line) for line in said.stdout.splitlines()]
    errors = [each["error"]["code"] for each in answers if "error" in each]
    assert errors == [-32700] * 3
    assert {"jsonrpc": "2.0", "id": 1, "result": {}} in answers
    assert said.returncode == 0


PRINTS = """
import os, sys
from hornbook.workspace import Workspace
ingest = Workspace.ingest
def loud(self, *arguments, **options):
    print("printed by ingest")
    os.write(1, b"written by ingest\\n")
    os.system("echo said by a child")
    return ingest(self, *arguments, **options)
Workspace.ingest = loud
from hornbook.cli.main import main
main()
"""


def test_stdout_is_only_protocol_even_when_ingest_prints(root: Path) -> None:
    write(root, {f"{SOPS}/later.md": "# Later\n\nMUST come later.\n"})
    asked = request(1, "tools/call", name="get_entity", arguments={"id": "source.doc.sops.later"})
    said = speak(root, [*HELLO, asked], "--ingest", program=PRINTS)
    assert said.returncode == 0, said.stderr
    answers = [json.loads(line) for line in said.stdout.splitlines()]
    assert {each["id"]: "result" in each for each in answers} == {0: True, 1: True}
    assert not answers[1]["result"].get("isError"), answers[1]
    for line in ("printed by ingest", "written by ingest", "said by a child"):
        assert line in said.stderr


def test_a_wrong_configuration_is_told_on_stderr_before_anything_else(root: Path) -> None:
    write(root, {".hornbook/config.yaml": "reserv: 4000\n"})
    said = speak(root, HELLO)
    assert (said.returncode, said.stdout) == (2, "")
    assert "reserve" in said.stderr


# HTTP


async def post(app: McpHttp, body: bytes, headers: dict[str, str], method: str = "POST") -> Any:
    """Status, headers and body of one request, as an HTTP server would hand it over."""
    sent: list[Any] = []
    scope = {
        "type": "http",
        "method": method,
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        **let_in(),
    }

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(each["body"] for each in sent[1:])


def newest(method: str, **params: object) -> tuple[bytes, dict[str, str]]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {
        "host": "127.0.0.1:8765",
        "content-type": "application/json",
        "accept": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
    }
    return json.dumps(request(1, method, _meta=meta, **params)).encode(), headers


@pytest.fixture
def endpoint(root: Path) -> Iterator[Any]:
    leases = Leases(str(root))

    def ask(*requests: Any, most_bytes: int = MOST_BYTES) -> list[Any]:
        async def run() -> list[Any]:
            app = McpHttp(build_server(leases.workspace), most_bytes)
            async with app.running():
                return [await post(app, *each) for each in requests]

        found: list[Any] = anyio.run(run)
        return found

    yield ask
    leases.close()


def test_blanks_behind_header_values_do_not_matter(endpoint: Any) -> None:
    body, headers = newest("tools/list")
    ((status, _, answer),) = endpoint(
        (body, {key: f"{value} \t" for key, value in headers.items()})
    )
    assert status == 200, answer
    assert len(json.loads(answer)["result"]["tools"]) == len(TOOLS)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, 200),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]:1"}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:8765"}, 421),
        ({"origin": "http://127.0.0.1:8765"}, 200),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-type": "text/plain"}, 400),
        ({"content-type": "application/x-www-form-urlencoded"}, 400),
        ({"mcp-method": "tools/call"}, 400),
        ({"mcp-protocol-version": "1999-01-01"}, 400),
    ],
)
def test_strangers_and_forgeries_are_refused(
    root: Path, change: dict[str, str], status: int
) -> None:
    body, headers = newest("tools/list")
    with client(root) as found:
        answer = found.post("/mcp", content=body, headers={**headers, **change})
    assert answer.status_code == status, answer.text


def test_only_a_post_of_bounded_size_is_taken(endpoint: Any) -> None:
    body, headers = newest("tools/list")
    found = endpoint(
        (b"", headers, "GET"),
        (b"", headers, "DELETE"),
        (body + b" " * 999, headers),
        most_bytes=900,
    )
    assert [status for status, _, _ in found] == [405, 405, 413]
    assert found[0][1][b"allow"] == b"POST"


def test_hostile_bodies_are_answered_with_errors(endpoint: Any) -> None:
    body, headers = newest("tools/call", name="rules_for_files", arguments={"files": ["\ud800"]})
    calling = {**headers, "mcp-name": "rules_for_files"}
    deep = b"[" * 100_000
    ((status, _, answer), (other, _, _)) = endpoint((body, calling), (deep, headers))
    assert status == 200
    assert json.loads(answer)["result"]["isError"] is True
    assert other == 400


def test_a_post_is_not_redirected(root: Path) -> None:
    body, headers = newest("tools/list")
    del headers["host"]
    with serving(root) as address:
        connection = http.client.HTTPConnection(urlsplit(address).netloc)
        for path in ("/mcp", "/mcp/"):
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            assert (answer.status, answer.getheader("content-type")) == (200, "application/json")
            answer.read()
        connection.close()


# Definitions


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_says_what_it_takes_and_gives(tool: Any) -> None:
    for schema in (tool.input_schema, tool.output_schema):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "$ref" not in json.dumps(schema)
    assert tool.input_schema["additionalProperties"] is False
    for name, field in tool.input_schema["properties"].items():
        assert field.get("description"), name
    assert tool.name.replace("_", "").isalpha()
    assert len(tool.description) > 80
    assert tool.read_only


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from([*SearchAsked.__struct_fields__, "other"])


@given(st.dictionaries(names, json_values, max_size=4))
def test_arguments_are_read_exactly_when_they_fit_the_schema(given_: dict[str, Any]) -> None:
    schema = next(tool for tool in TOOLS if tool.name == "search_entities").input_schema
    fits = not list(Draft202012Validator(schema).iter_errors(given_))
    try:
        read_arguments(SearchAsked, given_)
        problem = ""
    except UsageError as refused:
        problem = str(refused) or "told nothing"
    assert problem != "told nothing"
    assert fits == (not problem) or "NUL" in problem


@given(st.text())
def test_a_cursor_stands_for_its_place_and_other_texts_for_nothing(text: str) -> None:
    if text.isprintable():
        assert place_of(cursor_for(text)) == text
    try:
        found = place_of(text)
    except HornbookError:
        return
    assert found is not None
    assert cursor_for(found) == text


# Docs

PAGE = (DOCS / "mcp.md").read_text(encoding="utf-8")


def table(*heads: str) -> list[list[list[str]]]:
    """The code words in each cell of the table with these heads."""
    _, _, rest = PAGE.partition(f"| {' | '.join(heads)} |\n")
    lines = rest.partition("\n\n")[0].splitlines()[1:]
    return [[re.findall("`([^`]+)`", cell) for cell in line.split(" | ")] for line in lines]


def test_the_page_lists_every_tool_with_its_arguments_and_no_other() -> None:
    listed = [(name, arguments) for (name,), arguments, _ in table("tool", "arguments", "answers")]
    assert listed == [(tool.name, list(tool.input_schema["properties"])) for tool in TOOLS]


def test_the_page_lists_every_resource_and_the_prompt() -> None:
    listed = [address for (address,), _ in table("resource", "gives")]
    assert listed == [template.address for template in resources.TEMPLATES]
    ((prompt, arguments, _),) = table("prompt", "arguments", "gives")
    assert prompt == [prompts.REVIEW_CHANGE]
    assert arguments == [argument.name for argument in prompts.ARGUMENTS]


def test_every_set_up_on_the_page_starts_the_server(root: Path) -> None:
    blocks = re.findall("```json\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        ((_, servers),) = json.loads(block).items()
        server = servers["hornbook"]
        if "url" in server:
            assert urlsplit(server["url"]).path == "/mcp"
            continue
        assert server["command"] == "hornbook"
        filled = [word.replace("${workspaceFolder}", str(root)) for word in server["args"]]
        sent = json.dumps(request(1, "ping")).encode() + b"\n"
        said = fork_run(filled, folder=root, environment=os.environ, sent=sent)
        assert said.returncode == 0, said.stderr
        assert json.loads(said.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
