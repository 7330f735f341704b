"""A served workspace to try things on: in process, or on a real port."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
import yaml
from starlette.testclient import TestClient

from hornbook import Workspace
from hornbook.serve.access.secret import local_secret
from hornbook.serve.app import create_app
from hornbook.settings.places import Places
from tests.kit.waiting import SAFETY
from tests.kit.workspaces import with_the_example_sop, write

HERE = "http://127.0.0.1:8765"
SOCKET = "ws://127.0.0.1:8765/graphql"
READER = "reader-token-0123456789"
WRITER = "writer-token-0123456789"
TOKENS = {"HORNBOOK_TOKENS": f"ci:read:{READER}, ops:write:{WRITER}"}
DECISIONS = {
    "docs/adr/0001-use-go.md": "# 1. Use Go\n\n## Status\n\nSuperseded by [2](0002-rust.md)\n",
    "docs/adr/0002-rust.md": "# 2. Use Rust\n\n## Status\n\nAccepted\n",
}


PATIENT = {"deadline_seconds": int(SAFETY), "sparql_seconds": int(SAFETY)}
"""A busy machine answers late, which is no refusal; a test that wants one sets its own seconds."""


def workspace(root: Path, config: str = "") -> Path:
    """An ingested workspace of two SOPs and two decisions."""
    write(with_the_example_sop(root), DECISIONS)
    settings = yaml.safe_load(config) or {}
    settings["serve"] = {**PATIENT, **settings.get("serve", {})}
    write(root, {".hornbook/config.yaml": yaml.safe_dump(settings)})
    with Workspace.open(root) as work:
        work.ingest()
    return root


@contextmanager
def client(
    root: Path,
    *,
    host: str = "127.0.0.1",
    environment: Mapping[str, str] | None = None,
    named: bool = True,
) -> Iterator[TestClient]:
    """A client of the application, in process; `named` shows the secret where tokens are none."""
    app = create_app(root, host=host, environment=environment)
    headers = secret_header(root) if named and environment is None else {}
    with TestClient(app, base_url=HERE, raise_server_exceptions=False, headers=headers) as found:
        yield found


def secret_header(root: Path) -> dict[str, str]:
    """What whoever works in a folder shows to its server."""
    return {"authorization": f"Bearer {(root / '.hornbook/secret').read_text().strip()}"}


def ask(found: TestClient, query: str, **variables: object) -> Any:
    """The answer to a GraphQL query as an object."""
    return found.post("/graphql", json={"query": query, "variables": variables}).json()


class ServedAddress(str):
    """The address of a server, with what a client shows to write there."""

    __slots__ = ("headers",)
    headers: dict[str, str]

    def by(self, token: str) -> "ServedAddress":
        """The same address for whoever has a token."""
        other = ServedAddress(self)
        other.headers = {"authorization": f"Bearer {token}"}
        return other


@contextmanager
def on_a_port(root: Path, environment: Mapping[str, str] | None = None) -> Iterator[ServedAddress]:
    """The address of a real server in a thread."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = create_app(root, environment=environment)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield ServedAddress(f"http://127.0.0.1:{port}").by(local_secret(Places(root)))
    finally:
        app.state.updates.closing.set()
        server.should_exit = True
        thread.join(SAFETY)
        listening.close()
