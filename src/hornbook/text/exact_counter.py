"""Exact token counts by tiktoken, without its downloads and without its panics."""

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import tiktoken

from hornbook.text.token_boundary import BLANKS

OFFICIAL_SHA256: Final = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
"""Digest of the `.tiktoken` file each table was made from."""

SEPARATOR: Final = b"\xff"  # never part of UTF-8, so only the single-byte token holds it
SINGLE_BYTES: Final = 256


def ranks_path(encoding: str) -> Path:
    """Return where the packed ranks of `encoding` are."""
    return Path(__file__).parent / "ranks_data" / f"{encoding}.ranks"


def load_ranks(encoding: str) -> dict[bytes, int]:
    """Return every token of `encoding` with its rank, in rank order."""
    return dict(zip(unpack(ranks_path(encoding).read_bytes()), count(), strict=False))


def unpack(packed: bytes) -> list[bytes]:
    """Return the tokens in rank order from what `pack` made of them."""
    table = zlib.decompress(packed)
    single = [table[at : at + 1] for at in range(SINGLE_BYTES)]
    return single + table[SINGLE_BYTES:].split(SEPARATOR)


def pack(tokens: Sequence[bytes]) -> bytes:
    """Return `tokens`, which are in rank order, in the form the package carries.

    Raises:
        ValueError: They are not the 256 single bytes and then longer tokens without the separator.
    """
    single, longer = tokens[:SINGLE_BYTES], tokens[SINGLE_BYTES:]
    if sorted(single) != [bytes([value]) for value in range(SINGLE_BYTES)]:
        raise ValueError("the first 256 tokens are not the 256 single bytes: not a byte-level BPE.")
    if not longer or any(len(token) < 2 or SEPARATOR in token for token in longer):
        raise ValueError(f"a token after the first 256 is short or holds {SEPARATOR!r}.")
    return zlib.compress(b"".join(single) + SEPARATOR.join(longer), level=9)


PATTERNS: Final = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"
        r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}
"""How each encoding parts a text before merging, as tiktoken 0.14 has it."""

LONGEST_BLANKS: Final = 900_000
"""Blanks in a row that are counted as one; tiktoken's regex stack ends at a million and panics."""

_OVERLONG_BLANKS: Final = re.compile(f"((?<![{BLANKS}])[{BLANKS}]{{{LONGEST_BLANKS + 1},}})")


@dataclass(frozen=True, slots=True)
class ExactCounter:
    """Counts the tokens of one encoding; text that spells a special token is ordinary text.

    The count is tiktoken's own, but for a run of more than `LONGEST_BLANKS` blanks within a line:
    that is counted apart from its neighbours and by pieces of that length. A lone surrogate counts
    as U+FFFD.
    """

    name: str
    encoding: tiktoken.Encoding

    def __call__(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return sum(len(self.encoding.encode_ordinary(piece)) for piece in _digestible(text))


def exact_counter(name: str, encoding: str) -> ExactCounter:
    """Return a counter called `name` for `encoding`, made from the ranks in the package."""
    merges = tiktoken.Encoding(
        encoding,
        pat_str=PATTERNS[encoding],
        mergeable_ranks=load_ranks(encoding),
        special_tokens={},  # only ordinary text is encoded
    )
    return ExactCounter(name, merges)


def _digestible(text: str) -> Iterator[str]:
    """Yield `text` in pieces without an overlong run of blanks, most often as it is."""
    if len(text) <= LONGEST_BLANKS:
        yield text
        return
    for index, part in enumerate(_OVERLONG_BLANKS.split(text)):
        if index % 2 == 0:
            yield part
        else:
            yield from (
                part[at : at + LONGEST_BLANKS] for at in range(0, len(part), LONGEST_BLANKS)
            )
