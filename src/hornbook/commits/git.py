"""Asks git: what is ignored, what was renamed, what a commit holds."""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hornbook.errors import UsageError

# A repository's own configuration must not make git run programs while we only read.
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
# Plain messages, no locks, and objects as they are: a replacement would show another text, a
# graft another history.
_PLAINLY = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
}
_RENAMES_SEEN = 200


def run(
    root: Path,
    *arguments: str,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run git, reading only: no hooks, no monitors, no locks, plain messages.

    `GIT_DIR` and its like, which git sets for hooks, would make it read another repository.
    `environment` adds those that we set ourselves.
    """
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    ours = {**_PLAINLY, **(environment or {})}
    command = ["git", *_SAFE, "-C", str(root), *arguments]
    return subprocess.run(
        command, input=stdin, capture_output=True, check=False, env={**inherited, **ours}
    )


def inside_repository(root: Path) -> bool:
    """Whether the folder lies in a git work tree."""
    try:
        answer = run(root, "rev-parse", "--is-inside-work-tree")
    except FileNotFoundError:
        return False
    return answer.stdout.strip() == b"true"


def ignored(root: Path, paths: Sequence[str]) -> frozenset[str]:
    """Those of the paths that git ignores; none outside a repository."""
    if not paths:
        return frozenset()
    try:
        answer = run(root, "check-ignore", "--stdin", "-z", stdin=_joined(paths))
    except FileNotFoundError:
        return frozenset()
    if answer.returncode in {0, 1}:
        return frozenset(_split(answer.stdout))
    if not inside_repository(root):
        return frozenset()
    # One path inside a submodule fails the whole batch: ask for each by itself.
    return frozenset(
        path for path in paths if run(root, "check-ignore", "-q", "--", path).returncode == 0
    )


def renames(root: Path) -> dict[str, str]:
    """New path to old path, for renames in the work tree and in the newest commits."""
    found: dict[str, str] = {}
    history = ("log", f"-n{_RENAMES_SEEN}", "--format=", "--relative")
    for arguments in (history, ("diff", "HEAD", "--relative")):
        try:
            answer = run(root, *arguments, "-M", "-z", "--name-status", "--diff-filter=R")
        except FileNotFoundError:
            return found
        fields = [field.lstrip("\n") for field in _split(answer.stdout)]
        for place in range(0, len(fields) - 2, 3):
            found.setdefault(fields[place + 2], fields[place + 1])
    return found


def commit(root: Path, revision: str) -> str:
    """The full hash of the commit that a revision names.

    Raises:
        UsageError: There is no repository, or no such commit in it.
    """
    try:
        answer = run(root, "rev-parse", "--verify", "--end-of-options", revision + "^{commit}")
    except FileNotFoundError:
        raise UsageError("git is not on PATH: install it to judge at a commit.") from None
    if answer.returncode:
        said = answer.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise UsageError(f"{revision!r} names no commit in {root} ({said}): see `git log`.")
    return answer.stdout.decode("ascii").strip()


def files_at(
    root: Path, revision: str, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Path to blob for every regular file of a commit, or tree, below the root.

    Raises:
        UsageError: The repository cannot tell: an object is missing or damaged.
    """
    answer = require_success(
        root, run(root, "ls-tree", "-r", "-z", revision, environment=environment)
    )
    files: dict[str, str] = {}
    for line in _split(answer.stdout):
        facts, _, path = line.partition("\t")
        mode, kind, blob = facts.split(" ")
        if kind == "blob" and mode != "120000":
            files[path] = blob
    return files


def blobs(
    root: Path, names: Iterable[str], environment: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """The contents of some blobs, read in one go.

    Raises:
        UsageError: One of them is missing.
    """
    wanted = list(dict.fromkeys(names))
    asked = "".join(f"{name}\n" for name in wanted).encode()
    answer = require_success(
        root, run(root, "cat-file", "--batch", stdin=asked, environment=environment)
    )
    found: dict[str, bytes] = {}
    place = 0
    for name in wanted:
        end = answer.stdout.index(b"\n", place)
        facts = answer.stdout[place:end].split(b" ")
        if len(facts) != 3:
            raise UsageError(f"{root}: git has no object {name}: run `git fsck`.")
        size = int(facts[2])
        found[name] = answer.stdout[end + 1 : end + 1 + size]
        place = end + 1 + size + 1
    return found


def blob_sizes(root: Path, names: Iterable[str]) -> dict[str, int]:
    """The sizes of some blobs in bytes, without reading them.

    Raises:
        UsageError: One of them is missing.
    """
    wanted = list(dict.fromkeys(names))
    asked = "".join(f"{name}\n" for name in wanted).encode()
    answer = require_success(root, run(root, "cat-file", "--batch-check", stdin=asked))
    found: dict[str, int] = {}
    for name, line in zip(wanted, answer.stdout.splitlines(), strict=True):
        facts = line.split(b" ")
        if len(facts) != 3:
            raise UsageError(f"{root}: git has no object {name}: run `git fsck`.")
        found[name] = int(facts[2])
    return found


def require_success(
    root: Path, answer: subprocess.CompletedProcess[bytes]
) -> subprocess.CompletedProcess[bytes]:
    """The answer of a git that succeeded; a failure is never read as an empty answer."""
    if answer.returncode:
        said = answer.stderr.decode("utf-8", "replace").strip()
        raise UsageError(f"git cannot read {root}: {said or answer.returncode}.")
    return answer


def _joined(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _split(data: bytes) -> list[str]:
    return [os.fsdecode(part) for part in data.split(b"\0") if part]
