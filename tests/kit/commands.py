"""`hornbook` as a person calls it."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.kit.forks import decoded, fork_run, forkable


def run(
    root: Path, *arguments: str, sent: str = "", **environment: str
) -> "subprocess.CompletedProcess[str]":
    """The command in a folder, whatever it ends with."""
    return decoded(run_bytes(root, *arguments, sent=sent.encode(), **environment))


def run_bytes(
    root: Path, *arguments: str, sent: bytes = b"", **environment: str
) -> "subprocess.CompletedProcess[bytes]":
    """The command in a folder, whatever it ends with, and the bytes that it prints."""
    whole = {**os.environ, **environment}
    if forkable(environment):
        return fork_run(arguments, folder=root, environment=whole, sent=sent)
    command = [sys.executable, "-m", "hornbook", *arguments]
    return subprocess.run(
        command, input=sent, capture_output=True, cwd=root, check=False, env=whole
    )


def expect(
    root: Path, *arguments: str, code: int = 0, sent: str = "", **environment: str
) -> "subprocess.CompletedProcess[str]":
    """The command in a folder, which ends with this code."""
    done = run(root, *arguments, sent=sent, **environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def answer(root: Path, *arguments: str, code: int = 0, sent: str = "") -> Any:  # JSON
    """What the command prints as JSON."""
    return json.loads(expect(root, *arguments, code=code, sent=sent).stdout)


def read_terminal(shown: int) -> str:
    """What is written to a terminal until nobody has it open any more."""
    found = b""
    with suppress(OSError):  # which is how Linux says it
        while more := os.read(shown, 100_000):
            found += more
    return found.decode()
