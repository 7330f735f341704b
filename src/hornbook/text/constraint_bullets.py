"""The bullets that a plan states its constraints with: `- IN: glob`, one glob or a comma list."""

import json
import re

KINDS = ("IN", "OUT", "DO NOT TOUCH")

_BULLET = re.compile(
    r"[ \t]*[-*+][ \t]+\**(?P<name>IN|OUT|DO[ _]NOT[ _]TOUCH)\**[ \t]*:\**(?P<value>.*)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[^\s\"`][^\x00-\x1f\x7f\x85\u2028\u2029]*")
_QUOTED = re.compile(r"`([^`]+)`")


def read_bullet(line: str) -> tuple[str, list[str]] | None:
    """The kind and the globs of a bullet; None if the line is none."""
    bullet = _BULLET.fullmatch(line)
    if bullet is None:
        return None
    return bullet["name"].upper().replace("_", " "), _items(bullet["value"])


def render_bullet(kind: str, glob: str) -> str:
    """The bullet of one constraint; a text that would be misread is a JSON string."""
    plain = _PLAIN.fullmatch(glob) and glob == glob.strip() and _items(glob) == [glob]
    return f"- {kind}: {glob if plain else json.dumps(glob)}"


def split_globs(text: str) -> list[str]:
    """The items of a comma list; commas inside braces do not count."""
    items, depth, item = [], 0, ""
    for character in text:
        depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and depth == 0:
            items.append(item)
            item = ""
        else:
            item += character
    return [each.strip() for each in (*items, item) if each.strip()]


def _items(text: str) -> list[str]:
    """The globs of a bullet; a sentence with commas in it stays whole."""
    value = text.strip()
    if value.startswith('"'):
        try:
            found = json.loads(value)
        except ValueError:
            return [value]
        return [found] if isinstance(found, str) else [value]
    items = split_globs(value)
    if any(re.search(r"\s", item) and not _QUOTED.fullmatch(item) for item in items):
        return [value]
    return [
        quoted[1] if (quoted := _QUOTED.fullmatch(item)) is not None else item for item in items
    ]
