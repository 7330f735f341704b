"""Makes a text that a search's pattern finds, to see whether it can find anything at all."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import regex

Option = TypeVar("Option")
TRIES = 60
LONGEST = 8000
PATIENCE_SECONDS = 1
_AROUND = ("", " ", "a", "\n", ".")
_LETTERS = " aA0_.-(\"'=;/\n\tzZ9é"
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
    made = _Reader(pattern).branches()
    for attempt in range(TRIES):
        try:
            text = made(_Choices(attempt))
        except _TooLong:
            continue
        for before in _AROUND:
            for after in _AROUND:
                whole = before + text + after
                if compiled.search(whole, timeout=PATIENCE_SECONDS) is not None:
                    return whole
    return None


class _Reader:
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
        times = _TIMES.match(self._pattern, self._at)
        if times is None or (times[1] is None and not times[2] and not times[4]):
            return atom
        self._at = times.end()
        if times[1]:
            fewest, most = {"*": (0, 2), "+": (1, 3), "?": (0, 1)}[times[1]]
        else:
            fewest = int(times[2] or 0)
            most = int(times[4]) if times[4] else fewest + bool(times[3])
        counts = sorted({min(n, LONGEST + 1) for n in (fewest, fewest + 1, most)})
        counts = [n for n in counts if n <= most]
        return lambda choices: "".join(atom(choices) for _ in range(choices.of(counts or [fewest])))

    def _taken(self, form: re.Pattern[str]) -> str | None:
        """What stands here in a form, which is then behind us."""
        found = form.match(self._pattern, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found[0]


def _one_of(kind: str, own: str) -> _Made:
    """What makes one of the letters that a class has: its own, or usual ones."""
    try:
        compiled = regex.compile(kind)
    except regex.error:
        return lambda choices: choices.written(kind)
    letters = [each for each in dict.fromkeys((*_LETTERS, *own)) if compiled.fullmatch(each)]
    return lambda choices: choices.written(choices.of(letters) if letters else "")
