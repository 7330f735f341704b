"""A file taken apart, byte for byte: what stands before the body, and the metadata in it.

Metadata that are no valid YAML are read line by line, with a problem that names the line.
"""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from frontmatter import detect_format
from frontmatter.default_handlers import BaseHandler

from hornbook.rules.document import Problem, Problems
from hornbook.rules.metadata.block import (
    LARGEST,
    TOML_BLOCKS,
    YAML_BLOCKS,
    Block,
    NotMapping,
    UnreadableBlock,
    load_toml,
    load_yaml,
)
from hornbook.rules.metadata.keys import KNOWN_KEYS
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


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""What a file in UTF-16 starts with."""


_LOOKED_AT = 1024


def decode(data: bytes, problems: Problems) -> str:
    """Return the text of `data`; bytes that are not UTF-8 are replaced and reported."""
    if data.startswith(UTF_16):
        problems.error(1, "not_utf8", "The file is UTF-16: save it as UTF-8.")
        return data.decode("utf-16", errors="replace")
    start = data[:_LOOKED_AT]
    if start.count(0) * 4 > len(start):
        problems.error(1, "not_utf8", "Every other byte is 0, as in UTF-16: save it as UTF-8.")
        return data.decode("utf-8", errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.error(
            line,
            "invalid_utf8",
            f"Byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8: "
            "save the file as UTF-8.",
        )
        return data.decode("utf-8", errors="replace")


BOM = "\ufeff"
_MARKDOWN = re.compile(r"^(?:#{1,6} +\S.*|[ \t]*)$", re.MULTILINE)
_WORDS = re.compile(r"\b[^\W\d_]{2,40}[ ,;.*_`]{1,5}[^\W\d_]{2}")
_FIRST_LINE = 2
"""The file line on which a block's own text starts."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A file as `head` (BOM and frontmatter) and `body`, which together are its whole text.

    `lines` and `item_lines` give file lines of top-level keys and of the items of their lists,
    `raw` the values as written. Where `readable` is false there is metadata that was not
    understood, so nothing may be concluded from its absence.
    """

    path: str
    head: str
    body: str
    metadata: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    lines: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    item_lines: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    raw: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    problems: tuple[Problem, ...] = ()
    readable: bool = True

    @property
    def body_line(self) -> int:
        """The file line on which the body starts."""
        return len(re.findall(r"\r\n|\n|\r", self.head)) + 1


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What a fenced block turned out to be; without a block it belongs to the body."""

    block: Block | None
    readable: bool = True


def split(data: bytes, path: str) -> Parts:
    """Return the parts of the file `data`; never raises, whatever the bytes.

    A fenced block that is not metadata (prose between two rules, a list, an unclosed or
    unreadable block) stays in the body, so that no text is lost.
    """
    problems = Problems(path)
    text = decode(data, problems)
    undecodable = bool(problems.told())
    if undecodable and data.startswith(UTF_16):
        return Parts(path, "", text, problems=problems.told(), readable=False)
    start = 1 if text.startswith(BOM) else 0
    fenced = text[start:]
    handler = detect_format(fenced, (YAML_BLOCKS, TOML_BLOCKS))
    if handler is None:
        late = _starts_late(text, start, problems)
        return Parts(path, text[:start], fenced, problems=problems.told(), readable=not late)
    try:
        inner, body = handler.split(fenced)
        closed = True
    except ValueError:
        inner, body, closed = _behind_fence(handler, fenced)[:LARGEST], "", False
    verdict = _judge(str(handler.START_DELIMITER), _line_feeds(inner), closed, problems)
    block = verdict.block
    if block is None:
        return Parts(
            path, text[:start], fenced, problems=problems.told(), readable=verdict.readable
        )
    _tell_repeated(block, problems)
    return Parts(
        path,
        head=text[: len(text) - len(body)],
        body=body,
        metadata=block.values,
        lines={key: _file_line(line) for key, line in block.lines.items()},
        item_lines={key: tuple(map(_file_line, rows)) for key, rows in block.item_lines.items()},
        raw=block.raw,
        problems=problems.told(),
        readable=not (undecodable and "\ufffd" in inner),
    )


def _behind_fence(handler: BaseHandler, text: str) -> str:
    """What follows the fence that a text begins with."""
    found = handler.FM_BOUNDARY.match(text) if handler.FM_BOUNDARY else None
    return text[found.end() :] if found else text


def _judge(fence: str, inner: str, closed: bool, problems: Problems) -> _Verdict:
    looks_like_keys = _starts_with_key(inner, fence)
    if not closed:
        if looks_like_keys:
            remedy = f"close it with a line `{fence}`"
            problems.error(1, "frontmatter_unclosed", f"The frontmatter has no end: {remedy}.")
        return _Verdict(None, readable=not looks_like_keys)
    if len(inner) > LARGEST:
        return _too_large(inner, looks_like_keys, problems)
    if fence == "+++":
        return _judge_toml(inner, problems)
    return _judge_yaml(inner, problems)


def _judge_toml(inner: str, problems: Problems) -> _Verdict:
    try:
        return _Verdict(load_toml(inner))
    except UnreadableBlock as error:
        line = _file_line(error.line)
        problems.error(line, "toml_invalid", f"The frontmatter is not TOML: {error.reason}.")
        return _Verdict(None, readable=False)


def _judge_yaml(inner: str, problems: Problems) -> _Verdict:
    try:
        block = load_yaml(inner)
    except NotMapping:
        block = read_lenient(inner)
        if KNOWN_KEYS.isdisjoint(block.values) or block.ignored:
            return _prose(problems)
        failure = UnreadableBlock(1, "there is no blank after a colon")
        return _lenient(block, inner, failure, problems)
    except UnreadableBlock as failure:
        return _lenient(read_lenient(inner), inner, failure, problems)
    if not block.values and not inner.strip():
        return _Verdict(block)
    return _prose(problems) if _is_prose(block, inner) else _Verdict(block)


def _lenient(block: Block, inner: str, failure: UnreadableBlock, problems: Problems) -> _Verdict:
    line = _file_line(failure.line)
    if not block.values and not _WORDS.search(inner):
        message = f"The frontmatter cannot be read ({failure.reason}): write `key: value` lines."
        problems.error(line, "frontmatter_unreadable", message)
        return _Verdict(None, readable=False)
    if _is_prose(block, inner):
        return _prose(problems)
    message = f"The frontmatter is not valid YAML ({failure.reason})"
    remedy = _remedy(inner, failure.line)
    problems.warning(line, "frontmatter_lenient", f"{message}; it was read line by line: {remedy}.")
    for ignored in map(_file_line, block.ignored):
        remedy = "write `key: value`, or indent it to continue the line above"
        problems.warning(ignored, "line_ignored", f"This line belongs to no key: {remedy}.")
    return _Verdict(block)


def _prose(problems: Problems) -> _Verdict:
    remedy = "for metadata write `key: value` lines, for a rule leave a blank line before it"
    message = "The block between the first two `---` holds no keys and was read as text"
    problems.warning(1, "frontmatter_not_mapping", f"{message}: {remedy}.")
    return _Verdict(None)


def _too_large(inner: str, looks_like_keys: bool, problems: Problems) -> _Verdict:
    if not looks_like_keys:
        return _prose(problems)
    message = f"The frontmatter has {len(inner)} characters, {LARGEST} are allowed"
    problems.error(1, "frontmatter_too_large", f"{message}: move text into the body.")
    return _Verdict(None, readable=False)


def _is_prose(block: Block, inner: str) -> bool:
    """Whether a block with no key that any format knows looks like a section of text."""
    if not KNOWN_KEYS.isdisjoint(block.values):
        return False
    if not block.values or len(block.ignored) >= len(block.values):
        return True
    return _MARKDOWN.search(inner.rstrip("\n")) is not None


def _starts_with_key(inner: str, fence: str) -> bool:
    for line in inner.split("\n", 20)[:20]:
        if line.strip() and not line.startswith("#"):
            return (
                is_key_line(line)
                if fence == "---"
                else re.match(r"[\w\"'.-]+ *=|\[", line) is not None
            )
    return False


def _starts_late(text: str, start: int, problems: Problems) -> bool:
    """Whether blank lines keep a block from being frontmatter; if so, that is told."""
    if not text[start : start + 1].isspace():
        return False
    rest = text[start:].lstrip()
    if not YAML_BLOCKS.detect(rest):
        return False
    first = re.match(r"[\w-]+(?=[ \t]*:)", _behind_fence(YAML_BLOCKS, rest))
    if first is None or first[0] not in KNOWN_KEYS:
        return False
    line = text[: len(text) - len(rest)].count("\n") + 1
    remedy = "remove what stands before it"
    message = f"Frontmatter must start on the first line and was not read: {remedy}."
    problems.error(line, "frontmatter_late", message)
    return True


def _remedy(inner: str, line: int) -> str:
    rows = inner.split("\n")
    row = rows[line - 1].strip() if line <= len(rows) else ""
    lead, value = re.match(r"(-[ \t]+|[\w .-]+:[ \t]*)?(.*)", row).groups(default="")  # type: ignore[union-attr]  # every part of the pattern may be empty, so it always matches
    if lead and value and value[0] not in "\"'[":
        return f'quote the value: `{lead.strip()} "{value}"`'
    return "quote values that hold `*`, `{`, `[`, `!`, `#` or `: `"


def _tell_repeated(block: Block, problems: Problems) -> None:
    for again in block.repeated:
        first, last = _file_line(again.first), _file_line(again.last)
        problems.warning(
            last,
            "duplicate_key",
            f"`{again.key}` stands on lines {first} and {last}; "
            f"the value on line {last} is used: remove one.",
        )


def _file_line(line: int) -> int:
    return line + _FIRST_LINE - 1


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
