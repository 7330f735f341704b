"""The codec between dotted names and IRIs: a bijection, tested as such.

A dot separates segments and becomes a slash. Inside a segment the unreserved characters of RFC 3986
stand as they are and everything else is percent-encoded once, as UTF-8, so that an IRI of ours is
equal to what any client makes of it by normalisation.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from hornbook.vocabulary.predicates import PREDICATES, W3C

BASE = "https://w3id.org/hornbook/"
PREDICATE = BASE + "p/"
CLASS = BASE + "c/"
ONTOLOGY = BASE + "vocabulary"

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
RDF_TYPE_NAME = "rdf.type"
PROV = "http://www.w3.org/ns/prov#"

STANDARD: dict[str, str] = {
    RDF_TYPE_NAME: RDF_TYPE,
    **{name: PROV + term for name, term in W3C.items()},
}
"""The predicates that a standard defines: our dotted name, and the standard's IRI."""
_DOTTED = {iri: name for name, iri in STANDARD.items()}

_PLAIN = re.compile(r"[A-Za-z0-9_.~-]*\Z")
_OUTSIDE = re.compile(rb"[^A-Za-z0-9_~-]")


def _encode_segment(segment: str) -> str:
    data = segment.encode()
    return _OUTSIDE.sub(lambda match: b"%%%02X" % match.group()[0], data).decode("ascii")


def encode(name: str) -> str:
    """The path of an IRI for a dotted name."""
    if _PLAIN.match(name):
        return name.replace(".", "/")
    return "/".join(_encode_segment(segment) for segment in name.split("."))


def decode(path: str) -> str:
    """The dotted name of an IRI's path."""
    if "%" in path:
        return ".".join(unquote(segment) for segment in path.split("/"))
    return path.replace("/", ".")


def predicate_iri(name: str) -> str:
    """The IRI of a predicate: ours, or that of the standard which defines it."""
    return STANDARD.get(name) or PREDICATE + encode(name)


def class_iri(name: str) -> str:
    """The IRI of a class."""
    return CLASS + name


@dataclass(frozen=True)
class Namespace:
    """Where the entities of one repository live, so that two repositories never share a subject."""

    repository: str
    base: str = BASE

    @cached_property
    def entities(self) -> str:
        """What the IRI of every entity begins with."""
        return f"{self.base}id/{_encode_segment(self.repository)}/"

    @cached_property
    def _graphs(self) -> str:
        return f"{self.base}graph/{_encode_segment(self.repository)}/"

    @cached_property
    def histories(self) -> str:
        """What the names of all graphs begin with that hold a document's past."""
        return f"{self.base}history/{_encode_segment(self.repository)}/"

    def entity(self, entity_id: str) -> str:
        """The IRI of an entity."""
        return self.entities + encode(entity_id)

    def graph(self, document_id: str) -> str:
        """The IRI of the named graph that holds a document's current state."""
        return self._graphs + encode(document_id)

    def history(self, document_id: str) -> str:
        """The IRI of the named graph that holds a document's past."""
        return self.histories + encode(document_id)

    @cached_property
    def meta_graph(self) -> str:
        """The IRI of the named graph in which the store describes itself."""
        return self._graphs + "_meta"

    @cached_property
    def store_graph(self) -> str:
        """The IRI of the named graph in which a remote store keeps the books of this repository."""
        return self._graphs + "_store"

    @cached_property
    def generation_graph(self) -> str:
        """What the IRI of a generation's manifest in a remote store begins with."""
        return self._graphs + "_generation"

    def page_graph(self, bucket: str) -> str:
        """What the IRI of a page of such a manifest begins with."""
        return f"{self._graphs}_page/{bucket}"

    def document_path(self, graph: str) -> str | None:
        """The part of a named graph's IRI that says whose state or past it is, if it is ours."""
        for start in (self._graphs, self.histories):
            if graph.startswith(start):
                return graph[len(start) :]
        return None

    def term(self, entity_id: str) -> str:
        """An entity as a term of N-Triples and SPARQL."""
        return f"<{self.entities}{encode(entity_id)}>"

    def name_of(self, iri: str) -> str:
        """The short name of one of our IRIs; any other IRI is returned as it is."""
        for base in (PREDICATE, self.entities):
            if iri.startswith(base):
                return decode(iri[len(base) :])
        if iri.startswith(CLASS):
            return iri[len(CLASS) :]
        return _DOTTED.get(iri, iri)

    @cached_property
    def prefixes(self) -> dict[str, str]:
        """The prefixes that a query about this repository may use undeclared."""
        return {**PREFIXES, "id": self.entities}


UNNAMED = Namespace("_")
"""For a graph that nobody sees from outside: empty, or in memory for one question."""


def within(name: str, prefix: str) -> bool:
    """Whether a dotted name equals the prefix or lies below it; the dot at its end may be there."""
    return name == prefix or name.startswith(prefix if prefix.endswith(".") else f"{prefix}.")


FOREIGN = {
    "dcterms": "http://purl.org/dc/terms/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": PROV,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def _families() -> dict[str, str]:
    """The dotted parent of every predicate of ours: `source.doc` -> …/p/source/doc/."""
    parents = {name.rpartition(".")[0] for name in PREDICATES if name not in STANDARD}
    return {parent: f"{PREDICATE}{encode(parent)}/" for parent in sorted(parents)}


PREFIXES: dict[str, str] = {**_families(), **FOREIGN, "hb": CLASS}
