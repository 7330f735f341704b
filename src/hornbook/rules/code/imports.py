"""What a file imports, as references in the notation of its language.

Python and Java give dotted names, the imported name last (`from a.b import c` is `a.b.c`), so
that `from package import module` can be followed. Rust's nested lists are spelt out, and `mod x;`
is `self::x`; inside inline modules `self` and `super` are rewritten to stand for the file.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hornbook.rules.code.headers import Excerpts
from hornbook.rules.code.parsing import Match

DEEPEST = 64
"""Nesting of modules and lists in Rust; what is deeper is left out."""

_QUOTES = "\"'`"
_ALIAS = re.compile(r"\s+as\s+\w+")
_PART = re.compile(r"[{},]|[^{},]+")


@dataclass(frozen=True, slots=True)
class FoundReference:
    """A reference before the modules around it are known."""

    start: int
    text: str


def references(matches: Iterable[Match], excerpts: Excerpts) -> list[str]:
    """Every reference once, in file order."""
    scopes: list[tuple[int, int, str]] = []
    found: list[FoundReference] = []
    for _, captures in matches:
        found.extend(_found(captures, excerpts))
        for scope in captures.get("scope", ()):
            name = excerpts.text(*captures["scope_name"][0].byte_range)
            scopes.append((*scope.byte_range, name))
    found.sort(key=lambda each: each.start)
    return list(dict.fromkeys(_in_scope(found, sorted(scopes))))


def spelt_out(use: str) -> Iterator[str]:
    """The paths that a Rust `use` tree names: `a::{b, c::D as E}` is `a::b` and `a::c::D`."""
    prefixes, last = [""], ""
    for part in _PART.findall("".join(_ALIAS.sub("", use).split())):
        if part == "{":
            prefixes.append(prefixes[-1] + last)
            last = ""
        elif part in ",}":
            if last:
                yield prefixes[-1] + last
            last = ""
            prefixes = prefixes[:-1] if part == "}" and len(prefixes) > 1 else prefixes
        else:
            last = part
        if len(prefixes) > DEEPEST:
            return
    if last:
        yield prefixes[-1] + last


def _found(captures: dict[str, list[Node]], excerpts: Excerpts) -> Iterator[FoundReference]:
    for node in captures.get("import", ()):
        yield FoundReference(node.start_byte, _reference(node, captures.get("from", []), excerpts))
    for node in captures.get("module", ()):
        yield FoundReference(node.start_byte, "self::" + excerpts.text(*node.byte_range))
    for node in captures.get("use", ()):
        for path in spelt_out(excerpts.text(*node.byte_range)):
            yield FoundReference(node.start_byte, path.removesuffix("::self"))


def _reference(node: Node, source: list[Node], excerpts: Excerpts) -> str:
    text = excerpts.text(*node.byte_range)
    if text[:1] in _QUOTES:
        return text.strip(_QUOTES)
    name = "".join(text.split())
    if not source:
        return name
    module = "".join(excerpts.text(*source[0].byte_range).split())
    return module + name if module.endswith(".") else f"{module}.{name}"


def _in_scope(found: Iterable[FoundReference], scopes: list[tuple[int, int, str]]) -> Iterator[str]:
    waiting = list(reversed(scopes))
    around: list[tuple[int, int, str]] = []
    for each in found:
        while waiting and waiting[-1][0] <= each.start:
            scope = waiting.pop()
            _leave(around, scope[0])
            around.append(scope)
        _leave(around, each.start)
        if each.text and len(around) < DEEPEST:
            yield _from_file(each.text, [name for _, _, name in around]) if around else each.text


def _leave(around: list[tuple[int, int, str]], place: int) -> None:
    while around and around[-1][1] <= place:
        around.pop()


def _from_file(path: str, enclosing: list[str]) -> str:
    """The path as it would be written outside of the inline modules around it."""
    first, *rest = path.split("::")
    if first not in {"self", "super"}:
        return path
    steps = path.split("::") if first == "super" else rest
    while steps and steps[0] == "super" and enclosing:
        steps, enclosing = steps[1:], enclosing[:-1]
    if steps and steps[0] == "super":
        return "::".join(steps)
    return "::".join(["self", *enclosing, *steps])
