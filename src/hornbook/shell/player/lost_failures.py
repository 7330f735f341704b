"""Where in a command's text the failure of a part of it gets lost."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hornbook.shell.bash_tree import commands, here_string, parse, source, words
from hornbook.shell.command_kind import (
    Inner,
    ProgramKind,
    inner_shell,
    is_checker,
    kind_of,
    unwrapped,
)
from hornbook.shell.player.shell_state import Site
from hornbook.shell.programs import SHELLS, program_name

_FAILS = re.compile(r"(exit|return)\s+[1-9$\"]|\bfalse\b")
_ONLY_PRINTED = ("is only used for what it prints", "run it as a command")
ITSELF = "name the command whose failure must stop a change, and let it end the line"


@dataclass(frozen=True, slots=True)
class CommandRefusal:
    """Why a command is refused: the piece of it, what that does, and what to write instead."""

    piece: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"`{self.piece}` {self.reason}: {self.remedy}."


def is_waived(site: Site) -> bool:
    """Whether a lost failure is meant: of a preparation with `|| true`, of a server in the back."""
    node: Node = site.node
    while (parent := node.parent) is not None:
        waived = _is_or(parent, node) and _goes_on(parent.children[-1])
        if waived and site.kind is ProgramKind.PREPARATION:
            return True
        sibling = node.next_sibling
        if sibling is not None and sibling.type == "&" and not is_checker(list(site.words)):
            return node == site.node
        node = parent
    return False


def is_retried(site: Site) -> bool:
    """Whether a loop tries a command until it passes: `NAME && exit 0`, or `&& break`."""
    parent = site.node.parent
    if parent is None or parent.type != "list" or parent.children[1].type != "&&":
        return False
    ends = source(parent.children[-1]) in {"break", "exit 0"} and parent.children[0] == site.node
    above = parent.parent
    return ends and above is not None and above.type == "do_group"


def _is_or(parent: Node, node: Node) -> bool:
    return parent.type == "list" and parent.children[1].type == "||" and node == parent.children[0]


def _goes_on(node: Node) -> bool:
    """Whether a command only says that it goes on, or prepares in another way."""
    meant = unwrapped(words(node)) if node.type == "command" else []
    return bool(meant) and kind_of(meant) in {ProgramKind.SILENT, ProgramKind.PREPARATION}


def lost(site: Site) -> CommandRefusal:
    """Where the failure of a site gets lost."""
    node: Node = site.node
    while (parent := node.parent) is not None:
        told = _lost_in(parent, node, site)
        if told is not None:
            return told
        node = parent
    return CommandRefusal(site.text, "fails without being heard", ITSELF)


def _lost_in(parent: Node, node: Node, site: Site) -> CommandRefusal | None:
    right = source(parent.children[-1])
    if _is_or(parent, node) and site.kind is not ProgramKind.PREPARATION:
        if not _FAILS.search(right):
            reason = f"turns the failure of `{site.text}` into a pass"
            return CommandRefusal(f"|| {right}", reason, "remove it")
    elif parent.type == "pipeline" and _after(parent, node):
        remedy = "write `set -o pipefail` before it, or leave the pipe out"
        return CommandRefusal(f"| {right}", f"hides the failure of `{site.text}`", remedy)
    elif parent.type == "command_substitution":
        return CommandRefusal(source(parent), *_ONLY_PRINTED)
    elif _asks(parent, node):
        remedy = "write the command itself, or `|| exit 1` after it"
        return CommandRefusal(source(parent), f"swallows the failure of `{site.text}`", remedy)
    return _lost_in_sequence(parent, node, site.text)


def _lost_in_sequence(parent: Node, node: Node, text: str) -> CommandRefusal | None:
    if parent.type not in {
        "program", "subshell", "compound_statement", "do_group", "if_statement", "else_clause",
        "elif_clause", "case_item",
    }:  # fmt: skip
        return None
    sibling = node.next_sibling
    if sibling is not None and sibling.type == "&":
        return CommandRefusal(f"{source(node)} &", "is not waited for", "leave the `&` out")
    after = _after(parent, node)
    if after and parent.type != "if_statement":
        piece = f"{source(node)}; {source(after[0])}"
        remedy = "join them with `&&`, or write `set -e` first"
        return CommandRefusal(piece, f"goes on when `{text}` fails", remedy)
    if parent.type == "do_group":
        reason = f"loses the failure of `{text}` in all rounds but the last"
        return CommandRefusal(source(parent), reason, "write `|| exit 1` after it")
    return None


def _after(parent: Node, node: Node) -> list[Node]:
    """What follows a node in its parent."""
    return [
        child
        for child in parent.children
        if child.is_named and child.type != "comment" and child.start_byte >= node.end_byte
    ]


def _asks(parent: Node, node: Node) -> bool:
    """Whether a node stands in the condition of an `if` or a loop."""
    if parent.type not in {"if_statement", "elif_clause", "while_statement"}:
        return False
    marks = [child for child in parent.children if child.type in {"then", "do_group"}]
    return bool(marks) and node.end_byte <= marks[0].start_byte


Told = tuple[str, str, str]
"""The piece, what it does, and what to write instead."""


def disguises(root: Node) -> Iterator[Told]:
    """Everything by which a check is not what it looks like, in the order of the text.

    Raises:
        NotShell: A script inside of it cannot be read.
    """
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in {"command_substitution", "process_substitution"}:
            yield from _only_printed(node)
        elif node.type == "variable_assignment":
            yield from _other_path(node)
        elif node.type == "pipeline":
            yield from _unknown_text(node)
        elif node.type == "redirected_statement":
            yield from _nothing_read(node)
        elif node.type == "command":
            yield from _command(node)
        waiting.extend(reversed(node.children))


def _only_printed(node: Node) -> Iterator[Told]:
    """A check whose output alone is used; an assignment has the status of what it takes."""
    above = node.parent
    while above is not None and above.type in {"string", "concatenation"}:
        above = above.parent
    if above is not None and above.type == "variable_assignment":
        return
    for each in commands(node):
        meant = unwrapped(words(each))
        if meant and is_checker(meant):
            yield source(node), *_ONLY_PRINTED


def _other_path(node: Node) -> Iterator[Told]:
    name = node.child_by_field_name("name")
    if name is not None and source(name) == "PATH":
        remedy = "set `PATH` in the gate's `environment`"
        yield source(node), "puts other programs in the place of the checks", remedy


def _command_words(node: Node) -> list[str]:
    return words(node) if node.type == "command" else []


def _unknown_text(node: Node) -> Iterator[Told]:
    """A shell at the end of a pipe runs what nobody has read, unless the text stands there."""
    parts = [child for child in node.children if child.is_named]
    first, last = _command_words(parts[0]), _command_words(parts[-1])
    if len(parts) == 2 and _name(first) in {"echo", "printf", "cat"}:
        return
    if _name(last) in SHELLS and "c" not in "".join(last[1:]):
        yield f"| {source(parts[-1])}", "runs a text that is not known", "write the command itself"


def _name(given: list[str]) -> str:
    return program_name(given[0]) if given else ""


def _command(node: Node) -> Iterator[Told]:
    given = words(node)
    inner = inner_shell(unwrapped(given)) if _name(given) != "echo" else None
    if inner is not None and inner.script is not None:
        yield from disguises(parse(inner.script))
    yield from _not_executed(node, given)
    for asks, reason, remedy in _DISGUISES.get(_name(given), ()):
        if asks(given[1:]):
            yield source(node), reason, remedy


_NOT_EXECUTED = "reads commands and runs none"


def _not_executed(node: Node, given: list[str]) -> Iterator[Told]:
    """`sh -n` of a text that stands there: only a file of the repository can be wrong in it."""
    inner = inner_shell(unwrapped(given))
    if _name(given) == "set" and _sets_noexec(given[1:]):
        yield source(node), _NOT_EXECUTED, "leave it out"
    elif inner is not None and inner.noexec and _is_literal(node, inner):
        yield source(node), _NOT_EXECUTED, "leave `-n` out, or name a script"


def _sets_noexec(options: list[str]) -> bool:
    return "noexec" in options or any(re.fullmatch(r"-[a-z]*n[a-z]*", each) for each in options)


def _is_literal(node: Node, inner: Inner) -> bool:
    """Whether the text that a shell reads is in the command, or is none at all."""
    if inner.script is not None or inner.file == "/dev/null":
        return True
    if inner.file is not None or here_string(node) is not None:
        return inner.file is None
    above = node.parent
    if above is not None and above.type == "redirected_statement":
        reads = [each for each in above.children if each.type == "file_redirect"]
        return not any(source(each).lstrip("0").startswith("<") for each in reads)
    if above is not None and above.type == "pipeline" and above.children[0] != node:
        return _name(_command_words(above.children[0])) in {"echo", "printf"}
    return True


def _nothing_read(node: Node) -> Iterator[Told]:
    """A check of what stands in an empty file: `xargs shellcheck < /dev/null`."""
    body = node.child_by_field_name("body")
    given = words(body) if body is not None and body.type == "command" else []
    reads = "-" in given or _name(given) == "xargs"
    redirects = [source(each) for each in node.children if each.type == "file_redirect"]
    if reads and any(re.fullmatch(r"0?<\s*/dev/null", each) for each in redirects):
        yield source(node), "has nothing to check", "name the files to check"


def _returns(option: str) -> bool:
    return option == "--return" or (
        option.startswith("-") and not option.startswith("--") and "e" in option
    )


def _always(_options: list[str]) -> bool:
    return True


_RUN_IT = "run it as a command"
_DISGUISES: dict[str, tuple[tuple[Callable[[list[str]], bool], str, str], ...]] = {
    "coproc": ((_always, "is not waited for", _RUN_IT),),
    "setsid": (
        (lambda options: not {"-f", "--fork"}.isdisjoint(options), "is not waited for", _RUN_IT),
    ),
    **dict.fromkeys(("at", "batch"), ((_always, "runs later", _RUN_IT),)),
    "systemd-run": ((lambda options: "--wait" not in options, "runs somewhere else", _RUN_IT),),
    "eval": (
        (
            lambda options: any("$(" in each or "`" in each for each in options),
            "runs a text that is not known",
            "write the command itself",
        ),
    ),
    "script": (
        (
            lambda options: not any(map(_returns, options)),
            "does not end as its command does",
            "leave `script` out, or add `-e`",
        ),
    ),
    "alias": ((bool, "puts something else in the place of a command", "leave it out"),),
    "hash": (
        (
            lambda options: any(each.startswith("-") and "p" in each for each in options),
            "puts another program in the place of a check",
            "leave it out",
        ),
    ),
}
