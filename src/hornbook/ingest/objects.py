"""Past texts, content-addressed: `.hornbook/objects/<first two>/<rest of the sha256>`."""

import os
from hashlib import sha256
from pathlib import Path

from hornbook.errors import NotFound


class Objects:
    """The folder that keeps every text that was ever ingested."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: set[str] = set()

    def path(self, digest: str) -> Path:
        """Where the text with this hash lies."""
        return self.folder / digest[:2] / digest[2:]

    def keep(self, digest: str, data: bytes) -> None:
        """Store a text; one that is there already is left alone."""
        parent = self.folder / digest[:2]
        if digest[:2] not in self._made:
            parent.mkdir(parents=True, exist_ok=True)
            self._made.add(digest[:2])
        target = parent / digest[2:]
        try:
            if target.stat().st_size == len(data):
                return
        except FileNotFoundError:
            pass
        draft = parent / f"{digest[2:]}.{os.getpid()}.new"
        draft.write_bytes(data)
        draft.replace(target)

    def settle(self, digests: list[str]) -> None:
        """Wait until the disk has these texts: their files are about to be forgotten."""
        for digest in digests:
            try:
                descriptor = os.open(self.path(digest), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def read(self, digest: str) -> bytes:
        """The text with this hash.

        Raises:
            NotFound: It is not kept here, or what is kept is damaged.
        """
        try:
            data = self.path(digest).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"no text with sha256 {digest} in {self.folder}.") from None
        if sha256(data).hexdigest() != digest:
            raise NotFound(f"{self.path(digest)} is damaged: its sha256 is another one.")
        return data
