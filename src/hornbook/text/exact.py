"""Exact token counts by tiktoken, without its downloads and without its panics."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import tiktoken

from hornbook.text.ranks import load_ranks
from hornbook.text.token_boundary import BLANKS

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
