"""Writes a file all at once: a reader sees the old bytes or the new ones."""

import os
import tempfile
from pathlib import Path


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
