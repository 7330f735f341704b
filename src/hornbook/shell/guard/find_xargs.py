"""Commands that run others on what they find or read: `find` and `xargs`."""

from collections.abc import Sequence

from hornbook.shell.guard.options import arguments
from hornbook.shell.guard.values import NamedTuple
from hornbook.shell.guard.words import UNKNOWN, WordText

EACH = "\x01"
"""Stands for each file that `find` finds."""

_FILTERS = frozenset(
    ["-path", "-not", "!", "-o", "-or", "-regex", "-newer", "-prune", "-maxdepth", "-mindepth"]
)
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


def finding(rest: Sequence[WordText]) -> FindSearch:
    """What the arguments of `find` say."""
    plain = [each.text for each in rest]
    start = next((n for n, text in enumerate(plain) if text[:1] in {"-", "(", "!"}), len(plain))
    tests = range(start, len(plain) - 1)
    names = tuple(plain[n + 1] for n in tests if plain[n] in {"-name", "-iname"})
    return FindSearch(
        roots=list(rest[:start]) or [WordText(".")],
        names=None if _FILTERS & set(plain[start:]) else names,
        deletes="-delete" in plain,
        lists=[rest[n + 1] for n in tests if plain[n] in _LISTS],
        commands=[words for n in tests if plain[n] in _RUNS and (words := _command(rest[n + 1 :]))],
    )


def _command(rest: Sequence[WordText]) -> list[WordText]:
    end = next((n for n, each in enumerate(rest) if each.text in {";", "+"}), len(rest))
    return [WordText(each.text.replace("{}", EACH), each.wild) for each in rest[:end]]


def appended(rest: Sequence[WordText]) -> list[WordText]:
    """The command that `xargs` runs, with what it reads as something unknown."""
    takes = "-I -n -P -d -L -s -E -a --max-args --max-procs --delimiter --replace --arg-file"
    found = arguments(rest, takes, until_operand=True)
    marks = [each.text for each in found.values("-I", "--replace")]
    if not found.operands:
        return []
    if marks:
        return [WordText(each.text.replace(marks[0], UNKNOWN)) for each in found.operands]
    return [*found.operands, WordText(UNKNOWN)]
