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
from hornbook.graph.statements import iri, literal, quads
from hornbook.graph.store import NamedGraph, Rows, fill, translate_store_errors
from hornbook.vocabulary.names import ONTOLOGY, UNNAMED, Namespace

_ONTOLOGY = ox.NamedNode(ONTOLOGY)
_OF_ONTOLOGY = f" <{ONTOLOGY}> .".encode()


_MOST_WAITING = 4_000_000
"""Characters of quads that are kept in memory before they are written."""


class OxigraphStore:
    """An embedded Oxigraph store, in memory or on disk.

    What is written into a new folder waits until it is read, is much or the store is closed: one
    load in bulk takes less than half of what a load and an update take, which leave a log to be
    flushed.
    """

    def __init__(self, store: ox.Store, names: Namespace, *, new: bool = False) -> None:
        self._written = store
        self._waiting: dict[str, str] | None = {} if new else None
        self._size_waiting = 0
        self.names = names

    @property
    def _store(self) -> ox.Store:
        """The store with all that was to be written into it."""
        if self._waiting:
            waiting, self._waiting = "".join(self._waiting.values()), None
            with translate_store_errors():
                self._written.bulk_load(waiting.encode(), format=ox.RdfFormat.N_QUADS)
        return self._written

    @classmethod
    def in_memory(cls, names: Namespace = UNNAMED) -> "OxigraphStore":
        """A new, empty store that lives as long as the process."""
        return cls(ox.Store(), names)

    @classmethod
    def writable(cls, folder: Path, names: Namespace) -> "OxigraphStore":
        """The store in a folder, opened for its only writer."""
        new = not folder.exists()
        return cls(_opened(folder, read_only=False), names, new=new)

    @classmethod
    def read_only(cls, folder: Path, names: Namespace) -> "OxigraphStore":
        """The store in a folder that nobody writes to."""
        return cls(_opened(folder, read_only=True), names)

    def rows(self, name: str, /, **terms: str) -> Rows:
        """The rows of a named query."""
        text = fill(name, terms)
        with translate_store_errors():
            solutions = self._store.query(text, prefixes=self.names.prefixes)
            if not isinstance(solutions, ox.QuerySolutions):
                raise TypeError(f"named query {name!r} is no SELECT")
            width = range(len(solutions.variables))
            return [
                tuple(self._text(solution[column]) for column in width) for solution in solutions
            ]

    def _text(self, term: object) -> str:
        if isinstance(term, ox.NamedNode):
            return self.names.name_of(term.value)
        return term.value if isinstance(term, ox.Literal) else ""

    def replace(self, graphs: Iterable[NamedGraph]) -> None:
        """Replace the content of some named graphs by writing only what differs."""
        graphs = tuple(graphs)
        if self._wait_with(graphs):
            return
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

    def _wait_with(self, graphs: Sequence[NamedGraph]) -> bool:
        """Whether it is enough to remember graphs of which nothing was written yet."""
        if self._waiting is None or self._size_waiting > _MOST_WAITING:
            return False
        for graph in graphs:
            self._waiting[graph.iri] = quads(graph.statements, graph.iri)
            self._size_waiting += len(self._waiting[graph.iri])
        return True

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
        """Every quad as a line of canonical N-Quads, sorted; there are no blank nodes.

        The ontology, which lies in every store for queries about terms, is the same everywhere and
        no part of what is known of a repository.
        """
        target = io.BytesIO()
        with translate_store_errors():
            self._store.dump(target, format=ox.RdfFormat.N_QUADS)
        lines = target.getvalue().splitlines()
        return sorted(line for line in lines if not line.endswith(_OF_ONTOLOGY))

    def quads(self) -> Iterator[ox.Quad]:
        """Every quad in canonical order, but for those of the ontology."""
        with translate_store_errors():
            found = self._store.quads_for_pattern(None, None, None, None)
            return iter(sorted((q for q in found if q.graph_name != _ONTOLOGY), key=str))

    def query(
        self,
        text: str,
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
            return self._store.query(
                text, prefixes=self.names.prefixes, use_default_graph_as_union=union
            )
        return self._store.query(
            text,
            prefixes=self.names.prefixes,
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
        del self._written
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
