"""What a command line would do, as far as its text tells: writes, inline code, our own commands.

The commands are followed in the order they stand, as if each of them ran: with the folder that a
`cd` leads to, the values that assignments give, and a copy of both for a subshell. Each command is
looked up in the table of programs by its name: a wrapper is taken off, a shell's script is followed
like the line itself, a writer tells its targets. A program that nobody knows has no effect here.
What a text cannot tell is an effect too, with `UNKNOWN` in it; who asks decides what comes of that.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from hornbook.shell.cheap_tuple import NamedTuple
from hornbook.shell.guard.syntax import ENTER, LEAVE, Command, Redirect, Word, read
from hornbook.shell.guard.words import UNKNOWN, Arguments, WordText, arguments, texts
from hornbook.shell.programs import (
    AWKS,
    INLINE_CODE,
    INTERPRETERS,
    SAME_INTERPRETER,
    SHELLS,
    WRAPPERS,
    WRITERS,
    program_name,
)

# ruff: noqa: PLC0415  # what only some commands need is loaded with them: start-up time

EACH = "\x01"
"""Stands for each file that `find` finds."""

_FIND_FILTERS = frozenset(
    ["-path", "-not", "!", "-o", "-or", "-regex", "-newer", "-prune", "-maxdepth", "-mindepth"]
)
_FIND_NAMES = frozenset(["-name", "-iname"])
_FIND_LISTS = frozenset(["-fprint", "-fls", "-fprintf", "-fprint0"])
_FIND_RUNS = frozenset(["-exec", "-execdir", "-ok", "-okdir"])
_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_DEEPEST = 8
_MOST_WRAPPERS = 12


class Effect(NamedTuple):
    """One thing that a command would do.

    `kind` is `write` (`text` is the path, `how` as in `writers`), `code` (`text` is inline code),
    `hornbook` (its arguments), `repository` (git's own state) or `undecided`. `folder` is where it
    happens, None if that cannot be known; `names` filters what `find` finds.
    """

    kind: str
    text: str
    how: str = "file"
    folder: str | None = None
    wild: bool = False
    names: tuple[str, ...] = ()


def effects(line: str, folder: str, home: str) -> list[Effect]:
    """Everything that the command line would do, in order.

    Raises:
        ShellSyntax: It cannot be read.
    """
    walk = _Walk(folder, home, 0)
    walk.run(read(line))
    return walk.found


class _Walk:
    def __init__(self, folder: str | None, home: str, depth: int) -> None:
        self.found: list[Effect] = []
        self._folder = folder
        self._home = home
        self._depth = depth
        self._values: dict[str, list[str]] = {"HOME": [home]}

    def run(self, items: Sequence[Command | str]) -> None:
        """Follow the commands; folders and values of a subshell end with it."""
        outer: list[tuple[str | None, dict[str, list[str]]]] = []
        for item in items:
            if item == ENTER:
                outer.append((self._folder, dict(self._values)))
            elif item == LEAVE:
                self._folder, self._values = outer.pop()
            elif isinstance(item, Command):
                self._command(item)

    def _texts(self, word: Word) -> list[WordText]:
        here = {} if self._folder is None else {"PWD": [self._folder]}
        return texts(word, {**self._values, **here}, self._home)

    def _command(self, command: Command) -> None:
        for redirect in command.redirects:
            self._redirect(redirect)
        words = self._all_texts(command.words)
        if words:
            self._program(words, _body(command.redirects, self._texts), apart=command.apart)
        elif not command.apart:
            for each in command.assignments:
                self._values[each.name] = [text.text for text in self._all_texts(each.values)]

    def _all_texts(self, words: Sequence[Word]) -> list[WordText]:
        return [text for word in words for text in self._texts(word)]

    def _redirect(self, redirect: Redirect) -> None:
        if redirect.operator not in _WRITING:
            return
        for target in self._texts(redirect.target):
            if redirect.operator != ">&" or not _is_stream(target.text):
                self._write(target, "file")

    def _write(self, target: WordText, how: str, names: tuple[str, ...] = ()) -> None:
        self.found.append(Effect("write", target.text, how, self._folder, target.wild, names))

    def _writes(self, found: Sequence[tuple[WordText, str]]) -> None:
        for target, how in found:
            self._write(target, how)

    def _undecided(self, what: str) -> None:
        self.found.append(Effect("undecided", what))

    # Programs

    def _program(self, words: Sequence[WordText], body: str | None, *, apart: bool) -> None:
        """A program without the wrappers around it, in the folder where they run it."""
        outer = self._folder
        name, inner = program_name(words[0].text), words
        for _ in range(_MOST_WRAPPERS):
            found = self._unwrapped(inner) if name in WRAPPERS else None
            if not found:
                break
            body, apart = (None, True) if name == "xargs" else (body, apart)
            name, inner = program_name(found[0].text), found
        entered = self._folder != outer
        if name in {"su", "runuser"} and body is not None:
            self._script(body)
        else:
            self._named(inner, body, apart=apart)
        if entered:
            self._folder = outer

    def _unwrapped(self, words: Sequence[WordText]) -> Sequence[WordText] | None:
        """What a wrapper runs; None if it runs nothing that stands here."""
        from hornbook.shell.wrappers import inner_command

        inner = inner_command([each.text for each in words])
        if inner is None:
            return None
        if inner.folder is not None:
            self._folder = self._joined(inner.folder)
        if inner.script is not None:
            return [WordText("sh"), WordText("-c"), WordText(inner.script)]
        rest = words[inner.start :]
        if inner.mark is not None:
            return [WordText(each.text.replace(inner.mark, UNKNOWN), each.wild) for each in rest]
        return [*rest, WordText(UNKNOWN)] if rest and inner.appends else rest

    def _named(self, words: Sequence[WordText], body: str | None, *, apart: bool) -> None:
        name, rest = program_name(words[0].text), words[1:]
        if UNKNOWN in name:
            self._undecided("a program that is not named")
        elif name in {"cd", "pushd", "popd"}:
            self._go(name, rest, apart=apart)
        elif name in SHELLS:
            self._shell(rest, body, apart=apart)
        elif name == "hornbook":
            self.found.append(Effect("hornbook", "\n".join(each.text for each in rest)))
        elif name in self._FOLLOWED:
            self._FOLLOWED[name](self, rest)
        elif not self._sets(name, rest):
            self._interpreter(name, rest, body)
            self._writer(name, rest)

    def _writer(self, name: str, rest: Sequence[WordText]) -> None:
        if name in WRITERS:
            from hornbook.shell.guard.writers import targets

            self._writes(targets(name, rest))

    def _interpreter(self, name: str, rest: Sequence[WordText], body: str | None) -> None:
        if name.rstrip("0123456789.") in INTERPRETERS:
            use = interpreted(name, rest, body)
            if use.hornbook is not None:
                self.found.append(Effect("hornbook", "\n".join(use.hornbook)))
            self._writes([(each, "file") for each in use.edited])
            code = (each.text for each in use.code)
            self.found += [Effect("code", each, use.language, self._folder) for each in code]

    def _go(self, name: str, rest: Sequence[WordText], *, apart: bool) -> None:
        """Change the folder; one that cannot be known is None from then on."""
        if apart:
            return
        if name == "popd":
            self._folder = None
            return
        place = next((each for each in rest if not _is_option(each.text)), None)
        if place is None:
            self._folder = self._home
        else:
            unknown = place.wild or place.text == "-"
            self._folder = None if unknown else self._joined(place.text)

    def _joined(self, path: str) -> str | None:
        if UNKNOWN in path:
            return None
        if path.startswith("/"):
            return path
        return None if self._folder is None else f"{self._folder}/{path}"

    def _sets(self, name: str, rest: Sequence[WordText]) -> bool:
        if name in {"export", "declare", "typeset", "local", "readonly"}:
            for each in rest:
                variable, equals, value = each.text.partition("=")
                if equals:
                    self._values[variable] = [value]
        elif name in {"read", "unset", "mapfile", "readarray", "getopts", "printf"}:
            for each in rest:
                self._values.pop(each.text, None)
        else:
            return False
        return True

    # Programs that run other text

    def _script(self, text: str) -> None:
        if UNKNOWN in text or self._depth >= _DEEPEST:
            self._undecided("a script that is not all there")
        if self._depth < _DEEPEST:
            inner = _Walk(self._folder, self._home, self._depth + 1)
            inner._values = dict(self._values)
            inner.run(read(text.replace(UNKNOWN, "$0")))
            self.found += inner.found

    def _shell(self, rest: Sequence[WordText], body: str | None, *, apart: bool) -> None:
        found = arguments(rest, "-O +O --rcfile --init-file", until_operand=True)
        if found.has("-c"):
            for script in found.operands[:1]:
                self._script(script.text)
        elif body is not None:
            self._script(body)
        elif apart and not found.operands:
            self._undecided("a script from a pipe")

    def _eval(self, rest: Sequence[WordText]) -> None:
        self._script(" ".join(each.text for each in rest))

    def _trap(self, rest: Sequence[WordText]) -> None:
        self._script(rest[0].text if rest and rest[0].text[:1] not in {"-", ""} else "")

    def _git(self, rest: Sequence[WordText]) -> None:
        from hornbook.shell.guard.git_use import git_use

        use = git_use(rest)
        outer = self._folder
        if use.folder:
            self._folder = self._joined(use.folder)
        if not use.reads:
            self.found.append(Effect("repository", " ".join(each.text for each in rest[:2])))
        self._writes(use.targets)
        self._folder = outer

    def _find(self, rest: Sequence[WordText]) -> None:
        search = find_search(rest)
        self._writes([(each, "file") for each in search.lists])
        if search.deletes:
            self._each(search.roots, search.names)
        for words in search.commands:
            inner = _Walk(self._folder, self._home, self._depth + 1)
            inner._program(words, None, apart=True)
            for effect in inner.found:
                if effect.kind == "write" and effect.text == EACH:
                    self._each(search.roots, search.names)
                else:
                    self.found.append(effect._replace(text=effect.text.replace(EACH, UNKNOWN)))

    def _each(self, roots: Sequence[WordText], names: tuple[str, ...] | None) -> None:
        for root in roots:
            if names is None:
                self._write(WordText(UNKNOWN), "file")
            else:
                self._write(root, "found", names)

    _FOLLOWED = {"eval": _eval, "trap": _trap, "git": _git, "find": _find}  # noqa: RUF012  # constant


def _is_option(text: str) -> bool:
    return text[:1] == "-" and text != "-"


def _is_stream(text: str) -> bool:
    return text == "-" or text.removesuffix("-").isdigit()


def _body(redirects: Sequence[Redirect], expand: Callable[[Word], list[WordText]]) -> str | None:
    """What a heredoc or here-string gives the command to read."""
    for redirect in reversed(redirects):
        if redirect.operator == "<<<":
            return " ".join(each.text for each in expand(redirect.target))
        if redirect.body:
            return redirect.body[0]
    return None


class FindSearch(NamedTuple):
    """What a `find` does: where it looks, and what it does with what it finds.

    `names` are the patterns that a name must fit, None where other tests decide too.
    """

    roots: list[WordText]
    names: tuple[str, ...] | None
    deletes: bool
    lists: list[WordText]
    commands: list[list[WordText]]


def find_search(rest: Sequence[WordText]) -> FindSearch:
    """What the arguments of `find` say."""
    plain = [each.text for each in rest]
    start = next((n for n, text in enumerate(plain) if text[:1] in {"-", "(", "!"}), len(plain))
    tests = rest[start:]
    names = tuple(found[0].text for found in _words_behind(_FIND_NAMES, tests))
    commands = map(_find_command, _words_behind(_FIND_RUNS, tests))
    return FindSearch(
        roots=list(rest[:start]) or [WordText(".")],
        names=names if _FIND_FILTERS.isdisjoint(plain[start:]) else None,
        deletes="-delete" in plain,
        lists=[found[0] for found in _words_behind(_FIND_LISTS, tests)],
        commands=list(filter(None, commands)),
    )


def _words_behind(
    options: frozenset[str], tests: Sequence[WordText]
) -> Iterator[Sequence[WordText]]:
    """The words behind each of these options."""
    return (tests[n:] for n in range(1, len(tests)) if tests[n - 1].text in options)


def _find_command(rest: Sequence[WordText]) -> list[WordText]:
    end = next((n for n, each in enumerate(rest) if each.text in {";", "+"}), len(rest))
    return [WordText(each.text.replace("{}", EACH), each.wild) for each in rest[:end]]


class Interpreted(NamedTuple):
    """What an interpreter is given: inline code, files to edit, or our own command's arguments."""

    language: str
    code: Sequence[WordText] = ()
    edited: Sequence[WordText] = ()
    hornbook: Sequence[str] | None = None


def interpreted(name: str, rest: Sequence[WordText], body: str | None) -> Interpreted:
    """What an interpreter does; `body` is the text that it can read."""
    language = name.rstrip("0123456789.")
    language = SAME_INTERPRETER.get(language, language)
    if language in AWKS:
        return _awk(rest)
    found = arguments(rest, f"{INLINE_CODE[language]} -m -W -X -I -r", until_operand=True)
    if [each.text for each in found.values("-m")] == ["hornbook"]:
        return Interpreted(language, hornbook=_behind_module(rest))
    return Interpreted(
        language, _inline_code(language, found, rest, body), _edited_in_place(language, rest)
    )


def _inline_code(
    language: str, found: Arguments, rest: Sequence[WordText], body: str | None
) -> Sequence[WordText]:
    if language == "deno":
        return rest[1:] if rest and rest[0].text == "eval" else []
    code = found.values(*INLINE_CODE[language].split())
    if code or found.has("-m") or not body:
        return code
    reads_stdin = [each.text for each in found.operands] in ([], ["-"])
    return [WordText(body)] if reads_stdin else []


def _behind_module(rest: Sequence[WordText]) -> list[str]:
    """The arguments of a Python module: all that stands behind its name is its own."""
    plain = [each.text for each in rest]
    named = next(n for n, text in enumerate(plain) if text.endswith("hornbook"))
    return plain[named + 1 :]


def _edited_in_place(language: str, rest: Sequence[WordText]) -> list[WordText]:
    """The files that `perl -i` and `ruby -i` edit."""
    in_place = any(re.match(r"-[a-zA-Z0]*i", each.text) for each in rest)
    edits = in_place and language in {"perl", "ruby"}
    return arguments(rest, "-e -E -I -M").operands if edits else []


def _awk(rest: Sequence[WordText]) -> Interpreted:
    found = arguments(rest, "-F -v -f -i")
    in_place = any(each.text == "inplace" for each in found.values("-i"))
    return Interpreted("awk", found.operands[:1], found.operands[1:] if in_place else ())
