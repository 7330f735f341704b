"""What a small MCP call costs the server in CPU, against a bare ASGI hello, in one process."""

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import uvicorn
from starlette.types import Receive, Scope, Send

from hornbook import Workspace
from tests.kit.mcp_service import application, listening_socket
from tests.kit.paths import ROOT
from tests.kit.workspaces import with_the_example_sop

ROUNDS = 15
CALLS = 100
NEWEST, HANDSHAKE = "2026-07-28", "2025-11-25"
HELLO = "hello"


class Bench:
    """Our endpoint beside a bare hello and the CPU time that the process has used."""

    def __init__(self, root: Path) -> None:
        self._served = application(root)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer `/hello` and `/cpu` here, and all else as the service does."""
        path = scope.get("path")
        if path not in {"/hello", "/cpu"}:
            await self._served(scope, receive, send)
            return
        body = b'{"hello":"world"}' if path == "/hello" else str(time.process_time()).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def call(revision: str, method: str, params: Mapping[str, object]) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a request at a revision of the protocol."""
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": revision,
    }
    sent = dict(params)
    if revision == NEWEST:
        headers["mcp-method"] = method
        if "name" in params:
            headers["mcp-name"] = str(params["name"])
        sent["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": sent}
    return json.dumps(message).encode(), headers


KINDS = {
    f"{name}, {revision}": call(revision, method, params)
    for revision in (NEWEST, HANDSHAKE)
    for name, method, params in (
        ("rules_for_files", "tools/call", {"name": "rules_for_files", "arguments": {"files": ["a.go"]}}),
        ("get_entity", "tools/call", {"name": "get_entity", "arguments": {"id": "source.doc.sops.error-handling"}}),
        ("tools/list", "tools/list", {}),
        ("prompts/list", "prompts/list", {}),
    )
}  # fmt: skip


def cpu(connection: http.client.HTTPConnection) -> float:
    """The CPU time that the server has used."""
    connection.request("GET", "/cpu")
    return float(connection.getresponse().read())


def cost(connection: http.client.HTTPConnection, kind: str) -> float:
    """Server CPU seconds of one call, over many."""
    body, headers = KINDS.get(kind, (b"", {}))
    start = cpu(connection)
    for _ in range(CALLS):
        if kind == HELLO:
            connection.request("GET", "/hello")
        else:
            connection.request("POST", "/mcp", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200 or b'"error":' in text:
            raise RuntimeError(f"{kind}: {answer.status} {text!r}")
    return (cpu(connection) - start) / CALLS


def measure() -> dict[str, float]:
    """The cost of each kind of call as a ratio to the hello that ran beside it."""
    with tempfile.TemporaryDirectory() as name:
        root = with_the_example_sop(Path(name))
        with Workspace.open(root) as work:
            work.ingest()
        command = [sys.executable, "-m", "tests.benchmarks.mcp_calls", str(root)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
            try:
                port = int(server.stdout.readline()) if server.stdout else 0
                return _compare(http.client.HTTPConnection("127.0.0.1", port))
            finally:
                server.terminate()


def _compare(connection: http.client.HTTPConnection) -> dict[str, float]:
    for kind in (HELLO, *KINDS):
        cost(connection, kind)
    hellos: list[float] = []
    ratios: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(ROUNDS):
        for kind in KINDS:
            hellos.append(cost(connection, HELLO))
            ratios[kind].append(cost(connection, kind) / hellos[-1])
    found = {"bare ASGI hello, µs of CPU": statistics.median(hellos) * 1e6}
    return found | {f"{kind} / hello": statistics.median(each) for kind, each in ratios.items()}


def main() -> None:
    """Serve a root on a free port, which is printed first."""
    with listening_socket() as listening:
        print(listening.getsockname()[1], flush=True)
        server = uvicorn.Server(uvicorn.Config(Bench(Path(sys.argv[1])), log_level="warning"))
        server.run(sockets=[listening])


if __name__ == "__main__":
    main()
