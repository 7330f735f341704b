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
from hornbook.workspace.survey import HEAD_OF_LARGE

# How many bytes of files may wait in memory; beyond that they are read again when written.
KEPT_BYTES = 256_000_000


class Readings:
    """Reads documents once for their names and once more, if memory is short, for their text."""

    def __init__(self, root: Path, settings: Settings, objects: Objects) -> None:
        self._root = root
        self._settings = settings
        self._objects = objects
        self._room = KEPT_BYTES
        self._kept: dict[str, Reading] = {}
        self.facts: dict[str, Facts] = {}

    def note(self, path: str, digest: str, data: bytes, whole: bool) -> None:
        """Keep a text, and note what decides the document's id and links."""
        if whole:
            self._objects.keep(digest, data)
        reading = self._read(path, data, large=not whole)
        self._room -= len(data)
        if self._room > 0 or not whole:
            self._kept[path] = reading
        self.facts[path] = Facts(path, digest, reading.desired_id, reading.links)

    def take(self, work: Work) -> Reading:
        """The reading of a document that is to be written."""
        kept = self._kept.pop(work.path, None)
        if kept is not None:
            return kept
        try:
            return self._read(work.path, self._objects.read(work.sha256), large=False)
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
        return self._read(work.path, data, large=large)

    def _read(self, path: str, data: bytes, *, large: bool) -> Reading:
        reading = read_document(path, data)
        return too_large(reading, self._settings.largest_file) if large else reading
