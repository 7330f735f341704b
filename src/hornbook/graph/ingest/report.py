"""What ingest and the asking commands answer."""

from collections.abc import Callable
from dataclasses import dataclass

from hornbook.rules.document import Problem

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did; `documents`, `chunks` and `triples` count what is in the graph now."""

    added: int
    changed: int
    removed: int
    unchanged: int
    documents: int
    chunks: int
    triples: int
    problems: tuple[Problem, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One thing that happened to a document."""

    at: str
    event: str
    path: str
    revision: str
    sha256: str
    formerly: str | None = None
