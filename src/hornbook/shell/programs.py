"""What a command line means: what it really runs, and whether that can say no."""

import re
from dataclasses import dataclass
from enum import Enum


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


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")

SHELLS = _names("sh bash dash ash zsh ksh")
SILENT = _names(
    """
    true : echo printf export readonly declare local typeset unset set shopt umask ulimit
    alias sleep pwd clear disown
    """
)
QUESTIONS = _names(
    """
    [ [[ test which type hash read cat ls rm mkdir touch env date whoami uname hostname id
    cp mv head tail less more tee sort uniq wc sed awk gawk tr cut column nl tac rev fold
    fmt pr logger kill pushd popd chmod ln printenv tput stty getopts shift
    """
)
PASSIVE = _names(
    """
    cat head tail less more tee sort uniq wc sed awk gawk tr cut column nl tac rev fold fmt
    pr logger ts pv sponge xmessage
    """
)
"""What only passes text on: at the end of a pipe it hides what came before."""

_LISTERS = _names(
    """
    git find fd ls grep egrep fgrep rg jq yq curl wget gofmt goimports seq comm tar env yes date
    [ test
    """
)
FEEDERS = PASSIVE | SILENT | _LISTERS
RUNNERS = _names(
    """
    pytest py.test tox nox mypy pyright ruff flake8 pylint black isort bandit coverage
    unittest go golangci-lint staticcheck cargo clippy-driver rustfmt npm npx pnpm yarn bun
    deno jest vitest mocha ava tsc eslint biome playwright cypress c8 nyc make gmake ninja
    cmake ctest bazel gradle gradlew mvn mvnw dotnet bats shellcheck rspec rake rubocop
    phpunit pre-commit swift mix
    """
)
_TAKES_VALUE = {
    "env": {"-u", "-C", "-S", "--unset", "--chdir"},
    "timeout": {"-k", "-s", "--kill-after", "--signal"},
    "nice": {"-n"},
    "ionice": {"-c", "-n"},
    "sudo": {"-u", "-g", "-C", "-D"},
    "stdbuf": {"-i", "-o", "-e"},
    "time": {"-f", "-o"},
    "exec": {"-a"},
    "xargs": {"-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E", "--max-args", "--max-procs"},
}
_PREFIXES = _names(
    """
    env timeout nice ionice nohup time command builtin exec sudo doas stdbuf setsid xargs
    cross-env busybox chronic
    """
)
_RUN_PREFIXES = _names("poetry uv pipenv hatch pdm rye pixi")


def base(word: str) -> str:
    """A command's name without its folder."""
    return word.rpartition("/")[2] if not word.startswith("$") else word


def unwrapped(words: list[str]) -> list[str]:
    """The words of what is really run: without `env`, `timeout`, `xargs` and their like."""
    while words:
        name = base(words[0])
        if name == "command" and len(words) > 1 and words[1] in {"-v", "-V"}:
            return ["which", *words[2:]]
        if name in _PREFIXES:
            words = _after_prefix(name, words[1:])
            if not words and name in {"xargs", "env", "exec"}:
                return [":"]
        elif name in _RUN_PREFIXES and words[1:2] == ["run"]:
            words = _after_prefix(name, words[2:])
        elif name.startswith("python") and words[1:2] == ["-m"]:
            words = words[2:]
        elif name in {"npx", "bunx"} or (name, *words[1:2]) in {("npm", "exec"), ("pnpm", "exec")}:
            words = _after_prefix(name, words[1 if name in {"npx", "bunx"} else 2 :])
        else:
            return words
    return words


def _after_prefix(name: str, words: list[str]) -> list[str]:
    takes = _TAKES_VALUE.get(name, set())
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return words[place + 1 :]
        if word in takes:
            place += 2
        elif word.startswith("-") or ASSIGNMENT.match(word):
            place += 1
        else:
            break
    return words[place + 1 :] if name == "timeout" else words[place:]


@dataclass(frozen=True, slots=True)
class Inner:
    """A script that a shell is started with, and the options it is started with."""

    script: str | None = None
    file: str | None = None
    errexit: bool = False
    pipefail: bool = False
    checks_only: bool = False


def inner_shell(words: list[str]) -> Inner | None:
    """The script that a command hands to a shell: `sh -c TEXT` anywhere in it, or `sh FILE`."""
    for place, word in enumerate(words):
        if base(word) in SHELLS and (place == 0 or _has_c(words[place + 1 :])):
            return _shell_arguments(words[place + 1 :])
    return None


def _has_c(words: list[str]) -> bool:
    return any(re.fullmatch(r"-[a-z]*c", word) for word in words[:3])


def _shell_arguments(words: list[str]) -> Inner:
    flags, options = "", set()
    place = 0
    while place < len(words) and words[place][:1] in {"-", "+"} and words[place] != "--":
        word = words[place]
        place += 1
        if word.startswith("--"):
            continue
        flags += word[1:] if word[0] == "-" else ""
        if word.endswith("o") and place < len(words):
            options.add(words[place])
            place += 1
    place += words[place : place + 1] == ["--"]
    rest = words[place:]
    given = rest[0] if rest else None
    return Inner(
        script=given if "c" in flags else None,
        file=given if "c" not in flags and "s" not in flags else None,
        errexit="e" in flags or "errexit" in options,
        pipefail="pipefail" in options,
        checks_only="n" in flags and "c" not in flags,
    )


_PREPARES = {
    "git": _names("checkout clone fetch lfs pull submodule switch"),
    "docker": _names("compose login network pull start volume"),
    "npm": _names("ci i install"),
    "pnpm": _names("i install"),
    "yarn": _names("install"),
    "bun": _names("install"),
    "pip": _names("install"),
    "pip3": _names("install"),
    "uv": _names("pip sync"),
    "poetry": _names("install"),
    "apt-get": _names("install update"),
}
_INSTALLERS = _names("npm pnpm yarn bun pip pip3 uv poetry apt-get")
_TELLS = {
    "git": _names(
        "branch config describe log ls-files ls-remote remote rev-list rev-parse shortlog show "
        "stash status tag whatchanged"
    ),
    "coverage": _names("annotate combine debug erase html json lcov xml"),
    "docker": _names("images info logs ps rm stop version"),
    "pip": _names("freeze list show"),
    "go": _names("env version"),
}
_BARE_INFORMATION = (["--version"], ["version"], ["-V"], ["--help"], ["-h"])
_TESTS = _names("[ [[ test")
_INTERPRETERS = _names("python python3 node deno ruby perl php git docker env xargs") | SHELLS
_TASKS = _names("make gmake npm pnpm yarn bun npx rake gradle gradlew mvn mvnw tox nox")
_MANY = _names(
    """
    go cargo npm npx pnpm yarn bun deno make gmake ninja cmake bazel gradle gradlew mvn mvnw
    dotnet swift mix rake coverage pre-commit
    """
)


def kind_of(words: list[str]) -> ProgramKind:
    """How much the status of a command says."""
    name = base(words[0])
    if name in SILENT:
        return ProgramKind.SILENT
    if name in {"cd", "source", "."}:
        return ProgramKind.STEP
    if name in QUESTIONS or words[1:] in _BARE_INFORMATION:
        return ProgramKind.QUESTION
    verbs = [word for word in words[1:] if not word.startswith("-")]
    verb = verbs[0] if verbs else ""
    if _only_tells(name, verb, verbs, words):
        return ProgramKind.QUESTION
    detached = name == "docker" and verb == "run" and not {"-d", "--detach"}.isdisjoint(words)
    if detached or verb in _PREPARES.get(name, ()):
        attached = verbs[:2] in (["compose", "run"], ["compose", "exec"])
        return ProgramKind.JUDGE if attached else ProgramKind.PREPARATION
    return ProgramKind.JUDGE


def _only_tells(name: str, verb: str, verbs: list[str], words: list[str]) -> bool:
    if (name, verb) == ("git", "diff"):
        return {"--exit-code", "--quiet", "--check"}.isdisjoint(words)
    if (name, *verbs[:2]) in {("docker", "compose", end) for end in ("down", "stop", "rm", "logs")}:
        return True
    return verb in _TELLS.get(name, ())


def is_checker(words: list[str]) -> bool:
    """Whether a command surely is a check: a linter, or a tool that runs tests."""
    name = base(words[0])
    return (name in RUNNERS and name not in _MANY) or ("test" in words[1:2] and name in _MANY)


def judges(words: list[str], kind: ProgramKind) -> bool:
    """Whether a gate with this command alone would say something."""
    if kind is ProgramKind.QUESTION:
        return words[0].split()[0] in _TESTS or words[0].startswith(("[", "(("))
    if kind is ProgramKind.PREPARATION:
        return base(words[0]) in _INSTALLERS
    return kind is ProgramKind.JUDGE


def tries_again(words: list[str], before: tuple[str, ...]) -> bool:
    """Whether a command is another try of one that failed: the same tool, for the same task."""
    name = base(words[0])
    if name != base(before[0]) or name in _INTERPRETERS:
        return False
    if name not in _TASKS:
        return True
    tasks = [[word for word in each[1:] if not word.startswith("-")] for each in (words, before)]
    return tasks[0][:2] == tasks[1][:2]
