"""Finds the files to read: walks folders, leaves out what is no source."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

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
    LINK = 1
    OTHER = 2
    SHUT = 3
    """A folder that cannot be read: what lies below it is not known."""


class FoundFile(NamedTuple):
    """A file that may be read, as the file system shows it."""

    path: str
    size: int
    modified: int
    changed: int = 0
    kind: FileKind = FileKind.FILE


def walk(root: Path, start: str, wanted: Callable[[str, str], bool]) -> Iterator[FoundFile]:
    """Every wanted file below `start` (a path relative to the root, "" for the root itself).

    `wanted` is asked with the relative path and the bare name. Links are found, not followed.
    """
    pending = [start]
    base = str(root)
    while pending:
        folder = pending.pop()
        prefix = f"{folder}/" if folder else ""
        plans = f"/{PLANS}" in f"/{prefix}"
        try:
            entries = os.scandir(f"{base}/{folder}" if folder else base)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            yield FoundFile(folder, 0, 0, kind=FileKind.SHUT)
            continue
        with entries:
            for entry in entries:
                name = entry.name
                path = prefix + name
                if entry.is_dir(follow_symlinks=False):
                    if _entered(path, name):
                        pending.append(path)
                elif (
                    # What else lies with a plan follows from its events.
                    (not plans or name in PLAN_FILES)
                    and wanted(path, name)
                    and (found := _found(path, entry)) is not None
                ):
                    yield found


def _found(path: str, entry: "os.DirEntry[str]") -> FoundFile | None:
    try:
        facts = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(facts.st_mode):
        return FoundFile(path, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    kind = FileKind.LINK if stat.S_ISLNK(facts.st_mode) else FileKind.OTHER
    return FoundFile(path, 0, 0, kind=kind)


def _entered(path: str, name: str) -> bool:
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
    return all(_entered("/".join(folders[: n + 1]), name) for n, name in enumerate(folders))


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


def in_path_order(found: Iterable[FoundFile]) -> dict[str, FoundFile]:
    """The files by path, sorted, each once."""
    by_path = {each.path: each for each in found}
    return {path: by_path[path] for path in sorted(by_path)}
