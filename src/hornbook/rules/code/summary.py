"""A file's summary: its signatures and imports, and why there may be none."""

from codecs import BOM_UTF8
from dataclasses import replace
from hashlib import sha256

from hornbook.rules.code.file import CodeFile
from hornbook.rules.code.headers import Excerpts, signatures
from hornbook.rules.code.imports import references
from hornbook.rules.code.parsing import Grammar, captured, first_error, grammar_of, parse, query

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
