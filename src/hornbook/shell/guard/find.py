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
    tests = rest[start:]
    names = tuple(found[0].text for found in _behind(_NAMES, tests))
    commands = map(_command, _behind(_RUNS, tests))
    return FindSearch(
        roots=list(rest[:start]) or [WordText(".")],
        names=names if _FILTERS.isdisjoint(plain[start:]) else None,
        deletes="-delete" in plain,
        lists=[found[0] for found in _behind(_LISTS, tests)],
        commands=list(filter(None, commands)),
    )


def _behind(options: frozenset[str], tests: Sequence[WordText]) -> Iterator[Sequence[WordText]]:
    """The words behind each of these options."""
    return (tests[n:] for n in range(1, len(tests)) if tests[n - 1].text in options)


def _command(rest: Sequence[WordText]) -> list[WordText]:
    end = next((n for n, each in enumerate(rest) if each.text in {";", "+"}), len(rest))
    return [WordText(each.text.replace("{}", EACH), each.wild) for each in rest[:end]]
