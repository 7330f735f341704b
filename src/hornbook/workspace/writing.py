"""Writes documents into a draft of the next generation."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hornbook.graph import statements
from hornbook.graph.extract_writing import ExtractWriter
from hornbook.graph.recall import entry_of
from hornbook.graph.store import NamedGraph, OxigraphStore
from hornbook.ingest.journal import Past
from hornbook.model import Catalog, Document, Entry
from hornbook.temporary import temporary_folder
from hornbook.vocabulary.names import META_GRAPH, graph_iri, history_iri

# Loading in bulk is twice as fast for thousands of documents and twenty times slower for one.
BULK = 64


@dataclass(frozen=True, slots=True)
class Written:
    """A document with its past, and whether the graph has never heard of its id."""

    document: Document
    wanted_id: str
    past: Past
    new: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """A document's entry in the catalog, and the predicates behind its signature."""

    entry: Entry
    carried: tuple[str, ...]


def write(
    store: OxigraphStore,
    written: Iterable[Written],
    *,
    bulk: bool,
    scratch: Path | None = None,
    extracts: ExtractWriter | None = None,
) -> list[Listed]:
    """Put documents into the graph, each whole; new ones in bulk if there are many.

    `scratch` is a folder on a disk with room for the quads of the new documents, `extracts` takes
    what is written.
    """
    listed: list[Listed] = []
    with temporary_folder("quads", scratch) as place, (place / "quads.nq").open("wb") as file:
        for each in written:
            current = statements.current(each.document, each.wanted_id, each.past.formerly)
            history = statements.history(each.document.id, each.past.revisions, None)
            listed.append(_listed(each, current))
            if extracts is not None:
                extracts.add(each.document.id, current)
            here, past = graph_iri(each.document.id), history_iri(each.document.id)
            if bulk and each.new:
                file.write(statements.quads(current, here).encode())
                file.write(statements.quads(history, past).encode())
            else:
                store.replace([NamedGraph(here, tuple(current)), NamedGraph(past, tuple(history))])
        if file.tell():
            file.flush()
            store.load(Path(file.name))
    return listed


def _listed(each: Written, current: list[str]) -> Listed:
    carried = statements.carried_predicates(current, each.document.id)
    entry = entry_of(
        each.document,
        carried=carried,
        triples=len(current),
        wanted_id=each.wanted_id,
        formerly=each.past.formerly,
    )
    return Listed(entry, carried)


def bury(store: OxigraphStore, document_id: str, past: Past) -> None:
    """Replace a document by its tombstone; its past stays."""
    history = statements.history(document_id, past.revisions, past.removed)
    store.replace(
        [
            NamedGraph(graph_iri(document_id), ()),
            NamedGraph(history_iri(document_id), tuple(history)),
        ]
    )


def sign(store: OxigraphStore, catalog: Catalog) -> None:
    """State the store's version, predicates and collections."""
    store.replace([NamedGraph(META_GRAPH, tuple(statements.meta(catalog)))])
