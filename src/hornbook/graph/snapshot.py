"""One version of the graph with everything derived from it: what all answers are made from.

What the catalog alone can answer stands in `catalog_view`, which loads nothing of the graph.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from hornbook.errors import NotFound
from hornbook.graph import documents
from hornbook.graph.catalog_view import CatalogView
from hornbook.graph.extracts import Extracts, Pairs, in_order
from hornbook.graph.selection import Filter, Selection
from hornbook.graph.statements import iri, is_ours, literal
from hornbook.graph.store import AskedQuery, GraphStore, RecordingStore, Rows
from hornbook.rules.binding import Binding, RuleBook
from hornbook.rules.catalog import Catalog, Entry
from hornbook.rules.code.file import CodeFile, code_id
from hornbook.rules.document import Document
from hornbook.settings.settings import Settings
from hornbook.text.glob_index import GlobIndex
from hornbook.text.globs import parse_set
from hornbook.text.tokens import counter
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import within

if TYPE_CHECKING:
    from hornbook.rules.units import RulePart, RuleUnit


DOCUMENTS_KEPT = 256
"""How many whole documents a version keeps ready."""


@dataclass(frozen=True, slots=True)
class EntityTriples:
    """An entity with what the graph says of it, sorted."""

    id: str
    triples: Pairs


@dataclass(frozen=True, slots=True)
class Registry:
    """What the store says of itself; prefixes are expanded against it."""

    schema: int
    version: str
    predicates: tuple[str, ...]
    collections: tuple[str, ...]


class Snapshot(CatalogView):
    """Answers questions about one version of the graph; it never changes.

    `open_store` is called by the first question that the catalog and the extracts cannot answer.
    """

    def __init__(
        self,
        open_store: Callable[[], GraphStore],
        catalog: Catalog,
        settings: Settings,
        extracts: Extracts | None = None,
    ) -> None:
        super().__init__(catalog, settings)
        self._open_store = open_store
        self._extracts = extracts
        self._documents: dict[str, Document] = {}
        self._units: dict[tuple[str, ...], tuple[RuleUnit, ...]] = {}
        self._indexes: dict[tuple[str, ...], GlobIndex[str]] = {}
        self._matched: dict[tuple[str, ...], tuple[str, ...]] = {}

    @classmethod
    def empty(cls, settings: Settings) -> "Snapshot":
        """A graph that nothing was ever ingested into."""
        from hornbook.graph.oxigraph import OxigraphStore  # noqa: PLC0415  # start-up

        return cls(OxigraphStore.in_memory, Catalog(), settings)

    @cached_property
    def store(self) -> GraphStore:
        """The graph itself, to be asked by named queries.

        Raises:
            StoreError: It is damaged.
        """
        return self._open_store()

    def document(self, document_id: str) -> Document:
        """One current document whole.

        Raises:
            NotFound: There is none with this id.
        """
        found = documents.document(self.store, document_id)
        if found is None:
            raise self._missing(document_id)
        return found

    def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        """Several current documents whole, asked for at once; those that are not there are missing.

        The last ones that were asked for are kept: a version never changes.
        """
        found = {each: self._documents[each] for each in ids if each in self._documents}
        missing = [each for each in ids if each not in found]
        if missing:
            read = documents.documents(self.store, missing)
            found |= read
            self._documents |= read
            for each in list(self._documents)[: max(0, len(self._documents) - DOCUMENTS_KEPT)]:
                self._documents.pop(each, None)
        return found

    def units(
        self, document: Document, included: Sequence["RulePart"] = ()
    ) -> tuple["RuleUnit", ...]:
        """The units that a current document is judged by; none if it is judged as a whole.

        `included` are the texts that are part of the rule beside its own.
        """
        from hornbook.rules.units import units_of  # noqa: PLC0415  # start-up: it loads a parser

        key = (document.id, *(f"{part.path} {part.revision}" for part in included))
        if key not in self._units:
            limit = self.settings.review.section_tokens
            self._units[key] = units_of(document, counter(self.settings.counter), limit, included)
        return self._units[key]

    def recording(self) -> tuple["Snapshot", list["AskedQuery"]]:
        """The same graph, and the list in which it notes what it is asked from now on."""
        store = RecordingStore(self.store)
        other = copy(self)
        other.__dict__ |= {"store": store, "_matched": {}}
        return other, store.asked

    def matching_patterns(self, paths: Sequence[str]) -> tuple[str, ...]:
        """The patterns of documents that match one of the files; one that excludes matches none."""
        asked = tuple(paths)
        if asked not in self._matched:
            index = self._index(tuple(sorted(row[0] for row in self.store.rows("patterns"))))
            found = {pattern for path in asked for pattern, _ in index.match(path)}
            self._matched[asked] = tuple(sorted(found))
        return self._matched[asked]

    def _index(self, patterns: tuple[str, ...]) -> GlobIndex[str]:
        """Patterns, compiled once."""
        if patterns not in self._indexes:
            including = (each for each in patterns if not each.startswith("!"))
            self._indexes[patterns] = GlobIndex((each, parse_set([each])) for each in including)
        return self._indexes[patterns]

    def applicable(self, paths: Sequence[str]) -> list[tuple[Binding, frozenset[str]]]:
        """The rules that bind some of the files, as the graph has them, each with those files.

        The graph says which documents a pattern that matches leads to; what excludes a file, which
        of several texts counts and what is part of it is told by the rules themselves.
        """
        rows = self.store.rows("rules_by_pattern", patterns=self._terms(paths))
        found = self._entries(rows)
        nearest = self.settings.agents_merge == "nearest"
        return RuleBook(found, nearest=nearest).bind_all(paths)

    def decisions_by_pattern(self, paths: Sequence[str]) -> list[Entry]:
        """The decisions with a pattern that matches one of the files, in id order."""
        patterns = self._terms(paths)
        return self._entries(self.store.rows("decisions_by_pattern", patterns=patterns))

    def conventions_by_pattern(self, paths: Sequence[str]) -> list[Entry]:
        """The conventions with a pattern that matches one of the files, in id order."""
        patterns = self._terms(paths)
        return self._entries(self.store.rows("conventions_by_pattern", patterns=patterns))

    def _terms(self, paths: Sequence[str]) -> str:
        return " ".join(map(literal, self.matching_patterns(paths)))

    def _entries(self, rows: Rows) -> list[Entry]:
        return [self.by_id[row[0]] for row in sorted(rows) if row[0] in self.by_id]

    def code(self, path: str, data: bytes) -> CodeFile | None:
        """What the graph knows of a source file, if it knows this very content."""
        entry = self.by_id.get(code_id(path))
        if entry is None or entry.problems or entry.sha256 != sha256(data).hexdigest():
            return None
        return documents.code_file(self.document(entry.id))

    def plan_family(self, plan_id: str) -> dict[str, dict[str, list[str]]]:
        """A plan and its tasks, decisions, risks, runs and reviews, as the graph has them.

        Of anything that is no plan it is empty.
        """
        if not plan_id.startswith("plan."):
            return {}
        found: dict[str, dict[str, list[str]]] = {}
        plan = self.store.names.term(plan_id)
        for subject, name, value in sorted(self.store.rows("plan_family", plan=plan)):
            if is_ours(name, value):
                found.setdefault(subject, {}).setdefault(name, []).append(value)
        return found

    def related_files(self, path: str) -> list[str]:
        """The source files that a file imports or that import it, as far as the graph has them."""
        start = code_id(path)
        found = {
            end
            for inbound in (True, False)
            for source, name, target in self.edges([start], inbound=inbound)
            for end in (source, target)
            if name == p.CODE_IMPORTS.name
        }
        return sorted(self.by_id[each].path for each in found - {start} if each in self.by_id)

    def thing(self, entity_id: str) -> EntityTriples:
        """Whatever has this id: a document, chunk, revision, or what is left of a removed one.

        Raises:
            NotFound: Nothing has it.
        """
        extracted = self._extracted(entity_id)
        if extracted is not None:
            return EntityTriples(entity_id, extracted)
        rows = self.store.rows("entity", subject=self.store.names.term(entity_id))
        if not rows:
            raise self._missing(entity_id)
        return EntityTriples(entity_id, in_order((name, value) for name, value in rows))

    def describe(self, ids: Sequence[str]) -> list[EntityTriples]:
        """Several entities at once, in the order asked for."""
        found = {each: self._extracted(each) for each in ids}
        asked: dict[str, list[tuple[str, str]]] = {
            each: [] for each, extracted in found.items() if extracted is None
        }
        if asked:
            terms = " ".join(map(self.store.names.term, asked))
            for subject, predicate, value in self.store.rows("describe", subjects=terms):
                asked[subject].append((predicate, value))
        found.update({each: in_order(pairs) for each, pairs in asked.items()})
        return [EntityTriples(each, found[each] or ()) for each in ids]

    def _extracted(self, entity_id: str) -> Pairs | None:
        """What the graph says of a current document, if it was extracted."""
        if self._extracts is None:
            return None
        place = bisect_left(self.ids, entity_id)
        if place == len(self.ids) or self.ids[place] != entity_id:
            return None
        return self._extracts.of(place)

    def select(self, asked: Filter, first: int, after: str | None) -> tuple[list[str], bool]:
        """A page of ids in id order, and whether more follow."""
        selection = Selection(lambda: self.store, self.catalog, self.ids, lambda: self.rules)
        return selection.page(asked, first, after)

    @cached_property
    def registry(self) -> Registry:
        """What the store says of itself."""
        said: dict[str, list[str]] = {}
        for name, value in self.store.rows("meta", graph=iri(self.store.names.meta_graph)):
            said.setdefault(name, []).append(value)
        return Registry(
            schema=int(next(iter(said.get(p.STORE_SCHEMA.name, ())), "0")),
            version=next(iter(said.get(p.STORE_VERSION.name, ())), ""),
            predicates=tuple(sorted(said.get(p.STORE_PREDICATE.name, ()))),
            collections=tuple(sorted(said.get(p.STORE_COLLECTION.name, ()))),
        )

    def predicates(self, prefix: str | None = None) -> list[str]:
        """The predicates that something in the graph carries, below a prefix, sorted."""
        return [name for name in self._carried if not prefix or within(name, prefix)]

    @cached_property
    def _carried(self) -> list[str]:
        past = (row[0] for row in self.store.rows("history_predicates") if is_ours(row[0]))
        return sorted({*self.registry.predicates, *past})

    def edges(self, ids: Sequence[str], *, inbound: bool) -> list[tuple[str, str, str]]:
        """The edges that end in (or leave) some entities: source, predicate, target."""
        if not ids:
            return []
        terms = " ".join(map(self.store.names.term, ids))
        if inbound:
            rows = self.store.rows("inbound", objects=terms)
        else:
            rows = self.store.rows("outbound", subjects=terms)
        return sorted(
            (source, name, target)
            for source, name, target in rows
            if is_ours(name) and name != p.RDF_TYPE.name
        )

    def _missing(self, entity_id: str) -> NotFound:
        near = [each for each in self.ids if entity_id.rpartition(".")[2] in each][:3]
        hint = (
            f"did you mean {', '.join(near)}?"
            if near
            else "`hornbook query --text '{ entities { id } }'` lists what is there."
        )
        return NotFound(f"nothing has the id {entity_id!r}: {hint}")
