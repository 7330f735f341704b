"""Reads a YAML file into a dataclass: strict, with lines, all problems at once."""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from types import UnionType
from typing import TypeVar, get_args, get_origin, get_type_hints

import yaml

from hornbook.errors import ConfigError

T = TypeVar("T")
_INTEGER = re.compile(r"[+-]?\d{1,12}")


class ConfigReading:
    """Collects the problems of one file while it is read."""

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
        node = self._composed(text)
        return kind() if node is None else self._mapping(node, kind, "")

    def read_key(self, text: str, key: str, kind: type[T]) -> T | None:
        """One key of a file whose other keys are not ours; none if it does not stand there.

        Raises:
            ConfigError: The text is no mapping at all.
        """
        node = self._composed(text)
        for key_node, value in node.value if node is not None else ():
            if key_node.value != key:
                continue
            if isinstance(value, yaml.MappingNode):
                return self._mapping(value, kind, key + ".")
            self._wrong(value, key, "no mapping", "`key: value` lines below it")
        return None

    def _composed(self, text: str) -> yaml.MappingNode | None:
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as problem:
            line = problem.problem_mark.line + 1 if problem.problem_mark else 1
            said = f"{self._name}, line {line}: not readable as YAML: {problem.problem}."
            raise ConfigError([said]) from problem
        except (yaml.YAMLError, RecursionError) as problem:
            raise ConfigError([f"{self._name}: not readable as YAML: {problem}."]) from problem
        if node is not None and not isinstance(node, yaml.MappingNode):
            raise ConfigError(
                [f"{self._name}, line 1: found no `key: value` lines: write settings so."]
            )
        return node

    def _mapping(self, node: yaml.MappingNode, kind: type[T], above: str) -> T:
        hints = get_type_hints(kind)
        known = _keys(kind)
        values: dict[str, object] = {}
        for key, line, value in self._entries(node, above):
            if key not in known:
                self._unknown(line, above + key, known)
                continue
            converted = self._value(value, hints[key], above + key)
            if converted is not None:
                values[key] = converted
        missing = [name for name, each in known.items() if _required(each) and name not in values]
        absent = [name for name in missing if above + name not in self.lines]
        if absent:
            self.complain(
                node.start_mark.line + 1, f"`{above.rstrip('.')}` lacks {', '.join(absent)}."
            )
        values |= {name: "" if hints[name] is str else 0 for name in missing}
        return kind(**values, **self._places(node, kind, above))

    def _places(self, node: yaml.Node, kind: type[T], above: str) -> dict[str, object]:
        """Where each key of an entry stands, for a kind that keeps it."""
        names = [each.name for each in fields(kind) if each.metadata.get("places")]  # type: ignore[arg-type]  # kind is a dataclass
        stated = [
            (key, self.lines[above + key]) for key in _keys(kind) if above + key in self.lines
        ]
        lines = [("", node.start_mark.line + 1), *stated]
        return {name: tuple((key, f"{self._name}, line {n}") for key, n in lines) for name in names}

    def _entries(self, node: yaml.MappingNode, above: str) -> list[tuple[str, int, yaml.Node]]:
        found: list[tuple[str, int, yaml.Node]] = []
        for key_node, value in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if above + key in self.lines:
                first = self.lines[above + key]
                self.complain(line, f"`{above}{key}` stands twice (first on line {first}).")
                continue
            self.lines[above + key] = line
            found.append((key, line, value))
        return found

    def _unknown(self, line: int, key: str, known: Mapping[str, object]) -> None:
        near = get_close_matches(key.rpartition(".")[2], known, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}."
        self.complain(line, f"unknown setting `{key}`: {hint}")

    def _value(self, node: yaml.Node, hint: object, key: str) -> object:
        hint = _without_none(hint)
        origin = get_origin(hint)
        if isinstance(hint, type) and is_dataclass(hint):
            return self._nested(node, key, lambda found: self._mapping(found, hint, key + "."))
        if origin is dict:
            return self._nested(node, key, lambda found: self._table(found, hint, key))
        if origin is tuple and is_dataclass(get_args(hint)[0]):
            return self._items(node, get_args(hint)[0], key)
        return self._scalar(node, hint, key)

    def _items(self, node: yaml.Node, kind: type[object], key: str) -> object:
        """A list of mappings; where a kind has a bare key, a text or a single mapping will do."""
        bare = next((each.name for each in fields(kind) if each.metadata.get("bare")), None)  # type: ignore[arg-type]  # kind is a dataclass
        if not isinstance(node, yaml.SequenceNode) and bare is None:
            return self._wrong(node, key, "no list", "a list: `- name: …`")
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        found = (self._item(item, kind, f"{key}[{n}]", bare) for n, item in enumerate(items))
        return tuple(each for each in found if each is not None)

    def _item(self, node: yaml.Node, kind: type[object], key: str, bare: str | None) -> object:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, kind, key + ".")
        if bare is None:
            return self._wrong(node, key, "no mapping", "`key: value` lines")
        text = self._scalar(node, str, key)
        if text is None:
            return None
        self.lines[f"{key}.{bare}"] = node.start_mark.line + 1
        return kind(**{bare: text}, **self._places(node, kind, key + "."))

    def _scalar(self, node: yaml.Node, hint: object, key: str) -> object:
        plain = _plain(node)
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

    def _nested(
        self, node: yaml.Node, key: str, read: Callable[[yaml.MappingNode], object]
    ) -> object:
        if isinstance(node, yaml.MappingNode):
            return read(node)
        return self._wrong(node, key, "no mapping", "`key: value` lines below it")

    def _table(self, node: yaml.MappingNode, hint: object, key: str) -> dict[str, object]:
        _, kind = get_args(hint)
        found = {}
        for name, _, value in self._entries(node, key + "."):
            converted = self._value(value, kind, f"{key}.{name}")
            if converted is not None:
                found[name] = converted
        return found

    def _wrong(self, node: yaml.Node, key: str, found: object, wanted: str) -> object:
        """Complain about a value; None keeps the default."""
        self.complain(node.start_mark.line + 1, f"`{key}` is {found!r}: write {wanted}.")
        return None


def _plain(node: yaml.Node) -> object:
    """A scalar, or a list of scalars, as plain values; anything else by its tag."""
    if not node.tag.startswith("tag:yaml.org,2002:") or "python" in node.tag:
        return {"tag": node.tag}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    if not isinstance(node, yaml.ScalarNode):
        return {"tag": node.tag}
    if node.tag == "tag:yaml.org,2002:int":
        return int(node.value) if _INTEGER.fullmatch(node.value) else str(node.value)
    if node.tag == "tag:yaml.org,2002:null":
        return None
    if node.tag == "tag:yaml.org,2002:bool":
        return node.value.lower() in {"true", "yes", "on"}
    return str(node.value)


def _keys(kind: type[object]) -> "dict[str, Field[object]]":
    """What a mapping of this kind may state."""
    every = fields(kind)  # type: ignore[arg-type]  # kind is a dataclass
    return {each.name: each for each in every if not each.metadata.get("places")}


def _without_none(hint: object) -> object:
    """`int | None` as `int`: nobody states none, one leaves the key out."""
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if isinstance(hint, UnionType) and len(kinds) == 1 else hint


def _required(each: "Field[object]") -> bool:
    return each.default is MISSING and each.default_factory is MISSING
