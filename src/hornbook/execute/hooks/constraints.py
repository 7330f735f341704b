"""The constraints of a plan's text: the globs of what is in scope, out of it, not to be touched."""

import json
import re

from hornbook.model.plan import Constraints
from hornbook.text.globs import split_list

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BULLET = re.compile(
    r"[ \t]*[-*+][ \t]+\**(?P<name>IN|OUT|DO[ _]NOT[ _]TOUCH)\**[ \t]*:\**(?P<value>.*)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`([^`]+)`")


def read_constraints(text: str) -> Constraints:
    """What the bullets under `Constraints` say, in order; other text there says nothing."""
    found: dict[str, list[str]] = {"IN": [], "OUT": [], "DO NOT TOUCH": []}
    for line in _section(text):
        bullet = _BULLET.fullmatch(line)
        if bullet:
            found[bullet["name"].upper().replace("_", " ")] += _globs(bullet["value"])
    return Constraints(tuple(found["IN"]), tuple(found["OUT"]), tuple(found["DO NOT TOUCH"]))


def _section(text: str) -> list[str]:
    """The lines under the heading `Constraints`, up to the next that is not below it."""
    lines: list[str] = []
    level = 0
    fence = ""
    for line in text.splitlines():
        marks = _FENCE.match(line)
        if marks and (not fence or marks[1].startswith(fence)):
            fence = "" if fence else marks[1]
            continue
        heading = None if fence else _HEADING.fullmatch(line)
        if heading and (not level or len(heading[1]) <= level):
            level = len(heading[1]) if heading[2].lower() == "constraints" else 0
        elif level and not fence:
            lines.append(line)
    return lines


def _globs(text: str) -> list[str]:
    """The globs of a bullet; a sentence with commas in it stays whole."""
    value = text.strip()
    if value.startswith('"'):
        try:
            return [str(json.loads(value))]
        except ValueError:
            return [value]
    items = split_list(value)
    if any(re.search(r"\s", item) and not _QUOTED.fullmatch(item) for item in items):
        return [value]
    return [quoted[1] if (quoted := _QUOTED.fullmatch(item)) else item for item in items]
