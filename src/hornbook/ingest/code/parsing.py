"""Bytes to a syntax tree and to what a query captures in it, within bounds of time.

Some files make tree-sitter explode. Eight kilobytes of `/*` lines in a Python file take its error
recovery four seconds and two gigabytes, and nothing can stop that: `progress_callback` of `parse`
crashes before Python 3.14. Such files show themselves early, so growing beginnings of a file are
tried first, and the first one that takes too long ends it. A query can be stopped.

`Point.row` is not used anywhere: in tree-sitter 0.26.0 it frees the number that it returns.
"""

from collections.abc import Iterator
from time import thread_time
from typing import Literal

from tree_sitter import Node, Parser, QueryCursor, Tree

from hornbook.ingest.code.languages import Grammar, language, query

Match = tuple[int, dict[str, list[Node]]]
"""A pattern's number and what it captured, as tree-sitter gives it."""

FIRST_PROBE = 2048
"""Bytes of the first beginning that is tried; each further one is twice as long."""

SECONDS = 0.1
SECONDS_PER_BYTE = 5e-6
"""Processor time allowed; more than ten times what code needs in the slowest grammar."""


class Stopwatch:
    """Processor time since it was made, against what a text of some length may take."""

    def __init__(self, length: int) -> None:
        self._deadline = thread_time() + SECONDS + SECONDS_PER_BYTE * length

    def late(self, _offset: int = 0) -> bool:
        """Whether the time is over."""
        return thread_time() > self._deadline


def parse(grammar: Grammar, data: bytes) -> Tree | None:
    """The tree of a text; none if it is so far from the language that parsing takes too long."""
    parser = Parser(language(grammar))
    tree = None
    for size in _probes(len(data)):
        watch = Stopwatch(size)
        tree = parser.parse(data[:size])
        if watch.late():
            return None
    return tree


def captured(grammar: Grammar, tree: Tree) -> list[Match] | None:
    """What the language's query captures; none if that takes too long."""
    watch = Stopwatch(tree.root_node.end_byte)
    cursor = QueryCursor(query(grammar))
    matches = cursor.matches(tree.root_node, _unknown_predicate, watch.late)
    return None if watch.late() else matches


def first_error(tree: Tree) -> int | None:
    """The offset where the text stops being the language, none if all of it parses."""
    node = tree.root_node
    if not node.has_error:
        return None
    while (inner := _first_with_error(node)) is not None:
        node = inner
        if node.is_error or node.is_missing:
            break
    return node.start_byte


def _unknown_predicate(
    predicate: str,
    args: list[tuple[str, Literal["capture", "string"]]],
    pattern_index: int,
    captures: dict[str, list[Node]],
) -> bool:
    """What tree-sitter calls for predicates that are not its own; the queries have none."""
    return True


def _probes(length: int) -> Iterator[int]:
    size = FIRST_PROBE
    while size < length:
        yield size
        size *= 2
    yield length


def _first_with_error(node: Node) -> Node | None:
    return next((child for child in node.children if child.has_error), None)
