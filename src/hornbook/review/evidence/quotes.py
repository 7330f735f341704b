"""Whether a piece of quoted code stands in some lines, however it was copied.

Blanks do not count, nor do the marks that a diff, a page or an editor puts around code: `+` and `-`
at the begin of lines, typographic quotation marks, other Unicode forms of the same letter, the
escapes of JSON and HTML. An ellipsis in a quote stands for anything.
"""

import re
from collections.abc import Iterator, Sequence
from html import unescape
from unicodedata import normalize

SHORTEST_QUOTE = 8
_MARKED = re.compile(r"^[ \t]?[+-](?![+-])", re.MULTILINE)
_NUMBERED = re.compile(r"^\s*\d{1,6}\s*[|:]\s?", re.MULTILINE)
_ESCAPED = re.compile(r"\\([\"'])")
_ELLIPSIS = re.compile(r"\[?(?:\.{3}|\N{HORIZONTAL ELLIPSIS})\]?")
_MARKS = str.maketrans("“”„«»‘’‚–—−\u00a0", '"""""\'\'\'--- ')
_FEWEST = 3
"""Letters of a piece between ellipses that say where it stands."""


def squeezed(text: str) -> str:
    """A text as it is compared."""
    return "".join(normalize("NFKC", text.translate(_MARKS)).split())


def visible_length(text: str) -> int:
    """How much of a quote can be read: between ellipses, the pieces that say where it stands."""
    pieces = [squeezed(part) for part in _ELLIPSIS.split(text)]
    if len(pieces) == 1:
        return len(pieces[0])
    return sum(len(piece) for piece in pieces if len(piece) >= _FEWEST)


def holds(quote: str, text: str) -> bool:
    """Whether the quote stands in a text that is squeezed already."""
    return any(_in_order(pieces, text) is not None for pieces in _forms(quote))


def _in_order(pieces: Sequence[str], text: str) -> tuple[int, int] | None:
    """Where pieces that follow each other begin and end in a text."""
    start, at = -1, 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return None
        start, at = (found if start < 0 else start), found + len(piece)
    return (start, at) if pieces else None


def _forms(quote: str) -> Iterator[list[str]]:
    """The ways to read a quote, each as pieces that follow each other."""
    copied = (quote, _MARKED.sub("", quote), _NUMBERED.sub("", quote))
    for text in dict.fromkeys((*copied, _ESCAPED.sub(r"\1", quote), unescape(quote))):
        whole = squeezed(text)
        if whole:
            yield [whole]
        pieces = [piece for part in _ELLIPSIS.split(text) if (piece := squeezed(part))]
        long_enough = [piece for piece in pieces if len(piece) >= _FEWEST]
        if len(pieces) > 1 or whole != "".join(pieces):
            yield long_enough


def standing(quote: str, parts: Sequence[str]) -> tuple[int, int] | None:
    """The lines that a quote stands on first, if it stands there at all; counted from 1.

    `parts` are the lines, squeezed.
    """
    text = "".join(parts)
    for pieces in _forms(quote):
        found = _in_order(pieces, text)
        if found is not None:
            return _line_at(parts, found[0]), _line_at(parts, found[1] - 1)
    return None


def only_line(quote: str, parts: Sequence[str]) -> tuple[int, int] | None:
    """The lines that a quote stands on, if it stands just once in a file; counted from 1.

    `parts` are the file's lines, squeezed.
    """
    text = "".join(parts)
    for pieces in _forms(quote):
        if len(pieces) != 1 or len(pieces[0]) < SHORTEST_QUOTE:
            continue
        start = text.find(pieces[0])
        if start >= 0 and text.find(pieces[0], start + 1) < 0:
            end = start + len(pieces[0]) - 1
            return _line_at(parts, start), _line_at(parts, end)
    return None


def _line_at(parts: Sequence[str], offset: int) -> int:
    for number, part in enumerate(parts, 1):
        if offset < len(part):
            return number
        offset -= len(part)
    return len(parts)
