"""What a command line would do, as far as its text tells: writes, inline code, our own commands."""

import re
from collections.abc import Callable, Sequence

from hornbook.execute.hooks.program_names import WRAPPERS, WRITERS
from hornbook.execute.hooks.shell_options import arguments
from hornbook.execute.hooks.shell_syntax import (
    ENTER,
    LEAVE,
    Command,
    Redirect,
    Word,
    read,
)
from hornbook.execute.hooks.shell_words import UNKNOWN, Text, texts
from hornbook.execute.hooks.values import NamedTuple

# ruff: noqa: PLC0415  # what only some commands need is loaded with them: start-up time

_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash"])
_CODE_OPTIONS = {
    "python": "-c",
    "node": "-e -p --eval --print",
    "bun": "-e --eval",
    "deno": "",
    "ruby": "-e",
    "perl": "-e -E",
    "php": "-r",
    "lua": "-e",
    "Rscript": "-e",
    "osascript": "-e",
}
_DEEPEST = 8
_EACH = "\x01"
"""Stands for each file that `find` finds."""


class Effect(NamedTuple):
    """One thing that a command would do.

    `kind` is `write` (`text` is the path, `how` as in `shell_programs`), `code` (`text` is inline
    code), `hornbook` (its arguments), `repository` (git's own state) or `undecided`. `folder` is
    where it happens, None if that cannot be known; `names` filters what `find` finds.
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

    def _texts(self, word: Word) -> list[Text]:
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

    def _write(self, target: Text, how: str, names: tuple[str, ...] = ()) -> None:
        self.found.append(Effect("write", target.text, how, self._folder, target.wild, names))

    def _writes(self, found: Sequence[tuple[Text, str]]) -> None:
        for target, how in found:
            self._write(target, how)

    # Programs

    def _program(self, words: Sequence[Text], body: str | None, *, apart: bool) -> None:
        if words[0].text.rpartition("/")[2] not in WRAPPERS:
            self._named(words, body, apart=apart)
            return
        from hornbook.execute.hooks.shell_wrappers import unwrapped

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

    def _named(self, words: Sequence[Text], body: str | None, *, apart: bool) -> None:
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

    def _writer(self, name: str, rest: Sequence[Text]) -> None:
        if name in WRITERS:
            from hornbook.execute.hooks.shell_programs import targets

            self._writes(targets(name, rest))

    def _go(self, name: str, rest: Sequence[Text]) -> None:
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

    def _sets(self, name: str, rest: Sequence[Text]) -> bool:
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

    def _shell(self, name: str, rest: Sequence[Text], body: str | None, *, apart: bool) -> None:
        if name == "eval":
            self._script(" ".join(each.text for each in rest))
            return
        if name == "trap":
            self._script(rest[0].text if rest and rest[0].text[:1] not in {"-", ""} else "")
            return
        found = arguments(rest, "-O +O --rcfile --init-file", until_operand=name != "su")
        if found.has("-c", "--command"):
            scripts = found.values("--command") or found.operands[1 if name == "su" else 0 :][:1]
            for script in scripts:
                self._script(script.text)
        elif body is not None:
            self._script(body)
        elif apart and not found.operands and name != "su":
            self.found.append(Effect("undecided", "a script from a pipe"))

    def _interpreter(self, name: str, rest: Sequence[Text], body: str | None) -> None:
        language = name.rstrip("0123456789.")
        if language in {"awk", "gawk", "mawk", "nawk"}:
            self._awk(rest)
            return
        options = _CODE_OPTIONS.get({"pypy": "python", "nodejs": "node"}.get(language, language))
        if options is None:
            return
        if language in {"perl", "ruby"} and any(re.match(r"-\w*i", each.text) for each in rest):
            operands = arguments(rest, "-e -E -I -M").operands
            self._writes([(each, "file") for each in operands])
        found = arguments(rest, f"{options} -m -W -X -I -r", until_operand=True)
        code = found.values(*options.split())
        module = found.values("-m")
        if module and module[0].text == "hornbook":
            self.found.append(Effect("hornbook", "\n".join(each.text for each in found.operands)))
        elif language == "deno" and [each.text for each in rest[:1]] == ["eval"]:
            code = list(rest[1:])
        elif not code and not module and body and [e.text for e in found.operands] in ([], ["-"]):
            code = [Text(body)]
        self.found += [Effect("code", each.text, language, self._folder) for each in code]

    def _awk(self, rest: Sequence[Text]) -> None:
        found = arguments(rest, "-F -v -f -i")
        if any(each.text == "inplace" for each in found.values("-i")):
            self._writes([(each, "file") for each in found.operands[1:]])
        for each in found.operands[:1]:
            self.found.append(Effect("code", each.text, "awk", self._folder))

    def _git(self, rest: Sequence[Text]) -> None:
        from hornbook.execute.hooks.shell_git import git_use

        use = git_use(rest)
        outer = self._folder
        if use.folder:
            self._folder = self._joined(use.folder)
        if not use.reads:
            self.found.append(Effect("repository", " ".join(each.text for each in rest[:2])))
        self._writes(use.targets)
        self._folder = outer

    def _xargs(self, rest: Sequence[Text]) -> None:
        takes = "-I -n -P -d -L -s -E -a --max-args --max-procs --delimiter --replace --arg-file"
        found = arguments(rest, takes, until_operand=True)
        marks = [each.text for each in found.values("-I", "--replace")]
        if marks:
            inner = [Text(each.text.replace(marks[0], UNKNOWN)) for each in found.operands]
        else:
            inner = [*found.operands, Text(UNKNOWN)]
        if found.operands:
            self._program(inner, None, apart=True)

    def _find(self, rest: Sequence[Text]) -> None:
        plain = [each.text for each in rest]
        starts = next((n for n, text in enumerate(plain) if text[:1] in {"-", "(", "!"}), len(rest))
        roots = list(rest[:starts]) or [Text(".")]
        names = tuple(
            plain[place + 1]
            for place in range(starts, len(plain) - 1)
            if plain[place] in {"-name", "-iname"}
        )
        filters = {"-path", "-not", "!", "-o", "-or", "-regex", "-newer", "-prune", "-maxdepth"}
        told = not filters & set(plain[starts:])
        if "-delete" in plain:
            self._each(roots, names, told=told)
        for place in range(starts, len(plain) - 1):
            if plain[place] in {"-fprint", "-fls", "-fprintf", "-fprint0"}:
                self._write(rest[place + 1], "file")
            elif plain[place] in {"-exec", "-execdir", "-ok", "-okdir"}:
                self._for_each(rest[place + 1 :], roots, names, told=told)

    def _for_each(
        self, rest: Sequence[Text], roots: list[Text], names: tuple[str, ...], *, told: bool
    ) -> None:
        end = next((n for n, each in enumerate(rest) if each.text in {";", "+"}), len(rest))
        inner = _Walk(self._folder, self._home, self._depth + 1)
        words = [Text(each.text.replace("{}", _EACH), each.wild) for each in rest[:end]]
        if words:
            inner._program(words, None, apart=True)
        for effect in inner.found:
            if effect.kind == "write" and effect.text == _EACH:
                self._each(roots, names, told=told)
            else:
                self.found.append(effect._replace(text=effect.text.replace(_EACH, UNKNOWN)))

    def _each(self, roots: list[Text], names: tuple[str, ...], *, told: bool) -> None:
        for root in roots:
            if told:
                self._write(root, "found", names)
            else:
                self._write(Text(UNKNOWN), "file")


def _is_stream(text: str) -> bool:
    return text == "-" or text.removesuffix("-").isdigit()


def _body(redirects: Sequence[Redirect], expand: Callable[[Word], list[Text]]) -> str | None:
    """What a heredoc or here-string gives the command to read."""
    for redirect in reversed(redirects):
        if redirect.operator == "<<<":
            return " ".join(each.text for each in expand(redirect.target))
        if redirect.body:
            return redirect.body[0]
    return None
