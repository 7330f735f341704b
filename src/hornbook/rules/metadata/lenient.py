"""Reads a metadata block line by line, for blocks that are not valid YAML but mean something."""

import re
from dataclasses import dataclass, field

from hornbook.rules.metadata.block import Block
from hornbook.text.globs import split_list

_KEY = re.compile(
    r"(?P<quote>[\"']?)(?P<key>[^\W\d][\w.-]*(?: [\w.-]+){0,2})(?P=quote)[ \t]*:(?!//)(?P<rest>.*)"
)
_ITEM = re.compile(r"[ \t]*-(?:[ \t]+(?P<item>.*))?$")
_QUOTED = re.compile(r"(?P<quote>[\"'])(?P<text>.*?)(?P=quote)(?:[ \t]+#.*)?$")
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*")
_TEXT_BLOCK = re.compile(r"[|>][-+0-9]*$")


@dataclass(slots=True)
class _Open:
    """The key whose value is being read: the lines that belong to it."""

    key: str
    rest: str
    more: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    item_lines: list[int] = field(default_factory=list)

    @property
    def in_brackets(self) -> bool:
        return self.rest.startswith("[") and not (self.more or [self.rest])[-1].endswith("]")

    @property
    def in_text(self) -> bool:
        return _TEXT_BLOCK.match(self.rest) is not None


def is_key_line(line: str) -> bool:
    """Whether a line starts a key at the left margin."""
    return _KEY.match(line) is not None


def read_lenient(text: str) -> Block:
    """Return what can be read of `text` line by line; its first line counts as line 1.

    `key: rest` keeps the rest as written, less one pair of quotes or a comment; `[a, b]` and
    `- item` lines are lists; indented lines continue. Never raises; lines that are none of
    these are in `ignored`.
    """
    block = Block()
    current: _Open | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.rstrip()  # noqa: PLW2901 - blanks at a line's end mean nothing
        if current is not None and _continues(current, line, number):
            continue
        found = _KEY.match(line)
        if found:
            _close(block, current)
            current = _Open(found["key"], found["rest"].strip())
            block.open(current.key, number)
        elif line and not line.startswith("#"):
            block.ignored.append(number)
    _close(block, current)
    return block


def _continues(current: _Open, line: str, number: int) -> bool:
    """Whether a line belongs to the open key; if so, it is added to it."""
    if current.in_text:
        if line and not line[0].isspace():
            return False
        current.more.append(line.strip())
        return True
    if not line or line.lstrip().startswith("#"):
        return True
    item = _ITEM.match(line)
    if item and not current.rest and not current.more:
        current.items.append((item["item"] or "").strip())
        current.item_lines.append(number)
        return True
    if line[0].isspace() or (current.in_brackets and not is_key_line(line)):
        _append(current, line.strip())
        return True
    return False


def _append(current: _Open, text: str) -> None:
    if current.items:
        current.items[-1] = f"{current.items[-1]} {text}".strip()
    else:
        current.more.append(_bare(text) if current.in_brackets else text)


def _close(block: Block, current: _Open | None) -> None:
    if current is None:
        return
    if current.items:
        block.values[current.key] = [_scalar(item) for item in current.items]
        block.item_lines[current.key] = tuple(current.item_lines)
        block.raw[current.key] = "\n".join(f"- {item}" for item in current.items)
        return
    if current.in_text:
        glue = "\n" if current.rest[0] == "|" else " "
        block.values[current.key] = block.raw[current.key] = glue.join(current.more).strip()
        return
    whole = " ".join([current.rest, *current.more]).strip()
    block.raw[current.key] = whole
    block.values[current.key] = _value(whole)


def _value(text: str) -> object:
    bare = _bare(text)
    if bare.startswith("[") and bare.endswith("]"):
        return [_scalar(item) for item in split_list(bare[1:-1]) if item]
    return _scalar(text)


def _scalar(text: str) -> object:
    quoted = _QUOTED.match(text)
    if quoted:
        return quoted["text"]
    bare = _bare(text)
    if bare.lower() in {"true", "false"}:
        return bare.lower() == "true"
    return None if bare in {"", "~", "null"} else bare


def _bare(text: str) -> str:
    return _COMMENT.sub("", text).rstrip()
