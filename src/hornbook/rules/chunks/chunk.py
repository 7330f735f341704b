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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from zlib import crc32

from hornbook.rules.chunks.blocks import TopBlock, markdown_blocks, plain_blocks
from hornbook.rules.document import Chunk

_Rank = tuple[int, int]
_NO_HEADING = 7
_NEAR = 50
"""A sum that passes the maximum by no more than one part in this is counted anew."""


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """Sizes in tokens: what to aim for, what never to pass, and below what to join a neighbour."""

    target: int = 1000
    maximum: int = 1500
    minimum: int = 200


@dataclass(frozen=True, slots=True)
class ChunkPiece:
    """A stretch of the body, `exact` where its tokens are what a count gives, not an estimate.

    `level` and `title` are those of the heading that it begins with; 0 and "" without one.
    """

    start: int
    end: int
    tokens: int
    level: int
    title: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Packing:
    """Puts pieces together within `limits`.

    `count` tells the tokens between two offsets, `adds` whether counts surely add up at an offset.
    """

    limits: ChunkLimits
    count: Callable[[int, int], int]
    adds: Callable[[int], bool]

    def packed(self, units: Iterable[ChunkPiece]) -> Iterator[ChunkPiece]:
        """Yield the units of one section put together in order, each time up to the target.

        What is below the minimum may take a unit that leads over the target.
        """
        current: ChunkPiece | None = None
        for unit in units:
            # Greedy from the front: a change further down never moves a cut that is above it.
            if current and current.tokens + unit.tokens <= self._room(current):
                current = self.joined([current, unit])
                continue
            if current:
                yield current
            current = unit
        if current:
            yield current

    def settled(self, pieces: Iterable[ChunkPiece]) -> list[ChunkPiece]:
        """Return `pieces` with each one below the minimum joined to a neighbour that has room.

        One that begins with a heading prefers the piece after it, another the piece before it.
        """
        done: list[ChunkPiece] = []
        waiting: ChunkPiece | None = None
        # A small piece waits for the next one. Is there no room in that, it goes back to the one
        # before; is there none either, it stays small: better than one above the maximum.
        for piece in self._grouped(pieces):
            current = piece
            if waiting:
                together = self._fitting(waiting, piece)
                if together is None and not self._put_back(done, waiting):
                    done.append(waiting)
                current, waiting = together or piece, None
            if current.tokens >= self.limits.minimum:
                done.append(current)
            elif current.level or not self._put_back(done, current):
                waiting = current
        if waiting and not self._put_back(done, waiting):
            done.append(waiting)
        return done

    def joined(self, pieces: Sequence[ChunkPiece]) -> ChunkPiece:
        """Return one piece that spans `pieces`, which follow each other."""
        first, *others = pieces
        if not others:
            return first
        tokens = sum(piece.tokens for piece in pieces)
        exact = first.exact and all(piece.exact and self.adds(piece.start) for piece in others)
        return ChunkPiece(first.start, others[-1].end, tokens, first.level, first.title, exact)

    def recounted(self, piece: ChunkPiece) -> ChunkPiece:
        """Return `piece` with its tokens counted, not estimated."""
        if piece.exact:
            return piece
        tokens = self.count(piece.start, piece.end)
        return ChunkPiece(piece.start, piece.end, tokens, piece.level, piece.title)

    def _room(self, piece: ChunkPiece) -> int:
        small = piece.tokens < self.limits.minimum
        return self.limits.maximum if small else self.limits.target

    def _put_back(self, done: list[ChunkPiece], piece: ChunkPiece) -> bool:
        together = self._fitting(done[-1], piece) if done else None
        if together is None:
            return False
        done[-1] = together
        return True

    def _fitting(self, piece: ChunkPiece, following: ChunkPiece) -> ChunkPiece | None:
        """Return both as one, or None where that is above the maximum."""
        together = self.joined([piece, following])
        maximum = self.limits.maximum
        # Two texts put together may have a few tokens less than their sum, never many: only close
        # to the limit is it worth counting the text once more.
        if maximum < together.tokens <= maximum + maximum // _NEAR:
            together = self.recounted(together)
        return together if together.tokens <= maximum else None

    def _grouped(self, pieces: Iterable[ChunkPiece]) -> Iterator[ChunkPiece]:
        """Yield the large pieces as they are, and runs of small ones as pieces up to the target."""
        for small, run in groupby(pieces, key=lambda piece: piece.tokens < self.limits.minimum):
            if small:
                yield from self._parted(list(run), ())
            else:
                yield from run

    def _parted(self, run: Sequence[ChunkPiece], ranks: Sequence[_Rank]) -> Iterator[ChunkPiece]:
        """Yield `run` as one piece if that is within the target, else cut where it ranks lowest."""
        if len(run) == 1 or sum(piece.tokens for piece in run) <= self.limits.target:
            yield self.joined(run)
            return
        # Cutting by rank, and not each time the target is reached, keeps an edit local: were small
        # pieces packed from the front, one more of them would move every cut behind it.
        ranks = ranks or _ranks(run)
        lowest = min(ranks[1:])
        cuts = [at for at, rank in enumerate(ranks) if rank == lowest and at]
        for begin, end in pairwise([0, *cuts, len(run)]):
            yield from self._parted(run[begin:end], ranks[begin:end])


def _ranks(run: Iterable[ChunkPiece]) -> list[_Rank]:
    """Return how strongly a cut is called for before each piece of `run`, lowest first.

    Higher headings come first, then titles by the zeros at the end of their hash, which few have
    many of. So no edit elsewhere in the run changes the order of cuts.
    """
    seen: Counter[str] = Counter()
    ranks = []
    for piece in run:
        seen[piece.title] += 1
        digest = crc32(f"{piece.title}\0{seen[piece.title]}".encode("utf-8", "surrogatepass"))
        ranks.append((piece.level or _NO_HEADING, -(digest & -digest).bit_length()))
    return ranks


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

    def pieces(self, sections: Sequence[_Section]) -> Iterator[ChunkPiece]:
        """Yield the pieces that become chunks, with their tokens counted exactly."""
        packing = Packing(self.limits, self.tokens, self._adds_at)
        settled: list[ChunkPiece] = []
        countable = self.limits.target * _CHARACTERS_PER_TOKEN
        # Each part by itself first, so that small pieces stay among their own where they can.
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

    def _folded(
        self, tree: Sequence[_Section], packing: Packing, countable: int
    ) -> list[ChunkPiece]:
        """Return a heading and all below it as one piece, or in pieces if above the target.

        What is longer than `countable` is not counted as a whole but by its pieces.
        """
        start, end, target = tree[0].start, tree[-1].end, self.limits.target
        if end - start <= countable:
            whole = self._piece(tree[0].blocks[0], start, end)
            if whole.tokens <= target:
                return [whole]
            # Half of it at the most is counted as a whole next time, so that no text is counted
            # more than a few times however deep its headings are nested.
            countable = (end - start) // 2
        pieces: list[ChunkPiece] = []
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

    def _units(self, block: TopBlock) -> list[ChunkPiece]:
        """Return what of `block` must not be cut: itself, or its items if it is too large."""
        whole = self._piece(block, block.start, block.end)
        if whole.tokens <= self.limits.maximum or len(block.items) < 2:
            return [whole]
        self.cuts.extend(block.items[1:])
        edges = [block.start, *block.items[1:], block.end]
        return [self._piece(block, start, end) for start, end in pairwise(edges)]

    def _piece(self, block: TopBlock, start: int, end: int) -> ChunkPiece:
        return ChunkPiece(start, end, self.tokens(start, end), block.level, block.title)

    def _within_maximum(self, piece: ChunkPiece) -> Iterator[ChunkPiece]:
        """Yield `piece`, or its halves where a text has more tokens than its pieces together."""
        first = bisect_right(self.cuts, piece.start)
        last = bisect_left(self.cuts, piece.end)
        if piece.tokens <= self.limits.maximum or first == last:
            yield piece
            return
        middle = self.cuts[(first + last) // 2]
        for start, end in ((piece.start, middle), (middle, piece.end)):
            half = ChunkPiece(start, end, self.tokens(start, end), piece.level, piece.title)
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
