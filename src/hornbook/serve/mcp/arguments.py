"""Arguments that a model sends: what they may be, as a JSON schema, and every way they are not."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar  # arguments are JSON of any kind until they are read

import msgspec

from hornbook.errors import UsageError

Asked = TypeVar("Asked", bound=msgspec.Struct)


def schema_of(kind: type) -> dict[str, Any]:
    """The JSON schema of a type, its root an object that stands by itself.

    A type that is used once stands where it is used: not every client follows references.
    """
    (root,), parts = msgspec.json.schema_components((kind,), ref_template="{name}")
    whole: dict[str, Any] = _placed(root, parts)
    del whole["title"]
    return whole


def shallow(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """The same schema with the parts of objects down to a depth, and without words.

    Whoever holds an answer against it finds less, and nothing else: a list of tools is read into
    every session of every agent, and what an answer's parts are called is seen in the answer.
    """
    found = {key: schema[key] for key in ("type", "enum") if key in schema}
    kinds = schema.get("anyOf", ())
    if len(kinds) == 2 and {"type": "null"} in kinds:
        other = shallow(next(each for each in kinds if each != {"type": "null"}), depth)
        if isinstance(other.get("type"), str):
            return {**other, "type": [other["type"], "null"]}
    if kinds:
        found["anyOf"] = [shallow(each, depth) for each in kinds]
    if "items" in schema:
        found["items"] = shallow(schema["items"], depth)
    if depth and "properties" in schema:
        parts = schema["properties"].items()
        found["properties"] = {name: shallow(part, depth - 1) for name, part in parts}
    return found


def _placed(node: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_placed(each, parts) for each in node]
    if not isinstance(node, dict):
        return node
    rest = {key: value for key, value in node.items() if value is not None}
    referred = rest.pop("$ref", None)
    if referred is not None:
        return {**_placed(parts[referred], parts), **rest}
    return {key: _placed(value, parts) for key, value in rest.items()}


def read_arguments(kind: type[Asked], given: Mapping[str, Any]) -> Asked:
    """The arguments as values.

    Raises:
        UsageError: They do not fit; the message has every problem with its remedy.
    """
    problems = list(_unspeakable("", given))
    try:
        if not problems:
            return msgspec.convert(given, kind)
    except msgspec.ValidationError:
        problems = list(_misfits(kind, given))
    raise UsageError("\n".join(problems))


def _misfits(kind: type[msgspec.Struct], given: Mapping[str, Any]) -> Iterator[str]:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    for name in given:
        if name not in fields:
            near = get_close_matches(name, fields, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(fields)}."
            yield f"no argument {name!r}: {hint}"
    for name, field in fields.items():
        if name in given:
            yield from _misfit(kind, field, given[name])
        elif field.required:
            yield f"{name} is missing: it is required."


def _misfit(
    kind: type[msgspec.Struct], field: msgspec.structs.FieldInfo, value: object
) -> Iterator[str]:
    try:
        msgspec.convert(value, field.type)
    except msgspec.ValidationError as problem:
        choices = _choices(schema_of(kind)["properties"][field.name])
        yield f"{field.name}: {problem}{f', not one of {choices}' if choices else ''}."


def _choices(schema: Mapping[str, Any]) -> str:
    """The values that a field can have, if they are a fixed set."""
    listed = [
        value for part in (schema, *schema.get("anyOf", ())) for value in part.get("enum", ())
    ]
    return ", ".join(map(str, listed))


def _unspeakable(where: str, value: Any) -> Iterator[str]:
    """The texts in a value that no file name and no answer could hold."""
    if isinstance(value, str) and not _is_text(value):
        yield f"{where} has a NUL or half of a surrogate pair in it: send plain Unicode text."
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _unspeakable(f"{where}[{place}]", each)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _unspeakable("the name of an argument", name)
            yield from _unspeakable(f"{where}.{name}" if where else name, each)


def _is_text(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


_MARK = "after:"


def cursor_for(place: str) -> str:
    """The cursor behind an id or address."""
    return base64.urlsafe_b64encode(f"{_MARK}{place}".encode()).decode("ascii")


def place_of(cursor: str | None) -> str | None:
    """The id or address that a cursor stands for.

    Raises:
        UsageError: It is not a cursor of ours.
    """
    if cursor is None:
        return None
    try:
        decoded = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        decoded = ""
    if not decoded.startswith(_MARK):
        raise UsageError(f"{cursor!r} is not a cursor: pass next_cursor of the page before.")
    return decoded.removeprefix(_MARK)
