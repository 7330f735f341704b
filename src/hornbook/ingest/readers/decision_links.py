"""The links between decisions: which supersedes or amends which."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import unquote

from hornbook.ingest.frontmatter import Parts
from hornbook.ingest.outline import Outline
from hornbook.ingest.problems import Problems
from hornbook.model import Link, Problem

_PHRASE = re.compile(
    r"\b(?P<phrase>super[sc]eded[ -]by|super[sc]edes|amended[ -]by|amends)\b", re.IGNORECASE
)
_LINK = re.compile(
    r"\[[^\[\]]{0,200}\]\(\s{0,9}(?:<(?P<angled>[^<>]+)>|(?P<bare>[^()\s<>]+))[^()]{0,200}\)"
)
_NUMBER = re.compile(r"\bADR[-# ]{0,3}(?P<number>\d{1,5})\b", re.IGNORECASE)
_LEADING_NUMBER = re.compile(r"[\s:#]{0,9}(?P<number>\d{1,5})\b(?!-|\.\w)")
_RELATIONS = {
    "supersededby": "superseded_by",
    "supersedes": "supersedes",
    "amendedby": "amended_by",
    "amends": "amends",
}
_RECORDS = ".hornbook/records/"
"""Our own records name other documents by id."""

_NEAR = 40
"""Characters between a phrase in running text and the link it speaks of."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a document says in one place, and on which file line."""

    text: str
    line: int | None


def find_links(parts: Parts, shape: Outline, statements: Iterable[Statement]) -> tuple[Link, ...]:
    """Return the links a decision states in its metadata, its status or its text.

    A status may name a number only (`superseded by ADR-0123`); running text must link, and
    must speak of the decision itself.
    """
    found: dict[tuple[str, str], Link] = {}
    stated = [*_metadata(parts), *(link for said in statements for link in _in_status(said))]
    for link in (*stated, *_in_text(shape, parts.body_line)):
        found.setdefault((link.relation, link.reference), link)
    return tuple(found.values())


def resolve_links(
    path: str, links: Sequence[Link], known: Mapping[str, str]
) -> tuple[tuple[Link, ...], tuple[Problem, ...]]:
    """Return the links with the ids they lead to, and a warning for each that leads nowhere.

    `known` maps the paths of all documents to their ids.
    """
    problems = Problems(path)
    resolved: list[Link] = []
    for link in links:
        targets = _targets(path, link.reference, known)
        if len(targets) == 1:
            link = replace(link, target=known[targets[0]])  # noqa: PLW2901 - the same link, resolved
        elif targets:
            message = f"`{link.reference}` may be {' or '.join(targets)}: link the file."
            problems.warning(link.line, "ambiguous_link", message)
        elif "://" not in link.reference:
            message = (
                f"`{link.reference}` ({link.relation}) leads to no document: correct the link."
            )
            problems.warning(link.line, "unresolved_link", message)
        resolved.append(link)
    return tuple(resolved), problems.told()


def _metadata(parts: Parts) -> Iterator[Link]:
    for key, value in parts.metadata.items():
        relation = _relation(key)
        if relation is None:
            continue
        for item in value if isinstance(value, list) else [value]:
            for reference in _references(f" {item}", numbers=True) or [str(item or "").strip()]:
                if reference:
                    yield Link(relation, reference, parts.lines.get(key))


def _in_status(said: Statement) -> Iterator[Link]:
    for relation, text in _phrases(said.text):
        for reference in _references(text, numbers=True):
            yield Link(relation, reference, said.line)


def _in_text(shape: Outline, first_line: int) -> Iterator[Link]:
    for index, line in enumerate(shape.lines):
        phrase = _PHRASE.search(line)
        if phrase is None or _LINK.search(line, 0, phrase.start()):
            continue
        for relation, text in _phrases(line):
            near = _LINK.search(text)
            if near and near.start() <= _NEAR:
                yield Link(relation, near["bare"] or near["angled"], first_line + index)


def _phrases(text: str) -> Iterator[tuple[str, str]]:
    """Yield each relation that a text names, with the text up to the next one."""
    found = list(_PHRASE.finditer(text))
    ends = [later.start() for later in found[1:]]
    for phrase, end in zip(found, [*ends, len(text)], strict=False):
        relation = _relation(phrase["phrase"])
        if relation:
            yield relation, text[phrase.end() : end]


def _references(text: str, *, numbers: bool) -> list[str]:
    links = [found["bare"] or found["angled"] for found in _LINK.finditer(text)]
    if links or not numbers:
        return links
    named = [found["number"] for found in _NUMBER.finditer(text)]
    leading = _LEADING_NUMBER.match(text)
    return named or ([leading["number"]] if leading else [])


def _relation(phrase: str) -> str | None:
    return _RELATIONS.get(re.sub(r"[\W_]", "", phrase.lower()).replace("superce", "superse"))


def _targets(path: str, reference: str, known: Mapping[str, str]) -> list[str]:
    if path.startswith(_RECORDS):
        return sorted(other for other, document_id in known.items() if document_id == reference)
    if reference.isascii() and reference.isdigit():
        return sorted(_numbered(PurePosixPath(path), int(reference), known))
    target = unquote(reference.partition("#")[0].partition("?")[0])
    start = "" if target.startswith("/") else posixpath.dirname(path)
    whole = posixpath.normpath(posixpath.join(start, target.lstrip("/")))
    return [found for found in (whole, f"{whole}.md") if target and found in known][:1]


def _numbered(path: PurePosixPath, number: int, known: Mapping[str, str]) -> Iterator[str]:
    folder = f"{path.parent}/" if path.parent.parts else ""
    for other in known:
        name = other.removeprefix(folder) if other.startswith(folder) else "/"
        found = re.match(r"(?:adr[-_]?)?0*(\d{1,9})(?=\D)", name, re.IGNORECASE)
        if found and "/" not in name and other != str(path) and int(found[1]) == number:
            yield other
