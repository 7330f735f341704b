"""What ingest and the asking commands answer."""

from collections.abc import Callable
from dataclasses import dataclass

from hornbook.rules.catalog import Entry
from hornbook.rules.document import Problem
from hornbook.vocabulary.terms import Activation

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is."""


def silent(_stage: str, _done: int, _total: int) -> None:
    """Report no progress."""


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
class BoundRule:
    """A rule that binds a file: which, and the pattern and line that make it so."""

    id: str
    path: str
    title: str
    category: str
    severity: str
    activation: str
    pattern: str
    pattern_line: int | None
    revision: str
    tokens: int


@dataclass(frozen=True, slots=True)
class NotEnforced:
    """A rule that is known but cannot bind, and the reason."""

    id: str
    activation: Activation
    reason: str


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """The rules of one file and how they sit with the room that a review has for them."""

    path: str
    rules: tuple[BoundRule, ...]
    tokens: int
    reserve: int
    fits: bool
    not_enforced: tuple[NotEnforced, ...]


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One thing that happened to a document."""

    at: str
    event: str
    path: str
    revision: str
    sha256: str
    formerly: str | None = None


@dataclass(frozen=True, slots=True)
class ReserveReport:
    """How the repository's rules sit with the reserve, file by file and rule by rule."""

    reserve: int
    rules: int
    always: int
    always_tokens: int
    files: int
    files_over: int
    examples: tuple[tuple[str, int], ...]
    too_large: tuple[Entry, ...]
    largest: tuple[Entry, ...]
