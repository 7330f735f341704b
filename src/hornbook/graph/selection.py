"""Which entities a filter asks for, a page at a time."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from hornbook.graph.statements import CHUNK_PREDICATES
from hornbook.graph.store import GraphStore
from hornbook.rules.binding import RuleBook
from hornbook.rules.catalog import Catalog, Entry
from hornbook.rules.document import chunk_id
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import within

_REVISION_PREDICATES = (
    p.RDF_TYPE.name,
    p.REVISION_OF.name,
    p.FILE_HASH.name,
    p.FILE_PATH.name,
    p.DERIVED_FROM.name,
    p.GENERATED_AT.name,
    p.INVALIDATED_AT.name,
)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entities are asked for; what is None does not matter."""

    predicate_prefix: str | None = None
    carries: str | None = None
    id_prefix: str | None = None
    category: str | None = None
    severity: str | None = None
    applies_to: str | None = None
    text: str | None = None
    derived_from: str | None = None
    include_chunks: bool = False
    include_revisions: bool = False


class Selection:
    """Looks filters up in the catalog; only what it cannot know is asked of the graph."""

    def __init__(
        self,
        store: Callable[[], GraphStore],
        catalog: Catalog,
        ids: Sequence[str],
        rules: Callable[[], RuleBook],
    ) -> None:
        """`store` opens the graph and `rules` compiles them: only few filters need either."""
        self._store = store
        self._catalog = catalog
        self._ids = ids
        self._rules = rules

    def page(self, asked: Filter, first: int, after: str | None) -> tuple[list[str], bool]:
        """A page of ids in id order, and whether more follow."""
        if asked.include_chunks or asked.include_revisions:
            ids = self._with_parts(asked)
            start = bisect_right(ids, after) if after is not None else 0
            return ids[start : start + first], start + first < len(ids)
        page = [entry.id for entry in islice(self._chosen(asked, after), first + 1)]
        return page[:first], len(page) > first

    def _chosen(self, asked: Filter, after: str | None) -> Iterator[Entry]:
        """The documents that fit, one by one in id order: a page costs what it shows."""
        carried = self._carriers(asked.predicate_prefix)
        floor = asked.id_prefix or ""
        if not carried and asked.predicate_prefix is not None:
            floor = max(floor, asked.predicate_prefix)
        start = bisect_left(self._ids, floor)
        if after is not None:
            start = max(start, bisect_right(self._ids, after))
        fits = self._condition(asked)
        for entry in islice(self._catalog.entries, start, None):
            if floor and not entry.id.startswith(floor):
                return
            if _named(entry.id, asked, carried=entry.signature in carried) and fits(entry):
                yield entry

    def _carriers(self, prefix: str | None) -> frozenset[str]:
        """The signatures of documents that carry a predicate below the prefix."""
        if prefix is None:
            return frozenset()
        return frozenset(
            signature
            for signature, names in self._catalog.signatures.items()
            if any(within(name, prefix) for name in names)
        )

    def _condition(self, asked: Filter) -> Callable[[Entry], bool]:
        """Whether a document has what is asked for, apart from names."""
        conditions: list[Callable[[Entry], bool]] = [lambda entry: _fits(entry, asked)]
        if asked.applies_to is not None:
            bound = {binding.rule.id for binding in self._rules().bind(asked.applies_to)}
            conditions.append(lambda entry: entry.id in bound)
        if asked.derived_from is not None:
            store = self._store()
            rows = store.rows("inbound", objects=store.names.term(asked.derived_from))
            derived = {subject for subject, name, _ in rows if name == p.DERIVED_FROM.name}
            conditions.append(lambda entry: entry.id in derived)
        if asked.carries is not None:
            carriers = self._carriers(asked.carries)
            conditions.append(lambda entry: entry.signature in carriers)
        return lambda entry: all(holds(entry) for holds in conditions)

    def _with_parts(self, asked: Filter) -> list[str]:
        """Every id that fits, chunks and revisions among them, sorted."""
        fits = self._condition(asked)
        chosen = [entry for entry in self._catalog.entries if fits(entry)]
        carried = self._carriers(asked.predicate_prefix)
        ids = [
            entry.id
            for entry in chosen
            if _named(entry.id, asked, carried=entry.signature in carried)
        ]
        if asked.include_chunks:
            ids += _chunks(asked, chosen)
        if asked.include_revisions:
            ids += self._revisions(asked, {entry.id for entry in chosen})
        return sorted(ids)

    def _revisions(self, asked: Filter, documents: set[str]) -> list[str]:
        carried = _below(_REVISION_PREDICATES, asked)
        everything = asked == _only_names(asked)
        return [
            each
            for (each,) in self._store().rows("all_revisions")
            if _named(each, asked, carried=carried)
            and (everything or each.partition(".rev.")[0] in documents)
        ]


def _chunks(asked: Filter, chosen: Iterable[Entry]) -> list[str]:
    """The ids of the chunks of some documents, as far as their names are asked for."""
    carried = _below(CHUNK_PREDICATES, asked)
    pieces = (chunk_id(entry.id, n) for entry in chosen for n in range(1, entry.chunk_count + 1))
    return [each for each in pieces if _named(each, asked, carried=carried)]


def _fits(entry: Entry, asked: Filter) -> bool:
    if asked.category is not None and entry.category != asked.category:
        return False
    if asked.severity is not None and entry.severity != asked.severity:
        return False
    if asked.text is None:
        return True
    texts = (entry.title, entry.summary, entry.id, *entry.keywords, *entry.domains)
    told = "\n".join(texts).casefold()
    return all(word in told for word in asked.text.casefold().split())


def _named(entity_id: str, asked: Filter, *, carried: bool) -> bool:
    """Whether the id, or a predicate that the entity carries, lies below the prefixes."""
    if asked.id_prefix is not None and not within(entity_id, asked.id_prefix):
        return False
    prefix = asked.predicate_prefix
    return prefix is None or carried or within(entity_id, prefix)


def _below(names: Iterable[str], asked: Filter) -> bool:
    prefix = asked.predicate_prefix
    return prefix is not None and any(within(name, prefix) for name in names)


def _only_names(asked: Filter) -> Filter:
    """The filter without what only documents can answer."""
    return Filter(
        predicate_prefix=asked.predicate_prefix,
        id_prefix=asked.id_prefix,
        include_chunks=asked.include_chunks,
        include_revisions=asked.include_revisions,
    )
