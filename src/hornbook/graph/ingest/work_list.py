"""Decides what an ingest has to do: pure, from what is known and what the files say now."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from hornbook.graph import documents as recall
from hornbook.graph.ingest.history import DocumentEvent, Happened, Journal, Past, chained, project
from hornbook.graph.store import GraphStore, PublishedGeneration
from hornbook.rules.catalog import Entry, Removed
from hornbook.rules.code.edges import Imports
from hornbook.rules.document import Include, Link, Problem, Unread, revision_id
from hornbook.rules.document_reader import resolve_links
from hornbook.rules.ids import assign_ids
from hornbook.rules.includes import Inclusion
from hornbook.vocabulary.terms import Level, Severity


@dataclass(slots=True)
class KnownDocument:
    """A document as it was last time: `entry` is None when the graph has to be written anew."""

    id: str
    path: str
    sha256: str
    entry: Entry | None = None


@dataclass(slots=True)
class LastIngest:
    """The documents of the last ingest and their past.

    Events that are in the journal but not yet in the graph (a process died between the two) are
    taken as having happened; their documents have no entry and so are written again.
    """

    base: PublishedGeneration | None
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
        store = self.draft if self.draft is not None else self.base.open_store()
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

    def take(self, event: DocumentEvent) -> None:
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


def recall_known(base: PublishedGeneration | None, journal: Journal) -> LastIngest:
    """What is known: the published graph, and every journal event that it does not contain."""
    known = LastIngest(base)
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


# Problems that depend on which other documents there are.
_ABOUT_OTHERS = frozenset(
    {"id_clash", "unresolved_link", "ambiguous_link", Unread.BROKEN_INCLUDE, "include_not_read"}
)
NOTHING_INCLUDED = Inclusion()


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """The little of a document that decides ids and links."""

    path: str
    sha256: str
    wanted_id: str
    links: tuple[Link, ...] = ()
    large: bool = False
    """Whether its text is larger than is read, and so is not kept."""


@dataclass(frozen=True, slots=True)
class DocumentWork:
    """A document to write, with the id it gets, its links, and the event that it means."""

    path: str
    sha256: str
    id: str
    wanted_id: str
    links: tuple[Link, ...]
    problems: tuple[Problem, ...]
    includes: tuple[Include, ...] = ()
    only_includes: bool = False
    included_severity: Severity | None = None
    event: Happened | None = None
    formerly: str | None = None
    formerly_revision: str | None = None
    large: bool = False

    def happening(self, at: str) -> DocumentEvent | None:
        """The journal event, or None when only the writing is new."""
        if self.event is None:
            return None
        return DocumentEvent(
            self.event,
            self.path,
            at,
            id=self.id,
            sha256=self.sha256,
            formerly=self.formerly,
            formerly_revision=self.formerly_revision,
            large="yes" if self.large else None,
        )


@dataclass(frozen=True, slots=True)
class IngestWork:
    """All that an ingest has to do."""

    work: tuple[DocumentWork, ...]
    gone: tuple[KnownDocument, ...]
    unchanged: int

    def count(self, event: Happened) -> int:
        """How many documents this happened to."""
        return sum(1 for each in self.work if each.event is event)


def work_to_do(
    known: LastIngest,
    facts: Mapping[str, DocumentFacts],
    untouched: Iterable[KnownDocument],
    renamed: Callable[[], Mapping[str, str]],
    inclusions: Mapping[str, Inclusion],
) -> IngestWork:
    """What to do about `facts` (documents that were read) and `untouched` (that were not).

    `inclusions` has what each document includes. An untouched document is written again only if
    its id, one of its links or what it includes changed.
    """
    by_path = {each.path: each for each in known.documents.values()}
    standing = {each.path: each for each in untouched}
    if _names_stand(facts, standing, by_path) and _includes_stand(standing, inclusions):
        return _replan(known, facts, by_path, inclusions, len(standing))
    wanted = {path: _wanted(each) for path, each in standing.items()}
    wanted |= {path: each.wanted_id for path, each in facts.items()}
    assigned = assign_ids(wanted)
    origins = _origins(known, facts, wanted, by_path, renamed)
    ids = dict(assigned.ids)
    imports = Imports(ids)
    work: list[DocumentWork] = []
    unchanged = 0
    for path in sorted(wanted):
        fact = facts.get(path) or _fact_of(standing[path])
        item = _item(fact, ids, assigned.clashes.get(path), imports)
        item = _with_includes(item, inclusions.get(path, NOTHING_INCLUDED), ids)
        before = known.documents.get(item.id)
        if before is None or (before.path, before.sha256) != (path, item.sha256):
            work.append(_happened(item, before, origins.get(path)))
            continue
        unchanged += 1
        if path in facts or not _as_written(before.entry, item):
            work.append(item)
    live = {each.id for each in work} | {ids[path] for path in standing}
    gone = [each for each in known.documents.values() if each.id not in live]
    return IngestWork(tuple(work), tuple(sorted(gone, key=lambda each: each.path)), unchanged)


def _item(
    fact: DocumentFacts, ids: Mapping[str, str], holder: str | None, imports: Imports
) -> DocumentWork:
    """A document with its links followed; `holder` is the path that has the id it would get."""
    links, unresolved = resolve_links(fact.path, fact.links, ids, imports)
    problems = (*unresolved, *_clash(fact.path, holder, ids[fact.path]))
    return DocumentWork(
        fact.path,
        fact.sha256,
        ids[fact.path],
        fact.wanted_id,
        links,
        problems,
        large=fact.large,
    )


def _with_includes(
    item: DocumentWork, inclusion: Inclusion, ids: Mapping[str, str]
) -> DocumentWork:
    """The work with the documents of what it includes."""
    if inclusion is NOTHING_INCLUDED:
        return item
    return replace(
        item,
        includes=tuple(
            replace(each, id="" if each.unread else ids[each.path]) for each in inclusion.includes
        ),
        only_includes=inclusion.nothing_else,
        included_severity=inclusion.severity,
        problems=(*item.problems, *inclusion.problems),
    )


def _as_written(entry: Entry | None, item: DocumentWork) -> bool:
    """Whether the graph has the same links and the same word about them and about the id."""
    if entry is None or set(entry.links) != set(item.links):
        return False
    if (entry.includes, entry.only_includes) != (item.includes, item.only_includes):
        return False
    told = {problem for problem in entry.problems if problem.code in _ABOUT_OTHERS}
    return told == set(item.problems)


def _includes_stand(
    standing: Mapping[str, KnownDocument], inclusions: Mapping[str, Inclusion]
) -> bool:
    """Whether each document that was not read includes what it included."""
    for path, each in standing.items():
        inclusion = inclusions.get(path, NOTHING_INCLUDED)
        if each.entry is None or not (each.entry.includes or inclusion is not NOTHING_INCLUDED):
            continue
        was = tuple(replace(include, id="") for include in each.entry.includes)
        told = {p for p in each.entry.problems if p.code in {u.value for u in Unread}}
        now = {p for p in inclusion.problems if p.code in {u.value for u in Unread}}
        if (was, told) != (inclusion.includes, now):
            return False
    return True


def _names_stand(
    facts: Mapping[str, DocumentFacts],
    standing: Mapping[str, KnownDocument],
    by_path: Mapping[str, KnownDocument],
) -> bool:
    """Whether the same paths want the same ids as before, so that only texts changed."""
    if len(facts) + len(standing) != len(by_path) or not all(
        each.entry is not None for each in standing.values()
    ):
        return False
    return all(
        path in by_path and _wanted(by_path[path]) == fact.wanted_id and by_path[path].entry
        for path, fact in facts.items()
    )


def _replan(
    known: LastIngest,
    facts: Mapping[str, DocumentFacts],
    by_path: Mapping[str, KnownDocument],
    inclusions: Mapping[str, Inclusion],
    unchanged: int,
) -> IngestWork:
    """The plan when no id can have changed: only the documents that were read matter."""
    linked = any(fact.links or path in inclusions for path, fact in facts.items())
    ids = {path: by_path[path].id for path in (by_path if linked else facts)}
    imports = Imports(ids)
    work = []
    for path in sorted(facts):
        before, fact = by_path[path], facts[path]
        clashes = before.id != fact.wanted_id
        holder = known.documents[fact.wanted_id].path if clashes else None
        item = _item(fact, ids, holder, imports)
        item = _with_includes(item, inclusions.get(path, NOTHING_INCLUDED), ids)
        same = before.sha256 == fact.sha256
        work.append(item if same else _happened(item, before, None))
    return IngestWork(tuple(work), (), unchanged)


def _happened(
    item: DocumentWork, before: KnownDocument | None, origin: KnownDocument | None
) -> DocumentWork:
    """The work with its event: a known id was changed, a new one was added."""
    if before is not None and before.path == item.path:
        return replace(item, event=Happened.CHANGED)
    if before is not None:
        return replace(item, event=Happened.CHANGED, formerly=before.path)
    if origin is None:
        return replace(item, event=Happened.ADDED)
    return replace(
        item,
        event=Happened.ADDED,
        formerly=origin.path,
        formerly_revision=revision_id(origin.id, origin.sha256),
    )


def _origins(
    known: LastIngest,
    facts: Mapping[str, DocumentFacts],
    wanted: Mapping[str, str],
    by_path: Mapping[str, KnownDocument],
    renamed: Callable[[], Mapping[str, str]],
) -> dict[str, KnownDocument]:
    """New path to the document that was renamed to it: the same bytes, or git says so."""
    lost = {path: each for path, each in by_path.items() if path not in wanted}
    new = [path for path in facts if path not in by_path]
    if not lost or not new or known.base is None:
        return {}
    by_hash = {each.sha256: each for each in lost.values()}
    same = ((path, by_hash.get(facts[path].sha256)) for path in new)
    found = {path: origin for path, origin in same if origin is not None}
    if len(found) == len(new):
        return found
    told = renamed()
    moved = {path: lost[told[path]] for path in new if told.get(path) in lost}
    return moved | found


def _wanted(document: KnownDocument) -> str:
    return document.entry.wanted_id if document.entry is not None else document.id


def _fact_of(document: KnownDocument) -> DocumentFacts:
    links = document.entry.links if document.entry is not None else ()
    unresolved = tuple(dict.fromkeys(replace(link, target=None) for link in links))
    return DocumentFacts(document.path, document.sha256, _wanted(document), unresolved)


def _clash(path: str, holder: str | None, given: str) -> list[Problem]:
    if holder is None:
        return []
    message = (
        f"{holder} comes first in path order and has the id that this file would get; "
        f"it is {given} now: rename one of them, or give it an `id` of its own."
    )
    return [Problem(path, None, "id_clash", Level.WARNING, message)]
