"""Searches that prove absence: run again over the changed files, where they must find nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence

import regex

from hornbook.errors import BadGlob
from hornbook.model.review import JudgedRule, Search
from hornbook.text.globs import parse_set

PATIENCE_SECONDS = 2
LONGEST_PATTERN = 1000
FEWEST_LETTERS = 2
_BETWEEN_FILES = "\n\0\n"
# What lets a pattern look like a search and find nothing ever: look-around, comments, the
# ends of a text, conditions. Groups, names and the flags i, m, s stay.
_TRICKS = re.compile(r"\\[AZzG]|\(\?(?!:|P<\w+>|[ims]*\)|[ims]*:)")
_LETTERS = re.compile(r"\\.|\[[^\]]*\]|\(\?[^)]*\)|\{[^}]*\}")


class Searches:
    """Runs the searches of one review; after one that takes too long it runs no other.

    `changed` holds the texts of the changed files; a changed file without one cannot be read.
    """

    def __init__(self, changed: Mapping[str, str]) -> None:
        self._changed = changed
        self._exhausted = False

    def problems(self, search: Search, rule: JudgedRule) -> Iterator[str]:
        """Why a search does not count: it proves nothing, looks elsewhere, or found it."""
        weak = _weakness(search.pattern)
        if weak:
            yield f"the search for {search.pattern!r} proves nothing: {weak}"
            return
        try:
            chosen = self._chosen(search.paths)
        except BadGlob as problem:
            yield f"the search's paths are no globs: {problem}"
            return
        if not chosen:
            asked = ", ".join(search.paths) or "every changed file"
            yield f"the search looks at no changed file ({asked}): name files that it touches."
            return
        left = _left_out(chosen, rule.files)
        if left:
            yield f"the search leaves out {', '.join(left)}, which the rule binds: look there too."
            return
        yield from self._found(search.pattern, chosen)

    def _chosen(self, paths: Sequence[str]) -> list[str]:
        globs = parse_set(paths) if paths else None
        return sorted(
            path for path in self._changed if globs is None or globs.match(path) is not None
        )

    def _found(self, pattern: str, chosen: Sequence[str]) -> Iterator[str]:
        if self._exhausted:
            yield "an earlier search took too long, so that this one was not run: mend that one."
            return
        text = _BETWEEN_FILES.join(self._changed[path] for path in chosen)
        try:
            match = regex.compile(pattern, regex.MULTILINE).search(text, timeout=PATIENCE_SECONDS)
        except regex.error as problem:
            yield f"the search's pattern is no regular expression: {problem}."
            return
        except TimeoutError:
            self._exhausted = True
            yield f"the search for {pattern!r} takes too long: write a simpler pattern."
            return
        if match is not None:
            before = text[: match.start()]
            path = chosen[before.count(_BETWEEN_FILES)]
            line = before.rpartition(_BETWEEN_FILES)[2].count("\n") + 1
            yield f"the search for {pattern!r} is not empty: {path}:{line} has it."


def _weakness(pattern: str) -> str:
    if len(pattern) > LONGEST_PATTERN:
        return f"it has over {LONGEST_PATTERN} characters: write a simpler one."
    trick = _TRICKS.search(pattern)
    if trick is not None:
        return f"`{trick[0]}` can keep it from ever matching: write it without."
    plain = _LETTERS.sub(" ", pattern)
    if sum(letter.isalnum() for letter in plain) < FEWEST_LETTERS:
        return f"it has fewer than {FEWEST_LETTERS} plain letters: write what must not be there."
    return ""


def _left_out(chosen: Sequence[str], bound: Sequence[str]) -> list[str]:
    """The files that the rule binds, of a kind that is searched, and that are not searched.

    Prose beside the code that a search looks at may stay out; more code may not.
    """
    kinds = {_kind(path) for path in chosen}
    missing = [path for path in bound if path not in chosen]
    alike = [path for path in missing if _kind(path) in kinds]
    nothing_bound = bool(bound) and not set(chosen) & set(bound)
    return missing if nothing_bound else alike


def _kind(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2] if "." in name else name
