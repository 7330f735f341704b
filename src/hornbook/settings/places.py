"""Where a workspace keeps what: below `.hornbook/`, or aside where there is none."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from shutil import rmtree

from hornbook.errors import ConfigError, UsageError

CANARIES = "canaries"
SECRETS_IGNORED = """\
# Secrets of `hornbook serve`.
/secret
/secret.*
/tokens
/tokens.*
"""
IGNORED = f"""\
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
{SECRETS_IGNORED}# What `review canary` planted, which no reviewer may read.
/canaries/
"""


OWNER = "root"
"""The file in a cache folder that says whose things it keeps."""


def relative_to_root(root: Path, file: str, start: Path | None = None) -> str:
    """A path that somebody named, relative to the root: the one function for every door.

    It need not exist. What is not absolute is relative to `start`, else to the root. A root that is
    spelled otherwise, by a link, is the same root.

    Raises:
        UsageError: It lies outside the root, or holds secrets of ours.
    """
    path = Path(os.path.normpath((start or root) / file))
    if not path.is_relative_to(root):
        with suppress(ValueError):  # no file has such a name
            # Not `Path.resolve`, which fails on links that lead to each other.
            path = Path(os.path.realpath(path.parent)) / path.name
    for top in (root, Path(os.path.realpath(root))):
        if path.is_relative_to(top):
            refuse_secret(top, path)
            return path.relative_to(top).as_posix()
    raise UsageError(f"{file!r} leads out of the root: name a path inside it.")


def refuse_folders(root: Path, paths: Iterable[str], at: str | None) -> None:
    """Go on only if no path is a folder's: rules bind files, and an answer would leave out theirs.

    A submodule is a path that changes like a file, and what lies in it is another repository's.
    What a commit has there is not asked.

    Raises:
        UsageError: One is, or lies in another repository.
    """
    for path in paths:
        place = f"{root}/{path}"
        folder = at is None and os.path.isdir(place) and not os.path.exists(f"{place}/.git")  # noqa: PTH110, PTH112  # pathlib fails on names no file can have
        if folder or path in {"", "."}:
            shown = path.strip(".") or "the root"
            raise UsageError(f"{shown} is a folder, and rules bind files: name files in it.")
        other = other_repository(root, path) if at is None else ""
        if other:
            raise UsageError(
                f"{path} lies in {other}, another repository, whose files and rules are not "
                f"this one's: ask there, or with `--root {other}`."
            )


def other_repository(root: Path, path: str) -> str:
    """The folder above a path that is a repository of its own (a submodule), "" if none is."""
    above = PurePosixPath(path).parents
    found = (each.as_posix() for each in above if os.path.lexists(root / each / ".git"))
    return next((each for each in reversed(list(found)) if each != "."), "")


def refuse_secret(root: Path, path: Path) -> None:
    """Go on only if a path holds no secret of ours: nothing that shows a file shows one.

    Raises:
        UsageError: It does.
    """
    for secret in Places(root).secrets:
        if path == secret or secret in path.parents:
            shown = Path(os.path.relpath(secret, root)).as_posix()
            raise UsageError(f"{shown} is never shown: name another file.")


def _tokens_elsewhere(root: Path) -> tuple[Path, ...]:
    """The file of tokens that the settings name, if they name one."""
    config = root / ".hornbook" / "config.yaml"
    try:
        known = config.stat()
    except OSError:
        return ()
    return _configured_tokens(root, config, known.st_ino, known.st_size, known.st_mtime_ns)


@lru_cache(maxsize=16)
def _configured_tokens(root: Path, config: Path, *_version: int) -> tuple[Path, ...]:
    """The same, read once for each version of the file: this is asked for every path."""

    from hornbook.settings.load import load  # noqa: PLC0415  # the same

    try:
        if b"tokens" not in config.read_bytes():
            return ()
        given = load(root).serve.tokens
    except (OSError, ConfigError):  # no server starts with it either
        return ()
    return (Path(os.path.normpath(root / given)), Path(os.path.realpath(root / given)))


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
    def secret(self) -> Path:
        """What whoever works here shows to a server on loopback to write."""
        return self.state / "secret"

    @property
    def secrets(self) -> tuple[Path, ...]:
        """What no agent and no gate may read, and no server may show."""
        files = (self.state / "tokens", *_tokens_elsewhere(self.root))
        tokens = (each for file in files for each in (file, file.with_name(f"{file.name}.used")))
        return (self.canaries, self.secret, *tokens)

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

    def ignore_secrets(self) -> None:
        """The same, and see to it that git ignores secrets, also where it was told before."""
        from hornbook.disk import write_whole  # noqa: PLC0415  # start-up: only this needs it

        self.prepare()
        ignore = self.state / ".gitignore"
        told = ignore.read_text(encoding="utf-8", errors="replace")
        missing = [each for each in SECRETS_IGNORED.splitlines() if each not in told.splitlines()]
        if missing:
            gap = "" if told.endswith("\n") or not told else "\n"
            lines = "".join(f"{each}\n" for each in missing)
            write_whole(ignore, f"{told}{gap}{lines}".encode())

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
