"""What the graph says of each document, ready to be read: derived from it and kept beside it.

```
extracts/
  places      where each document's extract lies, in the order of the catalog
  <n>         extracts one after the other, never written again; shared by later generations
```
A store has to look up every term of every statement; a page of entities is read twenty times as
fast from here. An extract is made from the very statements that are written into the graph, in the
same draft, and published with it. What is not here is asked of the graph, which says the same.
"""

import json
import os
import re
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock

import msgspec

from hornbook.errors import HornbookError
from hornbook.graph.statements import XSD, is_ours
from hornbook.graph.store import index_error, translate_store_errors
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import Namespace

Pairs = tuple[tuple[str, str], ...]

FOLDER = "extracts"
PLACES = "places"
PLACE = struct.Struct("<IIQ")  # segment, length, offset; a length of 0 means that it is not here
_DECODER = msgspec.msgpack.Decoder(Pairs)
ENCODER = msgspec.msgpack.Encoder()
HEAD = struct.Struct("<I")
# Times whose spelling by the store is known; others are left to it.
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,18}))?Z\Z")
_INTEGER, _BOOLEAN, _DATE_TIME = (f"^^<{XSD}{each}>" for each in ("integer", "boolean", "dateTime"))


def in_order(pairs: Iterable[tuple[str, str]]) -> Pairs:
    """Our predicates with their values, each once: by predicate, then by number, then by text."""
    return tuple(sorted({pair for pair in pairs if is_ours(*pair)}, key=_order))


def _order(pair: tuple[str, str]) -> tuple[str, int, str]:
    name, text = pair
    number = text.partition(". ")[0] if name == p.REQUIREMENTS.name else ""
    return (name, int(number) if number.isdigit() else 0, text)


def extract(statements: Iterable[str], document_id: str, names: Namespace) -> bytes:
    """What some statements say of the document itself; empty if the store may say it otherwise."""
    start = names.term(document_id) + " "
    pairs = []
    for line in statements:
        if line.startswith(start):
            name, _, term = line[len(start) :].partition(" ")
            text = _text(term, names)
            if text is None:
                return b""
            pairs.append((names.name_of(name[1:-1]), text))
    return ENCODER.encode(in_order(pairs))


def _text(term: str, names: Namespace) -> str | None:
    """A term as the store's answers have it, or None where that is not certain."""
    if term.startswith("<"):
        return names.name_of(term[1:-1])
    if term.endswith('"'):
        found: str = json.loads(term)
        return found
    if term.endswith(_INTEGER):
        text: str = json.loads(term.removesuffix(_INTEGER))
        return text if text == str(int(text)) and abs(int(text)) < 2**63 else None
    if term.endswith(_BOOLEAN):
        return "true" if term.startswith('"true"') else "false"
    if term.endswith(_DATE_TIME):
        return _time(json.loads(term.removesuffix(_DATE_TIME)))
    return None


def _time(text: str) -> str | None:
    """A time as the store spells it, without zeros at its end; None where that is not certain."""
    found = _TIME.match(text)
    if found is None:
        return None
    try:
        datetime.fromisoformat(found[1])
    except ValueError:  # no such day or hour: the store keeps what was written
        return None
    fraction = (found[2] or "").rstrip("0")
    return f"{found[1]}.{fraction}Z" if fraction else f"{found[1]}Z"


class Segment(msgspec.Struct, frozen=True):
    """One file: how many bytes it has, and how many of them are still asked for."""

    number: int
    size: int
    live: int


@dataclass(frozen=True, slots=True)
class ExtractIndex:
    """Where everything lies: a record for each document, in the order of the catalog."""

    segments: tuple[Segment, ...]
    records: bytes

    def at(self, position: int) -> tuple[int, int, int]:
        """The segment, length and offset of a document's extract."""
        found: tuple[int, int, int] = PLACE.unpack_from(self.records, position * PLACE.size)
        return found


def read_places(folder: Path) -> ExtractIndex:
    """Where the extracts in a folder lie.

    Raises:
        StoreError: The file is damaged.
    """
    data = (folder / PLACES).read_bytes()
    try:
        (length,) = HEAD.unpack_from(data)
        start = HEAD.size + length
        segments = msgspec.msgpack.decode(data[HEAD.size : start], type=tuple[Segment, ...])
    except (struct.error, msgspec.MsgspecError) as problem:
        raise _damaged(problem) from problem
    return ExtractIndex(segments, data[start:])


def _damaged(problem: Exception) -> HornbookError:
    return index_error("the index's `extracts`", problem)


class Extracts:
    """The extracts of one generation, for any number of threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._opened: tuple[ExtractIndex, dict[int, int]] | None = None

    def of(self, position: int) -> Pairs | None:
        """What the graph says of the document at a place of the catalog; None if it is not here.

        Raises:
            StoreError: The files are damaged.
        """
        try:
            places, files = self._opened or self._open()
            segment, length, offset = places.at(position)
            if not length:
                return None
            return _DECODER.decode(os.pread(files[segment], length, offset))
        except (OSError, struct.error, msgspec.MsgspecError, KeyError) as problem:
            raise _damaged(problem) from problem

    def _open(self) -> tuple[ExtractIndex, dict[int, int]]:
        with self._lock:
            if self._opened is None:
                places = read_places(self._folder)
                files = {
                    each.number: os.open(
                        self._folder / str(each.number), os.O_RDONLY | os.O_CLOEXEC
                    )
                    for each in places.segments
                }
                self._opened = (places, files)
            return self._opened

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            if self._opened is not None:
                for file in self._opened[1].values():
                    os.close(file)
                self._opened = None


MOST_SEGMENTS = 12
PIECE = 8 * 1024 * 1024


class ExtractWriter:
    """Makes the extracts of the next generation from those of the last one and what is new."""

    def __init__(
        self, folder: Path, base: Path | None, before: Sequence[str], names: Namespace
    ) -> None:
        """`base` has the extracts of the documents `before`, in this order; None if there are none.

        Raises:
            StoreError: They are damaged.
        """
        self._folder = folder
        self._names = names
        self._ids = tuple(before)
        self._base = base
        folder.mkdir()
        self._before = ExtractIndex((), b"")
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
        data = extract(statements, document_id, self._names)
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
        with translate_store_errors():
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
