"""A reading put together: what the metadata states, and for the rest what the body shows."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from hornbook.rules import inference as infer
from hornbook.rules.chunks.outline import Outline, outline
from hornbook.rules.document import DecisionFacts, Link, Problems
from hornbook.rules.ids import declared_id
from hornbook.rules.metadata import fields
from hornbook.rules.metadata.frontmatter import Parts
from hornbook.rules.readers.protocol import ReadBinding, Reading, SourceFile
from hornbook.vocabulary.terms import ENFORCED, Category, Scope, Severity

_PLAIN_TEXT = frozenset({".txt", ".rst"})


@dataclass(frozen=True, slots=True)
class Frame:
    """What a reader decides about a file from its format and place."""

    tool: str
    desired_id: str
    binding: ReadBinding
    category: Category | None = None
    category_stated: bool = False
    title: str | None = None
    summary: str | None = None
    decision: DecisionFacts | None = None
    links: tuple[Link, ...] = ()
    own: bool = False
    """Whether the file is in our own format, so that all its values are meant for us."""


def compose(
    file: SourceFile, frame: Frame, problems: Problems, shape: Outline | None = None
) -> Reading:
    """Return the reading of a file; `problems` collects what is wrong with its values."""
    parts = file.parts
    shape = shape or outline(parts.body)
    stated = _stated(parts, problems)
    inferred = _inferred(file.path, frame, shape, stated)
    category, category_stated = _category(parts, frame)
    if not category_stated:
        inferred["category"] = category.value
    severity = fields.term(parts, "severity", Severity.ERROR, problems)
    if severity is None:
        severity = infer.severity(shape) or Severity.WARNING
        inferred["severity"] = severity.value
    requirements = fields.sentences(parts, "requirements", problems)
    if not requirements and (requirements := infer.requirements(shape)):
        inferred["requirements"] = ""
    return Reading(
        path=parts.path,
        tool=frame.tool,
        desired_id=_desired_id(parts, frame, problems),
        title=stated.get("title") or inferred["title"],
        category=category,
        activation=frame.binding.activation,
        severity=severity,
        scope=_scope(parts, frame, problems),
        mime_type=mime_type(file.path),
        head=parts.head,
        body=parts.body,
        body_line=parts.body_line,
        patterns=frame.binding.patterns,
        summary=stated.get("summary") or inferred.get("summary", ""),
        requirements=requirements,
        domains=fields.words(parts, ("domain", "domains"), problems),
        related_domains=fields.words(parts, ("related_domains",), problems),
        keywords=fields.words(parts, ("keywords", "tags"), problems),
        authority=fields.text(parts, "authority", problems),
        added_by=fields.text(parts, "added_by", problems),
        added_at=_added_at(parts, frame, problems),
        project=fields.text(parts, "project", problems),
        inferred=tuple(sorted(inferred)),
        decision=frame.decision,
        links=frame.links,
        problems=problems.told(),
    )


def mime_type(path: PurePosixPath) -> str:
    """Return the media type of a document by its name."""
    return "text/plain" if path.suffix.lower() in _PLAIN_TEXT else "text/markdown"


def _stated(parts: Parts, problems: Problems) -> dict[str, str]:
    title = fields.first_text(parts, ("title", "name"), problems)
    summary = fields.first_text(parts, ("summary", "description"), problems)
    found = {"title": title, "summary": summary}
    return {field: " ".join(value.split()) for field, value in found.items() if value}


def _inferred(
    path: PurePosixPath, frame: Frame, shape: Outline, stated: dict[str, str]
) -> dict[str, str]:
    found: dict[str, str] = {}
    if "title" not in stated:
        found["title"] = frame.title or infer.title(shape, path)
    if "summary" not in stated:
        summary = infer.summary(shape.lines) if frame.summary is None else frame.summary
        found |= {"summary": summary} if summary else {}
    return found


def _category(parts: Parts, frame: Frame) -> tuple[Category, bool]:
    if frame.category is not None:
        return frame.category, frame.category_stated
    written = parts.metadata.get("category")
    if isinstance(written, str) and written.lower() in set(Category):
        return Category(written.lower()), True
    binds = frame.binding.activation in ENFORCED
    return (Category.SOP if binds else Category.REFERENCE), False


def _desired_id(parts: Parts, frame: Frame, problems: Problems) -> str:
    declared = fields.text(parts, "id", problems)
    if declared is None:
        return frame.desired_id
    found = declared_id(declared, frame.desired_id)
    if found is None:
        message = f"`id: {declared}` is no id; `{frame.desired_id}` is used"
        remedy = "write one word, or `source.doc.<family>.<name>` in lower case"
        problems.warning(parts.lines.get("id"), "bad_id", f"{message}: {remedy}.")
    return found or frame.desired_id


def _scope(parts: Parts, frame: Frame, problems: Problems) -> Scope:
    if frame.own:
        return fields.term(parts, "scope", Scope.ALL, problems) or Scope.CODE
    written = parts.metadata.get("scope")
    known = isinstance(written, str) and written in set(Scope)
    return Scope(str(written)) if known else Scope.CODE


def _added_at(parts: Parts, frame: Frame, problems: Problems) -> str | None:
    keys = ("added_at",) if frame.decision else ("added_at", "date")
    return fields.first_text(parts, keys, problems)
