"""The ontology that the graph is written with: part of every store, and served in any form."""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import pyoxigraph as ox

from hornbook import resources
from hornbook.graph.store import NamedGraph
from hornbook.vocabulary.names import FOREIGN, ONTOLOGY, PREFIXES

FORMS = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}
_RDFS = FOREIGN["rdfs"]


@dataclass(frozen=True, slots=True)
class Term:
    """A class or property as people read it; links are the IRIs of other terms."""

    iri: str
    name: str
    kind: str
    label: str
    comment: str
    above: tuple[str, ...]
    domain: str
    range: str


@cache
def _triples(folder: str = "") -> tuple[ox.Triple, ...]:
    """The statements of the files in the vocabulary, or in a folder of it, sorted."""
    place = resources.folder("vocabulary") / folder
    found = {
        quad.triple
        for path in sorted(place.glob("*.ttl"))
        for quad in ox.parse(path.read_bytes(), format=ox.RdfFormat.TURTLE)
    }
    return tuple(sorted(found, key=str))


@cache
def named_graph() -> NamedGraph:
    """The ontology in the named graph that is called like it."""
    lines = _serialised(_triples(), ox.RdfFormat.N_TRIPLES).decode().splitlines()
    return NamedGraph(ONTOLOGY, tuple(line.removesuffix(" .") for line in lines))


@cache
def ontology(form: str, folder: str = "") -> bytes:
    """The ontology, or the shapes in its folder, in one of `FORMS`."""
    return _serialised(_triples(folder), FORMS[form])


def _serialised(content: "Iterable[ox.Triple] | Iterable[ox.Quad]", form: ox.RdfFormat) -> bytes:
    target = io.BytesIO()
    prefixes = PREFIXES if form in {ox.RdfFormat.TURTLE, ox.RdfFormat.RDF_XML} else None
    ox.serialize(content, target, format=form, prefixes=prefixes)
    return target.getvalue()


@cache
def terms() -> tuple[Term, ...]:
    """Every class and property, classes first, by name."""
    said: dict[str, dict[str, list[str]]] = {}
    for each in _triples():
        if isinstance(each.subject, ox.NamedNode) and not isinstance(each.object, ox.BlankNode):
            values = said.setdefault(each.subject.value, {})
            values.setdefault(each.predicate.value, []).append(_value(each.object))
    found = (_term(iri, values) for iri, values in said.items() if f"{_RDFS}label" in values)
    return tuple(sorted(found, key=lambda term: (term.kind != "Class", term.name)))


def _term(iri: str, said: dict[str, list[str]]) -> Term:
    def one(name: str) -> str:
        return next(iter(said.get(name, ())), "")

    kind = one(f"{FOREIGN['rdf']}type").rpartition("#")[2]
    above = (*said.get(f"{_RDFS}subClassOf", ()), *said.get(f"{_RDFS}subPropertyOf", ()))
    return Term(
        iri=iri,
        name=one(f"{FOREIGN['skos']}notation") or iri.rpartition("/")[2],
        kind=kind,
        label=one(f"{_RDFS}label"),
        comment=one(f"{_RDFS}comment"),
        above=tuple(sorted(above)),
        domain=one(f"{_RDFS}domain"),
        range=one(f"{_RDFS}range"),
    )


def _value(term: object) -> str:
    return term.value if isinstance(term, ox.NamedNode | ox.Literal) else ""
