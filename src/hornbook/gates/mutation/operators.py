"""What can be changed in added lines so that a good test fails: five operators on syntax trees.

Each keeps the type of what it changes, so that a mutant compiles wherever the code did: a
comparison is turned round, a sum becomes a difference, `and` becomes `or`, a condition is negated,
a number is one more and a truth value the other one. Strings, comments and imports stay as they
are. Which mutants are chosen follows from the text alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from re import MULTILINE
from re import compile as pattern

from tree_sitter import Node

from hornbook.rules.code.parsing import first_error, grammar_of, parse

MOST = 10
"""How many mutants are made of a change."""
LANGUAGES = frozenset({"python", "javascript", "typescript", "tsx", "go"})
_LONGEST = 80
_HUNK = pattern(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@", MULTILINE)


class Operator(StrEnum):
    """A way to change code."""

    COMPARISON = "comparison"
    ARITHMETIC = "arithmetic"
    LOGIC = "logic"
    CONDITION = "condition"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of a file's bytes from `start` to `end`; `line` is where it begins, from 1."""

    path: str
    line: int
    operator: Operator
    start: int
    end: int
    text: bytes

    def applied(self, data: bytes) -> bytes:
        """The file with the fault in it."""
        return data[: self.start] + self.text + data[self.end :]

    def told(self, data: bytes) -> str:
        """What was written instead of what, on one line each."""
        before = _shown(data[self.start : self.end])
        return f"{before} became {_shown(self.text)}"


_SWAPS: Mapping[str, tuple[Operator, str]] = {
    **{
        old: (Operator.COMPARISON, new)
        for old, new in (
            ("==", "!="),
            ("!=", "=="),
            ("===", "!=="),
            ("!==", "==="),
            ("<", ">="),
            (">=", "<"),
            (">", "<="),
            ("<=", ">"),
            ("is", "is not"),
            ("is not", "is"),
            ("in", "not in"),
            ("not in", "in"),
        )
    },
    **{
        old: (Operator.ARITHMETIC, new)
        for old, new in (("+", "-"), ("-", "+"), ("*", "/"), ("/", "*"), ("+=", "-="), ("-=", "+="))
    },
    **{
        old: (Operator.LOGIC, new)
        for old, new in (("and", "or"), ("or", "and"), ("&&", "||"), ("||", "&&"))
    },
    **{
        old: (Operator.CONSTANT, new)
        for old, new in (
            ("True", "False"),
            ("False", "True"),
            ("true", "false"),
            ("false", "true"),
        )
    },
}
_SWAPPED_IN = frozenset(
    {
        "comparison_operator",
        "binary_operator",
        "boolean_operator",
        "binary_expression",
        "augmented_assignment",
        "augmented_assignment_expression",
        "assignment_statement",
    }
)
_NUMBERS = frozenset({"integer", "number", "int_literal"})
_TRUTHS = frozenset({"true", "false"})
_STRINGS = frozenset({"string", "template_string", "interpreted_string_literal", "string_literal"})
_CONDITIONS = frozenset({"if_statement", "while_statement", "elif_clause"})
_NO_IMPORT = frozenset(
    {"import_statement", "import_from_statement", "import_declaration", "future_import_statement"}
)


def added_lines(patch: str) -> frozenset[int]:
    """The numbers of the lines that a patch adds."""
    found: set[int] = set()
    hunks = list(_HUNK.finditer(patch))
    for place, hunk in enumerate(hunks):
        end = hunks[place + 1].start() if place + 1 < len(hunks) else len(patch)
        number = int(hunk[1])
        for line in patch[hunk.end() : end].split("\n")[1:]:
            if line.startswith("+"):
                found.add(number)
            number += line.startswith(("+", " "))
    return frozenset(found)


def mutations(path: str, data: bytes, lines: frozenset[int]) -> list[Mutation]:
    """Every mutation that begins on some lines of a file; none where it does not parse."""
    grammar = grammar_of(path)
    if grammar is None or grammar.name not in LANGUAGES or not lines:
        return []
    tree = parse(grammar, data)
    if tree is None or first_error(tree) is not None:
        return []
    python = grammar.name == "python"
    found = []
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.type in _NO_IMPORT:
            continue
        for operator, start, end, text in _at(node, data, python=python):
            line = data.count(b"\n", 0, start) + 1
            if line in lines:
                found.append(Mutation(path, line, operator, start, end, text))
        waiting.extend(node.children)
    return sorted(found, key=lambda each: (each.start, each.operator))


def _at(node: Node, data: bytes, *, python: bool) -> Iterator[tuple[Operator, int, int, bytes]]:
    """What can be changed at a node itself."""
    if node.type in _SWAPPED_IN:
        yield from _swapped(node)
    elif node.type in _NUMBERS and data[node.start_byte : node.end_byte].isdigit():
        number = int(data[node.start_byte : node.end_byte]) + 1
        yield Operator.CONSTANT, node.start_byte, node.end_byte, b"%d" % number
    elif node.type in _TRUTHS and not node.children:
        operator, text = _SWAPS[data[node.start_byte : node.end_byte].decode()]
        yield operator, node.start_byte, node.end_byte, text.encode()
    elif node.type in _CONDITIONS:
        condition = node.child_by_field_name("condition")
        if condition is not None:
            start, end = condition.start_byte, condition.end_byte
            inner = data[start:end]
            whole = inner.startswith(b"(") and condition.type == "parenthesized_expression"
            negated = b"not (%s)" % inner if python else b"!(%s)" % inner
            yield Operator.CONDITION, start, end, b"(%s)" % negated if whole else negated


def _swapped(node: Node) -> Iterator[tuple[Operator, int, int, bytes]]:
    """The operators of an expression, each turned round; a sum with a string has none."""
    texts = any(child.type in _STRINGS for child in node.children)
    for child in node.children:
        known = _SWAPS.get(child.type)
        if known is None or known[0] is Operator.CONSTANT:  # a constant is a node of its own
            continue
        if texts and known[0] is Operator.ARITHMETIC:
            continue
        yield known[0], child.start_byte, child.end_byte, known[1].encode()


def chosen(candidates: Sequence[Mutation]) -> list[Mutation]:
    """At most `MOST` of the mutations: one for each line first, spread over files and operators."""
    ordered = sorted(candidates, key=_lot)
    taken: dict[tuple[str, int], int] = {}
    ranked = []
    for each in ordered:
        place = (each.path, each.line)
        taken[place] = taken.get(place, 0) + 1
        ranked.append((taken[place], each))
    first = sorted(ranked, key=lambda pair: pair[0])[:MOST]
    return sorted((each for _, each in first), key=lambda each: (each.path, each.start))


def _lot(each: Mutation) -> bytes:
    """A place in an order that has nothing to do with where a line stands."""
    told = f"{each.path}\0{each.line}\0{each.operator}\0{each.start}"
    return sha256(told.encode("utf-8", "surrogateescape")).digest()


def _shown(data: bytes) -> str:
    text = " ".join(data.decode("utf-8", "replace").split())
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"
