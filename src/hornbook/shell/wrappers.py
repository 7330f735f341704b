"""Reads the words of a wrapper, a program that runs another one, as the table of programs says.

Both readers of commands come here, so that what a gate may not hide behind `pipx run` is what an
agent may not write behind it either. Standard library only, for hooks.
"""

import re
from collections.abc import Sequence

from hornbook.shell.cheap_tuple import NamedTuple
from hornbook.shell.programs import (
    ANY,
    BEHIND,
    FOLDER_OPTIONS,
    SCRIPT_OPTIONS,
    WRAPPERS,
    program_name,
)

_RUNS_NOTHING = frozenset({"-v", "-V"})
ASSIGNMENT = r"[A-Za-z_]\w*="


class InnerCommand(NamedTuple):
    """What a wrapper runs: the words from `start` on, or the text `script` in a shell.

    `folder` is where it runs, if an option says so. `xargs` puts what it reads for each `mark`, or
    behind the words where it `appends`.
    """

    start: int
    script: str | None = None
    folder: str | None = None
    mark: str | None = None
    appends: bool = False


def inner_command(words: Sequence[str]) -> InnerCommand | None:
    """What the wrapper at the start of the words runs; None if they start with none.

    A wrapper that runs nothing here, as `uv sync` and `command -v`, is none.
    """
    name = program_name(words[0]) if words else ""
    if name not in WRAPPERS:
        return None
    reading = _Reading(name, words)
    reading.options()
    if not reading.passes_verb() or (
        name == "command" and not _RUNS_NOTHING.isdisjoint(reading.found)
    ):
        return None
    reading.operands(WRAPPERS[name][2])
    if name == "xargs":
        mark = reading.mark()
        return InnerCommand(reading.at, mark=mark, appends=mark is None)
    script, folder = reading.value_of(SCRIPT_OPTIONS), reading.value_of(FOLDER_OPTIONS)
    return InnerCommand(reading.at, script, folder)


class _Reading:
    """Goes through the words of one wrapper: `at` is the next word, `found` its options so far."""

    def __init__(self, name: str, words: Sequence[str]) -> None:
        self._name = name
        self._words = words
        self._valued = frozenset(WRAPPERS[name][1].split())
        self._ends = frozenset(("--", *BEHIND.get(name, "").split()))
        self.at = 1
        self.found: dict[str, str] = {}

    def options(self) -> bool:
        """Read options and assignments; whether a word said that the inner command follows."""
        while self.at < len(self._words):
            word = self._words[self.at]
            if word in self._ends:
                self.at += 1
                return True
            if word.startswith("-") and word != "-":
                self.at += 1
                self._option(word)
            elif re.match(ASSIGNMENT, word):
                self.at += 1
            else:
                break
        return False

    def _option(self, word: str) -> None:
        """Keep an option with its value, which may be in the word or be the next one."""
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            self.found[name] = value if equals else self._next_word(name)
            return
        for place in range(1, len(word)):
            name = f"-{word[place]}"
            if name in self._valued:
                self.found[name] = word[place + 1 :] or self._next_word(name)
                return
            self.found[name] = ""

    def _next_word(self, name: str) -> str:
        if name not in self._valued or self.at >= len(self._words):
            return ""
        self.at += 1
        return self._words[self.at - 1]

    def passes_verb(self) -> bool:
        """Go behind the verb that makes the wrapper one, and its options, if one stands here."""
        verbs = WRAPPERS[self._name][0]
        for words in (verb.split() for verb in verbs):
            if list(self._words[self.at : self.at + len(words)]) == words:
                self.at += len(words)
                self.options()
                return True
        return not verbs

    def operands(self, count: int) -> None:
        """Go behind the wrapper's own operands, and the options behind each."""
        ended = count == ANY and self._words[self.at - 1] in self._ends
        while count and self.at < len(self._words) and not ended:
            self.at += 1
            ended = self.options() and count == ANY
            count -= 1

    def value_of(self, options: dict[str, str]) -> str | None:
        """The value of the first of the wrapper's options that is given."""
        names = options.get(self._name, "").split()
        return next((self.found[name] for name in names if name in self.found), None)

    def mark(self) -> str | None:
        """What `xargs` replaces by each line: the value of an option, or `{}`."""
        given = [self.found[name] for name in ("-I", "-i", "--replace") if name in self.found]
        return (given[0] or "{}") if given else None
