"""What a document does not state itself, told from its body; the same text, the same answer."""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from hornbook.rules.chunks.outline import Outline
from hornbook.rules.ids import stem
from hornbook.vocabulary.terms import Severity

REQUIREMENT_SECTIONS = frozenset({"requirements", "requirement", "rules", "rule", "checklist"})
LONGEST_SUMMARY = 300

_STRENGTH = (
    (Severity.ERROR, ("MUST", "SHALL", "REQUIRED", "NEVER")),
    (Severity.WARNING, ("SHOULD", "RECOMMENDED")),
    (Severity.INFO, ("MAY", "OPTIONAL")),
)
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?P<text>.*)")
_BOX = re.compile(r"\[[ xX]\][ \t]+")
_NOT_PROSE = re.compile(
    r"\s*(?:[#>|<]|[-*+][ \t]|\d{1,9}[.)][ \t]|!?\[!?\[|!\[|(?:[-*_=][ \t]*){3,}$)|\t| {4}"
)
_ENDS_PARAGRAPH = re.compile(r" {0,3}(?:#{1,6}(?:\s|$)|(?:=+|-{2,})?[ \t]*$)")
_UNDERLINES = ("=", "--")
_STATED = re.compile(r"\s*[*_]*[A-Z][\w ]{0,20}[*_]*:[*_]*[ \t]+\S.{0,60}$")


def title(outline: Outline, path: PurePosixPath) -> str:
    """Return the first heading's text, else the file's name in words."""
    for heading in outline.headings:
        if heading.text:
            return heading.text
    words = re.sub(r"[-_.\s]+", " ", stem(path)).strip()
    return words[:1].upper() + words[1:]


def severity(outline: Outline) -> Severity | None:
    """Return what the strongest RFC 2119 word in capitals stands for, None without any."""
    text = "\n".join(outline.lines)
    for level, words in _STRENGTH:
        if any(word in text and re.search(rf"\b{word}\b", text) for word in words):
            return level
    return None


def summary(lines: Sequence[str]) -> str:
    """Return the first paragraph of prose as one line, cut at a sentence if it is long."""
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if _ENDS_PARAGRAPH.match(line):
            if not line.startswith(_UNDERLINES) and _is_prose(paragraph):
                return shorten(" ".join(paragraph))
            paragraph = []
        else:
            paragraph.append(line)
    return ""


def _is_prose(paragraph: list[str]) -> bool:
    """Whether lines are text, and neither a list or the like nor facts as `Date: 2024-01-31`."""
    if not paragraph or _NOT_PROSE.match(paragraph[0]):
        return False
    return not all(map(_STATED.match, paragraph))


def shorten(text: str) -> str:
    """Return the text as one line of at most 300 characters, ending at a sentence or a word."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_SUMMARY:
        return line
    start = line[:LONGEST_SUMMARY]
    sentence = max(start.rfind(end) for end in (". ", "! ", "? "))
    if sentence > LONGEST_SUMMARY // 4:
        return start[: sentence + 1]
    return start[:-1].rsplit(" ", 1)[0] + "…"


def requirements(outline: Outline) -> tuple[str, ...]:
    """Return the list items of the Requirements, Rules or Checklist sections, one line each."""
    found: dict[int, str] = {}
    for section in outline.sections(REQUIREMENT_SECTIONS):
        found.update(list_items((index, outline.lines[index]) for index in section))
    return tuple(found[index] for index in sorted(found))


def list_items(rows: Iterable[tuple[int, str]]) -> dict[int, str]:
    """Return each outermost list item, with all that is nested in it, by its line's index."""
    items: dict[int, list[list[str]]] = {}
    entries: list[list[str]] = []  # of the open item: its own lines, then those of each nested one
    margin = 0
    after_blank = False
    for index, row in rows:
        found = _ITEM.match(row)
        if found:
            indent, text = len(found["indent"].expandtabs(4)), _BOX.sub("", found["text"], count=1)
            if not entries or indent <= margin + 1:
                margin = indent
                entries = items[index] = []
            entries.append([text])
        elif entries and _ends_list(row, after_blank=after_blank):
            entries = []
        elif entries and row.strip():
            entries[-1].append(row)
        after_blank = not row.strip()
    joined = {index: _joined(entries) for index, entries in items.items()}
    return {index: text for index, text in joined.items() if text}


def _ends_list(row: str, *, after_blank: bool) -> bool:
    """Whether a line that is no item ends the list: a heading, or text at the margin."""
    return row.startswith("#") or (after_blank and bool(row.strip()) and not row[0].isspace())


def _joined(entries: list[list[str]]) -> str:
    first, *nested = (" ".join(" ".join(pieces).split()) for pieces in entries)
    if not nested:
        return first
    return f"{first} {'; '.join(nested)}" if first.endswith(":") else "; ".join([first, *nested])
