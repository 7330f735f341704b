"""Writes to a repository as a person would, but without hooks, prompts and signatures."""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from hornbook.commits.commit import commit_at
from hornbook.commits.git import blobs, commit, once, prefix_of, run, whereabouts
from hornbook.disk import locked, temporary_folder
from hornbook.errors import UsageError

NAME, MAIL = "Hornbook", "hornbook@localhost"
# Nothing that the repository or the user configured may run, ask or wait while we write.
_QUIET = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
    "submodule.recurse": "false",
}
_ALONE = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
}
_MERGES_FROM = (2, 38)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Commits that cannot be merged by themselves: the paths that a person must decide."""

    commits: tuple[str, ...]
    paths: tuple[str, ...]
    message: str
    tree: str
    """Both sides of them: what could be merged is, and the paths have marks in them."""


def write(
    root: Path,
    *arguments: str,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """Run git, and give what it printed.

    Raises:
        UsageError: Git refused; nothing else was tried.
    """
    answer = attempt(root, *arguments, stdin=stdin, environment=environment)
    if answer.returncode:
        said = answer.stderr.decode("utf-8", "replace").strip() or f"exit {answer.returncode}"
        raise UsageError(f"git {arguments[0]} failed in {root}: {said}")
    return answer.stdout


def attempt(
    root: Path,
    *arguments: str,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[bytes]":
    """Run git, and give how it ended."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    options = [part for key, value in _QUIET.items() for part in ("-c", f"{key}={value}")]
    return subprocess.run(
        ["git", *options, "-C", str(root), *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        env={**inherited, **_ALONE, **(environment or {})},
    )


_COMMITTER: ContextVar[Mapping[str, str] | None] = ContextVar("committer", default=None)


@contextmanager
def committing_as(known: Mapping[str, str]) -> Iterator[None]:
    """Make commits as somebody: several machines that make the same commit make it by one name."""
    token = _COMMITTER.set(known)
    try:
        yield
    finally:
        _COMMITTER.reset(token)


def identity(root: Path) -> Mapping[str, str]:
    """Who commits: whom somebody said, else whom the user configured, else Hornbook."""
    return _COMMITTER.get() or _identity(root)


def _identity(root: Path) -> dict[str, str]:
    said = {"name": NAME, "email": MAIL}
    for key, value in configured(root):
        if key.startswith("user.") and value.strip():
            said[key.removeprefix("user.")] = value.strip()
    return {
        f"GIT_{part}_{key.upper()}": value
        for key, value in said.items()
        for part in ("AUTHOR", "COMMITTER")
    }


_CONFIGURED = r"^(user\.(name|email)|filter\..*\.(clean|smudge|process))$"


def configured(root: Path) -> tuple[tuple[str, str], ...]:
    """Who the user is and which filters there are; of equal keys the last one counts."""
    return once(root, ("configured", *_changed(root)), lambda: tuple(_asked(root)))


def _asked(root: Path) -> Iterator[tuple[str, str]]:
    for entry in run(root, "config", "-z", "--get-regexp", _CONFIGURED).stdout.split(b"\0"):
        key, _, value = entry.decode("utf-8", "replace").partition("\n")
        if key:
            yield key, value


def _changed(root: Path) -> Iterator[int]:
    """When the files were last written that say so as a rule."""
    everybodys = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    ours = whereabouts(root).common / "config"
    for each in (ours, Path.home() / ".gitconfig", Path(everybodys, "git", "config")):
        yield each.stat().st_mtime_ns if each.exists() else 0


def keep_blob(root: Path, data: bytes) -> str:
    """The hash of an object with these bytes, which the repository now has.

    Raises:
        UsageError: Git refused.
    """
    printed = write(root, "hash-object", "-w", "--no-filters", "--stdin", stdin=data)
    return printed.decode("ascii").strip()


def _trailer_line(key: str, value: str) -> str:
    stripped = value.strip()
    if not stripped or stripped != value or "\n" in value or not key.replace("-", "").isalnum():
        raise UsageError(f"trailer {key}: {value!r} does not stand on one line: shorten it.")
    return f"{key}: {value}"


def make_commit(
    root: Path,
    tree: str,
    parents: Sequence[str],
    message: str,
    *,
    trailers: Iterable[tuple[str, str]] = (),
    when: str | None = None,
) -> str:
    """The hash of a new commit; no branch and no file changes.

    The same arguments give the same commit when `when`, a date that git reads, is given or there
    is a parent, whose date is taken.

    Raises:
        UsageError: A trailer does not stand on one line, or git refused.
    """
    lines = [_trailer_line(key, value) for key, value in trailers]
    whole = message.strip() + "\n" + ("\n" + "\n".join(lines) + "\n" if lines else "")
    date = when or max((_date(root, each) for each in parents), default=None)
    dates = {} if date is None else {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    above = [part for parent in parents for part in ("-p", parent)]
    printed = write(
        root,
        "commit-tree",
        tree,
        *above,
        "-F",
        "-",
        stdin=whole.encode(),
        environment={**identity(root), **dates},
    )
    return printed.decode("ascii").strip()


def sibling(root: Path, revision: str, path: str, data: bytes) -> str:
    """The hash of a commit like another one, but for the bytes of one file that it has.

    Parents, author, dates and message are the same; only a signature is not, since it would not
    hold. No branch, no index and no file changes.

    Raises:
        UsageError: The commit has no such file, or git refused.
    """
    found = commit_at(root, revision)
    if path not in found.files:
        raise UsageError(f"{found.sha[:12]} has no file {path}: name one that it has.")
    blob = keep_blob(root, data)
    with temporary_folder("index") as place:
        environment = {"GIT_INDEX_FILE": str(place / "index")}
        write(root, "read-tree", found.sha, environment=environment)
        entry = f"{found.modes[path]} {blob}\t{prefix_of(root)}{path}\0"
        named = ("update-index", "-z", "--index-info")
        write(root, *named, stdin=os.fsencode(entry), environment=environment)
        tree = write(root, "write-tree", environment=environment).strip()
    header, _, message = blobs(root, [found.sha])[found.sha].partition(b"\n\n")
    kept = _unsigned(header.split(b"\n"))
    whole = b"\n".join([b"tree " + tree, *kept]) + b"\n\n" + message
    made = write(root, "hash-object", "-t", "commit", "-w", "--stdin", stdin=whole)
    return made.decode("ascii").strip()


def _unsigned(header: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a commit's header behind its tree, without those of a signature."""
    signature = False
    for line in header:
        signature = line.startswith(b"gpgsig") or (signature and line.startswith(b" "))
        if not signature and not line.startswith(b"tree "):
            yield line


def _date(root: Path, revision: str) -> str:
    """The date of a commit in a form that sorts: seconds since 1970, padded."""
    return f"@{commit_at(root, revision).seconds:012d} +0000"


def merged(root: Path, commits: Sequence[str]) -> str | Conflict:
    """One commit that holds all of these: one of them if it does, else a merge in memory.

    The order does not matter, and the same commits give the same merge.

    Raises:
        UsageError: One of them is no commit, or git is too old.
    """
    known = sorted({commit(root, each) for each in commits})
    if not known:
        raise UsageError("no commit was given to build on: name at least one.")
    heads = known
    if len(known) > 1:
        heads = sorted(write(root, "merge-base", "--independent", *known).decode("ascii").split())
    whole = heads[0]
    for head in heads[1:]:
        found = merged_tree(root, whole, head)
        if isinstance(found, Conflict):
            return found
        whole = make_commit(root, found, (whole, head), f"Merge {head[:12]} into {whole[:12]}")
    return whole


def merged_tree(root: Path, ours: str, theirs: str) -> str | Conflict:
    """The tree of two commits merged; no file is touched.

    Raises:
        UsageError: They have no common ancestor, or git is too old for it.
    """
    answer = attempt(root, "merge-tree", "--write-tree", "--name-only", "-z", ours, theirs)
    printed = answer.stdout.decode("utf-8", "surrogateescape").split("\0")
    if answer.returncode == 0:
        return printed[0].strip()
    if answer.returncode == 1 and len(printed) > 1:
        paths = tuple(sorted(set(printed[1 : printed.index("")])))
        words = f"{ours[:12]} and {theirs[:12]} both change {', '.join(paths)}"
        return Conflict((ours, theirs), paths, words, printed[0].strip())
    said = answer.stderr.decode("utf-8", "replace").strip()
    wanted = ".".join(map(str, _MERGES_FROM))
    raise UsageError(
        f"git cannot merge {ours[:12]} and {theirs[:12]}: {said} (git {wanted} or newer is needed)"
    )


def move_branch(root: Path, branch: str, to: str, before: str | None) -> None:
    """Let a branch that is ours alone point at a commit, if it still points where it did.

    `before` is None for a branch that is to be made. A lock that a killed process of ours left is
    taken away first, so that only one process may be here at a time.

    Raises:
        UsageError: It points elsewhere by now, is checked out somewhere, or git refused.
    """
    if is_checked_out(root, branch):
        raise UsageError(f"{branch} is checked out: switch to another branch, it is Hornbook's.")
    name = f"refs/heads/{branch}"
    lock = common_folder(root) / f"{name}.lock"
    lock.unlink(missing_ok=True)
    write(root, "update-ref", "-m", "hornbook", name, to, before or "0" * len(to))


def name_commit(root: Path, name: str, commit: str, before: str | None = None) -> None:
    """Give a commit a name of ours, whatever had it, or with `before` only if that had it.

    Locks that a killed process of ours left beside it are taken away.

    Raises:
        UsageError: It had another commit, or git refused.
    """
    with alone(root, "names"):
        for left in (common_folder(root) / name).parent.glob("*.lock"):
            left.unlink(missing_ok=True)
        write(root, "update-ref", name, commit, *([] if before is None else [before]))


@contextmanager
def alone(root: Path, over: str) -> Iterator[None]:
    """One process at a time does this to a repository; a killed one holds nobody up."""
    folder = common_folder(root) / "hornbook"
    folder.mkdir(exist_ok=True)
    with locked(folder / over):
        yield


def is_checked_out(root: Path, branch: str) -> bool:
    """Whether somebody works on a branch, in whichever worktree."""
    listed = write(root, "worktree", "list", "--porcelain").decode("utf-8", "replace")
    return f"branch refs/heads/{branch}" in listed.splitlines()


def branch_tip(root: Path, branch: str) -> str | None:
    """The commit that a branch points at; none if there is no such branch."""
    answer = run(root, "rev-parse", "--verify", "-q", f"refs/heads/{branch}^{{commit}}")
    return answer.stdout.decode("ascii").strip() or None


def common_folder(root: Path) -> Path:
    """The git folder that all worktrees of the repository share.

    Raises:
        UsageError: The root is in no repository.
    """
    return whereabouts(root).common
