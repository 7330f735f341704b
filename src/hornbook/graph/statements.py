"""What the graph says of a document: its current state, its past, and the store itself."""

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256

from hornbook.rules.catalog import Catalog, Removed, Revision
from hornbook.rules.document import Document, Include, Link, Pattern, Problem, Unread, chunk_id
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import class_iri, entity_iri, name_of, predicate_iri
from hornbook.vocabulary.predicates import CLASS_OF, Class, Datatype, Predicate
from hornbook.vocabulary.terms import Level

XSD = "http://www.w3.org/2001/XMLSchema#"

_TYPED = {
    Datatype.INTEGER: f"^^<{XSD}integer>",
    Datatype.DATE_TIME: f"^^<{XSD}dateTime>",
}


def iri(value: str) -> str:
    """An IRI of ours as a term: the codec leaves no character in it that could end it early."""
    return f"<{value}>"


def literal(text: str) -> str:
    """A plain string as a term. JSON's escapes are all valid in N-Triples and SPARQL."""
    return json.dumps(text, ensure_ascii=False)


def entity(entity_id: str) -> str:
    """An entity of ours as a term."""
    return f"<{entity_iri(entity_id)}>"


def value(predicate: Predicate, content: str | int) -> str:
    """A value as the term that the predicate's datatype asks for."""
    if predicate.datatype is Datatype.STRING:
        return json.dumps(content, ensure_ascii=False)
    if predicate.datatype is Datatype.ENTITY:
        return entity(str(content))
    if predicate.datatype is Datatype.CLASS:
        return iri(class_iri(str(content)))
    return f'"{content}"{_TYPED[predicate.datatype]}'


class SubjectStatements:
    """Collects the statements about one thing, each as `<subject> <predicate> object`."""

    def __init__(self, entity_id: str, statements: list[str]) -> None:
        self.term = entity(entity_id)
        self._statements = statements

    def say(self, predicate: Predicate, content: str | int | None) -> None:
        """State one value; None and the empty string state nothing."""
        if content is not None and content != "":
            term = value(predicate, content)
            self._statements.append(f"{self.term} {PREDICATE_TERM[predicate.name]} {term}")

    def each(self, predicate: Predicate, contents: Iterable[str]) -> None:
        """State every distinct value of a repeated predicate."""
        for content in dict.fromkeys(contents):
            self.say(predicate, content)


class _PredicateTerms(dict[str, str]):
    def __missing__(self, name: str) -> str:
        self[name] = term = f"<{predicate_iri(name)}>"
        return term


PREDICATE_TERM = _PredicateTerms()


SCHEMA = 1
STORE_ID = "store.current"

_PROBLEM = re.compile(r"(\w+) (\w+)(?: line (\d+))?: (.*)\Z", re.DOTALL)


def problem_text(problem: Problem) -> str:
    """A problem as one line of text, from which `parse_problem` gets it back."""
    line = "" if problem.line is None else f" line {problem.line}"
    return f"{problem.level} {problem.code}{line}: {problem.message}"


def parse_problem(path: str, text: str) -> Problem:
    """The problem that `problem_text` wrote."""
    match = _PROBLEM.match(text)
    if match is None:
        raise ValueError(f"not a problem as Hornbook writes it: {text!r}")
    level, code, line, message = match.groups()
    return Problem(path, int(line) if line else None, code, Level(level), message)


def pattern_text(pattern: Pattern) -> str:
    """A pattern with its line and raw text, as JSON."""
    return json.dumps([pattern.glob, pattern.line, pattern.raw], ensure_ascii=False)


def link_text(link: Link) -> str:
    """A reference as it was written, with the id it leads to, as JSON."""
    fields = [link.relation, link.reference, link.line, link.target]
    return json.dumps(fields, ensure_ascii=False)


def include_text(number: int, include: Include) -> str:
    """An include with its place among those of its rule, as JSON."""
    fields = [
        number,
        include.path,
        include.by,
        include.line,
        include.sha256,
        include.tokens,
        include.id,
        include.unread or "",
        *([include.globs] if include.globs else []),
    ]
    return json.dumps(fields, ensure_ascii=False)


def parse_includes(texts: Iterable[str]) -> tuple[Include, ...]:
    """The includes that `include_text` wrote, in order."""
    read = sorted(json.loads(text) for text in texts)
    return tuple(
        Include(
            *(path, by, line, digest, tokens, name),
            unread=Unread(unread) if unread else None,
            globs=tuple(globs[0]) if globs else (),
        )
        for _, path, by, line, digest, tokens, name, unread, *globs in read
    )


def numbered(items: Sequence[str]) -> list[str]:
    """Ordered values with their number in front, since RDF keeps no order."""
    return [f"{number}. {item}" for number, item in enumerate(items, 1)]


def unnumbered(values: Iterable[str]) -> tuple[str, ...]:
    """The values that `numbered` wrote, in order."""
    pairs = (value.split(". ", 1) for value in values)
    return tuple(text for _, text in sorted((int(number), text) for number, text in pairs))


def current(document: Document, wanted_id: str, formerly: Sequence[str] = ()) -> list[str]:
    """The statements of a document's named graph: the parent and its chunks."""
    statements: list[str] = []
    parent = SubjectStatements(document.id, statements)
    _say_parent(parent, document)
    parent.each(p.FORMERLY, formerly)
    parent.say(p.CLASHES_WITH, wanted_id if wanted_id != document.id else None)
    for chunk in document.chunks:
        piece = SubjectStatements(chunk_id(document.id, chunk.index), statements)
        piece.say(p.RDF_TYPE, Class.DOCUMENT_CHUNK)
        piece.say(p.BELONGS, document.id)
        piece.say(p.CHUNK_INDEX, chunk.index)
        piece.say(p.SECTION, chunk.section)
        piece.say(p.START, chunk.start)
        piece.say(p.END, chunk.end)
        piece.say(p.TOKENS, chunk.tokens)
        piece.say(p.CONTENT, chunk.content)
    return statements


def _say_parent(say: SubjectStatements, document: Document) -> None:
    say.say(p.RDF_TYPE, CLASS_OF[document.category])
    say.say(p.TYPE, "document")
    say.say(p.TITLE, document.title)
    say.say(p.CATEGORY, document.category)
    say.say(p.ACTIVATION, document.activation)
    say.say(p.SEVERITY, document.severity)
    say.say(p.SCOPE, document.scope)
    say.say(p.SUMMARY, document.summary)
    say.say(p.MIME_TYPE, document.mime_type)
    say.say(p.TOOL, document.tool)
    say.say(p.FILE_PATH, document.path)
    say.say(p.FILE_HASH, document.sha256)
    say.say(p.HEAD, document.head)
    say.say(p.TOKENS, document.tokens)
    say.say(p.CHUNK_COUNT, len(document.chunks))
    say.say(p.REVISION, document.revision)
    say.each(p.APPLIES_TO, (pattern.glob for pattern in document.patterns))
    say.each(p.APPLIES_TO_RAW, map(pattern_text, document.patterns))
    say.each(p.REQUIREMENTS, numbered(document.requirements))
    say.each(p.DOMAIN, document.domains)
    say.each(p.RELATED_DOMAINS, document.related_domains)
    say.each(p.KEYWORDS, document.keywords)
    say.each(p.INFERRED, document.inferred)
    say.say(p.LINK_TARGET, document.link)
    say.each(p.INCLUDE, (include_text(*each) for each in enumerate(document.includes, 1)))
    say.each(p.INCLUDES, (each.id for each in document.includes))
    say.say(p.ONLY_INCLUDES, "true" if document.only_includes else None)
    _say_meta(say, document)
    _say_decision(say, document)
    for name, value in document.facts:
        say.say(p.PREDICATES[name], value)


def _say_meta(say: SubjectStatements, document: Document) -> None:
    failed = any(problem.level is Level.ERROR for problem in document.problems)
    say.say(p.META_TYPE, "document")
    say.say(p.META_NAME, document.path.rpartition("/")[2])
    say.say(p.META_STATUS, "error" if failed else "ready")
    say.say(p.META_PROJECT, document.project)
    say.say(p.META_ADDED_BY, document.added_by)
    say.say(p.META_ADDED_AT, document.added_at)
    say.say(p.META_AUTHORITY, document.authority)
    say.each(p.META_ERROR, map(problem_text, document.problems))


def _say_decision(say: SubjectStatements, document: Document) -> None:
    if document.decision is not None:
        say.say(p.DECISION_STATUS, document.decision.status)
        say.say(p.DECISION_DATE, document.decision.date)
        say.each(p.DECISION_DECIDERS, document.decision.deciders)
    for link in document.links:
        say.say(p.REFERENCE, link_text(link))
        say.say(p.LINKS[link.relation], link.target)


def history(document_id: str, revisions: Iterable[Revision], removed: Removed | None) -> list[str]:
    """The statements of a document's history graph: revisions, and the tombstone if it is gone."""
    statements: list[str] = []
    for revision in revisions:
        say = SubjectStatements(revision.id, statements)
        say.say(p.RDF_TYPE, Class.REVISION)
        say.say(p.REVISION_OF, document_id)
        say.say(p.CONTENT_HASH, revision.sha256)
        say.say(p.LOCATION, revision.path)
        say.each(p.DERIVED_FROM, revision.derived_from)
        say.each(p.GENERATED_AT, revision.began)
        say.each(p.INVALIDATED_AT, revision.ended)
    if removed is not None:
        say = SubjectStatements(document_id, statements)
        say.say(p.RDF_TYPE, Class.TOMBSTONE)
        say.say(p.META_STATUS, "removed")
        say.say(p.LOCATION, removed.path)
        say.say(p.INVALIDATED_AT, removed.at)
    return statements


def meta(catalog: Catalog) -> list[str]:
    """The statements about the store: its version, its predicates, its collections."""
    statements: list[str] = []
    carried = {name for names in catalog.signatures.values() for name in names}
    collections = {entry.id.rpartition(".")[0] for entry in catalog.entries}
    if any(entry.chunk_count for entry in catalog.entries):
        carried.update(CHUNK_PREDICATES)
    say = SubjectStatements(STORE_ID, statements)
    say.say(p.RDF_TYPE, Class.STORE)
    say.say(p.STORE_SCHEMA, SCHEMA)
    say.say(p.STORE_VERSION, catalog.version)
    say.each(p.STORE_PREDICATE, sorted(carried))
    say.each(p.STORE_COLLECTION, sorted(collections))
    return statements


CHUNK_PREDICATES = tuple(
    predicate.name
    for predicate in (
        p.RDF_TYPE,
        p.BELONGS,
        p.CHUNK_INDEX,
        p.SECTION,
        p.START,
        p.END,
        p.TOKENS,
        p.CONTENT,
    )
)


def carried_predicates(statements: Iterable[str], document_id: str) -> tuple[str, ...]:
    """The names of the predicates that a document itself carries, in order."""
    start = SubjectStatements(document_id, []).term + " "
    found = {
        line[len(start) :].split(" ", 1)[0][1:-1] for line in statements if line.startswith(start)
    }
    return tuple(sorted(map(name_of, found)))


def signature(names: Iterable[str]) -> str:
    """A short name for a set of predicates."""
    return sha256(" ".join(sorted(names)).encode()).hexdigest()[:8]


def quads(statements: Iterable[str], graph: str) -> str:
    """Statements as N-Quads in one named graph."""
    end = f" <{graph}> .\n"
    return "".join([line + end for line in statements])
