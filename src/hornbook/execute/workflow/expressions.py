"""`${…}` in workflows: what is written, and what it stands for in a run.

A value that is exactly one expression keeps its type; inside a text it is rendered. A value that is
missing and has no default is an error, never an empty text.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeAlias

from hornbook.execute.workflow.json_reading import Json

_OPENING = re.compile(r"\$?\$\{")
_PATH = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_BARE = re.compile(r"[^\s{}\[\]\"$:,][^{}\"$\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Default:
    """What stands in for a value that is missing."""

    value: Json


@dataclass(frozen=True, slots=True)
class Reference:
    """One expression: the path of a value in the run, and its default if there is one."""

    path: tuple[str, ...]
    default: Default | None = None

    @property
    def name(self) -> str:
        """The path as it is written."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Template:
    """A text with the expressions in it."""

    parts: tuple[str | Reference, ...]

    @property
    def single(self) -> Reference | None:
        """The expression, if there is nothing else."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only if isinstance(only, Reference) else None


Templated: TypeAlias = (
    "bool | int | float | Template | tuple[Templated, ...] | Mapping[str, Templated] | None"
)
LookUp: TypeAlias = Callable[[tuple[str, ...]], Json]


class Unresolved(ValueError):
    """A run has no value for a path, or one of a kind that does not fit; says why."""


class BadExpression(ValueError):
    """A text has `${` in it that is no expression; says what to write."""


def parse(text: str) -> Template:
    """The template in a text; `$${` stands for `${` itself.

    Raises:
        BadExpression: An expression is not closed, has no path or a default that is unclear.
    """
    parts: list[str | Reference] = []
    at = 0
    while opening := _OPENING.search(text, at):
        _append(parts, text[at : opening.start()])
        if opening[0] == "$${":
            _append(parts, "${")
            at = opening.end()
        else:
            reference, at = _reference(text, opening.end())
            parts.append(reference)
    _append(parts, text[at:])
    return Template(tuple(parts))


def _append(parts: list[str | Reference], text: str) -> None:
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    elif text:
        parts.append(text)


def _reference(text: str, start: int) -> tuple[Reference, int]:
    path = _PATH.match(text, start)
    if path is None:
        shown = text[start - 2 : start + 20]
        raise BadExpression(f"`{shown}` names no value: write `${{…}}` around a path of names.")
    names = tuple(path[0].split("."))
    at = path.end()
    if text.startswith("}", at):
        return Reference(names), at + 1
    if not text.startswith(":-", at):
        raise BadExpression(f"`${{{path[0]}` is not closed: write `}}` or `:-` and a default.")
    value, at = _default(text, at + 2, path[0])
    return Reference(names, Default(value)), at


def _default(text: str, start: int, path: str) -> tuple[Json, int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError):
        value, end = None, -1
    if text.startswith("}", end) and end > start:
        _refuse_numbers_json_has_not(value, path)
        return value, end + 1
    bare = _BARE.match(text, start)
    if bare is not None and text.startswith("}", bare.end()):
        return bare[0], bare.end() + 1
    if text.startswith("}", start):
        raise BadExpression(f'the default of `{path}` is empty: write `:-""` for an empty text.')
    raise BadExpression(
        f"the default of `{path}` is neither JSON nor a plain word: write `:-[]`, `:-3`, "
        '`:-go` or `:-"some text"`, and close it with `}`.'
    )


def _refuse_numbers_json_has_not(value: Json, path: str) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise BadExpression(f"the default of `{path}` is no JSON number: write one.") from error


def references(value: Templated) -> Iterator[Reference]:
    """Every expression in a value, in order."""
    if isinstance(value, Template):
        yield from (part for part in value.parts if isinstance(part, Reference))
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from references(member)
    elif isinstance(value, tuple):
        for item in value:
            yield from references(item)


def resolve(value: Templated, look_up: LookUp) -> Json:
    """The value with every expression replaced, once: what comes in is not read again.

    Raises:
        Unresolved: Something is missing and has no default.
    """
    if isinstance(value, Template):
        single = value.single
        return _value(single, look_up) if single else _rendered(value, look_up)
    if isinstance(value, Mapping):
        return {key: resolve(member, look_up) for key, member in value.items()}
    if isinstance(value, tuple):
        return [resolve(item, look_up) for item in value]
    return value


def text_of(template: Template, look_up: LookUp) -> str:
    """The template as a text, even if it is exactly one expression.

    Raises:
        Unresolved: Something is missing and has no default.
    """
    return _rendered(template, look_up)


def _rendered(template: Template, look_up: LookUp) -> str:
    return "".join(
        part if isinstance(part, str) else shown(_value(part, look_up)) for part in template.parts
    )


def _value(reference: Reference, look_up: LookUp) -> Json:
    try:
        return deepcopy(look_up(reference.path))
    except Unresolved:
        if reference.default is None:
            raise
        return deepcopy(reference.default.value)


def shown(value: Json) -> str:
    """A value inside a text: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_written(value: Templated) -> str:
    """A value with its expressions as they stand in the definition."""
    if isinstance(value, Template):
        return "".join(
            part if isinstance(part, str) else f"${{{part.name}}}" for part in value.parts
        )
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {as_written(each)}' for key, each in value.items())}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(as_written, value))}]"
    return json.dumps(value)


def member(value: Json, names: tuple[str, ...], above: str) -> Json:
    """The value that `names` lead to.

    Raises:
        Unresolved: One of them is not there; `above` says of what.
    """
    for name in names:
        if not isinstance(value, dict):
            raise Unresolved(f"`{above}` has no members, so `{above}.{name}` has no value.")
        if name not in value:
            known = ", ".join(f"`{key}`" for key in sorted(value)) or "nothing"
            raise Unresolved(f"`{above}.{name}` has no value: `{above}` has {known}.")
        value, above = value[name], f"{above}.{name}"
    return value
