"""Chunks of a document's body: lossless, deterministic and local.

A *section* is a heading with its blocks up to the next heading; a *part* is an h1 or h2 with all
below it. Token counts, heading levels and titles decide, and nothing else:

- a part within the target is one piece, else each heading in it with all below it, if within the
  target, else each section; a section above the target is packed block by block, and a list above
  the maximum item by item;
- pieces below the minimum join a neighbour in their part, else in the next part, else in the one
  before, wherever that stays within the maximum.

An edit that moves no size across a limit changes the chunk it is in, and no other. One that does
reaches no further than its part and the small pieces beside that, the first piece on each side that
is not small, and the small ones behind the latter.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hornbook.ingest.blocks import TopBlock, markdown_blocks, plain_blocks
from hornbook.ingest.packing import ChunkLimits, Packing, Piece
from hornbook.model.document import Chunk

__all__ = ["DEFAULT_LIMITS", "ChunkLimits", "chunk"]

DEFAULT_LIMITS = ChunkLimits()

_PART_LEVEL = 2
_DEEPEST_LEVEL = 6
_ENOUGH_OF_A_LINE = 100
_CHARACTERS_PER_TOKEN = 4
"""What is longer than the target at this rate is likely above it: counting it were in vain."""


def chunk(
    body: str,
    count: Callable[[str], int],
    limits: ChunkLimits = DEFAULT_LIMITS,
    *,
    offset: int = 0,
    plain: bool = False,
    adds: Callable[[str, str], bool] | None = None,
) -> tuple[Chunk, ...]:
    """Return the chunks that tile `body`, which begins at byte `offset` of its file.

    None is larger than the maximum but a single block that must not be cut: a paragraph, fence,
    table, quote, HTML block, indented code, link definition or list item. `plain` text has no
    structure but paragraphs. `adds` tells where `count` of two texts surely is that of both
    together, which saves counting them again.
    """
    sections = _sections(plain_blocks(body) if plain else markdown_blocks(body))
    starts = [section.start for section in sections]
    chunks: list[Chunk] = []
    for index, piece in enumerate(_Division(body, count, limits, adds).pieces(sections), start=1):
        content = body[piece.start : piece.end]
        end = offset + len(content.encode("utf-8", "surrogatepass"))
        path = sections[bisect_right(starts, piece.start) - 1].path
        chunks.append(Chunk(index, " > ".join(path), offset, end, piece.tokens, content))
        offset = end
    return tuple(chunks)


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading and its blocks up to the next heading; `path` is the titles that lead to it."""

    level: int
    path: tuple[str, ...]
    blocks: Sequence[TopBlock]

    @property
    def start(self) -> int:
        return self.blocks[0].start

    @property
    def end(self) -> int:
        return self.blocks[-1].end


def _sections(blocks: Sequence[TopBlock]) -> list[_Section]:
    """Return the sections of a body; the first has level 0 where no heading opens the body."""
    edges = [0, *(at for at, block in enumerate(blocks) if block.level and at), len(blocks)]
    above: list[TopBlock] = []
    sections: list[_Section] = []
    for begin, end in pairwise(edges if blocks else []):
        heading = blocks[begin]
        above = [title for title in above if title.level < heading.level]
        if heading.level:
            above.append(heading)
        path = tuple(block.title for block in above if block.title)
        sections.append(_Section(heading.level, path, blocks[begin:end]))
    return sections


@dataclass(frozen=True, slots=True)
class _Division:
    """Divides one body into pieces.

    `cuts` are the starts of the list items it may cut between, `counted` the tokens known so far.
    """

    body: str
    count: Callable[[str], int]
    limits: ChunkLimits
    adds: Callable[[str, str], bool] | None
    cuts: list[int] = field(default_factory=list)
    counted: dict[tuple[int, int], int] = field(default_factory=dict)

    def pieces(self, sections: Sequence[_Section]) -> Iterator[Piece]:
        """Yield the pieces that become chunks, with their tokens counted exactly."""
        packing = Packing(self.limits, self.tokens, self._adds_at)
        settled: list[Piece] = []
        countable = self.limits.target * _CHARACTERS_PER_TOKEN
        for part in _parts(sections):
            settled += packing.settled(self._folded(part, packing, countable))
        self.cuts.extend(block.start for section in sections for block in section.blocks)
        self.cuts.sort()
        for piece in packing.settled(settled):
            yield from self._within_maximum(packing.recounted(piece))

    def tokens(self, start: int, end: int) -> int:
        """Return the tokens of the body between two offsets."""
        known = self.counted.get((start, end))
        if known is None:
            known = self.counted[start, end] = self.count(self.body[start:end])
        return known

    def _adds_at(self, at: int) -> bool:
        return self.adds is not None and self.adds(
            self.body[at - 1 : at], self.body[at : at + _ENOUGH_OF_A_LINE]
        )

    def _folded(self, tree: Sequence[_Section], packing: Packing, countable: int) -> list[Piece]:
        """Return a heading and all below it as one piece, or in pieces if above the target.

        What is longer than `countable` is not counted as a whole but by its pieces.
        """
        start, end, target = tree[0].start, tree[-1].end, self.limits.target
        if end - start <= countable:
            whole = self._piece(tree[0].blocks[0], start, end)
            if whole.tokens <= target:
                return [whole]
            countable = (end - start) // 2
        pieces: list[Piece] = []
        trees = _trees(tree)
        if len(trees) == 1:
            pieces += packing.packed(
                unit for block in tree[0].blocks for unit in self._units(block)
            )
            trees = _trees(tree[1:])
        for smaller in trees:
            pieces += self._folded(smaller, packing, countable)
        if sum(piece.tokens for piece in pieces) <= target:
            return [packing.joined(pieces)]
        return pieces

    def _units(self, block: TopBlock) -> list[Piece]:
        """Return what of `block` must not be cut: itself, or its items if it is too large."""
        whole = self._piece(block, block.start, block.end)
        if whole.tokens <= self.limits.maximum or len(block.items) < 2:
            return [whole]
        self.cuts.extend(block.items[1:])
        edges = [block.start, *block.items[1:], block.end]
        return [self._piece(block, start, end) for start, end in pairwise(edges)]

    def _piece(self, block: TopBlock, start: int, end: int) -> Piece:
        return Piece(start, end, self.tokens(start, end), block.level, block.title)

    def _within_maximum(self, piece: Piece) -> Iterator[Piece]:
        """Yield `piece`, or its halves where a text has more tokens than its pieces together."""
        first = bisect_right(self.cuts, piece.start)
        last = bisect_left(self.cuts, piece.end)
        if piece.tokens <= self.limits.maximum or first == last:
            yield piece
            return
        middle = self.cuts[(first + last) // 2]
        for start, end in ((piece.start, middle), (middle, piece.end)):
            half = Piece(start, end, self.tokens(start, end), piece.level, piece.title)
            yield from self._within_maximum(half)


def _parts(sections: Sequence[_Section]) -> list[Sequence[_Section]]:
    """Return the sections by the h1 or h2 that they stand under."""
    begins = [at for at, section in enumerate(sections) if 0 < section.level <= _PART_LEVEL and at]
    return _cut(sections, begins)


def _trees(sections: Sequence[_Section]) -> list[Sequence[_Section]]:
    """Return the sections by the highest headings among them, each with all below it."""
    begins: list[int] = []
    level = _DEEPEST_LEVEL
    for at, section in enumerate(sections):
        if section.level <= level:
            begins.append(at)
            level = section.level
    return _cut(sections, begins[1:])


def _cut(sections: Sequence[_Section], begins: Sequence[int]) -> list[Sequence[_Section]]:
    edges = [0, *begins, len(sections)] if sections else []
    return [sections[begin:end] for begin, end in pairwise(edges)]
