"""Files that are gone soon: each says whose it is, and those of the dead are taken away."""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

PREFIX = "hornbook-"
STALE = 3600.0
"""Seconds before a folder of a process that is not known here is nobody's: /tmp may be shared."""


@contextmanager
def temporary_folder(what: str, inside: Path | None = None) -> Iterator[Path]:
    """A folder that is gone afterwards; if we are killed, the next who wants one removes it."""
    place = Path(tempfile.gettempdir()) if inside is None else inside
    sweep(place)
    name = f"{PREFIX}{what}-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=name, dir=place, ignore_cleanup_errors=True) as made:
        yield Path(made).resolve()


def sweep(folder: Path, older_than: float = STALE) -> None:
    """Remove temporary folders of ours whose process died before it could."""
    for place in folder.glob(f"{PREFIX}*-*-*"):
        owner = place.name.split("-")[2]
        try:
            facts = place.lstat()
            old = time.time() - facts.st_mtime >= older_than
            mine = facts.st_uid == os.getuid() and place.is_dir() and not place.is_symlink()
        except OSError:
            continue  # others sweep too
        if old and mine and not _lives(owner):
            shutil.rmtree(place, ignore_errors=True)


def draft_of(path: Path) -> Path:
    """A name beside a file under which it is written before it takes its place.

    What processes left that were killed while they wrote the same file is removed.
    """
    with suppress(FileNotFoundError):
        _remove_dead(path.parent.glob(f".{_escaped(path.name)}.*.draft"))
    return path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.draft")


def sweep_drafts(folder: Path) -> None:
    """Remove the drafts below a folder of processes that died while they wrote."""
    _remove_dead(sorted(folder.rglob(".*.draft")))


def _remove_dead(drafts: Iterable[Path]) -> None:
    for draft in drafts:
        if not _lives(draft.name.split(".")[-2].partition("-")[0]):
            draft.unlink(missing_ok=True)


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _lives(owner: str) -> bool:
    """Whether a process of this number runs; one that is not ours does as well."""
    try:
        os.kill(int(owner), 0)
    except (ProcessLookupError, OverflowError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def write_whole(path: Path, data: bytes, mode: int = 0o644, *, durable: bool = True) -> None:
    """Give the file these bytes and this mode; the folders above it are made.

    What can be made again need not be durable: then a crash may leave the old bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def now() -> str:
    """The time, as events carry it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
