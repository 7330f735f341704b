"""Values as YAML that a model reads easily: texts of several lines stand as they are."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import yaml

_RESOLVER: Final = yaml.resolver.Resolver()
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./(][\w ./()+@=<>*,;'-]*", re.ASCII)
_UNPRINTABLE: Final = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_INDENT: Final = "  "


def to_yaml(value: object) -> str:
    """The value as block-style YAML that any YAML reader takes back to the same value.

    Raises:
        TypeError: It holds something other than mappings, sequences, texts, numbers and None.
    """
    return "".join(f"{line}\n" for line in _lines(value, ""))


def _lines(value: object, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _entry(f"{indent}{_text(str(key))}:", item, indent)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for item in value:
            yield from _item(item, indent)
    else:
        yield indent + _scalar(value)


def _entry(head: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, str) and _is_block(value):
        yield from _block(head, value, indent + _INDENT)
    elif isinstance(value, Mapping | Sequence) and not isinstance(value, str) and value:
        yield head
        yield from _lines(value, indent + _INDENT)
    else:
        yield f"{head} {_scalar(value)}"


def _item(value: object, indent: str) -> Iterator[str]:
    if isinstance(value, str) and _is_block(value):
        yield from _block(f"{indent}-", value, indent + _INDENT)
        return
    first, *rest = _lines(value, indent + _INDENT)
    yield f"{indent}- {first[len(indent) + len(_INDENT) :]}"
    yield from rest


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, Sequence):
        return "[]"
    raise TypeError(f"a {type(value).__name__} has no place in a context: {value!r}.")


def _text(text: str) -> str:
    plain = _PLAIN.fullmatch(text) is not None and not text.endswith(" ")
    if plain and _is_text(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _is_text(plain: str) -> bool:
    """Whether YAML reads the bare word as a text, not as a number, a date or a truth value."""
    tag = _RESOLVER.resolve(yaml.ScalarNode, plain, (True, False))  # type: ignore[no-untyped-call]  # as the stubs have it
    return bool(tag == "tag:yaml.org,2002:str")


def _is_block(text: str) -> bool:
    return "\n" in text.rstrip("\n") and _UNPRINTABLE.search(text) is None


def _block(head: str, text: str, indent: str) -> Iterator[str]:
    """A literal block; the digit says how far it is indented where its first line would mislead."""
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    starts = "2" if body[:1] in " \n\t" else ""
    yield f"{head} |{starts}{'-' if ends == 0 else '' if ends == 1 else '+'}"
    yield from (f"{indent}{line}" if line else "" for line in body.split("\n"))
    yield from [""] * (ends - 1)
