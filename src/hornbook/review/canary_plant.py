"""Where a violation can be planted into a file, and the file with it.

A plant goes before a statement of a function's body, in its indentation and as reachable as that,
so that the patch shows it like any other line. Functions that the change touches come first. The
file must parse with it, as it did without.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hornbook.review.evidence.changed_files import Span
from hornbook.review.evidence.marked_text import Forbidden, stands_in
from hornbook.rules.code.parsing import Grammar, first_error, grammar_of, parse

_NAMES = {
    "py": "python",
    "python3": "python",
    "golang": "go",
    "js": "javascript",
    "mjs": "javascript",
    "jsx": "javascript",
    "ts": "typescript",
    "rs": "rust",
}
_ALSO = {"typescript": {"javascript"}, "tsx": {"javascript", "typescript"}}
"""Languages whose code is code of another one too."""
_REMARKS = {"python": "#"}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*[!]?")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+!?")
_CALL = re.compile(r"[A-Za-z_][\w.:]*!?\(.*\)", re.DOTALL)
_TODO = re.compile(r"(?:TODO|FIXME|XXX|HACK)\b.*")
_CALLED_SO = re.compile(
    r"\b(?:bad|wrong|incorrect|don['’]?t|do not|never|avoid|forbidden|anti-?pattern|invalid|"
    r"must not|should not|not ok|violat\w*)\b|❌|🚫",
    re.IGNORECASE,
)
_USES = re.compile(
    r"\b(?:call\w*|use|uses|using|invok\w*|function|built-?in|statement|keyword)s?\b", re.IGNORECASE
)
_FILE = re.compile(r".*\.(?:py|pyi|go|jsx?|tsx?|rs|java|md|json|ya?ml|toml|cfg|ini|txt|lock|env)")
_SHORTEST = 3
_MOST_LINES = 12
# Names that stand for values and kinds of values: to name one is no call.
_LISTED_NO_CALLS = (
    "None True False null undefined nil true false self this super void int string str "
    "bool boolean float double number object unknown never dict list tuple set"
)
_NO_CALLS = frozenset(_LISTED_NO_CALLS.split())
_TYPED = {
    "typescript": {"any": "const held: any = null;"},
    "tsx": {"any": "const held: any = null;"},
    "python": {"Any": "held: Any = None"},
}


@dataclass(frozen=True, slots=True)
class Form:
    """Lines to plant, without indentation, and the words of the rule that stand in them."""

    text: str
    code: str


def forms(piece: Forbidden, language: str) -> Iterator[Form]:
    """The statements of a language that a forbidden piece may be, the likeliest first."""
    if piece.fence is not None:
        yield from _of_block(piece, language)
        return
    code = piece.code.strip()
    for text in _of_words(code, piece.sentence, language):
        yield Form(text, code)


def _of_block(piece: Forbidden, language: str) -> Iterator[Form]:
    named = _NAMES.get(piece.fence or "", piece.fence or "")
    if named and named != language and named not in _ALSO.get(language, ()):
        return
    mark = _REMARKS.get(language, "//")
    kept = [line for line in map(_Line(mark).without_verdict, piece.code.splitlines()) if line]
    if kept and len(kept) <= _MOST_LINES:
        text = textwrap.dedent("\n".join(kept))
        yield Form(text, text)


@dataclass(frozen=True, slots=True)
class _Line:
    """Lines of an example in a language whose remarks begin with a mark."""

    mark: str

    def without_verdict(self, line: str) -> str:
        """The line without a remark that says it is bad: that would give the plant away."""
        code, mark, remark = line.partition(self.mark)
        return code.rstrip() if mark and _CALLED_SO.search(remark) else line.rstrip()


def _of_words(code: str, sentence: str, language: str) -> Iterator[str]:
    mark = _REMARKS.get(language, "//")
    end = "" if language in {"python", "go"} else ";"
    typed = _TYPED.get(language, {})
    if code in typed:
        yield typed[code]
    elif _TODO.fullmatch(code):
        yield f"{mark} {code}: later" if code.isalpha() else f"{mark} {code}"
    elif code.startswith(mark):
        yield code
    elif language == "python" and code.startswith("except"):
        yield f"try:\n    held = 1\n{code.rstrip(':')}:\n    held = 0"
    elif code.endswith("()") and _IDENTIFIER.fullmatch(code[:-2]):
        yield f'{code[:-2]}("value"){end}'  # a call without a value would stand out
    elif _CALL.fullmatch(code):
        yield code + end
    elif _is_name(code) and _is_used(code, sentence):
        yield f'{code}("value"){end}'
        yield f"{code} held = 1{end}"
        yield f"{code} held{end}"


def _is_name(code: str) -> bool:
    return bool(_DOTTED.fullmatch(code) or _IDENTIFIER.fullmatch(code))


def _is_used(code: str, sentence: str) -> bool:
    """Whether a sentence forbids to use what a name stands for."""
    if len(code) < _SHORTEST or code in _NO_CALLS or _FILE.fullmatch(code):
        return False
    name = rf"`{re.escape(code)}(?:\(\))?`"
    banned = (
        rf"\b(?:no|avoid|bans?|forbids?|prohibits?)\s+{name}",
        rf"{name}\s+(?:is|are)\s+(?:forbidden|banned|prohibited|not allowed|not permitted)\b",
    )
    return bool(_USES.search(sentence)) or any(
        re.search(each, sentence, re.IGNORECASE) for each in banned
    )


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
