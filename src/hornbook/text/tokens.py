"""Token counters by name."""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Final, Protocol

from hornbook.errors import UsageError

COUNTERS: Final[tuple[str, ...]] = ("heuristic", "cl100k", "o200k")
DEFAULT_COUNTER: Final = "cl100k"

TEXTS_REMEMBERED: Final = 256
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


class RememberingCounter:
    """A counter that knows what it counted last: rules go into packet after packet."""

    def __init__(self, name: str) -> None:
        exact = counter(name)
        self.name = exact.name
        self._counted = lru_cache(maxsize=TEXTS_REMEMBERED)(exact)

    def __call__(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return self._counted(text)


@cache
def _made(name: str) -> TokenCounter:
    if name == "heuristic":
        return HeuristicCounter()
    from hornbook.text.exact_counter import exact_counter  # noqa: PLC0415  # start-up: most commands count nothing

    return exact_counter(name, _ENCODINGS[name])
