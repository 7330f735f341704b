"""Plays single commands: built-in ones by what they do, others by what a plan says."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tree_sitter import Node

from hornbook.shell import programs
from hornbook.shell.bash_tree import assignments, parse, source, substitutions, unquoted, words
from hornbook.shell.player.state import (
    LeftLoop,
    NextRound,
    Returned,
    Shell,
    ShellEnded,
    Site,
    Unknown,
    Where,
    computed,
    expanded,
    tested,
)
from hornbook.shell.programs import ASSIGNMENT, Inner, ProgramKind, base

_SIGNALS = {"0": "EXIT", "EXIT": "EXIT", "SIGEXIT": "EXIT", "ERR": "ERR"}


class Commands(ABC):
    """One playing of a program, as far as single commands go."""

    def __init__(self, text: str, plan: dict[Site, int], once: dict[Site, int]) -> None:
        self._plan = plan
        self._once = dict(once)
        self._script = text
        self.sites: list[Site] = []

    @abstractmethod
    def _run(self, node: Node, shell: Shell, where: Where) -> int:
        """The status of a statement."""

    @abstractmethod
    def _text(self, text: str, shell: Shell, where: Where) -> int:
        """The status of another text in the same shell."""

    @abstractmethod
    def _inner(self, inner: Inner, shell: Shell, where: Where) -> int:
        """The status of a script in a shell of its own."""

    @abstractmethod
    def _parenthesised(self, node: Node, shell: Shell, where: Where) -> int:
        """The status of a sequence in a subshell."""

    @abstractmethod
    def _checked(self, status: int, shell: Shell, where: Where) -> int:
        """The status, after `set -e` had a look at it."""

    def _command(self, node: Node, shell: Shell, where: Where) -> int:
        given = _resolved(words(node), shell)
        if not given:
            return self._substituted(node, shell, where)
        status = self._meant(given, node, shell, where)
        return self._checked(status, shell, where)

    def _meant(self, given: list[str], node: Node, shell: Shell, where: Where) -> int:
        if given[0] in shell.functions:
            return self._called(shell.functions[given[0]], shell, where)
        meant = programs.unwrapped(given)
        if not meant:
            return 0
        name = base(meant[0])
        if where.failed and base(given[0]) == "xargs":
            return 0
        if name in self._BUILT_IN:
            status = self._BUILT_IN[name](self, meant, shell, where)
        elif name == "test":
            status = self._tested(meant[1:], node, shell, where)
        else:
            status = self._other(meant, node, shell, where)
        if base(given[0]) == "exec" and len(given) > 1:
            raise ShellEnded(status)
        return status

    def _called(self, body: Node, shell: Shell, where: Where) -> int:
        shell.calls += 1
        try:
            return self._run(body, shell, where)
        except Returned as back:
            return back.status
        finally:
            shell.calls -= 1

    def _other(self, meant: list[str], node: Node, shell: Shell, where: Where) -> int:
        inner = programs.inner_shell(meant) if base(meant[0]) != "echo" else None
        if inner is not None and inner.script is None and inner.file is None:
            inner = replace(inner, script=_here_string(node))
        if inner is not None and inner.script is not None:
            return self._inner(inner, shell, where)
        kind = programs.kind_of(meant)
        if kind is ProgramKind.SILENT:
            self._substituted(node, shell, where)
            return 0
        return self._asked(node, kind, where, meant)

    def _asked(
        self, node: Node, kind: ProgramKind, where: Where, meant: list[str] | None = None
    ) -> int:
        """The status that the plan gives a site."""
        meant = meant or [source(node)]
        if where.failed and not _tries_again(meant, where):
            return int(where.negated)
        if where.mild and kind is ProgramKind.JUDGE and base(meant[0]) not in programs.RUNNERS:
            kind = ProgramKind.QUESTION
        if where.quiet and (kind is ProgramKind.QUESTION or base(meant[0]) in programs.PASSIVE):
            return 0
        variables = tuple(
            (source(each.children[0]), unquoted(each.children[-1])) for each in assignments(node)
        )
        if node.type == "command":
            carried = (word.partition("=") for word in words(node) if ASSIGNMENT.match(word))
            variables += tuple((name, value) for name, _, value in carried)
        usual = int(where.negated)
        site = Site(
            source(node), node.start_byte, self._script, tuple(meant), kind, node, variables, usual
        )
        self.sites.append(site)
        if site in self._once:
            return self._once.pop(site)
        return self._plan.get(site, usual)

    # Built-in commands

    def _exit(self, meant: list[str], shell: Shell, _where: Where) -> int:
        raise ShellEnded(_status(meant, shell))

    def _return(self, meant: list[str], shell: Shell, _where: Where) -> int:
        if not shell.calls:
            return 2
        raise Returned(_status(meant, shell))

    def _leave_loop(self, _meant: list[str], shell: Shell, _where: Where) -> int:
        if shell.loops:
            raise LeftLoop(0)
        return 0

    def _next_round(self, _meant: list[str], shell: Shell, _where: Where) -> int:
        if shell.loops:
            raise NextRound(0)
        return 0

    def _false(self, _meant: list[str], _shell: Shell, _where: Where) -> int:
        return 1

    def _eval(self, meant: list[str], shell: Shell, where: Where) -> int:
        return self._text(" ".join(meant[1:]), shell, where)

    def _wait(self, meant: list[str], shell: Shell, _where: Where) -> int:
        if not meant[1:]:
            return 0
        try:
            return shell.jobs.get(expanded(meant[-1], shell.known()), shell.job)
        except Unknown:
            return shell.job

    def _trap(self, meant: list[str], shell: Shell, _where: Where) -> int:
        for signal in meant[2:]:
            known = _SIGNALS.get(signal.upper())
            if known is not None and meant[1] == "-":
                shell.traps.pop(known, None)
            elif known is not None:
                shell.traps[known] = meant[1]
        return 0

    def _set(self, meant: list[str], shell: Shell, _where: Where) -> int:
        for place, word in enumerate(meant):
            on = word.startswith("-")
            if not re.fullmatch(r"[-+][a-zA-Z]+", word):
                continue
            named = meant[place + 1] if word.endswith("o") and place + 1 < len(meant) else ""
            if "e" in word or named == "errexit":
                shell.errexit = on
            if named == "pipefail":
                shell.pipefail = on
        return 0

    def _let(self, meant: list[str], shell: Shell, _where: Where) -> int:
        try:
            return int(computed(meant[-1], shell.known()) == 0)
        except Unknown:
            return 0

    # Values

    def _arithmetic(self, node: Node, shell: Shell, where: Where) -> int:
        text = source(node).strip().removeprefix("((").removesuffix("))")
        try:
            status = int(computed(text, shell.known()) == 0)
        except Unknown:
            status = self._asked(node, ProgramKind.QUESTION, where)
        return self._checked(status, shell, where)

    def _test(self, node: Node, shell: Shell, where: Where) -> int:
        inside = source(node).strip()
        inside = inside[2:-2] if inside.startswith("[[") else inside[1:-1]
        command = parse(f"test {inside}") if _is_plain(inside) else None
        given = words(command.children[0])[1:] if command is not None else ["$("]
        return self._checked(self._tested(given, node, shell, where), shell, where)

    def _tested(self, given: list[str], node: Node, shell: Shell, where: Where) -> int:
        try:
            return int(not tested(given, shell.known()))
        except Unknown:
            return self._asked(node, ProgramKind.QUESTION, where)

    def _assigned(self, node: Node, shell: Shell, where: Where) -> int:
        """An assignment: its status is that of the last command whose output it takes."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        before = shell.known()
        status = self._substituted(node, shell, where)
        if name is not None:
            before[source(name)] = self._value(value, shell)
        return self._checked(status, shell, where)

    def _value(self, node: Node | None, shell: Shell) -> str | None:
        if node is None:
            return ""
        try:
            if node.type == "arithmetic_expansion":
                return str(computed(source(node)[3:-2], shell.known()))
            return expanded(unquoted(node), shell.values)
        except Unknown:
            return None

    def _all_assigned(self, node: Node, shell: Shell, where: Where) -> int:
        for each in assignments(node):
            self._assigned(each, shell, where)
        return 0

    def _declared(self, node: Node, shell: Shell, where: Where) -> int:
        for each in assignments(node):
            self._assigned(each, shell, replace(where, tested=True))
        return 0

    def _substituted(self, node: Node, shell: Shell, where: Where) -> int:
        status = 0
        for each in substitutions(node):
            inner = replace(where, mild=True, tested=True)
            status = self._parenthesised(each, shell, inner)
        return status

    # Any is the playing itself, whose class is not complete yet.
    _BUILT_IN: ClassVar[dict[str, Callable[[Any, list[str], Shell, Where], int]]] = {
        "exit": _exit,
        "return": _return,
        "break": _leave_loop,
        "continue": _next_round,
        "false": _false,
        "eval": _eval,
        "wait": _wait,
        "trap": _trap,
        "set": _set,
        "let": _let,
    }
    _SINGLE: ClassVar[dict[str, Callable[[Any, Node, Shell, Where], int]]] = {
        "test_command": _test,
        "variable_assignment": _assigned,
        "variable_assignments": _all_assigned,
        "declaration_command": _declared,
        "command": _command,
    }


def _tries_again(meant: list[str], where: Where) -> bool:
    again = (programs.tries_again(meant, each) for each in where.failed)
    return not where.negated and any(again)


def _resolved(given: list[str], shell: Shell) -> list[str]:
    """The words with a name put in that the script itself gave."""
    if not given or not re.fullmatch(r"\$\{?\w+\}?", given[0]):
        return given
    named = shell.values.get(given[0].strip("${}"))
    return [*named.split(), *given[1:]] if named else given


def _status(meant: list[str], shell: Shell) -> int:
    """The status that `exit` or `return` is given.

    Raises:
        Unknown: It cannot be known.
    """
    if len(meant) < 2:
        return shell.last
    text = meant[1]
    if text.startswith("$(("):
        return computed(text[3:-2], shell.known()) % 256
    value = expanded(text, shell.known())
    try:
        return int(value) % 256 if value else shell.last
    except ValueError:
        return 2


def _here_string(node: Node) -> str | None:
    """The text after `<<<`."""
    for each in node.children:
        if each.type == "herestring_redirect":
            return unquoted(each.children[-1])
    return None


def _is_plain(text: str) -> bool:
    """Whether what stands in brackets reads the same as the words of `test`."""
    return re.search(r"[()<>;&|`]|=~", text) is None
