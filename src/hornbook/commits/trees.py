"""Files as a tree and trees as files, without touching the user's index."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hornbook.commits.commit import commit_at
from hornbook.commits.git import require_success, run, whereabouts
from hornbook.commits.writer import configured
from hornbook.disk import temporary_folder

# What tools keep beside the sources: no part of a change unless it is tracked.
KEPT_BESIDE = (
    "**/.hornbook/.gitignore",
    "**/.hornbook/canaries/",
    "**/.hornbook/logs/",
    "**/.hornbook/secret",
    "**/.hornbook/tokens",
    "**/.hornbook/tokens.*",
    "**/.hornbook/store/",
    "**/.hornbook/objects/",
    "**/.hornbook/worktrees/",
    ".mypy_cache/",
    ".nox/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".tox/",
    ".venv/",
    "__pycache__/",
    "*.pyc",
    "node_modules/",
    "venv/",
)
_LARGE_FILES = frozenset(
    f"git-lfs {each}"
    for each in (
        "clean -- %f",
        "smudge -- %f",
        "smudge --skip -- %f",
        "filter-process",
        "filter-process --skip",
    )
)
DEPENDENCIES = frozenset({".venv", "venv", "node_modules", "vendor", ".tox", ".nox", ".yarn"})


@dataclass(frozen=True, slots=True)
class Content:
    """What the files on disk are: the tree's hash, and the environment in which git can read it."""

    tree: str
    environment: Mapping[str, str]


@contextmanager
def content(root: Path, made_by_gates: Callable[[str], bool]) -> Iterator[Content]:
    """The tree of the files as they are, committed or not; git can read it inside the block.

    Ignored files are no part of it, nor are untracked ones that gates make. Objects go to a
    temporary folder: the repository stays as it is.

    Raises:
        UsageError: Git cannot read the repository.
    """
    top = top_of(root)
    below = root.resolve().relative_to(top).as_posix()
    prefix = "" if below == "." else below + "/"
    with temporary_folder("content") as folder:
        own = folder / "objects"
        own.mkdir()
        environment = {
            "GIT_INDEX_FILE": str(folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(own),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(whereabouts(root).objects),
            "GIT_LITERAL_PATHSPECS": "1",
            **without_filters(root),
        }
        if run(top, "rev-parse", "--verify", "-q", "HEAD").returncode == 0:
            require_success(top, run(top, "read-tree", "HEAD", environment=environment))
            require_success(top, run(top, "add", "-u", ".", environment=environment))
        beside = [f"--exclude={pattern}" for pattern in KEPT_BESIDE]
        listed = ("ls-files", "-z", "--others", "--exclude-standard", *beside)
        untracked = require_success(top, run(top, *listed, environment=environment)).stdout.split(
            b"\0"
        )
        wanted = [name for name in untracked if name and not _made(name, prefix, made_by_gates)]
        if wanted:
            add = ("add", "--pathspec-from-file=-", "--pathspec-file-nul")
            require_success(top, run(top, *add, stdin=b"\0".join(wanted), environment=environment))
        tree = require_success(top, run(top, "write-tree", environment=environment)).stdout
        yield Content(tree.decode("ascii").strip(), environment)


def without_filters(root: Path) -> Mapping[str, str]:
    """An environment in which git takes and makes files as they are.

    A filter could pass off other bytes as theirs, and one such as `python -m NAME` or `./NAME` runs
    what lies in the very folder that git works in, also where git only writes its index. Only large
    files still have theirs, which git holds pointers of.
    """
    off = {}
    for key, value in configured(root):
        if key.startswith("filter.") and value not in _LARGE_FILES:
            off[key] = ""
            off[f"{key.rpartition('.')[0]}.required"] = "false"
    found = {"GIT_CONFIG_COUNT": str(len(off))} if off else {}
    for number, (key, value) in enumerate(off.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def ignored_beside(root: Path, made_by_gates: Callable[[str], bool]) -> tuple[str, ...]:
    """Ignored files and folders that gates would see and no commit has, by their paths.

    Dependencies, caches of tools, what gates make and our own files are not among them.
    """
    options = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    answer = require_success(root, run(root, *options))
    kept = {pattern.rstrip("/") for pattern in KEPT_BESIDE} | DEPENDENCIES
    found = []
    for name in answer.stdout.split(b"\0"):
        path = os.fsdecode(name)
        parts = path.rstrip("/").split("/")
        own = ".hornbook" in parts or path.endswith(".pyc") or not kept.isdisjoint(parts)
        if path and not own and not any(map(made_by_gates, (path.rstrip("/"), path))):
            found.append(path)
    return tuple(sorted(found))


def unignored_beside(root: Path) -> tuple[str, ...]:
    """The names of caches and dependencies that lie here untracked, and that git would add."""
    answer = require_success(root, run(root, "ls-files", "-z", "--others", "--exclude-standard"))
    folders = {pattern for pattern in KEPT_BESIDE if "*" not in pattern}
    found = set()
    for name in answer.stdout.split(b"\0"):
        parts = {f"{part}/" for part in os.fsdecode(name).split("/")[:-1]}
        found |= folders & parts
    return tuple(sorted(found))


def _made(name: bytes, prefix: str, made_by_gates: Callable[[str], bool]) -> bool:
    path = os.fsdecode(name)
    return path.startswith(prefix) and made_by_gates(path.removeprefix(prefix))


def top_of(root: Path) -> Path:
    """The top folder of the repository that the root lies in.

    Raises:
        UsageError: There is none.
    """
    return whereabouts(root).top


def tree_of(root: Path, revision: str) -> str:
    """The hash of a commit's tree."""
    return commit_at(root, revision).tree


def _quoted(path: Path) -> str:
    """A path in a list of git's, where `:` separates."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@contextmanager
def copy_of(
    root: Path, tree: str, *, commit: str | None = None, made: Content | None = None
) -> Iterator[Path]:
    """A temporary folder with the files of a tree; yields where the root is in it.

    It is a repository of its own that borrows the objects of ours, with HEAD at `commit`.
    Dependencies that lie ignored in the work tree, such as `.venv` and `node_modules`, are linked
    into it. `made` is the content that the tree came from, when it is not in the repository.

    Raises:
        UsageError: Git cannot make the files.
    """
    own = whereabouts(root)
    top = own.top
    below = root.resolve().relative_to(top)
    with temporary_folder("tree") as place:
        folder = place / top.name
        folder.mkdir()
        kind = own.object_format
        require_success(folder, run(folder, "init", "-q", "--template=", f"--object-format={kind}"))
        inside = folder / ".git"
        borrowed = [own.objects]
        if made is not None:
            borrowed.append(Path(made.environment["GIT_OBJECT_DIRECTORY"]))
        (inside / "objects" / "info").mkdir(exist_ok=True)
        lines = "".join(f"{each}\n" for each in borrowed)
        (inside / "objects" / "info" / "alternates").write_text(lines, encoding="utf-8")
        shallow = own.objects.parent / "shallow"
        if shallow.exists():
            shutil.copy(shallow, inside / "shallow")
        if commit is not None:
            _stand_at(folder, commit)
        make = ("read-tree", "--reset", "-u", tree)
        require_success(folder, run(folder, *make, environment=without_filters(root)))
        link_dependencies(top, folder)
        start = folder / below
        start.mkdir(parents=True, exist_ok=True)
        yield start


def _stand_at(folder: Path, commit: str) -> None:
    """Have HEAD of a repository that was just made name a commit; a file says so, as a rule."""
    inside = folder / ".git"
    if (inside / "reftable").exists():
        require_success(folder, run(folder, "update-ref", "--no-deref", "HEAD", commit))
    else:
        (inside / "HEAD").write_text(f"{commit}\n", encoding="ascii")


def link_dependencies(top: Path, folder: Path) -> None:
    """Link dependencies that lie ignored in a work tree into another folder of the same files."""
    beside = [f"--exclude={name}/" for name in sorted(DEPENDENCIES)]
    options = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    answer = require_success(top, run(top, *options, *beside))
    for name in answer.stdout.split(b"\0"):
        path = os.fsdecode(name)
        if path.endswith("/") and Path(path).name in DEPENDENCIES:
            link = folder / path.rstrip("/")
            if not link.exists() and link.parent.is_dir():
                link.symlink_to(top / path.rstrip("/"), target_is_directory=True)
