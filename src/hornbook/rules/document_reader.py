"""A file read by the first reader that claims it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from hornbook.rules.code.edges import Imports
from hornbook.rules.code.parsing import grammar_of
from hornbook.rules.document import Link, Problem
from hornbook.rules.metadata.frontmatter import split
from hornbook.rules.readers.decision import resolve_links as resolve_decision_links
from hornbook.rules.readers.protocol import Reading, SourceFile
from hornbook.rules.readers.registry import NATIVE, READERS

__all__ = ["Reading", "is_rule_file", "read", "resolve_links"]


# Every native format has a dot folder or file, a folder of decisions, or one of three names.
_HINT = re.compile(r"(?:^|/)(?:\.|(?:adr|decisions)/|(?:AGENTS|CLAUDE|GEMINI)\b[^/]*$)")


def is_rule_file(path: str | PurePosixPath) -> bool:
    """Whether a file at this path is in a format that is found anywhere in a repository."""
    if _HINT.search(str(path)) is None:
        return False
    place = PurePosixPath(path)
    return any(reader.claims(place) for reader in NATIVE)


def resolve_links(
    path: str, links: Sequence[Link], known: Mapping[str, str], imports: Imports | None = None
) -> tuple[tuple[Link, ...], tuple[Problem, ...]]:
    """Return a document's links with the ids they lead to, and what is wrong with them.

    `known` maps the paths of all documents to their ids; who asks for many documents hands the
    `imports` among them from one to the next. An import that leads to no known file is no problem:
    most lead outside.
    """
    if not links or links[0].relation != "imports":
        return resolve_decision_links(path, links, known)
    grammar = grammar_of(path)
    language = grammar.name if grammar is not None else ""
    imports = imports or Imports(known)
    resolved: list[Link] = []
    for link in links:
        targets = imports.targets(language, path, link.reference)
        resolved += [replace(link, target=known[target]) for target in targets] or [link]
    return tuple(resolved), ()


def read(path: str | PurePosixPath, data: bytes) -> Reading:
    """Return what the file at `path` (relative to the repository) says; never raises."""
    place = PurePosixPath(path)
    file = SourceFile(place, split(data, str(path)))
    reader = next(reader for reader in READERS if reader.claims(place))
    return reader.read(file)
