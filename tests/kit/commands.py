"""`hornbook` as a person calls it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run(
    root: Path, *arguments: str, sent: str = "", **environment: str
) -> "subprocess.CompletedProcess[str]":
    """The command in a folder, whatever it ends with."""
    return subprocess.run(
        [sys.executable, "-m", "hornbook", *arguments],
        input=sent,
        capture_output=True,
        text=True,
        cwd=root,
        check=False,
        env={**os.environ, **environment},
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
