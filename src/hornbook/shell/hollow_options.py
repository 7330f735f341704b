"""Options with which a check checks nothing: dry runs, ignored errors, empty selections."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hornbook.shell.programs import program_name


@dataclass(frozen=True, slots=True)
class Hollow:
    """A check that cannot say no: the piece, what it does, what to write instead."""

    piece: str
    reason: str
    remedy: str = "leave it out"


# For each tool: what an option does to the check, and the options that do so.
_OPTIONS: dict[str, dict[str, str]] = {
    "make": {
        "ignores every error": "-i --ignore-errors",
        "runs nothing": "-n --dry-run --just-print --recon -t --touch",
    },
    "pytest": {
        "runs no test": """
            --collect-only --co --setup-plan --fixtures --markers --collectonly --setup-only
            --cache-show
        """,
        "passes when no test ran": "--suppress-no-test-exit-code",
        "only prints": "-h -V",
    },
    "ruff": {
        "always passes": "--exit-zero -e --fix-only",
        "only lists files": "--show-files",
        "only prints": "--show-settings",
    },
    "pylint": {"always passes": "--exit-zero", "checks nothing": "--disable=all"},
    "flake8": {"always passes": "--exit-zero"},
    "prettier": {"rewrites files and checks none": "--write", "rewrites files": "-w"},
    "tsc": {
        "writes a configuration": "--init",
        "only prints": "--showConfig -v",
        "only lists files": "--listFilesOnly",
    },
    "eslint": {
        "only prints": "--print-config",
        "passes when nothing is checked": """
            --pass-on-no-patterns --no-error-on-unmatched-pattern
        """,
    },
    "bandit": {"always passes": "--exit-zero"},
    "golangci-lint": {"always passes": "--issues-exit-code=0"},
    "tox": {"runs no test": "--notest -n", "only lists": "-l -a --listenvs list"},
    "nox": {"only lists": "-l --list"},
    "ctest": {"runs no test": "-N --show-only"},
    "gradle": {"runs nothing": "--dry-run -m"},
    "cargo": {"only lists tests": "--list"},
    "mvn": {
        "ignores every error": "-fn --fail-never",
        "ignores failing tests": """
            -Dmaven.test.failure.ignore -Dmaven.test.failure.ignore=true
        """,
    },
    "jest": {"runs no test": "--listTests"},
    "vitest": {"only lists tests": "list"},
    "rspec": {"runs no test": "--dry-run"},
    "dotnet": {"runs no test": "--list-tests"},
    "go": {"runs nothing": "-n", "runs no test": "-list -count=0"},
    "bats": {"runs no test": "--count -c"},
}
_OF_ANY_TOOL = {
    "passes when the script is missing": "--if-present",
    "passes when no test ran": """
        --passWithNoTests --pass-with-no-tests --passWithNoTests=true
    """,
    "only prints": "--help --version",
}
_IN_TEST_GATES: dict[str, dict[str, str]] = {
    "cargo": {"compiles the tests and runs none": "--no-run"},
    "go": {"compiles the tests and runs none": "-c"},
    "node": {"runs nothing": "--check -c"},
}
_FOR_TESTS: dict[str, dict[str, str]] = {
    "mvn": {
        "skips the tests": """
            -DskipTests -DskipTests=true -Dmaven.test.skip -Dmaven.test.skip=true
        """
    }
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
    return (
        _named_option(tool, given, gate)
        or _selected_nothing(tool, given)
        or _found_nothing(tool, given)
    )


def _option_tables(tool: str, given: list[str], gate: str) -> Iterator[Mapping[str, str]]:
    yield _OF_ANY_TOOL
    yield _OPTIONS.get(tool, {})
    tests = "test" in gate.lower()
    if tests:
        yield _IN_TEST_GATES.get(tool, {})
    if tests or not {"test", "verify"}.isdisjoint(given):
        yield _FOR_TESTS.get(tool, {})


def _named_option(tool: str, given: list[str], gate: str) -> Hollow | None:
    """An option that is known to take the check out of a tool."""
    known = {
        option: does
        for table in _option_tables(tool, given, gate)
        for does, options in table.items()
        for option in options.split()
    }
    for word in given:
        option = _letter_of_make(word) if tool == "make" and word not in known else word
        if option in known:
            return Hollow(word, known[option])
    return None


def _letter_of_make(word: str) -> str:
    """The option in a word of several letters that keeps make from failing; `-C` and such aside."""
    if not re.fullmatch(r"-(?![CfIjloW])[a-zA-Z]*[int][a-zA-Z]*", word):
        return ""
    return "-i" if "i" in word else "-n"


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
