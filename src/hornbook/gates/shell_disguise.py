"""Checks in disguise: what a command's text does to its checks without changing any status."""

from collections.abc import Callable, Iterator

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
    inner = inner_shell(unwrapped(given)) if given and base(given[0]) != "echo" else None
    if inner is not None and inner.script is not None:
        yield from disguises(parse(inner.script))
    for asks, reason, remedy in _DISGUISES.get(base(given[0]) if given else "", ()):
        if asks(given[1:]):
            yield source(node), reason, remedy


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
