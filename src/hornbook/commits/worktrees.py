"""A worktree for each task: without the rules, always back at its base, and judged by git."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hornbook.commits.change import Touched, touched
from hornbook.commits.content import SUBMODULE
from hornbook.commits.git import commit, entries_of
from hornbook.commits.git_tampering import Seal, seal
from hornbook.commits.trees import (
    DEPENDENCIES,
    KEPT_BESIDE,
    link_dependencies,
    top_of,
    without_filters,
)
from hornbook.commits.writer import common_folder, write
from hornbook.disk import locked, remove_tree, temporary_folder
from hornbook.errors import UsageError

WORKTREES = Path(".hornbook") / "worktrees"
HIDDEN = (".hornbook", ".semspec")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LOCKS = ("index.lock", "HEAD.lock", "ORIG_HEAD.lock", "logs/HEAD.lock")


@dataclass(frozen=True, slots=True)
class Worktree:
    """The worktree of one task: `folder` is where the workspace's root is in it.

    `administration` is what git keeps of it in the repository.
    """

    root: Path
    path: Path
    folder: Path
    administration: Path

    @property
    def environment(self) -> dict[str, str]:
        """For git: this worktree of this repository, whatever its `.git` file says by now."""
        return {
            "GIT_DIR": str(self.administration),
            "GIT_COMMON_DIR": str(self.administration.parents[1]),
            "GIT_WORK_TREE": str(self.path),
            "GIT_NO_REPLACE_OBJECTS": "1",
            **without_filters(self.root),
        }

    def seal(self) -> Seal:
        """Hashes of all that decides how git behaves here."""
        return seal(self.root, self.administration, self.path / ".git")


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What the files of a worktree are, as git sees them: their tree, and what differs from base.

    The rules' folders are no part of it; `intruding` are files that someone put there all the
    same, `nested` repositories inside of the worktree, whose files git does not look into.
    """

    base: str
    tree: str
    files: tuple[Touched, ...]
    intruding: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every touched path, old names of renamed files included."""
        old = {each.before for each in self.files if each.before is not None}
        return tuple(sorted({each.path for each in self.files} | old))


def worktree_place(root: Path, plan: str, task: str) -> Path:
    """Where a task's worktree lies.

    Raises:
        UsageError: A name would lead elsewhere.
    """
    for name in (plan, task):
        if not _NAME.fullmatch(name) or ".." in name:
            raise UsageError(
                f"{name!r} cannot name a worktree: use letters, digits, `.`, `_`, `-`."
            )
    return root.resolve() / WORKTREES / plan / task


def prepare(root: Path, plan: str, task: str, base: str) -> Worktree:
    """The worktree of a task, its files exactly those of `base`, without the rules' folders.

    It may be there already, half made or in any state: the answer is the same.

    Raises:
        UsageError: `base` is no commit, or git refused.
    """
    path = worktree_place(root, plan, task)
    wanted = commit(root, base)
    with _alone(root):
        found = find(root, plan, task)
        if found is None:
            _forget(root, path)
            path.parent.mkdir(parents=True, exist_ok=True)
            add = ("worktree", "add", "--force", "--no-checkout", "--detach")
            write(root, *add, str(path), wanted)
            found = find(root, plan, task)
        if found is None:
            raise UsageError(f"git made no worktree at {path}: run `git worktree prune`.")
    reset(found, wanted)
    return found


def find(root: Path, plan: str, task: str) -> Worktree | None:
    """The worktree of a task, if it is a whole one."""
    path = worktree_place(root, plan, task)
    found = _administration(root, path)
    if found is None or not path.is_dir() or not (found / "HEAD").is_file():
        return None
    if (found / "locked").exists() or not (found / "commondir").is_file():
        return None  # git was cut off while it made it
    below = root.resolve().relative_to(top_of(root))
    return Worktree(root.resolve(), path, path / below, found)


def reset(worktree: Worktree, base: str) -> None:
    """Make the files exactly those of a commit again, whoever was cut off doing what.

    Ignored files go too: what one attempt left must not help or harm the next. Only dependencies
    that lie ignored in the user's own work tree are linked again.
    """
    for name in _LOCKS:
        (worktree.administration / name).unlink(missing_ok=True)
    pointer = worktree.path / ".git"
    _open_up(worktree.path)
    if pointer.is_dir() and not pointer.is_symlink():
        remove_tree(pointer)
    else:
        pointer.unlink(missing_ok=True)
    pointer.write_text(f"gitdir: {worktree.administration}\n", encoding="utf-8")
    _write_sparse(worktree)
    environment = worktree.environment
    sparse = ("-c", "core.sparseCheckout=true", "-c", "core.sparseCheckoutCone=false")
    (worktree.administration / "index").unlink(missing_ok=True)
    if (worktree.administration / "HEAD").read_bytes() != f"{base}\n".encode():
        write(worktree.path, "update-ref", "--no-deref", "HEAD", base, environment=environment)
    _clear(worktree.path)
    write(worktree.path, *sparse, "read-tree", "-m", "-u", base, environment=environment)
    link_dependencies(top_of(worktree.root), worktree.path)


def _write_sparse(worktree: Worktree) -> None:
    patterns = "".join(f"!{name}\n" for name in HIDDEN)
    target = worktree.administration / "info" / "sparse-checkout"
    target.parent.mkdir(exist_ok=True)
    target.write_text("/*\n" + patterns, encoding="utf-8")


def _open_up(folder: Path) -> None:
    """Have us enter and write a folder that was shut."""
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        folder.chmod(0o755)


def _clear(folder: Path) -> None:
    """Remove everything but the pointer; links are removed, never followed."""
    for entry in os.scandir(folder):
        if entry.name == ".git":
            continue
        if entry.is_dir(follow_symlinks=False):
            remove_tree(Path(entry.path))
        else:
            Path(entry.path).unlink()


def change_set(
    worktree: Worktree, base: str, made_by_gates: Callable[[str], bool] | None = None
) -> ChangeSet:
    """What the worktree's files are now, against the commit that the step began with.

    The tree is in the repository afterwards and holds the rules' folders as `base` has them.

    Raises:
        UsageError: Git cannot read the worktree.
    """
    start = commit(worktree.root, base)
    with temporary_folder("index") as place:
        environment = {**worktree.environment, "GIT_INDEX_FILE": str(place / "index")}
        write(worktree.path, "read-tree", start, environment=environment)
        outside = [f":(top,exclude,glob)**/{name}{end}" for name in HIDDEN for end in ("", "/**")]
        submodules = _submodules(worktree, start)
        outside += [f":(top,exclude,literal){each}" for each in submodules]
        write(worktree.path, "add", "-u", "--", ":(top)", *outside, environment=environment)
        if submodules:
            moved = ("update-index", "-z", "--remove", "--stdin")
            write(
                worktree.path,
                *moved,
                stdin=b"\0".join(map(os.fsencode, submodules)),
                environment=environment,
            )
        untracked = _untracked(worktree, environment)
        nested = tuple(path.rstrip("/") for path in untracked if path.endswith("/"))
        wanted = [path for path in untracked if _is_work(worktree, path, made_by_gates)]
        if wanted:
            literal = {**environment, "GIT_LITERAL_PATHSPECS": "1"}
            listed = b"\0".join(map(os.fsencode, wanted))
            add = ("add", "--pathspec-from-file=-", "--pathspec-file-nul")
            write(worktree.path, *add, stdin=listed, environment=literal)
        tree = write(worktree.path, "write-tree", environment=environment).decode("ascii").strip()
    files = touched(worktree.root, start, tree)
    return ChangeSet(start, tree, files, _intruding(worktree.path), nested)


def _submodules(worktree: Worktree, start: str) -> list[str]:
    """The submodules of a commit, which must not be looked into.

    To see whether one is changed, `git add` asks the repository inside of it, and that one may
    have been put there to have git run its filters and monitors.
    """
    return [each.path for each in entries_of(worktree.root, start) if each.mode == SUBMODULE]


def _untracked(worktree: Worktree, environment: dict[str, str]) -> list[str]:
    beside = [f"--exclude={pattern}" for pattern in KEPT_BESIDE]
    listed = ("ls-files", "-z", "--others", "--exclude-standard", *beside)
    printed = write(worktree.path, *listed, environment=environment)
    return [os.fsdecode(name) for name in printed.split(b"\0") if name]


def _is_dependency(worktree: Worktree, path: str) -> bool:
    """Whether it is a link that `reset` made, still leading where it led."""
    place = worktree.path / path
    if place.name not in DEPENDENCIES or not place.is_symlink():
        return False
    return place.readlink() == top_of(worktree.root) / path


def _is_made(worktree: Worktree, path: str, made: Callable[[str], bool] | None) -> bool:
    """Whether a gate makes the file; gates know paths from the workspace's root."""
    place = worktree.path / path
    if made is None or not place.is_relative_to(worktree.folder):
        return False
    return made(place.relative_to(worktree.folder).as_posix())


def _is_hidden(path: str) -> bool:
    return not set(HIDDEN).isdisjoint(path.split("/"))


def _is_work(worktree: Worktree, path: str, made_by_gates: Callable[[str], bool] | None) -> bool:
    """Whether an untracked file is a developer's work, and no nested repository or by-product."""
    return not (
        path.endswith("/")
        or _is_dependency(worktree, path)
        or _is_hidden(path)
        or _is_made(worktree, path, made_by_gates)
    )


def _intruding(path: Path) -> tuple[str, ...]:
    """What lies where the rules would: they were not checked out, so someone wrote it."""
    found: list[str] = []
    for folder, folders, files in os.walk(path):
        here = Path(folder)
        folders[:] = [name for name in folders if name != ".git" and name not in DEPENDENCIES]
        inside = _is_hidden(here.relative_to(path).as_posix())
        # Of what lies too deep for a path, os says that it is no link, where pathlib would raise.
        named = (*files, *(each for each in folders if os.path.islink(here / each)))  # noqa: PTH114  # see above
        wrong = [name for name in named if inside or name in HIDDEN]
        found += ((here / name).relative_to(path).as_posix() for name in wrong)
    return tuple(sorted(found))


def discard(root: Path, plan: str, task: str) -> None:
    """Remove a task's worktree and what git knows of it; none is fine too."""
    path = worktree_place(root, plan, task)
    with _alone(root):
        _forget(root, path)
        if path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()


def listed(root: Path) -> list[tuple[str, str]]:
    """The plan and the task of every worktree that lies here, whole or not."""
    folder = root.resolve() / WORKTREES
    plans = sorted(each for each in folder.glob("*") if each.is_dir())
    return [
        (plan.name, task.name) for plan in plans for task in sorted(plan.iterdir()) if task.is_dir()
    ]


def _forget(root: Path, path: Path) -> None:
    """Take away a worktree's files, then what git has of it: found again if cut off between."""
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)
    while (found := _administration(root, path)) is not None:
        shutil.rmtree(found)


def _administration(root: Path, path: Path) -> Path | None:
    """What git keeps of the worktree at a path, whatever the path's own files say."""
    return next((found for found, where in _ours(root) if where == path), None)


def _ours(root: Path) -> Iterator[tuple[Path, Path]]:
    """Git's folders of the worktrees below ours, with where they lie."""
    mine = root.resolve() / WORKTREES
    folder = common_folder(root) / "worktrees"
    for found in sorted(folder.iterdir()) if folder.is_dir() else ():
        pointer = found / "gitdir"
        if not pointer.is_file():
            continue
        where = Path(os.fsdecode(pointer.read_bytes().strip())).parent
        if where.is_relative_to(mine):
            yield found, where


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """One process at a time makes and removes worktrees here; a killed one holds nobody up."""
    folder = root.resolve() / WORKTREES
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    with locked(folder / ".lock"):
        yield
