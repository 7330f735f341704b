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
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import msgspec

from hornbook.errors import StoreError
from hornbook.graph.terms import XSD, Subject
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import name_of

Pairs = tuple[tuple[str, str], ...]

FOLDER = "extracts"
PLACES = "places"
PLACE = struct.Struct("<IIQ")  # segment, length, offset; a length of 0 means that it is not here
_DECODER = msgspec.msgpack.Decoder(Pairs)
ENCODER = msgspec.msgpack.Encoder()
HEAD = struct.Struct("<I")
# Times that the store gives back as they were written; it spells others in its own way.
_PLAIN_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?Z\Z")
_INTEGER, _DATE_TIME = f"^^<{XSD}integer>", f"^^<{XSD}dateTime>"


def in_order(pairs: Iterable[tuple[str, str]]) -> Pairs:
    """Predicates with their values, each once: by predicate, then by number, then by text."""
    return tuple(sorted(set(pairs), key=_order))


def _order(pair: tuple[str, str]) -> tuple[str, int, str]:
    name, text = pair
    number = text.partition(". ")[0] if name == p.REQUIREMENTS.name else ""
    return (name, int(number) if number.isdigit() else 0, text)


def extract(statements: Iterable[str], document_id: str) -> bytes:
    """What some statements say of the document itself; empty if the store may say it otherwise."""
    start = Subject(document_id, []).term + " "
    pairs = []
    for line in statements:
        if line.startswith(start):
            name, _, term = line[len(start) :].partition(" ")
            text = _text(term)
            if text is None:
                return b""
            pairs.append((name_of(name[1:-1]), text))
    return ENCODER.encode(in_order(pairs))


def _text(term: str) -> str | None:
    """A term as the store's answers have it, or None where that is not certain."""
    if term.startswith("<"):
        return name_of(term[1:-1])
    if term.endswith('"'):
        found: str = json.loads(term)
        return found
    if term.endswith(_INTEGER):
        text: str = json.loads(term.removesuffix(_INTEGER))
        return text if text == str(int(text)) and abs(int(text)) < 2**63 else None
    if term.endswith(_DATE_TIME):
        time: str = json.loads(term.removesuffix(_DATE_TIME))
        return time if _PLAIN_TIME.match(time) else None
    return None


class Segment(msgspec.Struct, frozen=True):
    """One file: how many bytes it has, and how many of them are still asked for."""

    number: int
    size: int
    live: int


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything lies: a record for each document, in the order of the catalog."""

    segments: tuple[Segment, ...]
    records: bytes

    def at(self, position: int) -> tuple[int, int, int]:
        """The segment, length and offset of a document's extract."""
        found: tuple[int, int, int] = PLACE.unpack_from(self.records, position * PLACE.size)
        return found


def read_places(folder: Path) -> Places:
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
    return Places(segments, data[start:])


def _damaged(problem: Exception) -> StoreError:
    return StoreError(
        f"the extracts of the index are damaged ({problem}): run `hornbook ingest --rebuild`."
    )


class Extracts:
    """The extracts of one generation, for any number of threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._opened: tuple[Places, dict[int, int]] | None = None

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

    def _open(self) -> tuple[Places, dict[int, int]]:
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
