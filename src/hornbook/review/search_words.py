"""Whether a search has to do with its rule: the words that both have."""

import re

_ESCAPE = re.compile(r"\\.", re.DOTALL)
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+")
_BEGIN = re.compile(r"(\\.)|(?<!\[)\^", re.DOTALL)
_ANCHOR = re.compile(r"(\\.)|(?<!\[)[\^$]", re.DOTALL)
# Short words of English that stand in every rule.
_FILLER = frozenset(
    ("all", "and", "any", "are", "but", "can", "for", "has", "its", "may", "new", "not", "the")
)
_BEGINNING = 4
_SHORTEST = 3


def loosened(pattern: str) -> str:
    """The pattern without the ends of lines that it is tied to."""
    return _ANCHOR.sub(lambda found: found[1] or "", pattern)


def indented(pattern: str) -> str:
    """The pattern with room for blanks wherever it wants a line to begin."""
    return _BEGIN.sub(lambda found: found[1] or r"^\s*", pattern)


def shared_words(pattern: str, rule: str) -> list[str]:
    """The words of the pattern that stand in the rule, or begin like one that does."""
    ours, theirs = _words(_ESCAPE.sub(" ", pattern)), _words(rule)
    return sorted(one for one in ours if any(_alike(one, other) for other in theirs))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} - _FILLER


def _alike(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    begins = min(shorter, _BEGINNING)
    return one == other or (shorter >= _SHORTEST and one[:begins] == other[:begins])
