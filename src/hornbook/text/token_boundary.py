"""Where a text may be parted without changing how many tokens it has."""

import re
from collections.abc import Callable, Iterable
from typing import Final

BLANKS: Final = "\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Inside of a character class: whitespace within a line, as the encodings' regexes know it.

That is Unicode's White_Space without CR and LF; Python's own `\\s` also holds U+001C to U+001F.
"""

_LINE_THAT_STANDS_ALONE: Final = re.compile(f"[{BLANKS}]++[^{BLANKS}\r\n]|[^{BLANKS}\r\n/]")


def additive_boundary(before: str, after: str) -> bool:
    r"""Return whether every exact counter surely has count(before + after) == count of each, added.

    So it is when a line ends with `before` and `after` goes on with a line that is not blank and
    does not begin with `/`. No alternative of either pattern matches a line end and then such a
    line's start: after CR or LF, `[\r\n]*` and o200k's `[\r\n/]*` take only more of the same, and
    `\s*[\r\n]` takes nothing behind the run's last line end. Of `before` alone `\s++$` may take
    the closing whitespace, and takes just what `\s*[\r\n]` takes of both. No pattern looks back.
    """
    if not before or not after:
        return True
    return before[-1] in "\r\n" and _LINE_THAT_STANDS_ALONE.match(after) is not None


def count_joined(pieces: Iterable[str], count: Callable[[str], int]) -> int:
    """Return what an exact counter counts in the pieces put together, counting them one by one.

    Pieces without such a boundary between them are counted together.
    """
    total, run = 0, ""
    for piece in filter(None, pieces):
        if additive_boundary(run, piece):
            total += count(run) if run else 0
            run = piece
        else:
            run += piece
    return total + (count(run) if run else 0)
