"""What markdown-it itself says of a body's blocks, and bodies to ask it about."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hornbook.rules.chunks.blocks import TopBlock

LINE_ENDS = ("\n", "\r\n", "\r")
NEVER_CUT = {"paragraph_open", "heading_open", "table_open", "blockquote_open"}
NEVER_CUT |= {"fence", "code_block", "html_block", "definition", "hr"}

_LINE_END = re.compile(r"\r\n?|\n")
_PREFIXES = [
    *[""] * 6,
    " ",
    "  ",
    "   ",
    "    ",
    "\t",
    "     ",
    "> ",
    ">",
    "> > ",
    "- ",
    "* ",
    "+ ",
]
_PREFIXES += ["1. ", "2) ", "10. ", "   - ", "  - ", "    - ", "-   ", "- > ", "> - ", ">    "]
_CONTENTS = "a|b c||# h|## h ##|#|#x|---|***|- - -|===|=|--|-|```|~~~|```py|`x`|**b** c|*e*|_u_|___"
_CONTENTS += (
    "|[a]: b|[a]: b 'c'|[a]|[a] b|[a]:|'t'|<div>|</div>|<!--|-->|<a>|<?|1|1.5|12 a|\\|- a|* a"
)
_CONTENTS += "|1. a|1) a|+|*|\xa0|\x0c|\x85|\u2028|    x|[ ] t|[a\\]: b|![i](j)|/x|\0|é|🎉|-->"
_TABLES = ["a | b", "--- | ---", "|a|b|", "|-|-|", "| - |", "-|-", ":-", "- | -", "| 1"]


@cache
def _parser() -> MarkdownIt:
    options = {"maxNesting": 1000, "inline_definitions": True}
    return MarkdownIt("commonmark", options).enable("table")


# Each limit of a property is tried with the same examples, and each test asks for both answers.
@lru_cache(4096)
def _parsed(body: str) -> tuple[list[Token], list[int]]:
    text = body.removeprefix("\ufeff")
    mark = len(body) - len(text)
    starts = [mark, *(match.end() + mark for match in _LINE_END.finditer(text)), len(body)]
    return _parser().parse(text), starts


def top_blocks(body: str) -> list[TopBlock]:
    """Return the blocks that tile `body`, by a full parse."""
    tokens, starts = _parsed(body)
    found: list[tuple[int, int, str, list[int]]] = []
    for token, after in zip(tokens, [*tokens[1:], None], strict=False):
        if token.map and token.level == 1 and token.type == "list_item_open":
            found[-1][3].append(starts[token.map[0]])
        if token.map and token.level == 0:
            heading = after if token.type == "heading_open" else None
            title = " ".join(heading.content.split()) if heading else ""
            found.append((starts[token.map[0]], int(token.tag[1]) if heading else 0, title, []))
    edges = [0, *(start for start, *_ in found[1:]), len(body)]
    if not found:
        return [TopBlock(0, len(body))] if body else []
    return [
        TopBlock(edges[at], edges[at + 1], level, title, tuple(items))
        for at, (_, level, title, items) in enumerate(found)
    ]


def never_cut(body: str) -> Iterator[range]:
    """Yield the characters, but for its first, of each block and item that must stay whole."""
    tokens, starts = _parsed(body)
    for token in tokens:
        item = token.level == 1 and token.type == "list_item_open"
        if token.map and (item or (token.level == 0 and token.type in NEVER_CUT)):
            first, last = token.map
            while last > first + 1 and not body[starts[last - 1] : starts[last]].strip():
                last -= 1
            yield range(starts[first] + 1, starts[last])


def _assembled(lines: list[str], end: str, mark: str, last: str) -> str:
    return mark + end.join(lines) + last.replace("\n", end)


_LINES = st.builds(
    str.__add__,
    st.sampled_from(_PREFIXES),
    st.sampled_from([*_CONTENTS.split("|"), *_TABLES]),
)
strange_bodies = st.builds(
    _assembled,
    st.lists(_LINES, max_size=14),
    st.sampled_from(LINE_ENDS),
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["", "\n", "\n ", "\n\n"]),
)


def _words(length: int) -> str:
    return " ".join(f"w{number}" for number in range(length))


def _table(rows: int) -> str:
    return "| a | b |\n|---|---|\n" + "| c | d |\n" * rows


_LENGTHS = st.one_of(st.integers(1, 12), st.integers(1, 120), st.integers(1, 900))
_HEADINGS = st.builds(
    "{} {}\n\n".format,
    st.sampled_from(["#", "##", "##", "###", "###", "####"]),
    st.sampled_from(["Rules", "Why", "How", "Examples", "Limits", "See also", "Notes"]),
)
paragraphs = _LENGTHS.map(lambda length: _words(length) + "\n\n")
_FENCES = _LENGTHS.map(lambda length: "```\n# " + _words(length).replace(" ", "\n\n") + "\n```\n\n")
_LISTS = st.lists(_LENGTHS, min_size=1, max_size=6).map(
    lambda lengths: "".join(f"- {_words(length)}\n  - nested\n" for length in lengths) + "\n"
)
_TABLE_BLOCKS = st.integers(1, 80).map(lambda rows: _table(rows) + "\n")
_OTHERS = st.sampled_from(
    [
        "> quote\n> # more\nlazy\n\n",
        "<div>\nhtml\n</div>\n\n",
        "    code\n\n    code\n\n",
        "---\n\n",
    ]
)
documents = st.lists(
    st.one_of(_HEADINGS, paragraphs, _HEADINGS, _FENCES, _LISTS, _TABLE_BLOCKS, _OTHERS),
    max_size=14,
).map("".join)
