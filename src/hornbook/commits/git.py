"""Asks git: what is ignored, what a commit holds.

While an `operation` is open, git is asked each thing once. That is safe for what is kept here: an
object never changes under its name, and a folder does not move to another repository while a
command works in it. What can change, such as branches and files on disk, is asked every time.
"""

import os
import re
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

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
    # A clone that left objects out would fetch them, by whatever program its settings name.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}
_FULL_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MOST_FACTS = 512
"""How many answers of git an operation keeps; beyond that the oldest is forgotten."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GitObject:
    """An object of a repository: its full name, what it is, and its bytes."""

    name: str
    kind: str
    data: bytes


class Operation:
    """What git said of a repository during one piece of work, and the git that reads its objects.

    It may be asked from several threads. The process is started with the first object and ends
    with the operation, or with us: it reads from a pipe that only we hold.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._facts: OrderedDict[Hashable, object] = OrderedDict()
        self._deciding = threading.RLock()
        self._reading = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What was computed for a key; an error is not kept."""
        with self._deciding:
            if key not in self._facts:
                self._facts[key] = compute()
                if len(self._facts) > _MOST_FACTS:
                    self._facts.popitem(last=False)
            self._facts.move_to_end(key)
            return cast("T", self._facts[key])  # the key says what it is

    def forget(self, name: str) -> None:
        """Let go of what was computed from an object."""
        with self._deciding:
            for key in [key for key in self._facts if isinstance(key, tuple) and name in key]:
                del self._facts[key]

    def read(self, name: str) -> GitObject | None:
        """The object that a name means; None if git cannot give it, for whatever reason."""
        with self._reading:
            try:
                return self._read(name)
            except (OSError, ValueError):
                self._stop()  # it ended over a damaged object: whoever asks alone is told why
                return None

    def close(self) -> None:
        """End the process and forget everything."""
        with self._reading:
            self._stop()
        with self._deciding:
            self._facts.clear()

    def _read(self, name: str) -> GitObject | None:
        if self._process is None:
            self._process = subprocess.Popen(
                _command(self._root, "cat-file", "--batch"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        asked, told = self._process.stdin, self._process.stdout
        if asked is None or told is None:
            raise TypeError("git cat-file has no pipes")
        asked.write(f"{name}\n".encode())
        asked.flush()
        head = told.readline()
        if not head.endswith(b"\n"):
            raise ValueError(name)
        facts = head.split()
        if len(facts) != 3:
            return None
        size = int(facts[2])
        data = told.read(size + 1)
        if len(data) != size + 1:
            raise ValueError(name)
        return GitObject(facts[0].decode("ascii"), facts[1].decode("ascii"), data[:size])

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


_OPEN: dict[str, tuple[Operation, int]] = {}
_OPENING = threading.Lock()


@contextmanager
def operation(root: Path) -> Iterator[Operation]:
    """Keep what git says of a repository until the block ends; blocks of one root are one."""
    place = os.path.realpath(root)
    with _OPENING:
        found, users = _OPEN.get(place, (None, 0))
        held = found or Operation(root)
        _OPEN[place] = (held, users + 1)
    try:
        yield held
    finally:
        with _OPENING:
            users = _OPEN[place][1] - 1
            if users:
                _OPEN[place] = (held, users)
            else:
                del _OPEN[place]
        if not users:
            held.close()


def once(root: Path, key: Hashable, compute: Callable[[], T]) -> T:
    """What the open operation knows under a key, computed the first time; else computed."""
    held = _held(root)
    return compute() if held is None else held.once(key, compute)


def _held(root: Path) -> Operation | None:
    if not _OPEN:
        return None
    return _OPEN.get(os.path.realpath(root), (None, 0))[0]


def is_full_name(revision: str) -> bool:
    """Whether a revision is the full name of an object, which means the same for ever."""
    return _FULL_NAME.fullmatch(revision) is not None


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
    return subprocess.run(
        _command(root, *arguments),
        input=stdin,
        capture_output=True,
        check=False,
        env=_environment(environment),
    )


def started(root: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """Git as `run` starts it, whose output is read while it works; to be ended by the caller."""
    return subprocess.Popen(
        _command(root, *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    )


def _command(root: Path, *arguments: str) -> list[str]:
    return ["git", *_SAFE, "-C", str(root), *arguments]


def _environment(ours: Mapping[str, str] | None = None) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {**inherited, **_PLAINLY, **(ours or {})}


def surely_outside(root: Path) -> bool:
    """Whether no folder above holds a repository, so that git need not be asked.

    A bare repository has no `.git`, but its own HEAD.
    """
    here = root.resolve()
    above = (here, *here.parents)
    return not any((each / ".git").exists() or (each / "HEAD").exists() for each in above)


def inside_repository(root: Path) -> bool:
    """Whether the folder lies in a git work tree."""
    if surely_outside(root):
        return False
    try:
        answer = run(root, "rev-parse", "--is-inside-work-tree")
    except FileNotFoundError:
        return False
    return answer.stdout.strip() == b"true"


def ignored(root: Path, paths: Sequence[str]) -> frozenset[str]:
    """Those of the paths that git ignores; none outside a repository."""
    if not paths or surely_outside(root):
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


def ignore_settings(root: Path) -> tuple[Path, ...]:
    """The files that decide what git ignores, beside each `.gitignore` below the root.

    The index is one of them, since git ignores nothing that it follows already. Outside a
    repository there are none.
    """
    if surely_outside(root):
        return ()
    asked = ("--show-toplevel", "--git-path", "info/exclude", "--git-path", "index")
    try:
        answer = run(root, "rev-parse", *asked)
    except FileNotFoundError:
        return ()
    said = os.fsdecode(answer.stdout).split("\n")
    if answer.returncode or len(said) != 4:
        return ()
    top, exclude, index = (root / each for each in said[:3])
    named = run(root, "config", "--type=path", "--get", "core.excludesFile").stdout
    usual = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config", "git", "ignore").expanduser()
    for_all = root / os.fsdecode(named).removesuffix("\n") if named else usual
    above = [each / ".gitignore" for each in root.parents if each.is_relative_to(top)]
    return (*above, exclude, index, for_all)


def commit(root: Path, revision: str) -> str:
    """The full hash of the commit that a revision names.

    Raises:
        UsageError: There is no repository, or no such commit in it.
    """
    if is_full_name(revision):
        return once(root, ("name", revision), lambda: _commit_named(root, revision))
    return _resolved(root, revision)


def _commit_named(root: Path, name: str) -> str:
    held = _held(root)
    found = held.read(name) if held is not None else None
    return name if found is not None and found.kind == "commit" else _resolved(root, name)


def _resolved(root: Path, revision: str) -> str:
    try:
        answer = run(root, "rev-parse", "--verify", "--end-of-options", revision + "^{commit}")
    except FileNotFoundError:
        raise UsageError("git is not on PATH: install it to judge at a commit.") from None
    if answer.returncode:
        raise UsageError(_no_commit(root, revision, answer.stderr.decode("utf-8", "replace")))
    return answer.stdout.decode("ascii").strip()


_GIT_FIRST = "ask without it, or `git init` and commit"
_COMMIT = "ask without it, or `git commit` first"


def _no_commit(root: Path, revision: str, said: str) -> str:
    if run(root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
        return (
            f"{revision!r} names no commit in {root}, which is a shallow clone: "
            "`git fetch --unshallow` brings the rest of its history."
        )
    if "dubious ownership" in said:
        return (
            f"{root} belongs to another user, so git reads no commit of it: "
            f"`git config --global --add safe.directory {root}` has git trust it."
        )
    if run(root, "rev-parse", "--git-dir").returncode:
        return f"{root} is in no git repository, so {revision!r} names no commit: {_GIT_FIRST}."
    if run(root, "rev-parse", "--verify", "HEAD^{commit}").returncode:
        return f"Nothing is committed yet in {root}, so {revision!r} names no commit: {_COMMIT}."
    return f"{revision!r} names no commit in {root} ({_plain(said)}): see `git log`."


def is_commit(root: Path, revision: str) -> bool:
    """Whether a revision names a commit."""
    asked = ("rev-parse", "--verify", "-q", "--end-of-options", revision + "^{commit}")
    return run(root, *asked).returncode == 0


def has_commit(root: Path, name: str) -> bool:
    """Whether the repository has the commit of a full name, as a shallow clone may not."""
    held = _held(root)
    if held is not None and (found := held.read(name)) is not None:
        return found.kind == "commit"
    return run(root, "cat-file", "-e", f"{name}^{{commit}}").returncode == 0


def is_ancestor(root: Path, older: str, newer: str) -> bool:
    """Whether a commit is another one, or lies before it."""
    if older == newer and is_full_name(older):
        return True
    return run(root, "merge-base", "--is-ancestor", older, newer).returncode == 0


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """What a commit has at a path, from the top of the repository: git's mode and object."""

    path: str
    mode: str
    blob: str

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == "120000"

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.mode.startswith("100")


def entries_of(
    root: Path, tree: str, environment: Mapping[str, str] | None = None
) -> tuple[TreeEntry, ...]:
    """Everything that a commit or tree holds, in git's order.

    Raises:
        UsageError: The repository cannot tell: an object is missing or damaged.
    """
    if environment is None and is_full_name(tree):
        return once(root, ("entries", tree), lambda: _listed(root, tree, None))
    return _listed(root, tree, environment)


def remember_entries(root: Path, tree: str, entries: tuple[TreeEntry, ...]) -> None:
    """Let the open operation know what a commit holds, in git's order, so that it need not ask."""
    once(root, ("entries", tree), lambda: entries)


def _listed(root: Path, tree: str, environment: Mapping[str, str] | None) -> tuple[TreeEntry, ...]:
    asked = ("ls-tree", "-r", "-z", "--full-tree", tree)
    return _entries(require_success(root, run(root, *asked, environment=environment)).stdout)


def _entries(listing: bytes) -> tuple[TreeEntry, ...]:
    found = []
    for line in _split(listing):
        facts, _, path = line.partition("\t")
        mode, _, blob = facts.split(" ")
        found.append(TreeEntry(path, mode, blob))
    return tuple(found)


def files_at(
    root: Path, revision: str, environment: Mapping[str, str] | None = None
) -> Mapping[str, str]:
    """Path to blob for every regular file of a commit, or tree, below the root.

    Raises:
        UsageError: The repository cannot tell: an object is missing or damaged.
    """
    if environment is None and is_full_name(revision) and _held(root) is not None:
        return once(root, ("files", revision), lambda: _files_below(root, revision))
    answer = require_success(
        root, run(root, "ls-tree", "-r", "-z", revision, environment=environment)
    )
    return {each.path: each.blob for each in _entries(answer.stdout) if each.is_file}


def _files_below(root: Path, tree: str) -> Mapping[str, str]:
    below = prefix_of(root)
    if not below:
        return {each.path: each.blob for each in entries_of(root, tree) if each.mode[:3] == "100"}
    return {
        each.path.removeprefix(below): each.blob
        for each in entries_of(root, tree)
        if each.is_file and each.path.startswith(below)
    }


def blobs(
    root: Path, names: Iterable[str], environment: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """The contents of some blobs, read in one go.

    Raises:
        UsageError: One of them is missing.
    """
    wanted = list(dict.fromkeys(names))
    found = _blobs_held(root, wanted) if environment is None else {}
    left = [name for name in wanted if name not in found]
    if left:
        found |= _blobs_alone(root, left, environment)
    return {name: found[name] for name in wanted}


def _blobs_held(root: Path, wanted: Iterable[str]) -> dict[str, bytes]:
    """Those that the open operation can read; what it cannot is asked for by itself."""
    held = _held(root)
    if held is None:
        return {}
    read = ((name, held.read(name)) for name in wanted)
    return {name: found.data for name, found in read if found is not None}


def _blobs_alone(
    root: Path, wanted: Sequence[str], environment: Mapping[str, str] | None
) -> dict[str, bytes]:
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
            raise UsageError(_lacks(root, name))
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
            raise UsageError(_lacks(root, name))
        found[name] = int(facts[2])
    return found


def require_success(
    root: Path, answer: subprocess.CompletedProcess[bytes]
) -> subprocess.CompletedProcess[bytes]:
    """The answer of a git that succeeded; a failure is never read as an empty answer."""
    if answer.returncode:
        raise UsageError(
            _failure(root, answer.stderr.decode("utf-8", "replace"), answer.returncode)
        )
    return answer


_MISSING = re.compile(r"(?:unable to read|missing|could not fetch)\D*?\b([0-9a-f]{40,64})\b")


def _failure(root: Path, said: str, code: int) -> str:
    """What git failed over, in a sentence; its hints are for those who called it themselves."""
    missing = _MISSING.search(said)
    if missing is not None:
        return _lacks(root, missing[1])
    told = _plain(said)
    return f"git cannot read {root}: {told or f'it ended with {code}'}."


def _plain(said: str) -> str:
    """What git says, without its hints."""
    lines = [
        line.strip() for line in said.splitlines() if not line.startswith(("hint:", "warning:"))
    ]
    return "; ".join(filter(None, lines)).removeprefix("fatal: ").rstrip(".")


def _lacks(root: Path, name: str) -> str:
    return (
        f"{root} lacks the object {name}, as a clone does that is partial or damaged: "
        "`git fetch --refetch --no-filter` brings what is missing, `git fsck` lists it."
    )


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where the repository of a folder lies, and where it keeps its things."""

    top: Path
    common: Path
    objects: Path
    object_format: str
    prefix: str


_WHERE = (
    "--show-toplevel",
    "--git-common-dir",
    "--git-path objects",
    "--show-object-format",
    "--show-prefix",
)


def whereabouts(root: Path) -> Whereabouts:
    """Where the repository of a folder lies.

    Raises:
        UsageError: There is none, or it has no files.
    """
    return once(root, "whereabouts", lambda: _located(root))


def _located(root: Path) -> Whereabouts:
    together = [part for asked in _WHERE for part in asked.split(" ")]
    lines = _place_said(root, *together).split("\n")
    if len(lines) != len(_WHERE):  # a path with a line break in it: ask for each by itself
        lines = [_place_said(root, *asked.split(" ")) for asked in _WHERE]
    top, common, objects, kind, prefix = lines
    return Whereabouts(
        Path(top).resolve(), (root / common).resolve(), (root / objects).resolve(), kind, prefix
    )


def prefix_of(root: Path) -> str:
    """The path of a folder from the top of its repository, with a slash; empty at the top.

    Raises:
        UsageError: It is in none.
    """
    return whereabouts(root).prefix


def _place_said(root: Path, *asked: str) -> str:
    answer = require_success(root, run(root, "rev-parse", *asked))
    return os.fsdecode(answer.stdout).removesuffix("\n")


def replacements(root: Path, common: Path) -> bytes:
    """The objects that stand in the place of others, as `refs/replace/NAME OBJECT` lines.

    Git is asked only where there may be any.
    """
    packed = common / "packed-refs"
    none = (
        not (common / "reftable").exists()
        and not (common / "refs" / "replace").exists()
        and not (packed.is_file() and b" refs/replace/" in packed.read_bytes())
    )
    asked = ("for-each-ref", "--format=%(refname) %(objectname)", "refs/replace/")
    return b"" if none else run(root, *asked).stdout


def _joined(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _split(data: bytes) -> list[str]:
    return [os.fsdecode(part) for part in data.split(b"\0") if part]
