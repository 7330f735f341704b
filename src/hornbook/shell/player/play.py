"""Plays a shell program through: which commands would run, and with what it would end.

No command is started. The text is parsed as bash, and its statements are followed one after the
other as a shell would follow them, with variables, functions, traps, background jobs, `set -e` and
`pipefail`. Each command that can say no is a *site*, and a plan says with which status it ends; one
that the plan does not name passes (behind `!` it fails, for that is what lets the program go on).
By playing a program with every site passing, and again with one of them failing, one sees whether
that failure is heard: no list of bad spellings could be complete.

What is assumed: a program that nobody knows is a check, whose failure must be heard; a question
(`[ -f x ]`, `grep -q`) may be answered either way; a loop makes two rounds, because a failure in
the first must still be heard after the second; what `cd`, files and the outside would change is
left alone. What is refused (`NotShell`): text that does not parse, that is nested too deeply, or
that takes too many steps. A status that depends on what is not known is `Unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tree_sitter import Node

from hornbook.shell import command_kind
from hornbook.shell.bash_tree import (
    NotShell,
    assignments,
    branch,
    here_string,
    parse,
    pipe_parts,
    source,
    statements,
    substitutions,
    unquoted,
    variables_of,
    words,
)
from hornbook.shell.command_kind import Inner, ProgramKind, inner_shell, kind_of, unwrapped
from hornbook.shell.player.shell_state import (
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
from hornbook.shell.programs import CHECKERS, FEEDERS, PASSIVE, SHELLS, TASK_RUNNERS, program_name

MOST_STEPS = 5000
_RUNNERS = CHECKERS | TASK_RUNNERS
_SIGNALS = {"0": "EXIT", "EXIT": "EXIT", "SIGEXIT": "EXIT", "ERR": "ERR"}


class Played:
    """One playing of a program: `status` is how it ended, `sites` are those that ran."""

    def __init__(
        self, text: str, plan: dict[Site, int], once: dict[Site, int], values: dict[str, str]
    ) -> None:
        """Play `text`; `plan` gives a site's status, `once` that of its first run only.

        Raises:
            NotShell: The text cannot be followed.
            Unknown: It ends with a status that cannot be known.
        """
        self._plan = plan
        self._once = dict(once)
        self._script = text
        self._steps = 0
        self.sites: list[Site] = []
        self.status = self._program(parse(text), Shell(values=dict(values)), Where())

    # Programs and sequences

    def _program(self, root: Node, shell: Shell, where: Where) -> int:
        try:
            status = self._sequence(root, shell, where)
        except ShellEnded as end:
            status = end.status
        if "EXIT" in shell.traps:
            status = self._trapped(shell.traps.pop("EXIT"), status, shell, where)
        return status

    def _trapped(self, code: str, status: int, shell: Shell, where: Where) -> int:
        shell.last = status
        try:
            self._text(code, shell, replace(where, tested=True))
        except ShellEnded as end:
            return end.status
        return status

    def _inner(self, inner: Inner, shell: Shell, where: Where) -> int:
        options = shell.copy()
        options.errexit, options.pipefail = inner.errexit, inner.pipefail
        options.functions, options.loops, options.calls = {}, 0, 0
        text = inner.script or ""
        outer, self._script = self._script, text
        try:
            status = self._program(parse(text), options, replace(where.deeper(), tested=False))
        finally:
            self._script = outer
        return status

    def _text(self, text: str, shell: Shell, where: Where) -> int:
        """Another text in the same shell."""
        outer, self._script = self._script, text
        try:
            return self._sequence(parse(text), shell, where.deeper())
        finally:
            self._script = outer

    def _sequence(self, node: Node, shell: Shell, where: Where) -> int:
        return self._statements(statements(node), shell, where)

    def _statements(self, found: list[tuple[Node, bool]], shell: Shell, where: Where) -> int:
        status = 0
        for statement, background in found:
            if background:
                shell.started(self._subshell(statement, shell, where))
                status = 0
            else:
                status = self._run(statement, shell, where)
            shell.last = status
        return status

    def _run(self, node: Node, shell: Shell, where: Where) -> int:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise NotShell("so many commands")
        play = self._STATEMENTS.get(node.type)
        if play is None:
            return 0
        status = play(self, node, shell, where.deeper())
        shell.last = status
        return status

    def _subshell(self, node: Node, shell: Shell, where: Where) -> int:
        inner = shell.copy()
        try:
            return self._run(node, inner, where)
        except ShellEnded as end:
            return end.status

    def _checked(self, status: int, shell: Shell, where: Where) -> int:
        """What `set -e` and an ERR trap make of a status that nobody looks at."""
        shell.last = status
        if status and not where.tested:
            if "ERR" in shell.traps:
                self._trapped_error(status, shell, where)
            if shell.errexit:
                raise ShellEnded(status)
        return status

    def _trapped_error(self, status: int, shell: Shell, where: Where) -> None:
        code = shell.traps.pop("ERR")
        self._text(code, shell, replace(where, tested=True))
        shell.traps["ERR"] = code
        shell.last = status

    # What joins commands

    def _list(self, node: Node, shell: Shell, where: Where) -> int:
        left, sign, right = node.children[0], node.children[1].type, node.children[-1]
        judged = len(self._judges())
        status = shell.last = self._run(left, shell, replace(where, tested=True))
        if (status == 0) != (sign == "&&"):
            return status
        if sign == "||" and len(self._judges()) > judged:
            where = replace(where, quiet=True, failed=self._tried(judged))
        return self._run(right, shell, where)

    def _tried(self, since: int) -> tuple[tuple[str, ...], ...]:
        return tuple(site.words for site in self._judges()[since:])

    def _judges(self) -> list[Site]:
        return [site for site in self.sites if site.kind is ProgramKind.JUDGE]

    def _pipeline(self, node: Node, shell: Shell, where: Where) -> int:
        parts, rest = pipe_parts(node)
        if not rest:
            return self._checked(self._piped(parts, shell, where), shell, where)
        judged = len(self._judges())
        status = shell.last = self._piped(parts, shell, replace(where, tested=True))
        for sign, right in rest:
            if (status == 0) == (sign == "&&"):
                tried = self._tried(judged) if sign == "||" else ()
                around = replace(where, quiet=sign == "||", failed=tried)
                status = shell.last = self._run(right, shell, around)
        return status

    def _piped(self, parts: list[Node], shell: Shell, where: Where) -> int:
        """The parts side by side, each in a subshell; the last one's status counts, or any."""
        if parts[0].type != "negated_command":
            return self._pipe_status(parts, shell, where)
        plain = [parts[0].children[-1], *parts[1:]]
        return int(not self._pipe_status(plain, shell, replace(where, negated=not where.negated)))

    def _pipe_status(self, parts: list[Node], shell: Shell, where: Where) -> int:
        *before, last = parts
        name = _leading(last)
        results = [
            self._subshell(part, shell, _before_in_pipe(part, name, shell, where))
            for part in before
        ]
        around = replace(where, tested=True, quiet=where.quiet or name in PASSIVE)
        fed = _literal(before[0]) if len(before) == 1 and name in SHELLS else None
        if fed is None:
            results.append(self._subshell(last, shell, around))
        else:
            results.append(self._inner(Inner(fed), shell, around))
        for place, result in enumerate(results):
            shell.values[f"PIPESTATUS[{place}]"] = str(result)
        return next(filter(None, reversed(results)), 0) if shell.pipefail else results[-1]

    def _negated(self, node: Node, shell: Shell, where: Where) -> int:
        inner = replace(where, negated=not where.negated, tested=True)
        return int(not self._run(node.children[-1], shell, inner))

    def _grouped(self, node: Node, shell: Shell, where: Where) -> int:
        if node.children[0].type == "((":
            return self._arithmetic(node, shell, where)
        return self._sequence(node, shell, where)

    def _parenthesised(self, node: Node, shell: Shell, where: Where) -> int:
        if source(node).startswith("((") and source(node).endswith("))"):
            return self._arithmetic(node, shell, where)  # after `!` the grammar takes it for two
        inner = shell.copy()
        try:
            status = self._sequence(node, inner, where)
        except ShellEnded as end:
            status = end.status
        return self._checked(status, shell, where)

    def _redirected(self, node: Node, shell: Shell, where: Where) -> int:
        body = node.child_by_field_name("body")
        if body is None:
            return 0
        heredoc = next((each for each in node.children if each.type == "heredoc_redirect"), None)
        if heredoc is None:
            return self._run(body, shell, where)
        return self._heredoc(body, heredoc, shell, where)

    def _heredoc(self, body: Node, heredoc: Node, shell: Shell, where: Where) -> int:
        """A command with its input in the text; the grammar puts what follows inside of that."""
        parts = {each.type: each for each in heredoc.children}
        text = source(parts["heredoc_body"]) if "heredoc_body" in parts else ""
        if "pipeline" in parts:
            return self._heredoc_piped(body, text, parts["pipeline"], shell, where)
        right = heredoc.child_by_field_name("right")
        around = replace(where, tested=where.tested or right is not None)
        status = self._fed(body, text, shell, around)
        sign = "&&" if "&&" in parts else "||"
        if right is None or (status == 0) != (sign == "&&"):
            return status
        return self._run(right, shell, replace(where, quiet=sign == "||"))

    def _heredoc_piped(self, body: Node, text: str, pipe: Node, shell: Shell, where: Where) -> int:
        reader = next(each for each in pipe.children if each.is_named)
        if _leading(reader) in SHELLS:
            return self._inner(Inner(text), shell, where)
        return self._piped([body, reader], shell, where)

    def _fed(self, body: Node, text: str, shell: Shell, where: Where) -> int:
        """A command that is given a text, which a shell runs."""
        if _leading(body) not in SHELLS:
            return self._run(body, shell, where)
        options = inner_shell(words(body)) or Inner()
        return self._inner(replace(options, script=text), shell, where)

    # What steers

    def _if(self, node: Node, shell: Shell, where: Where) -> int:
        for clause in (node, *(each for each in node.children if each.type == "elif_clause")):
            asked, done = branch(clause)
            if self._statements(asked, shell, replace(where, tested=True)) == 0:
                return self._statements(done, shell, where)
        last = node.children[-2]
        return self._sequence(last, shell, where) if last.type == "else_clause" else 0

    def _loop(self, node: Node, shell: Shell, where: Where) -> int:
        """Two rounds: a failure in the first must still be heard after the second."""
        asked = node.children_by_field_name("condition") if node.type == "while_statement" else []
        body = node.child_by_field_name("body")
        status = 0
        shell.loops += 1
        for _ in range(2):
            waiting = [(each, False) for each in asked if each.is_named]
            try:
                self._statements(waiting, shell, replace(where, tested=True, mild=True))
                status = self._sequence(body, shell, where) if body is not None else 0
            except NextRound:
                status = 0
            except LeftLoop:
                status = 0
                break
        shell.loops -= 1
        return status

    def _case(self, node: Node, shell: Shell, where: Where) -> int:
        for item in node.children:
            if item.type != "case_item":
                continue
            parts = [
                (child, False)
                for place, child in enumerate(item.children)
                if child.is_named and item.field_name_for_child(place) != "value"
            ]
            if self._is_chosen(node, item, shell, where):
                return self._statements(parts, shell, where)
        return 0

    def _is_chosen(self, node: Node, item: Node, shell: Shell, where: Where) -> bool:
        value, pattern = node.child_by_field_name("value"), source(item.children[0])
        if pattern == "*":
            return True
        if value is not None and value.type == "word" and pattern.isalnum():
            return source(value) == pattern
        return not self._asked(item, ProgramKind.QUESTION, where)

    def _function(self, node: Node, shell: Shell, _where: Where) -> int:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            shell.functions[source(name)] = body
        return 0

    # Single commands

    def _command(self, node: Node, shell: Shell, where: Where) -> int:
        given = shell.resolved(words(node))
        if not given:
            return self._substituted(node, shell, where)
        status = self._meant(given, node, shell, where)
        return self._checked(status, shell, where)

    def _meant(self, given: list[str], node: Node, shell: Shell, where: Where) -> int:
        if given[0] in shell.functions:
            return self._called(shell.functions[given[0]], shell, where)
        meant = unwrapped(given)
        if not meant or (where.failed and program_name(given[0]) == "xargs"):
            return 0
        name = program_name(meant[0])
        if name in self._BUILT_IN:
            status = self._BUILT_IN[name](self, meant, shell, where)
        elif name == "test":
            status = self._tested(meant[1:], node, shell, where)
        else:
            status = self._other(meant, node, shell, where)
        if program_name(given[0]) == "exec" and len(given) > 1:
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
        inner = inner_shell(meant) if program_name(meant[0]) != "echo" else None
        if inner is not None and inner.script is None and inner.file is None:
            inner = replace(inner, script=here_string(node))
        if inner is not None and inner.script is not None:
            return self._inner(inner, shell, where)
        kind = kind_of(meant)
        if kind is ProgramKind.SILENT:
            self._substituted(node, shell, where)
            return 0
        return self._asked(node, kind, where, meant, exported=shell.handed_on())

    def _asked(
        self,
        node: Node,
        kind: ProgramKind,
        where: Where,
        meant: list[str] | None = None,
        *,
        exported: tuple[tuple[str, str], ...] = (),
    ) -> int:
        """The status that the plan gives a site; 0 where nothing that it could say is heard."""
        meant = meant or [source(node)]
        usual = int(where.negated)
        if where.failed and not _tries_again(meant, where):
            return usual
        name = program_name(meant[0])
        if _is_mild(kind, name, where):
            kind = ProgramKind.QUESTION
        if where.quiet and (kind is ProgramKind.QUESTION or name in PASSIVE):
            return 0
        variables = (*exported, *variables_of(node))
        site = Site(
            source(node), node.start_byte, self._script, tuple(meant), kind, node, variables, usual
        )
        self.sites.append(site)
        return self._once.pop(site, self._plan.get(site, usual))

    # Built-in commands

    def _exit(self, meant: list[str], shell: Shell, _where: Where) -> int:
        raise ShellEnded(shell.exit_status(meant))

    def _return(self, meant: list[str], shell: Shell, _where: Where) -> int:
        if not shell.calls:
            return 2
        raise Returned(shell.exit_status(meant))

    def _leave_loop(self, meant: list[str], shell: Shell, _where: Where) -> int:
        if shell.loops:
            raise LeftLoop(0) if meant[0] == "break" else NextRound(0)
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
        """Several assignments; those of `export` and its like have a status that nobody sees."""
        declared = node.type == "declaration_command"
        around = replace(where, tested=where.tested or declared)
        exports = declared and source(node).startswith("export")
        for each in assignments(node):
            self._assigned(each, shell, around)
            if exports:
                shell.exported.add(source(each.children[0]))
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
        "continue": _leave_loop,
        "false": _false,
        "eval": _eval,
        "wait": _wait,
        "trap": _trap,
        "set": _set,
        "let": _let,
    }
    _STATEMENTS: ClassVar[dict[str, Callable[[Any, Node, Shell, Where], int]]] = {
        "list": _list,
        "pipeline": _pipeline,
        "negated_command": _negated,
        "compound_statement": _grouped,
        "subshell": _parenthesised,
        "redirected_statement": _redirected,
        "if_statement": _if,
        "while_statement": _loop,
        "for_statement": _loop,
        "c_style_for_statement": _loop,
        "case_statement": _case,
        "function_definition": _function,
        "test_command": _test,
        "variable_assignment": _assigned,
        "variable_assignments": _all_assigned,
        "declaration_command": _all_assigned,
        "command": _command,
    }


def _is_mild(kind: ProgramKind, name: str, where: Where) -> bool:
    return where.mild and kind is ProgramKind.JUDGE and name not in _RUNNERS


def _tries_again(meant: list[str], where: Where) -> bool:
    again = (command_kind.tries_again(meant, each) for each in where.failed)
    return not where.negated and any(again)


def _is_plain(text: str) -> bool:
    """Whether what stands in brackets reads the same as the words of `test`."""
    return re.search(r"[()<>;&|`]|=~", text) is None


def _leading(node: Node) -> str:
    """The name of the command that a part of a pipe runs, if it is a single one."""
    while node.type == "redirected_statement":
        inner = node.child_by_field_name("body")
        if inner is None:
            return ""
        node = inner
    if node.type != "command":
        return ""
    meant = unwrapped(words(node))
    return program_name(meant[0]) if meant else ""


def _literal(node: Node) -> str | None:
    """What an `echo` or `printf` prints, if that is known."""
    if node.type != "command" or _leading(node) not in {"echo", "printf"}:
        return None
    return " ".join(unquoted(child) for child in node.children[1:] if child.is_named)


def _before_in_pipe(part: Node, last: str, shell: Shell, where: Where) -> Where:
    """What stands around a part of a pipe that is not its last, whose program is named.

    With `pipefail` it is heard. Without, it may only give text to a judge behind it: what only
    passes text on, or finds some in it, is none.
    """
    if shell.pipefail:
        return replace(where, tested=True)
    judged = last not in PASSIVE and last not in {"grep", "egrep", "rg"}
    return replace(where, tested=True, quiet=False, mild=judged or _leading(part) in FEEDERS)
