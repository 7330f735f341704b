"""Metadata values as the types they should have; what does not fit is told."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from hornbook.rules.document import Problems
from hornbook.rules.metadata.frontmatter import Parts
from hornbook.rules.metadata.keys import KNOWN_KEYS, OWN_KEYS, nearest
from hornbook.text.globs import split_list

Term = TypeVar("Term", bound=StrEnum)


def text(parts: Parts, key: str, problems: Problems) -> str | None:
    """Return a value as one text, numbers as they were written; None if absent or empty."""
    value = parts.metadata.get(key)
    if value is None:
        return None
    if isinstance(value, list | dict):
        message = f"`{key}` holds a {_kind(value)} and was not used: write one text."
        problems.warning(parts.lines.get(key), "bad_value", message)
        return None
    found = value if isinstance(value, str) else parts.raw.get(key, str(value))
    return found.strip() or None


def first_text(parts: Parts, keys: tuple[str, ...], problems: Problems) -> str | None:
    """Return the text of the first of `keys` that has one."""
    for key in keys:
        found = text(parts, key, problems)
        if found is not None:
            return found
    return None


def words(parts: Parts, keys: tuple[str, ...], problems: Problems) -> tuple[str, ...]:
    """Return the items of lists or comma texts under any of `keys`, each once."""
    found: dict[str, None] = {}
    for key in keys:
        value = parts.metadata.get(key)
        if isinstance(value, dict):
            text(parts, key, problems)
        elif isinstance(value, list):
            found.update((item, None) for item in map(_line, value) if item)
        elif value is not None:
            found.update((item, None) for item in split_list(str(value)))
    return tuple(found)


def sentences(parts: Parts, key: str, problems: Problems) -> tuple[str, ...]:
    """Return a list of sentences, or the lines of a text without their bullets."""
    value = parts.metadata.get(key)
    if isinstance(value, list):
        return tuple(item for item in map(_line, value) if item)
    written = text(parts, key, problems)
    lines = (line.strip().lstrip("-*").strip() for line in (written or "").split("\n"))
    return tuple(line for line in lines if line)


def term(
    parts: Parts, key: str, strictest: Term, problems: Problems, *, guess: bool = False
) -> Term | None:
    """Return a value from a fixed set, None if it is not given.

    A value outside the set counts as `strictest`, or with `guess` as the nearest name if one
    is near; either way that is told.
    """
    written = text(parts, key, problems)
    if written is None:
        return strictest if isinstance(parts.metadata.get(key), list | dict) else None
    kind = type(strictest)
    names = [member.value for member in kind]
    if written.lower() in names:
        return kind(written.lower())
    near = nearest(written, names)
    used = kind(near) if near and guess else strictest
    hint = f"did you mean {near}" if near else f"write one of {', '.join(names)}"
    message = f"`{key}: {written}` is no {key}; it counts as {used.value}: {hint}."
    problems.warning(parts.lines.get(key), "bad_value", message)
    return used


def flag(parts: Parts, key: str, problems: Problems) -> bool | None:
    """Return a value that is true or false, None if it is neither; a text is told."""
    value = parts.metadata.get(key)
    if value is None or isinstance(value, bool):
        return value
    message = f"`{key}: {parts.raw.get(key, value)}` is not true or false and was not used"
    problems.warning(parts.lines.get(key), "bad_value", f"{message}: write it without quotes.")
    return None


def _line(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_line(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_line, value))
    return "" if value is None else " ".join(str(value).split())


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "mapping"


SCOPE_KEYS = ("applies_to", "globs", "applyTo", "paths", "fileMatchPattern", "alwaysApply")
"""The keys with which some format says which files a rule binds."""


_ALWAYS = frozenset(
    {"binds always", "loads always", "binds its whole folder", "is always included"}
)


def tell_misspelt(parts: Parts, names: Iterable[str], problems: Problems) -> None:
    """Tell each unknown key that is near one of `names`: it would silently change a rule."""
    wanted = tuple(names)
    for key in parts.metadata:
        near = None if key in KNOWN_KEYS or key in wanted else nearest(key, wanted)
        if near:
            meant = OWN_KEYS.get(near, near) if "applies_to" in wanted else near
            message = f"`{key}` is no key and was not used: did you mean `{meant}`?"
            problems.warning(parts.lines.get(key), "unknown_key", message)


def tell_foreign(parts: Parts, own: tuple[str, ...], effect: str, problems: Problems) -> None:
    """Tell the scope keys of other formats, where the format's `own` keys are all missing.

    `alwaysApply: true` misleads nobody in a format whose rules bind always.
    """
    if any(key in parts.metadata for key in own):
        return
    remedy = f": write `{own[0]}:`" if own else ""
    for key in SCOPE_KEYS:
        said_anyway = key == "alwaysApply" and parts.metadata.get(key) is True and effect in _ALWAYS
        if key in parts.metadata and not said_anyway:
            message = f"`{key}` is not a key of this format, so the rule {effect}{remedy}."
            problems.warning(parts.lines.get(key), "not_a_key", message)
