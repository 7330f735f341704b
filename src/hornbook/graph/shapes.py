"""SHACL: checks the statements of one document against `vocabulary/shapes`."""

from collections.abc import Iterable
from functools import cache

import pyshacl
import rdflib
from rdflib.namespace import RDF, SH

from hornbook import resources


@cache
def _shapes() -> rdflib.Graph:
    graph = rdflib.Graph()
    for path in sorted((resources.folder("vocabulary") / "shapes").glob("*.ttl")):
        graph.parse(path, format="turtle")
    return graph


def violations(statements: Iterable[str]) -> list[str]:
    """What the shapes object to in one document's statements, each as one line, sorted."""
    data = rdflib.Graph()
    data.parse(data="".join(f"{line} .\n" for line in statements), format="nt")
    conforms, report, _ = pyshacl.validate(data, shacl_graph=_shapes(), inference="none")
    if conforms:
        return []
    return sorted(
        _line(report, result) for result in report.subjects(RDF.type, SH.ValidationResult)
    )


def _line(report: rdflib.Graph, result: rdflib.term.Node) -> str:
    focus = report.value(result, SH.focusNode)
    path = report.value(result, SH.resultPath)
    message = report.value(result, SH.resultMessage)
    return f"{focus} {path}: {message}"
