"""The commits that touched some files last, found in one walk through the newest history."""

from collections.abc import Collection
from pathlib import Path

from hornbook.commits import git

MOST_COMMITS = 5000
"""How many commits the walk goes back: in a long history it would take longer than all else."""


def last_edits(root: Path, paths: Collection[str]) -> dict[str, str]:
    """The newest commit that changed each path; without those that no recent commit changed.

    The walk ends as soon as every path was met.
    """
    wanted = set(paths)
    if not wanted:
        return {}
    asked = ("log", "-z", "--format=%x01%H", "--name-only", "--no-renames", "--relative")
    found: dict[str, str] = {}
    with git.started(root, *asked, *_newest(root), "--", *sorted(wanted)) as process:
        if process.stdout is None:
            raise TypeError("git log has no pipe")
        sha, rest = "", b""
        while wanted - found.keys() and (data := process.stdout.read(4096)):
            *fields, rest = (rest + data).split(b"\0")
            for field in fields:
                text = field.decode("utf-8", "replace").lstrip("\n")
                if text.startswith("\x01"):
                    sha = text[1:]
                elif text in wanted:
                    found.setdefault(text, sha)
        process.kill()
        process.communicate()
    return found


def _newest(root: Path) -> tuple[str, ...]:
    """The range of the newest commits; all of them if there are not so many."""
    answer = git.run(root, "rev-list", "--max-count=1", f"--skip={MOST_COMMITS}", "HEAD")
    oldest = answer.stdout.decode("ascii", "replace").strip()
    return (f"{oldest}..HEAD",) if oldest else ("HEAD",)
