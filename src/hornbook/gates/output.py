"""Whether tests really ran: what each test tool says about itself when it ends.

Only the lines count that a tool prints as its own account, in their own shape. A test may print
anything: as soon as a tool counts a test that ran, what else is printed does not matter.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hornbook.gates.ansi import plain

_NUMBER = re.compile(r"(\d+) ([a-z]+)")
_RAN = frozenset(
    [
        "passed",
        "failed",
        "error",
        "errors",
        "xfailed",
        "xpassed",
        "pass",
        "fail",
        "cancelled",
        "todo",
        "passing",
        "failing",
    ]
)


def _said(text: str) -> int:
    """How many tests ran by an account such as `1 failed, 2 passed, 3 skipped`."""
    return sum(int(number) for number, word in _NUMBER.findall(text) if word in _RAN)


_PYTEST_END = re.compile(
    r"^(?:=+ )?((?:no tests ran|(?:no tests|\d+ (?:/ ?\d+ )?[a-z]+)[a-z0-9 ,()/]*?))"
    r" in \d+\.\d+s(?: \([\d:]+\))?(?: =+)?$",
    re.MULTILINE,
)


def _pytest(text: str) -> Iterator[int]:
    """The last such line is pytest's own: a test's output stands above it."""
    ends = _PYTEST_END.findall(text)
    if ends:
        yield 0 if "collected" in ends[-1] else _said(ends[-1])


_UNITTEST = re.compile(
    r"^Ran (\d+) tests? in [\d.]+s\n\n?(?:(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?)?", re.MULTILINE
)


def _unittest(text: str) -> Iterator[int]:
    for ran, notes in _UNITTEST.findall(text):
        skipped = re.search(r"skipped=(\d+)", notes)
        yield int(ran) - (int(skipped[1]) if skipped else 0)


_GO_PACKAGE = re.compile(
    r"^(?:ok  \t\S+\t(?P<ok>.*)|FAIL\t\S+\t(?P<failed>[\d.]+s)"
    r"|\?   \t\S+\t(?P<none>\[no test files\])|\t\S+\t\tcoverage: (?P<bare>0\.0%).*"
    r"|(?P<nothing>no packages to test|go: warning: .* matched no packages))$",
    re.MULTILINE,
)


def _go(text: str) -> Iterator[int]:
    """One account for each package."""
    for package in _GO_PACKAGE.finditer(_go_unpacked(text)):
        if package["ok"] is not None:
            yield 0 if "[no tests to run]" in package["ok"] else 1
        else:
            yield 1 if package["failed"] else 0


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
_NEXTEST = re.compile(r"^ *Summary \[ *[\d.]+s\] *(\d+)(?:/\d+)? tests? run:", re.MULTILINE)
_NEXTEST_NONE = re.compile(r"^error: no tests (?:to )?run$", re.MULTILINE)


def _cargo(text: str) -> Iterator[int]:
    """One account for each target."""
    for passed, failed in _CARGO.findall(text):
        yield int(passed) + int(failed)
    for ran in _NEXTEST.findall(text):
        yield int(ran)
    for _ in _NEXTEST_NONE.findall(text):
        yield 0


_JEST = re.compile(r"^Tests: +(.*\b\d+ total)$", re.MULTILINE)
_JEST_NONE = re.compile(
    r"^No tests found(?:, exiting with code \d+| related to .*)?$", re.MULTILINE
)
_VITEST = re.compile(r"^ *Tests  +(no tests|\d+ \w+(?: \| \d+ \w+)*)(?: \(\d+\))?$", re.MULTILINE)
_VITEST_NONE = re.compile(r"^No test (?:suite |files )found\b.*$", re.MULTILINE)


def _jest(text: str) -> Iterator[int]:
    yield from (_said(account) for account in _JEST.findall(text))
    yield from (0 for _ in _JEST_NONE.findall(text))


def _vitest(text: str) -> Iterator[int]:
    yield from (_said(account) for account in _VITEST.findall(text))
    yield from (0 for _ in _VITEST_NONE.findall(text))


_NODE = re.compile(
    r"^(?:# |ℹ )tests (\d+)\n(?:(?:# |ℹ )suites \d+\n)?(?:# |ℹ )pass \d+\n(?:# |ℹ )fail \d+\n"
    r"(?:# |ℹ )cancelled \d+\n(?:# |ℹ )skipped (\d+)\n(?:# |ℹ )todo \d+$",
    re.MULTILINE,
)


def _node(text: str) -> Iterator[int]:
    """Its account is a block of lines: a test that prints one of them does not pass for it."""
    for tests, skipped in _NODE.findall(text):
        yield int(tests) - int(skipped)


_MOCHA = re.compile(r"^  (\d+) (?:passing|failing)\b(?: \(\w+\))?$", re.MULTILINE)


def _mocha(text: str) -> Iterator[int]:
    yield from (int(ran) for ran in _MOCHA.findall(text))


@dataclass(frozen=True, slots=True)
class Tool:
    """A test tool: how a command names it, and the tests that its accounts say have run."""

    name: str
    named: re.Pattern[str]
    accounts: Callable[[str], Iterator[int]]


TOOLS = (
    Tool("pytest", re.compile(r"\b(?:pytest|py\.test)\b"), _pytest),
    Tool("unittest", re.compile(r"-m +unittest\b"), _unittest),
    Tool("go test", re.compile(r"\bgo +test\b"), _go),
    Tool("cargo", re.compile(r"\bcargo +(?:\+\S+ +)?(?:test|t|nextest|llvm-cov)\b"), _cargo),
    Tool("jest", re.compile(r"\bjest\b"), _jest),
    Tool("vitest", re.compile(r"\bvitest\b"), _vitest),
    Tool("node --test", re.compile(r"\bnode\b[^|;&]* --test\b"), _node),
    Tool("mocha", re.compile(r"\bmocha\b"), _mocha),
)


def no_tests_ran(command: str, code: int | None, output: str) -> str | None:
    """The tool that says that it ran no test, or none.

    A tool that the command names must have run a test. A command that names no tool, such as
    `make test`, is judged by all accounts in its output together.
    """
    text = plain(output)
    named = [tool for tool in TOOLS if tool.named.search(command)]
    told = {tool.name: list(tool.accounts(text)) for tool in named or TOOLS}
    empty = [name for name, accounts in told.items() if accounts and not any(accounts)]
    if code == 5 and any(tool.name in {"pytest", "unittest"} for tool in named):
        return empty[0] if empty else "pytest"
    if not named and any(any(accounts) for accounts in told.values()):
        return None
    return empty[0] if empty else None
