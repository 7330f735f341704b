"""Checks every document in the graph against the SHACL shapes."""

from dataclasses import replace

from hornbook.graph.shapes import violations
from hornbook.graph.store import GraphStore
from hornbook.model import Catalog, Level, Problem
from hornbook.vocabulary.names import graph_iri
from hornbook.workspace.report import IngestReport, Progress


def shape_problems(
    report: IngestReport, store: GraphStore, catalog: Catalog, progress: Progress
) -> IngestReport:
    """The report with a problem for everything that the shapes object to."""
    found: list[Problem] = []
    for number, entry in enumerate(catalog.entries, 1):
        progress("checking", number, len(catalog.entries))
        statements = store.statements(graph_iri(entry.id))
        found += [
            Problem(entry.path, None, "shape", Level.ERROR, line) for line in violations(statements)
        ]
    return replace(report, problems=(*report.problems, *found))
