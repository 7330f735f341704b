"""What a command line means: what it really runs, and whether that can say no."""

import re
from dataclasses import dataclass
from enum import Enum

from hornbook.shell.programs import (
    CHECKERS,
    INSTALLERS,
    PREPARES,
    QUESTIONS,
    SHELLS,
    SILENT,
    TASK_RUNNERS,
    TELLS,
    names,
    program_name,
)
from hornbook.shell.wrappers import inner_command


class ProgramKind(Enum):
    """How much a command's exit status says."""

    SILENT = 0
    """It always ends with 0, or nobody means its failure."""
    QUESTION = 1
    """Its status steers the script; that nobody hears it is no loss."""
    STEP = 2
    """Its failure must be heard, but it checks nothing."""
    JUDGE = 3
    """Its failure must be heard."""
    PREPARATION = 4
    """It fetches or starts what the checks need: its failure must be heard, or be waived."""


_VERSION = re.compile(r"(?<=[\w-])(?:@|==)[\w.^~*-]+$")


def unwrapped(words: list[str]) -> list[str]:
    """The words of what is really run: without `env`, `timeout`, `xargs` and their like."""
    while words:
        inner = inner_command(words)
        if inner is not None:
            if inner.script is not None:
                return ["sh", "-c", inner.script]
            words = words[inner.start :] or [":"]
            words = [_VERSION.sub("", words[0]), *words[1:]]
        elif words[0].startswith("python", words[0].rfind("/") + 1) and words[1:2] == ["-m"]:
            words = words[2:]
        else:
            # `command -v NAME` is a wrapper that runs nothing.
            return ["which", *words[2:]] if program_name(words[0]) == "command" else words
    return words


@dataclass(frozen=True, slots=True)
class Inner:
    """A script that a shell is started with, and the options it is started with."""

    script: str | None = None
    file: str | None = None
    errexit: bool = False
    pipefail: bool = False
    noexec: bool = False

    @property
    def checks_only(self) -> bool:
        """Whether a script is only read, to see whether it is well formed."""
        return self.noexec and self.script is None


def inner_shell(words: list[str]) -> Inner | None:
    """The script that a command hands to a shell: `sh -c TEXT` anywhere in it, or `sh FILE`."""
    for place, word in enumerate(words):
        if program_name(word) in SHELLS and (place == 0 or _has_c(words[place + 1 :])):
            return _shell_arguments(words[place + 1 :])
    return None


def _has_c(words: list[str]) -> bool:
    return any(re.fullmatch(r"-[a-z]*c", word) for word in words[:3])


def _shell_arguments(words: list[str]) -> Inner:
    flags, options, rest = _shell_options(words)
    given = next((word for word in rest if word != "--"), None)
    return Inner(
        script=given if "c" in flags else None,
        file=given if {"c", "s"}.isdisjoint(flags) else None,
        errexit="e" in flags or "errexit" in options,
        pipefail="pipefail" in options,
        noexec="n" in flags or "noexec" in options,
    )


def _shell_options(words: list[str]) -> tuple[str, set[str], list[str]]:
    """The one-letter flags that are set, the options named by `-o`, and the words behind them."""
    flags, options, rest = "", set(), list(words)
    while rest and re.match(r"[-+](?!-$)", rest[0]):
        word = rest.pop(0)
        if word.startswith("-") and not word.startswith("--"):
            flags += word[1:]
        if re.fullmatch(r"[-+](?!-).*o", word) and rest:
            options.add(rest.pop(0))
    return flags, options, rest


_BARE_INFORMATION = (["--version"], ["version"], ["-V"], ["--help"], ["-h"])
_TESTS = frozenset({"[", "[[", "test"})
_MANY_THINGS = SHELLS | names("python python3 node deno ruby perl php git docker env xargs")
_TASKS = names("make gmake npm pnpm yarn bun npx rake gradle gradlew mvn mvnw tox nox")


def kind_of(words: list[str]) -> ProgramKind:
    """How much the status of a command says."""
    name = program_name(words[0])
    if name in SILENT:
        return ProgramKind.SILENT
    if name in {"cd", "source", "."}:
        return ProgramKind.STEP
    verbs = [word for word in words[1:] if not word.startswith("-")]
    if name in QUESTIONS or words[1:] in _BARE_INFORMATION or _only_tells(name, verbs, words):
        return ProgramKind.QUESTION
    return ProgramKind.PREPARATION if _prepares(name, verbs, words) else ProgramKind.JUDGE


def _only_tells(name: str, verbs: list[str], words: list[str]) -> bool:
    if [name, *verbs[:1]] == ["git", "diff"]:
        return {"--exit-code", "--quiet", "--check"}.isdisjoint(words)
    if [name, *verbs[:1]] == ["docker", "compose"]:
        return not {"down", "stop", "rm", "logs"}.isdisjoint(verbs[1:2])
    return not TELLS.get(name, frozenset()).isdisjoint(verbs[:1])


def _prepares(name: str, verbs: list[str], words: list[str]) -> bool:
    if [name, *verbs[:1]] == ["docker", "run"]:
        return not {"-d", "--detach"}.isdisjoint(words)
    attached = verbs[:2] in (["compose", "run"], ["compose", "exec"])
    return not attached and not PREPARES.get(name, frozenset()).isdisjoint(verbs[:1])


def is_checker(words: list[str]) -> bool:
    """Whether a command surely is a check: a linter, or a tool that runs tests."""
    name = program_name(words[0])
    return name in CHECKERS or (name in TASK_RUNNERS and words[1:2] == ["test"])


def judges(words: list[str], kind: ProgramKind) -> bool:
    """Whether a gate with this command alone would say something."""
    if kind is ProgramKind.QUESTION:
        return words[0].split()[0] in _TESTS or words[0].startswith(("[", "(("))
    if kind is ProgramKind.PREPARATION:
        return program_name(words[0]) in INSTALLERS
    return kind is ProgramKind.JUDGE


def tries_again(words: list[str], before: tuple[str, ...]) -> bool:
    """Whether a command is another try of one that failed: the same tool, for the same task."""
    name = program_name(words[0])
    if name != program_name(before[0]) or name in _MANY_THINGS:
        return False
    if name not in _TASKS:
        return True
    tasks = [[word for word in each[1:] if not word.startswith("-")] for each in (words, before)]
    return tasks[0][:2] == tasks[1][:2]
