"""The values that all layers share: frozen, plain Python."""

from hornbook.model.catalog import Catalog, Entry, Removed, Revision
from hornbook.model.document import (
    Chunk,
    DecisionFacts,
    Document,
    Link,
    Pattern,
    Problem,
    chunk_id,
    revision_id,
)
from hornbook.model.terms import ENFORCED, Activation, Category, Level, Scope, Severity

__all__ = [
    "ENFORCED",
    "Activation",
    "Catalog",
    "Category",
    "Chunk",
    "DecisionFacts",
    "Document",
    "Entry",
    "Level",
    "Link",
    "Pattern",
    "Problem",
    "Removed",
    "Revision",
    "Scope",
    "Severity",
    "chunk_id",
    "revision_id",
]
