"""Reads the words of a command line: quotes, escapes and expansions."""

import re

from hornbook.shell.guard.values import NamedTuple

# Rare syntax is left to regexes that are compiled when they are met: that takes start-up time.
_NAME = r"[A-Za-z_]\w*"
_ENDS_PLAIN = frozenset(" \t\n\r\f\v\\'\"`$;&|<>()")
_ENDS_QUOTED = frozenset('\\"`$')
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f"}
DEEPEST = 40
_ANSI = r"(?s)\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))"


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


class WordReader:
    """A text that is read word by word; what a word runs is left to `nested` and `inner`."""

    def __init__(self, text: str, depth: int) -> None:
        if depth > DEEPEST:
            raise ShellSyntax("the nesting is too deep")
        self._text = text
        self._at = 0
        self._depth = depth

    def nested(self) -> None:
        """Read the commands up to the closing bracket."""
        raise NotImplementedError

    def inner(self, text: str, *, quoted: bool) -> None:
        """Keep the commands that a text runs: the text itself, or the expansions in it."""
        raise NotImplementedError

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
        text, character = self._text, self._text[self._at]
        if text.startswith(("<(", ">("), self._at) and not pieces:
            self._at += 2
            self.nested()
            pieces.append(WordPiece("text", "/dev/fd/63", quoted=True))
        elif plain := self._run_of(_ENDS_PLAIN):
            pieces.append(WordPiece("text", plain, quoted=False))
        elif character == "'":
            pieces.append(WordPiece("text", self._up_to("'", self._at + 1), quoted=True))
        elif character == '"':
            self._at += 1
            pieces += self.quoted_pieces('"') or [WordPiece("text", "", quoted=True)]
        elif character == "\\":
            self._escape(pieces)
        elif character in "$`":
            pieces.append(self._expansion(quoted=False))
        else:
            return False
        return True

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
        text, at = self._text, self._at
        if text[at] == "`":
            self._backticks()
            return unknown
        if self.arithmetic("$(("):
            return unknown
        if text.startswith("$(", at):
            self._at += 2
            self.nested()
            return unknown
        if text.startswith("${", at):
            return self._braced(quoted=quoted)
        if not quoted and text.startswith("$'", at):
            return WordPiece("text", self._ansi(), quoted=True)
        if not quoted and text.startswith('$"', at):
            self._at += 2
            pieces = self.quoted_pieces('"')
            return pieces[0] if len(pieces) == 1 else unknown
        return self._named(quoted=quoted)

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


def _ansi_character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    if found[4]:
        return chr(int(found[4], 8))
    return _ANSI_LETTERS.get(found[5], found[5])
