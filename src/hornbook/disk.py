"""The one way to write a file, to lock one, and to write down a time.

A file is written under another name and takes its place when it is whole. Drafts and temporary
folders say whose they are, and those of the dead are taken away.
"""

import errno
import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

PREFIX = "hornbook-"
STALE = 3600.0
"""Seconds before a folder of a process that is not known here is nobody's: /tmp may be shared."""


@dataclass(frozen=True, slots=True)
class FileFault:
    """A file that is not as it was written: what is wrong with it, and what helps."""

    code: str
    path: str
    message: str
    remedy: str


_ROOM = "free some room on that disk"
_RIGHTS = "ask who owns it for the right, or run as its owner"
_FILES = "close programs or raise the limit (`ulimit -n`)"
_REMEDIES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "raise the limit of a file's size (`ulimit -f`)",
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENOMEM: "free some memory",
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: "mount that disk writable",
    errno.EIO: "check that disk (`dmesg` says more)",
}


def remedy_of(problem: BaseException) -> str | None:
    """What helps against an error of the disk, of a limit or of rights; None if it is none.

    Libraries that are not Python's say such errors in the words of the system only.
    """
    if isinstance(problem, OSError) and problem.errno is not None:
        return _REMEDIES.get(problem.errno)
    said = str(problem)
    return next((help_ for code, help_ in _REMEDIES.items() if os.strerror(code) in said), None)


@contextmanager
def temporary_folder(what: str, inside: Path | None = None) -> Iterator[Path]:
    """A folder that is gone afterwards; if we are killed, the next who wants one removes it."""
    import tempfile  # noqa: PLC0415  # start-up: most commands make no folder

    place = Path(tempfile.gettempdir()) if inside is None else inside
    sweep(place)
    name = f"{PREFIX}{what}-{os.getpid()}-"
    made = Path(tempfile.mkdtemp(prefix=name, dir=place))
    try:
        yield made.resolve()
    finally:
        with suppress(OSError):  # what cannot be removed now is swept up later
            remove_tree(made)


def read_left(folder: Path, path: Path | str, most: int) -> bytes:
    """The bytes of a file below a folder that a program which is not ours may have left there.

    A pipe would have us wait for ever, a link to a device never end, one to elsewhere read that.

    Raises:
        ValueError: It is no plain file below the folder, or has more bytes than `most`.
        OSError: It cannot be read.
    """
    place = (folder / path).resolve(strict=True)
    if not place.is_relative_to(folder.resolve()):
        raise ValueError("it lies elsewhere")
    with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no plain file")
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"it has more than {most} bytes")
    return data


def remove_tree(folder: Path) -> None:
    """Remove a folder that somebody else filled, however deep it is and whoever may enter it.

    What lies too deep has no path that the kernel takes: folders are moved up until none holds
    another. Links are removed, never followed.
    """
    import uuid  # noqa: PLC0415  # start-up: most commands remove no folder

    folder.chmod(0o700)
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    mark, number = uuid.uuid4().hex, 0
    try:
        while folders := _emptied(top):
            for name in folders:
                inner = _entered(name, top)
                try:
                    for below in _emptied(inner):
                        number += 1
                        os.close(_entered(below, inner))  # so that it may be moved
                        os.rename(below, f"{mark}-{number}", src_dir_fd=inner, dst_dir_fd=top)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    folder.rmdir()


def _entered(name: str, above: int) -> int:
    """A folder in another one, open, and its owner's to write."""
    os.chmod(name, 0o700, dir_fd=above)  # pathlib knows no open folders
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)


def _emptied(folder: int) -> list[str]:
    """The folders in an open one, from which all else was removed."""
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        if not is_folder:
            os.unlink(name, dir_fd=folder)  # as above
    return [name for name, is_folder in found if is_folder]


def is_temporary(path: Path) -> bool:
    """Whether a path is a temporary folder of ours, by its name."""
    return path.match(f"{PREFIX}*-*-*")


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
            with suppress(OSError):
                remove_tree(place)


def draft_of(path: Path) -> Path:
    """A name beside a file under which it is written before it takes its place.

    What processes left that were killed while they wrote the same file is removed.
    """
    with suppress(FileNotFoundError):
        _remove_dead(path.parent.glob(f".{_escaped(path.name)}.*.draft"))
    return _own_draft(path)


def _own_draft(path: Path) -> Path:
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


def write_whole(
    path: Path, data: bytes, mode: int | None = None, *, durable: bool = True, sweeps: bool = True
) -> None:
    """Give a file these bytes so that it has the old ones or the new ones, whatever happens.

    The folders above it are made; without a mode it gets the usual one. What can be made again
    need not be durable: then a crash of the machine may leave the old bytes. Where a folder has
    very many files, looking for drafts of the dead costs more than they do: then none is swept.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = draft_of(path) if sweeps else _own_draft(path)
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if mode is not None:
            draft.chmod(mode)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def append_whole(path: Path, data: bytes) -> None:
    """Add bytes to the end of a file and have the disk keep them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def settle(path: Path) -> None:
    """Wait until the disk has a file, or a folder's list of names."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def settle_below(folder: Path) -> None:
    """Wait until the disk has every file below a folder, and the names of all of them."""
    for above, _, names in os.walk(folder):
        for name in names:
            settle(Path(above, name))
        settle(Path(above))


def rename_settled(drafts: Mapping[Path, Path]) -> None:
    """Give drafts (the values) their names (the keys), once the disk has their bytes.

    A name never leads to bytes that a loss of power could take away, and when this returns the
    disk has the names as well.
    """
    _settle_all(list(drafts.values()))
    for path, draft in drafts.items():
        draft.replace(path)
    _settle_all(sorted({path.parent for path in drafts}))


MANY = 64
"""From so many files on it is quicker to have the disk keep all that it has."""


def _settle_all(paths: list[Path]) -> None:
    """Wait until the disk has these, which lie on one file system."""
    if len(paths) < MANY or not sync_file_system(paths[0]):
        for path in paths:
            settle(path)


def sync_file_system(inside: Path) -> bool:
    """Wait until the disk has all of the file system that a path lies on; False if it cannot."""
    import ctypes  # noqa: PLC0415  # start-up: only large ingests need it

    call = getattr(ctypes.CDLL(None), "syncfs", None)
    if call is None:
        return False
    handle = os.open(inside, os.O_RDONLY)
    try:
        return bool(call(handle) == 0)
    finally:
        os.close(handle)


def lock(path: Path, *, shared: bool = False, wait: bool = True, create: bool = True) -> int | None:
    """A handle that holds a lock on a file until it is closed; None if others hold it meanwhile.

    The system lets go of the lock when the process ends, however it ends, so that nobody has to
    clean up after the dead. Of one process, each handle is another holder.

    Raises:
        FileNotFoundError: There is no such file and none is to be made.
    """
    flags = os.O_RDONLY if shared else os.O_RDWR
    handle = os.open(path, flags | os.O_CREAT if create else flags, 0o644)
    try:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(handle, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except BaseException:
        os.close(handle)
        raise
    return handle


@contextmanager
def locked(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Be the only one who holds a lock; `waiting` is called once if another has to finish first."""
    handle = lock(path, wait=waiting is None)
    if handle is None:
        if waiting is not None:
            waiting()
        handle = lock(path)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def now() -> str:
    """The time, as events carry it."""
    return to_milliseconds(datetime.now(UTC))


def to_milliseconds(moment: datetime) -> str:
    """A time in UTC as events carry it: `2026-01-31T12:00:00.000Z`."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_seconds(moment: datetime) -> str:
    """A time in UTC as records carry it: `2026-01-31T12:00:00Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def canonical_time(moment: datetime) -> str:
    """A time in UTC as a store gives it back: without zeros that say nothing."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".") + "Z"
