"""A repository and the clients that ask about it over MCP."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from mcp import Client, StdioServerParameters
from mcp.client import session
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, TextContent

from hornbook import Workspace
from hornbook.serve.leases import Leases
from hornbook.serve.mcp.server import build_server, compact
from tests.kit.paths import SOURCES
from tests.kit.waiting import SAFETY
from tests.kit.workspaces import with_the_example_sop, write

# Who does not answer within ten seconds is taken for a server of an older revision.
session.DISCOVER_TIMEOUT_SECONDS = SAFETY

ERRORS = "source.doc.sops.error-handling"
Mode = Literal["auto", "legacy"]


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


def repository(place: Path) -> Path:
    """A git repository with two SOPs, a decision and a change, ingested."""
    with_the_example_sop(place)
    write(
        place,
        {
            "docs/adr/0002-rust.md": "# 2. Use Rust\n\n## Status\n\nAccepted\n",
            "handlers/user.go": "package handlers\n",
        },
    )
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    write(place, {"handlers/user.go": "package handlers\n\nfunc New() {}\n"})
    git(place, "commit", "-qam", "second")
    with Workspace.open(place) as work:
        work.ingest()
    return place


@asynccontextmanager
async def in_process(root: Path) -> AsyncIterator[Client]:
    """A client of a server in this process."""
    leases = Leases(str(root))
    try:
        async with Client(build_server(leases.workspace)) as client:
            yield client
    finally:
        leases.close()


def over_stdio(root: Path, *, mode: Mode) -> Client:
    """A client of `hornbook mcp` in a process of its own."""
    command = ["-m", "hornbook", "--root", str(root), "mcp"]
    parameters = StdioServerParameters(
        command=sys.executable, args=command, env={"PYTHONPATH": str(SOURCES)}
    )
    return Client(stdio_client(parameters), mode=mode)


def text_of(result: CallToolResult) -> str:
    """The text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def answer_of(result: CallToolResult) -> Any:
    """The structured answer, which the text repeats without blanks."""
    assert not result.is_error, text_of(result)
    assert json.loads(text_of(result)) == result.structured_content
    assert text_of(result) == compact(result.structured_content)
    return result.structured_content


async def call(client: Client, name: str, **arguments: object) -> Any:
    """What a tool answers."""
    return answer_of(await client.call_tool(name, arguments))


async def refusal(client: Client, name: str, **arguments: object) -> str:
    """What a tool says that cannot answer."""
    result = await client.call_tool(name, arguments)
    assert result.is_error
    assert result.structured_content is None
    return text_of(result)


REVISIONS: tuple[tuple[Mode, str], ...] = (("auto", "2026-07-28"), ("legacy", "2025-11-25"))


async def the_same_everywhere(client: Client) -> list[object]:
    """What every transport and revision must answer alike."""
    tools = await client.list_tools()
    prompt = await client.get_prompt("review_change", {"diff": "HEAD~1..HEAD"})
    read = await client.read_resource(f"rule://{ERRORS}")
    return [
        [tool.model_dump() for tool in tools.tools],
        [each.uri for each in (await client.list_resources()).resources],
        await call(client, "rules_for_files", files=["handlers/user.go"]),
        await call(client, "review_context", diff="HEAD~1..HEAD"),
        await call(client, "get_entity", id=ERRORS),
        await call(client, "search_entities", include_triples=True),
        await call(client, "size_task", files=["handlers/user.go"]),
        await refusal(client, "rules_for_files", files=["../x"]),
        prompt.messages[0].model_dump(),
        read.contents[0].model_dump(exclude={"meta"}),
    ]
