"""What the graph says of a document: its current state, its past, and the store itself."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256

from hornbook.rules.catalog import Catalog, Removed, Revision
from hornbook.rules.document import (
    Document,
    Fact,
    Include,
    Link,
    Part,
    Pattern,
    Problem,
    chunk_id,
    part_id,
)
from hornbook.vocabulary import predicates as p
from hornbook.vocabulary.names import (
    FOREIGN,
    PROV,
    RDF_TYPE,
    Namespace,
    class_iri,
    predicate_iri,
)
from hornbook.vocabulary.predicates import CLASS_OF, Class, Datatype, Predicate
from hornbook.vocabulary.terms import Level

XSD, RDFS, DCTERMS = FOREIGN["xsd"], FOREIGN["rdfs"], FOREIGN["dcterms"]
GENERAL = (class_iri(Class.DOCUMENT), class_iri(Class.SOURCE), f"{PROV}Entity")
"""The more general types of a document, which a tool that does not infer asks for."""
_GENERAL_NAMES = frozenset({Class.DOCUMENT.value, Class.SOURCE.value, f"{PROV}Entity"})
GENERAL_TYPES = tuple(f"<{each}>" for each in GENERAL)
_REVISION_TYPES = tuple(f"<{RDF_TYPE}> <{each}>" for each in GENERAL[1:])

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
_TYPED = {
    Datatype.INTEGER: f"^^<{XSD}integer>",
    Datatype.BOOLEAN: f"^^<{XSD}boolean>",
    Datatype.DECIMAL: f"^^<{XSD}decimal>",
    Datatype.DATE_TIME: f"^^<{XSD}dateTime>",
}


def iri(value: str) -> str:
    """An IRI of ours as a term: the codec leaves no character in it that could end it early."""
    return f"<{value}>"


def literal(text: str) -> str:
    """A plain string as a term. JSON's escapes are all valid in N-Triples and SPARQL."""
    return json.dumps(text, ensure_ascii=False)


def value(predicate: Predicate, content: str | int, names: Namespace) -> str:
    """A value as the term that the predicate's datatype asks for."""
    if predicate.datatype is Datatype.STRING:
        return json.dumps(content, ensure_ascii=False)
    if predicate.datatype is Datatype.ENTITY:
        return names.term(str(content))
    if predicate.datatype is Datatype.CLASS:
        return iri(class_iri(str(content)))
    if predicate.datatype is Datatype.MOMENT:
        return literal(str(content)) + _moment(str(content))
    return f'"{content}"{_TYPED[predicate.datatype]}'


def _moment(text: str) -> str:
    """The datatype of what an author calls a date, if it is one."""
    kind = "date" if _DAY.fullmatch(text) else "dateTime" if _TIME.fullmatch(text) else ""
    try:
        datetime.fromisoformat(text)
    except ValueError:  # no such day or hour
        return ""
    return f"^^<{XSD}{kind}>" if kind else ""


class SubjectStatements:
    """Collects the statements about one thing, each as `<subject> <predicate> object`."""

    def __init__(self, entity_id: str, statements: list[str], names: Namespace) -> None:
        self.term = names.term(entity_id)
        self._names = names
        self._statements = statements

    def say(self, predicate: Predicate, content: str | int | None) -> None:
        """State one value; None and the empty string state nothing."""
        if content is not None and content != "":
            term = value(predicate, content, self._names)
            self._statements.append(f"{self.term} {PREDICATE_TERM[predicate.name]} {term}")

    def each(self, predicate: Predicate, contents: Iterable[str]) -> None:
        """State every distinct value of a repeated predicate."""
        for content in dict.fromkeys(contents):
            self.say(predicate, content)

    def standard(self, terms: Iterable[str]) -> None:
        """State what foreign tools look for, in the terms of a standard."""
        self._statements += [f"{self.term} {each}" for each in terms]


class _PredicateTerms(dict[str, str]):
    def __missing__(self, name: str) -> str:
        self[name] = term = f"<{predicate_iri(name)}>"
        return term


PREDICATE_TERM = _PredicateTerms()

SCHEMA = 2
STORE_ID = "store.current"


def problem_facts(problem: Problem) -> tuple[Fact, ...]:
    """What the graph says of a document's problem."""
    return _stated(
        (p.PROBLEM_LEVEL, problem.level),
        (p.PROBLEM_CODE, problem.code),
        (p.PROBLEM_LINE, problem.line),
        (p.PROBLEM_MESSAGE, problem.message),
    )


def pattern_facts(pattern: Pattern) -> tuple[Fact, ...]:
    """What the graph says of a pattern: our form, the text as it stands in the file, its line."""
    return _stated(
        (p.PATTERN_GLOB, pattern.glob), (p.PATTERN_RAW, pattern.raw), (p.PATTERN_LINE, pattern.line)
    )


def mention_facts(link: Link) -> tuple[Fact, ...]:
    """What the graph says of a reference: as it was written, and what it leads to."""
    return _stated(
        (p.MENTION_RELATION, link.relation),
        (p.MENTION_TEXT, link.reference),
        (p.MENTION_LINE, link.line),
        (p.MENTION_TARGET, link.target),
    )


def include_facts(include: Include) -> tuple[Fact, ...]:
    """What the graph says of a file that is read with a rule."""
    return _stated(
        (p.INCLUDE_PATH, include.path),
        (p.INCLUDE_BY, include.by),
        (p.INCLUDE_LINE, include.line),
        (p.INCLUDE_HASH, include.sha256),
        (p.INCLUDE_TOKENS, include.tokens),
        (p.INCLUDE_DOCUMENT, include.id),
        (p.INCLUDE_UNREAD, include.unread),
        *((p.INCLUDE_GLOB, glob) for glob in include.globs),
    )


def _stated(*facts: tuple[Predicate, str | int | None]) -> tuple[Fact, ...]:
    return tuple((predicate.name, str(said)) for predicate, said in facts if said not in {None, ""})


def parts_of(document: Document) -> list[Part]:
    """Everything that a document is described with and that has facts of its own, in order."""
    return [
        *(Part("pattern", pattern_facts(each)) for each in document.patterns),
        *(Part("include", include_facts(each)) for each in document.includes),
        *(Part("mention", mention_facts(each)) for each in document.links),
        *(Part("problem", problem_facts(each)) for each in document.problems),
        *document.parts,
    ]


def numbered(items: Sequence[str]) -> list[str]:
    """Ordered values with their number in front, since RDF keeps no order."""
    return [f"{number}. {item}" for number, item in enumerate(items, 1)]


def unnumbered(values: Iterable[str]) -> tuple[str, ...]:
    """The values that `numbered` wrote, in order."""
    pairs = (value.split(". ", 1) for value in values)
    return tuple(text for _, text in sorted((int(number), text) for number, text in pairs))


def current(
    document: Document, wanted_id: str, names: Namespace, formerly: Sequence[str] = ()
) -> list[str]:
    """The statements of a document's named graph: the parent, its chunks and its parts."""
    statements: list[str] = []
    parent = SubjectStatements(document.id, statements, names)
    _say_parent(parent, document)
    parent.each(p.FORMERLY, formerly)
    parent.say(p.CLASHES_WITH, wanted_id if wanted_id != document.id else None)
    parent.standard(_standard_terms(document))
    for chunk in document.chunks:
        piece = SubjectStatements(chunk_id(document.id, chunk.index), statements, names)
        piece.say(p.RDF_TYPE, Class.DOCUMENT_CHUNK)
        piece.say(p.BELONGS, document.id)
        piece.say(p.CHUNK_INDEX, chunk.index)
        piece.say(p.SECTION, chunk.section)
        piece.say(p.START, chunk.start)
        piece.say(p.END, chunk.end)
        piece.say(p.TOKENS, chunk.tokens)
        piece.say(p.CONTENT, chunk.content)
        piece.standard([f"<{DCTERMS}isPartOf> {parent.term}"])
    _say_parts(parent, document, statements, names)
    return statements


def _say_parts(
    parent: SubjectStatements, document: Document, statements: list[str], names: Namespace
) -> None:
    numbers: Counter[str] = Counter()
    for part in parts_of(document):
        numbers[part.kind] += 1
        kind = p.PART_KINDS[part.kind]
        name = part_id(document.id, part.kind, numbers[part.kind])
        parent.say(kind.link, name)
        say = SubjectStatements(name, statements, names)
        say.say(p.RDF_TYPE, kind.of)
        for fact, said in part.facts:
            say.say(p.PREDICATES[fact], said)


def _standard_terms(document: Document) -> list[str]:
    """Labels, titles and types in the terms of the W3C and of Dublin Core."""
    title = literal(document.title)
    return [
        f"<{RDFS}label> {title}",
        f"<{DCTERMS}title> {title}",
        f"<{DCTERMS}identifier> {literal(document.id)}",
        *(f"{PREDICATE_TERM[p.RDF_TYPE.name]} {each}" for each in GENERAL_TYPES),
    ]


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
    say.each(p.REQUIREMENTS, numbered(document.requirements))
    say.each(p.DOMAIN, document.domains)
    say.each(p.RELATED_DOMAINS, document.related_domains)
    say.each(p.KEYWORDS, document.keywords)
    say.each(p.INFERRED, document.inferred)
    say.say(p.LINK_TARGET, document.link)
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


def _say_decision(say: SubjectStatements, document: Document) -> None:
    if document.decision is not None:
        say.say(p.DECISION_STATUS, document.decision.status)
        say.say(p.DECISION_DATE, document.decision.date)
        say.each(p.DECISION_DECIDERS, document.decision.deciders)
    for link in document.links:
        say.say(p.LINKS[link.relation], link.target)


def history(
    document_id: str, revisions: Iterable[Revision], removed: Removed | None, names: Namespace
) -> list[str]:
    """The statements of a document's history graph: revisions, and the tombstone if it is gone."""
    statements: list[str] = []
    for revision in revisions:
        say = SubjectStatements(revision.id, statements, names)
        say.say(p.RDF_TYPE, Class.REVISION)
        say.standard(_REVISION_TYPES)
        say.say(p.REVISION_OF, document_id)
        say.say(p.FILE_HASH, revision.sha256)
        say.say(p.FILE_PATH, revision.path)
        say.each(p.DERIVED_FROM, revision.derived_from)
        say.each(p.GENERATED_AT, revision.began)
        say.each(p.INVALIDATED_AT, revision.ended)
    if removed is not None:
        say = SubjectStatements(document_id, statements, names)
        say.say(p.RDF_TYPE, Class.TOMBSTONE)
        say.say(p.META_STATUS, "removed")
        say.say(p.FILE_PATH, removed.path)
        say.say(p.INVALIDATED_AT, removed.at)
    return statements


def meta(catalog: Catalog) -> list[str]:
    """The statements about the store: its version, its predicates, its collections."""
    statements: list[str] = []
    carried = {name for names in catalog.signatures.values() for name in names}
    collections = {entry.id.rpartition(".")[0] for entry in catalog.entries}
    if any(entry.chunk_count for entry in catalog.entries):
        carried.update(CHUNK_PREDICATES)
    say = SubjectStatements(STORE_ID, statements, catalog.names)
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


def carried_predicates(
    statements: Iterable[str], document_id: str, names: Namespace
) -> tuple[str, ...]:
    """The names of the predicates that a document itself carries, in order."""
    start = names.term(document_id) + " "
    found = {
        line[len(start) :].split(" ", 1)[0][1:-1] for line in statements if line.startswith(start)
    }
    return tuple(sorted(name for name in map(names.name_of, found) if is_ours(name)))


def is_ours(name: str, said: str = "") -> bool:
    """Whether a statement is shown by its dotted name; others only repeat it for foreign tools."""
    return ":" not in name and not (name == p.RDF_TYPE.name and said in _GENERAL_NAMES)


def signature(names: Iterable[str]) -> str:
    """A short name for a set of predicates."""
    return sha256(" ".join(sorted(names)).encode()).hexdigest()[:8]


def quads(statements: Iterable[str], graph: str) -> str:
    """Statements as N-Quads in one named graph."""
    end = f" <{graph}> .\n"
    return "".join([line + end for line in statements])
