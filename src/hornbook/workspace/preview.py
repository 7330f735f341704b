"""How a document would be chunked, without storing anything."""

from dataclasses import dataclass
from hashlib import sha256

from hornbook.ingest.reading import read
from hornbook.model import Chunk
from hornbook.workspace.building import Builder
from hornbook.workspace.settings import Settings


@dataclass(frozen=True, slots=True)
class Preview:
    """A document's chunks; their contents concatenate to the body that has this hash."""

    body_sha256: str
    chunks: tuple[Chunk, ...]


def preview(path: str, data: bytes) -> Preview:
    """The chunks of a file at the default limits."""
    reading = read(path, data)
    digest = sha256(reading.body.encode("utf-8", "surrogatepass")).hexdigest()
    return Preview(digest, Builder(Settings()).chunks(reading))
