"""Searches that prove absence: run again over the changed files, where they must find nothing.

A review may say that a rule is kept because something does not stand in the change, and give the
regular expression that it looked for. That a pattern finds nothing proves little by itself: it may
be unable to match at all, look at other files than the rule is about, or be written so narrowly
that it misses what is there. So three things are asked of a search. It must be able to find: it
has plain letters, none of the constructs that can keep a pattern from ever matching, and from its
own syntax a text is made that it does match (`example`). It must look where the rule binds
(`left_out`). And it must find nothing in the changed files, also when lines are indented. Where it
finds nothing but a looser form of it does, or where it shares no word with its rule, only a person
can tell: that is a warning. Patterns come from a model, so each has a limit of size and of time.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import regex

from hornbook.errors import BadGlob
from hornbook.review.evidence.file_kinds import NO_CODE, kind_of
from hornbook.review.evidence.marked_text import forbidden_code, forbids, stands_in, ways_to_write
from hornbook.review.judgement import JudgedUnit, Search
from hornbook.text.globs import parse_set

_ESCAPE = re.compile(r"\\.", re.DOTALL)
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+")
_BEGIN = re.compile(r"(\\.)|(?<!\[)\^", re.DOTALL)
_ANCHOR = re.compile(r"(\\.)|(?<!\[)[\^$]", re.DOTALL)
# Short words of English that stand in every rule.
_FILLER = frozenset(
    ("all", "and", "any", "are", "but", "can", "for", "has", "its", "may", "new", "not", "the")
)
_BEGINNING = 4
_SHORTEST = 3


def loosened(pattern: str) -> str:
    """The pattern without the ends of lines that it is tied to."""
    return _ANCHOR.sub(lambda found: found[1] or "", pattern)


def indented(pattern: str) -> str:
    """The pattern with room for blanks wherever it wants a line to begin."""
    return _BEGIN.sub(lambda found: found[1] or r"^\s*", pattern)


def shared_words(pattern: str, rule: str) -> list[str]:
    """The words of the pattern that stand in the rule, or begin like one that does."""
    ours, theirs = _words(_ESCAPE.sub(" ", pattern)), _words(rule)
    return sorted(one for one in ours if any(_alike(one, other) for other in theirs))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} - _FILLER


def _alike(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    begins = min(shorter, _BEGINNING)
    return one == other or (shorter >= _SHORTEST and one[:begins] == other[:begins])


Option = TypeVar("Option")
TRIES = 60
LONGEST = 8000
EXAMPLE_SECONDS = 1
_AROUND = ("", " ", "a", "\n", ".")
_EXAMPLE_LETTERS = " aA0_.-(\"'=;/\n\tzZ9é"
_TIMES = re.compile(r"(?:([*+?])|\{(\d*)(,?)(\d*)\})[?+]?")
_GROUP = re.compile(r"\((?:\?(?:[a-zA-Z]*:|P<\w+>))?")
_FLAGS = re.compile(r"\(\?[a-zA-Z]+\)")
_CODE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))")
_NAMED = re.compile(r"\\[pP]\{[^}]*\}|\\.", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


class _TooLong(Exception):
    """The example would be longer than anybody looks at."""


@dataclass(slots=True)
class _Choices:
    """Which of several ways is taken at each fork of a pattern; each try takes others."""

    attempt: int
    forks: int = 0
    length: int = 0
    groups: dict[int, str] = field(default_factory=dict)

    def of(self, options: Sequence[Option]) -> Option:
        """One of the options; the first try always takes the first."""
        self.forks += 1
        self.written("")
        return options[(self.attempt * self.forks + self.attempt // 7) % len(options)]

    def written(self, text: str) -> str:
        """The text, if there is still room for it; nothing takes some room too."""
        self.length += 1 + len(text)
        if self.length > LONGEST:
            raise _TooLong
        return text


_Made = Callable[[_Choices], str]


def example(pattern: str) -> str | None:
    """A text that the pattern finds; none if no try made one.

    Raises:
        regex.error: It is no regular expression.
        TimeoutError: It takes too long even on a short text.
    """
    compiled = regex.compile(pattern, regex.MULTILINE)
    made = _PatternReader(pattern).branches()
    for attempt in range(TRIES):
        try:
            text = made(_Choices(attempt))
        except _TooLong:
            continue
        for before in _AROUND:
            for after in _AROUND:
                whole = before + text + after
                if compiled.search(whole, timeout=EXAMPLE_SECONDS) is not None:
                    return whole
    return None


class _PatternReader:
    """Reads a pattern into a way to make texts; what it does not know it takes as it stands."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._groups = 0

    def branches(self) -> _Made:
        """What makes a text of one of the branches that stand here."""
        found = [self._sequence()]
        while self._pattern.startswith("|", self._at):
            self._at += 1
            found.append(self._sequence())
        return lambda choices: choices.of(found)(choices)

    def _sequence(self) -> _Made:
        parts = list(self._parts())
        return lambda choices: "".join(part(choices) for part in parts)

    def _parts(self) -> Iterator[_Made]:
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            yield self._repeated(self._atom())

    def _atom(self) -> _Made:
        letter = self._pattern[self._at]
        if self._taken(_FLAGS) or letter in "^$":
            self._at += letter in "^$"
            return lambda choices: choices.written("")
        if letter == "(":
            return self._group()
        if letter == "\\":
            return self._escape()
        members = self._taken(_CLASS) if letter == "[" else None
        if members is not None:
            return _one_of(members, members)
        self._at += 1
        return _one_of(".", "") if letter == "." else lambda choices: choices.written(letter)

    def _group(self) -> _Made:
        opening = self._taken(_GROUP) or ""
        number = 0
        if opening == "(" or opening.startswith("(?P<"):
            self._groups += 1
            number = self._groups
        inner = self.branches()
        self._at += 1

        def made(choices: _Choices) -> str:
            choices.groups[number] = inner(choices)
            return choices.groups[number]

        return made

    def _escape(self) -> _Made:
        code = _CODE.match(self._pattern, self._at)
        if code is not None:
            self._at = code.end()
            letter = chr(int(code[1] or code[2], 16))
            return lambda choices: choices.written(letter)
        escape = self._taken(_NAMED) or "\\"
        meant = escape[1:]
        if meant.isdigit():
            number = int(meant)
            return lambda choices: choices.written(choices.groups.get(number, ""))
        if meant in {"b", "B"}:
            return lambda choices: choices.written("")
        if meant[:1].isalpha() and meant not in _CONTROLS:
            return _one_of(escape, "")
        return lambda choices: choices.written(_CONTROLS.get(meant, meant))

    def _repeated(self, atom: _Made) -> _Made:
        """The atom as often as the repetition that stands here says; once if there is none.

        Three numbers are tried: the fewest, one more, and the most, where an open end has some.
        """
        times = _TIMES.match(self._pattern, self._at)
        if times is None or not any((times[1], times[2], times[4])):
            return atom
        self._at = times.end()
        fewest, most = _bounds(times)
        tried = {min(each, LONGEST + 1) for each in (fewest, fewest + 1, most) if each <= most}
        counts = sorted(tried) or [fewest]
        return lambda choices: "".join(atom(choices) for _ in range(choices.of(counts)))

    def _taken(self, form: re.Pattern[str]) -> str | None:
        """What stands here in a form, which is then behind us."""
        found = form.match(self._pattern, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found[0]


def _bounds(times: re.Match[str]) -> tuple[int, int]:
    """How often a repetition wants its atom, at least and at most."""
    if times[1]:
        return {"*": (0, 2), "+": (1, 3), "?": (0, 1)}[times[1]]
    fewest = int(times[2] or 0)
    return fewest, int(times[4]) if times[4] else fewest + bool(times[3])


def _one_of(kind: str, own: str) -> _Made:
    """What makes one of the letters that a class has: its own, or usual ones."""
    try:
        compiled = regex.compile(kind)
    except regex.error:
        return lambda choices: choices.written(kind)
    letters = [
        each for each in dict.fromkeys((*_EXAMPLE_LETTERS, *own)) if compiled.fullmatch(each)
    ]
    return lambda choices: choices.written(choices.of(letters) if letters else "")


_PIECE = re.compile(
    r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d*),?(\d*)\}|.",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class PatternSize:
    """How many pieces a pattern has, and how deeply its groups are nested."""

    pieces: int
    depth: int


def size_of(pattern: str) -> PatternSize:
    """The size of a pattern; one that is no regular expression has some size too."""
    open_groups, last, deepest = [0], 0, 0
    for piece in _PIECE.finditer(pattern):
        times = [int(each) for each in (piece[1], piece[2]) if each]
        if times:
            more = last * (max(*times, 1) - 1)
            last += more
            open_groups[-1] += more
        elif piece[0] == "(":
            open_groups.append(0)
            deepest = max(deepest, len(open_groups) - 1)
        elif piece[0] == ")" and len(open_groups) > 1:
            last = open_groups.pop() + 1
            open_groups[-1] += last
        elif piece[0] not in "*+?|":
            last = 1
            open_groups[-1] += 1
    return PatternSize(sum(open_groups), deepest)


PATIENCE_SECONDS = 2
LONGEST_PATTERN = 1000
MOST_GLOBS = 100
MOST_PIECES = 10_000
DEEPEST = 40
FEWEST_LETTERS = 2
_BETWEEN_FILES = "\n\0\n"
# What lets a pattern look like a search and find nothing ever: look-around, comments, the
# ends of a text, conditions. Groups, names and the flags i, m, s stay.
_TRICKS = re.compile(
    r"\\[AZzG]|\[\^\\(?:s\\S|S\\s|w\\W|W\\w|d\\D|D\\d)\]|\(\?(?!:|P<\w+>|[ims]*\)|[ims]*:)"
)
_LETTERS = re.compile(r"\\.|\[\^?|\(\?(?:[ims]*[:)]|P<\w+>)|\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What came of a search: why it does not count, and what a person should look at.

    `chosen` are the files that it looked at. It `proves` that a rule is kept if the rule shows what
    it forbids and the pattern finds that. Where the rule only says in words what it forbids and the
    pattern is about these, it `supports` a place in a hunk that is cited beside it.
    """

    problems: tuple[str, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    chosen: tuple[str, ...] = ()
    proves: bool = False
    supports: bool = False


def finder(pattern: str) -> Callable[[str], bool]:
    """Whether the pattern would find a piece of forbidden code, however it is written."""
    compiled = regex.compile(pattern, regex.MULTILINE)

    # What is tied to the end of a line must find code that has something behind it.
    ends = re.search(r"(?<!\\)\$", pattern) is not None
    named = set() if ends else set(re.findall(r"\w+", _ESCAPE.sub(" ", pattern)))

    def finds(code: str) -> bool:
        if code in named:
            return True
        try:
            ways = (way for way in ways_to_write(code) if not ends or way.endswith("x"))
            found = (compiled.search(way, timeout=EXAMPLE_SECONDS) for way in ways)
            return any(each is not None for each in found)
        except TimeoutError:
            return False

    return finds


class Searches:
    """Runs the searches of one review; after one that takes too long it runs no other.

    `changed` holds what changed of the files; a changed file without a text cannot be read.
    `rules` holds the rules' own words by id.
    """

    def __init__(self, changed: Mapping[str, str], rules: Mapping[str, str] | None = None) -> None:
        self._changed = {path: text.replace("\r\n", "\n") for path, text in changed.items()}
        self._code = [path for path in changed if kind_of(path) not in NO_CODE]
        self._rules = rules or {}
        self._exhausted = False

    def look(self, search: Search, rule: JudgedUnit) -> SearchResult:
        """Run a search: it may prove nothing, look elsewhere, or find what must not be there."""
        if len(search.paths) > MOST_GLOBS:
            return SearchResult((f"the search names over {MOST_GLOBS} globs: write fewer.",))
        try:
            chosen = self._chosen(search.paths)
        except BadGlob as problem:
            return SearchResult((f"the search's paths are no globs: {problem}",))
        text = self._rules.get(rule.id, "")
        forbidden = forbidden_code(text)
        wrong = next(self._wrong(search, rule, chosen, forbidden), None)
        if wrong is not None:
            return SearchResult((wrong,))
        proves = any(map(finder(search.pattern), forbidden))
        doubtful = list(self._misses(search, chosen, forbidden) if proves else ())
        doubtful += self._doubtful(search, rule, chosen, forbidden, proves=proves)
        supports = not forbidden and not doubtful and forbids(text)
        return SearchResult((), tuple(doubtful), tuple(chosen), proves, supports)

    def _misses(
        self, search: Search, chosen: Sequence[str], forbidden: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        """What the rule forbids, stands in the code all the same, and the pattern does not find."""
        about = filter(finder(search.pattern), forbidden)
        for code in about:
            for path in chosen:
                for number, line in enumerate(self._changed[path].split("\n"), 1):
                    if code in line and stands_in(code, line):
                        said = f"the search for {search.pattern!r} does not find `{code}`, which "
                        yield "narrow_search", f"{said}the rule forbids and {path}:{number} has."
                        return

    def _chosen(self, paths: Sequence[str]) -> list[str]:
        globs = parse_set(paths) if paths else None
        return sorted(
            path for path in self._changed if globs is None or globs.match(path) is not None
        )

    def _wrong(
        self, search: Search, rule: JudgedUnit, chosen: Sequence[str], forbidden: Sequence[str]
    ) -> Iterator[str]:
        weak = _weakness(search.pattern) or self._wordless(search.pattern, forbidden)
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

    def _wordless(self, pattern: str, forbidden: Sequence[str]) -> str:
        """Why a pattern with hardly a letter finds nothing in particular, if that is so.

        What a rule forbids may have no letter itself, as `!!` has none.
        """
        plain = _LETTERS.sub(" ", pattern)
        if sum(letter.isalnum() for letter in plain) >= FEWEST_LETTERS:
            return ""
        try:
            finds = finder(pattern)
            if not finds("") and any(map(finds, forbidden)):
                return ""
        except regex.error as problem:
            return f"it is no regular expression: {problem}."
        return f"it has fewer than {FEWEST_LETTERS} plain letters: write what must not be there."

    def _run(self, pattern: str, chosen: Sequence[str]) -> Iterator[str]:
        try:
            if example(pattern) is None:
                yield (
                    f"the search for {pattern!r} proves nothing: no text could be made that it "
                    "finds. Write plainly what must not be there."
                )
            found = self._first_match(pattern, chosen)
            hidden = self._first_match(indented(pattern), chosen)
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
        self,
        search: Search,
        rule: JudgedUnit,
        chosen: Sequence[str],
        forbidden: Sequence[str],
        *,
        proves: bool,
    ) -> Iterator[tuple[str, str]]:
        """What may be right, and what nobody but a person can tell."""
        pattern = search.pattern
        rule_text = self._rules.get(rule.id, "")
        words = shared_words(pattern, rule_text)
        if forbidden and not proves:
            shown = ", ".join(f"`{' '.join(code.split())[:40]}`" for code in forbidden[:3])
            said = f"the search for {pattern!r} would not find what the rule forbids ({shown})."
            yield "unrelated_search", said
        elif rule_text and not words and not proves:
            said = (
                f"the search for {pattern!r} has no word in common with the rule: is it about it?"
            )
            yield "unrelated_search", said
        left = left_out(chosen, rule.files or self._code)
        if left.rest:
            named = ", ".join(left.rest)
            yield "partial_search", f"the search leaves out {named}, which the rule binds."
        nearly = self._nearly(pattern, () if proves else words, chosen)
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
                found = self._first_match(wider, chosen, regex.IGNORECASE)
            except (regex.error, TimeoutError):
                continue
            if found is not None:
                return f"{found} has {what}"
        return None

    def _first_match(self, pattern: str, chosen: Sequence[str], flags: int = 0) -> str | None:
        """The first place where a pattern finds something."""
        compiled = regex.compile(pattern, regex.MULTILINE | flags)
        text = _BETWEEN_FILES.join(self._changed[path] for path in chosen)
        match = compiled.search(text, timeout=PATIENCE_SECONDS)
        if match is None:
            return None
        if _BETWEEN_FILES in match[0] and len(chosen) > 1:
            alone = (self._first_match(pattern, [path], flags) for path in chosen)
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
    return ""


@dataclass(frozen=True, slots=True)
class UnsearchedFiles:
    """Files that the rule binds and a search does not look at: code, or of a kind that it looks
    at; and the rest."""

    code: tuple[str, ...]
    rest: tuple[str, ...]


def left_out(chosen: Sequence[str], bound: Sequence[str]) -> UnsearchedFiles:
    """The files that the rule binds and that are not searched.

    Prose and data beside the code that a search looks at may stay out; more code may not.
    """
    missing = [path for path in bound if path not in chosen]
    if len(missing) == len(bound):
        return UnsearchedFiles(tuple(missing), ())
    may_stay_out = NO_CODE - set(map(kind_of, chosen))
    free = tuple(path for path in missing if kind_of(path) in may_stay_out)
    return UnsearchedFiles(tuple(path for path in missing if path not in free), free)
