"""Makes the extracts of the next generation: what is new is written, the rest is shared."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from hornbook.graph.extracts import (
    ENCODER,
    HEAD,
    PLACE,
    PLACES,
    Places,
    Segment,
    extract,
    read_places,
)
from hornbook.graph.store import sound

MOST_SEGMENTS = 12
PIECE = 8 * 1024 * 1024


class ExtractWriter:
    """Makes the extracts of the next generation from those of the last one and what is new."""

    def __init__(self, folder: Path, base: Path | None, before: Sequence[str]) -> None:
        """`base` has the extracts of the documents `before`, in this order; None if there are none.

        Raises:
            StoreError: They are damaged.
        """
        self._folder = folder
        self._ids = tuple(before)
        self._base = base
        folder.mkdir()
        self._before = Places((), b"")
        if base is not None:
            with suppress(FileNotFoundError):  # a store of an older make has none
                self._before = read_places(base)
        self._number = 1 + max((each.number for each in self._before.segments), default=0)
        self._made: dict[str, tuple[int, int]] = {}
        self._size = 0
        self._waiting: list[bytes] = []
        self._waiting_size = 0

    def add(self, document_id: str, statements: Iterable[str]) -> None:
        """Take what is written into the graph of a document."""
        data = extract(statements, document_id)
        self._made[document_id] = (len(data), self._size)
        self._size += len(data)
        self._waiting_size += len(data)
        self._waiting.append(data)
        if self._waiting_size > PIECE:
            self._write()

    def _write(self) -> None:
        """Write what waits; a file that stayed open would outlive a writer that fails."""
        with (self._folder / str(self._number)).open("ab") as file:
            file.write(b"".join(self._waiting))
            _settle(file)
        self._waiting, self._waiting_size = [], 0

    def finish(self, after: Sequence[str]) -> None:
        """Write where the extract of each document lies, in the order of the new catalog.

        Raises:
            StoreError: An extract from before is gone.
        """
        self._write()
        records = self._records(tuple(after))
        live = _live(records)
        segments = [
            Segment(each.number, each.size, live.get(each.number, 0))
            for each in (*self._before.segments, Segment(self._number, self._size, 0))
        ]
        kept = [each for each in segments if each.live]
        if not live.get(self._number):
            (self._folder / str(self._number)).unlink()
        with sound():
            for each in kept:
                if self._base is not None and each.number != self._number:
                    _link(self._base / str(each.number), self._folder / str(each.number))
        merged = _to_merge(kept)
        if merged:
            kept = [each for each in kept if each not in merged]
            kept.append(self._merge(records, {each.number for each in merged}))
        head = ENCODER.encode(tuple(kept))
        with (self._folder / PLACES).open("wb") as file:
            file.write(HEAD.pack(len(head)) + head + bytes(records))
            _settle(file)

    def _records(self, after: tuple[str, ...]) -> bytearray:
        width, old, before = PLACE.size, self._before.records, self._ids
        if len(old) != len(before) * width:  # nothing was extracted before
            before, old = (), b""
        if before == after:
            records = bytearray(old)
        else:
            where = {each: place * width for place, each in enumerate(before)}
            none = PLACE.pack(0, 0, 0)
            records = bytearray().join(
                old[where[each] : where[each] + width] if each in where else none for each in after
            )
        for place, each in enumerate(after) if self._made else ():
            if each in self._made:
                length, offset = self._made[each]
                PLACE.pack_into(records, place * width, self._number, length, offset)
        return records

    def _merge(self, records: bytearray, numbers: set[int]) -> Segment:
        """Copy what is still asked for out of some segments into one."""
        number = self._number + 1
        sources = {each: (self._folder / str(each)).open("rb") for each in numbers}
        with (self._folder / str(number)).open("wb") as file:
            for place, (segment, length, offset) in enumerate(PLACE.iter_unpack(records)):
                if length and segment in sources:
                    sources[segment].seek(offset)
                    PLACE.pack_into(records, place * PLACE.size, number, length, file.tell())
                    file.write(sources[segment].read(length))
            size = file.tell()
            _settle(file)
        for each, source in sources.items():
            source.close()
            (self._folder / str(each)).unlink()
        return Segment(number, size, size)


def _live(records: bytearray) -> dict[int, int]:
    found: dict[int, int] = {}
    for segment, length, _ in PLACE.iter_unpack(records):
        found[segment] = found.get(segment, 0) + length
    return found


def _to_merge(segments: Sequence[Segment]) -> list[Segment]:
    """The small ones when there are many; all of them when half of the bytes are dead."""
    size, live = sum(each.size for each in segments), sum(each.live for each in segments)
    if size > 2 * live:
        return list(segments)
    if len(segments) <= MOST_SEGMENTS:
        return []
    largest = max(segments, key=lambda each: each.size)
    small = [each for each in segments if each is not largest]
    return small if 2 * sum(each.size for each in small) < largest.size else list(segments)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        target.write_bytes(source.read_bytes())


def _settle(file: BinaryIO) -> None:
    """Have the disk keep a file."""
    file.flush()
    os.fsync(file.fileno())
