"""The lines of a body that are prose, and the headings among them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_ATX = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<text>.*))?$")
_SETEXT = re.compile(r" {0,3}(?P<marks>=+|-{2,})[ \t]*$")
_MARKS = ("=", "-")
_NOT_A_TITLE = re.compile(r"\s*(?:[-*+>|<]|\d+[.)] |$)")
_LONGEST_NAME = 80
_LINE_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: the index of its line, its level from 1 to 6 and its text."""

    index: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Outline:
    """A body's lines with code blocks and comments blanked out, and its headings in order."""

    lines: tuple[str, ...]
    headings: tuple[Heading, ...]

    def sections(self, names: Iterable[str]) -> list[range]:
        """Return the line indexes below each heading that has one of the (lower-case) names."""
        wanted = frozenset(names)
        return [
            range(heading.index + 1, self._end(position))
            for position, heading in enumerate(self.headings)
            if _bare_name(heading.text) in wanted
        ]

    def preamble(self) -> range:
        """Return the line indexes from the top to the second heading."""
        end = self.headings[1].index if len(self.headings) > 1 else len(self.lines)
        return range(end)

    def _end(self, position: int) -> int:
        level = self.headings[position].level
        later = (self.headings[number] for number in range(position + 1, len(self.headings)))
        following = (heading.index for heading in later if heading.level <= level)
        return next(following, len(self.lines))


def outline(body: str) -> Outline:
    """Return the prose lines and headings of a Markdown body."""
    written = _LINE_BREAK.split(body) if "\r" in body else body.split("\n")
    has_code = "```" in body or "~~~" in body
    lines = _without_comments(_without_code(written) if has_code else written)
    return Outline(tuple(lines), tuple(_headings(lines)))


def _without_code(lines: list[str]) -> list[str]:
    kept: list[str] = []
    mark = ""
    for line in lines:
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if mark:
            if fence and fence["mark"].startswith(mark) and not fence["info"].strip():
                mark = ""
            kept.append("")
        elif fence and not (fence["mark"][0] == "`" and "`" in fence["info"]):
            mark = fence["mark"]
            kept.append("")
        else:
            kept.append(line)
    return kept


def _without_comments(lines: list[str]) -> list[str]:
    text = "\n".join(lines)
    if "<!--" not in text:
        return lines
    pieces: list[str] = []
    position = 0
    while (start := text.find("<!--", position)) >= 0:
        end = text.find("-->", start)
        if end < 0:
            break
        pieces += [text[position:start], "\n" * text.count("\n", start, end)]
        position = end + 3
    return "".join([*pieces, text[position:]]).split("\n")


def _headings(lines: list[str]) -> Iterable[Heading]:
    before = ""
    for index, line in enumerate(lines):
        atx = _ATX.match(line) if "#" in line[:4] else None
        if atx:
            text = re.sub(r"(?:^|[ \t])#+$", "", (atx["text"] or "").rstrip()).strip()
            yield Heading(index, len(atx["marks"]), text)
            before = ""
            continue
        setext = _SETEXT.match(line) if before and line[:4].lstrip()[:1] in _MARKS else None
        if setext and not _NOT_A_TITLE.match(before):
            yield Heading(index, 1 if setext["marks"][0] == "=" else 2, before.strip())
        before = line if not setext else ""


def _bare_name(text: str) -> str:
    """Return a heading without numbering, emphasis, symbols and case."""
    if len(text) > _LONGEST_NAME:
        return ""
    bare = re.sub(r"^[\W\d_]+|[\W_]+$", "", text)
    return re.sub(r"\s+", " ", bare).lower()
