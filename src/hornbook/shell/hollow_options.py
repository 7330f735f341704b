"""Options with which a check checks nothing: dry runs, ignored errors, empty selections."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hornbook.shell.programs import CHECKERS, SHELLS, names, program_name


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
        "checks no type": "--noCheck",
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
    "ctest": {"runs no test": "-N --show-only", "passes when no test ran": "--no-tests=ignore"},
    "gradle": {
        "runs nothing": "--dry-run -m",
        "runs no test": "--test-dry-run",
        "only lists": "tasks projects properties dependencies",
    },
    "cargo": {"only lists tests": "--list"},
    "mvn": {
        "ignores every error": "-fn --fail-never",
        "ignores failing tests": """
            -Dmaven.test.failure.ignore -Dmaven.test.failure.ignore=true
        """,
        "only prints": "-v -h",
    },
    "jest": {"runs no test": "--listTests"},
    "vitest": {"only lists tests": "list"},
    "mocha": {"runs no test": "--dry-run"},
    "bazel": {"builds and runs nothing": "--nobuild", "only lists": "query cquery aquery info"},
    "safety": {"always passes": "--continue-on-error"},
    "stylelint": {"passes when nothing is checked": "--allow-empty-input"},
    "swift": {"runs no test": "--list-tests list"},
    "pip-audit": {"checks nothing": "--dry-run"},
    "semgrep": {"always passes": "--no-error"},
    "actionlint": {"only prints": "-version"},
    "just": {"runs nothing": "-n --dry-run", "only lists": "-l --list --summary"},
    "rspec": {
        "runs no test": "--dry-run",
        "writes a configuration": "--init",
        "only prints": "-h -v",
    },
    "rake": {"runs nothing": "-n --dry-run", "only lists": "-T --tasks -P --prereqs -W --where -D"},
    "rubocop": {
        "only lists files": "-L --list-target-files",
        "only prints": "-v -V -h --show-cops",
        "accepts what it finds": "--auto-gen-config --regenerate-todo",
        "mends what it finds": "-a -A --autocorrect --autocorrect-all --auto-correct",
    },
    "phpunit": {
        "runs no test": """
            --list-tests --list-suites --list-groups --list-tests-xml --list-test-files
        """,
        "passes when no test ran": "--do-not-fail-on-empty-test-suite",
        "writes a configuration": "--generate-configuration --migrate-configuration",
        "only prints": "-h --check-version --warm-coverage-cache",
    },
    "phpstan": {"accepts what it finds": "--generate-baseline -b", "only prints": "-h -V"},
    "psalm": {"accepts what it finds": "--set-baseline", "only prints": "-h -v"},
    "phpcs": {"only prints": "-i -h"},
    "composer": {"runs nothing": "--dry-run"},
    "cmake": {"builds nothing": "-N", "only prints": "-h"},
    "dotnet": {"runs no test": "--list-tests -t"},
    "go": {
        "runs nothing": "-n",
        "runs no test": "-list -count=0",
        "only prints": "help version -h",
    },
    "bats": {"runs no test": "--count -c"},
    "mypy": {"ignores every error": "--ignore-errors"},
    "playwright": {"runs no test": "--list"},
    "ansible-playbook": {"runs nothing": "--list-tasks --list-hosts --list-tags"},
    "checkov": {"always passes": "-s"},
    "tflint": {"always passes": "--force"},
    "vale": {"always passes": "--no-exit"},
    "lychee": {"only lists links": "--dump --dump-inputs"},
}
_OF_ANY_TOOL = {
    "passes when the script is missing": "--if-present",
    "always passes": "--exit-zero --soft-fail --no-fail --nofail",
    "passes when no test ran": """
        --passWithNoTests --pass-with-no-tests --passWithNoTests=true
    """,
    "runs no test": "--collect-only --co --listTests --list-tests",
    "only prints": "--help --version",
}
_IN_TEST_GATES: dict[str, dict[str, str]] = {
    "cargo": {"compiles the tests and runs none": "--no-run"},
    "go": {"compiles the tests and runs none": "-c"},
    "node": {"runs nothing": "--check -c"},
    "deno": {
        "compiles the tests and runs none": "--no-run",
        "passes when no test ran": "--permit-no-files",
    },
}
_FOR_TESTS: dict[str, dict[str, str]] = {
    "mvn": {
        "skips the tests": """
            -DskipTests -DskipTests=true -Dmaven.test.skip -Dmaven.test.skip=true
        """
    }
}
_ADDED = {
    "make": "MAKEFLAGS",
    "pytest": "PYTEST_ADDOPTS",
    "go": "GOFLAGS",
    "mvn": "MAVEN_ARGS MAVEN_OPTS",
}
_ALIKE = {
    "gmake": "make",
    "py.test": "pytest",
    "gradlew": "gradle",
    "mvnw": "mvn",
    "mvnd": "mvn",
    "paratest": "phpunit",
    "pest": "phpunit",
    "simple-phpunit": "phpunit",
}
_NO_TEST = re.compile(r"/?\^?\$/?|\^|NONE|none|XXX|\^\$\$?|___\w*|-")


def empty_run(words: Sequence[str], gate: str, variables: Mapping[str, str]) -> Hollow | None:
    """The option by which a command cannot fail, if it has one; variables can carry options too."""
    if not words:
        return None
    tool = _ALIKE.get(program_name(words[0]), program_name(words[0]))
    carriers = _ADDED.get(tool, "").split()
    added = " ".join(variables.get(each, "") for each in carriers).split()
    if tool == "make" and added and re.fullmatch(r"[a-zA-Z]+", added[0]):
        added[0] = f"-{added[0]}"
    given = [*words[1:], *added]
    return (
        _named_option(tool, given, gate)
        or _selected_nothing(tool, given)
        or _found_nothing(tool, given)
        or _does_nothing(tool, given)
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


# Everything, as a glob or as a regular expression leaves it out.
_EVERY_GLOB = r"(?:\./)?(?:\*\*/)*\*{1,2}(?:\.py)?|\./?|/"
_EVERY_PATTERN = r"\^?\.[*+]?\$?|\^|/|\\?\.py\$?"
_NOTHING: dict[str, tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...]] = {
    tool: tuple((re.compile(option), re.compile(value), reason) for option, value, reason in rules)
    for tool, rules in {
        "go": (
            ("--?(?:test\\.)?run", _NO_TEST.pattern, "selects no test"),
            ("--?(?:test\\.)?skip", r"\.\*?|\.\+|\^|", "skips every test"),
            ("--?exec", "true|echo|:", "runs no test"),
            ("--?count", "0", "runs no test"),
            ("--?vettool", r"(?:.*/)?(?:true|echo)|:", "checks nothing"),
        ),
        "pytest": (("--ignore-glob|--ignore", _EVERY_GLOB, "leaves every test out"),),
        "mypy": (("--exclude", _EVERY_PATTERN, "leaves every file out"),),
        "black": (("--(?:extend-|force-)?exclude", _EVERY_PATTERN, "leaves every file out"),),
        "isort": (("--skip-glob|--sg|--skip|-s", _EVERY_GLOB, "leaves every file out"),),
        "flake8": (
            ("--(?:extend-)?exclude", _EVERY_GLOB, "leaves every file out"),
            ("--(?:extend-)?ignore", r"(?=.*\bE\b)(?=.*\bF\b).*\bW\b.*", "ignores every rule"),
            ("--per-file-ignores", r"\*+(?:\.py)?:.*\b[EF]\b.*", "ignores every rule"),
        ),
        "bandit": (("-x|--exclude", _EVERY_GLOB, "leaves every file out"),),
        "eslint": (("--ignore-pattern", r"\*\*?(?:/\*{1,2})?|\.", "leaves every file out"),),
        "golangci-lint": (("--issues-exit-code", "0", "always passes"),),
        "ruff": (
            ("--ignore|--extend-ignore", "ALL", "ignores every rule"),
            ("--select", "", "selects no rule"),
            ("--(?:extend-)?exclude", _EVERY_GLOB, "leaves every file out"),
            ("--(?:extend-)?per-file-ignores", r"\*+(?:\.py)?:ALL", "ignores every rule"),
        ),
        "pylint": (
            ("--fail-under", r"-\d+(?:\.\d+)?|0(?:\.0*)?", "passes with any score"),
            ("--disable|-d", "all", "checks nothing"),
            ("--ignore-patterns|--ignore-paths", _EVERY_PATTERN, "leaves every file out"),
        ),
        "gradle": (("-x|--exclude-task", ".*(?:test|check)", "leaves the tests out"),),
        "ctest": (
            ("-R|--tests-regex|-L|--label-regex", _NO_TEST.pattern, "selects no test"),
            ("-E|--exclude-regex|-LE|--label-exclude", r"\.\*?|\.\+|\^|", "leaves every test out"),
            ("--no-tests", "ignore", "passes when no test ran"),
        ),
        "phpunit": (
            ("--filter", _NO_TEST.pattern, "selects no test"),
            ("--exclude-filter", r"\.\*?|\.\+|", "leaves every test out"),
        ),
        "rspec": (
            ("--failure-exit-code|--error-exit-code", "0", "always passes"),
            ("-e|--example", _NO_TEST.pattern, "selects no test"),
        ),
        "rubocop": (("--fail-level", "F|fatal", "passes with nearly everything that it finds"),),
        "mvn": (("-Dtest|-Dit\\.test", _NO_TEST.pattern, "selects no test"),),
        "pre-commit": (("--files", "/dev/null", "has nothing to check"),),
        "cargo": (
            ("--cap-lints", "allow|warn", "allows what it finds"),
            ("--skip", "", "skips every test"),
            ("-A|--allow", r"clippy::all|warnings", "allows what it finds"),
        ),
        "ansible-lint": (("-w|--warn-list", "all", "only warns"),),
        "yamllint": (
            ("-d|--config-data", r"\{?\s*(?:rules:\s*\{\s*\}\s*)?\}?", "selects no rule"),
        ),
        "markdownlint": (("-i|--ignore", r"(?:\*\*/)?\*(?:\.md)?|\.", "leaves every file out"),),
        "node": (("--test-name-pattern", _NO_TEST.pattern, "selects no test"),),
        "mix": (("--exclude", "test", "leaves every test out"),),
        "phpcs": (("ignore_errors_on_exit", "1", "always passes"),),
        "coverage": (("--fail-under", "0", "passes with any coverage"),),
        "gitleaks": (("--exit-code", "0", "always passes"),),
        "trivy": (("--exit-code", "0", "always passes"),),
        "diff-cover": (("--fail-under", "0", "passes with any coverage"),),
        "hadolint": (("--failure-threshold|-t", "none", "always passes"),),
        "npm": (("--audit-level", "none", "always passes"),),
        "staticcheck": (
            ("--?fail", "|none", "always passes"),
            ("--?checks", "none|-all", "selects no rule"),
        ),
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
    "black": ("", frozenset({"--check"})),
    "isort": ("", frozenset({"--check", "--check-only", "-c"})),
    "cargo": ("fmt", frozenset({"--check"})),
    "php-cs-fixer": ("fix", frozenset({"--dry-run"})),
}


def _rewrites(tool: str, given: list[str]) -> Hollow | None:
    """A formatter that was not told to check."""
    verb, wanted = _CHECKS.get(tool, ("", frozenset()))
    if not wanted or (verb and given[:1] != [verb]) or not wanted.isdisjoint(given):
        return None
    piece = f"{tool} {verb}".strip()
    return Hollow(piece, "rewrites files instead of judging them", f"add `{min(wanted)}`")


# What names a file that is not looked at.
_FILE_OPTION = re.compile(
    r"-[cof]|--?[\w-]*(?:config|conf|rc|file|path|output|report|log|xml)[\w-]*"
)
_VERBS = frozenset({"check", "lint", "run", "analyse", "analyze"})


def _found_nothing(tool: str, given: list[str]) -> Hollow | None:
    """`find -exec … ;` ends with 0 whatever the command does; nothing differs from itself."""
    if tool == "find" and {"-exec", "-execdir", "-ok"} & set(given) and ";" in given:
        return Hollow("-exec … ;", "passes whatever the command does", "end it with `+`")
    if (tool == "git" and given[:1] == ["diff"]) or tool in {"cmp", "diff"}:
        first, *others = [
            word for word in given if not word.startswith("-") and word != "diff"
        ] or [""]
        if others == [first]:
            return Hollow(f"{first} {first}", "compares something with itself", "name another")
    if tool in SHELLS and given[-1:] == ["/dev/null"]:
        return Hollow("/dev/null", "is a script without a command", "run a check")
    if tool in CHECKERS and "/dev/null" in given:
        before = given[given.index("/dev/null") - 1] if given[0] != "/dev/null" else ""
        looked_at = [word for word in given if not word.startswith("-") and word not in _VERBS]
        if looked_at[-1:] == ["/dev/null"] and not _FILE_OPTION.fullmatch(before):
            return Hollow("/dev/null", "has nothing to check", "name the files to check")
    return None


# The options behind which interpreters take a program, and the statements of one that cannot fail.
_INLINE = {"python": "-c", "node": "-e --eval -p", "ruby": "-e", "perl": "-e", "php": "-r"}
_ELSEWHERE = names("docker podman nerdctl kubectl ssh vagrant lxc")
"""Programs that run a command somewhere else, which they take as their last words."""
_IDLE = re.compile(
    r"\s*(?:pass|import [\w., ]+|from [\w.]+ import [\w, ]+|require\(?\s*[\"'][\w/.]+[\"']\)?|"
    r"(?:sys\.|process\.|os\._)?exit\(?\s*0?\s*\)?|"
    r"(?:print|puts|echo|console\.log)\b[ (]*[\"'\w ]*\)?|\d+|[\"'][^\"']*[\"']|true)?\s*",
    re.IGNORECASE,
)


def _does_nothing(tool: str, given: list[str]) -> Hollow | None:
    """A program in the command itself that has nothing in it which could fail."""
    if tool in _ELSEWHERE and len(given) > 1 and given[-1].rpartition("/")[2] in {"true", ":"}:
        return Hollow(given[-1], "always passes", "run a check there")
    if tool == "grep" and given[:1] == [""]:
        return Hollow("''", "finds something in every line", "say what to find")
    options = _INLINE.get(tool.rstrip("0123456789."), "").split()
    for option, code in pairwise(given):
        if option in options and all(map(_IDLE.fullmatch, re.split(r"[;\n]", code))):
            return Hollow(f"{option} {code}", "has nothing in it that could fail", "run a check")
    return None


# Tools that end with 0 whatever they find: the verb, the options with which they do not, and what
# to write instead. Where another command judges what they left, they are no defect.
_FINDS: dict[str, tuple[str, str, str]] = {
    "autopep8": ("", "--exit-code", "add `--diff --exit-code`"),
    "buf": ("format", "--exit-code", "add `--diff --exit-code`"),
    "clang-format": ("", "--Werror -Werror", "add `--dry-run --Werror`"),
    "cppcheck": ("", "--error-exitcode", "add `--error-exitcode=1`"),
    "dart": ("format", "--set-exit-if-changed", "add `--set-exit-if-changed`"),
    "deno": ("fmt", "--check", "add `--check`"),
    "dotnet": ("format", "--verify-no-changes", "add `--verify-no-changes`"),
    "go": ("fmt", "", 'write `test -z "$(gofmt -l .)"`'),
    "gofmt": ("", "-d", 'write `test -z "$(gofmt -l .)"`'),
    "gofumpt": ("", "-d", 'write `test -z "$(gofumpt -l .)"`'),
    "goimports": ("", "-d", 'write `test -z "$(goimports -l .)"`'),
    "golint": ("", "-set_exit_status --set_exit_status", "add `-set_exit_status`"),
    "google-java-format": ("", "--set-exit-if-changed", "add `--set-exit-if-changed`"),
    "mdformat": ("", "--check", "add `--check`"),
    "mix": ("format", "--check-formatted", "add `--check-formatted`"),
    "pint": ("", "--test", "add `--test`"),
    "prettier": ("", "--check -c --list-different -l", "add `--check`"),
    "radon": ("", "", "use `xenon`, which fails"),
    "rustfmt": ("", "--check", "add `--check`"),
    "semgrep": ("scan", "--error", "add `--error`"),
    "shfmt": ("", "-d --diff -l --list", "add `-d`"),
    "stylua": ("", "--check", "add `--check`"),
    "swiftformat": ("", "--lint", "add `--lint`"),
    "trivy": ("", "--exit-code", "add `--exit-code 1`"),
    "terraform": ("fmt", "-check --check", "add `-check`"),
    "tofu": ("fmt", "-check --check", "add `-check`"),
    "yapf": ("", "-d --diff -q --quiet", "add `--diff`"),
    "zig": ("fmt", "--check", "add `--check`"),
}


def passes_with_findings(words: Sequence[str], gate: str) -> Hollow | None:
    """Why the status of a command says nothing about what it finds; none if it does."""
    tool, given = program_name(words[0]), words[1:]
    if tool in SHELLS and "test" in gate.lower() and _checks_syntax(given):
        return Hollow(" ".join(words), "only reads the script and runs no test", "run the script")
    if tool == "find" and {"-exec", "-execdir"} & set(given) and given[-1] == "+":
        start = next(n for n, word in enumerate(given) if word in {"-exec", "-execdir"}) + 1
        return passes_with_findings(given[start:-1], gate) if given[start:-1] else None
    verb, wanted, remedy = _FINDS.get(tool, ("", "", ""))
    bare = tool == "semgrep" and given[:1] and given[0].startswith("-")
    if not remedy or (verb and list(given[:1]) != [verb] and not bare):
        return None
    if any(word.partition("=")[0] in wanted.split() for word in given):
        return None
    return Hollow(f"{tool} {verb}".strip(), "ends with 0 whatever it finds", remedy)


def _checks_syntax(given: Sequence[str]) -> bool:
    return any(re.fullmatch(r"-[a-z]*n[a-z]*", word) for word in given[:2])
