"""Reads JSON into nodes that know their lines, so that every problem can name its place.

It is RFC 8259 and nothing more: no comments, no trailing commas, no NaN, no lone surrogates.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # the stubs leave it out
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_MAX_DIGITS = 100
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonKind(StrEnum):
    """What kind of value stands in a document."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Node:
    """A value with the line where it starts; of a repeated key the first one counts."""

    line: int
    kind: JsonKind
    scalar: bool | int | float | str | None = None
    items: tuple["Node", ...] = ()
    members: Mapping[str, "Node"] = field(default_factory=dict)
    key_lines: Mapping[str, int] = field(default_factory=dict)

    def plain(self) -> Json:
        """The value without its lines."""
        if self.kind is JsonKind.OBJECT:
            return {key: member.plain() for key, member in self.members.items()}
        if self.kind is JsonKind.ARRAY:
            return [item.plain() for item in self.items]
        return self.scalar


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """A key that stands a second time in its object."""

    path: str
    key: str
    line: int
    first_line: int


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """What a text says."""

    root: Node
    duplicates: tuple[DuplicateKey, ...]


@dataclass(frozen=True, slots=True)
class JsonRefusal:
    """Why bytes are no JSON that we read, and at which line."""

    code: str
    line: int
    message: str


def read_json(data: bytes | str) -> JsonDocument | JsonRefusal:
    """The document, or why there is none; never raises, whatever the bytes are."""
    try:
        reader = _Reader(_decode(data))
        root = reader.document()
    except _Refused as refused:
        return refused.refusal
    return JsonDocument(root, tuple(reader.duplicates))


def kind_of(value: Json) -> JsonKind:
    """What kind of value it is."""
    if value is None:
        return JsonKind.NULL
    kinds = {
        dict: JsonKind.OBJECT,
        list: JsonKind.ARRAY,
        str: JsonKind.STRING,
        bool: JsonKind.BOOLEAN,
    }
    return kinds.get(type(value), JsonKind.NUMBER)


def below(path: str, key: str) -> str:
    """The path of a member."""
    return f"{path}.{key}" if path else key


class _Refused(Exception):
    def __init__(self, code: str, line: int, message: str) -> None:
        super().__init__(message)
        self.refusal = JsonRefusal(code, line, message)


def _decode(data: bytes | str) -> str:
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > MAX_BYTES:
        raise _Refused("too_large", 1, f"the file has more than {MAX_BYTES} bytes: split it.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        message = "the text is not UTF-8: save the file as UTF-8."
        raise _Refused("not_json", line, message) from error


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._counted = 0
        self._line = 1
        self.duplicates: list[DuplicateKey] = []

    def document(self) -> Node:
        root = self._value("", 1)
        if self._peek():
            raise self._wrong("text after the end of the document", "remove it")
        return root

    def _line_here(self) -> int:
        """The line of the position; positions only grow, so each character is counted once."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _wrong(self, found: str, remedy: str, code: str = "not_json") -> _Refused:
        return _Refused(code, self._line_here(), f"{found}: {remedy}.")

    def _peek(self) -> str:
        """The next character that is not blank, empty at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def _take(self, character: str) -> bool:
        if self._peek() != character:
            return False
        self._at += 1
        return True

    def _value(self, path: str, depth: int) -> Node:
        start = self._peek()
        if depth > MAX_DEPTH:
            message = f"values nest deeper than {MAX_DEPTH}"
            raise self._wrong(message, "flatten the file", "too_deep")
        line = self._line_here()
        if start == "{":
            return self._object(line, path, depth)
        if start == "[":
            return self._array(line, path, depth)
        if start == '"':
            return Node(line, JsonKind.STRING, self._string())
        return self._word(line)

    def _object(self, line: int, path: str, depth: int) -> Node:
        members: dict[str, Node] = {}
        lines: dict[str, int] = {}
        self._at += 1
        if self._take("}"):
            return Node(line, JsonKind.OBJECT)
        while True:
            if self._peek() != '"':
                raise self._expected('a key in `"`')
            key_line = self._line_here()
            key = self._string()
            if not self._take(":"):
                raise self._expected(f"`:` after the key `{key[:40]}`")
            member = self._value(below(path, key), depth + 1)
            if key in members:
                self.duplicates.append(DuplicateKey(path, key, key_line, lines[key]))
            else:
                members[key], lines[key] = member, key_line
            if self._take("}"):
                return Node(line, JsonKind.OBJECT, members=members, key_lines=lines)
            if not self._take(","):
                raise self._expected("`,` or `}`")

    def _array(self, line: int, path: str, depth: int) -> Node:
        items: list[Node] = []
        self._at += 1
        if self._take("]"):
            return Node(line, JsonKind.ARRAY)
        while True:
            items.append(self._value(f"{path}[{len(items)}]", depth + 1))
            if self._take("]"):
                return Node(line, JsonKind.ARRAY, items=tuple(items))
            if not self._take(","):
                raise self._expected("`,` or `]`")

    def _string(self) -> str:
        try:
            text, end = scanstring(self._text, self._at + 1, True)
        except JSONDecodeError as error:
            self._at = max(error.pos, self._counted)
            raise self._wrong(error.msg, "close and escape the string as JSON wants it") from error
        if _SURROGATE.search(text):
            raise self._wrong("half of a surrogate pair in a string", "write both halves")
        self._at = end
        return str(text)

    def _word(self, line: int) -> Node:
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return Node(line, JsonKind.NULL if value is None else JsonKind.BOOLEAN, value)
        number = _NUMBER.match(self._text, self._at)
        if number is None:
            raise self._expected("a value")
        if len(number[0]) > _MAX_DIGITS:
            raise self._wrong(f"a number of more than {_MAX_DIGITS} digits", "shorten it")
        self._at = number.end()
        if number[1] is None and number[2] is None:
            return Node(line, JsonKind.NUMBER, int(number[0]))
        large = float(number[0])
        if large in (float("inf"), float("-inf")):
            raise self._wrong("a number too large to be kept", "write a smaller one")
        return Node(line, JsonKind.NUMBER, large)

    def _expected(self, what: str) -> _Refused:
        found = self._peek()
        shown = f"found `{found}`" if found else "the text ends"
        hints = {
            "}": "is there a comma too many before it?",
            "]": "is there a comma too many before it?",
            "/": "JSON has no comments",
            "#": "JSON has no comments",
            "'": 'JSON strings stand in `"`',
        }
        hint = f" ({hints[found]})" if found in hints else ""
        return self._wrong(f"expected {what}, {shown}{hint}", "correct the JSON")
