"""The change under review, as git has it: merge-base to HEAD, never what anyone claims."""

from dataclasses import dataclass
from pathlib import Path

from hornbook.errors import UsageError
from hornbook.git.reader import commit, run, sure


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file; `before` is its old path when it was renamed or copied."""

    path: str
    status: str
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change: the files and patches from `merge_base` to `head`, judged by `base`'s rules."""

    base: str
    head: str
    merge_base: str
    tree: str
    files: tuple[FileChange, ...]
    patches: dict[str, str]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the change touches, old names of renamed files included, sorted."""
        old = {change.before for change in self.files if change.before is not None}
        return tuple(sorted({change.path for change in self.files} | old))


def change(root: Path, span: str) -> Change:
    """The change that `BASE..HEAD` names; HEAD may be left out.

    Raises:
        UsageError: A side names no commit, or the two have no common ancestor.
    """
    base_name, _, head_name = span.partition("..")
    base = commit(root, base_name or "HEAD")
    head = commit(root, head_name.removeprefix(".") or "HEAD")
    found = run(root, "merge-base", base, head)
    if found.returncode:
        raise UsageError(
            f"{span}: the two commits have no common ancestor here; in a shallow clone run "
            "`git fetch --unshallow`."
        )
    ancestor = found.stdout.decode("ascii").strip()
    tree = run(root, "rev-parse", f"{head}^{{tree}}").stdout.decode("ascii").strip()
    files = _files(root, ancestor, head)
    return Change(base, head, ancestor, tree, files, _patches(root, ancestor, head, files))


def _files(root: Path, ancestor: str, head: str) -> tuple[FileChange, ...]:
    asked = ("diff", "-z", "-M", "--name-status", "--relative", ancestor, head)
    answer = sure(root, run(root, *asked))
    fields = [field.decode("utf-8", "replace") for field in answer.stdout.split(b"\0") if field]
    found = []
    place = 0
    while place < len(fields):
        status = fields[place]
        if status[0] in "RC":
            found.append(FileChange(fields[place + 2], status[0], fields[place + 1]))
            place += 3
        else:
            found.append(FileChange(fields[place + 1], status[0]))
            place += 2
    return tuple(sorted(found, key=lambda change: change.path))


def _patches(root: Path, ancestor: str, head: str, files: tuple[FileChange, ...]) -> dict[str, str]:
    """The patch of each changed file, whole; a file that changed its kind has two pieces."""
    text = _patch(root, ancestor, head)
    pieces = text.split("\ndiff --git ") if text else []
    last = len(pieces) - 1
    whole = [
        ("" if place == 0 else "diff --git ") + piece + ("" if place == last else "\n")
        for place, piece in enumerate(pieces)
    ]
    names = run(root, "diff", "-z", "-M", "--name-only", "--relative", ancestor, head).stdout
    ordered = [name.decode("utf-8", "replace") for name in names.split(b"\0") if name]
    if len(whole) == len(ordered):
        return dict(zip(ordered, whole, strict=True))
    return {
        each.path: _patch(root, ancestor, head, *filter(None, (each.before, each.path)))
        for each in files
    }


def _patch(root: Path, ancestor: str, head: str, *paths: str) -> str:
    """The patch between two commits; nobody's git configuration changes how it looks."""
    looks = ("-M", "--relative", "--no-color", "--no-ext-diff", "--no-textconv", "-U3")
    plain = ("--inter-hunk-context=0", "--diff-algorithm=myers", "--submodule=short")
    prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
    options = ("-c", "core.quotePath=false", "diff", *looks, *plain, *prefixes)
    answer = sure(root, run(root, *options, ancestor, head, "--", *paths))
    return answer.stdout.decode("utf-8", "replace")
