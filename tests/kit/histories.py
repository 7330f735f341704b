"""Whole histories in one go: `git fast-import` makes a hundred commits as fast as one."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Made:
    """One commit to make: what it writes (None deletes), and the commits that it merges.

    `parent` and `merges` are places in the list; the parent is the commit before if not given.
    A text that begins with `-> ` becomes a symbolic link.
    """

    files: Mapping[str, str | bytes | None] = field(default_factory=dict)
    subject: str = "work"
    parent: int | None = None
    merges: Sequence[int] = ()


def make_history(root: Path, commits: Sequence[Made]) -> list[str]:
    """A repository whose branch `main` ends with the last of the commits; their names."""
    root.mkdir(parents=True, exist_ok=True)
    _git(root, "init", "-q", "-b", "main")
    stream = b"".join(_commit(place, each) for place, each in enumerate(commits))
    _git(root, "fast-import", "--quiet", "--export-marks=marks", "--force", stdin=stream)
    marks = dict(line.split() for line in (root / "marks").read_text(encoding="ascii").splitlines())
    (root / "marks").unlink()
    _git(root, "reset", "-q", "--hard", "main")
    return [marks[f":{place + 1}"] for place in range(len(commits))]


def _git(root: Path, *arguments: str, stdin: bytes = b"") -> None:
    command = ["git", "-C", str(root), *arguments]
    subprocess.run(command, check=True, input=stdin, capture_output=True)


def _commit(place: int, each: Made) -> bytes:
    parent = place - 1 if each.parent is None else each.parent
    lines = [
        b"commit refs/heads/main\nmark :%d\n" % (place + 1),
        b"committer t <t@example.org> %d +0000\n" % (1_700_000_000 + 3600 * place),
        _data(each.subject.encode()),
        b"from :%d\n" % (parent + 1) if place else b"",
        *(b"merge :%d\n" % (other + 1) for other in each.merges),
    ]
    lines += [_file(path, content) for path, content in each.files.items()]
    return b"".join(lines) + b"\n"


def _file(path: str, content: str | bytes | None) -> bytes:
    if content is None:
        return b"D %s\n" % path.encode()
    data = content.encode() if isinstance(content, str) else content
    if data.startswith(b"-> "):
        return b"M 120000 inline %s\n%s" % (path.encode(), _data(data[3:]))
    return b"M 100644 inline %s\n%s" % (path.encode(), _data(data))


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
