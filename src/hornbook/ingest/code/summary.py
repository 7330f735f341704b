"""A file's summary: its signatures and imports, and why there may be none."""

import codecs
from hashlib import sha256

from tree_sitter import QueryCursor, Tree

from hornbook.ingest.code.headers import Excerpts, signatures
from hornbook.ingest.code.languages import Grammar, grammar_of, query
from hornbook.ingest.code.parsing import first_error_line, parse
from hornbook.ingest.code.references import references
from hornbook.model.code import CodeFile

LARGEST = 1024 * 1024
"""Bytes of a file that is read; nobody reviews a larger one by its signatures."""

HOPELESS = "the parser gave up on it: no signatures were read"


def summarise(path: str, data: bytes) -> CodeFile:
    """Return what can be read of a file; whatever its bytes are, this never raises."""
    digest = sha256(data).hexdigest()
    grammar = grammar_of(path)
    if grammar is None:
        return CodeFile(path, "", digest)
    problem = _unreadable(data)
    if problem:
        return CodeFile(path, grammar.name, digest, problem=problem)
    text = data.removeprefix(codecs.BOM_UTF8)
    tree = parse(grammar, text)
    if tree is None:
        return CodeFile(path, grammar.name, digest, problem=HOPELESS)
    return _read(CodeFile(path, grammar.name, digest), grammar, text, tree)


def _read(file: CodeFile, grammar: Grammar, text: bytes, tree: Tree) -> CodeFile:
    patterns = query(grammar)
    matches = QueryCursor(patterns).matches(tree.root_node)
    excerpts = Excerpts(text, matches)
    line = first_error_line(tree)
    return CodeFile(
        file.path,
        file.language,
        file.sha256,
        signatures=tuple(signatures(patterns, matches, excerpts)),
        imports=tuple(references(matches, excerpts)),
        problem=f"line {line} does not parse; signatures may be incomplete" if line else None,
    )


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
