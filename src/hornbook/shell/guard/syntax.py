"""Reads a shell command line: its simple commands in order, with words and redirections.

A reader goes through the text once, from left to right, and never looks back. It keeps the command
that is being read (`_Building`), and puts each finished one into `items`. Everything that runs is
found, also inside `$(…)`, backticks, `<(…)`, subshells and the bodies of heredocs: what stands
there is read as a command line of its own, between ENTER and LEAVE. Keywords are passed over, so
that both branches of an `if` and every branch of a `case` count as run. What a word stands for is
left open: `words.texts` says that with the values at hand. What does not read as a command line is
an error, and never guessed at.
"""

import re

from hornbook.shell.cheap_tuple import NamedTuple
from hornbook.shell.programs import names

ENTER = "("
LEAVE = ")"
"""Around what runs in a process of its own: a `cd` or an assignment inside ends with it."""

# Rare syntax is left to regexes that are compiled when they are met: that takes start-up time.
_NAME = r"[A-Za-z_]\w*"
_ENDS_PLAIN = frozenset(" \t\n\r\f\v\\'\"`$;&|<>()")
_ENDS_QUOTED = frozenset('\\"`$')
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f"}
DEEPEST = 40
_ANSI = r"(?s)\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))"
_ASSIGNMENT = r"([A-Za-z_]\w*)(?:\[[^\]]*\])?(\+?)="
_REDIRECTS = ("&>>", "&>", ">>", ">|", ">&", "<<<", "<<-", "<<", "<>", "<&", ">", "<")
_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", ";", "&", "|")
_SKIPPED = names("if then else elif fi while until do done esac { } ! coproc")


class ShellSyntax(ValueError):
    """The text is no command line that can be read."""


class WordPiece(NamedTuple):
    """Part of a word: `text`, a `variable` by name, or an `unknown` value."""

    kind: str
    text: str
    quoted: bool


Word = tuple[WordPiece, ...]


def literal(word: Word) -> str | None:
    """What the word says if nothing in it is quoted or expanded."""
    if len(word) == 1 and word[0].kind == "text" and not word[0].quoted:
        return word[0].text
    return None


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


class _Reader:
    def __init__(self, text: str, depth: int) -> None:
        if depth > DEEPEST:
            raise ShellSyntax("the nesting is too deep")
        self._text = text
        self._at = 0
        self._depth = depth
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
        self._depth += 1
        if self._depth > DEEPEST:
            raise ShellSyntax("the nesting is too deep")
        self.items.append(ENTER)
        self.commands(")")
        self.items.append(LEAVE)
        self._depth -= 1

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
        found = _assignment_start(first)
        if found is None:
            return False
        rest = WordPiece("text", first.text[found.end() :], quoted=False)
        value: Word = (rest, *word[1:]) if rest.text else word[1:]
        if not value and self._text.startswith("(", self._at):
            value = self._array()
        elif found[2]:
            value = (WordPiece("variable", found[1], quoted=True), *value)
        self._now.assignments.append(VariableAssignment(found[1], (value,)))
        return True

    def _array(self) -> Word:
        """Skip the words of an array; what they substitute still runs."""
        self._at += 1
        self._words_until(")")
        self._at += 1
        return (WordPiece("unknown", "", quoted=False),)

    # Redirections

    def _redirect(self) -> bool:
        operator = self._redirect_operator()
        if not operator:
            return False
        self._skip_blanks()
        if self._at >= len(self._text) or self._text[self._at] in "\n;|)":
            raise ShellSyntax(f"`{operator}` leads nowhere")
        target = self.word()
        redirect = Redirect(operator, target, [])
        self._now.redirects.append(redirect)
        if operator in {"<<", "<<-"}:
            delimiter = "".join(piece.text for piece in target)
            quoted = any(piece.quoted for piece in target)
            self._awaited.append((delimiter, quoted, operator == "<<-", redirect.body))
        return True

    def _redirect_operator(self) -> str:
        """The operator that stands here, behind the number of a stream; empty if none does."""
        text, at = self._text, self._at
        if text.startswith(("<(", ">("), at):
            return ""
        while at < len(text) and text[at].isdigit():
            at += 1
        operator = self._one_of(_REDIRECTS, at)
        if operator:
            self._at = at + len(operator)
        return operator

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

    # Words

    def _run_of(self, ends: frozenset[str]) -> str:
        """The text up to the next mark that may mean something."""
        start = self._at
        while self._at < len(self._text) and self._text[self._at] not in ends:
            self._at += 1
        return self._text[start : self._at]

    def word(self) -> Word:
        """The word that starts here.

        Raises:
            ShellSyntax: None does, or it does not end.
        """
        pieces: list[WordPiece] = []
        start = self._at
        while self._at < len(self._text):
            found = self._piece(pieces)
            if not found:
                break
        if self._at == start:
            raise ShellSyntax(f"`{self._text[start : start + 1]}` stands where a word must be")
        return tuple(pieces) or (WordPiece("text", "", quoted=True),)

    def _piece(self, pieces: list[WordPiece]) -> bool:
        character = self._text[self._at]
        if character in "<>" and not pieces and self._text.startswith("(", self._at + 1):
            self._at += 2
            self.nested()
            pieces.append(WordPiece("text", "/dev/fd/63", quoted=True))
        elif plain := self._run_of(_ENDS_PLAIN):
            pieces.append(WordPiece("text", plain, quoted=False))
        elif character in "'\"":
            pieces += self._quotation(character)
        elif character == "\\":
            self._escape(pieces)
        elif character in "$`":
            pieces.append(self._expansion(quoted=False))
        else:
            return False
        return True

    def _quotation(self, mark: str) -> list[WordPiece]:
        if mark == "'":
            return [WordPiece("text", self._up_to("'", self._at + 1), quoted=True)]
        self._at += 1
        return self.quoted_pieces(mark) or [WordPiece("text", "", quoted=True)]

    def _escape(self, pieces: list[WordPiece]) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if following != "\n":
            pieces.append(WordPiece("text", following or "\\", quoted=True))

    def _up_to(self, mark: str, start: int) -> str:
        end = self._text.find(mark, start)
        if end < 0:
            raise ShellSyntax(f"`{mark}` does not end")
        self._at = end + len(mark)
        return self._text[start:end]

    def quoted_pieces(self, closing: str) -> list[WordPiece]:
        """The pieces up to the closing quote, or to the end if there is none."""
        pieces: list[WordPiece] = []
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == closing:
                self._at += 1
                return pieces
            if plain := self._run_of(_ENDS_QUOTED):
                pieces.append(WordPiece("text", plain, quoted=True))
            elif character == "\\":
                pieces.append(WordPiece("text", self._escaped_in_quotes(), quoted=True))
            elif character in "$`":
                pieces.append(self._expansion(quoted=True))
            else:
                self._at += 1
        if closing:
            raise ShellSyntax(f"`{closing}` does not end")
        return pieces

    def _escaped_in_quotes(self) -> str:
        following = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if following == "\n":
            return ""
        return following if following in {"$", "`", '"', "\\"} else "\\" + following

    # Expansions

    def _expansion(self, *, quoted: bool) -> WordPiece:
        unknown = WordPiece("unknown", "", quoted)
        if self._text[self._at] == "`":
            self._backticks()
            return unknown
        if self.arithmetic("$(("):
            return unknown
        following = self._text[self._at + 1 : self._at + 2]
        if following == "(":
            self._at += 2
            self.nested()
            return unknown
        if following == "{":
            return self._braced(quoted=quoted)
        if following in {"'", '"'} and not quoted:
            return self._dollar_quotation(following)
        return self._named(quoted=quoted)

    def _dollar_quotation(self, mark: str) -> WordPiece:
        """`$'…'` with its escapes, or the translated `$"…"`."""
        if mark == "'":
            return WordPiece("text", self._ansi(), quoted=True)
        self._at += 2
        pieces = self.quoted_pieces(mark)
        return pieces[0] if len(pieces) == 1 else WordPiece("unknown", "", quoted=False)

    def _named(self, *, quoted: bool) -> WordPiece:
        found = re.match(_NAME, self._text[self._at + 1 : self._at + 256])
        if found:
            self._at += 1 + found.end()
            return WordPiece("variable", found[0], quoted)
        special = self._text[self._at + 1 : self._at + 2]
        if special and special in "0123456789@*#?-$!":
            self._at += 2
            return WordPiece("unknown", "", quoted)
        self._at += 1
        return WordPiece("text", "$", quoted=True)

    def _braced(self, *, quoted: bool) -> WordPiece:
        start = self._at + 2
        end, depth = start, 1
        while depth:
            if end >= len(self._text):
                raise ShellSyntax("`${` does not end")
            character = self._text[end]
            depth += (character == "{") - (character == "}")
            end += 2 if character == "\\" else 1
        inner = self._text[start : end - 1]
        self._at = end
        if re.fullmatch(_NAME, inner):
            return WordPiece("variable", inner, quoted)
        self.inner(inner, quoted=True)
        return WordPiece("unknown", "", quoted)

    def arithmetic(self, opening: str) -> bool:
        """Skip an arithmetic expression if one stands here; `((a); b)` is a subshell instead."""
        start = self._at + len(opening)
        if not self._text.startswith(opening, self._at):
            return False
        end, depth = start, 2
        while depth and end < len(self._text):
            depth += (self._text[end] == "(") - (self._text[end] == ")")
            end += 1
        if depth or self._text[end - 2 : end] != "))":
            return False
        self._at = end
        self.inner(self._text[start : end - 2], quoted=True)
        return True

    def _backticks(self) -> None:
        end = self._at + 1
        while end < len(self._text) and self._text[end] != "`":
            end += 2 if self._text[end] == "\\" else 1
        if end >= len(self._text):
            raise ShellSyntax("a backtick does not end")
        inner = re.sub(r"\\([\\`$])", r"\1", self._text[self._at + 1 : end])
        self._at = end + 1
        self.inner(inner, quoted=False)

    def _ansi(self) -> str:
        start = end = self._at + 2
        while end < len(self._text) and self._text[end] != "'":
            end += 2 if self._text[end] == "\\" else 1
        if end >= len(self._text):
            raise ShellSyntax("`$'` does not end")
        self._at = end + 1
        return re.sub(_ANSI, _ansi_character, self._text[start:end])


def _assignment_start(piece: WordPiece) -> re.Match[str] | None:
    """The name and the sign of an assignment, if a word that begins with this piece is one."""
    if "=" not in piece.text or piece.kind != "text" or piece.quoted:
        return None
    return re.match(_ASSIGNMENT, piece.text)


def _ansi_character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    if found[4]:
        return chr(int(found[4], 8))
    return _ANSI_LETTERS.get(found[5], found[5])
