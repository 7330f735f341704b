"""The whole graph in canonical order: the same content gives the same bytes."""

import io

import pyoxigraph as ox

from hornbook.graph.oxigraph import OxigraphStore
from hornbook.vocabulary.names import PREFIXES

FORMATS = ("nquads", "turtle", "trig", "jsonld")


def export(store: OxigraphStore, export_format: str) -> bytes:
    """The graph as N-Quads, Turtle (graph names left out), TriG or JSON-LD."""
    if export_format == "nquads":
        return b"".join(line + b"\n" for line in store.canonical())
    target = io.BytesIO()
    if export_format == "turtle":
        triples = sorted({quad.triple for quad in store.quads()}, key=str)
        ox.serialize(triples, target, format=ox.RdfFormat.TURTLE, prefixes=PREFIXES)
    elif export_format == "trig":
        ordered = sorted(store.quads(), key=lambda quad: (str(quad.graph_name), str(quad)))
        ox.serialize(ordered, target, format=ox.RdfFormat.TRIG, prefixes=PREFIXES)
    else:
        ordered = sorted(store.quads(), key=lambda quad: (str(quad.graph_name), str(quad)))
        ox.serialize(ordered, target, format=ox.RdfFormat.JSON_LD)
    return target.getvalue()
