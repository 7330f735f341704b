"""Reads documents for their names first and for their text when they are written."""

import os
from hashlib import file_digest
from pathlib import Path

from hornbook.errors import NotFound, StoreError
from hornbook.ingest.objects import Objects
from hornbook.ingest.readers.protocol import Reading
from hornbook.ingest.reading import read as read_document
from hornbook.workspace.building import too_large
from hornbook.workspace.planning import Facts, Work
from hornbook.workspace.settings import Settings
from hornbook.workspace.survey import HEAD_OF_LARGE, Contents

# How many bytes of files may wait in memory; beyond that they are read again when written.
KEPT_BYTES = 256_000_000


class Readings:
    """Reads documents once for their names and once more, if memory is short, for their text."""

    def __init__(
        self, root: Path, settings: Settings, objects: Objects, contents: Contents
    ) -> None:
        self._root = root
        self._settings = settings
        self._objects = objects
        self._contents = contents
        self._room = KEPT_BYTES
        self._kept: dict[str, Reading] = {}

    def facts(self, path: str) -> Facts:
        """What decides the id and links of a document."""
        data = self._contents.read[path]
        reading = self._read(path, data)
        self._room -= len(data)
        self._contents.read[path] = b""
        if self._room > 0 or path in self._contents.truncated:
            self._kept[path] = reading
        return Facts(path, self._contents.digests[path], reading.desired_id, reading.links)

    def take(self, work: Work) -> Reading:
        """The reading of a document that is to be written."""
        kept = self._kept.pop(work.path, None)
        if kept is not None:
            return kept
        try:
            return self._read(work.path, self._objects.read(work.sha256))
        except NotFound:
            return self._from_file(work)

    def _from_file(self, work: Work) -> Reading:
        """The reading of a file whose text is not kept, or kept wrongly."""
        with (self._root / work.path).open("rb") as file:
            large = os.fstat(file.fileno()).st_size > self._settings.largest_file
            digest = file_digest(file, "sha256").hexdigest()
            file.seek(0)
            data = file.read(HEAD_OF_LARGE) if large else file.read()
        if digest != work.sha256:
            raise StoreError(f"{work.path} changed while it was read: run `hornbook ingest` again.")
        if large:
            self._contents.truncated.add(work.path)
        return self._read(work.path, data)

    def _read(self, path: str, data: bytes) -> Reading:
        reading = read_document(path, data)
        if path in self._contents.truncated:
            return too_large(reading, self._settings.largest_file)
        return reading
