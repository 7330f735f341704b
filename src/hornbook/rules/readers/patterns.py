"""The patterns in a document's metadata, translated into our dialect and checked."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hornbook.errors import BadGlob
from hornbook.rules.document import Pattern, Problems
from hornbook.rules.metadata.frontmatter import Parts
from hornbook.rules.readers.protocol import ReadBinding
from hornbook.text.globs import parse, split_list
from hornbook.vocabulary.terms import Activation

Translate = Callable[[str], str]

_WINDOWS = re.compile(r"\\[\w.]")
_EVERYTHING = frozenset({"**", "**/*", "/**", "/**/*"})


@dataclass(frozen=True, slots=True)
class ReadPatterns:
    """The patterns under some keys; not `sound` if one of them could not be used."""

    given: bool
    sound: bool
    patterns: tuple[Pattern, ...]

    def binding(self, otherwise: Activation) -> ReadBinding:
        """Return `glob` with the patterns, `unknown` if one is wrong, else `otherwise`."""
        if not self.sound:
            return ReadBinding(Activation.UNKNOWN, self.patterns)
        if self.patterns:
            return ReadBinding(Activation.GLOB, self.patterns)
        return ReadBinding(otherwise)

    @property
    def everything(self) -> bool:
        """Whether one pattern, as it was written, names every file."""
        return self.sound and any(pattern.raw in _EVERYTHING for pattern in self.patterns)


def read_patterns(
    parts: Parts, keys: tuple[str, ...], problems: Problems, translate: Translate = str
) -> ReadPatterns:
    """Return the patterns under any of `keys`: texts, comma lists or lists of them."""
    given, sound = False, True
    patterns: list[Pattern] = []
    for key in keys:
        value = parts.metadata.get(key)
        if value is None:
            continue
        given = True
        for written, line in _written(parts, key, value):
            pattern = _checked(key, written, line, translate, problems)
            sound = sound and pattern is not None
            patterns += [pattern] if pattern else []
    if patterns and all(pattern.glob.startswith("!") for pattern in patterns):
        sound = False
        remedy = "add a pattern to exclude from, such as `**`"
        problems.error(patterns[0].line, "bad_glob", f"There are only exclusions: {remedy}.")
    return ReadPatterns(given, sound, tuple(patterns))


def _written(parts: Parts, key: str, value: object) -> Iterator[tuple[object, int | None]]:
    line = parts.lines.get(key)
    lines = parts.item_lines.get(key, ())
    for position, item in enumerate(value if isinstance(value, list) else [value]):
        item_line = lines[position] if position < len(lines) else line
        if not isinstance(item, str):
            yield item, item_line
            continue
        for row in item.split("\n"):
            for pattern in split_list(row):
                yield pattern, item_line


def _checked(
    key: str, written: object, line: int | None, translate: Translate, problems: Problems
) -> Pattern | None:
    if not isinstance(written, str):
        message = f"`{key}` holds {written!r}, which is no pattern: write a text in quotes."
        problems.error(line, "bad_value", message)
        return None
    if _WINDOWS.search(written):
        message = f"Pattern `{written}` has a `\\` between names: write `/`."
        problems.error(line, "bad_glob", message)
        return None
    negated = written.startswith("!")
    try:
        parse(written)
        glob = "!" + translate(written[1:]) if negated else translate(written)
        parse(glob)
    except BadGlob as error:
        problems.error(line, "bad_glob", str(error))
        return None
    return Pattern(glob, written, line)
