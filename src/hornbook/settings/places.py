"""Where a workspace keeps what: below `.hornbook/`, or aside where there is none."""

import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shutil import rmtree

from hornbook.errors import UsageError

CANARIES = "canaries"
IGNORED = """\
# Written by Hornbook. Local to one machine: the disposable index, past texts, logs. Not committed.
/store/
/objects/
/worktrees/
/spool/
/embedded/
/logs/
/quarantine/
/active.json
*.db
*.db-*
# Secrets of `hornbook serve`.
/tokens
# What `review canary` planted, which no reviewer may read.
/canaries/
"""


OWNER = "root"
"""The file in a cache folder that says whose things it keeps."""


def relative_to_root(root: Path, file: str, start: Path | None = None) -> str:
    """A path that somebody named, relative to the root: the one function for every door.

    It need not exist. What is not absolute is relative to `start`, else to the root. A root that is
    spelled otherwise, by a link, is the same root.

    Raises:
        UsageError: It lies outside the root.
    """
    path = Path(os.path.normpath((start or root) / file))
    if not path.is_relative_to(root):
        with suppress(ValueError):  # no file has such a name
            # Not `Path.resolve`, which fails on links that lead to each other.
            path = Path(os.path.realpath(path.parent)) / path.name
    for top in (root, Path(os.path.realpath(root))):
        if path.is_relative_to(top):
            return path.relative_to(top).as_posix()
    raise UsageError(f"{file!r} leads out of the root: name a path inside it.")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a workspace; with `aside`, index and past texts lie there."""

    root: Path
    aside: Path | None = None

    @property
    def state(self) -> Path:
        """Everything of ours."""
        return self.root / ".hornbook"

    @property
    def store(self) -> Path:
        """The index: disposable."""
        return (self.aside or self.state) / "store"

    @property
    def objects(self) -> Path:
        """Past texts and the journal."""
        return (self.aside or self.state) / "objects"

    @property
    def records(self) -> Path:
        """What Hornbook did, one file each: receipts, reviews, conventions."""
        return self.state / "records"

    @property
    def canaries(self) -> Path:
        """What was planted into reviewers' packets: for no agent to read."""
        return self.state / CANARIES

    @property
    def journal(self) -> Path:
        """What ingests saw happen."""
        return self.objects / "journal.jsonl"

    @property
    def seen(self) -> Path:
        """The sizes and times of the files at the last ingest."""
        return self.store / "seen"

    @property
    def gate_logs(self) -> Path:
        """What gates printed, whole."""
        return self.state / "logs" / "gates"

    def prepare(self) -> None:
        """Make the state folder and keep git away from what is derived."""
        self.state.mkdir(parents=True, exist_ok=True)
        ignore = self.state / ".gitignore"
        if not ignore.exists():
            ignore.write_text(IGNORED, encoding="utf-8")

    def prepare_index(self) -> None:
        """Make the folder that index and past texts lie in."""
        if self.aside is None:
            self.prepare()
            return
        self.aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        said = self.aside / OWNER
        if not said.exists():
            said.write_bytes(os.fsencode(os.path.realpath(self.root)))


def cache_folder(place: Path) -> Path | None:
    """Where the user's cache keeps what belongs to a folder; None if there is no such place."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        cache = named if named.is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # nobody's home
        return None
    return cache / "hornbook" / _cache_name(os.fsencode(os.path.realpath(place)))


def _cache_name(place: bytes) -> str:
    return sha256(place).hexdigest()[:24]


def sweep_cache(cache: Path) -> None:
    """Remove what is kept for folders that are gone."""
    for owner in cache.glob(f"*/{OWNER}"):
        with suppress(OSError):
            place = owner.read_bytes()
            if owner.parent.name == _cache_name(place) and not Path(os.fsdecode(place)).is_dir():
                rmtree(owner.parent)
