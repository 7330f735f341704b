"""Options with which a check checks nothing: dry runs, ignored errors, empty selections."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hornbook.gates.shell_words import base


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
    },
    "ruff": {"--exit-zero": "always passes", "-e": "always passes", "--fix-only": "always passes"},
    "pylint": {"--exit-zero": "always passes"},
    "flake8": {"--exit-zero": "always passes"},
    "bandit": {"--exit-zero": "always passes"},
    "golangci-lint": {"--issues-exit-code=0": "always passes"},
    "tox": {"--notest": "runs no test", "-n": "runs no test"},
    "ctest": {"-N": "runs no test", "--show-only": "runs no test"},
    "gradle": {"--dry-run": "runs nothing", "-m": "runs nothing"},
    "mvn": {
        "-fn": "ignores every error",
        "--fail-never": "ignores every error",
        "-Dmaven.test.failure.ignore": "ignores failing tests",
        "-Dmaven.test.failure.ignore=true": "ignores failing tests",
    },
    "jest": {"--listTests": "runs no test"},
    "rspec": {"--dry-run": "runs no test"},
    "dotnet": {"--list-tests": "runs no test"},
    "go": {"-n": "runs nothing", "-list": "runs no test", "-count=0": "runs no test"},
    "bats": {"--count": "runs no test", "-c": "runs no test"},
    "node": {"--check": "runs nothing", "-c": "runs nothing"},
}
_ANYWHERE = {
    "--if-present": "passes when the script is missing",
    "--passWithNoTests": "passes when no test ran",
    "--pass-with-no-tests": "passes when no test ran",
    "--passWithNoTests=true": "passes when no test ran",
    "--help": "only prints",
    "--version": "only prints",
}
_FOR_TESTS: dict[str, dict[str, str]] = {
    "cargo": {"--no-run": "compiles the tests and runs none"},
    "go": {"-c": "compiles the tests and runs none"},
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
    "vitest": "jest",
}
_NO_TEST = re.compile(r"\^?\$|\^|NONE|none|XXX|\^\$\$?|___\w*|-")


def empty_run(words: Sequence[str], gate: str, variables: Mapping[str, str]) -> Hollow | None:
    """The option by which a command cannot fail, if it has one; variables can carry options too."""
    if not words:
        return None
    tool = _ALIKE.get(base(words[0]), base(words[0]))
    added = variables.get(_ADDED.get(tool, ""), "").split()
    if tool == "make" and added and re.fullmatch(r"[a-zA-Z]+", added[0]):
        added[0] = f"-{added[0]}"
    given = [*words[1:], *added]
    return _told(tool, given, gate) or _selected_nothing(tool, given) or _found_nothing(tool, given)


def _told(tool: str, given: list[str], gate: str) -> Hollow | None:
    known = {**_ANYWHERE, **_OPTIONS.get(tool, {})}
    if "test" in gate.lower() or "test" in given[:1]:
        known |= _FOR_TESTS.get(tool, {})
    for word in given:
        if word in known:
            return Hollow(word, known[word])
        if tool == "make" and re.fullmatch(r"-[a-zA-Z]+", word) and set("int") & set(word):
            letter = "i" if "i" in word else "n"
            if not word.startswith(("-C", "-f", "-I", "-j", "-l", "-o", "-W")):
                return Hollow(word, known[f"-{letter}"])
    return None


def _selected_nothing(tool: str, given: list[str]) -> Hollow | None:
    """A selection of tests that selects none."""
    for place, word in enumerate(given):
        option, equals, value = word.partition("=")
        value = value if equals else "".join(given[place + 1 : place + 2])
        if tool == "go" and option in {"-run", "-test.run", "--run"} and _NO_TEST.fullmatch(value):
            return Hollow(f"{option} {value}", "selects no test")
        if tool == "golangci-lint" and option == "--issues-exit-code" and value == "0":
            return Hollow(f"{option} {value}", "always passes")
        if tool == "go" and option == "-exec" and value in {"true", "echo", ":"}:
            return Hollow(f"{option} {value}", "runs no test")
        if tool == "go" and option == "-count" and value == "0":
            return Hollow(f"{option} {value}", "runs no test")
    return None


def _found_nothing(tool: str, given: list[str]) -> Hollow | None:
    """`find -exec … ;` ends with 0 whatever the command does; with `+` it does not."""
    if tool == "find" and {"-exec", "-execdir", "-ok"} & set(given) and ";" in given:
        return Hollow("-exec … ;", "passes whatever the command does", "end it with `+`")
    return None
