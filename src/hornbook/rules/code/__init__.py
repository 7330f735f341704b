"""Source code from afar: signatures, imports and what was generated, file by file."""

from hornbook.rules.code.edges import importers, resolve_imports
from hornbook.rules.code.generated import is_generated
from hornbook.rules.code.summary import summarise

__all__ = ["importers", "is_generated", "resolve_imports", "summarise"]
