"""Text with lines: JSON and YAML as nodes that know where they stand, and nodes as dataclasses.

Everything that people write for Hornbook is read through here, so that every problem of a file can
be told at once, each with its line. A reader makes nodes of a text or says why there are none; a
`FileReading` makes a dataclass of nodes: a key that the dataclass does not have, a value of
another type, a key that stands twice or is missing are noted, and what is wrong keeps its default.

JSON is RFC 8259 and nothing more: no comments, no trailing commas, no NaN, no lone surrogates.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from difflib import get_close_matches
from enum import StrEnum
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # the stubs leave it out
from types import UnionType
from typing import TYPE_CHECKING, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from hornbook.errors import ConfigError

if TYPE_CHECKING:
    import yaml

T = TypeVar("T")
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_MAX_DIGITS = 100
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_SURROGATE = re.compile("[\ud800-\udfff]")
_YAML = "tag:yaml.org,2002:"
_YAML_INTEGER = re.compile(r"[+-]?\d{1,12}")


class JsonKind(StrEnum):
    """What kind of value stands in a document; `other` is what only YAML has, by its tag."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class LocatedPair:
    """A key with its line, and the value that stands behind it."""

    key: str
    line: int
    value: "Node"


@dataclass(frozen=True, slots=True)
class Node:
    """A value with the line where it starts; of a repeated key the first one counts.

    `word` is set where YAML took a word for a truth value that means itself elsewhere: `off`.
    """

    line: int
    kind: JsonKind
    scalar: bool | int | float | str | None = None
    items: tuple["Node", ...] = ()
    entries: tuple[LocatedPair, ...] = ()
    word: str | None = None

    @property
    def members(self) -> Mapping[str, "Node"]:
        """The values of an object by key."""
        found: dict[str, Node] = {}
        for each in self.entries:
            found.setdefault(each.key, each.value)
        return found

    @property
    def key_lines(self) -> Mapping[str, int]:
        """The lines of an object's keys."""
        found: dict[str, int] = {}
        for each in self.entries:
            found.setdefault(each.key, each.line)
        return found

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
class Refusal:
    """Why bytes are no text that we read, and at which line."""

    code: str
    line: int
    message: str


class ReadingRefused(Exception):
    """Carries a refusal out of a reader."""

    def __init__(self, code: str, line: int, message: str) -> None:
        super().__init__(message)
        self.refusal = Refusal(code, line, message)


def read_json(data: bytes | str) -> JsonDocument | Refusal:
    """The document, or why there is none; never raises, whatever the bytes are."""
    try:
        reader = _JsonReader(_decode(data))
        root = reader.document()
    except ReadingRefused as refused:
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


def limited(data: bytes | str) -> bytes:
    """The bytes of a text from a stranger.

    Raises:
        Refused: There are more than `MAX_BYTES`.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > MAX_BYTES:
        raise ReadingRefused("too_large", 1, f"the file has more than {MAX_BYTES} bytes: split it.")
    return raw


def _decode(data: bytes | str) -> str:
    raw = limited(data)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        message = "the text is not UTF-8: save the file as UTF-8."
        raise ReadingRefused("not_json", line, message) from error


class _JsonReader:
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

    def _wrong(self, found: str, remedy: str, code: str = "not_json") -> ReadingRefused:
        return ReadingRefused(code, self._line_here(), f"{found}: {remedy}.")

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
        entries: list[LocatedPair] = []
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
            entries.append(LocatedPair(key, key_line, member))
            if key in lines:
                self.duplicates.append(DuplicateKey(path, key, key_line, lines[key]))
            lines.setdefault(key, key_line)
            if self._take("}"):
                return Node(line, JsonKind.OBJECT, entries=tuple(entries))
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

    def _expected(self, what: str) -> ReadingRefused:
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


def read_yaml(text: str) -> Node | Refusal | None:
    """The one document of a YAML text, none if it is empty, or why it cannot be read.

    Whole numbers, truth values and nothing are told from texts; all else is the text as written.
    A refusal whose line is 0 is about the file as a whole.
    """
    import yaml  # noqa: PLC0415  # start-up: most workspaces have no file of settings

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return None if node is None else _YamlNodes().node(node)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        return Refusal("not_yaml", line, f"not readable as YAML: {problem.problem}.")
    except (yaml.YAMLError, RecursionError) as problem:
        return Refusal("not_yaml", 0, f"not readable as YAML: {problem}.")


class _YamlNodes:
    """Makes our nodes of PyYAML's; what an alias names is made once, so that it cannot explode."""

    def __init__(self) -> None:
        self._made: dict[int, Node] = {}

    def node(self, found: "yaml.Node") -> Node:
        known = self._made.get(id(found))
        if known is None:
            known = self._made[id(found)] = self._node(found)
        return known

    def _node(self, found: "yaml.Node") -> Node:
        line, name = found.start_mark.line + 1, found.tag.removeprefix(_YAML)
        shape: str = found.id  # type: ignore[attr-defined]  # the stubs leave it out
        entries = self._entries(found) if shape == "mapping" else ()
        if name == found.tag or "python" in name:
            return Node(line, JsonKind.OTHER, found.tag, entries=entries)
        if shape == "mapping":
            return Node(line, JsonKind.OBJECT, entries=entries)
        if shape == "sequence":
            return Node(line, JsonKind.ARRAY, items=tuple(map(self.node, found.value)))
        return _yaml_scalar(line, name, str(found.value))

    def _entries(self, found: "yaml.Node") -> tuple[LocatedPair, ...]:
        return tuple(
            LocatedPair(str(key.value), key.start_mark.line + 1, self.node(value))
            for key, value in found.value
        )


def _yaml_scalar(line: int, name: str, text: str) -> Node:
    if name == "int" and _YAML_INTEGER.fullmatch(text):
        return Node(line, JsonKind.NUMBER, int(text))
    if name == "null":
        return Node(line, JsonKind.NULL)
    if name == "bool":
        means = text.lower() in {"true", "yes", "on"}
        word = None if text.lower() in {"true", "false"} else text
        return Node(line, JsonKind.BOOLEAN, means, word=word)
    return Node(line, JsonKind.STRING, text)


class FileReading:
    """Reads one YAML file into dataclasses and collects its problems meanwhile."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.lines: dict[str, int] = {}
        self.problems: list[str] = []

    def complain(self, line: int, text: str) -> None:
        """Note a problem."""
        self.problems.append(f"{self._name}, line {line}: {text}")

    def check(self, key: str, text: str, *, valid: bool) -> None:
        """Note a problem with a key that the file states."""
        if key in self.lines and not valid:
            self.complain(self.lines[key], text)

    def finish(self) -> None:
        """Raise what was found.

        Raises:
            ConfigError: There was at least one problem.
        """
        if self.problems:
            raise ConfigError(self.problems)

    def read(self, text: str, kind: type[T]) -> T:
        """The file's text as a value of `kind`; what is wrong keeps its default.

        Raises:
            ConfigError: The text is no mapping at all.
        """
        node = self._root(text)
        return kind() if node is None else self._mapping(node, kind, "")

    def read_key(self, text: str, key: str, kind: type[T]) -> T | None:
        """One key of a file whose other keys are not ours; none if it does not stand there.

        Raises:
            ConfigError: The text is no mapping at all.
        """
        node = self._root(text)
        for entry in node.entries if node is not None else ():
            if entry.key != key:
                continue
            if _is_mapping(entry.value):
                return self._mapping(entry.value, kind, key + ".")
            self._wrong(entry.value, key, "no mapping", "`key: value` lines below it")
        return None

    def read_list(self, text: str, kind: type[T]) -> tuple[T, ...]:
        """A file that holds a list of mappings, each as a value of `kind`; an empty one is none.

        Raises:
            ConfigError: The text is no YAML or no list.
        """
        node = self._node(text)
        if node is None or node.kind is JsonKind.NULL:
            return ()
        if node.kind is not JsonKind.ARRAY:
            raise ConfigError([f"{self._name}, line 1: found no list: write `- key: value` lines."])
        mappings = [each for each in node.items if _is_mapping(each)]
        for each in node.items:
            if not _is_mapping(each):
                self.complain(each.line, "an entry is no mapping: write `key: value` lines.")
        return tuple(self._mapping(each, kind, f"[{n}].") for n, each in enumerate(mappings))

    def _root(self, text: str) -> Node | None:
        node = self._node(text)
        if node is not None and not _is_mapping(node):
            raise ConfigError(
                [f"{self._name}, line 1: found no `key: value` lines: write settings so."]
            )
        return node

    def _node(self, text: str) -> Node | None:
        node = read_yaml(text)
        if isinstance(node, Refusal):
            place = f"{self._name}, line {node.line}" if node.line else self._name
            raise ConfigError([f"{place}: {node.message}"])
        return node

    def _mapping(self, node: Node, kind: type[T], above: str) -> T:
        hints = get_type_hints(kind)
        known = _keys(kind)
        values: dict[str, object] = {}
        for entry in self._entries(node, above):
            key = entry.key
            if key not in known:
                self._unknown(entry.line, above + key, known)
                continue
            converted = self._value(entry.value, hints[key], above + key)
            if converted is not None:
                values[key] = converted
        required = (n for n, e in known.items() if e.default is e.default_factory is MISSING)
        missing = [name for name in required if name not in values]
        absent = [name for name in missing if above + name not in self.lines]
        if absent:
            self.complain(node.line, f"`{above.rstrip('.')}` lacks {', '.join(absent)}.")
        values |= {name: "" if hints[name] is str else 0 for name in missing}
        return kind(**values, **self._places(node, kind, above))

    def _places(self, node: Node, kind: type[T], above: str) -> dict[str, object]:
        """Where each key of an entry stands, for a kind that keeps it."""
        names = [each.name for each in fields(kind) if each.metadata.get("places")]  # type: ignore[arg-type]  # kind is a dataclass
        stated = [
            (key, self.lines[above + key]) for key in _keys(kind) if above + key in self.lines
        ]
        lines = [("", node.line), *stated]
        return {name: tuple((key, f"{self._name}, line {n}") for key, n in lines) for name in names}

    def _entries(self, node: Node, above: str) -> list[LocatedPair]:
        found: list[LocatedPair] = []
        for entry in node.entries:
            key = above + entry.key
            if key in self.lines:
                self.complain(
                    entry.line, f"`{key}` stands twice (first on line {self.lines[key]})."
                )
                continue
            self.lines[key] = entry.line
            found.append(entry)
        return found

    def _unknown(self, line: int, key: str, known: Mapping[str, object]) -> None:
        near = get_close_matches(key.rpartition(".")[2], known, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}."
        self.complain(line, f"unknown setting `{key}`: {hint}")

    def _value(self, node: Node, hint: object, key: str) -> object:
        hint = _without_none(hint)
        origin = get_origin(hint)
        if isinstance(hint, type) and is_dataclass(hint):
            return self._nested(node, key, lambda found: self._mapping(found, hint, key + "."))
        if origin is dict:
            return self._nested(node, key, lambda found: self._table(found, hint, key))
        if origin is tuple and is_dataclass(get_args(hint)[0]):
            return self._items(node, get_args(hint)[0], key)
        return self._scalar(node, hint, key)

    def _items(self, node: Node, kind: type[object], key: str) -> object:
        """A list of mappings; where a kind has a bare key, a text or a single mapping will do."""
        bare = next((each.name for each in fields(kind) if each.metadata.get("bare")), None)  # type: ignore[arg-type]  # kind is a dataclass
        if node.kind is not JsonKind.ARRAY and bare is None:
            return self._wrong(node, key, "no list", "a list: `- name: …`")
        items = node.items if node.kind is JsonKind.ARRAY else (node,)
        found = (self._item(item, kind, f"{key}[{n}]", bare) for n, item in enumerate(items))
        return tuple(each for each in found if each is not None)

    def _item(self, node: Node, kind: type[object], key: str, bare: str | None) -> object:
        if _is_mapping(node):
            return self._mapping(node, kind, key + ".")
        if bare is None:
            return self._wrong(node, key, "no mapping", "`key: value` lines")
        text = self._scalar(node, str, key)
        if text is None:
            return None
        self.lines[f"{key}.{bare}"] = node.line
        return kind(**{bare: text}, **self._places(node, kind, key + "."))

    def _scalar(self, node: Node, hint: object, key: str) -> object:
        plain = _shown(node, as_texts=hint is not bool)
        if plain is None:
            return self._wrong(node, key, plain, "a value, or leave the key out")
        if get_origin(hint) is tuple:
            items = plain if isinstance(plain, list) else [plain]
            texts = all(isinstance(item, str) and item for item in items)
            return tuple(items) if texts else self._wrong(node, key, plain, "a list of texts")
        if hint is bool:
            return (
                plain if isinstance(plain, bool) else self._wrong(node, key, plain, "true or false")
            )
        if hint is int:
            number = isinstance(plain, int) and not isinstance(plain, bool) and plain >= 0
            return plain if number else self._wrong(node, key, plain, "a whole number")
        if isinstance(plain, str | int) and not isinstance(plain, bool):
            return str(plain)
        return self._wrong(node, key, plain, "a text")

    def _nested(self, node: Node, key: str, read: Callable[[Node], object]) -> object:
        if _is_mapping(node):
            return read(node)
        return self._wrong(node, key, "no mapping", "`key: value` lines below it")

    def _table(self, node: Node, hint: object, key: str) -> dict[str, object]:
        _, kind = get_args(hint)
        found = {}
        for entry in self._entries(node, key + "."):
            converted = self._value(entry.value, kind, f"{key}.{entry.key}")
            if converted is not None:
                found[entry.key] = converted
        return found

    def _wrong(self, node: Node, key: str, found: object, wanted: str) -> object:
        """Complain about a value; None keeps the default."""
        self.complain(node.line, f"`{key}` is {found!r}: write {wanted}.")
        return None


def _is_mapping(node: Node) -> bool:
    """Whether it has keys, whatever tag stands before it."""
    return node.kind is JsonKind.OBJECT or bool(node.entries)


def _shown(node: Node, *, as_texts: bool) -> object:
    """Scalars as plain values, `off` as the word where texts are wanted; the rest by its tag."""
    if node.kind is JsonKind.ARRAY:
        return [_shown(item, as_texts=as_texts) for item in node.items]
    if node.kind is JsonKind.OBJECT:
        return {"tag": f"{_YAML}map"}
    if as_texts and node.word is not None:
        return node.word
    return {"tag": node.scalar} if node.kind is JsonKind.OTHER else node.scalar


def _keys(kind: type[object]) -> "dict[str, Field[object]]":
    """What a mapping of this kind may state."""
    every = fields(kind)  # type: ignore[arg-type]  # kind is a dataclass
    return {each.name: each for each in every if not each.metadata.get("places")}


def _without_none(hint: object) -> object:
    """`int | None` as `int`: nobody states none, one leaves the key out."""
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if isinstance(hint, UnionType) and len(kinds) == 1 else hint
