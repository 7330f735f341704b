"""What is known while a shell program is played through."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from hornbook.shell.bash_tree import NotShell
from hornbook.shell.command_kind import ProgramKind

DEEPEST = 40
FIRST_JOB = 100_000


@dataclass(frozen=True, slots=True)
class Site:
    """A command in the text whose status decides something; `usual` is it when no plan says."""

    text: str
    place: int
    script: str
    words: tuple[str, ...] = field(compare=False)
    kind: ProgramKind = field(compare=False)
    node: Node = field(compare=False, repr=False)
    variables: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    usual: int = field(default=0, compare=False)


class ShellEnded(Exception):
    """The shell ended, with a status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Returned(ShellEnded):
    """A function ended, with a status."""


class LeftLoop(ShellEnded):
    """`break`."""


class NextRound(ShellEnded):
    """`continue`."""


@dataclass(slots=True)
class Shell:
    """What one shell process knows."""

    errexit: bool = False
    pipefail: bool = False
    last: int = 0
    job: int = 0
    loops: int = 0
    calls: int = 0
    values: dict[str, str | None] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    functions: dict[str, Node] = field(default_factory=dict)
    traps: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, int] = field(default_factory=dict)

    def started(self, status: int) -> None:
        """A job in the background, with the status that it will end with."""
        self.job = status
        self.values["!"] = str(FIRST_JOB + len(self.jobs))
        self.jobs[str(FIRST_JOB + len(self.jobs))] = status

    def known(self) -> dict[str, str | None]:
        """Every variable, with the status of the last command as `?`."""
        self.values["?"] = str(self.last)
        return self.values

    def handed_on(self) -> tuple[tuple[str, str], ...]:
        """The variables that the script exports, and whose values are known."""
        known = ((name, self.values.get(name)) for name in sorted(self.exported))
        return tuple((name, value) for name, value in known if value is not None)

    def resolved(self, given: list[str]) -> list[str]:
        """The words with a name put in that the script itself gave."""
        if not given or not re.fullmatch(r"\$\{?\w+\}?", given[0]):
            return given
        named = self.values.get(given[0].strip("${}"))
        return [*named.split(), *given[1:]] if named else given

    def exit_status(self, given: list[str]) -> int:
        """The status that `exit` or `return` is given; without one it is that of the last command.

        Raises:
            Unknown: It cannot be known.
        """
        if len(given) < 2:
            return self.last
        if given[1].startswith("$(("):
            return computed(given[1][3:-2], self.known()) % 256
        value = expanded(given[1], self.known())
        try:
            return int(value) % 256 if value else self.last
        except ValueError:
            return 2

    def copy(self) -> Shell:
        """The state of a subshell, which has no traps of its own."""
        return replace(
            self,
            values=dict(self.values),
            exported=set(self.exported),
            functions=dict(self.functions),
            traps={},
        )


@dataclass(frozen=True, slots=True)
class Where:
    """What stands around a command.

    `tested`: its status is looked at, so that `set -e` does not end the shell; `negated`: it stands
    after `!`; `quiet`: only a judge can say no here; `mild`: only a known checker is a judge here;
    `failed`: the commands whose failure led here, after `||`: only another try of them can say no.
    """

    tested: bool = False
    negated: bool = False
    quiet: bool = False
    mild: bool = False
    failed: tuple[tuple[str, ...], ...] = ()
    depth: int = 0

    def deeper(self) -> Where:
        """One level further in.

        Raises:
            NotShell: That is deeper than anybody can follow.
        """
        if self.depth > DEEPEST:
            raise NotShell("commands inside commands inside commands")
        return replace(self, depth=self.depth + 1)


Values = Mapping[str, str | None]
"""Variables by name; none is a value that cannot be known."""

_VARIABLE = re.compile(r"\$(?:\{(\w+|[?!]|PIPESTATUS\[\d+\])\}|(\w+|[?!]))")
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_UPDATE = re.compile(r"\s*([A-Za-z_]\w*)\s*(\+\+|--|[-+*|&]?=(?!=))(.*)", re.DOTALL)
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-gt": operator.gt,
    "-ge": operator.ge,
    "-lt": operator.lt,
    "-le": operator.le,
}
_PYTHON: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Unknown(Exception):
    """A value that cannot be known without running the script."""


def expanded(text: str, values: Values) -> str:
    """A word with its variables put in; a variable that nobody set is empty.

    Raises:
        Unknown: One of them has no known value, or something else is expanded.
    """

    def value(found: re.Match[str]) -> str:
        known = values.get(found[1] or found[2], "")
        if known is None:
            raise Unknown(text)
        return known

    done = _VARIABLE.sub(value, text)
    if "$" in done or "`" in done:
        raise Unknown(text)
    return done


def tested(words: list[str], values: Values) -> bool:
    """Whether `[ … ]` holds.

    Raises:
        Unknown: That depends on what is not known here.
    """
    if words[:1] == ["!"]:
        return not tested(words[1:], values)
    if not all(_is_known(word, values) for word in words):
        raise Unknown(" ".join(words))
    known = [expanded(word, values) for word in words]
    if len(known) == 2 and known[0] in {"-n", "-z"}:
        return (known[1] != "") == (known[0] == "-n")
    return _compared(known) if len(known) > 1 else known not in ([], [""])


def _is_known(word: str, values: Values) -> bool:
    """Whether all variables of a word were set by the script: others come from outside."""
    return all((found[0] or found[1]) in values for found in _VARIABLE.findall(word))


def _compared(words: list[str]) -> bool:
    if len(words) != 3:
        raise Unknown(" ".join(words))
    left, sign, right = words
    if sign in {"=", "==", "!="}:
        return (left == right) == (sign != "!=")
    if sign not in _COMPARE:
        raise Unknown(" ".join(words))
    try:
        return _COMPARE[sign](int(left), int(right))
    except ValueError:
        raise Unknown(" ".join(words)) from None


def computed(text: str, values: dict[str, str | None]) -> int:
    """The value of an arithmetic text; an assignment in it is made.

    Raises:
        Unknown: It uses what is not known here.
    """
    if "$(" in text or "`" in text:
        raise Unknown(text)
    update = _UPDATE.fullmatch(text)
    if update is None:
        return _evaluated(text, values)
    name, sign, rest = update.groups()
    before = _evaluated(name, values)
    if sign in {"++", "--"}:
        values[name] = str(before + (1 if sign == "++" else -1))
        return before
    right = _evaluated(rest, values)
    result = right if sign == "=" else _evaluated(f"{before} {sign[0]} {right}", values)
    values[name] = str(result)
    return result


def _evaluated(text: str, values: Values) -> int:
    plain = _NAME.sub(lambda found: f"${found[0]}", text.replace("${", "{").replace("$", ""))
    plain = plain.replace("{", "").replace("}", "").replace("?", "$?")
    plain = re.sub(r"\$\w+", lambda found: expanded(found[0], values) or "0", plain)
    plain = expanded(plain, values)
    plain = plain.replace("&&", " and ").replace("||", " or ")
    plain = re.sub(r"!(?!=)", " not ", plain)
    try:
        return _number(ast.parse(plain.strip() or "0", mode="eval").body)
    except (SyntaxError, ValueError, KeyError, RecursionError):
        raise Unknown(text) from None


def _number(node: ast.expr) -> int:
    """The value of an expression.

    Raises:
        ValueError: It has something that shell arithmetic has not.
        KeyError: It has an operator that is not known here.
    """
    match node:
        case ast.Constant(value=int(value)):
            return int(value)
        case ast.BinOp(left=left, op=sign, right=right):
            return _PYTHON[type(sign)](_number(left), _number(right))
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            return int(_PYTHON[type(sign)](_number(left), _number(right)))
        case ast.BoolOp(op=sign, values=values):
            parts = [bool(_number(part)) for part in values]
            return int(all(parts) if isinstance(sign, ast.And) else any(parts))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return int(not _number(inner))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_number(inner)
    raise ValueError(ast.dump(node))
