"""What a word of a command line stands for: texts, wildcards, or something that cannot be known."""

from collections.abc import Mapping, Sequence
from itertools import islice, product

from hornbook.shell.guard.reader import Word, WordPiece
from hornbook.shell.guard.values import NamedTuple

UNKNOWN = "\0"
"""Stands in a text for a part that only the shell will know."""

_SPECIAL = frozenset("\\*?[]{},~")
_MOST_TEXTS = 256


class WordText(NamedTuple):
    """One text of a word; if `wild`, a pattern of file names with quoted marks in brackets."""

    text: str
    wild: bool = False

    @property
    def known(self) -> bool:
        """Whether the text is all there."""
        return UNKNOWN not in self.text


def texts(word: Word, values: Mapping[str, Sequence[str]], home: str) -> list[WordText]:
    """Every text that the word may stand for, braces and `~` expanded."""
    if len(word) == 1 and word[0].kind == "variable" and not word[0].quoted:
        found = values.get(word[0].text, [UNKNOWN])
        return [WordText(part) for value in found for part in value.split()]
    options = [_options(piece, values) for piece in word]
    joined = ("".join(parts) for parts in product(*options))
    return [
        _finished(each, home)
        for marked in islice(joined, _MOST_TEXTS)
        for each in islice(_braces(marked), _MOST_TEXTS)
    ]


def _options(piece: WordPiece, values: Mapping[str, Sequence[str]]) -> list[str]:
    """The texts of a piece, with a backslash before each mark that means only itself."""
    if piece.kind == "unknown":
        return [UNKNOWN]
    if piece.kind == "variable":
        return [_marked(value) for value in values.get(piece.text, [UNKNOWN])]
    return [_marked(piece.text) if piece.quoted else piece.text]


def _marked(text: str) -> str:
    return "".join(f"\\{each}" if each in _SPECIAL else each for each in text)


def _braces(text: str) -> list[str]:
    """The text with its first brace group expanded, and so on; a group needs a comma or `..`."""
    start = _find(text, "{", 0)
    while start >= 0:
        group = _group(text, start)
        if group is not None:
            alternatives, end = group
            rest = _braces(text[end:])
            found = product([text[:start]], alternatives, rest)
            return ["".join(parts) for parts in islice(found, _MOST_TEXTS)]
        start = _find(text, "{", start + 1)
    return [text]


def _find(text: str, mark: str, start: int) -> int:
    at = start
    while at < len(text):
        if text[at] == mark:
            return at
        at += 2 if text[at] == "\\" else 1
    return -1


def _group(text: str, start: int) -> tuple[list[str], int] | None:
    """The alternatives of the group that starts here and where it ends; none if it is text."""
    parts, depth, at, begin = [], 0, start, start + 1
    while at < len(text):
        character = text[at]
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 1:
            parts.append(text[begin:at])
            begin = at + 1
        if depth == 0:
            last = text[begin:at]
            if not parts:
                return ([UNKNOWN], at + 1) if ".." in last else None
            nested = [each for part in (*parts, last) for each in _braces(part)]
            return nested, at + 1
        at += 2 if character == "\\" else 1
    return None


def _finished(marked: str, home: str) -> WordText:
    """The text with `~` expanded and without the backslashes."""
    if marked.startswith("~"):
        name, slash, rest = marked.partition("/")
        marked = (_marked(home) if name == "~" else UNKNOWN) + slash + rest
    plain: list[str] = []
    pattern: list[str] = []
    wild = False
    at = 0
    while at < len(marked):
        character = marked[at]
        escaped = character == "\\" and at + 1 < len(marked)
        if escaped:
            at += 1
            character = marked[at]
        wild = wild or (not escaped and character in "*?[")
        plain.append(character)
        pattern.append(f"[{character}]" if escaped and character in "*?[" else character)
        at += 1
    return WordText("".join(pattern), wild=True) if wild else WordText("".join(plain))
