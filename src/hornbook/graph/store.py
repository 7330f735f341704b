"""What Hornbook asks of a graph: a small interface, and the named queries behind it."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from hornbook import resources
from hornbook.errors import StoreError

_PARAMETER = re.compile(r"\$(\w+)")
_COMMENT = re.compile(r"^\s*#.*\n?", re.MULTILINE)


@cache
def text(name: str) -> str:
    """The text of a named query without its comments."""
    return _COMMENT.sub("", resources.text("queries", "sparql", f"{name}.rq")).strip()


def parameters(name: str) -> frozenset[str]:
    """The names of the parameters that a named query takes."""
    return frozenset(_PARAMETER.findall(text(name)))


def fill(name: str, terms: dict[str, str]) -> str:
    """A named query with its parameters replaced by N-Triples terms.

    Raises:
        KeyError: A parameter is missing or not one of the query's.
    """
    if parameters(name) != terms.keys():
        raise KeyError(f"query {name!r} takes {sorted(parameters(name))}, not {sorted(terms)}")
    return _PARAMETER.sub(lambda match: terms[match.group(1)], text(name))


Rows = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """The whole new content of one named graph, as `<s> <p> o` statements; empty removes it."""

    iri: str
    statements: tuple[str, ...]


class GraphStore(Protocol):
    """What Hornbook asks of a graph. A SPARQL 1.1 endpoint could answer all of it."""

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
    """Turn what Oxigraph raises over a damaged store into our own error."""
    try:
        yield
    except (OSError, RuntimeError) as problem:
        raise StoreError(
            f"the index is damaged or cannot be used ({problem}): run `hornbook ingest --rebuild`."
        ) from problem
