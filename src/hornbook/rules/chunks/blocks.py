"""Top-level blocks of a document's body: where a chunk may begin.

markdown-it finds them, so that its opinion of what a block is counts. Left to itself it asks every
rule about every line, and some texts (deep quotes, lazy lines, lists of one line each) take the
square of their size. So rules of ours stand before its own. Each answers only where no other rule
could claim the lines, which the first character mostly tells, and leaves all else to markdown-it.
A test holds both against a full parse, for strange texts and real documents.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.rules_block import (
    StateBlock,
    blockquote,
    fence,
    heading,
    hr,
    list_block,
    paragraph,
)
from markdown_it.token import Token
from markdown_it.utils import EnvType

_DEEPEST = 20
# A quote is parsed with so many of its lines at first, and each time with so many times more: all
# looks together cost no more than a part of the last one.
_FIRST_LOOK = 8
_LOOK_GROWTH = 8

# Every block but a paragraph begins with one of these. Behind one, `_UNMARKED` is prose even so:
# `*word`, `12 apples`, `[link] text`, a backtick or two.
_MARKS = frozenset("-:|=#>`~_<*+0123456789[")
_UNMARKED = (
    r"(?:[^-:|=#>`~_<*+0-9[\s]|\*+[^\s*]|_+[^\s_]|`{1,2}[^`\n]|[0-9]+[^0-9.)\n]"
    r"|\[[^][\\\n]*\](?!:))"
)
_PROSE = re.compile(_UNMARKED)
_ITEM_MARKS = frozenset("-*+0123456789")
_FLAT_ITEM = re.compile(rf"(?:[0-9]{{1,9}}(?=[.)])|(?=[-*+]))([-*+.)]) (?={_UNMARKED})")
_KEPT_IN_BLOCKS = frozenset(["list_item_open", "inline"])


def parse(text: str) -> tuple[list[Token], list[int]]:
    """Return the tokens of the top-level blocks of `text`, and where each line starts.

    Titles stand in their headings. A list's items are tokens, or line numbers in its `meta`.
    """
    parser = _parser()
    state = _TopState(text, parser, {}, [])
    parser.block.tokenize(state, 0, state.lineMax)
    return state.tokens, state.bMarks


class _TopState(StateBlock):
    """A parser's state that keeps no token but those of top-level blocks, titles and items."""

    def __init__(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> None:
        super().__init__(src, md, env, tokens)
        self.unkept = Token("", "", 0)

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        """Return a new token, or one for all that nobody will read."""
        level = self.level - 1 if nesting < 0 else self.level
        if level and not (level == 1 and ttype in _KEPT_IN_BLOCKS):
            self.level += nesting
            return self.unkept
        return super().push(ttype, tag, nesting)


@cache
def _parser() -> MarkdownIt:
    options = {"maxNesting": 10 * _DEEPEST, "inline_definitions": True}
    parser = MarkdownIt("commonmark", options).enable("table")
    ruler = parser.block.ruler
    ruler.before("table", "deep", _deep)
    ruler.before("table", "by_mark", _by_mark)
    ruler.at("blockquote", _quote, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser


def _deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    # Nobody cuts so deep inside of a block: all of it is a paragraph, and nothing nests any deeper.
    return state.level >= _DEEPEST and paragraph(state, start, end, silent)


def _by_mark(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Match what needs no other rule's opinion; what this leaves goes to every rule in turn."""
    if silent or state.is_code_block(start) or _may_part_table(state, start + 1):
        return False
    first = state.bMarks[start] + state.tShift[start]
    mark = state.src[first]
    if mark not in _MARKS or _PROSE.match(state.src, first):
        return _prose(state, start, end)
    return any(rule(state, start, end, False) for rule in _rules_by_mark().get(mark, ()))


@cache
def _rules_by_mark() -> dict[str, tuple[RuleFuncBlockType, ...]]:
    return {
        **dict.fromkeys("-*", (_flat_list, hr, list_block)),
        **dict.fromkeys("+0123456789", (_flat_list, list_block)),
        "#": (heading,),
        ">": (_quote,),
        "`": (fence,),
        "~": (fence,),
        "_": (hr,),
    }


def _may_part_table(state: StateBlock, line: int) -> bool:
    """Return whether `line` may be what parts a table's head from its body."""
    first = state.bMarks[line] + state.tShift[line]
    mark = state.src[first : first + 2]
    return mark[:1] in ("|", "-", ":") and mark != "- "


def _prose(state: StateBlock, start: int, end: int) -> bool:
    """Match a paragraph that no other rule can claim any line of."""
    source, begins, shifts, ends = state.src, state.bMarks, state.tShift, state.eMarks
    line, last = start + 1, state.lineMax
    while line < last:
        first = begins[line] + shifts[line]
        if first >= ends[line]:
            break
        if source[first] in _MARKS and not _PROSE.match(source, first):
            interrupted = _interrupts(state, line, end)
            # It may be an underline, a table or HTML: the whole paragraph goes to markdown-it.
            if interrupted is None:
                return False
            if interrupted:
                break
        line += 1
    _take(state, "paragraph", start, line)
    return True


def _interrupts(state: StateBlock, line: int, end: int) -> bool | None:
    """Return whether `line` ends the paragraph before it, or None where that takes a parser."""
    if state.sCount[line] < 0:
        return False
    first = state.bMarks[line] + state.tShift[line]
    mark = state.src[first]
    if mark in "-:|=<":
        item = state.src.startswith("- ", first)
        return (item and _terminates([list_block], state, line, end, "paragraph")) or None
    return _terminates(_rules_that_interrupt().get(mark, ()), state, line, end, "paragraph")


@cache
def _rules_that_interrupt() -> dict[str, tuple[RuleFuncBlockType, ...]]:
    return _rules_by_mark() | {
        "*": (hr, list_block),
        **dict.fromkeys("+0123456789", (list_block,)),
    }


def _flat_list(state: StateBlock, start: int, end: int, _silent: bool) -> bool:
    """Match a top-level list whose lines are all items or their paragraphs."""
    if state.level or state.sCount[start]:
        return False
    items: list[int] = []
    delimiter, width, blank, line = "", 0, False, start
    while line < end:
        if state.isEmpty(line):
            line, blank = line + 1, True
            continue
        if state.sCount[line] == 0:
            item = _FLAT_ITEM.match(state.src, state.bMarks[line])
            if item is None or item[1] != (delimiter or item[1]):
                break
            delimiter, width = item[1], item.end() - item.start()
            items.append(line)
        elif not _goes_on(state, line, width, blank):
            return False
        line, blank = line + 1, False
    # Without a blank line the next line could go on lazily; with an item's mark it could be a list
    # of another kind, or a rule: then markdown-it decides about all of it.
    if line < end and not (blank and state.src[state.bMarks[line]] not in _ITEM_MARKS):
        return False
    _take(state, "list", start, line)
    state.tokens[-2].meta["items"] = items
    return True


def _goes_on(state: StateBlock, line: int, width: int, blank: bool) -> bool:
    """Return whether an indented line is but a paragraph or a smaller item of a flat item."""
    indent = state.sCount[line]
    if not width <= indent < (width + 4 if blank else indent + 1):
        return False
    first = state.bMarks[line] + state.tShift[line]
    if state.src[first] not in _MARKS or _PROSE.match(state.src, first):
        return True
    return _FLAT_ITEM.match(state.src, first) is not None


def _quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Match a block quote, looking inside only where the next line may be lazy continuation."""
    marked = blockquote(state, start, end, True)
    if silent or not marked:
        return marked
    stop = _marked_end(state, start + 1, end)
    if _quote_stops(state, stop, end):
        _take(state, "blockquote", start, stop)
    else:
        _look_inside(state, start, end)
    return True


def _marked_end(state: StateBlock, line: int, end: int) -> int:
    """Return the first line from `line` on that does not begin with a quote's mark."""
    while line < end and state.sCount[line] >= state.blkIndent:
        first = state.bMarks[line] + state.tShift[line]
        if first >= state.eMarks[line] or state.src[first] != ">":
            break
        line += 1
    return line


def _quote_stops(state: StateBlock, stop: int, end: int) -> bool:
    """Return whether `stop` surely belongs to no paragraph of the quote before it."""
    if stop >= end or state.isEmpty(stop):
        return True
    mark = state.bMarks[stop - 1] + state.tShift[stop - 1]
    if not state.src[mark + 1 : state.eMarks[stop - 1]].strip(" \t"):
        return True
    rules = state.md.block.ruler.getRules("blockquote")
    return _terminates(rules, state, stop, end, "blockquote")


def _look_inside(state: StateBlock, start: int, end: int) -> None:
    """Parse a quote with as few of the lines after `start` as tell where it ends."""
    known, last, look = len(state.tokens), state.lineMax, _FIRST_LOOK
    reach = min(end, last)
    state.line = start
    # It ends for sure only if it ends before the last line that it was shown.
    while state.line <= start or (state.line >= state.lineMax and state.line < reach):
        del state.tokens[known:]
        state.lineMax = min(start + look, reach)
        blockquote(state, start, state.lineMax, False)
        look *= _LOOK_GROWTH
    state.lineMax = last


def _terminates(
    rules: Iterable[RuleFuncBlockType], state: StateBlock, line: int, end: int, parent: str
) -> bool:
    outer = state.parentType
    state.parentType = parent
    matched = any(rule(state, line, end, True) for rule in rules)
    state.parentType = outer
    return matched


def _take(state: StateBlock, name: str, start: int, stop: int) -> None:
    """Make the lines from `start` to `stop` one block."""
    state.line = stop
    if state.level == 0:
        state.push(f"{name}_open", "", 1).map = [start, stop]
        state.push(f"{name}_close", "", -1)


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
