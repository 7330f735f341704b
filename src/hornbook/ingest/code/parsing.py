"""Bytes to a syntax tree, within bounds: some files make tree-sitter's error recovery explode.

Eight kilobytes of `/*` in a Python file take it four seconds and two gigabytes, and it cannot be
stopped: its `progress_callback` crashes before Python 3.14. Such files show themselves early, so
growing beginnings of a file are tried first, and the first one that takes too long ends it.
"""

from collections.abc import Iterator
from time import thread_time

from tree_sitter import Node, Parser, Tree

from hornbook.ingest.code.languages import Grammar, language

FIRST_PROBE = 2048
"""Bytes of the first beginning that is tried; each further one is twice as long."""

SECONDS = 0.1
SECONDS_PER_BYTE = 5e-6
"""Processor time allowed; more than ten times what code needs in the slowest grammar."""


def parse(grammar: Grammar, data: bytes) -> Tree | None:
    """The tree of a text; none if it is so far from the language that parsing takes too long."""
    parser = Parser(language(grammar))
    tree = None
    for size in _probes(len(data)):
        begun = thread_time()
        tree = parser.parse(data[:size])
        if thread_time() - begun > SECONDS + SECONDS_PER_BYTE * size:
            return None
    return tree


def first_error_line(tree: Tree) -> int | None:
    """The line where the text stops being the language, none if all of it parses."""
    node = tree.root_node
    if not node.has_error:
        return None
    while (inner := _first_with_error(node)) is not None:
        node = inner
        if node.is_error or node.is_missing:
            break
    return node.start_point.row + 1


def _probes(length: int) -> Iterator[int]:
    size = FIRST_PROBE
    while size < length:
        yield size
        size *= 2
    yield length


def _first_with_error(node: Node) -> Node | None:
    return next((child for child in node.children if child.has_error), None)
