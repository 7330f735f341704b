"""A rule as text for a reviewer: header, summary, requirements, then the whole body."""

import json
import re
from collections.abc import Sequence

from hornbook.rules.code.file import CodeFile
from hornbook.rules.document import Document, Pattern
from hornbook.text.visible import visible
from hornbook.vocabulary.terms import Activation


def header(document: Document) -> str:
    """The lines above the body: identity, severity, reach, summary, requirements."""
    lines = [
        f"## {document.title}",
        "",
        f"- SOP: {document.id}",
        f"- Severity: {told_severity(document.severity, 'severity' in document.inferred)}",
        f"- Applies to: {reach(document.activation, document.patterns)}",
        f"- Source: {document.path} ({document.revision.rpartition('.')[2]})",
    ]
    if document.summary:
        lines.append(f"- Summary: {document.summary}")
    if document.requirements:
        lines += ["", "Requirements:"]
        lines += [f"{number}. {text}" for number, text in enumerate(document.requirements, 1)]
    return "\n".join([*lines, "", ""])


def told_severity(severity: str, inferred: bool) -> str:
    """A severity in words; one that nobody wrote down says so."""
    return f"{severity} (inferred)" if inferred else str(severity)


def reach(activation: Activation, patterns: Sequence[Pattern]) -> str:
    """Which files a rule binds, in words."""
    if activation is Activation.ALWAYS:
        return "every file"
    return ", ".join(map(_shown, patterns)) or "no file"


def _shown(pattern: Pattern) -> str:
    """A pattern as it stands in the file, and in our dialect where that differs."""
    read_as = "" if pattern.glob == pattern.raw else f" (read as `{pattern.glob}`)"
    return f"`{pattern.raw}`{read_as}"


def render(document: Document) -> str:
    """The whole rule as a reviewer gets it; nothing of the body is left out."""
    return header(document) + document.body


INDENT = "    "

_BACKTICKS = re.compile(r"`+")


def render_summary(file: CodeFile) -> str:
    """The file's heading, what is wrong with it, and its signatures with their line numbers."""
    title = f"### {json.dumps(visible(file.path), ensure_ascii=False)}"
    lines = [f"{title} ({file.language})" if file.language else title, ""]
    if file.problem:
        lines += [f"Problem: {file.problem}.", ""]
    if file.signatures:
        lines += _block(file)
    elif not file.problem:
        lines.append("No signatures." if file.language else "No signatures: unknown language.")
    return "\n".join(lines).rstrip("\n") + "\n"


def _block(file: CodeFile) -> list[str]:
    body = [
        f"{each.line}: {INDENT * each.depth}{_on_one_line(each.text)}" for each in file.signatures
    ]
    longest = max((len(run) for line in body for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + file.language, *body, fence]


def _on_one_line(text: str) -> str:
    """The text on one line: a literal must not be able to end the block."""
    return visible(text).replace("\n", "\\n").replace("\r", "\\r")
