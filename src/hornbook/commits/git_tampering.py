"""What decides how git behaves, as hashes: to see whether someone tampered with it."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from hornbook.commits.git import replacements, run
from hornbook.commits.writer import common_folder

Seal = Mapping[str, str]
"""For each place its hash; a place that is not there is not in it."""

_FILES = ("config", "info/attributes", "info/exclude", "info/grafts", "objects/info/alternates")
_OF_A_WORKTREE = ("commondir", "gitdir", "config.worktree")


def seal(root: Path, administration: Path | None = None, pointer: Path | None = None) -> Seal:
    """Hashes of the repository's configuration and hooks, and of what makes a worktree one.

    `administration` is the worktree's folder below `.git/worktrees`, `pointer` its `.git` file.

    Raises:
        UsageError: The root is in no repository.
    """
    common = common_folder(root)
    found: dict[str, str] = {}
    for name, path in sealed_places(common).items():
        found |= _hashed(name, path)
    replaced = replacements(root, common)
    if replaced:
        found["refs/replace"] = sha256(replaced).hexdigest()
    if administration is not None:
        for name in _OF_A_WORKTREE:
            found |= _hashed(f"worktree/{name}", administration / name)
    if pointer is not None:
        found |= _hashed("worktree/.git", pointer)
    return found


def sealed_places(common: Path) -> dict[str, Path]:
    """The files below git's folder that decide how it behaves, by name; some may not be there."""
    hooks = {f"hooks/{path.name}": path for path in sorted(_below(common / "hooks"))}
    return {name: common / name for name in _FILES} | hooks


def broken(before: Seal, after: Seal) -> tuple[str, ...]:
    """What is different, in words."""
    return tuple(
        f"{name} was {'removed' if name not in after else 'changed' if name in before else 'added'}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def _below(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from folder.iterdir()


def _hashed(name: str, path: Path) -> dict[str, str]:
    """The hash of a file's kind, mode and bytes."""
    if path.is_symlink():
        return {name: sha256(b"link " + str(path.readlink()).encode()).hexdigest()}
    if path.is_dir():
        return {name: "folder"}
    if not path.is_file():
        return {}
    mode = f"{path.stat().st_mode & 0o777:o} ".encode()
    return {name: sha256(mode + path.read_bytes()).hexdigest()}


_OURS_ASIDE = (".", ":(exclude).hornbook")
_RULES_ASIDE = (*_OURS_ASIDE, ":(exclude).semspec")
_MOST_PATCHES = 50


def fingerprint(root: Path) -> str | None:
    """A hash of what the work tree holds: the commit, what differs from it, and new files.

    Files that git ignores and our own do not count. None outside a repository, or before its
    first commit.
    """
    try:
        head = run(root, "rev-parse", "--verify", "HEAD^{tree}")
    except FileNotFoundError:
        return None
    if head.returncode != 0:
        return None
    digest = sha256(head.stdout)
    plain = ("--binary", "--no-ext-diff", "--no-textconv")
    digest.update(run(root, "diff", "HEAD", *plain, "--", *_OURS_ASIDE).stdout)
    new = run(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *_OURS_ASIDE).stdout
    names = sorted(name for name in new.split(b"\0") if name)
    digest.update(new)
    hashed = run(root, "hash-object", "--no-filters", "--stdin-paths", stdin=b"\n".join(names))
    digest.update(hashed.stdout)
    return digest.hexdigest()


def patches(root: Path) -> dict[str, str]:
    """What differs from HEAD, file by file in path order; our own files and new ones aside."""
    try:
        listing = ("--name-only", "--relative", "--no-renames", "-z")
        named = run(root, "diff", "HEAD", *listing, "--", *_RULES_ASIDE)
    except FileNotFoundError:
        return {}
    if named.returncode != 0:
        return {}
    paths = sorted(name.decode("utf-8", "surrogateescape") for name in named.stdout.split(b"\0"))
    plain = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--relative")
    found = {}
    for path in filter(None, paths[: _MOST_PATCHES + 1]):
        shown = run(root, "diff", "HEAD", *plain, "--", f":(literal){path}")
        found[path] = shown.stdout.decode("utf-8", "replace")
    return found
