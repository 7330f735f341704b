"""A rule as text for a reviewer: header, summary, requirements, then the whole body."""

import re
from collections.abc import Sequence

from hornbook.rules.code.file import CodeFile
from hornbook.rules.document import Document, Pattern
from hornbook.vocabulary.terms import Activation


def header(document: Document) -> str:
    """The lines above the body: identity, severity, reach, summary, requirements."""
    lines = [
        f"## {document.title}",
        "",
        f"- SOP: {document.id}",
        f"- Severity: {document.severity}",
        f"- Applies to: {reach(document.activation, document.patterns)}",
        f"- Source: {document.path} ({document.revision.rpartition('.')[2]})",
    ]
    if document.summary:
        lines.append(f"- Summary: {document.summary}")
    if document.requirements:
        lines += ["", "Requirements:"]
        lines += [f"{number}. {text}" for number, text in enumerate(document.requirements, 1)]
    return "\n".join([*lines, "", ""])


def reach(activation: Activation, patterns: Sequence[Pattern]) -> str:
    """Which files a rule binds, in words."""
    if activation is Activation.ALWAYS:
        return "every file"
    return ", ".join(f"`{pattern.glob}`" for pattern in patterns) or "no file"


def render(document: Document) -> str:
    """The whole rule as a reviewer gets it; nothing of the body is left out."""
    return header(document) + document.body


INDENT = "    "

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BACKTICKS = re.compile(r"`+")


def render_summary(file: CodeFile) -> str:
    """The file's heading, what is wrong with it, and its signatures with their line numbers."""
    title = f"### {_visible(file.path)}"
    lines = [f"{title} ({file.language})" if file.language else title, ""]
    if file.problem:
        lines += [f"Problem: {file.problem}.", ""]
    if file.signatures:
        lines += _block(file)
    elif not file.problem:
        lines.append("No signatures." if file.language else "No signatures: unknown language.")
    return "\n".join(lines).rstrip("\n") + "\n"


def _block(file: CodeFile) -> list[str]:
    body = [f"{each.line}: {INDENT * each.depth}{_visible(each.text)}" for each in file.signatures]
    longest = max((len(run) for line in body for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + file.language, *body, fence]


def _visible(text: str) -> str:
    """The text on one line: a path or a literal must not be able to end the block."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
