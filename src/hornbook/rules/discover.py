"""Finds the files to read: walks folders, leaves out what is no source."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from hornbook.rules.links import DiskTree, LinkedFile, Wanted, follow

TEXT_ENDINGS = (".md", ".markdown", ".mdc", ".mdx", ".txt", ".text", ".rst")

SKIPPED_FOLDERS = frozenset(
    {
        ".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "__pycache__", ".tox",
        ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".idea", ".gradle",
        "site-packages", "bower_components", ".terraform", ".next", ".nuxt", ".svelte-kit",
    }
)  # fmt: skip

RECORDS = ".hornbook/records/"

# Of our own state folders only the sources, the records and the plans are documents.
STATE_FOLDERS = (".hornbook", ".semspec")
PLANS = ".hornbook/plans/"
PLAN_FILES = frozenset({"plan.md", "task.yaml"})


class FileKind(Enum):
    """What a path is: only files are read."""

    FILE = 0
    BROKEN = 1
    """A link that leads to nothing that can be read."""
    OTHER = 2
    SHUT = 3
    """A folder that cannot be read: what lies below it is not known."""


class FoundFile(NamedTuple):
    """A file that may be read, as the file system shows it.

    Of a file at a link's place `linked` says where it comes from. An `included` one is read only
    because a rule includes it.
    """

    path: str
    size: int
    modified: int
    changed: int = 0
    kind: FileKind = FileKind.FILE
    linked: LinkedFile | None = None
    included: bool = False

    @property
    def target(self) -> str:
        """The file that a link leads to; empty where there is no link."""
        return self.linked.target if self.linked is not None else ""

    @property
    def real(self) -> str:
        """Where the text lies."""
        return self.target or self.path


def walk(
    root: Path,
    start: str,
    wanted: Callable[[str, str], bool],
    linked_folder: Callable[[str], bool] | None = None,
) -> Iterator[FoundFile]:
    """Every wanted file below `start` (a path relative to the root, "" for the root itself).

    `wanted` is asked with the relative path and the bare name. Links are left out, or, with
    `linked_folder`, followed where their path is that of a wanted file or linked folder.
    """
    links: list[str] = []
    pending = [start]
    while pending:
        folder = pending.pop()
        entries = _entries(root, folder)
        if entries is None:
            yield FoundFile(folder, 0, 0, kind=FileKind.SHUT)
        prefix = f"{folder}/" if folder else ""
        for entry in entries or ():
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entered(path, entry.name):
                    pending.append(path)
            elif entry.is_symlink():
                links.append(path)
            else:
                yield from _found(path, entry, wanted)
    if linked_folder is not None:
        yield from _followed(root, links, Wanted(wanted, linked_folder, entered))


def _entries(root: Path, folder: str) -> "list[os.DirEntry[str]] | None":
    """What lies in a folder; None if it cannot be read."""
    try:
        with os.scandir(f"{root}/{folder}" if folder else root) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        return None


def _followed(root: Path, links: Iterable[str], wanted: Wanted) -> Iterator[FoundFile]:
    tree = DiskTree(root)
    for link in links:
        yield from (found_at(root, each) for each in follow(tree, link, link, wanted))


def _found(
    path: str, entry: "os.DirEntry[str]", wanted: Callable[[str, str], bool]
) -> Iterator[FoundFile]:
    # What else lies with a plan follows from its events.
    if PLANS in path and f"/{PLANS}" in f"/{path}" and entry.name not in PLAN_FILES:
        return
    if not wanted(path, entry.name):
        return
    try:
        facts = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISREG(facts.st_mode):
        yield FoundFile(path, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    else:
        yield FoundFile(path, 0, 0, kind=FileKind.OTHER)


def found_at(root: Path, linked: LinkedFile) -> FoundFile:
    """A file that is read at a link's place; it changed when the link or the file did."""
    if linked.broken:
        return FoundFile(linked.path, 0, 0, kind=FileKind.BROKEN, linked=linked)
    try:
        facts, link = (root / linked.target).stat(), (root / linked.link).lstat()
    except OSError as problem:
        why = f"{linked.target} cannot be read ({problem.strerror})"
        return FoundFile(
            linked.path, 0, 0, kind=FileKind.BROKEN, linked=linked._replace(broken=why)
        )
    return FoundFile(
        linked.path,
        facts.st_size,
        max(facts.st_mtime_ns, link.st_mtime_ns),
        max(facts.st_ctime_ns, link.st_ctime_ns),
        linked=linked,
    )


def included_at(root: Path, path: str, linked: LinkedFile | None) -> FoundFile:
    """A file that is read only because a rule includes it."""
    if linked is not None:
        return found_at(root, linked)._replace(included=True)
    facts = (root / path).stat()
    return FoundFile(path, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, included=True)


def entered(path: str, name: str) -> bool:
    """Whether a folder may hold sources."""
    if name in SKIPPED_FOLDERS:
        return False
    for state in STATE_FOLDERS:
        inside = path.partition(f"{state}/")[2] if f"/{state}/" in f"/{path}" else None
        if inside is not None:
            below = inside.split("/")
            if below[0] == "plans":
                return len(below) <= 2 or (below[2] == "tasks" and len(below) <= 4)
            return below[0] in {"sources", "records"}
    return True


def reached(path: str) -> bool:
    """Whether a walk from the root comes by this path: none of its folders is left out."""
    folders = path.split("/")[:-1]
    return all(entered("/".join(folders[: n + 1]), name) for n, name in enumerate(folders))


def is_text(path: str, name: str) -> bool:
    """Whether a folder that was named to ingest gives this file as a document."""
    if name.endswith(".json"):
        return path.startswith(RECORDS)
    if path.startswith(PLANS):
        return name in PLAN_FILES
    return name.lower().endswith(TEXT_ENDINGS) or name in {
        ".cursorrules",
        ".windsurfrules",
        ".clinerules",
    }


def may_be_rule(path: str, name: str) -> bool:
    """Whether a file that is no text by its ending may still be some tool's rules.

    Roo and Kilo Code read every file in their folders.
    """
    if name.startswith(".") or name.endswith((".json", ".yaml")):
        return True
    place = f"/{path}"
    return "/.roo/" in place or "/.kilo/" in place or "/.kilocode/" in place


def in_path_order(found: Iterable[FoundFile]) -> dict[str, FoundFile]:
    """The files by path, sorted, each once."""
    by_path = {each.path: each for each in found}
    return {path: by_path[path] for path in sorted(by_path)}
