"""Git as the tests use it: a repository, commits, a branch for the work."""

import subprocess
from pathlib import Path

from tests.kit.workspaces import write


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", *identity, "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, files: dict[str, str]) -> str:
    write(root, files)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "work")
    return git(root, "rev-parse", "HEAD")


def start(root: Path, files: dict[str, str]) -> None:
    git(root, "init", "-q", "-b", "main")
    commit(root, files)
    git(root, "checkout", "-qb", "work")
