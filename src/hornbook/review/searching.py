"""Searches that prove absence: run again over the changed files, where they must find nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import regex

from hornbook.errors import BadGlob
from hornbook.model.review import JudgedRule, Search
from hornbook.review.pattern_example import example
from hornbook.review.pattern_size import size_of
from hornbook.review.search_words import indented, loosened, shared_words
from hornbook.text.globs import parse_set

PATIENCE_SECONDS = 2
LONGEST_PATTERN = 1000
MOST_GLOBS = 100
MOST_PIECES = 10_000
DEEPEST = 40
FEWEST_LETTERS = 2
# Kinds of files that hold prose, data or pictures, and no code.
_PROSE = "adoc md mdc pdf rst txt LICENSE"
_DATA = "bin cfg conf csv gif ico ini jpeg jpg json lock png svg toml tsv webp xml yaml yml"
NO_CODE = frozenset(f"{_PROSE} {_DATA}".split())  # a list of forty lines is no help
_BETWEEN_FILES = "\n\0\n"
# What lets a pattern look like a search and find nothing ever: look-around, comments, the
# ends of a text, conditions. Groups, names and the flags i, m, s stay.
_TRICKS = re.compile(r"\\[AZzG]|\(\?(?!:|P<\w+>|[ims]*\)|[ims]*:)")
_LETTERS = re.compile(r"\\.|\[[^\]]*\]|\(\?(?:[ims]*[:)]|P<\w+>)|\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of a search: why it does not count, and what a person should look at."""

    problems: tuple[str, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()


class Searches:
    """Runs the searches of one review; after one that takes too long it runs no other.

    `changed` holds the texts of the changed files; a changed file without one cannot be read.
    `rules` holds the rules' own words by id.
    """

    def __init__(self, changed: Mapping[str, str], rules: Mapping[str, str] | None = None) -> None:
        self._changed = {path: text.replace("\r\n", "\n") for path, text in changed.items()}
        self._code = [path for path in changed if _kind(path) not in NO_CODE]
        self._rules = rules or {}
        self._exhausted = False

    def look(self, search: Search, rule: JudgedRule) -> Looked:
        """Run a search: it may prove nothing, look elsewhere, or find what must not be there."""
        if len(search.paths) > MOST_GLOBS:
            return Looked((f"the search names over {MOST_GLOBS} globs: write fewer.",))
        try:
            chosen = self._chosen(search.paths)
        except BadGlob as problem:
            return Looked((f"the search's paths are no globs: {problem}",))
        wrong = next(self._wrong(search, rule, chosen), None)
        if wrong is not None:
            return Looked((wrong,))
        return Looked(warnings=tuple(self._doubtful(search, rule, chosen)))

    def _chosen(self, paths: Sequence[str]) -> list[str]:
        globs = parse_set(paths) if paths else None
        return sorted(
            path for path in self._changed if globs is None or globs.match(path) is not None
        )

    def _wrong(self, search: Search, rule: JudgedRule, chosen: Sequence[str]) -> Iterator[str]:
        weak = _weakness(search.pattern)
        if weak:
            yield f"the search for {search.pattern!r} proves nothing: {weak}"
        if not chosen:
            asked = ", ".join(search.paths) or "every changed file"
            yield f"the search looks at no changed file ({asked}): name files that it touches."
        left = left_out(chosen, rule.files or self._code)
        if left.code:
            named = ", ".join(left.code)
            yield f"the search leaves out {named}, which the rule binds: look there too."
        if self._exhausted:
            yield "an earlier search took too long, so that this one was not run: mend that one."
        else:
            yield from self._run(search.pattern, chosen)

    def _run(self, pattern: str, chosen: Sequence[str]) -> Iterator[str]:
        try:
            if example(pattern) is None:
                yield (
                    f"the search for {pattern!r} proves nothing: no text could be made that it "
                    "finds. Write plainly what must not be there."
                )
            found = self._found(pattern, chosen)
            hidden = self._found(indented(pattern), chosen)
        except regex.error as problem:
            yield f"the search's pattern is no regular expression: {problem}."
        except TimeoutError:
            self._exhausted = True
            yield f"the search for {pattern!r} takes too long: write a simpler pattern."
        else:
            if found is not None:
                yield f"the search for {pattern!r} is not empty: {found} has it."
            elif hidden is not None:
                yield f"the search for {pattern!r} misses {hidden}, which has it behind blanks."

    def _doubtful(
        self, search: Search, rule: JudgedRule, chosen: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        """What may be right, and what nobody but a person can tell."""
        pattern = search.pattern
        rule_text = self._rules.get(rule.id, "")
        words = shared_words(pattern, rule_text)
        if rule_text and not words:
            said = (
                f"the search for {pattern!r} has no word in common with the rule: is it about it?"
            )
            yield "unrelated_search", said
        left = left_out(chosen, rule.files or self._code)
        if left.rest:
            named = ", ".join(left.rest)
            yield "partial_search", f"the search leaves out {named}, which the rule binds."
        nearly = self._nearly(pattern, words, chosen)
        if nearly is not None:
            yield "narrow_search", f"the search for {pattern!r} finds nothing, but {nearly}."

    def _nearly(self, pattern: str, words: Sequence[str], chosen: Sequence[str]) -> str | None:
        """Where a search that is not tied to letters and lines, or one for its words, finds."""
        named = "|".join(map(regex.escape, words))
        tries = ((loosened(pattern), "the same in other letters, or elsewhere on the line"),) + (
            ((rf"\b(?:{named})\b", "a word of it and of the rule"),) if words else ()
        )
        for wider, what in tries:
            try:
                found = self._found(wider, chosen, regex.IGNORECASE)
            except (regex.error, TimeoutError):
                continue
            if found is not None:
                return f"{found} has {what}"
        return None

    def _found(self, pattern: str, chosen: Sequence[str], flags: int = 0) -> str | None:
        """The first place where a pattern finds something."""
        compiled = regex.compile(pattern, regex.MULTILINE | flags)
        text = _BETWEEN_FILES.join(self._changed[path] for path in chosen)
        match = compiled.search(text, timeout=PATIENCE_SECONDS)
        if match is None:
            return None
        if _BETWEEN_FILES in match[0] and len(chosen) > 1:
            alone = (self._found(pattern, [path], flags) for path in chosen)
            return next(filter(None, alone), None)
        before = text[: match.start()]
        path = chosen[before.count(_BETWEEN_FILES)]
        return f"{path}:{before.rpartition(_BETWEEN_FILES)[2].count(chr(10)) + 1}"


def _weakness(pattern: str) -> str:
    if len(pattern) > LONGEST_PATTERN:
        return f"it has over {LONGEST_PATTERN} characters: write a simpler one."
    size = size_of(pattern)
    if size.pieces > MOST_PIECES or size.depth > DEEPEST:
        return "it repeats or nests too much: write a simpler one."
    trick = _TRICKS.search(pattern)
    if trick is not None:
        return f"`{trick[0]}` can keep it from ever matching: write it without."
    plain = _LETTERS.sub(" ", pattern)
    if sum(letter.isalnum() for letter in plain) < FEWEST_LETTERS:
        return f"it has fewer than {FEWEST_LETTERS} plain letters: write what must not be there."
    return ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files that the rule binds and a search does not look at: code, or of a kind that it looks
    at; and the rest."""

    code: tuple[str, ...]
    rest: tuple[str, ...]


def left_out(chosen: Sequence[str], bound: Sequence[str]) -> LeftOut:
    """The files that the rule binds and that are not searched.

    Prose and data beside the code that a search looks at may stay out; more code may not.
    """
    kinds = {_kind(path) for path in chosen}
    missing = [path for path in bound if path not in chosen]
    if bound and not set(chosen) & set(bound):
        return LeftOut(tuple(missing), ())
    code = [path for path in missing if _kind(path) in kinds or _kind(path) not in NO_CODE]
    return LeftOut(tuple(code), tuple(path for path in missing if path not in code))


def _kind(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else name
