"""A file's summary: its signatures and imports, and why there may be none."""

import re
from bisect import bisect_left, bisect_right
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from tree_sitter import Node, Query

from hornbook.rules.code.file import CodeFile, Signature
from hornbook.rules.code.parsing import (
    Grammar,
    Match,
    captured,
    first_error,
    grammar_of,
    parse,
    query,
)

Span = tuple[int, int]
"""Byte offsets, the end not included."""

LONGEST = 500
"""Characters of a header; what is longer ends in an ellipsis."""

_AFTER_OPENING = re.compile(r"([(\[{])\s*\n\s*")
_BEFORE_CLOSING = re.compile(r",?\s*\n\s*([)\]}])")


@dataclass(slots=True)
class SignatureDraft:
    """A declaration while its matches are gathered."""

    start: int
    end: int
    header_start: int
    header_end: int
    line: int
    prefix: str = ""


class Excerpts:
    """Texts of parts of a file without what the query leaves out."""

    def __init__(self, data: bytes, matches: Iterable[Match]) -> None:
        kept, hidden, passed = set[Span](), set[Span](), set[Span]()
        for _, captures in matches:
            kept |= spans(captures, "keep")
            hidden |= spans(captures, "cut", "body")
            passed |= spans(captures, "members")
        self._data = data
        self._line_ends = [found.start() for found in re.finditer(b"\n", data)]
        self._hidden = _merged(hidden - kept)
        self._left_out = sorted((hidden | passed) - kept)

    def line(self, offset: int) -> int:
        """The line of a place, from 1."""
        return bisect_left(self._line_ends, offset) + 1

    def hides(self, start: int, end: int) -> bool:
        """Whether a span lies in a body or a value, where nothing is looked at."""
        place = bisect_right(self._hidden, start, key=lambda span: span[0]) - 1
        return place >= 0 and end <= self._hidden[place][1]

    def text(self, start: int, end: int) -> str:
        """The source from `start` to `end` on one line."""
        pieces = "".join(self._pieces(start, end))
        pieces = _AFTER_OPENING.sub(r"\1", pieces)
        return " ".join(_BEFORE_CLOSING.sub(r"\1", pieces).split())

    def _pieces(self, start: int, end: int) -> Iterator[str]:
        whole = (start, end)
        first, last = (bisect_left(self._left_out, (place, place)) for place in whole)
        for cut in self._left_out[first:last]:
            cut_start, cut_end = cut
            # A body that begins with this very part, or is all of it, is around it, not in it.
            if start <= cut_start and cut_end <= end and cut != whole:
                yield self._decoded(start, cut_start).rstrip()
                start = cut_end
        yield self._decoded(start, end)

    def _decoded(self, start: int, end: int) -> str:
        return self._data[start:end].decode("utf-8", errors="replace")


def signatures(query: Query, matches: Iterable[Match], excerpts: Excerpts) -> list[Signature]:
    """The headers of all declarations that stand in no body, with their nesting."""
    found: list[Signature] = []
    open_ends: list[int] = []
    for draft in sorted(
        _drafts(query, matches, excerpts), key=lambda each: (each.start, -each.end)
    ):
        if excerpts.hides(draft.start, draft.end):
            continue
        while open_ends and open_ends[-1] <= draft.start:
            open_ends.pop()
        header = excerpts.text(draft.header_start, draft.header_end).rstrip(" :;,=")
        text = f"{draft.prefix} {header}" if draft.prefix else header
        if header:
            found.append(Signature(draft.line, len(open_ends), _shortened(text)))
            open_ends.append(draft.end)
    return found


def spans(captures: dict[str, list[Node]], *names: str) -> set[Span]:
    """The byte ranges of what was captured under any of the names."""
    return {node.byte_range for name in names for node in captures.get(name, ())}


def _drafts(query: Query, matches: Iterable[Match], excerpts: Excerpts) -> Iterable[SignatureDraft]:
    drafts: dict[Span, SignatureDraft] = {}
    wrappers: dict[Span, Span] = {}
    for pattern, captures in matches:
        for wrapped in captures.get("wrapped", ()):
            wrappers[wrapped.byte_range] = captures["wrapper"][0].byte_range
        for node in captures.get("declaration", ()):
            start, end = node.byte_range
            new = SignatureDraft(start, end, start, end, excerpts.line(start))
            draft = drafts.setdefault((start, end), new)
            draft.prefix = query.pattern_settings(pattern).get("prefix") or draft.prefix
            draft.header_end = min(
                [draft.header_end, *(start for start, _ in spans(captures, "body", "members"))]
            )
            for name in captures.get("name", ()):
                draft.line = excerpts.line(name.start_byte)
    for draft in drafts.values():
        span: Span | None = wrappers.pop((draft.start, draft.end), None)
        while span is not None:
            draft.header_start = span[0]
            span = wrappers.pop(span, None)
    return drafts.values()


def _merged(found: set[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " …"


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


LARGEST = 1024 * 1024
"""Bytes of a file that is read; nobody reviews a larger one by its signatures."""

HOPELESS = "too deep, or too far from its language, to be parsed: no signatures were read"


def summarise(path: str, data: bytes) -> CodeFile:
    """Return what can be read of a file; whatever its bytes are, this never raises."""
    digest = sha256(data).hexdigest()
    grammar = grammar_of(path)
    if grammar is None:
        return CodeFile(path, "", digest)
    problem = _unreadable(data)
    if problem:
        return CodeFile(path, grammar.name, digest, problem=problem)
    return _read(CodeFile(path, grammar.name, digest), grammar, data.removeprefix(BOM_UTF8))


def _read(file: CodeFile, grammar: Grammar, text: bytes) -> CodeFile:
    tree = parse(grammar, text)
    matches = captured(grammar, tree) if tree else None
    if tree is None or matches is None:
        return replace(file, problem=HOPELESS)
    excerpts = Excerpts(text, matches)
    return replace(
        file,
        signatures=tuple(signatures(query(grammar), matches, excerpts)),
        imports=tuple(references(matches, excerpts)),
        problem=_broken(first_error(tree), excerpts),
    )


def _broken(place: int | None, excerpts: Excerpts) -> str | None:
    if place is None:
        return None
    return f"line {excerpts.line(place)} does not parse; signatures may be incomplete"


def _unreadable(data: bytes) -> str | None:
    if len(data) > LARGEST:
        return f"{len(data)} bytes, {LARGEST} are read at most: no signatures were read"
    if b"\0" in data:
        return f"binary (a NUL byte at offset {data.index(0)}): no signatures were read"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8"
        return f"{found}: no signatures were read"
    return None
