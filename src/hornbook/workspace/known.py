"""What is known before an ingest begins: from the graph, and from the journal beyond it."""

from dataclasses import dataclass, field

from hornbook.graph import recall
from hornbook.graph.generations import Generation
from hornbook.graph.store import GraphStore
from hornbook.ingest.journal import Event, Happened, Journal, Past, chained, project
from hornbook.model import Entry, Removed, revision_id


@dataclass(slots=True)
class KnownDocument:
    """A document as it was last time: `entry` is None when the graph has to be written anew."""

    id: str
    path: str
    sha256: str
    entry: Entry | None = None


@dataclass(slots=True)
class Known:
    """The documents of the last ingest and their past.

    Events that are in the journal but not yet in the graph (a process died between the two) are
    taken as having happened; their documents have no entry and so are written again.
    """

    base: Generation | None
    documents: dict[str, KnownDocument] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    chain: str = ""
    journal: int = 0
    pasts: dict[str, Past] = field(default_factory=dict)
    tombstones: dict[str, Removed] = field(default_factory=dict)
    draft: GraphStore | None = None
    """The next generation while it still says what the base says; open anyway, so asked first."""
    stale: set[str] = field(default_factory=set)
    """Ids that are gone by the journal but still in the graph."""

    def past(self, document_id: str) -> Past:
        """What happened to an id so far."""
        if document_id not in self.pasts:
            self.pasts[document_id] = self._recalled(document_id)
        return self.pasts[document_id]

    def _recalled(self, document_id: str) -> Past:
        if self.base is None:
            return Past()
        removed = self.tombstones.get(document_id)
        known = self.documents.get(document_id)
        if removed is None and known is None:
            return Past()
        store = self.draft if self.draft is not None else self.base.store
        revisions = recall.revisions(store, document_id)
        if known is None:
            path = removed.path if removed is not None else ""
            return Past(revisions=revisions, removed=removed, path=path)
        return Past(
            revisions=revisions,
            formerly=known.entry.formerly if known.entry else (),
            current=revision_id(document_id, known.sha256),
            path=known.path,
        )

    def take(self, event: Event) -> None:
        """Let one more event have happened."""
        if event.event is Happened.FOLLOWED:
            if event.path not in self.roots:
                self.roots.append(event.path)
            return
        before = self.past(event.id)
        self.chain = chained(self.chain, before, event)
        self.pasts[event.id] = project(before, event)
        if event.event is Happened.REMOVED:
            self.documents.pop(event.id, None)
            self.stale.add(event.id)
        else:
            self.documents[event.id] = KnownDocument(event.id, event.path, event.sha256)
            self.stale.discard(event.id)


def recall_known(base: Generation | None, journal: Journal) -> Known:
    """What is known: the published graph, and every journal event that it does not contain."""
    known = Known(base)
    if base is not None:
        known.documents = {
            entry.id: KnownDocument(entry.id, entry.path, entry.sha256, entry)
            for entry in base.catalog.entries
        }
        known.tombstones = {each.id: each for each in base.catalog.removed}
        known.roots = list(base.catalog.roots)
        known.chain = base.catalog.chain
        known.journal = base.catalog.journal
    size = journal.size()
    if size != known.journal:
        for event in journal.read(known.journal):
            known.take(event)
        known.journal = size
    return known
