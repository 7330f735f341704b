"""Writes the work list of an ingest into the graph and publishes it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hornbook.disk import temporary_folder
from hornbook.graph import ontology, statements
from hornbook.graph.documents import entry_of
from hornbook.graph.extracts import ExtractWriter
from hornbook.graph.ingest.builder import Builder
from hornbook.graph.ingest.history import DocumentEvent, Happened, Journal, Objects, Past
from hornbook.graph.ingest.report import Progress
from hornbook.graph.ingest.survey import Readings
from hornbook.graph.ingest.work_list import DocumentWork, IngestWork, LastIngest
from hornbook.graph.store import (
    GenerationStore,
    GraphDraft,
    GraphStore,
    NamedGraph,
    PublishedGeneration,
)
from hornbook.rules.catalog import Catalog, Entry, Removed
from hornbook.rules.document import Document
from hornbook.vocabulary.names import Namespace

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
class CatalogLine:
    """A document's entry in the catalog, and the predicates behind its signature."""

    entry: Entry
    carried: tuple[str, ...]


def write(
    store: GraphStore,
    written: Iterable[Written],
    *,
    bulk: bool,
    scratch: Path | None = None,
    extracts: ExtractWriter | None = None,
) -> list[CatalogLine]:
    """Put documents into the graph, each whole; new ones in bulk if there are many.

    `scratch` is a folder on a disk with room for the quads of the new documents, `extracts` takes
    what is written.
    """
    listed: list[CatalogLine] = []
    names = store.names
    with temporary_folder("quads", scratch) as place, (place / "quads.nq").open("wb") as file:
        for each in written:
            current = statements.current(each.document, each.wanted_id, names, each.past.formerly)
            history = statements.history(each.document.id, each.past.revisions, None, names)
            listed.append(_listed(each, current, names))
            if extracts is not None:
                extracts.add(each.document.id, current)
            here, past = names.graph(each.document.id), names.history(each.document.id)
            if bulk and each.new:
                file.write(statements.quads(current, here).encode())
                file.write(statements.quads(history, past).encode())
            else:
                store.replace([NamedGraph(here, tuple(current)), NamedGraph(past, tuple(history))])
        if file.tell():
            file.flush()
            store.load(Path(file.name))
    return listed


def _listed(each: Written, current: list[str], names: Namespace) -> CatalogLine:
    carried = statements.carried_predicates(current, each.document.id, names)
    entry = entry_of(
        each.document,
        carried=carried,
        triples=len(current),
        wanted_id=each.wanted_id,
        formerly=each.past.formerly,
    )
    return CatalogLine(entry, carried)


def bury(store: GraphStore, document_id: str, past: Past) -> None:
    """Replace a document by its tombstone; its past stays."""
    names = store.names
    history = statements.history(document_id, past.revisions, past.removed, names)
    store.replace(
        [
            NamedGraph(names.graph(document_id), ()),
            NamedGraph(names.history(document_id), tuple(history)),
        ]
    )


def sign(store: GraphStore, catalog: Catalog) -> None:
    """State the store's version, predicates and collections."""
    store.replace([NamedGraph(store.names.meta_graph, tuple(statements.meta(catalog)))])


# A first ingest publishes after so many documents, so that a killed one need not begin again;
# each load into a store that has tables already costs more than the one before.
BATCH = 20_000


@dataclass(frozen=True, slots=True)
class PublicationTools:
    """What a commit works with."""

    generations: GenerationStore
    journal: Journal
    objects: Objects
    builder: Builder
    progress: Progress
    names: Namespace


class Publication:
    """Carries out one work list: journal first, then the graph, then the pointer to it."""

    def __init__(
        self,
        tools: PublicationTools,
        known: LastIngest,
        readings: Readings,
        fingerprint: str,
        at: str,
    ) -> None:
        self._tools = tools
        self._known = known
        self._readings = readings
        self._fingerprint = fingerprint
        self._at = at
        base = known.base.catalog if known.base is not None else Catalog()
        self._entries: dict[str, Entry] = {entry.id: entry for entry in base.entries}
        self._removed: dict[str, Removed] = {each.id: each for each in base.removed}
        self._signatures = dict(base.signatures)
        self._total = 0
        self._done = 0

    def publish(self, todo: IngestWork, followed: list[DocumentEvent]) -> Catalog:
        """Do all the work; the catalog of the generation that is current afterwards."""
        self._total = len(todo.work)
        batches = list(self._batches(todo))
        catalog = self._commit(self._known.base, batches[0], [*followed, *self._farewells(todo)])
        for batch in batches[1:]:
            base = self._tools.generations.open()
            try:
                catalog = self._commit(base, batch, [])
            finally:
                if base is not None:
                    base.close()
        return catalog

    def _batches(self, todo: IngestWork) -> Iterator[list[DocumentWork]]:
        """Whatever touches a known document comes first and together; plain arrivals follow.

        A graph that is built anew beside a published one is published only when it is complete.
        """
        generations = self._tools.generations
        rebuilds = self._known.base is None and generations.ever_published()
        if rebuilds or not generations.in_batches:
            yield list(todo.work)
            return
        plain = [each for each in todo.work if self._arrives(each)]
        yield [each for each in todo.work if not self._arrives(each)] + plain[:BATCH]
        for start in range(BATCH, len(plain), BATCH):
            yield plain[start : start + BATCH]

    def _arrives(self, work: DocumentWork) -> bool:
        return (
            work.event is Happened.ADDED
            and work.formerly is None
            and work.id not in self._entries
            and work.id not in self._removed
        )

    def _farewells(self, todo: IngestWork) -> list[DocumentEvent]:
        return [
            DocumentEvent(Happened.REMOVED, each.path, self._at, id=each.id, sha256=each.sha256)
            for each in todo.gone
        ]

    def _commit(
        self,
        base: PublishedGeneration | None,
        work: list[DocumentWork],
        events: list[DocumentEvent],
    ) -> Catalog:
        happened = [each.happening(self._at) for each in work]
        events += [event for event in happened if event is not None]
        self._tools.objects.settle()
        draft = self._tools.generations.draft(base, self._tools.names)
        self._known.draft = draft.store
        for event in events:
            self._known.take(event)
        for each in work:
            self._known.past(each.id)
        self._known.draft = None
        if base is None:
            draft.store.replace([ontology.named_graph()])
        self._fill(draft, work)
        catalog = self._catalog(base, self._tools.journal.append(events))
        sign(draft.store, catalog)
        draft.publish(catalog)
        return catalog

    def _fill(self, draft: GraphDraft, work: list[DocumentWork]) -> None:
        for document_id in sorted(self._known.stale):
            past = self._known.past(document_id)
            bury(draft.store, document_id, past)
            self._entries.pop(document_id, None)
            if past.removed is not None:
                self._removed[document_id] = past.removed
        self._known.stale.clear()
        bulk = len(work) >= BULK
        for start in range(0, len(work), BATCH):
            part = work[start : start + BATCH]
            written = map(self._written, part)
            for listed in write(
                draft.store, written, bulk=bulk, scratch=draft.folder, extracts=draft.extracts
            ):
                entry = listed.entry
                self._entries[entry.id] = entry
                self._signatures[entry.signature] = listed.carried
                self._removed.pop(entry.id, None)

    def _written(self, work: DocumentWork) -> Written:
        self._done += 1
        self._tools.progress("writing", self._done, self._total)
        new = work.id not in self._entries and work.id not in self._removed
        document = self._tools.builder.build(self._readings.take(work), work)
        return Written(document, work.wanted_id, self._known.past(work.id), new)

    def _catalog(self, base: PublishedGeneration | None, journal: int) -> Catalog:
        before = base.catalog if base is not None and base.catalog.lines else Catalog()
        entries = tuple(self._entries[name] for name in sorted(self._entries))
        used = {entry.signature for entry in entries}
        return Catalog(
            version=_version(self._fingerprint, self._known.chain, entries),
            fingerprint=self._fingerprint,
            journal=journal,
            chain=self._known.chain,
            lines=self._tools.journal.digest(before.lines, before.journal, journal),
            roots=tuple(sorted(self._known.roots)),
            signatures={name: self._signatures[name] for name in sorted(used)},
            entries=entries,
            removed=tuple(self._removed[name] for name in sorted(self._removed)),
            repository=self._tools.names.repository,
            base_iri=self._tools.names.base,
        )


def _version(fingerprint: str, chain: str, entries: Sequence[Entry]) -> str:
    """A hash of all that the graph says: equal content, equal version."""
    lines = [f"{entry.id} {entry.sha256} {entry.path}\n" for entry in entries]
    return sha256("".join([fingerprint, "\n", chain, "\n", *lines]).encode()).hexdigest()
