"""The files that a gate's command names: shell scripts, Makefile targets, package.json scripts."""

import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from hornbook.shell.command_kind import Inner, inner_shell
from hornbook.shell.hollow_options import Hollow
from hornbook.shell.programs import AWKS, INTERPRETERS, SHELLS, WRAPPERS, program_name

Read = Callable[[str], bytes | None]

LARGEST = 65_536
_UNKNOWN = "unknown-command"
_SHEBANG = re.compile(r"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(\S+)")
_MAKE_VARIABLE = re.compile(r"\$[({][^(){}]*[)}]|\$[@<^*?]")
_RULE = re.compile(r"([^\s:#=][^:#=]*?)\s*::?(?!=)\s*([^#;]*)(?:;(.*))?")
_INCLUDE = re.compile(r" *(?:-|s)?include\s+(.*)")
_MAKES = frozenset({"make", "gmake"})
_SCRIPT_RUNNERS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "package.json"),
    "composer": "composer.json",
}
"""Programs that run a script of a manifest by its name."""
_OTHER_PACKAGE = frozenset({"--prefix", "-C", "--cwd", "-w", "--workspace"})
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


class JudgedScript(Protocol):
    """Says why a script cannot fail; none if it can."""

    def __call__(self, script: str, *, line: bool) -> str | None:
        """`line` is set for a script of one line, of which every command must be heard."""
        ...


def hollow_script(words: Sequence[str], read: Read, judged: JudgedScript) -> Hollow | None:
    """Why the script that a command names cannot fail; none if it can, or cannot be read."""
    name = program_name(words[0])
    if name in _MAKES:
        return _make(words[1:], read, judged)
    if name in _SCRIPT_RUNNERS:
        return _package_script(name, words[1:], read, judged)
    inner = inner_shell(list(words)) if name in SHELLS else None
    if inner is not None and inner.checks_only:
        return None
    script = _script_file(words, inner, read)
    if script is None:
        return None
    return _shell_script(*script, judged, errexit=inner is not None and inner.errexit)


_DEEPEST_SCRIPT = 4
_SHORT_FOR_TEST = {"t": "test", "tst": "test"}


def recipes(words: Sequence[str], read: Read) -> list[str]:
    """The shell texts that a command runs by naming them: scripts and lines of recipes."""
    name = program_name(words[0])
    if name in _MAKES:
        return _make_recipes(words, read)
    if name in _SCRIPT_RUNNERS:
        script = _named_script(name, words[1:], read)
    else:
        inner = inner_shell(list(words)) if name in SHELLS else None
        script = _script_file(words, inner, read)
    return [script[1]] if script is not None else []


def _make_recipes(words: Sequence[str], read: Read) -> list[str]:
    folder, file, targets = _make_arguments(words[1:])
    rules = _makefile(folder, file, read)
    lines = [_lines_of(target, rules, set()) for target in _wanted(targets, rules)]
    return [_shell_line(line) for each in lines for line in each if line != _UNKNOWN]


def _script_file(words: Sequence[str], inner: Inner | None, read: Read) -> tuple[str, str] | None:
    """The path and the text of the shell script that is run, by a shell or by its path."""
    path = inner.file if inner is not None else words[0] if "/" in words[0] else None
    text = _text(path, read) if path is not None else None
    if path is None or text is None:
        return None
    return (path, text) if inner is not None or _names_shell(text) else None


def _names_shell(text: str) -> bool:
    shebang = _SHEBANG.match(text)
    return shebang is not None and program_name(shebang[1]) in SHELLS


def _text(path: str, read: Read) -> str | None:
    """A file as text; none if it is none, or too large to be looked at."""
    data = read(path.removeprefix("./"))
    if data is None or len(data) > LARGEST or b"\0" in data:
        return None
    return data.decode("utf-8", "replace")


def _shell_script(path: str, text: str, judged: JudgedScript, *, errexit: bool) -> Hollow | None:
    """A script file; `errexit` is whether its shell was started with -e."""
    first = text.partition("\n")[0]
    if errexit or re.match(r"#!.*\s-\w*e", first):
        text = f"set -e\n{text}"
    why = judged(text, line=False)
    if why is None:
        return None
    remedy = "let its checks end it: write `set -euo pipefail` at its top"
    return Hollow(path, f"is a script that always ends with 0 ({why})", remedy)


def _package_script(
    runner: str, words: Sequence[str], read: Read, judged: JudgedScript
) -> Hollow | None:
    found = _named_script(runner, words, read)
    why = judged(found[1], line=True) if found is not None else None
    if found is None or why is None:
        return None
    piece = f"{found[0]} of {_SCRIPT_RUNNERS[runner]}"
    return Hollow(piece, f"cannot fail ({why})", "correct that script")


def _named_script(runner: str, words: Sequence[str], read: Read) -> tuple[str, str] | None:
    """The name and the text of the script of a manifest that is run."""
    named = [word for word in words if not word.startswith("-")]
    named = named[1:] if named[:1] in (["run"], ["run-script"]) else named
    if not named or not _OTHER_PACKAGE.isdisjoint(words):
        return None
    script = _SHORT_FOR_TEST.get(named[0], named[0])
    try:
        scripts = json.loads(_text(_SCRIPT_RUNNERS[runner], read) or "{}")["scripts"]
        text = scripts[script] if runner != "composer" else _composed(script, scripts)
    except (ValueError, LookupError, TypeError):
        return None
    return (script, text) if isinstance(text, str) else None


def _composed(script: str, scripts: dict[str, object], depth: int = 0) -> str:
    """A script of composer.json as one line: a text or several, of which `@name` is another one."""
    stated = scripts[script]
    lines = stated if isinstance(stated, list) else [stated]
    texts = []
    for line in map(str, lines):
        name = line.removeprefix("@")
        again = line.startswith("@") and name in scripts and depth < _DEEPEST_SCRIPT
        text = _composed(name, scripts, depth + 1) if again else line
        texts.append(re.sub(r"^@(?:php|composer|no_additional_args) ", "", text))
    return " && ".join(texts)


def _make(words: Sequence[str], read: Read, judged: JudgedScript) -> Hollow | None:
    """A Makefile's targets: refused only if no line of them or of what they need can fail."""
    folder, file, targets = _make_arguments(words)
    rules = _makefile(folder, file, read)
    if ".IGNORE" in rules:
        return Hollow(".IGNORE of the Makefile", "ignores every error", "take it out")
    for target in _wanted(targets, rules):
        lines = _lines_of(target, rules, set())
        if lines and all(_never_fails(line, judged) for line in lines):
            reason = "cannot fail: no line of its recipe can"
            return Hollow(f"make {target}", reason, "correct that recipe")
    return None


_Rules = dict[str, tuple[list[str], list[str]]]


def _makefile(folder: str, file: str, read: Read) -> _Rules:
    """The rules of the Makefile; none where they cannot all be known."""
    names = [file] if file else list(_MAKEFILES)
    texts = (_text(f"{folder}{name}", read) for name in names)
    text = next((each for each in texts if each is not None), None)
    whole = _with_included(text, folder, read) if text is not None else None
    return _rules(whole) if whole is not None else {}


def _with_included(text: str, folder: str, read: Read, depth: int = 0) -> str | None:
    """A Makefile with the files that it includes in their place; none if one is not known."""
    lines = []
    for line in text.split("\n"):
        included = _INCLUDE.match(line)
        if included is None:
            lines.append(line)
            continue
        for name in included[1].split("#")[0].split():
            there = _text(f"{folder}{name}", read) if depth < _DEEPEST_SCRIPT else None
            whole = None if there is None else _with_included(there, folder, read, depth + 1)
            if whole is None:
                return None
            lines.append(whole)
    return "\n".join(lines)


def _wanted(targets: list[str], rules: _Rules) -> list[str]:
    """The targets that are made: without a name the first one of the Makefile."""
    return targets or [next((name for name in rules if not name.startswith(".")), "")]


def _make_arguments(words: Sequence[str]) -> tuple[str, str, list[str]]:
    folder, file, targets = "", "", []
    waiting = iter(words)
    for word in waiting:
        if word in {"-C", "--directory"}:
            folder = next(waiting, "").rstrip("/") + "/"
        elif word in {"-f", "--file"}:
            file = next(waiting, "")
        elif not word.startswith("-") and "=" not in word:
            targets.append(word)
    return folder, file, targets


def _rules(text: str) -> _Rules:
    """Targets with what they need and the lines of their recipes."""
    rules: _Rules = {}
    current: list[str] = []
    for line in re.sub(r"\\\n\s*", " ", text).split("\n"):
        if line.startswith("\t"):
            for target in current:
                rules[target][1].append(line.strip())
        elif found := _RULE.fullmatch(line.rstrip()):
            current = found[1].split()
            for target in current:
                needs, recipe = rules.setdefault(target, ([], []))
                needs += found[2].split()
                recipe += [found[3].strip()] if found[3] else []
        elif line.strip() and not line.startswith("#"):
            current = []
    return rules


def _lines_of(target: str, rules: _Rules, seen: set[str]) -> list[str]:
    """The recipe lines that making a target runs; something unknown counts as able to fail."""
    if target in seen:
        return []
    seen.add(target)
    if target not in rules or "%" in target:
        return [_UNKNOWN]
    needs, recipe = rules[target]
    return [*(line for need in needs for line in _lines_of(need, rules, seen)), *recipe]


def _never_fails(line: str, judged: JudgedScript) -> bool:
    marks = re.match(r"[@+-]*", line)
    prefix = marks[0] if marks else ""
    if "-" in prefix:
        return True
    return judged(_shell_line(line), line=False) is not None


def _shell_line(line: str) -> str:
    """A line of a recipe as the shell gets it, with what only make knows as a command."""
    return _MAKE_VARIABLE.sub(_UNKNOWN, line.lstrip("@+-")).replace("$$", "$")


_RUNS_NEXT_WORD = frozenset(
    [
        *SHELLS,
        *(INTERPRETERS - AWKS),
        *("tsx", "ts-node", "source", ".", "run"),
        *(name for name, (verbs, _, _) in WRAPPERS.items() if not verbs or "run" in verbs),
    ]
)
_SETTINGS = re.compile(
    r"-c|-f|--file|--makefile|--(?:[\w-]*-)?(?:config|rcfile|conf|settings)(?:-\w+)?"
)
_PASSED_OVER = re.compile(r"\w+=.*|[\d.]+[smhd]?", re.DOTALL)
_APART = frozenset("();<>|&\n")


def named_scripts(command: str) -> Iterator[str]:
    """The paths as the command writes them; other arguments, such as files to check, are not."""
    expected, settings = True, False
    for word in _words(command):
        if set(word) <= _APART:
            expected, settings = True, False
        elif settings:
            yield from _unfolded(word)
            settings = False
        elif word.startswith("-"):
            option, equals, value = word.partition("=")
            names_file = _SETTINGS.fullmatch(option) is not None
            settings = names_file and not equals
            if names_file and equals:
                yield value
        elif expected and not _PASSED_OVER.fullmatch(word):
            yield from _unfolded(word)
            expected = _runs_next_word(posixpath.basename(word))


def _runs_next_word(name: str) -> bool:
    return name in _RUNS_NEXT_WORD or name.rstrip("0123456789.") in INTERPRETERS - AWKS


def _unfolded(word: str) -> Iterator[str]:
    """What a word names: it may be a command of its own, in quotes."""
    if len(word.split()) > 1:
        yield from named_scripts(word)
    else:
        yield word


def _words(command: str) -> list[str]:
    """The words of a command, operators apart.

    A quote that is not closed is refused by the shell: then all that looks like a word starts one.
    """
    reader = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return list(reader)
    except ValueError:
        return [word for part in re.split(r"[\s'\"]+", command) for word in ("&", part)]
