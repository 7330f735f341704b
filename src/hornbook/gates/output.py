"""Whether tests really ran: what each test tool says about itself when it ends.

Only the lines count that a tool prints as its own account, in their own shape. A test may print
anything: as soon as a tool counts a test that ran, what else is printed does not matter. A tool
that a command runs and that gives no account has died before its end, or was kept from telling.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hornbook.gates.ansi import plain
from hornbook.gates.testing_tools import Read, tools_run

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
    told = {name: list(account(text)) for name, account in ACCOUNTS.items()}
    known = {name: told[name] for name in named} if named else told
    empty = [name for name, accounts in known.items() if accounts and not _any_ran(accounts)]
    if code == 5 and not empty:
        empty = [name for name in named if name in {"pytest", "unittest"}]
    if empty and (named or not any(map(_any_ran, known.values()))):
        return f"no tests ran ({empty[0]}): a run without a test proves nothing."
    return _silent_or_failed(known) if code == 0 and named else None


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
