"""Options with which a check checks nothing: dry runs, ignored errors, empty selections."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hornbook.shell.programs import program_name


@dataclass(frozen=True, slots=True)
class Hollow:
    """A check that cannot say no: the piece, what it does, what to write instead."""

    piece: str
    reason: str
    remedy: str = "leave it out"


_OPTIONS: dict[str, dict[str, str]] = {
    "make": {
        "-i": "ignores every error",
        "--ignore-errors": "ignores every error",
        "-n": "runs nothing",
        "--dry-run": "runs nothing",
        "--just-print": "runs nothing",
        "--recon": "runs nothing",
        "-t": "runs nothing",
        "--touch": "runs nothing",
    },
    "pytest": {
        "--collect-only": "runs no test",
        "--co": "runs no test",
        "--setup-plan": "runs no test",
        "--fixtures": "runs no test",
        "--markers": "runs no test",
        "--collectonly": "runs no test",
        "--setup-only": "runs no test",
        "--cache-show": "runs no test",
        "--suppress-no-test-exit-code": "passes when no test ran",
        "-h": "only prints",
        "-V": "only prints",
    },
    "ruff": {
        "--exit-zero": "always passes",
        "-e": "always passes",
        "--fix-only": "always passes",
        "--show-files": "only lists files",
        "--show-settings": "only prints",
    },
    "pylint": {"--exit-zero": "always passes", "--disable=all": "checks nothing"},
    "flake8": {"--exit-zero": "always passes"},
    "prettier": {"--write": "rewrites files and checks none", "-w": "rewrites files"},
    "tsc": {
        "--init": "writes a configuration",
        "--showConfig": "only prints",
        "--listFilesOnly": "only lists files",
        "-v": "only prints",
    },
    "eslint": {
        "--print-config": "only prints",
        "--pass-on-no-patterns": "passes when nothing is checked",
        "--no-error-on-unmatched-pattern": "passes when nothing is checked",
    },
    "bandit": {"--exit-zero": "always passes"},
    "golangci-lint": {"--issues-exit-code=0": "always passes"},
    "tox": {
        "--notest": "runs no test",
        "-n": "runs no test",
        "-l": "only lists",
        "-a": "only lists",
        "--listenvs": "only lists",
        "list": "only lists",
    },
    "nox": {"-l": "only lists", "--list": "only lists"},
    "ctest": {"-N": "runs no test", "--show-only": "runs no test"},
    "gradle": {"--dry-run": "runs nothing", "-m": "runs nothing"},
    "cargo": {"--list": "only lists tests"},
    "mvn": {
        "-fn": "ignores every error",
        "--fail-never": "ignores every error",
        "-Dmaven.test.failure.ignore": "ignores failing tests",
        "-Dmaven.test.failure.ignore=true": "ignores failing tests",
    },
    "jest": {"--listTests": "runs no test"},
    "vitest": {"list": "only lists tests"},
    "rspec": {"--dry-run": "runs no test"},
    "dotnet": {"--list-tests": "runs no test"},
    "go": {"-n": "runs nothing", "-list": "runs no test", "-count=0": "runs no test"},
    "bats": {"--count": "runs no test", "-c": "runs no test"},
}
_ANYWHERE = {
    "--if-present": "passes when the script is missing",
    "--passWithNoTests": "passes when no test ran",
    "--pass-with-no-tests": "passes when no test ran",
    "--passWithNoTests=true": "passes when no test ran",
    "--help": "only prints",
    "--version": "only prints",
}
_IN_TEST_GATES: dict[str, dict[str, str]] = {
    "cargo": {"--no-run": "compiles the tests and runs none"},
    "go": {"-c": "compiles the tests and runs none"},
    "node": {"--check": "runs nothing", "-c": "runs nothing"},
}
_FOR_TESTS: dict[str, dict[str, str]] = {
    "mvn": {
        "-DskipTests": "skips the tests",
        "-DskipTests=true": "skips the tests",
        "-Dmaven.test.skip": "skips the tests",
        "-Dmaven.test.skip=true": "skips the tests",
    },
}
_ADDED = {"make": "MAKEFLAGS", "pytest": "PYTEST_ADDOPTS", "go": "GOFLAGS"}
_ALIKE = {
    "gmake": "make",
    "py.test": "pytest",
    "gradlew": "gradle",
    "mvnw": "mvn",
}
_NO_TEST = re.compile(r"\^?\$|\^|NONE|none|XXX|\^\$\$?|___\w*|-")


def empty_run(words: Sequence[str], gate: str, variables: Mapping[str, str]) -> Hollow | None:
    """The option by which a command cannot fail, if it has one; variables can carry options too."""
    if not words:
        return None
    tool = _ALIKE.get(program_name(words[0]), program_name(words[0]))
    added = variables.get(_ADDED.get(tool, ""), "").split()
    if tool == "make" and added and re.fullmatch(r"[a-zA-Z]+", added[0]):
        added[0] = f"-{added[0]}"
    given = [*words[1:], *added]
    return _told(tool, given, gate) or _selected_nothing(tool, given) or _found_nothing(tool, given)


def _told(tool: str, given: list[str], gate: str) -> Hollow | None:
    known = {**_ANYWHERE, **_OPTIONS.get(tool, {})}
    if "test" in gate.lower():
        known |= _IN_TEST_GATES.get(tool, {})
    if "test" in gate.lower() or not {"test", "verify"}.isdisjoint(given):
        known |= _FOR_TESTS.get(tool, {})
    for word in given:
        if word in known:
            return Hollow(word, known[word])
        if tool == "make" and re.fullmatch(r"-[a-zA-Z]+", word) and set("int") & set(word):
            letter = "i" if "i" in word else "n"
            if not word.startswith(("-C", "-f", "-I", "-j", "-l", "-o", "-W")):
                return Hollow(word, known[f"-{letter}"])
    return None


_NOTHING: dict[str, tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...]] = {
    tool: tuple((re.compile(option), re.compile(value), reason) for option, value, reason in rules)
    for tool, rules in {
        "go": (
            ("--?(?:test\\.)?run", _NO_TEST.pattern, "selects no test"),
            ("--?(?:test\\.)?skip", r"\.\*?|\.\+|\^|", "skips every test"),
            ("--?exec", "true|echo|:", "runs no test"),
            ("--?count", "0", "runs no test"),
        ),
        "golangci-lint": (("--issues-exit-code", "0", "always passes"),),
        "ruff": (
            ("--ignore|--extend-ignore", "ALL", "ignores every rule"),
            ("--select", "", "selects no rule"),
        ),
        "pylint": (
            ("--fail-under", r"-\d+(?:\.\d+)?|0(?:\.0*)?", "passes with any score"),
            ("--disable|-d", "all", "checks nothing"),
        ),
        "gradle": (("-x|--exclude-task", ".*(?:test|check)", "leaves the tests out"),),
        "coverage": (("--fail-under", "0", "passes with any coverage"),),
        "make": (("SHELL|\\.SHELLFLAGS", ".*", "runs the recipes with something else"),),
    }.items()
}


def _selected_nothing(tool: str, given: list[str]) -> Hollow | None:
    """A selection of tests or rules that selects none."""
    for place, word in enumerate(given):
        option, equals, value = word.partition("=")
        value = value if equals else "".join(given[place + 1 : place + 2])
        for named, nothing, reason in _NOTHING.get(tool, ()):
            if named.fullmatch(option) and nothing.fullmatch(value):
                return Hollow(f"{option} {value}".strip(), reason)
    return _rewrites(tool, given)


_CHECKS = {
    "ruff": ("format", frozenset({"--check", "--diff"})),
    "black": ("", frozenset({"--check", "--diff"})),
    "isort": ("", frozenset({"--check", "--check-only", "-c", "--diff"})),
    "cargo": ("fmt", frozenset({"--check"})),
}


def _rewrites(tool: str, given: list[str]) -> Hollow | None:
    """A formatter that was not told to check."""
    verb, wanted = _CHECKS.get(tool, ("", frozenset()))
    if not wanted or (verb and given[:1] != [verb]) or not wanted.isdisjoint(given):
        return None
    piece = f"{tool} {verb}".strip()
    return Hollow(piece, "rewrites files instead of judging them", f"add `{min(wanted)}`")


def _found_nothing(tool: str, given: list[str]) -> Hollow | None:
    """`find -exec … ;` ends with 0 whatever the command does; with `+` it does not."""
    if tool == "find" and {"-exec", "-execdir", "-ok"} & set(given) and ";" in given:
        return Hollow("-exec … ;", "passes whatever the command does", "end it with `+`")
    return None
