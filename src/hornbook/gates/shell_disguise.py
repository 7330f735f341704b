"""Checks in disguise: what a command's text does to its checks without changing any status."""

from collections.abc import Iterator

from tree_sitter import Node

from hornbook.gates.shell_tree import commands, parse, source, words
from hornbook.gates.shell_words import SHELLS, base, inner_shell, is_checker, unwrapped

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
            yield source(node), "is only used for what it prints", "run it as a command"


def _other_path(node: Node) -> Iterator[Told]:
    name = node.child_by_field_name("name")
    if name is not None and source(name) == "PATH":
        remedy = "set `PATH` in the gate's `environment`"
        yield source(node), "puts other programs in the place of the checks", remedy


def _unknown_text(node: Node) -> Iterator[Told]:
    """A shell at the end of a pipe runs what nobody has read, unless the text stands there."""
    parts = [child for child in node.children if child.is_named]
    last = words(parts[-1]) if parts[-1].type == "command" else []
    fed = words(parts[0]) if parts[0].type == "command" else []
    known = len(parts) == 2 and base(fed[0] if fed else "") in {"echo", "printf", "cat"}
    bare = bool(last) and base(last[0]) in SHELLS and not any("c" in each for each in last[1:])
    if bare and not known:
        yield f"| {source(parts[-1])}", "runs a text that is not known", "write the command itself"


def _command(node: Node) -> Iterator[Told]:
    given = words(node)
    if not given:
        return
    name, options = base(given[0]), given[1:]
    inner = inner_shell(unwrapped(given)) if name != "echo" else None
    if inner is not None and inner.script is not None:
        yield from disguises(parse(inner.script))
    if name == "coproc" or (name == "setsid" and not {"-f", "--fork"}.isdisjoint(options)):
        yield source(node), "is not waited for", "run it as a command"
    elif name in {"at", "batch", "systemd-run"} and "--wait" not in options:
        yield source(node), "runs later, or somewhere else", "run it as a command"
    elif name == "eval" and any("$(" in each or "`" in each for each in options):
        yield source(node), "runs a text that is not known", "write the command itself"
    elif name == "script" and not any(_returns(each) for each in options):
        yield source(node), "does not end as its command does", "leave `script` out, or add `-e`"
    elif name == "alias" and options:
        yield source(node), "puts something else in the place of a command", "leave it out"
    elif name == "hash" and any(each.startswith("-") and "p" in each for each in options):
        yield source(node), "puts another program in the place of a check", "leave it out"


def _returns(option: str) -> bool:
    return option == "--return" or (
        option.startswith("-") and not option.startswith("--") and "e" in option
    )
