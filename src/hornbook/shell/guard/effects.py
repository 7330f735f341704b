"""What a command line would do, as far as its text tells: writes, inline code, our own commands."""

from collections.abc import Callable, Sequence

from hornbook.shell.guard.effect import Effect
from hornbook.shell.guard.program_names import INTERPRETERS, WRAPPERS, WRITERS
from hornbook.shell.guard.syntax import ENTER, LEAVE, Command, Redirect, Word, read
from hornbook.shell.guard.words import UNKNOWN, WordText, texts

# ruff: noqa: PLC0415  # what only some commands need is loaded with them: start-up time

_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash"])
_DEEPEST = 8


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
        assigned = {
            each.name: [text.text for word in each.values for text in self._texts(word)]
            for each in command.assignments
        }
        words = [text for word in command.words for text in self._texts(word)]
        if words:
            self._program(words, _body(command.redirects, self._texts), apart=command.apart)
        elif not command.apart:
            self._values.update(assigned)

    def _redirect(self, redirect: Redirect) -> None:
        if redirect.operator not in _WRITING:
            return
        for target in self._texts(redirect.target):
            if redirect.operator == ">&" and _is_stream(target.text):
                continue
            self._write(target, "file")

    def _write(self, target: WordText, how: str, names: tuple[str, ...] = ()) -> None:
        self.found.append(Effect("write", target.text, how, self._folder, target.wild, names))

    def _writes(self, found: Sequence[tuple[WordText, str]]) -> None:
        for target, how in found:
            self._write(target, how)

    # Programs

    def _program(self, words: Sequence[WordText], body: str | None, *, apart: bool) -> None:
        if words[0].text.rpartition("/")[2] not in WRAPPERS:
            self._named(words, body, apart=apart)
            return
        from hornbook.shell.guard.wrappers import unwrapped

        inner = unwrapped(words)
        if inner.script is not None:
            self._script(inner.script)
        if not inner.words:
            return
        outer = self._folder
        if inner.folder is not None:
            self._folder = self._joined(inner.folder)
        self._named(inner.words, body, apart=apart)
        if inner.folder is not None:
            self._folder = outer

    def _named(self, words: Sequence[WordText], body: str | None, *, apart: bool) -> None:
        first, *rest = words
        name = first.text.rpartition("/")[2]
        if UNKNOWN in name:
            self.found.append(Effect("undecided", "a program that is not named"))
        elif name in {"cd", "pushd", "popd"}:
            if not apart:
                self._go(name, rest)
        elif name in _SHELLS or name in {"eval", "trap", "su"}:
            self._shell(name, rest, body, apart=apart)
        elif name == "hornbook":
            self.found.append(Effect("hornbook", "\n".join(each.text for each in rest)))
        elif name in {"git", "find", "xargs"}:
            {"git": self._git, "find": self._find, "xargs": self._xargs}[name](rest)
        elif not self._sets(name, rest):
            self._interpreter(name, rest, body)
            self._writer(name, rest)

    def _writer(self, name: str, rest: Sequence[WordText]) -> None:
        if name in WRITERS:
            from hornbook.shell.guard.writers import targets

            self._writes(targets(name, rest))

    def _go(self, name: str, rest: Sequence[WordText]) -> None:
        places = [each for each in rest if each.text[:1] != "-" or each.text == "-"]
        if name == "popd" or (places and places[0].text == "-"):
            self._folder = None
        elif not places:
            self._folder = self._home
        elif places[0].known and not places[0].wild:
            self._folder = self._joined(places[0].text)
        else:
            self._folder = None

    def _joined(self, path: str) -> str | None:
        if path.startswith("/"):
            return path
        return None if self._folder is None or UNKNOWN in path else f"{self._folder}/{path}"

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
            self.found.append(Effect("undecided", "a script that is not all there"))
        inner = _Walk(self._folder, self._home, self._depth + 1)
        inner._values = dict(self._values)
        if self._depth < _DEEPEST:
            inner.run(read(text.replace(UNKNOWN, "$0")))
            self.found += inner.found

    def _shell(self, name: str, rest: Sequence[WordText], body: str | None, *, apart: bool) -> None:
        if name == "eval":
            self._script(" ".join(each.text for each in rest))
            return
        if name == "trap":
            self._script(rest[0].text if rest and rest[0].text[:1] not in {"-", ""} else "")
            return
        from hornbook.shell.guard.options import arguments

        found = arguments(rest, "-O +O --rcfile --init-file", until_operand=name != "su")
        if found.has("-c", "--command"):
            scripts = found.values("--command") or found.operands[1 if name == "su" else 0 :][:1]
            for script in scripts:
                self._script(script.text)
        elif body is not None:
            self._script(body)
        elif apart and not found.operands and name != "su":
            self.found.append(Effect("undecided", "a script from a pipe"))

    def _interpreter(self, name: str, rest: Sequence[WordText], body: str | None) -> None:
        if name.rstrip("0123456789.") in INTERPRETERS:
            from hornbook.shell.guard.interpreters import interpreted

            self.found += interpreted(name, rest, body, self._folder)

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

    def _xargs(self, rest: Sequence[WordText]) -> None:
        from hornbook.shell.guard.find_xargs import appended

        inner = appended(rest)
        if inner:
            self._program(inner, None, apart=True)

    def _find(self, rest: Sequence[WordText]) -> None:
        from hornbook.shell.guard.find_xargs import EACH, finding

        search = finding(rest)
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
