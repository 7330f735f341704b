"""Signatures: the headers of the declarations that a query captured, in file order."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node, Query

from hornbook.rules.code.file import Signature
from hornbook.rules.code.parsing import Match

Span = tuple[int, int]
"""Byte offsets, the end not included."""

LONGEST = 500
"""Characters of a header; what is longer ends in an ellipsis."""

_AFTER_OPENING = re.compile(r"([(\[{])\s*\n\s*")
_BEFORE_CLOSING = re.compile(r",?\s*\n\s*([)\]}])")


@dataclass(slots=True)
class SignatureDraft:
    """A declaration while its matches are gathered."""

    start: int
    end: int
    header_start: int
    header_end: int
    line: int
    prefix: str = ""


class Excerpts:
    """Texts of parts of a file without what the query leaves out."""

    def __init__(self, data: bytes, matches: Iterable[Match]) -> None:
        kept, hidden, passed = set[Span](), set[Span](), set[Span]()
        for _, captures in matches:
            kept |= spans(captures, "keep")
            hidden |= spans(captures, "cut", "body")
            passed |= spans(captures, "members")
        self._data = data
        self._line_ends = [found.start() for found in re.finditer(b"\n", data)]
        self._hidden = _merged(hidden - kept)
        self._left_out = sorted((hidden | passed) - kept)

    def line(self, offset: int) -> int:
        """The line of a place, from 1."""
        return bisect_left(self._line_ends, offset) + 1

    def hides(self, start: int, end: int) -> bool:
        """Whether a span lies in a body or a value, where nothing is looked at."""
        place = bisect_right(self._hidden, start, key=lambda span: span[0]) - 1
        return place >= 0 and end <= self._hidden[place][1]

    def text(self, start: int, end: int) -> str:
        """The source from `start` to `end` on one line."""
        pieces = "".join(self._pieces(start, end))
        pieces = _AFTER_OPENING.sub(r"\1", pieces)
        return " ".join(_BEFORE_CLOSING.sub(r"\1", pieces).split())

    def _pieces(self, start: int, end: int) -> Iterator[str]:
        whole = (start, end)
        first, last = (bisect_left(self._left_out, (place, place)) for place in whole)
        for cut in self._left_out[first:last]:
            cut_start, cut_end = cut
            # A body that begins with this very part, or is all of it, is around it, not in it.
            if start <= cut_start and cut_end <= end and cut != whole:
                yield self._decoded(start, cut_start).rstrip()
                start = cut_end
        yield self._decoded(start, end)

    def _decoded(self, start: int, end: int) -> str:
        return self._data[start:end].decode("utf-8", errors="replace")


def signatures(query: Query, matches: Iterable[Match], excerpts: Excerpts) -> list[Signature]:
    """The headers of all declarations that stand in no body, with their nesting."""
    found: list[Signature] = []
    open_ends: list[int] = []
    for draft in sorted(
        _drafts(query, matches, excerpts), key=lambda each: (each.start, -each.end)
    ):
        if excerpts.hides(draft.start, draft.end):
            continue
        while open_ends and open_ends[-1] <= draft.start:
            open_ends.pop()
        header = excerpts.text(draft.header_start, draft.header_end).rstrip(" :;,=")
        text = f"{draft.prefix} {header}" if draft.prefix else header
        if header:
            found.append(Signature(draft.line, len(open_ends), _shortened(text)))
            open_ends.append(draft.end)
    return found


def spans(captures: dict[str, list[Node]], *names: str) -> set[Span]:
    """The byte ranges of what was captured under any of the names."""
    return {node.byte_range for name in names for node in captures.get(name, ())}


def _drafts(query: Query, matches: Iterable[Match], excerpts: Excerpts) -> Iterable[SignatureDraft]:
    drafts: dict[Span, SignatureDraft] = {}
    wrappers: dict[Span, Span] = {}
    for pattern, captures in matches:
        for wrapped in captures.get("wrapped", ()):
            wrappers[wrapped.byte_range] = captures["wrapper"][0].byte_range
        for node in captures.get("declaration", ()):
            start, end = node.byte_range
            new = SignatureDraft(start, end, start, end, excerpts.line(start))
            draft = drafts.setdefault((start, end), new)
            draft.prefix = query.pattern_settings(pattern).get("prefix") or draft.prefix
            draft.header_end = min(
                [draft.header_end, *(start for start, _ in spans(captures, "body", "members"))]
            )
            for name in captures.get("name", ()):
                draft.line = excerpts.line(name.start_byte)
    for draft in drafts.values():
        span: Span | None = wrappers.pop((draft.start, draft.end), None)
        while span is not None:
            draft.header_start = span[0]
            span = wrappers.pop(span, None)
    return drafts.values()


def _merged(found: set[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " …"
