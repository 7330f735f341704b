"""Whether tests really ran: what each test tool says about itself when it ends.

Only the lines count that a tool prints as its own account, in their own shape. A test may print
anything: as soon as a tool counts a test that ran, what else is printed does not matter. A tool
that a command runs and that gives no account has died before its end, or was kept from telling.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from hornbook.gates.scripts import recipes
from hornbook.shell.bash_tree import NotShell, commands, parse, words
from hornbook.shell.command_kind import inner_shell, unwrapped
from hornbook.shell.programs import names, program_name

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERWRITTEN = re.compile(r"^.*\r(?!$)", re.MULTILINE)
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def plain(text: str) -> str:
    """The text without colours, overwritten progress lines and control characters."""
    without = _SEQUENCE.sub("", text).replace("\r\n", "\n")
    return _STEERING.sub("", _OVERWRITTEN.sub("", without))


Read = Callable[[str], bytes | None]

_DEEPEST = 4
# They name tools without running them.
_MENTIONS = names(
    """
    [ alias apk apt apt-get brew cat command conda dnf echo export git grep hash head ls mypy pip
    pip3 pipx printf pyright rg ruff tail test touch type uvx which yum
    """
)
_INSTALLS = frozenset({"add", "ci", "i", "install", "pip", "remove", "sync", "uninstall"})
_NO_RUN = frozenset({"--no-run", "-c", "clean", "report", "show-env"})
_PAIRS = {
    "go test": ("go", frozenset({"test"})),
    "cargo": ("cargo", frozenset({"test", "t", "nextest", "llvm-cov"})),
}
_WORDS = {
    "pytest": frozenset({"pytest", "py.test"}),
    "unittest": frozenset({"unittest"}),
    "jest": frozenset({"jest"}),
    "vitest": frozenset({"vitest"}),
    "mocha": frozenset({"mocha"}),
}


def tools_run(command: str, read: Read | None = None) -> tuple[str, ...]:
    """The test tools that a command runs, in their order; `read` gives the recipes it names."""
    return tuple(dict.fromkeys(_tools(command, read, 0)))


def _tools(text: str, read: Read | None, depth: int) -> Iterator[str]:
    try:
        found = [unwrapped(words(node)) for node in commands(parse(text))]
    except (NotShell, RecursionError):
        found = [re.findall(r"[\w./+-]+", text)]
    for meant in filter(None, found if depth <= _DEEPEST else []):
        texts = _inner(meant) + (recipes(meant, read) if read is not None else [])
        for each in texts:
            yield from _tools(each, read, depth + 1)
        if not texts:
            yield from _named(meant)


def _inner(meant: Sequence[str]) -> list[str]:
    if program_name(meant[0]) == "eval":
        return [" ".join(meant[1:])]
    inner = inner_shell(list(meant)) if program_name(meant[0]) != "echo" else None
    return [inner.script] if inner is not None and inner.script else []


def _named(meant: Sequence[str]) -> Iterator[str]:
    if program_name(meant[0]) in _MENTIONS or not _INSTALLS.isdisjoint(meant[1:2]):
        return
    given = [program_name(word) for word in meant]
    yield from (tool for tool, known in _WORDS.items() if not known.isdisjoint(given))
    if _NO_RUN.isdisjoint(takewhile(lambda word: word != "--", given)):
        yield from _named_by_verb(given)
    if {"node", "--test"} <= set(given):
        yield "node --test"


def _named_by_verb(given: list[str]) -> Iterator[str]:
    """The tools that run tests by a verb: `go test`, `cargo +nightly test`."""
    pairs = set(pairwise(word for word in given if not word.startswith("+")))
    for tool, (program, verbs) in _PAIRS.items():
        if any((program, verb) in pairs for verb in verbs):
            yield tool


_NUMBER = re.compile(r"(\d+) ([a-z]+)")
_PASSED = frozenset({"passed", "xpassed", "pass", "passing"})
_FAILED = frozenset({"failed", "error", "errors", "fail", "cancelled", "failing"})


class Account(NamedTuple):
    """What a tool tells: how many tests ran, and how many of them failed.

    A test that was skipped, or that is expected to fail and did, shows nothing: it did not run.
    """

    ran: int
    failed: int = 0


def _said(text: str) -> Account:
    """An account such as `1 failed, 2 passed, 3 skipped`."""
    told = [(int(number), word) for number, word in _NUMBER.findall(text.lower())]
    failed = sum(number for number, word in told if word in _FAILED)
    return Account(failed + sum(number for number, word in told if word in _PASSED), failed)


_PYTEST_END = re.compile(
    r"^(?:=+ )?((?:no tests ran|(?:no tests|\d+ (?:/ ?\d+ )?[a-z]+)[a-z0-9 ,()/]*?))"
    r" in \d+\.\d+s(?: \([\d:]+\))?(?: =+)?$",
    re.MULTILINE,
)


# As the plugins print it that lay pytest's output out anew.
_PYTEST_RESULTS = re.compile(r"^Results \([\d.]+s\):\n((?: +- .*\n| +\d+ \w+.*\n?)+)", re.MULTILINE)


def _pytest(text: str) -> Iterator[Account]:
    """The last such line is pytest's own: a test's output stands above it."""
    ends = _PYTEST_END.findall(text) or _PYTEST_RESULTS.findall(text)
    if ends:
        yield Account(0) if "collected" in ends[-1] else _said(ends[-1])


_UNITTEST = re.compile(
    r"^Ran (\d+) tests? in [\d.]+s\n\n?(?:(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?)?", re.MULTILINE
)


def _unittest(text: str) -> Iterator[Account]:
    for ran, notes in _UNITTEST.findall(text):
        counts = {name: int(number) for name, number in re.findall(r"([a-z ]+)=(\d+)", notes)}
        told = {name.strip(): number for name, number in counts.items()}
        idle = told.get("skipped", 0) + told.get("expected failures", 0)
        yield Account(int(ran) - idle, told.get("failures", 0) + told.get("errors", 0))


_GO_PACKAGE = re.compile(
    r"^(?:ok  \t(?P<package>\S+)\t(?P<ok>.*)|FAIL\t(?P<broken>\S+)\t(?P<failed>[\d.]+s|\[.*\])"
    r"|\?   \t\S+\t(?P<none>\[no test files\])|\t\S+\t\tcoverage: (?P<bare>0\.0%).*"
    r"|(?P<nothing>no packages to test|go: warning: .* matched no packages))$",
    re.MULTILINE,
)


def _go(text: str) -> Iterator[Account]:
    """One account for all packages; of one that was tried again the last try counts."""
    packages: dict[str, Account] = {}
    for line in _GO_PACKAGE.finditer(_go_unpacked(text)):
        if line["ok"] is not None:
            packages[line["package"]] = Account(int("[no tests to run]" not in line["ok"]))
        elif line["failed"]:
            packages[line["broken"]] = Account(1, 1)
        else:
            packages.setdefault("", Account(0))
    if packages:
        told = packages.values()
        yield Account(sum(each.ran for each in told), sum(each.failed for each in told))


def _go_unpacked(text: str) -> str:
    """The text inside the events of `go test -json`; other text as it is."""
    if '{"' not in text or '"Action":' not in text:
        return text
    pieces = []
    for line in text.splitlines():
        if line.startswith("{") and '"Action":' in line:
            try:
                pieces.append(str(json.loads(line).get("Output", "")))
            except ValueError:
                pieces.append(line + "\n")
        else:
            pieces.append(line + "\n")
    return "".join(pieces)


_CARGO = re.compile(
    r"^test result: \w+\. (\d+) passed; (\d+) failed; \d+ ignored; \d+ measured;", re.MULTILINE
)
_NEXTEST = re.compile(r"^ *Summary \[ *[\d.]+s\] *(\d+)(?:/\d+)? tests? run:(.*)", re.MULTILINE)
_NEXTEST_NONE = re.compile(r"^error: no tests (?:to )?run$", re.MULTILINE)


def _cargo(text: str) -> Iterator[Account]:
    """One account for each target."""
    for passed, failed in _CARGO.findall(text):
        yield Account(int(passed) + int(failed), int(failed))
    for ran, told in _NEXTEST.findall(text):
        yield Account(int(ran), _said(told).failed)
    for _ in _NEXTEST_NONE.findall(text):
        yield Account(0)


_JEST = re.compile(r"^Tests: +(.*\b\d+ total)$", re.MULTILINE)
_JEST_NONE = re.compile(
    r"^No tests found(?:, exiting with code \d+| related to .*)?$", re.MULTILINE
)
_VITEST = re.compile(r"^ *Tests  +(no tests|\d+ \w+(?: \| \d+ \w+)*)(?: \(\d+\))?$", re.MULTILINE)
_VITEST_NONE = re.compile(r"^No test (?:suite |files )found\b.*$", re.MULTILINE)


def _jest(text: str) -> Iterator[Account]:
    yield from (_said(account) for account in _JEST.findall(text))
    yield from (Account(0) for _ in _JEST_NONE.findall(text))


def _vitest(text: str) -> Iterator[Account]:
    yield from (_said(account) for account in _VITEST.findall(text))
    yield from (Account(0) for _ in _VITEST_NONE.findall(text))


_NODE = re.compile(
    r"^(?:# |ℹ )tests (\d+)\n(?:(?:# |ℹ )suites \d+\n)?(?:# |ℹ )pass \d+\n(?:# |ℹ )fail (\d+)\n"
    r"(?:# |ℹ )cancelled (\d+)\n(?:# |ℹ )skipped (\d+)\n(?:# |ℹ )todo (\d+)$",
    re.MULTILINE,
)


def _node(text: str) -> Iterator[Account]:
    """Its account is a block of lines: a test that prints one of them does not pass for it."""
    for told in _NODE.findall(text):
        tests, failed, cancelled, skipped, planned = map(int, told)
        yield Account(tests - skipped - planned, failed + cancelled)


_MOCHA = re.compile(r"^  (\d+) (passing|failing)\b(?: \(\w+\))?$", re.MULTILINE)


def _mocha(text: str) -> Iterator[Account]:
    for ran, how in _MOCHA.findall(text):
        yield Account(int(ran), int(ran) if how == "failing" else 0)


ACCOUNTS: dict[str, Callable[[str], Iterator[Account]]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "go test": _go,
    "cargo": _cargo,
    "jest": _jest,
    "vitest": _vitest,
    "node --test": _node,
    "mocha": _mocha,
}


def _said_by_code(tools: Sequence[str], code: int | None) -> list[str]:
    """The tools whose exit code says that no test ran."""
    return [name for name in tools if code == 5 and name in {"pytest", "unittest"}]


def problem_with_tests(
    command: str, code: int | None, output: str, read: Read | None = None
) -> str | None:
    """Why the tests of a command that ended with 0, 4 or 5 prove nothing; none if they do.

    A test tool that the command runs, itself or by a recipe that `read` finds, must tell that a
    test ran and that none failed. A command that runs none that is known is judged by all
    accounts in its output together.
    """
    text = plain(output)
    named = tools_run(command, read)
    known = {name: list(ACCOUNTS[name](text)) for name in named or ACCOUNTS}
    empty = _without_a_run(known) or _said_by_code(named, code)
    if empty and (named or not any(map(_any_ran, known.values()))):
        return f"no tests ran ({empty[0]}): a run without a test proves nothing."
    return _silent_or_failed(known) if code == 0 and named else None


def _without_a_run(told: dict[str, list[Account]]) -> list[str]:
    """The tools that gave an account of no test that ran."""
    return [name for name, accounts in told.items() if accounts and not _any_ran(accounts)]


def _any_ran(accounts: list[Account]) -> bool:
    return any(account.ran for account in accounts)


def _silent_or_failed(told: dict[str, list[Account]]) -> str | None:
    for name, accounts in told.items():
        if not accounts:
            return (
                f"{name} gave no account of tests that ran, although it ended with 0: it ended "
                "early, or its summary is hidden (`-qq`, a redirection, a reporter of its own); "
                "let the summary reach the output."
            )
        if accounts[-1].failed:
            tests = "test" if accounts[-1].failed == 1 else "tests"
            return (
                f"{name} tells of {accounts[-1].failed} failed {tests}, although it ended with 0."
            )
    return None
