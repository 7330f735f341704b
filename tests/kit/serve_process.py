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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


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
        for line in process.stderr:
            if line.startswith("serving "):
                break
        for _ in range(300):
            try:
                with urllib.request.urlopen(f"{address}/healthz", timeout=5):
                    break
            except OSError:
                try:
                    process.wait(timeout=0.1)
                except subprocess.TimeoutExpired:
                    continue
                break
        yield address, process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
