"""Gets documents, revisions and the catalog back from the graph."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hornbook.graph.statements import iri, is_ours, signature, unnumbered
from hornbook.graph.store import GraphStore
from hornbook.rules.catalog import Catalog, Entry, Removed, Revision
from hornbook.rules.code.file import CodeFile, Signature
from hornbook.rules.document import (
    Chunk,
    DecisionFacts,
    Document,
    Include,
    Link,
    Part,
    Pattern,
    Problem,
    Unread,
)
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.predicates import Predicate
from hornbook.vocabulary.terms import Activation, Category, Level, Scope, Severity

Triples = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class _Described:
    """What the graph says of a document and, by their ids, of the things below it."""

    triples: Triples
    things: Mapping[str, Triples]

    def parts(self, kind: str) -> list[Triples]:
        """The parts of one kind, in the order in which they were written."""
        names = self.triples.get(p.PART_KINDS[kind].link.name, ())
        ordered = sorted(names, key=lambda name: int(name.rpartition(".")[2]))
        return [self.things[name] for name in ordered]


def catalog(store: GraphStore) -> Catalog:
    """The metadata of every current document, and what is left of the others, by the graph."""
    things = _by_subject(store.rows("catalog"))
    parents = sorted(name for name, triples in things.items() if p.TYPE.name in triples)
    counts = {graph: int(count) for graph, count in store.rows("graph_sizes")}
    entries = tuple(
        _entry(name, _Described(things[name], things), counts[store.names.graph(name)])
        for name in parents
    )
    return Catalog(
        entries=entries,
        removed=removed_documents(store),
        signatures={signature(things[name]): tuple(sorted(things[name])) for name in parents},
        repository=store.names.repository,
        base_iri=store.names.base,
    )


def removed_documents(store: GraphStore) -> tuple[Removed, ...]:
    """The documents whose file is gone, in id order."""
    rows = store.rows("removed")
    return tuple(Removed(entity_id, path, at) for entity_id, path, at in sorted(rows))


def document(store: GraphStore, document_id: str) -> Document | None:
    """One current document whole, with its chunks, or None."""
    rows = store.rows("document", graph=iri(store.names.graph(document_id)))
    return _whole(document_id, rows)


def documents(store: GraphStore, ids: Iterable[str]) -> dict[str, Document]:
    """Several current documents whole, asked for at once; those that are not there are missing."""
    terms = " ".join(map(store.names.term, ids))
    rows: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for document_id, *statement in store.rows("documents", documents=terms) if terms else ():
        rows[document_id].append(tuple(statement))
    read = ((each, _whole(each, statements)) for each, statements in rows.items())
    return {each: found for each, found in read if found is not None}


def _whole(document_id: str, rows: Iterable[tuple[str, ...]]) -> Document | None:
    """A document from all that its named graph says."""
    things = _by_subject(rows)
    parent = things.pop(document_id, None)
    if parent is None:
        return None
    pieces = (triples for triples in things.values() if p.CHUNK_INDEX.name in triples)
    chunks = sorted(map(_chunk, pieces), key=lambda chunk: chunk.index)
    return _document(document_id, _Described(parent, things), tuple(chunks))


def code_file(document: Document) -> CodeFile:
    """The summary of a source file that its document keeps."""
    said: dict[str, list[str]] = defaultdict(list)
    for name, value in document.facts:
        said[name].append(value)
    found = [Signature.parse(text) for text in said[p.CODE_SIGNATURE.name]]
    ordered = sorted(found, key=lambda each: (each.line, each.depth, each.text))
    language = _one(said, p.CODE_LANGUAGE)
    return CodeFile(document.path, language, document.sha256, tuple(ordered))


def revisions(store: GraphStore, document_id: str) -> tuple[Revision, ...]:
    """The revisions of a document, in id order."""
    things = _by_subject(store.rows("revisions", document=store.names.term(document_id)))
    return tuple(
        Revision(
            id=revision_id,
            document_id=document_id,
            sha256=_one(triples, p.FILE_HASH),
            path=_one(triples, p.FILE_PATH),
            began=_many(triples, p.GENERATED_AT),
            ended=_many(triples, p.INVALIDATED_AT),
            derived_from=_many(triples, p.DERIVED_FROM),
        )
        for revision_id, triples in sorted(things.items())
    )


def _entry(entity_id: str, said: _Described, count: int) -> Entry:
    """A document's metadata from its triples; its named graph has `count` of them."""
    triples = said.triples
    path = _one(triples, p.FILE_PATH)
    return Entry(
        id=entity_id,
        path=path,
        sha256=_one(triples, p.FILE_HASH),
        title=_one(triples, p.TITLE),
        category=Category(_one(triples, p.CATEGORY)),
        activation=Activation(_one(triples, p.ACTIVATION)),
        severity=Severity(_one(triples, p.SEVERITY)),
        scope=Scope(_one(triples, p.SCOPE)),
        tool=_one(triples, p.TOOL),
        summary=_one(triples, p.SUMMARY),
        tokens=int(_one(triples, p.TOKENS)),
        chunk_count=int(_one(triples, p.CHUNK_COUNT)),
        triples=count,
        wanted_id=_one(triples, p.CLASHES_WITH) or entity_id,
        signature=signature(triples),
        patterns=_patterns(said),
        domains=_many(triples, p.DOMAIN),
        keywords=_many(triples, p.KEYWORDS),
        inferred=_many(triples, p.INFERRED),
        links=_links(said),
        formerly=_many(triples, p.FORMERLY),
        link=_one(triples, p.LINK_TARGET),
        includes=_includes(said),
        only_includes=p.ONLY_INCLUDES.name in triples,
        problems=_problems(path, said),
    )


def entry_of(
    document: Document,
    *,
    carried: Sequence[str],
    triples: int,
    wanted_id: str,
    formerly: tuple[str, ...],
) -> Entry:
    """The same metadata straight from the document that was written into the graph."""
    return Entry(
        id=document.id,
        path=document.path,
        sha256=document.sha256,
        title=document.title,
        category=document.category,
        activation=document.activation,
        severity=document.severity,
        scope=document.scope,
        tool=document.tool,
        summary=document.summary,
        tokens=document.tokens,
        chunk_count=len(document.chunks),
        triples=triples,
        wanted_id=wanted_id,
        signature=signature(carried),
        patterns=document.patterns,
        domains=document.domains,
        keywords=document.keywords,
        inferred=document.inferred,
        links=document.links,
        formerly=formerly,
        link=document.link,
        includes=document.includes,
        only_includes=document.only_includes,
        problems=document.problems,
    )


def in_order(document: Document) -> Document:
    """The document with every repeated value once, in the order that the graph gives back."""
    return replace(
        document,
        patterns=tuple(sorted(set(document.patterns), key=pattern_order)),
        domains=tuple(sorted(set(document.domains))),
        related_domains=tuple(sorted(set(document.related_domains))),
        keywords=tuple(sorted(set(document.keywords))),
        inferred=tuple(sorted(set(document.inferred))),
        decision=_deciders_in_order(document.decision),
        links=tuple(sorted(set(document.links), key=link_order)),
        includes=tuple(replace(e, globs=tuple(sorted(set(e.globs)))) for e in document.includes),
        facts=tuple(sorted(set(document.facts))),
        parts=tuple(sorted(map(_facts_in_order, document.parts), key=_part_order)),
        problems=tuple(sorted(set(document.problems), key=problem_order)),
    )


def _facts_in_order(part: Part) -> Part:
    return replace(part, facts=tuple(sorted(part.facts)))


def _part_order(part: Part) -> int:
    """By kind; within one kind the order of the record stays."""
    return tuple(p.PART_KINDS).index(part.kind)


def _deciders_in_order(facts: DecisionFacts | None) -> DecisionFacts | None:
    return facts and replace(facts, deciders=tuple(sorted(set(facts.deciders))))


def _document(entity_id: str, said: _Described, chunks: tuple[Chunk, ...]) -> Document:
    triples = said.triples
    path = _one(triples, p.FILE_PATH)
    return Document(
        id=entity_id,
        path=path,
        sha256=_one(triples, p.FILE_HASH),
        title=_one(triples, p.TITLE),
        category=Category(_one(triples, p.CATEGORY)),
        activation=Activation(_one(triples, p.ACTIVATION)),
        severity=Severity(_one(triples, p.SEVERITY)),
        scope=Scope(_one(triples, p.SCOPE)),
        mime_type=_one(triples, p.MIME_TYPE),
        tool=_one(triples, p.TOOL),
        head=_one(triples, p.HEAD),
        patterns=_patterns(said),
        summary=_one(triples, p.SUMMARY),
        requirements=unnumbered(triples.get(p.REQUIREMENTS.name, ())),
        domains=_many(triples, p.DOMAIN),
        related_domains=_many(triples, p.RELATED_DOMAINS),
        keywords=_many(triples, p.KEYWORDS),
        authority=_one(triples, p.META_AUTHORITY) or None,
        added_by=_one(triples, p.META_ADDED_BY) or None,
        added_at=_one(triples, p.META_ADDED_AT) or None,
        project=_one(triples, p.META_PROJECT) or None,
        inferred=_many(triples, p.INFERRED),
        decision=_decision(triples),
        links=_links(said),
        facts=_facts(triples),
        parts=_record_parts(said),
        link=_one(triples, p.LINK_TARGET),
        includes=_includes(said),
        only_includes=p.ONLY_INCLUDES.name in triples,
        chunks=chunks,
        tokens=int(_one(triples, p.TOKENS)),
        problems=_problems(path, said),
    )


def _chunk(triples: Triples) -> Chunk:
    return Chunk(
        index=int(_one(triples, p.CHUNK_INDEX)),
        section=_one(triples, p.SECTION),
        start=int(_one(triples, p.START)),
        end=int(_one(triples, p.END)),
        tokens=int(_one(triples, p.TOKENS)),
        content=_one(triples, p.CONTENT),
    )


def _patterns(said: _Described) -> tuple[Pattern, ...]:
    patterns = (
        Pattern(_one(each, p.PATTERN_GLOB), _one(each, p.PATTERN_RAW), _line(each, p.PATTERN_LINE))
        for each in said.parts("pattern")
    )
    return tuple(sorted(patterns, key=pattern_order))


def _includes(said: _Described) -> tuple[Include, ...]:
    return tuple(
        Include(
            path=_one(each, p.INCLUDE_PATH),
            by=_one(each, p.INCLUDE_BY),
            line=int(_one(each, p.INCLUDE_LINE)),
            sha256=_one(each, p.INCLUDE_HASH),
            tokens=int(_one(each, p.INCLUDE_TOKENS)),
            id=_one(each, p.INCLUDE_DOCUMENT),
            unread=Unread(_one(each, p.INCLUDE_UNREAD)) if p.INCLUDE_UNREAD.name in each else None,
            globs=_many(each, p.INCLUDE_GLOB),
        )
        for each in said.parts("include")
    )


def _record_parts(said: _Described) -> tuple[Part, ...]:
    return tuple(
        Part(kind, tuple(sorted((n, v) for n, v in _pairs(each) if n != p.RDF_TYPE.name)))
        for kind in ("finding", "objection")
        for each in said.parts(kind)
    )


def _pairs(triples: Triples) -> Iterable[tuple[str, str]]:
    return ((name, value) for name, values in triples.items() for value in values)


def pattern_order(pattern: Pattern) -> tuple[int, str, str]:
    """The order in which a document's patterns are kept: by line, then by text."""
    return (pattern.line or 0, pattern.glob, pattern.raw)


def link_order(link: Link) -> tuple[str, str, int]:
    """The order in which a document's links are kept."""
    return (link.relation, link.reference, link.line or 0)


def problem_order(problem: Problem) -> tuple[int, str, str]:
    """The order in which a document's problems are kept and told: by line."""
    return (problem.line or 0, problem.code, problem.message)


def _links(said: _Described) -> tuple[Link, ...]:
    links = (
        Link(
            relation=_one(each, p.MENTION_RELATION),
            reference=_one(each, p.MENTION_TEXT),
            line=_line(each, p.MENTION_LINE),
            target=_one(each, p.MENTION_TARGET) or None,
        )
        for each in said.parts("mention")
    )
    return tuple(sorted(links, key=link_order))


def _facts(triples: Triples) -> tuple[tuple[str, str], ...]:
    names = (predicate.name for predicate in p.FACTS)
    return tuple(sorted((name, value) for name in names for value in triples.get(name, ())))


def _decision(triples: Triples) -> DecisionFacts | None:
    if p.DECISION_STATUS.name not in triples:
        return None
    return DecisionFacts(
        status=_one(triples, p.DECISION_STATUS),
        date=_one(triples, p.DECISION_DATE) or None,
        deciders=_many(triples, p.DECISION_DECIDERS),
    )


def _problems(path: str, said: _Described) -> tuple[Problem, ...]:
    found = (
        Problem(
            path=path,
            line=_line(each, p.PROBLEM_LINE),
            code=_one(each, p.PROBLEM_CODE),
            level=Level(_one(each, p.PROBLEM_LEVEL)),
            message=_one(each, p.PROBLEM_MESSAGE),
        )
        for each in said.parts("problem")
    )
    return tuple(sorted(found, key=problem_order))


def _line(triples: Triples, predicate: Predicate) -> int | None:
    text = _one(triples, predicate)
    return int(text) if text else None


def _one(triples: Triples, predicate: Predicate) -> str:
    return next(iter(triples.get(predicate.name, ())), "")


def _many(triples: Triples, predicate: Predicate) -> tuple[str, ...]:
    return tuple(sorted(triples.get(predicate.name, ())))


def _by_subject(rows: Iterable[tuple[str, ...]]) -> dict[str, dict[str, list[str]]]:
    things: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for subject, predicate, value in rows:
        if is_ours(predicate, value):
            things[subject][predicate].append(value)
    return things
