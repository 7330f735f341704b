"""Bytes to a syntax tree, within bounds: some files make tree-sitter's error recovery explode.

Forty kilobytes of `a<` in a Java file take it minutes and gigabytes, most of that after the last
byte was read, where nothing can stop it. Such files show themselves early, so growing beginnings
of a file are tried first, and the first one that takes too long ends it.
"""

from collections.abc import Iterator
from time import thread_time

from tree_sitter import Node, Parser, Point, Tree

from hornbook.ingest.code.languages import Grammar, language

FIRST_PROBE = 8192
"""Bytes of the first beginning that is tried; each further one is twice as long."""

PORTION = 512
"""Bytes handed to the parser at a time, the only moments when it can be stopped."""

SECONDS = 0.25
SECONDS_PER_BYTE = 5e-6
"""Processor time allowed; more than ten times what code needs in the slowest grammar."""


class Portions:
    """Gives a parser its text bit by bit, and nothing more once the time is over.

    tree-sitter's own way to stop, `progress_callback`, crashes before Python 3.14.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._deadline = thread_time() + SECONDS + SECONDS_PER_BYTE * len(data)
        self._stopped = False

    def __call__(self, offset: int, _position: Point) -> bytes:
        """The bytes from `offset` on; empty at the end and after the deadline."""
        return b"" if self.late() else self._data[offset : offset + PORTION]

    def late(self) -> bool:
        """Whether the time is over; once it is, it stays so."""
        self._stopped = self._stopped or thread_time() > self._deadline
        return self._stopped


def parse(grammar: Grammar, data: bytes) -> Tree | None:
    """The tree of a text; none if it is so far from the language that parsing takes too long."""
    tree = None
    for size in _probes(len(data)):
        portions = Portions(data[:size])
        tree = Parser(language(grammar)).parse(portions)
        if portions.late():
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
