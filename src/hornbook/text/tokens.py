"""Token counters by name."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Final, Protocol

from hornbook.errors import UsageError

COUNTERS: Final[tuple[str, ...]] = ("heuristic", "cl100k", "o200k")
DEFAULT_COUNTER: Final = "cl100k"

CHARACTERS_PER_TOKEN: Final = 4
_ENCODINGS: Final = {"cl100k": "cl100k_base", "o200k": "o200k_base"}
_ALIASES: Final = {encoding: name for name, encoding in _ENCODINGS.items()}


class TokenCounter(Protocol):
    """Tells how many tokens a text has, and by which count."""

    @property
    def name(self) -> str:
        """The counter's name, one of `COUNTERS`."""

    def __call__(self, text: str) -> int:
        """Return the number of tokens of `text`."""


@dataclass(frozen=True, slots=True)
class HeuristicCounter:
    """Counts four characters as a token, rounded up: quick, and low for all but English prose."""

    name: str = "heuristic"

    def __call__(self, text: str) -> int:
        """Return a quarter of the characters of `text`, rounded up."""
        return -(-len(text) // CHARACTERS_PER_TOKEN)


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


def counter(name: str) -> TokenCounter:
    """Return the counter called `name`, made once; `cl100k_base` and `o200k_base` are known too.

    Raises:
        UsageError: No counter has that name.
    """
    canonical = _ALIASES.get(name, name)
    if canonical not in COUNTERS:
        near = get_close_matches(name.lower(), COUNTERS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"no token counter {name!r}: {hint}Use one of {', '.join(COUNTERS)}.")
    return _made(canonical)


@cache
def _made(name: str) -> TokenCounter:
    if name == "heuristic":
        return HeuristicCounter()
    from hornbook.text.exact_counter import exact_counter  # noqa: PLC0415  # start-up: most commands count nothing

    return exact_counter(name, _ENCODINGS[name])
