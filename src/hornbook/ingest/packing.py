"""Pieces of a body put together until none is small that could be larger."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from zlib import crc32

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
class Piece:
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

    def packed(self, units: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the units of one section put together in order, each time up to the target.

        What is below the minimum may take a unit that leads over the target.
        """
        current: Piece | None = None
        for unit in units:
            if current and current.tokens + unit.tokens <= self._room(current):
                current = self.joined([current, unit])
                continue
            if current:
                yield current
            current = unit
        if current:
            yield current

    def settled(self, pieces: Iterable[Piece]) -> list[Piece]:
        """Return `pieces` with each one below the minimum joined to a neighbour that has room.

        One that begins with a heading prefers the piece after it, another the piece before it.
        """
        done: list[Piece] = []
        waiting: Piece | None = None
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

    def joined(self, pieces: Sequence[Piece]) -> Piece:
        """Return one piece that spans `pieces`, which follow each other."""
        first, *others = pieces
        if not others:
            return first
        tokens = sum(piece.tokens for piece in pieces)
        exact = first.exact and all(piece.exact and self.adds(piece.start) for piece in others)
        return Piece(first.start, others[-1].end, tokens, first.level, first.title, exact)

    def recounted(self, piece: Piece) -> Piece:
        """Return `piece` with its tokens counted, not estimated."""
        if piece.exact:
            return piece
        tokens = self.count(piece.start, piece.end)
        return Piece(piece.start, piece.end, tokens, piece.level, piece.title)

    def _room(self, piece: Piece) -> int:
        small = piece.tokens < self.limits.minimum
        return self.limits.maximum if small else self.limits.target

    def _put_back(self, done: list[Piece], piece: Piece) -> bool:
        together = self._fitting(done[-1], piece) if done else None
        if together is None:
            return False
        done[-1] = together
        return True

    def _fitting(self, piece: Piece, following: Piece) -> Piece | None:
        """Return both as one, or None where that is above the maximum."""
        together = self.joined([piece, following])
        maximum = self.limits.maximum
        if maximum < together.tokens <= maximum + maximum // _NEAR:
            together = self.recounted(together)
        return together if together.tokens <= maximum else None

    def _grouped(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the large pieces as they are, and runs of small ones as pieces up to the target."""
        for small, run in groupby(pieces, key=lambda piece: piece.tokens < self.limits.minimum):
            if small:
                yield from self._parted(list(run), ())
            else:
                yield from run

    def _parted(self, run: Sequence[Piece], ranks: Sequence[_Rank]) -> Iterator[Piece]:
        """Yield `run` as one piece if that is within the target, else cut where it ranks lowest."""
        if len(run) == 1 or sum(piece.tokens for piece in run) <= self.limits.target:
            yield self.joined(run)
            return
        ranks = ranks or _ranks(run)
        lowest = min(ranks[1:])
        cuts = [at for at, rank in enumerate(ranks) if rank == lowest and at]
        for begin, end in pairwise([0, *cuts, len(run)]):
            yield from self._parted(run[begin:end], ranks[begin:end])


def _ranks(run: Iterable[Piece]) -> list[_Rank]:
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
