"""Which files were seen when: lets an ingest skip what did not change without reading it."""

import os
import time
from pathlib import Path

import msgspec

from hornbook.ingest.discover import Found

# A file that changes again within this time of our look may keep its time stamp.
_RACY = 2_000_000_000


class Seen(msgspec.Struct):
    """Sizes, times and hashes of files, as of the moment `looked`."""

    looked: int = 0
    files: dict[str, tuple[int, int, int, str]] = {}

    def digest(self, found: Found) -> str | None:
        """The hash that the file had when it was read, if it cannot have changed since."""
        entry = self.files.get(found.path)
        if entry is None or max(found.modified, found.changed) + _RACY > self.looked:
            return None
        same = entry[:3] == (found.size, found.modified, found.changed)
        return entry[3] if same else None


def load(path: Path) -> Seen:
    """What was seen, or nothing if that is not known."""
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=Seen)
    except (OSError, msgspec.MsgspecError):
        return Seen()


def now() -> int:
    """The moment before a look at the files begins."""
    return time.time_ns()


def save(path: Path, seen: Seen) -> None:
    """Remember what was seen; losing it only costs time."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    draft.write_bytes(msgspec.msgpack.encode(seen))
    draft.replace(path)
