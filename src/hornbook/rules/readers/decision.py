"""Decision records as Nygard, MADR and log4brains write them."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import unquote

from hornbook.rules import inference
from hornbook.rules.chunks.outline import Outline, outline
from hornbook.rules.document import DecisionFacts, Link, Problem, Problems
from hornbook.rules.ids import document_id, stem
from hornbook.rules.metadata import fields
from hornbook.rules.metadata.fields import tell_misspelt
from hornbook.rules.metadata.frontmatter import Parts
from hornbook.rules.readers.compose import Frame, compose
from hornbook.rules.readers.own_binding import own_binding
from hornbook.rules.readers.protocol import Reading, SourceFile
from hornbook.vocabulary.terms import Category

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
class LinkStatement:
    """What a document says in one place, and on which file line."""

    text: str
    line: int | None


def find_links(
    parts: Parts, shape: Outline, statements: Iterable[LinkStatement]
) -> tuple[Link, ...]:
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


def _in_status(said: LinkStatement) -> Iterator[Link]:
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


NO_STATUS = "unknown"
_KEYS = ("status", "date", "deciders", "decision-makers", "applies_to", "category", "severity")
_STATUSES = ("accepted", "proposed", "rejected", "deprecated", "superseded", "draft", "withdrawn")
_CONTEXT = frozenset(
    {"context", "context and problem statement", "problem statement", "background"}
)
_OUTCOME = frozenset({"decision", "decision outcome", "outcome"})
_FACT = re.compile(
    r"\s*(?:[-*+][ \t]+)?[*_]{0,2}(?P<name>status|date|deciders?|decision[- ]makers?)[*_]{0,2}"
    r"[ \t]*:[*_]{0,2}[ \t]*(?P<value>.*)",
    re.IGNORECASE,
)
_RELATION = re.compile(r"(?:super[sc]edes|amends|amended by)\b", re.IGNORECASE)
_SUPERSEDED = re.compile(r"super[sc]eded\b", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:ADR[-# ]*)?\d+[ \t]*[.:)–—-]+[ \t]+", re.IGNORECASE)


def read_decision(file: SourceFile, category_stated: bool, problems: Problems) -> Reading:
    """Return the reading of a decision record."""
    parts = file.parts
    shape = outline(parts.body)
    stated = dict(_facts(shape, parts.body_line))
    statements = list(_status_statements(parts, shape, stated))
    tell_misspelt(parts, _KEYS, problems)
    frame = Frame(
        tool="decision",
        desired_id=document_id(Category.DECISION, None, (), stem(file.path)),
        binding=own_binding(parts, Category.DECISION, problems),
        category=Category.DECISION,
        category_stated=category_stated,
        title=_NUMBERED.sub("", inference.title(shape, file.path), count=1),
        summary=_summary(shape),
        decision=DecisionFacts(
            status=_status(statements, problems),
            date=fields.text(parts, "date", problems) or _value(stated, "date"),
            deciders=_deciders(parts, stated, problems),
        ),
        links=find_links(parts, shape, statements),
        own=True,
    )
    return compose(file, frame, problems, shape)


def _facts(shape: Outline, first_line: int) -> Iterator[tuple[str, LinkStatement]]:
    """Yield what the lines below the title state, such as `Date: …`, by lower-case name."""
    for index in reversed(shape.preamble()):
        found = _FACT.match(shape.lines[index])
        if found and found["value"].strip():
            name = found["name"].lower().replace(" ", "-")
            name = "deciders" if name.startswith("deci") else name
            yield name, LinkStatement(found["value"].strip(), first_line + index)


def _status_statements(
    parts: Parts, shape: Outline, stated: dict[str, LinkStatement]
) -> Iterator[LinkStatement]:
    written = parts.metadata.get("status")
    if written is not None and not isinstance(written, list | dict):
        yield LinkStatement(str(written), parts.lines.get("status"))
    if "status" in stated:
        yield stated["status"]
    for section in shape.sections({"status"}):
        for index in section:
            text = shape.lines[index].strip().lstrip("-*+ ")
            if text and not text.startswith(("#", "~~")):
                yield LinkStatement(text, parts.body_line + index)


def _status(statements: list[LinkStatement], problems: Problems) -> str:
    texts = [_bare(statement.text) for statement in statements]
    said = [text for text in texts if text and not _RELATION.match(text)]
    if not said:
        message = "The decision has no status: add a `## Status` section or `status:`."
        problems.warning(1, "no_status", message)
        return NO_STATUS
    word = said[0].split()[0].lower().strip(".,;:").replace("superceded", "superseded")
    if word in {"accepted", "proposed"} and any(map(_SUPERSEDED.match, said[1:])):
        return "superseded"
    return word if word in _STATUSES else " ".join(said[0].split())[:100]


def _bare(text: str) -> str:
    return re.sub(r"\[([^\[\]]{0,200})\]\([^()]{0,500}\)", r"\1", text).strip("*_ \t")


def _value(stated: dict[str, LinkStatement], name: str) -> str | None:
    return stated[name].text.strip("*_ ") or None if name in stated else None


def _deciders(
    parts: Parts, stated: dict[str, LinkStatement], problems: Problems
) -> tuple[str, ...]:
    keys = ("deciders", "decision-makers", "decision_makers")
    found = fields.words(parts, keys, problems)
    if found or "deciders" not in stated:
        return found
    names = (name.strip("[]{}*_ ") for name in re.split(r"[,;]", stated["deciders"].text))
    return tuple(name for name in names if name)


def _summary(shape: Outline) -> str:
    for names in (_CONTEXT, _OUTCOME):
        for section in shape.sections(names):
            found = inference.summary([shape.lines[index] for index in section])
            if found:
                return found
    return ""
