"""The codec between dotted names and IRIs: a bijection, tested as such.

A dot separates segments and becomes a slash; inside a segment everything outside
`[a-z0-9_-]` is percent-encoded as UTF-8.
"""

import re
from urllib.parse import unquote

from hornbook.vocabulary.predicates import PREDICATES

BASE = "https://w3id.org/hornbook/"
ENTITY = BASE + "id/"
PREDICATE = BASE + "p/"
CLASS = BASE + "c/"
GRAPH = BASE + "graph/"
HISTORY = BASE + "history/"
META_GRAPH = GRAPH + "_meta"

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
RDF_TYPE_NAME = "rdf.type"

_PLAIN = re.compile(r"[a-z0-9_.-]*\Z")
_OUTSIDE = re.compile(rb"[^a-z0-9_-]")


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


def entity_iri(entity_id: str) -> str:
    """The IRI of an entity."""
    return ENTITY + encode(entity_id)


def predicate_iri(name: str) -> str:
    """The IRI of a predicate; `rdf.type` is RDF's own."""
    return RDF_TYPE if name == RDF_TYPE_NAME else PREDICATE + encode(name)


def graph_iri(document_id: str) -> str:
    """The IRI of the named graph that holds a document's current state."""
    return GRAPH + encode(document_id)


def history_iri(document_id: str) -> str:
    """The IRI of the named graph that holds a document's past."""
    return HISTORY + encode(document_id)


def class_iri(name: str) -> str:
    """The IRI of a class."""
    return CLASS + name


def name_of(iri: str) -> str:
    """The short name of one of our IRIs; any other IRI is returned as it is."""
    for base in (PREDICATE, ENTITY):
        if iri.startswith(base):
            return decode(iri[len(base) :])
    if iri.startswith(CLASS):
        return iri[len(CLASS) :]
    return RDF_TYPE_NAME if iri == RDF_TYPE else iri


def within(name: str, prefix: str) -> bool:
    """Whether a dotted name equals the prefix or lies below it; the dot at its end may be there."""
    return name == prefix or name.startswith(prefix if prefix.endswith(".") else f"{prefix}.")


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
