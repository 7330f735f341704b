"""The whole graph in canonical order: the same content gives the same bytes."""

import io
import json
from collections.abc import Iterable

import pyoxigraph as ox

from hornbook.graph.oxigraph import OxigraphStore
from hornbook.vocabulary.names import FOREIGN, RDF_TYPE

FORMATS = ("nquads", "turtle", "trig", "jsonld")


def export(store: OxigraphStore, export_format: str) -> bytes:
    """The graph as N-Quads, Turtle (graph names left out), TriG or JSON-LD."""
    if export_format == "nquads":
        return b"".join(line + b"\n" for line in store.canonical())
    target = io.BytesIO()
    if export_format == "turtle":
        triples = sorted({quad.triple for quad in store.quads()}, key=str)
        ox.serialize(triples, target, format=ox.RdfFormat.TURTLE, prefixes=store.names.prefixes)
    elif export_format == "trig":
        ordered = sorted(store.quads(), key=lambda quad: (str(quad.graph_name), str(quad)))
        ox.serialize(ordered, target, format=ox.RdfFormat.TRIG, prefixes=store.names.prefixes)
    else:
        return _json_ld(store.quads())
    return target.getvalue()


def _json_ld(quads: Iterable[ox.Quad]) -> bytes:
    """Expanded JSON-LD: a node for each thing in each named graph, with its types as `@type`."""
    graphs: dict[str, dict[str, dict[str, list[object]]]] = {}
    for quad in sorted(quads, key=lambda each: (str(each.graph_name), str(each))):
        things = graphs.setdefault(_iri(quad.graph_name), {})
        node = things.setdefault(_iri(quad.subject), {})
        if quad.predicate.value == RDF_TYPE:
            node.setdefault("@type", []).append(_iri(quad.object))
        else:
            node.setdefault(quad.predicate.value, []).append(_value(quad.object))
    document = [
        {"@id": graph, "@graph": [{"@id": name, **node} for name, node in things.items()]}
        for graph, things in graphs.items()
    ]
    return json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n"


def _value(term: object) -> object:
    if not isinstance(term, ox.Literal):
        return {"@id": _iri(term)}
    if term.datatype.value == f"{FOREIGN['xsd']}string":
        return {"@value": term.value}
    return {"@value": term.value, "@type": term.datatype.value}


def _iri(term: object) -> str:
    if not isinstance(term, ox.NamedNode):
        raise TypeError(f"{term} is no IRI, and Hornbook writes no other names")
    return term.value
