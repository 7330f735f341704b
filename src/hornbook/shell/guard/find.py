"""What `find` does with the files that it finds."""

from collections.abc import Iterator, Sequence

from hornbook.shell.cheap_tuple import NamedTuple
from hornbook.shell.guard.words import WordText

EACH = "\x01"
"""Stands for each file that `find` finds."""

_FILTERS = frozenset(
    ["-path", "-not", "!", "-o", "-or", "-regex", "-newer", "-prune", "-maxdepth", "-mindepth"]
)
_NAMES = frozenset(["-name", "-iname"])
_LISTS = frozenset(["-fprint", "-fls", "-fprintf", "-fprint0"])
_RUNS = frozenset(["-exec", "-execdir", "-ok", "-okdir"])


class FindSearch(NamedTuple):
    """What a `find` does: where it looks, and what it does with what it finds.

    `names` are the patterns that a name must fit, None where other tests decide too.
    """

    roots: list[WordText]
    names: tuple[str, ...] | None
    deletes: bool
    lists: list[WordText]
    commands: list[list[WordText]]


def find_search(rest: Sequence[WordText]) -> FindSearch:
    """What the arguments of `find` say."""
    plain = [each.text for each in rest]
    start = next((n for n, text in enumerate(plain) if text[:1] in {"-", "(", "!"}), len(plain))
    commands = (_command(rest[n:]) for n in _behind(_RUNS, plain, start))
    names = tuple(plain[n] for n in _behind(_NAMES, plain, start))
    return FindSearch(
        roots=list(rest[:start]) or [WordText(".")],
        names=None if _FILTERS & set(plain[start:]) else names,
        deletes="-delete" in plain,
        lists=[rest[n] for n in _behind(_LISTS, plain, start)],
        commands=[words for words in commands if words],
    )


def _behind(options: frozenset[str], plain: Sequence[str], start: int) -> Iterator[int]:
    """The places behind each of these options."""
    return (n + 1 for n in range(start, len(plain) - 1) if plain[n] in options)


def _command(rest: Sequence[WordText]) -> list[WordText]:
    end = next((n for n, each in enumerate(rest) if each.text in {";", "+"}), len(rest))
    return [WordText(each.text.replace("{}", EACH), each.wild) for each in rest[:end]]
