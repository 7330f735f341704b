"""A server as `hornbook serve` has it, and raw requests to it."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from hornbook.serve.app import create_app
from hornbook.serve.service import WatchedConnection
from tests.kit.servers import workspace
from tests.kit.waiting import SAFETY

HOST = b"Host: 127.0.0.1\r\n"
STOLEN = "stolen-4711"
CONFIG = "serve:\n  concurrency: 4\n  streams: 6\n  body_bytes: 100000\n"


@contextmanager
def served(root: Path) -> Iterator[int]:
    """The port of a server with the connections that `hornbook serve` has."""
    listening = socket.create_server(("127.0.0.1", 0))
    app = create_app(root)
    size = app.state.updates.leases.settings.serve.body_bytes
    config = uvicorn.Config(
        app, http=WatchedConnection, ws_max_size=size, log_level="critical", timeout_graceful_shutdown=2
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        app.state.updates.closing.set()
        server.should_exit = True
        thread.join(SAFETY)
        listening.close()


@contextmanager
def attacked(place: Path, more: str = "") -> Iterator[int]:
    """The port of a server below a folder that holds what is not to be had."""
    (place / "secret.md").write_text(STOLEN)
    (place / "plans" / "evil").mkdir(parents=True)
    (place / "plans" / "evil" / "plan.md").write_text(f"# {STOLEN}\n")
    root = place / "project"
    root.mkdir()
    (root / "link").symlink_to(place)
    with served(workspace(root, CONFIG + more)) as found:
        yield found


def talk(port: int, data: bytes) -> bytes:
    """What the server answers to some bytes, whole, until it or the answer ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=SAFETY) as line:
        line.sendall(data)
        return heard(line)


def heard(line: socket.socket) -> bytes:
    """What comes over a connection, until it or the answer ends."""
    found = b""
    while True:
        try:
            piece = line.recv(65536)
        except ConnectionResetError:
            return found
        found += piece
        head, ended, body = found.partition(b"\r\n\r\n")
        lengths = [
            each for each in head.lower().split(b"\r\n") if each.startswith(b"content-length")
        ]
        if not piece or (ended and lengths and len(body) >= int(lengths[0].split(b":")[1])):
            return found


def get(path: bytes, host: bytes = HOST, more: bytes = b"") -> bytes:
    """A GET request."""
    return b"GET " + path + b" HTTP/1.1\r\n" + host + more + b"\r\n"


def post(path: str, body: bytes, kind: str = "application/json", more: bytes = b"") -> bytes:
    """A POST request."""
    head = f"POST {path} HTTP/1.1\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + HOST + more + b"\r\n" + body


def query(text: str, **variables: object) -> bytes:
    """A GraphQL request."""
    return post("/graphql", json.dumps({"query": text, "variables": variables}).encode())


def rest(path: str, body: bytes) -> bytes:
    """A request to REST."""
    return post(f"/api/v1/{path}", body)


def mcp(method: str, params: dict[str, object]) -> bytes:
    """A call of MCP."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return mcp_raw(json.dumps(message).encode())


def mcp_raw(body: bytes) -> bytes:
    """A body for MCP."""
    more = b"accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\n"
    return post("/mcp", body, more=more)
