"""RDF terms as N-Triples text: the one form in which statements are made, compared and sent."""

import json
from collections.abc import Iterable

from hornbook.vocabulary.names import class_iri, entity_iri, predicate_iri
from hornbook.vocabulary.predicates import Datatype, Predicate

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


class Subject:
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
