"""The commits that touched one file, newest first."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hornbook.commits import git
from hornbook.disk import to_seconds


@dataclass(frozen=True, slots=True)
class FileCommit:
    """A commit that touched a file: its first parent, which the first commit lacks, and when."""

    commit: str
    parent: str | None
    at: str
    author: str
    subject: str


def commits_of(root: Path, path: str, most: int) -> tuple[FileCommit, ...]:
    """The last commits of HEAD that touched a file by this path, newest first.

    There are none where there is no repository or no commit yet.
    """
    try:
        answer = git.run(
            root,
            "--literal-pathspecs",
            "log",
            "-z",
            f"-n{most}",
            "--format=%H%x1f%P%x1f%ct%x1f%an%x1f%s",
            "HEAD",
            "--",
            path,
        )
    except FileNotFoundError:
        return ()
    lines = answer.stdout.decode("utf-8", "replace").split("\0") if not answer.returncode else []
    return tuple(_read(line) for line in lines if line)


def _read(line: str) -> FileCommit:
    name, parents, seconds, author, subject = line.split("\x1f", 4)
    at = to_seconds(datetime.fromtimestamp(int(seconds), UTC))
    return FileCommit(name.strip(), next(iter(parents.split()), None), at, author, subject)
