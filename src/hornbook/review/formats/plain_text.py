"""Text of models made plain: nothing in it steers a terminal, a parser or a reader's eye."""

import re

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Control characters but tab and line feed, direction marks, lone surrogates, non-characters.
_STEERING = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def plain(text: str) -> str:
    """The text with LF as its only line end; what cannot be shown is a replacement character."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", _LINE_ENDS.sub("\n", text))


def one_line(text: str) -> str:
    """The plain text on one line, each run of blanks as one."""
    return " ".join(plain(text).split())


def clipped(text: str, limit: int) -> str:
    """The text, or as much of it as fits with the number of characters that were left out."""
    if len(text) <= limit:
        return text
    end = f" … ({len(text)} characters; the JSON format has them all)"
    return text[: max(limit - len(end), 0)] + end


def inside(path: str | None) -> bool:
    """Whether a path names something below the root of the repository."""
    return bool(path) and not any(part in {"", ".", ".."} for part in str(path).split("/"))
