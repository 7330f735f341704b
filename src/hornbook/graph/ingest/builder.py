"""Makes documents of what readers understood: chunks, tokens, order."""

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise

from hornbook.graph.documents import in_order
from hornbook.graph.ingest.work_list import DocumentWork
from hornbook.rules.chunks.chunk import ChunkLimits, chunk
from hornbook.rules.document import Chunk, Document, Problem
from hornbook.rules.document_reader import read
from hornbook.rules.readers.protocol import Reading
from hornbook.rules.rendering import header, render
from hornbook.rules.units import highest, units_of
from hornbook.settings.settings import Settings
from hornbook.text.token_boundary import additive_boundary
from hornbook.text.tokens import TokenCounter, counter
from hornbook.vocabulary.terms import Activation, Level, Severity


class Builder:
    """Turns readings into documents, as the settings say."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._limits = ChunkLimits(
            settings.chunk_target, settings.chunk_maximum, settings.chunk_minimum
        )

    @cached_property
    def _count(self) -> TokenCounter:
        return counter(self._settings.counter)

    def chunks(self, reading: Reading) -> tuple[Chunk, ...]:
        """The chunks that tile the body."""
        return chunk(
            reading.body,
            self._count,
            self._limits,
            offset=len(reading.head.encode("utf-8", "surrogatepass")),
            plain=reading.mime_type != "text/markdown",
            adds=additive_boundary,
        )

    def build(self, reading: Reading, work: DocumentWork) -> Document:
        """The whole document."""
        document = in_order(
            reading.document(
                document_id=work.id,
                sha256=work.sha256,
                chunks=self.chunks(reading),
                tokens=0,
                links=work.links,
                includes=work.includes,
                only_includes=work.only_includes,
                problems=work.problems,
            )
        )
        document = replace(document, tokens=self._tokens(document))
        return replace(document, severity=self._severity(document, work.included_severity))

    def _severity(self, document: Document, included: Severity | None) -> Severity:
        """The document's severity: of one that states none, the highest of what it includes and,
        where it is judged by units, of these.

        A unit without a word that tells is a warning, so that only what was taken for less from
        the words of the whole can come out higher.
        """
        if "severity" not in document.inferred:
            return document.severity
        found = [document.severity, *([included] if included is not None else [])]
        if document.severity is Severity.INFO:
            units = units_of(document, self._count, self._settings.review.section_tokens)
            found += [unit.severity for unit in units]
        return highest(found)

    def _tokens(self, document: Document) -> int:
        """How many tokens the rule has as it is handed to a reviewer."""
        above = header(document)
        texts = [above, *(each.content for each in document.chunks)]
        if all(additive_boundary(before, after) for before, after in pairwise(texts)):
            return self._count(above) + sum(each.tokens for each in document.chunks)
        return self._count(render(document))


def too_large(reading: Reading, limit: int) -> Reading:
    """A reading of a file that is larger than the settings allow: listed, but without text."""
    message = (
        f"is larger than {limit} bytes, so its text was not read: "
        "split it, or raise `largest_file` in .hornbook/config.yaml."
    )
    problem = Problem(reading.path, None, "too_large", Level.ERROR, message)
    return replace(
        reading,
        head="",
        body="",
        activation=Activation.UNKNOWN,
        problems=(*reading.problems, problem),
    )


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
