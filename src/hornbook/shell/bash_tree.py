"""A shell text as a tree, and the words of its commands.

`Point.row` and progress callbacks are not used: in tree-sitter 0.26.0 both can crash.
"""

import re
from collections.abc import Iterator
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from hornbook.shell.programs import names
from hornbook.shell.wrappers import ASSIGNMENT

LONGEST = 16_384
"""Bytes of a command that is looked at; tree-sitter needs seconds for longer nonsense."""

RESERVED = names("{ } if then else elif fi do done while until case esac")
_QUOTED = re.compile(r'\\([\\"$`])')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class NotShell(Exception):
    """The text is not a shell program that can be followed: the piece where that shows."""

    def __init__(self, piece: str) -> None:
        super().__init__(piece)
        self.piece = piece


@cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())


@cache
def parse(text: str) -> Node:
    """The program of a text.

    Raises:
        NotShell: It does not parse.
    """
    data = text.encode("utf-8", "surrogateescape")
    if len(data) > LONGEST or b"\0" in data:
        raise NotShell(text[:40])
    root = Parser(_language()).parse(data).root_node
    broken = next(_broken(root), None)
    if broken is not None:
        raise NotShell(source(broken) or text)
    return root


def source(node: Node) -> str:
    """The text of a node as it is written."""
    return (node.text or b"").decode("utf-8", "replace")


def statements(node: Node) -> list[tuple[Node, bool]]:
    """The statements of a sequence, and whether each is sent to the background."""
    found: list[tuple[Node, bool]] = []
    for child in node.children:
        if child.type == "&" and found:
            found[-1] = (found[-1][0], True)
        elif child.is_named and child.type != "comment":
            found.append((child, False))
    return found


def commands(node: Node) -> Iterator[Node]:
    """Every single command within a node, however deep, in the order of the text."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type == "command":
            yield each
        waiting.extend(reversed(each.children))


def words(command: Node) -> list[str]:
    """The words of a command without quotes; what is expanded at run time stays as written."""
    parts = []
    for child in command.children:
        if child.type == "command_name":
            parts.append(unquoted(child.children[0]))
        elif child.is_named and child.type != "variable_assignment" and not _redirects(child):
            parts.append(unquoted(child))
    return parts


def _redirects(node: Node) -> bool:
    return node.type.endswith("_redirect")


def assignments(command: Node) -> list[Node]:
    """The assignments before a command's name."""
    return [child for child in command.children if child.type == "variable_assignment"]


def unquoted(node: Node) -> str:
    """A word's text without its quotes."""
    text = source(node)
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "string":
        return _QUOTED.sub(r"\1", text[1:-1])
    if node.type == "ansi_c_string":
        return text[2:-1].encode("utf-8", "replace").decode("unicode_escape", "replace")
    if node.type == "concatenation":
        return "".join(unquoted(child) for child in node.children)
    return _ESCAPED.sub(r"\1", text) if node.type == "word" else text


def substitutions(node: Node) -> Iterator[Node]:
    """The command substitutions within a node, outermost ones only."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type == "command_substitution":
            yield each
        else:
            waiting.extend(reversed(each.children))


def branch(node: Node) -> tuple[list[tuple[Node, bool]], list[tuple[Node, bool]]]:
    """The condition of an `if` or `elif`, and what is done when it holds."""
    asked: list[tuple[Node, bool]] = []
    done: list[tuple[Node, bool]] = []
    part = asked
    for child in node.children:
        if child.type in {"elif_clause", "else_clause"}:
            break
        if child.type == "then":
            part = done
        elif child.type == "&" and part:
            part[-1] = (part[-1][0], True)
        elif child.is_named and child.type != "comment":
            part.append((child, False))
    return asked, done


def pipe_parts(node: Node) -> tuple[list[Node], list[tuple[str, Node]]]:
    """The parts of a pipe, and what is joined to it: after `! a | b` the grammar mixes them up."""
    parts = [child for child in node.children if child.is_named]
    rest: list[tuple[str, Node]] = []
    while parts[-1].type in {"list", "pipeline"}:
        last = parts.pop()
        if last.type == "pipeline":
            parts += [child for child in last.children if child.is_named]
        else:
            rest.insert(0, (last.children[1].type, last.children[-1]))
            parts.append(last.children[0])
    return parts, rest


def here_string(node: Node) -> str | None:
    """The text after `<<<`."""
    for each in node.children:
        if each.type == "herestring_redirect":
            return unquoted(each.children[-1])
    return None


def _broken(root: Node) -> Iterator[Node]:
    """The nodes that show that the text is no program, though the grammar found a tree for it."""
    waiting = [root]
    while waiting:
        each = waiting.pop()
        stray = each.type == ";;" and each.parent == root
        if each.is_error or each.is_missing or stray or _is_reserved(each) or _runs_on(each):
            yield each
        waiting.extend(reversed(each.children))


def _is_reserved(node: Node) -> bool:
    return node.type == "command_name" and source(node) in RESERVED


def _runs_on(node: Node) -> bool:
    """Whether the grammar took the next line for more arguments, as it does after some pipes."""
    if node.type != "command" or node.text is None:
        return False
    ends = [node.start_byte, *(child.end_byte for child in node.children)]
    gaps = zip(ends, node.children, strict=False)
    start = node.start_byte
    between = (node.text[end - start : child.start_byte - start] for end, child in gaps)
    return any(b"\n" in gap.replace(b"\\\n", b"") for gap in between)


def variables_of(node: Node) -> tuple[tuple[str, str], ...]:
    """The variables that a command is given: assignments before it, and those of `env`."""
    before = [(source(each.children[0]), unquoted(each.children[-1])) for each in assignments(node)]
    given = words(node) if node.type == "command" else []
    carried = (word.partition("=") for word in given if re.match(ASSIGNMENT, word))
    return (*before, *((name, value) for name, _, value in carried))
