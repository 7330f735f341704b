"""What Hornbook asks of a graph: a small interface, and the named queries behind it."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hornbook import resources
from hornbook.disk import remedy_of
from hornbook.errors import DiskFailed, HornbookError, StoreError
from hornbook.vocabulary.names import Namespace

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from hornbook.graph.extracts import Extracts, ExtractWriter
    from hornbook.rules.catalog import Catalog

_PARAMETER = re.compile(r"\$(\w+)")
_COMMENT = re.compile(r"^\s*#.*\n?", re.MULTILINE)


@cache
def text(name: str) -> str:
    """The text of a named query without its comments."""
    return _COMMENT.sub("", resources.text("queries", "sparql", f"{name}.rq")).strip()


def parameters(name: str) -> frozenset[str]:
    """The names of the parameters that a named query takes."""
    return frozenset(_PARAMETER.findall(text(name)))


def fill(name: str, terms: Mapping[str, str]) -> str:
    """A named query with its parameters replaced by N-Triples terms.

    Raises:
        KeyError: A parameter is missing or not one of the query's.
    """
    if parameters(name) != terms.keys():
        raise KeyError(f"query {name!r} takes {sorted(parameters(name))}, not {sorted(terms)}")
    return fill_in(text(name), terms)


def fill_in(query: str, terms: Mapping[str, str]) -> str:
    """The text of a query with its parameters replaced."""
    return _PARAMETER.sub(lambda match: terms[match.group(1)], query)


Rows = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """The whole new content of one named graph, as `<s> <p> o` statements; empty removes it."""

    iri: str
    statements: tuple[str, ...]


class GraphStore(Protocol):
    """What Hornbook asks of a graph: the embedded one, or a generation in a remote store."""

    @property
    def names(self) -> Namespace:
        """Where the entities of this graph live."""

    def rows(self, name: str, /, **terms: str) -> Rows:
        """The rows of a named query: ids and dotted names for our IRIs, texts for literals."""

    def replace(self, graphs: Iterable[NamedGraph]) -> None:
        """Replace the content of some named graphs, all in one atomic request."""

    def load(self, nquads: Path | bytes) -> None:
        """Add the many quads of an N-Quads file at once."""

    def statements(self, graph: str) -> list[str]:
        """The content of one named graph as `<s> <p> o` statements, sorted."""

    def canonical(self) -> list[bytes]:
        """Every quad as a line of canonical N-Quads, sorted."""


class PublishedGeneration(Protocol):
    """A published state of the graph, open for reading until it is closed."""

    name: str
    catalog: "Catalog"

    def open_store(self) -> GraphStore:
        """The graph, read-only."""

    def extracts(self) -> "Extracts | None":
        """What the graph says of the catalog's documents, where that is kept beside it."""

    def published_at(self) -> str:
        """When it was published; "" if that is not known any more."""

    def close(self) -> None:
        """Stop reading."""


class GraphDraft(Protocol):
    """The next generation while its writer fills it."""

    @property
    def store(self) -> GraphStore:
        """The graph that is written."""

    @property
    def folder(self) -> Path:
        """A folder with room for what is written."""

    @property
    def extracts(self) -> "ExtractWriter | None":
        """What takes the extracts, where they are kept."""

    def publish(self, catalog: "Catalog") -> None:
        """Make it the generation that readers see from now on."""


class GenerationStore(Protocol):
    """Where generations are published: a folder of this machine, or a store that others run."""

    in_batches: bool
    """Whether a large first ingest is published in parts."""

    @property
    def seen(self) -> Path:
        """The file that says which files the last ingest into this store saw."""

    def open(self) -> PublishedGeneration | None:
        """The published generation, if there is one."""

    def open_last(self) -> PublishedGeneration | None:
        """What the last ingest of this workspace left, whatever was published since."""

    def is_last(self, name: str) -> bool:
        """Whether a generation is what the last ingest of this workspace left."""

    def published(self) -> str | None:
        """Its name."""

    def ever_published(self) -> bool:
        """Whether readers have something to lose while the graph is built anew."""

    def has_last_ingest(self) -> bool:
        """Whether what is published is what the last ingest of this workspace left."""

    def last_catalog(self) -> "Catalog | None":
        """What the last ingest of this workspace left; nobody else is asked."""

    def release(self) -> None:
        """Let go of connections; they are made again when something is asked."""

    def keep_last_ingest(self, name: str) -> None:
        """Take note that what is published is what the last ingest of this workspace leaves."""

    def writing(self, waiting: "Callable[[], None]") -> "AbstractContextManager[None]":
        """Be the only writer of this workspace."""

    def tidy(self) -> None:
        """Delete what nobody reads any longer."""

    def draft(self, base: PublishedGeneration | None, names: Namespace) -> GraphDraft:
        """The next generation, beginning with what `base` says."""


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """One question to the graph: the query's name, its parameters as terms, and the answer."""

    name: str
    parameters: Mapping[str, str]
    rows: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class RecordingStore:
    """A store that notes each query in `asked`, in the order in which they were asked."""

    store: GraphStore
    asked: list[AskedQuery] = field(default_factory=list)

    @property
    def names(self) -> Namespace:
        """Where the entities of this graph live."""
        return self.store.names

    def rows(self, name: str, /, **terms: str) -> Rows:
        """The rows of a named query, which is noted."""
        start = time.perf_counter()
        found = self.store.rows(name, **terms)
        spent = round((time.perf_counter() - start) * 1000, 3)
        self.asked.append(AskedQuery(name, terms, len(found), spent))
        return found

    def replace(self, graphs: Iterable[NamedGraph]) -> None:
        """Replace the content of some named graphs."""
        self.store.replace(graphs)

    def load(self, nquads: Path | bytes) -> None:
        """Add the many quads of an N-Quads file at once."""
        self.store.load(nquads)

    def statements(self, graph: str) -> list[str]:
        """The content of one named graph."""
        return self.store.statements(graph)

    def canonical(self) -> list[bytes]:
        """Every quad as a line of canonical N-Quads."""
        return self.store.canonical()


@contextmanager
def translate_store_errors() -> Iterator[None]:
    """Turn what Oxigraph raises over its files into our own errors."""
    try:
        yield
    except (OSError, RuntimeError) as problem:
        raise index_error("the index", problem) from problem


def index_error(what: str, problem: Exception) -> HornbookError:
    """What is raised over a part of the index that cannot be used: it is damaged, or kept from us.

    What the disk, a limit or a right keeps from us is whole, and building it anew would not help.
    """
    remedy = remedy_of(problem)
    if remedy is not None:
        return DiskFailed(f"{what} cannot be used ({problem}): {remedy}; nothing is damaged.")
    return StoreError(f"{what} is damaged ({problem}): run `hornbook ingest --rebuild`.")
