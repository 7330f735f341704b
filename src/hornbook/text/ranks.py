"""The merge ranks of OpenAI's tokenizers, carried in the package.

tiktoken fetches these tables at first use, which fails offline. They are kept as one zlib stream
each: the 256 single-byte tokens, then all longer tokens in rank order, each pair parted by a byte
that no longer token holds. xz would be a fifth smaller and four times as slow to open.
"""

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

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
    return {token: rank for rank, token in enumerate(unpack(ranks_path(encoding).read_bytes()))}


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
