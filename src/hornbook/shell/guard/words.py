"""What the words of a command line stand for, and which of them are options.

A word stands for texts, for wildcards, or for something that only the shell will know.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise, product

from hornbook.shell.cheap_tuple import NamedTuple
from hornbook.shell.guard.syntax import Word, WordPiece

UNKNOWN = "\0"
"""Stands in a text for a part that only the shell will know."""

_SPECIAL = frozenset("\\*?[]{},~")
_WILD = "*?["
_MOST_TEXTS = 256


class WordText(NamedTuple):
    """One text of a word; if `wild`, a pattern of file names with quoted marks in brackets."""

    text: str
    wild: bool = False

    @property
    def known(self) -> bool:
        """Whether the text is all there."""
        return UNKNOWN not in self.text


Target = tuple[WordText, str]
"""A path and how it is written: `file`, `tree` (with all below it), `into` (a folder gets files
whose names are not known), `folder` (made if it is not there), `into-or-file:NAME` (into a folder
that is there, else the file), `file-if-there`."""


def texts(word: Word, values: Mapping[str, Sequence[str]], home: str) -> list[WordText]:
    """Every text that the word may stand for, braces and `~` expanded."""
    if len(word) == 1 and word[0].kind == "variable" and not word[0].quoted:
        return [WordText(part) for part in _split(values.get(word[0].text, [UNKNOWN]))]
    joined = product(*(_options(piece, values) for piece in word))
    marked = islice(map("".join, joined), _MOST_TEXTS)
    expanded = chain.from_iterable(_braces(text)[:_MOST_TEXTS] for text in marked)
    return [_finished(each, home) for each in expanded]


def _split(values: Sequence[str]) -> Iterator[str]:
    return chain.from_iterable(value.split() for value in values)


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
    commas: list[int] = []
    depth, at = 0, start
    while at < len(text):
        character = text[at]
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return _alternatives(text, [start, *commas, at])
        if character == "," and depth == 1:
            commas.append(at)
        at += 2 if character == "\\" else 1
    return None


def _alternatives(text: str, marks: list[int]) -> tuple[list[str], int] | None:
    """What stands between the marks of a group, each with its own groups expanded."""
    parts = [text[before + 1 : after] for before, after in pairwise(marks)]
    end = marks[-1] + 1
    if len(parts) == 1:
        return ([UNKNOWN], end) if ".." in parts[0] else None
    return [each for part in parts for each in _braces(part)], end


def _finished(marked: str, home: str) -> WordText:
    """The text with `~` expanded and without the backslashes."""
    if marked.startswith("~"):
        name, slash, rest = marked.partition("/")
        marked = (_marked(home) if name == "~" else UNKNOWN) + slash + rest
    characters = list(_characters(marked))
    if not any(special for _, special in characters):
        return WordText("".join(character for character, _ in characters))
    return WordText("".join(map(_in_pattern, characters)), wild=True)


def _in_pattern(marked: tuple[str, bool]) -> str:
    """A character of a pattern: a mark that means only itself stands in brackets."""
    character, special = marked
    return character if special or character not in _WILD else f"[{character}]"


def _characters(marked: str) -> Iterator[tuple[str, bool]]:
    """Each character without its backslash, and whether it stands for other characters."""
    at = 0
    while at < len(marked):
        escaped = marked[at] == "\\" and at + 1 < len(marked)
        at += escaped
        yield marked[at], not escaped and marked[at] in _WILD
        at += 1


class Arguments(NamedTuple):
    """What stands behind a program's name: options with their values, and operands."""

    options: dict[str, list[WordText]]
    operands: list[WordText]

    def has(self, *names: str) -> bool:
        """Whether one of the options is given."""
        return any(name in self.options for name in names)

    def values(self, *names: str) -> list[WordText]:
        """The values of these options, in no order."""
        return [value for name in names for value in self.options.get(name, ())]


def arguments(
    given: Sequence[WordText], takes: str = "", *, until_operand: bool = False
) -> Arguments:
    """The arguments read as getopt does; `takes` names the options that have a value.

    With `until_operand` everything from the first operand on is an operand.
    """
    valued = frozenset(takes.split())
    options: dict[str, list[WordText]] = {}
    operands: list[WordText] = []
    rest = list(given)
    while rest:
        each = rest.pop(0)
        if each.text == "--":
            operands += rest
            break
        if not each.text.startswith("-") or each.text == "-":
            operands.append(each)
            if until_operand:
                operands += rest
                break
        elif each.text.startswith("--"):
            _long(each.text, rest, valued, options)
        else:
            _short(each.text, rest, valued, options)
    return Arguments(options, operands)


def _long(
    text: str, rest: list[WordText], valued: frozenset[str], found: dict[str, list[WordText]]
) -> None:
    name, equals, value = text.partition("=")
    values = found.setdefault(name, [])
    if equals:
        values.append(WordText(value))
    elif name in valued:
        values.append(rest.pop(0) if rest else WordText(UNKNOWN))


def _short(
    text: str, rest: list[WordText], valued: frozenset[str], found: dict[str, list[WordText]]
) -> None:
    for place in range(1, len(text)):
        name = f"-{text[place]}"
        values = found.setdefault(name, [])
        if name in valued:
            value = text[place + 1 :]
            values.append(
                WordText(value) if value else (rest.pop(0) if rest else WordText(UNKNOWN))
            )
            return
