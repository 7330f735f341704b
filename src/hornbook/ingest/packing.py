"""Pieces of a body put together until none is small that could be larger."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from zlib import crc32

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
    """A stretch of the body, `exact` where its tokens were counted at once and not added up.

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
    """Puts pieces together within `limits`; `count` tells the tokens between two offsets."""

    limits: ChunkLimits
    count: Callable[[int, int], int]

    def packed(self, units: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the units of one section put together in order, each time up to the target.

        What is below the minimum may take a unit that leads over the target.
        """
        current: Piece | None = None
        for unit in units:
            together = current and joined([current, unit])
            if current and together and together.tokens <= self._room(current):
                current = together
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
        together = joined([piece, following])
        maximum = self.limits.maximum
        if maximum < together.tokens <= maximum + maximum // _NEAR:
            together = self.recounted(together)
        return together if together.tokens <= maximum else None

    def recounted(self, piece: Piece) -> Piece:
        """Return `piece` with its tokens counted at once."""
        if piece.exact:
            return piece
        tokens = self.count(piece.start, piece.end)
        return Piece(piece.start, piece.end, tokens, piece.level, piece.title)

    def _grouped(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the large pieces as they are, and runs of small ones as pieces up to the target."""
        for small, run in groupby(pieces, key=lambda piece: piece.tokens < self.limits.minimum):
            if small:
                yield from self._parted(_ranked(run))
            else:
                yield from run

    def _parted(self, run: Sequence[tuple[tuple[int, int], Piece]]) -> Iterator[Piece]:
        """Yield `run` as one piece if that is within the target, else cut where it ranks lowest."""
        whole = joined([piece for _, piece in run])
        if len(run) == 1 or whole.tokens <= self.limits.target:
            yield whole
            return
        lowest = min(rank for rank, _ in run[1:])
        cuts = [at for at, (rank, _) in enumerate(run) if rank == lowest and at]
        for begin, end in pairwise([0, *cuts, len(run)]):
            yield from self._parted(run[begin:end])


def joined(pieces: Sequence[Piece]) -> Piece:
    """Return one piece that spans `pieces`, which follow each other."""
    first = pieces[0]
    if len(pieces) == 1:
        return first
    tokens = sum(piece.tokens for piece in pieces)
    return Piece(first.start, pieces[-1].end, tokens, first.level, first.title, exact=False)


def _ranked(run: Iterable[Piece]) -> list[tuple[tuple[int, int], Piece]]:
    """Return each piece of `run` with how strongly a cut before it is called for, lowest first.

    Higher headings come first, then titles by the zeros at the end of their hash, which few have
    many of: that orders cuts with regard to nothing that an edit elsewhere in the run can change.
    """
    seen: Counter[str] = Counter()
    ranked = []
    for piece in run:
        seen[piece.title] += 1
        digest = crc32(f"{piece.title}\0{seen[piece.title]}".encode("utf-8", "surrogatepass"))
        zeros = (digest & -digest).bit_length()
        ranked.append(((piece.level or 7, -zeros), piece))
    return ranked
