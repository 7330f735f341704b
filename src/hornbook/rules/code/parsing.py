"""Bytes to a syntax tree and to what a query captures in it, within bounds.

Some files make tree-sitter explode. Eight kilobytes of `/*` lines in a Python file take its error
recovery four seconds and two gigabytes, and nothing can stop that: the progress callbacks of the
binding crash, `parse`'s before Python 3.14 and the query's always. Such files show themselves
early, so growing beginnings of a file are tried first. Nearly all of them have an error in every
other word, which is the same on every machine, and ends it at the first beginning; what only takes
too long is ended by the processor time that it took, compared with that of plain code. Queries take
the square of a tree's depth, and of the width of a part that does not parse.

`Point.row` is not used anywhere: in tree-sitter 0.26.0 it frees the number that it returns.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from time import thread_time

from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

from hornbook.resources import PACKAGE


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language: the extensions of its files, and where its grammar and queries are."""

    name: str
    extensions: tuple[str, ...]
    module: str
    queries: tuple[str, ...]
    function: str = "language"


GRAMMARS = (
    Grammar("python", ("py", "pyi"), "tree_sitter_python", ("python",)),
    Grammar("go", ("go",), "tree_sitter_go", ("go",)),
    Grammar(
        "javascript",
        ("js", "mjs", "cjs", "jsx"),
        "tree_sitter_javascript",
        ("ecmascript", "javascript"),
    ),
    Grammar(
        "typescript",
        ("ts", "mts", "cts"),
        "tree_sitter_typescript",
        ("ecmascript", "typescript"),
        "language_typescript",
    ),
    Grammar(
        "tsx", ("tsx",), "tree_sitter_typescript", ("ecmascript", "typescript"), "language_tsx"
    ),
    Grammar("java", ("java",), "tree_sitter_java", ("java",)),
    Grammar("rust", ("rs",), "tree_sitter_rust", ("rust",)),
)

_BY_EXTENSION = {extension: grammar for grammar in GRAMMARS for extension in grammar.extensions}


def grammar_of(path: str) -> Grammar | None:
    """The grammar for a path by its extension, whatever the case of that."""
    stem, dot, extension = path.rpartition("/")[2].rpartition(".")
    return _BY_EXTENSION.get(extension.lower()) if stem and dot else None


@cache
def language(grammar: Grammar) -> Language:
    """The compiled grammar, imported on first use: a reader of Go never loads TypeScript."""
    module = importlib.import_module(grammar.module)
    return Language(getattr(module, grammar.function)())


@cache
def query(grammar: Grammar) -> Query:
    """The compiled patterns of a language."""
    folder = PACKAGE / "rules/code/queries"
    texts = [folder.joinpath(f"{name}.scm").read_text("utf-8") for name in grammar.queries]
    return Query(language(grammar), "\n".join(texts))


Match = tuple[int, dict[str, list[Node]]]
"""A pattern's number and what it captured, as tree-sitter gives it."""

FIRST_PROBE = 512
"""Bytes of the first beginning that is tried; each further one is twice as long."""

BYTES_PER_ERROR = 12
"""A text with more errors than one in so many bytes is not in the language."""

SECONDS = 0.1
SECONDS_PER_BYTE = 5e-6
"""Processor time that is never too long; ten times what code needs in the slowest grammar."""

PLAIN = b"def area(width, height=2):\n    return f(width) * height\n\n\n" * 400
TIMES_PLAIN = 20
"""Beyond that, how often as long as plain code a text may take on this machine at that moment."""

DEEPEST = 2000
"""Levels of a tree that is queried; a long chain of calls or sums is that deep, code is not."""

WIDEST = 4000
"""Tokens in a row that do not parse; beyond, nothing around them can be trusted."""


def parse(grammar: Grammar, data: bytes) -> Tree | None:
    """The tree of a text; none if it is so far from the language that parsing takes too long."""
    parser = Parser(language(grammar))
    tree = None
    for size in _probes(len(data)):
        begun = thread_time()
        tree = parser.parse(data[:size])
        if _too_long(thread_time() - begun, size):
            return None
        if size >= FIRST_PROBE and _errors(tree) > size // BYTES_PER_ERROR:
            return None
    return tree


def _too_long(seconds: float, size: int) -> bool:
    """Whether a parse took longer than code does: a slow machine is slow for plain code too."""
    if seconds <= SECONDS + SECONDS_PER_BYTE * size:
        return False
    parser = Parser(language(GRAMMARS[0]))
    begun = thread_time()
    parser.parse(PLAIN)
    plain = (thread_time() - begun) / len(PLAIN)
    return seconds > TIMES_PLAIN * plain * (size + len(PLAIN))


def captured(grammar: Grammar, tree: Tree) -> list[Match] | None:
    """What the language's query captures; none if the tree is too deep or too broken for it."""
    if _too_deep(tree) or _too_broken(tree):
        return None
    return QueryCursor(query(grammar)).matches(tree.root_node)


def first_error(tree: Tree) -> int | None:
    """The offset where the text stops being the language, none if all of it parses."""
    node = tree.root_node
    if not node.has_error:
        return None
    while (inner := next(_with_error(node), None)) is not None:
        node = inner
        if node.is_error or node.is_missing:
            break
    return node.start_byte


def _errors(tree: Tree) -> int:
    """How many parts of a tree do not parse, or are only missing."""
    found, waiting = 0, [tree.root_node]
    while waiting:
        children = waiting.pop().children
        # A character that was left out is an error, and tells of none in itself.
        found += sum(child.is_error or child.is_missing for child in children)
        waiting.extend(child for child in children if child.has_error)
    return found


def _too_deep(tree: Tree) -> bool:
    cursor, depth = tree.walk(), 0
    while depth <= DEEPEST:
        if cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False
            depth -= 1
    return True


def _too_broken(tree: Tree) -> bool:
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.is_error and node.child_count > WIDEST:
            return True
        waiting.extend(_with_error(node))
    return False


def _probes(length: int) -> Iterator[int]:
    size = FIRST_PROBE
    while size < length:
        yield size
        size *= 2
    yield length


def _with_error(node: Node) -> Iterator[Node]:
    return (child for child in node.children if child.has_error)
