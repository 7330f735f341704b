"""The prefixes that every SPARQL text and export may use without declaring them."""

from hornbook.vocabulary.names import CLASS, ENTITY, PREDICATE, encode
from hornbook.vocabulary.predicates import PREDICATES

FOREIGN = {
    "dcterms": "http://purl.org/dc/terms/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov-o": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def _families() -> dict[str, str]:
    """The dotted parent of every predicate of ours: `source.doc` -> …/p/source/doc/."""
    parents = {name.rpartition(".")[0] for name in PREDICATES if not name.startswith("rdf.")}
    return {parent: f"{PREDICATE}{encode(parent)}/" for parent in sorted(parents)}


PREFIXES: dict[str, str] = {**FOREIGN, "id": ENTITY, "hb": CLASS, **_families()}
