"""Where a violation can be planted into a file, and the file with it.

A plant goes before a statement of a function's body, in its indentation and as reachable as that,
so that the patch shows it like any other line. Functions that the change touches come first. The
file must parse with it, as it did without.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hornbook.review.canary_forms import Form, forms
from hornbook.review.evidence.changed_files import Span
from hornbook.review.evidence.prohibitions import Forbidden, stands_in
from hornbook.rules.code.parsing import Grammar, first_error, grammar_of, parse

_LISTED_FUNCTIONS = (
    "function_definition function_declaration method_declaration func_literal "
    "function_expression arrow_function method_definition generator_function_declaration "
    "generator_function constructor_declaration function_item"
)
_FUNCTIONS = frozenset(_LISTED_FUNCTIONS.split())
_MOST_FUNCTIONS = 200


@dataclass(frozen=True, slots=True)
class Plant:
    """A file with a violation in it: the lines that were added, from `line` on."""

    path: str
    line: int
    text: str
    data: bytes


@dataclass(frozen=True, slots=True)
class _Place:
    """Before a line, counted from 1, that begins at an offset and is indented so."""

    line: int
    offset: int
    indentation: str


def plants(
    pieces: Sequence[Forbidden], path: str, data: bytes, hunks: Sequence[Span], seed: int
) -> Iterator[Plant]:
    """The file with each of the forbidden pieces that can stand in it; the seed says where.

    A piece that stands in the file already would not tell what a reviewer found.
    """
    grammar = grammar_of(path)
    if grammar is None or not _is_text(data):
        return
    places = _places(grammar, data, hunks)
    if not places:
        return
    place = places[seed % len(places)]
    lines = data.decode().splitlines()
    for piece in pieces:
        for form in forms(piece, grammar.name):
            if any(stands_in(form.code, line) for line in lines):
                continue
            plant = _planted(form, path, data, place)
            if _parses(grammar, plant.data):
                yield plant
                break


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _parses(grammar: Grammar, data: bytes) -> bool:
    tree = parse(grammar, data)
    return tree is not None and first_error(tree) is None


def _planted(form: Form, path: str, data: bytes, place: _Place) -> Plant:
    indented = [place.indentation + line for line in form.text.splitlines()]
    ending = "\r\n" if b"\r\n" in data else "\n"
    added = "".join(line + ending for line in indented).encode()
    whole = data[: place.offset] + added + data[place.offset :]
    return Plant(path, place.line, "\n".join(indented), whole)


def _places(grammar: Grammar, data: bytes, hunks: Sequence[Span]) -> list[_Place]:
    """Where statements of functions begin: those in the change, else all; none without parsing."""
    tree = parse(grammar, data)
    if tree is None or first_error(tree) is not None:
        return []
    found = {
        place.line: place
        for node in _functions(tree.root_node)
        for place in _of_function(node, data)
    }
    every = [found[line] for line in sorted(found)]
    within = [each for each in every if any(first <= each.line <= last for first, last in hunks)]
    return within or every


def _functions(top: Node) -> Iterator[Node]:
    waiting, found = [top], 0
    while waiting and found < _MOST_FUNCTIONS:
        node = waiting.pop()
        if node.type in _FUNCTIONS:
            found += 1
            yield node
        waiting += reversed(node.named_children)


def _of_function(node: Node, data: bytes) -> Iterator[_Place]:
    body = node.child_by_field_name("body")
    if body is None:
        return
    statements = [
        inner
        for child in body.named_children
        for inner in (child.named_children if child.type == "statement_list" else [child])
    ]
    for number, statement in enumerate(statements):
        if "comment" in statement.type or (number == 0 and _is_docstring(statement)):
            continue
        begin = data.rfind(b"\n", 0, statement.start_byte) + 1
        indentation = data[begin : statement.start_byte].decode()
        if not indentation.strip() and begin > node.start_byte:
            yield _Place(data.count(b"\n", 0, begin) + 1, begin, indentation)


def _is_docstring(statement: Node) -> bool:
    inner = statement.named_children
    return statement.type == "expression_statement" and bool(inner) and inner[0].type == "string"
