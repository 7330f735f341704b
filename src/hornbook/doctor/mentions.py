"""What a rule's text mentions: names in backticks, links, and command lines, each with its line.

Only what is marked as code or as a link is taken: in plain prose nobody can tell a path from words.
The words around a mention come along, because they say whether it is a claim at all ("create
`a.py`", "for example `a.py`").
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hornbook.rules.chunks.outline import outline

_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(
    r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]"
    r"\(\s*(<[^<>]*>|[^()\s]+(?:\([^()\s]*\)[^()\s]*)*)(?:\s+[\"'(].*?)?\s*\)"
)
_DEFINED = re.compile(r" {0,3}\[[^\]]+\]:\s+(<[^<>]+>|\S+)")
_FENCE = re.compile(
    r"(?P<before>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)"
    r"(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$"
)
_SHELLS = frozenset(
    ("bash", "sh", "shell", "zsh", "console", "shell-session", "shellscript", "terminal", "fish")
)
_PROMPT = re.compile(r"^\s*(?:[$%>]|[\w.@~/-]*[$#])\s+(?=\S)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s|\s{2,}\S|\s*\|")
_STARTS = re.compile(r"\s*(?:[-*+]\s|\d{1,9}[.)]\s|[|#>])")
"""What begins a paragraph, so that the line above is none of its sentences."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[])")


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a rule: what stands there, on which line, in which words, below which heading.

    `lead` is the line that introduces the list in which it stands ("This generates:").
    """

    text: str
    line: int
    around: str
    heading: str
    lead: str = ""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command as it stands in a code block or in backticks; `before` ran in the same block."""

    text: str
    line: int
    around: str
    heading: str
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mentions:
    """All that one rule mentions."""

    spans: tuple[Mention, ...]
    links: tuple[Mention, ...]
    commands: tuple[CommandLine, ...]
    prose: tuple[Mention, ...]
    """Every line outside code, with its heading."""


def mentions(body: str, first_line: int) -> Mentions:
    """What a Markdown body mentions; its first line is `first_line` of the file."""
    shape = outline(body)
    headings = _heading_of_each_line(
        shape.lines, [(h.index, h.level, h.text) for h in shape.headings]
    )
    spans: list[Mention] = []
    links: list[Mention] = []
    prose: list[Mention] = []
    lead, begun = "", ""
    for index, line in enumerate(shape.lines):
        if not line or line.isspace():
            begun = ""
            continue
        number, heading = first_line + index, headings[index]
        item = _ITEM.match(line) is not None
        lead = lead if item else line if line.rstrip(" *_").endswith(":") else ""
        prose.append(Mention(line, number, line, heading))
        if "`" in line:
            spans += _spans(line, number, heading, lead if item else "", begun)
        if "](" in line or "]:" in line:
            links += _links(line, number, heading)
        begun = _unfinished(line, begun)
    commands = [
        CommandLine(e.text.strip(), e.line, e.around, e.heading)
        for e in spans
        if " " in e.text.strip()
    ]
    commands += _in_blocks(body, first_line, headings)
    return Mentions(tuple(spans), tuple(links), tuple(commands), tuple(prose))


def _heading_of_each_line(
    lines: tuple[str, ...], headings: list[tuple[int, int, str]]
) -> list[str]:
    """For each line the headings above it, the outer ones first."""
    found: list[str] = []
    stack: list[tuple[int, str]] = []
    pending = iter([*headings, (len(lines) + 1, 0, "")])
    upcoming = next(pending)
    for index in range(len(lines)):
        if index == upcoming[0]:
            stack = [each for each in stack if each[0] < upcoming[1]]
            stack.append(upcoming[1:])
            upcoming = next(pending)
        found.append(" > ".join(text for _, text in stack))
    return found


def _spans(line: str, number: int, heading: str, lead: str, begun: str) -> Iterator[Mention]:
    begun = "" if _STARTS.match(line) else begun
    for match in _SPAN.finditer(line):
        sentence = _sentence(line, match.start())
        around = f"{begun} {sentence}" if begun and line.startswith(sentence) else sentence
        yield Mention(match[2], number, around, heading, lead)


def _unfinished(line: str, begun: str) -> str:
    """The sentence that goes on behind this line; empty where it ends with the line."""
    if line.rstrip(" *_")[-1:] in {".", "!", "?", ":", "|", ""} or line.startswith("#"):
        return ""
    begun = "" if _STARTS.match(line) else begun
    sentence = _sentence(line, len(line))
    return f"{begun} {sentence}" if begun and line.startswith(sentence) else sentence


def _sentence(line: str, position: int) -> str:
    """The sentence of a line that holds a position; a short line is one."""
    start = 0
    for match in _SENTENCE.finditer(line):
        if match.start() >= position:
            return line[start : match.start()]
        start = match.end()
    return line[start:]


def _links(line: str, number: int, heading: str) -> Iterator[Mention]:
    bare = _SPAN.sub(lambda span: " " * len(span[0]), line) if "`" in line else line
    for match in _LINK.finditer(line):
        # A link inside of backticks shows how one is written.
        if bare[match.start(3) : match.end(3)] == match[3]:
            yield Mention(match[3].strip("<>"), number, _sentence(line, match.start()), heading)
    defined = _DEFINED.match(bare)
    if defined:
        yield Mention(defined[1].strip("<>"), number, line, heading)


def _in_blocks(body: str, first_line: int, headings: list[str]) -> Iterator[CommandLine]:
    if "```" not in body and "~~~" not in body:
        return
    mark, shell, before = "", False, list[str]()
    lead = ""
    for index, line in enumerate(body.split("\n")):
        fence = _FENCE.match(line.rstrip("\r"))
        if mark:
            if fence and fence["mark"].startswith(mark) and not fence["info"].strip():
                mark = ""
            elif shell and (text := _command(line)):
                heading = headings[index] if index < len(headings) else ""
                yield CommandLine(
                    text, first_line + index, f"{lead} {line}", heading, tuple(before)
                )
                before.append(text)
        elif fence:
            mark = fence["mark"]
            shell = fence["info"].strip().lower().partition(" ")[0].partition("{")[0] in _SHELLS
            before = []
        elif line.strip():
            lead = line.strip()


def _command(line: str) -> str:
    """A line of a shell block without prompt and comment."""
    text = _PROMPT.sub("", line).strip()
    if text.startswith("#"):
        return ""
    return re.split(r"\s#\s", text)[0].strip()
