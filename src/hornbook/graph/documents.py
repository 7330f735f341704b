"""Gets documents, revisions and the catalog back from the graph."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hornbook.graph.statements import (
    entity,
    iri,
    parse_includes,
    parse_problem,
    signature,
    unnumbered,
)
from hornbook.graph.store import GraphStore
from hornbook.rules.catalog import Catalog, Entry, Removed, Revision
from hornbook.rules.code.file import CodeFile, Signature
from hornbook.rules.document import Chunk, DecisionFacts, Document, Link, Pattern, Problem
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import graph_iri
from hornbook.vocabulary.predicates import Predicate
from hornbook.vocabulary.terms import Activation, Category, Scope, Severity

Triples = Mapping[str, list[str]]


def catalog(store: GraphStore) -> Catalog:
    """The metadata of every current document, and what is left of the others, by the graph."""
    things = _by_subject(store.rows("catalog"))
    counts = {graph: int(count) for graph, count in store.rows("graph_sizes")}
    entries = tuple(
        entry(entity_id, things[entity_id], counts[graph_iri(entity_id)])
        for entity_id in sorted(things)
    )
    return Catalog(
        entries=entries,
        removed=removed_documents(store),
        signatures={signature(triples): tuple(sorted(triples)) for triples in things.values()},
    )


def removed_documents(store: GraphStore) -> tuple[Removed, ...]:
    """The documents whose file is gone, in id order."""
    rows = store.rows("removed")
    return tuple(Removed(entity_id, path, at) for entity_id, path, at in sorted(rows))


def document(store: GraphStore, document_id: str) -> Document | None:
    """One current document whole, with its chunks, or None."""
    things = _by_subject(store.rows("document", graph=iri(graph_iri(document_id))))
    parent = things.pop(document_id, None)
    if parent is None:
        return None
    chunks = sorted(map(_chunk, things.values()), key=lambda chunk: chunk.index)
    return _document(document_id, parent, tuple(chunks))


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
    things = _by_subject(store.rows("revisions", document=entity(document_id)))
    return tuple(
        Revision(
            id=revision_id,
            document_id=document_id,
            sha256=_one(triples, p.CONTENT_HASH),
            path=_one(triples, p.LOCATION),
            began=_many(triples, p.GENERATED_AT),
            ended=_many(triples, p.INVALIDATED_AT),
            derived_from=_many(triples, p.DERIVED_FROM),
        )
        for revision_id, triples in sorted(things.items())
    )


def entry(entity_id: str, triples: Triples, count: int) -> Entry:
    """A document's metadata from its triples; its named graph has `count` of them."""
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
        patterns=_patterns(triples),
        domains=_many(triples, p.DOMAIN),
        keywords=_many(triples, p.KEYWORDS),
        inferred=_many(triples, p.INFERRED),
        links=_links(triples),
        formerly=_many(triples, p.FORMERLY),
        link=_one(triples, p.LINK_TARGET),
        includes=parse_includes(triples.get(p.INCLUDE.name, ())),
        only_includes=p.ONLY_INCLUDES.name in triples,
        problems=_problems(path, triples),
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
        facts=tuple(sorted(set(document.facts))),
        problems=tuple(sorted(set(document.problems), key=problem_order)),
    )


def _deciders_in_order(facts: DecisionFacts | None) -> DecisionFacts | None:
    return facts and replace(facts, deciders=tuple(sorted(set(facts.deciders))))


def _document(entity_id: str, triples: Triples, chunks: tuple[Chunk, ...]) -> Document:
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
        patterns=_patterns(triples),
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
        links=_links(triples),
        facts=_facts(triples),
        link=_one(triples, p.LINK_TARGET),
        includes=parse_includes(triples.get(p.INCLUDE.name, ())),
        only_includes=p.ONLY_INCLUDES.name in triples,
        chunks=chunks,
        tokens=int(_one(triples, p.TOKENS)),
        problems=_problems(path, triples),
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


def _patterns(triples: Triples) -> tuple[Pattern, ...]:
    read = (json.loads(text) for text in triples.get(p.APPLIES_TO_RAW.name, ()))
    patterns = (Pattern(glob, raw, line) for glob, line, raw in read)
    return tuple(sorted(patterns, key=pattern_order))


def pattern_order(pattern: Pattern) -> tuple[int, str, str]:
    """The order in which a document's patterns are kept: by line, then by text."""
    return (pattern.line or 0, pattern.glob, pattern.raw)


def link_order(link: Link) -> tuple[str, str, int]:
    """The order in which a document's links are kept."""
    return (link.relation, link.reference, link.line or 0)


def problem_order(problem: Problem) -> tuple[int, str, str]:
    """The order in which a document's problems are kept and told: by line."""
    return (problem.line or 0, problem.code, problem.message)


def _links(triples: Triples) -> tuple[Link, ...]:
    read = (json.loads(text) for text in triples.get(p.REFERENCE.name, ()))
    return tuple(sorted((Link(*fields) for fields in read), key=link_order))


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


def _problems(path: str, triples: Triples) -> tuple[Problem, ...]:
    found = [parse_problem(path, text) for text in triples.get(p.META_ERROR.name, ())]
    return tuple(sorted(found, key=problem_order))


def _one(triples: Triples, predicate: Predicate) -> str:
    return next(iter(triples.get(predicate.name, ())), "")


def _many(triples: Triples, predicate: Predicate) -> tuple[str, ...]:
    return tuple(sorted(triples.get(predicate.name, ())))


def _by_subject(rows: Iterable[tuple[str, ...]]) -> dict[str, dict[str, list[str]]]:
    things: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for subject, predicate, value in rows:
        things[subject][predicate].append(value)
    return things
