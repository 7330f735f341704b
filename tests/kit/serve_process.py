"""`hornbook serve` as a process on a free port."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.kit.forks import ForkedProcess
from tests.kit.waiting import SAFETY, until


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def forked_serving(
    root: Path, *arguments: str, **environment: str
) -> Iterator[tuple[str, ForkedProcess]]:
    """The same in a fork, which has all that it needs imported."""
    port = free_port()
    asked = ["--root", str(root), "serve", "--port", str(port), *arguments]
    process = ForkedProcess(asked, folder=root, environment={**os.environ, **environment})
    try:
        _serves(process.stderr, process, f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.close()


@contextmanager
def serving(
    root: Path, *arguments: str, environment: dict[str, str] | None = None
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    port = free_port()
    command = [sys.executable, "-m", "hornbook", "--root", str(root), "serve", "--port", str(port)]
    process = subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    address = f"http://127.0.0.1:{port}"
    try:
        assert process.stderr is not None
        _serves(process.stderr, process, address)
        yield address, process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _serves(told: IO[str], process: "subprocess.Popen[str] | ForkedProcess", address: str) -> None:
    """Wait until it answers, or has ended."""
    for line in told:
        if line.startswith("serving "):
            break

    def answers() -> bool:
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=SAFETY):
                return True
        except OSError:
            return process.poll() is not None

    until(answers, f"an answer of {address}", every=0.05)
