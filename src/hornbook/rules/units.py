"""Units of a rule: the sections that a reviewer answers one by one.

A rule that is larger than a limit is no single question. It is cut at its headings, so that each
unit is a stretch of its text and all of them, put together, are the text again, byte for byte:

- what stands before the first level-2 heading is the head, then each level-2 heading begins a unit,
  and so does a level-1 heading behind the first of them;
- a unit over the limit is cut at the highest headings inside of it, and their units in the same
  way; one without headings inside stays as it is, however large;
- a unit under `SMALLEST` joins the one before it, unless that has already grown over the limit by
  joining others.

The text of a rule may come from several files. No unit crosses from one to the next. The name of a
unit is the anchor that GitHub gives its heading; the second heading of a name has `-2` and so on,
whether or not the first begins a unit: no section gets another name because its neighbour grew.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath

from markdown_it import MarkdownIt

from hornbook.rules import inference
from hornbook.rules.chunks.blocks import markdown_blocks
from hornbook.rules.chunks.outline import outline
from hornbook.rules.document import Document
from hornbook.vocabulary.terms import Severity

SMALLEST = 60
HEAD = "head"
_FIRST_CUT = 2
_NAMELESS = "section"
_NO_ANCHOR = re.compile(r"[^\w\- ]")
_RANK = (Severity.INFO, Severity.WARNING, Severity.ERROR)


@dataclass(frozen=True, slots=True)
class RulePart:
    """Text of a rule that comes from one file, at one revision of it.

    `included_by` is the file that includes it; the rule's own text has none.
    """

    path: str
    revision: str
    text: str
    included_by: str = ""


@dataclass(frozen=True, slots=True)
class RuleUnit:
    """A stretch of a rule's text that is answered on its own.

    `inferred` says that its severity is told from its words, not stated by the document; `path`
    and `revision` are those of the file that it stands in, and `included_by` is the file that
    includes that one.
    """

    id: str
    title: str
    severity: Severity
    inferred: bool
    tokens: int
    text: str
    path: str
    revision: str
    included_by: str = ""


def unit_id(document_id: str, slug: str) -> str:
    """The id of a document's section."""
    return f"{document_id}.section.{slug}"


def units_of(
    document: Document,
    count: Callable[[str], int],
    limit: int,
    included: Sequence[RulePart] = (),
) -> tuple[RuleUnit, ...]:
    """Return the units of a document and of what it includes, as `units` cuts them.

    Of a document that says nothing of its own only what it includes is answered.
    """
    own = RulePart(document.path, document.revision, document.body)
    found = units(
        document.id,
        (own, *included),
        count,
        limit=limit,
        title=document.title,
        severity=None if "severity" in document.inferred else document.severity,
    )
    says_nothing = document.only_includes and bool(included)
    return tuple(unit for unit in found if unit.included_by or not says_nothing)


def units(
    document_id: str,
    parts: Sequence[RulePart],
    count: Callable[[str], int],
    *,
    limit: int,
    title: str = "",
    severity: Severity | None = None,
) -> tuple[RuleUnit, ...]:
    """Return the units that tile the parts of a rule, in order; none for a rule within the limit.

    `severity` is what the document states for all of it; without one each unit has its own.
    """
    if sum(count(part.text) for part in parts) <= limit:
        return ()
    found: list[RuleUnit] = []
    for part, pieces in zip(parts, _divided(parts, title, count, limit), strict=True):
        for piece in pieces:
            text = part.text[piece.start : piece.end]
            found.append(
                RuleUnit(
                    id=unit_id(document_id, piece.slug),
                    title=piece.title,
                    severity=severity or severity_of(text),
                    inferred=severity is None,
                    tokens=piece.tokens,
                    text=text,
                    path=part.path,
                    revision=part.revision,
                    included_by=part.included_by,
                )
            )
    return tuple(found)


def severity_of(text: str) -> Severity:
    """What the strongest RFC 2119 word of a text stands for; a warning without any."""
    return inference.severity(outline(text)) or Severity.WARNING


def highest(severities: Iterable[Severity]) -> Severity:
    """The gravest of some severities."""
    return max(severities, key=_RANK.index)


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading of this text."""
    return _NO_ANCHOR.sub("", heading.strip().lower()).replace(" ", "-")


@dataclass(frozen=True, slots=True)
class _Start:
    """A place where a unit may begin: offset, level, title and name; level 0 is a part's start."""

    at: int
    level: int
    title: str
    slug: str


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    title: str
    slug: str
    tokens: int
    grown: bool = False


class _Names:
    """Gives each name once: the second of a kind gets `-2`, and so on."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()
        self._given: set[str] = set()

    def give(self, wanted: str) -> str:
        slug = name = wanted or _NAMELESS
        while slug in self._given:
            self._times[name] = max(self._times[name], 1) + 1
            slug = f"{name}-{self._times[name]}"
        self._given.add(slug)
        return slug


def _divided(
    parts: Sequence[RulePart], title: str, count: Callable[[str], int], limit: int
) -> Iterator[list[_Piece]]:
    """Yield the pieces that tile each part."""
    names = _Names()
    for number, part in enumerate(parts):
        starts = _starts(part, names, (title, HEAD) if number == 0 else None)
        division = _Division(part.text, count, limit)
        yield division.joined(division.pieces(starts)) if part.text else []


def _starts(part: RulePart, names: _Names, head: tuple[str, str] | None) -> list[_Start]:
    """The start of a part and its headings, in order.

    What begins the first part is its head, title included; where that were blank there is none,
    and where another part begins with a heading, its first unit has that one's name.
    """
    slug = names.give(head[1]) if head is not None else ""
    headings = [
        _Start(block.start, block.level, title, names.give(anchor(title)))
        for block in markdown_blocks(part.text)
        if block.level
        for title in [_plain(block.title)]
    ]
    opens = bool(headings) and not part.text[: headings[0].at].strip()
    if head is not None and not (opens and headings[0].level == _FIRST_CUT):
        return [_Start(0, 0, head[0], slug), *headings[opens:]]
    if opens:
        return [replace(headings[0], at=0), *headings[1:]]
    stem = PurePosixPath(part.path).stem
    return [_Start(0, 0, stem, names.give(anchor(stem))), *headings]


class _Division:
    """Cuts one text at headings."""

    def __init__(self, text: str, count: Callable[[str], int], limit: int) -> None:
        self._text = text
        self._count = count
        self._limit = limit

    def pieces(self, starts: Sequence[_Start]) -> Iterator[_Piece]:
        """Yield the pieces between the level-2 headings, each cut further where it is too large."""
        levels = [start.level for start in starts]
        first = levels.index(_FIRST_CUT) if _FIRST_CUT in levels else len(levels)
        cuts = [at for at in range(first, len(levels)) if at and levels[at] <= _FIRST_CUT]
        yield from self._between(starts, cuts, len(self._text))

    def _between(self, starts: Sequence[_Start], cuts: Sequence[int], end: int) -> Iterator[_Piece]:
        for begin, stop in pairwise([0, *cuts, len(starts)]):
            until = starts[stop].at if stop < len(starts) else end
            yield from self._fitted(starts[begin:stop], until)

    def _fitted(self, starts: Sequence[_Start], end: int) -> Iterator[_Piece]:
        """Yield what the first of `starts` begins, whole or cut at the highest of the others."""
        whole, *inside = starts
        tokens = self._count(self._text[whole.at : end])
        if tokens <= self._limit or not inside:
            yield _Piece(whole.at, end, whole.title, whole.slug, tokens)
            return
        level = min(start.level for start in inside)
        cuts = [at for at, start in enumerate(starts) if at and start.level == level]
        yield from self._between(starts, cuts, end)

    def joined(self, pieces: Iterable[_Piece]) -> list[_Piece]:
        """The pieces, with each small one joined to the one before it."""
        done: list[_Piece] = []
        for piece in pieces:
            before = done[-1] if done else None
            full = before is not None and before.grown and before.tokens > self._limit
            if before is None or full or piece.tokens >= SMALLEST:
                done.append(piece)
                continue
            tokens = self._count(self._text[before.start : piece.end])
            done[-1] = replace(before, end=piece.end, tokens=tokens, grown=True)
        return done


@cache
def _inline() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _plain(heading: str) -> str:
    """A heading's text without the marks of Markdown."""
    told = (
        piece.content
        for token in _inline().parseInline(heading)
        for piece in token.children or ()
        if piece.type in {"text", "code_inline"}
    )
    return " ".join("".join(told).split())
