"""The journal: what ingests saw happen to documents, one JSON line each, append-only.

It lies beside the past texts in `.hornbook/objects/` and is the truth of a document's history;
the graph's history is its projection.
"""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from hornbook.disk import rename_settled, settle
from hornbook.errors import NotFound, StoreError
from hornbook.graph.ingest.report import HistoryLine
from hornbook.rules.catalog import Removed, Revision
from hornbook.rules.code.file import unencoded_id
from hornbook.rules.document import revision_id

INCOMING = "incoming"


class Happened(StrEnum):
    """What an ingest saw."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    FOLLOWED = "followed"


@dataclass(frozen=True, slots=True)
class DocumentEvent:
    """One line of the journal. `FOLLOWED` says that a folder or file was named to ingest.

    `large` says that the text is larger than is read, so that it is not kept.
    """

    event: Happened
    path: str
    at: str
    id: str = ""
    sha256: str = ""
    formerly: str | None = None
    formerly_revision: str | None = None
    large: str | None = None

    @property
    def line(self) -> bytes:
        """The event as it stands in the file."""
        fields = {key: value for key, value in asdict(self).items() if value}
        return json.dumps(fields, ensure_ascii=False, sort_keys=True).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Past:
    """What the journal says of one document id."""

    revisions: tuple[Revision, ...] = ()
    formerly: tuple[str, ...] = ()
    removed: Removed | None = None
    current: str | None = None
    path: str = ""


class Journal:
    """The journal file of a workspace."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def size(self) -> int:
        """How many bytes the journal has; 0 when there is none."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, start: int = 0) -> Iterator[DocumentEvent]:
        """Every whole event from a byte offset on; a torn last line is no event.

        Raises:
            StoreError: A line in the middle is not an event.
        """
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            before = file.read(start).count(b"\n") if start else 0
            for number, line in enumerate(file, before + 1):
                if line.endswith(b"\n"):
                    yield self._event(line, number)

    def naming(self, document_id: str) -> Iterator[DocumentEvent]:
        """Every whole event in whose line an id stands; other lines are not read.

        An id that JSON or an older release may have written otherwise is looked for everywhere.

        Raises:
            StoreError: Such a line is not an event.
        """
        if not _PLAIN.fullmatch(document_id) or not self.path.exists():
            yield from self.read()
            return
        data, needle = self.path.read_bytes(), document_id.encode()
        at = data.find(needle)
        while at >= 0 and (end := data.find(b"\n", at)) >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            yield self._event(data[start : end + 1], data.count(b"\n", 0, start) + 1)
            at = data.find(needle, end)

    def append(self, events: Iterable[DocumentEvent]) -> int:
        """Write events and wait until the disk has them; the new size."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            _drop_torn_line(file.fileno())
            file.seek(0, os.SEEK_END)
            for event in events:
                file.write(event.line)
            file.flush()
            os.fsync(file.fileno())
            return file.tell()

    def digest(self, before: str, start: int, end: int) -> str:
        """The hash over every line up to a place, from the one of all lines before `start`."""
        found = before
        if end > start:
            with self.path.open("rb") as file:
                file.seek(start)
                for line in file.read(end - start).splitlines(keepends=True):
                    found = sha256(found.encode() + line).hexdigest()
        return found

    def _event(self, line: bytes, number: int) -> DocumentEvent:
        try:
            fields = json.loads(line)
            texts = {key: _text(value) for key, value in fields.items()}
            texts |= {key: unencoded_id(texts[key]) for key in _IDS & texts.keys()}
            return DocumentEvent(event=Happened(texts.pop("event")), **texts)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            raise StoreError(
                f"{self.path}, line {number}: not a journal event ({problem}): "
                "remove the line to go on without that piece of history."
            ) from problem


_PLAIN = re.compile(r"(?!code\.)[a-z0-9.-]+")
_IDS = {"id", "formerly", "formerly_revision"}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _drop_torn_line(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    keep = size
    while keep and os.pread(descriptor, 1, keep - 1) != b"\n":
        keep -= 1
    if keep != size:
        os.ftruncate(descriptor, keep)


def project(past: Past, event: DocumentEvent) -> Past:
    """What is known of a document after one more event of its id."""
    if event.event is Happened.REMOVED:
        return Past(
            revisions=_ended(past, event.at),
            removed=Removed(event.id, event.path, event.at),
            path=event.path,
        )
    begun = Revision(
        id=revision_id(event.id, event.sha256),
        document_id=event.id,
        sha256=event.sha256,
        path=event.path,
        began=() if arrives(past, event) else (event.at,),
        derived_from=_origins(past, event),
    )
    if begun.id == past.current:
        begun = replace(begun, began=(), derived_from=())
        before = past.revisions
    else:
        before = _ended(past, event.at)
    return Past(
        revisions=_with(before, begun),
        formerly=_sorted(past.formerly, (event.formerly,) if event.formerly else ()),
        current=begun.id,
        path=event.path,
    )


def arrives(past: Past, event: DocumentEvent) -> bool:
    """Whether the event is a document's plain arrival, which says nothing about the past."""
    return not past.revisions and event.event is Happened.ADDED and event.formerly is None


def _origins(past: Past, event: DocumentEvent) -> tuple[str, ...]:
    return _sorted(
        (past.current,) if past.current else (),
        (event.formerly_revision,) if event.formerly_revision else (),
    )


def _ended(past: Past, at: str) -> tuple[Revision, ...]:
    return tuple(
        replace(each, ended=_sorted(each.ended, (at,))) if each.id == past.current else each
        for each in past.revisions
    )


def _with(revisions: tuple[Revision, ...], begun: Revision) -> tuple[Revision, ...]:
    same = next((each for each in revisions if each.id == begun.id), None)
    if same is None:
        return tuple(sorted((*revisions, begun), key=lambda each: each.id))
    merged = replace(
        same,
        path=begun.path,
        began=_sorted(same.began, begun.began),
        derived_from=_sorted(same.derived_from, begun.derived_from),
    )
    return tuple(merged if each is same else each for each in revisions)


def _sorted(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({*one, *other}))


def chained(chain: str, past: Past, event: DocumentEvent) -> str:
    """The hash over all events that shape history; a document's plain arrival does not."""
    if arrives(past, event):
        return chain
    return sha256(chain.encode() + event.line).hexdigest()


class Objects:
    """The folder that keeps every text that was ever ingested.

    What an ingest keeps lies in `incoming` first, which only the holder of the writer's lock
    touches. `settle` gives it its names, once the disk has it: no hash leads to half a text.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._incoming = folder / INCOMING
        self._drafts: dict[str, Path] = {}

    def path(self, digest: str) -> Path:
        """Where the text with this hash lies."""
        return self.folder / digest[:2] / digest[2:]

    def keep(self, digest: str, data: bytes) -> None:
        """Store a text; one that is there already is left alone."""
        try:
            if digest in self._drafts or self.path(digest).stat().st_size == len(data):
                return
        except FileNotFoundError:
            pass
        if not self._drafts:
            shutil.rmtree(self._incoming, ignore_errors=True)  # of a writer that was killed
            self._incoming.mkdir(parents=True)
        draft = self._incoming / digest
        draft.write_bytes(data)
        self._drafts[digest] = draft

    def settle(self) -> None:
        """Have the disk keep the texts that came, under their names: events are about to say so."""
        if not self._drafts:
            return
        named = {self.path(digest): draft for digest, draft in self._drafts.items()}
        folders = {path.parent for path in named}
        for folder in folders:
            folder.mkdir(exist_ok=True)
        settle(self.folder)
        rename_settled(named)
        self._drafts.clear()
        self._incoming.rmdir()

    def read(self, digest: str) -> bytes:
        """The text with this hash.

        Raises:
            NotFound: It is not kept here, or what is kept is damaged.
        """
        try:
            data = self._drafts.get(digest, self.path(digest)).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"no text with sha256 {digest} in {self.folder}.") from None
        if sha256(data).hexdigest() != digest:
            raise NotFound(f"{self.path(digest)} is damaged: its sha256 is another one.")
        return data


def document_history(journal: Path, document_id: str) -> list[HistoryLine]:
    """What happened to a document, oldest first.

    Raises:
        NotFound: Nothing ever had this id.
    """
    events = [
        event
        for event in Journal(journal).naming(document_id)
        if event.id == document_id and event.event is not Happened.FOLLOWED
    ]
    if not events:
        raise NotFound(
            f"{document_id!r} has no history: "
            "`hornbook query --text '{ entities { id } }'` lists what is there."
        )
    return [
        HistoryLine(
            at=event.at,
            event=event.event,
            path=event.path,
            revision=revision_id(event.id, event.sha256),
            sha256=event.sha256,
            formerly=event.formerly,
        )
        for event in events
    ]
