"""A rule as text for a reviewer: header, summary, requirements, then the whole body."""

from collections.abc import Sequence

from hornbook.model import Activation, Document, Pattern


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
