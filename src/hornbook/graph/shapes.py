"""SHACL: checks the statements of one document against `vocabulary/shapes`."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import pyshacl
import rdflib
from rdflib.namespace import RDF, SH

from hornbook import resources
from hornbook.graph.ingest.report import IngestReport, Progress
from hornbook.graph.store import GraphStore
from hornbook.rules.catalog import Catalog
from hornbook.rules.document import Problem
from hornbook.vocabulary.terms import Level


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


def shape_problems(
    report: IngestReport, store: GraphStore, catalog: Catalog, progress: Progress
) -> IngestReport:
    """The report with a problem for everything that the shapes object to."""
    found: list[Problem] = []
    for number, entry in enumerate(catalog.entries, 1):
        progress("checking", number, len(catalog.entries))
        statements = store.statements(store.names.graph(entry.id))
        found += [
            Problem(entry.path, None, "shape", Level.ERROR, line) for line in violations(statements)
        ]
    return replace(report, problems=(*report.problems, *found))
