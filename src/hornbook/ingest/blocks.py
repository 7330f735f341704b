"""Top-level blocks of a document's body: where a chunk may begin."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from markdown_it.token import Token

from hornbook.ingest.block_rules import parse

_LINE_END = re.compile(r"\r\n?|\n")
_PARAGRAPH_START = re.compile(r"(?:\A|(?:\r\n?|\n)[ \t]*(?:\r\n?|\n))[ \t\r\n]*(?=[^ \t\r\n])")


@dataclass(frozen=True, slots=True)
class TopBlock:
    """A block that stands in no other, with the blank lines after it.

    `start` and `end` count characters; `level` is a heading's level, else 0; `items` is where each
    item of a list starts.
    """

    start: int
    end: int
    level: int = 0
    title: str = ""
    items: tuple[int, ...] = ()


def markdown_blocks(body: str) -> list[TopBlock]:
    """Return the Markdown blocks of `body`, which they tile."""
    mark = 1 if body.startswith("\ufeff") else 0
    text = body[mark:].replace("\0", "\ufffd")
    if "\r" in text:
        starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        tokens, _ = parse(_LINE_END.sub("\n", text))
    else:
        tokens, starts = parse(text)
    found = list(_found(tokens))
    ends = [*(starts[line] + mark for line, *_ in found), len(body)]
    ends[0] = 0
    return [
        TopBlock(start, end, level, title, tuple(starts[item] + mark for item in items))
        for (start, end), (_, level, title, items) in zip(pairwise(ends), found, strict=False)
    ] or _whole(body)


def plain_blocks(body: str) -> list[TopBlock]:
    """Return the paragraphs of `body`, which they tile: blank lines separate them."""
    starts = [match.end() for match in _PARAGRAPH_START.finditer(body)]
    edges = [0, *starts[1:], len(body)]
    return [TopBlock(start, end) for start, end in pairwise(edges) if end > start]


def _whole(body: str) -> list[TopBlock]:
    return [TopBlock(0, len(body))] if body else []


def _found(tokens: list[Token]) -> Iterator[tuple[int, int, str, list[int]]]:
    """Yield each top-level block's line, heading level, title and the lines of its list items."""
    line = 0
    items: list[int] = []
    for index, token in enumerate(tokens):
        if token.level:
            if token.map and token.type == "list_item_open":
                items.append(token.map[0])
            continue
        if token.map:
            line = token.map[0]
            items = token.meta.get("items", [])
        if token.type == "heading_close":
            yield line, int(token.tag[1]), " ".join(tokens[index - 1].content.split()), []
        elif token.nesting <= 0:
            yield line, 0, "", items
