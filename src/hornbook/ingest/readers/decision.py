"""Decision records as Nygard, MADR and log4brains write them."""

import re
from collections.abc import Iterator

from hornbook.ingest import infer
from hornbook.ingest.frontmatter import Parts
from hornbook.ingest.identity import document_id
from hornbook.ingest.outline import Outline, outline
from hornbook.ingest.problems import Problems
from hornbook.ingest.readers import fields
from hornbook.ingest.readers.binding import own_binding
from hornbook.ingest.readers.compose import Frame, compose
from hornbook.ingest.readers.decision_links import Statement, find_links
from hornbook.ingest.readers.misspelt import tell_misspelt
from hornbook.ingest.readers.protocol import Reading, SourceFile
from hornbook.model import Category, DecisionFacts

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
        desired_id=document_id(Category.DECISION, None, (), infer.stem(file.path)),
        binding=own_binding(parts, Category.DECISION, problems),
        category=Category.DECISION,
        category_stated=category_stated,
        title=_NUMBERED.sub("", infer.title(shape, file.path), count=1),
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


def _facts(shape: Outline, first_line: int) -> Iterator[tuple[str, Statement]]:
    """Yield what the lines below the title state, such as `Date: …`, by lower-case name."""
    for index in reversed(shape.preamble()):
        found = _FACT.match(shape.lines[index])
        if found and found["value"].strip():
            name = found["name"].lower().replace(" ", "-")
            name = "deciders" if name.startswith("deci") else name
            yield name, Statement(found["value"].strip(), first_line + index)


def _status_statements(
    parts: Parts, shape: Outline, stated: dict[str, Statement]
) -> Iterator[Statement]:
    written = parts.metadata.get("status")
    if written is not None and not isinstance(written, list | dict):
        yield Statement(str(written), parts.lines.get("status"))
    if "status" in stated:
        yield stated["status"]
    for section in shape.sections({"status"}):
        for index in section:
            text = shape.lines[index].strip().lstrip("-*+ ")
            if text and not text.startswith(("#", "~~")):
                yield Statement(text, parts.body_line + index)


def _status(statements: list[Statement], problems: Problems) -> str:
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


def _value(stated: dict[str, Statement], name: str) -> str | None:
    return stated[name].text.strip("*_ ") or None if name in stated else None


def _deciders(parts: Parts, stated: dict[str, Statement], problems: Problems) -> tuple[str, ...]:
    keys = ("deciders", "decision-makers", "decision_makers")
    found = fields.words(parts, keys, problems)
    if found or "deciders" not in stated:
        return found
    names = (name.strip("[]{}*_ ") for name in re.split(r"[,;]", stated["deciders"].text))
    return tuple(name for name in names if name)


def _summary(shape: Outline) -> str:
    for names in (_CONTEXT, _OUTCOME):
        for section in shape.sections(names):
            found = infer.summary([shape.lines[index] for index in section])
            if found:
                return found
    return ""
