"""Reads a shell command line: its simple commands in order, with words and redirections.

Everything that runs is found, also inside `$(…)`, backticks, `<(…)`, subshells and the bodies of
heredocs. What a word stands for is left open: `shell_words` says that with the values at hand.
"""

import re

from hornbook.shell.guard.reader import DEEPEST, ShellSyntax, Word, WordPiece, WordReader, literal
from hornbook.shell.guard.values import NamedTuple

__all__ = ["ENTER", "LEAVE", "Command", "Redirect", "ShellSyntax", "Word", "literal", "read"]

ENTER = "("
LEAVE = ")"
"""Around what runs in a process of its own: a `cd` or an assignment inside ends with it."""

# Rare syntax is left to regexes that are compiled when they are met: that takes start-up time.
_ASSIGNMENT = r"([A-Za-z_]\w*)(?:\[[^\]]*\])?(\+?)="
_REDIRECTS = ("&>>", "&>", ">>", ">|", ">&", "<<<", "<<-", "<<", "<>", "<&", ">", "<")
_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", ";", "&", "|")
_SKIPPED = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "while",
        "until",
        "do",
        "done",
        "esac",
        "{",
        "}",
        "!",
        "coproc",
    ]
)


class Redirect(NamedTuple):
    """Where a stream of a command leads; `body` has the lines of a heredoc."""

    operator: str
    target: Word
    body: list[str]


class VariableAssignment(NamedTuple):
    """A variable and the words it may stand for; a loop has one for each round."""

    name: str
    values: tuple[Word, ...]


class Command(NamedTuple):
    """One simple command; `apart` if it runs in a process of its own."""

    assignments: list[VariableAssignment]
    words: list[Word]
    redirects: list[Redirect]
    apart: bool


def read(text: str, depth: int = 0) -> list[Command | str]:
    """The commands of a text in the order they stand, with ENTER and LEAVE around subshells.

    Raises:
        ShellSyntax: A quote or bracket does not end, or the nesting is too deep.
    """
    reader = _Reader(text, depth)
    reader.commands("")
    return reader.items


class _Building:
    """A command while it is read."""

    def __init__(self) -> None:
        self.assignments: list[VariableAssignment] = []
        self.words: list[Word] = []
        self.redirects: list[Redirect] = []
        self.apart = False

    def starts(self) -> bool:
        return not self.words and not self.assignments

    def built(self) -> Command | None:
        if self.starts() and not self.redirects:
            return None
        return Command(self.assignments, self.words, self.redirects, self.apart)


class _Reader(WordReader):
    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.items: list[Command | str] = []
        self._awaited: list[tuple[str, bool, bool, list[str]]] = []
        self._now = _Building()

    # Lists of commands

    def commands(self, closing: str) -> None:
        """Read up to the closing bracket, or to the end."""
        outer, self._now = self._now, _Building()
        while True:
            self._skip_blanks()
            if self._at >= len(self._text):
                if closing:
                    raise ShellSyntax(f"`{closing}` is missing")
                break
            if self._text[self._at] == ")" and closing:
                self._at += 1
                break
            self._step()
        self._finish()
        self._now = outer

    def _skip_blanks(self) -> None:
        text = self._text
        while self._at < len(text):
            if text[self._at] in " \t\r":
                self._at += 1
            elif text.startswith("\\\n", self._at):
                self._at += 2
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return

    def _step(self) -> None:
        character = self._text[self._at]
        if character == "\n":
            self._at += 1
            self._finish()
            self._heredocs()
        elif character == "(":
            self._bracket()
        elif character == ")":  # the pattern of a `case` ends so
            self._at += 1
            self._finish()
        elif self._redirect():
            return
        elif operator := self._one_of(_OPERATORS, self._at):
            self._operator(operator)
        else:
            self._word_of_command()

    def _one_of(self, marks: tuple[str, ...], at: int) -> str:
        return next((mark for mark in marks if self._text.startswith(mark, at)), "")

    def _finish(self) -> None:
        built = self._now.built()
        if built is not None:
            self.items.append(built)
        self._now = _Building()

    def _operator(self, operator: str) -> None:
        self._at += len(operator)
        pipes = operator in {"|", "|&"}
        if pipes or operator == "&":
            self._now.apart = True
        self._finish()
        self._now.apart = pipes

    def _bracket(self) -> None:
        if not self._now.starts():  # `name()` defines a function
            self._at += 1
            self._skip_blanks()
            if not self._text.startswith(")", self._at):
                raise ShellSyntax("`(` in the middle of a command")
            self._at += 1
            self._now = _Building()
        elif not self.arithmetic("(("):
            self._at += 1
            self.nested()

    def nested(self) -> None:
        """Read the commands up to the closing bracket, as those of a subshell."""
        self._deeper()
        self.items.append(ENTER)
        self.commands(")")
        self.items.append(LEAVE)
        self._depth -= 1

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ShellSyntax("the nesting is too deep")

    # Words in a command

    def _word_of_command(self) -> None:
        word = self.word()
        plain = literal(word)
        if not self._now.words and self._is_assignment(word):
            return
        if self._now.starts() and plain is not None and self._keyword(plain):
            return
        self._now.words.append(word)

    def _keyword(self, word: str) -> bool:
        if word in _SKIPPED:
            return True
        if word in {"for", "select"}:
            self._loop()
        elif word == "case":
            self._skip_blanks()
            self.word()
            self._skip_blanks()
            if self._text.startswith("in", self._at):
                self._at += 2
        elif word == "function":
            self._skip_blanks()
            self.word()
        elif word == "[[":
            self._test()
        else:
            return False
        return True

    def _loop(self) -> None:
        self._skip_blanks()
        if self.arithmetic("(("):
            return
        name = literal(self.word()) or ""
        values: list[Word] = []
        self._skip_blanks()
        if self._text.startswith("in", self._at):
            self._at += 2
            values = self._words_until(";\n")
        unknown: Word = (WordPiece("unknown", "", quoted=False),)
        self._now.assignments.append(VariableAssignment(name, tuple(values) or (unknown,)))

    def _words_until(self, ends: str) -> list[Word]:
        words: list[Word] = []
        while True:
            self._skip_blanks()
            if self._at >= len(self._text) or self._text[self._at] in ends:
                return words
            words.append(self.word())

    def _test(self) -> None:
        """Skip `[[ … ]]`, where `<` and `>` compare; what it substitutes still runs."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n;&|<>()":
                self._at += 1
            if self._at >= len(self._text):
                raise ShellSyntax("`]]` is missing")
            if literal(self.word()) == "]]":
                return

    def _is_assignment(self, word: Word) -> bool:
        first = word[0]
        if first.kind != "text" or first.quoted:
            return False
        found = re.match(_ASSIGNMENT, first.text) if "=" in first.text else None
        if found is None:
            return False
        rest = WordPiece("text", first.text[found.end() :], quoted=False)
        value: Word = (rest, *word[1:]) if rest.text else word[1:]
        if not value and self._text.startswith("(", self._at):
            self._at += 1
            self._words_until(")")
            self._at += 1
            value = (WordPiece("unknown", "", quoted=False),)
        elif found[2]:
            value = (WordPiece("variable", found[1], quoted=True), *value)
        self._now.assignments.append(VariableAssignment(found[1], (value,)))
        return True

    # Redirections

    def _redirect(self) -> bool:
        text, at = self._text, self._at
        if text.startswith(("<(", ">("), at):
            return False
        while at < len(text) and text[at].isdigit():
            at += 1
        operator = self._one_of(_REDIRECTS, at)
        if not operator:
            return False
        self._at = at + len(operator)
        self._skip_blanks()
        if self._at >= len(text) or text[self._at] in "\n;|)":
            raise ShellSyntax(f"`{operator}` leads nowhere")
        target = self.word()
        redirect = Redirect(operator, target, [])
        self._now.redirects.append(redirect)
        if operator in {"<<", "<<-"}:
            delimiter = "".join(piece.text for piece in target)
            quoted = any(piece.quoted for piece in target)
            self._awaited.append((delimiter, quoted, operator == "<<-", redirect.body))
        return True

    def _heredocs(self) -> None:
        awaited, self._awaited = self._awaited, []
        for delimiter, quoted, strips, body in awaited:
            lines = []
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                end = len(self._text) if end < 0 else end
                line = self._text[self._at : end]
                self._at = min(end + 1, len(self._text))
                line = line.lstrip("\t") if strips else line
                if line == delimiter:
                    break
                lines.append(line)
            body.append("\n".join(lines))
            if not quoted:
                self.inner(body[0], quoted=True)

    def inner(self, text: str, *, quoted: bool) -> None:
        """Keep the commands that a text runs: the text itself, or the expansions in it."""
        reader = _Reader(text, self._depth + 1)
        if quoted:
            reader.quoted_pieces("")
            self.items += reader.items
        else:
            reader.commands("")
            self.items += [ENTER, *reader.items, LEAVE]
