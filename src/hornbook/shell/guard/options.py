"""Tells the options of a command from its operands."""

from collections.abc import Sequence

from hornbook.shell.guard.values import NamedTuple
from hornbook.shell.guard.words import UNKNOWN, WordText


class Arguments(NamedTuple):
    """What stands behind a program's name: options with their values, and operands."""

    options: dict[str, list[WordText]]
    operands: list[WordText]

    def has(self, *names: str) -> bool:
        """Whether one of the options is given."""
        return any(name in self.options for name in names)

    def values(self, *names: str) -> list[WordText]:
        """The values of these options, in no order."""
        return [value for name in names for value in self.options.get(name, ())]


def arguments(
    given: Sequence[WordText], takes: str = "", *, until_operand: bool = False
) -> Arguments:
    """The arguments read as getopt does; `takes` names the options that have a value.

    With `until_operand` everything from the first operand on is an operand.
    """
    valued = frozenset(takes.split())
    options: dict[str, list[WordText]] = {}
    operands: list[WordText] = []
    rest = list(given)
    while rest:
        each = rest.pop(0)
        if each.text == "--":
            operands += rest
            break
        if not each.text.startswith("-") or each.text == "-":
            operands.append(each)
            if until_operand:
                operands += rest
                break
        elif each.text.startswith("--"):
            _long(each.text, rest, valued, options)
        else:
            _short(each.text, rest, valued, options)
    return Arguments(options, operands)


def _long(
    text: str, rest: list[WordText], valued: frozenset[str], found: dict[str, list[WordText]]
) -> None:
    name, equals, value = text.partition("=")
    values = found.setdefault(name, [])
    if equals:
        values.append(WordText(value))
    elif name in valued:
        values.append(rest.pop(0) if rest else WordText(UNKNOWN))


def _short(
    text: str, rest: list[WordText], valued: frozenset[str], found: dict[str, list[WordText]]
) -> None:
    for place in range(1, len(text)):
        name = f"-{text[place]}"
        values = found.setdefault(name, [])
        if name in valued:
            value = text[place + 1 :]
            values.append(
                WordText(value) if value else (rest.pop(0) if rest else WordText(UNKNOWN))
            )
            return
