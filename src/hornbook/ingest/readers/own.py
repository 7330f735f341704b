"""Our own documents: SOPs, specs, references and the like, with `applies_to` and friends."""

from pathlib import PurePosixPath

from hornbook.ingest.discover import TEXT_ENDINGS
from hornbook.ingest.identity import document_id
from hornbook.ingest.infer import stem
from hornbook.ingest.keys import OWN_KEYS
from hornbook.ingest.problems import Problems
from hornbook.ingest.readers.binding import own_binding
from hornbook.ingest.readers.category import ROOTS, Shelf, shelf
from hornbook.ingest.readers.compose import Frame, compose
from hornbook.ingest.readers.decision import read_decision
from hornbook.ingest.readers.folders import below
from hornbook.ingest.readers.misspelt import tell_misspelt
from hornbook.ingest.readers.protocol import Binding, Reading, SourceFile
from hornbook.model import Category

SUFFIXES = frozenset(TEXT_ENDINGS)
_TELLING_KEYS = ("applies_to", "category", "severity")
"""The keys whose misspelling would keep any document from being the rule it was meant to be."""


class OwnReader:
    """Reads the documents in `.hornbook/sources/docs` and `.semspec/sources/docs`."""

    tool = "hornbook"

    def claims(self, path: PurePosixPath) -> bool:
        """Whether the path is a text below one of the two folders."""
        return path.suffix.lower() in SUFFIXES and any(below(path, *root) for root in ROOTS)

    def read(self, file: SourceFile) -> Reading:
        """Return what the document says."""
        problems = Problems(file.parts.path)
        return read_own(file, shelf(file.path, file.parts, problems), self.tool, problems)


def read_own(file: SourceFile, place: Shelf, tool: str, problems: Problems) -> Reading:
    """Return the reading of a document that belongs on `place`."""
    parts = file.parts
    problems.extend(parts.problems)
    if place.category is Category.DECISION:
        return read_decision(file, place.stated, problems)
    tell_misspelt(parts, OWN_KEYS if tool == OwnReader.tool else _TELLING_KEYS, problems)
    frame = Frame(
        tool=tool,
        desired_id=document_id(place.category, place.folder, place.below, stem(file.path)),
        binding=_binding(file, place, problems),
        category=place.category,
        category_stated=place.stated,
        own=True,
    )
    return compose(file, frame, problems)


def _binding(file: SourceFile, place: Shelf, problems: Problems) -> Binding:
    """How the document binds; patterns on one that is no rule are worth a word."""
    binding = own_binding(file.parts, place.category, problems)
    if place.category is Category.REFERENCE and binding.patterns and not place.stated:
        message = "It has patterns but is no rule, so it binds nothing: add `category: sop`."
        problems.warning(binding.patterns[0].line, "binds_nothing", message)
    return binding
