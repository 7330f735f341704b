"""The embedded Oxigraph: the graph in memory, or in a folder.

Every result is materialised inside the call: an Oxigraph iterator that leaks keeps the store's
lock, and one that is touched in another thread aborts the process.
"""

import gc
import io
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyoxigraph as ox

from hornbook.errors import StoreError
from hornbook.graph.statements import iri, literal
from hornbook.graph.store import NamedGraph, Rows, fill, translate_store_errors
from hornbook.vocabulary.names import PREFIXES, name_of


class OxigraphStore:
    """An embedded Oxigraph store, in memory or on disk."""

    def __init__(self, store: ox.Store) -> None:
        self._store = store

    @classmethod
    def in_memory(cls) -> "OxigraphStore":
        """A new, empty store that lives as long as the process."""
        return cls(ox.Store())

    @classmethod
    def writable(cls, folder: Path) -> "OxigraphStore":
        """The store in a folder, opened for its only writer."""
        return cls(_opened(folder, read_only=False))

    @classmethod
    def read_only(cls, folder: Path) -> "OxigraphStore":
        """The store in a folder that nobody writes to."""
        return cls(_opened(folder, read_only=True))

    def rows(self, name: str, /, **terms: str) -> Rows:
        """The rows of a named query."""
        text = fill(name, terms)
        with translate_store_errors():
            solutions = self._store.query(text, prefixes=PREFIXES)
            if not isinstance(solutions, ox.QuerySolutions):
                raise TypeError(f"named query {name!r} is no SELECT")
            width = range(len(solutions.variables))
            return [tuple(_text(solution[column]) for column in width) for solution in solutions]

    def replace(self, graphs: Iterable[NamedGraph]) -> None:
        """Replace the content of some named graphs by writing only what differs."""
        deleted: list[str] = []
        inserted: list[str] = []
        for graph in graphs:
            before = set(self.statements(graph.iri))
            after = set(graph.statements)
            deleted += _block(graph.iri, sorted(before - after))
            inserted += _block(graph.iri, sorted(after - before))
        requests = []
        if deleted:
            requests.append(f"DELETE DATA {{ {' '.join(deleted)} }}")
        if inserted:
            requests.append(f"INSERT DATA {{ {' '.join(inserted)} }}")
        if requests:
            with translate_store_errors():
                self._store.update(" ;\n".join(requests))

    def load(self, nquads: Path | bytes) -> None:
        """Add the quads of a file at once, twice as fast as one by one; not atomic on its own."""
        with translate_store_errors():
            if isinstance(nquads, bytes):
                self._store.bulk_load(nquads, format=ox.RdfFormat.N_QUADS)
            else:
                self._store.bulk_load(path=str(nquads), format=ox.RdfFormat.N_QUADS)

    def statements(self, graph: str) -> list[str]:
        """The content of one named graph, in the form in which it was written, sorted."""
        with translate_store_errors():
            quads = list(self._store.quads_for_pattern(None, None, None, ox.NamedNode(graph)))
        return sorted(
            f"{_term(quad.subject)} {_term(quad.predicate)} {_term(quad.object)}" for quad in quads
        )

    def canonical(self) -> list[bytes]:
        """Every quad as a line of canonical N-Quads, sorted; there are no blank nodes."""
        target = io.BytesIO()
        with translate_store_errors():
            self._store.dump(target, format=ox.RdfFormat.N_QUADS)
        return sorted(target.getvalue().splitlines())

    def quads(self) -> Iterator[ox.Quad]:
        """Every quad in canonical order."""
        with translate_store_errors():
            return iter(sorted(self._store.quads_for_pattern(None, None, None, None), key=str))

    def query(
        self,
        text: str,
        prefixes: dict[str, str],
        *,
        union: bool,
        default: Sequence[str] | None = None,
        named: Sequence[str] | None = None,
    ) -> "ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples":
        """The raw results of a query; the caller consumes them at once.

        With `union` it sees all graphs as one, else those that it names itself, or those that
        are named here: then its default graph is `default` merged, and it can only name `named`.

        Raises:
            ValueError: A graph is not named by an IRI.
        """
        if default is None and named is None:
            return self._store.query(text, prefixes=prefixes, use_default_graph_as_union=union)
        return self._store.query(
            text,
            prefixes=prefixes,
            default_graph=[ox.NamedNode(each) for each in default or ()],
            named_graphs=[ox.NamedNode(each) for each in named or ()],
        )

    def close(self) -> None:
        """Write what is buffered and give the folder free; the store cannot be used afterwards."""
        with translate_store_errors():
            self._store.flush()
        self.release()

    def release(self) -> None:
        """Give the folder free. Oxigraph has no close: it closes when nothing refers to it."""
        del self._store
        gc.collect(0)


def copy_closed(source: Path, target: Path) -> None:
    """Copy the folder of a store that nobody writes to; its tables are shared by hard links.

    A table file is never changed once it is written, so both stores may go on with it; the
    small files that a store rewrites are copied.
    """
    with translate_store_errors():
        target.mkdir()
        for path in source.iterdir():
            if path.suffix == ".sst":
                try:
                    os.link(path, target / path.name)
                except OSError:
                    shutil.copyfile(path, target / path.name)
            elif path.name != "LOCK" and not path.name.startswith("LOG"):
                shutil.copyfile(path, target / path.name)


def _opened(folder: Path, *, read_only: bool) -> ox.Store:
    with translate_store_errors():
        return ox.Store.read_only(str(folder)) if read_only else ox.Store(str(folder))


def _block(graph: str, statements: list[str]) -> list[str]:
    if not statements:
        return []
    return [f"GRAPH {iri(graph)} {{ {' . '.join(statements)} }}"]


def _text(term: object) -> str:
    if isinstance(term, ox.NamedNode):
        return name_of(term.value)
    return term.value if isinstance(term, ox.Literal) else ""


def _term(term: object) -> str:
    if isinstance(term, ox.NamedNode):
        return iri(term.value)
    if not isinstance(term, ox.Literal):
        raise StoreError(
            f"the graph holds {term}, which Hornbook never writes: run `hornbook ingest --rebuild`."
        )
    text = literal(term.value)
    if term.datatype.value.endswith("#string"):
        return text
    return f"{text}^^<{term.datatype.value}>"
