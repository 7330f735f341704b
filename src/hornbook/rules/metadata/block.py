"""A metadata block as values that know their lines."""

import json
import re
import tomllib
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any, NoReturn

import yaml
from frontmatter.default_handlers import BaseHandler, YAMLHandler

LARGEST = 64 * 1024
"""Characters; no real block comes near, and a larger one is prose or an attack."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A key that stands twice in a block; the value on line `last` is the one kept."""

    key: str
    first: int
    last: int


@dataclass(slots=True)
class Block:
    """The keys of a metadata block: values, text as written, file lines of keys and list items."""

    values: dict[str, object] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    item_lines: dict[str, tuple[int, ...]] = field(default_factory=dict)
    repeated: list[Repeated] = field(default_factory=list)
    ignored: list[int] = field(default_factory=list)

    def open(self, key: str, line: int) -> None:
        """Note that `key` begins on `line`, and whether it was there before."""
        if key in self.lines:
            self.repeated.append(Repeated(key, self.lines[key], line))
            self.item_lines.pop(key, None)
        self.lines[key] = line


class UnreadableBlock(Exception):
    """A strict reader gives up on a block: why, and on which file line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


class NotMapping(Exception):
    """A block parses, but holds something other than keys and values."""


DEEPEST = 16
"""Levels of nesting: libyaml's own composer recurses without a bound and overflows the stack."""

_TAG = "tag:yaml.org,2002:"
_SCALARS: tuple[tuple[str, str, str], ...] = (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", "~nN"),
    ("int", r"^[-+]?(?:0|[1-9][0-9]{0,17})$", "-+0123456789"),
    ("float", r"^[-+]?[0-9]{1,17}\.[0-9]{1,17}$", "-+0123456789"),
)


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    table: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for name, pattern, firsts in _SCALARS:
        for first in [*firsts, *([""] if name == "null" else [])]:
            table.setdefault(first, []).append((_TAG + name, re.compile(pattern)))
    return table


class BlockLoader(yaml.CSafeLoader):
    """Builds a block from parse events: no aliases, no tags, no dates, bounded depth.

    Only true, false, null and plain numbers are more than text, as in YAML 1.2.
    """

    yaml_implicit_resolvers = _resolvers()

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._rows = stream.split("\n")
        self._end: Any = None  # the mark where the value read last ends; PyYAML's have no types
        self._block = Block()

    def get_single_data(self) -> Block:
        """Return the one document of the stream; lines count from 1 within it.

        Raises:
            NotMapping: The document is a list or plain text.
            Unreadable: It uses YAML that metadata has no use for.
        """
        self.get_event()
        if self.check_event(yaml.StreamEndEvent):
            return self._block
        self.get_event()
        event = self.get_event()
        if not isinstance(event, yaml.MappingStartEvent):
            if isinstance(event, yaml.ScalarEvent) and self._scalar(event) is None:
                return self._block
            raise NotMapping
        while not self.check_event(yaml.MappingEndEvent):
            self._pair()
        self.get_event()
        self.get_event()
        if not self.check_event(yaml.StreamEndEvent):
            _refuse(self.get_event(), "a second YAML document starts here")
        return self._block

    def _pair(self) -> None:
        name = self._next()
        key = _key(name)
        self._block.open(key, name.start_mark.line + 1)
        start = self._peek()
        self._block.values[key] = self._value(1, key)
        self._block.raw[key] = self._text(start.start_mark, self._end)

    def _value(self, depth: int, owner: str | None) -> object:
        event = self._next()
        self._end = event.end_mark
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            _refuse(event, "anchors and aliases are not read here")
        if depth > DEEPEST:
            _refuse(event, f"values are nested more than {DEEPEST} deep")
        if event.tag is not None:
            _refuse(event, f"the tag {event.tag} is not read here")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(depth, owner)
        return self._mapping(depth)

    def _list(self, depth: int, owner: str | None) -> list[object]:
        items: list[object] = []
        lines: list[int] = []
        while not self.check_event(yaml.SequenceEndEvent):
            lines.append(self._peek().start_mark.line + 1)
            items.append(self._value(depth + 1, None))
        self._end = self._next().end_mark
        if owner is not None:
            self._block.item_lines[owner] = tuple(lines)
        return items

    def _mapping(self, depth: int) -> dict[str, object]:
        pairs: dict[str, object] = {}
        while not self.check_event(yaml.MappingEndEvent):
            key = _key(self._next())
            pairs[key] = self._value(depth + 1, None)
        self._end = self._next().end_mark
        return pairs

    def _scalar(self, event: Any) -> object:  # PyYAML's events carry no types
        if event.anchor is not None:
            _refuse(event, "anchors and aliases are not read here")
        text: str = event.value
        if event.tag is not None:
            _refuse(event, f"the tag {event.tag} is not read here")
        tag = self.resolve(yaml.ScalarNode, text, event.implicit)  # type: ignore[no-untyped-call]  # PyYAML's stubs leave it out
        kind = tag.removeprefix(_TAG)
        if kind == "bool":
            return text.lower() == "true"
        if kind == "null":
            return None
        if kind == "int":
            return int(text)
        return float(text) if kind == "float" else text

    def _next(self) -> Any:  # PyYAML's events carry no types
        return self.get_event()

    def _peek(self) -> Any:  # PyYAML's events carry no types
        return self.peek_event()

    def _text(self, start: Any, end: Any) -> str:  # PyYAML's marks carry no types
        rows = self._rows[start.line : end.line + 1]
        if not rows:
            return ""
        if start.line == end.line:
            return rows[0][start.column : end.column].strip()
        rows[0] = rows[0][start.column :]
        rows[-1] = rows[-1][: end.column] if end.line < len(self._rows) else rows[-1]
        return "\n".join(rows).strip()


_SEPARATOR = re.compile("[\x85\u2028\u2029]")
_LINE_END = r"[ \t]*(?:\r\n|\n|\r|\Z)"


# python-frontmatter finds the fences, splits a text at them and has PyYAML load the block. Where
# it would not be exact we say how: its own boundary takes `----` and swallows the blank lines
# behind a fence, and its loader knows no lines, makes values of dates and follows aliases.


class YamlBlocks(YAMLHandler):
    """Blocks between `---` lines; `...` ends one too, as in YAML."""

    FM_BOUNDARY = re.compile(rf"(?<![^\r\n])(?:---|\.\.\.){_LINE_END}")

    def detect(self, text: str) -> bool:
        """Whether a text begins with a block."""
        return text.startswith("---") and bool(super().detect(text))


class TomlBlocks(BaseHandler):
    """Blocks between `+++` lines; the library's own reader of TOML is another package."""

    FM_BOUNDARY = re.compile(rf"(?<![^\r\n])\+\+\+{_LINE_END}")
    START_DELIMITER = END_DELIMITER = "+++"


YAML_BLOCKS, TOML_BLOCKS = YamlBlocks(), TomlBlocks()


def load_yaml(text: str) -> Block:
    """Return the keys of a YAML block; its first line counts as line 1.

    Raises:
        NotMapping: The block is a list or plain text.
        Unreadable: The block is not YAML, or uses anchors, tags or deep nesting.
    """
    separator = _SEPARATOR.search(text)
    if separator:  # YAML would count it as a line break, and every line after it would be wrong
        line = text.count("\n", 0, separator.start()) + 1
        raise UnreadableBlock(line, f"it holds the line separator U+{ord(separator[0]):04X}")
    try:
        block: Block = YAML_BLOCKS.load(text, Loader=BlockLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UnreadableBlock(mark.line + 1 if mark else 1, _reason(error)) from error
    except yaml.YAMLError as error:
        raise UnreadableBlock(
            _bad_character_line(text, error), "it holds a control character"
        ) from error
    return block


def load_toml(text: str) -> Block:
    """Return the keys of a TOML block; its first line counts as line 1.

    Raises:
        Unreadable: The block is not TOML.
    """
    try:
        values = {key: _plain(value) for key, value in tomllib.loads(text).items()}
    except (ValueError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        reason = str(error) or "it is nested too deep"
        raise UnreadableBlock(int(found[1]) if found else 1, reason) from error
    block = Block(values=values)
    for number, row in enumerate(text.split("\n"), start=1):
        found = re.match(r"\s*\[*\s*[\"']?([\w-]+)", row)
        if found and found[1] in values and found[1] not in block.lines:
            block.lines[found[1]] = number
            block.raw[found[1]] = row.partition("=")[2].strip()
    return block


def _plain(value: object) -> object:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _key(event: Any) -> str:  # PyYAML's events carry no types
    if not isinstance(event, yaml.ScalarEvent):
        _refuse(event, "a key is not plain text")
    return str(event.value)


def _refuse(event: Any, reason: str) -> NoReturn:  # PyYAML's events carry no types
    raise UnreadableBlock(event.start_mark.line + 1, reason)


def _reason(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return ": ".join(parts) or "it is not YAML"


def _bad_character_line(text: str, error: yaml.YAMLError) -> int:
    position = getattr(error, "position", None)
    encoded = text.encode("utf-8")
    return encoded[:position].count(b"\n") + 1 if isinstance(position, int) else 1


_JSON_TEXT_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_JSON_TEXT_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')


def load_jsonc(text: str) -> object:
    """Return what JSON says in which comments and commas at the end are allowed.

    Raises:
        UnreadableBlock: It is not JSON otherwise.
    """
    bare = _JSON_TEXT_OR_COMMENT.sub(lambda found: found[1] or " ", text)
    try:
        return json.loads(_JSON_TEXT_OR_COMMA.sub(lambda found: found[1] or "", bare))
    except json.JSONDecodeError as error:
        raise UnreadableBlock(error.lineno, error.msg) from error
    except RecursionError as error:
        raise UnreadableBlock(1, "it is nested too deep") from error
