"""What each test tool says about itself when it ends: how many tests ran, how many failed.

Only the lines count that a tool prints as its own account, in their own shape, with colours and
overwritten lines taken out before. Where a tool runs several times, as in the modules of a build,
the accounts stand in their order.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

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


_PYTEST_BEGIN = re.compile(r"^=+ test session starts =+$", re.MULTILINE)


def _pytest(text: str) -> Iterator[Account]:
    """One account for each session; those that stand within a session are a test's output."""
    ends = list(_PYTEST_END.finditer(text)) or list(_PYTEST_RESULTS.finditer(text))
    begins = [each.start() for each in _PYTEST_BEGIN.finditer(text)]
    for place, end in enumerate(ends):
        open_ones = sum(begin < end.start() for begin in begins) - place
        if open_ones <= 1 or end is ends[-1]:
            yield Account(0) if "collected" in end[1] else _said(end[1])


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


_MAVEN = re.compile(
    r"^(?:\[\w+\] +)?(?:Tests run: (?P<ran>\d+), Failures: (?P<failures>\d+), "
    r"Errors: (?P<errors>\d+), Skipped: (?P<skipped>\d+)|No tests to run\.|Tests are skipped\.)$",
    re.MULTILINE,
)
_MAVEN_END = re.compile(r"^(?:\[\w+\] +)?BUILD (?:SUCCESS|FAILURE)$", re.MULTILINE)


def _maven(text: str) -> Iterator[Account]:
    """One account for each build: the totals of its modules, without the lines of test classes."""
    for build in _MAVEN_END.split(text):
        found = list(_MAVEN.finditer(build))
        totals = [[int(each) for each in line.groups("0")] for line in found]
        if found:
            ran, failures, errors, skipped = (sum(column) for column in zip(*totals, strict=True))
            yield Account(ran - skipped, failures + errors)


_GRADLE_TASK = re.compile(
    r"^(?:> Task )?(?::[\w.-]+)*:(?:test|(?!clean|compile)[a-z]\w*Test)"
    r"(?P<idle> NO-SOURCE| UP-TO-DATE| FROM-CACHE| SKIPPED)?$",
    re.MULTILINE,
)
_GRADLE_FAILED = re.compile(
    r"^(\d+) tests? completed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE
)
_GRADLE_STARTED = re.compile(
    r"^Gradle Test (?:Executor|Run) \S+ started executing tests\.$", re.MULTILINE
)
_GRADLE_ENDED = re.compile(r"^Finished generating test XML results\b", re.MULTILINE)
_GRADLE_END = re.compile(r"^BUILD (?:SUCCESSFUL|FAILED)\b", re.MULTILINE)


def _gradle(text: str) -> Iterator[Account]:
    """One account for each build. Gradle counts tests only where one failed.

    With `--info` it tells whether a process with tests was started, otherwise only whether the
    task was carried out. What was up to date or came from the cache did not run.
    """
    for build in _GRADLE_END.split(text):
        failed = [tuple(int(n or 0) for n in each) for each in _GRADLE_FAILED.findall(build)]
        tasks = [task["idle"] for task in _GRADLE_TASK.finditer(build)]
        started = len(_GRADLE_STARTED.findall(build))
        if failed:
            yield Account(sum(each[0] - each[2] for each in failed), sum(e[1] for e in failed))
        elif started or _GRADLE_ENDED.search(build):
            yield Account(started)
        elif tasks:
            yield Account(sum(idle is None for idle in tasks))


_PHPUNIT = re.compile(
    r"^(?:OK \((?P<passed>\d+) tests?, \d+ assertions?\)"
    r"|Tests: (?P<ran>\d+), Assertions: \d+(?P<notes>(?:, [A-Z][\w ]*: \d+)*)\."
    r"|(?P<none>No tests executed!))$",
    re.MULTILINE,
)


def _phpunit(text: str) -> Iterator[Account]:
    for told in _PHPUNIT.finditer(text):
        notes = {
            name: int(n) for name, n in re.findall(r"([A-Z][\w ]*): (\d+)", told["notes"] or "")
        }
        idle = notes.get("Skipped", 0) + notes.get("Incomplete", 0)
        ran = int(told["passed"] or told["ran"] or 0)
        yield Account(ran - idle, notes.get("Failures", 0) + notes.get("Errors", 0))


_PEST = re.compile(r"^ *Tests: +(\d+ \w+(?:, \d+ \w+)*)(?: \(\d+ assertions?\))?$", re.MULTILINE)


def _pest(text: str) -> Iterator[Account]:
    yield from (_said(told) for told in _PEST.findall(text) if not told.endswith("total"))


def _artisan(text: str) -> Iterator[Account]:
    yield from _pest(text)
    yield from _phpunit(text)


_RSPEC = re.compile(
    r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?"
    r"(?:, (\d+) errors? occurred outside of examples)?$",
    re.MULTILINE,
)


def _rspec(text: str) -> Iterator[Account]:
    for told in _RSPEC.findall(text):
        examples, failures, pending, errors = (int(each or 0) for each in told)
        yield Account(examples - pending + errors, failures + errors)


_MINITEST = re.compile(
    r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (\d+) (?:skips|pendings)"
    r"(?:, (\d+) omissions, \d+ notifications)?$",
    re.MULTILINE,
)


def _minitest(text: str) -> Iterator[Account]:
    """That of test-unit too, which has the same form with other words."""
    for told in _MINITEST.findall(text):
        ran, failures, errors, skipped, omitted = (int(each or 0) for each in told)
        yield Account(ran - skipped - omitted, failures + errors)


def _rake(text: str) -> Iterator[Account]:
    yield from _rspec(text)
    yield from _minitest(text)


_CTEST = re.compile(
    r"^(?:\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<ran>\d+)"
    r"|(?P<none>No tests were found!!!))$",
    re.MULTILINE,
)
_CTEST_IDLE = re.compile(r"^\t *\d+ - .* \(Skipped\)$", re.MULTILINE)


def _ctest(text: str) -> Iterator[Account]:
    """A test that skipped itself is counted among those that passed, and told below the account."""
    ends = list(_CTEST.finditer(text))
    for place, told in enumerate(ends):
        until = ends[place + 1].start() if place + 1 < len(ends) else len(text)
        idle = len(_CTEST_IDLE.findall(text, told.end(), until))
        yield Account(int(told["ran"] or 0) - idle, int(told["failed"] or 0))


_DOTNET = re.compile(
    r"^(?:\w+! +- Failed: +(\d+), Passed: +(\d+), Skipped: +\d+, Total: +\d+\b.*"
    r"|Test summary: total: \d+, failed: (\d+), succeeded: (\d+), skipped: \d+\b.*)$",
    re.MULTILINE,
)
_DOTNET_NONE = re.compile(r"^No test (?:is available|matches the given)\b.*$", re.MULTILINE)


def _dotnet(text: str) -> Iterator[Account]:
    """One account for each project; in the forms of its documentation, untried."""
    for told in _DOTNET.findall(text):
        failed, passed = (
            int(first or second or 0) for first, second in zip(told[:2], told[2:], strict=True)
        )
        yield Account(failed + passed, failed)
    yield from (Account(0) for _ in _DOTNET_NONE.findall(text))


ACCOUNTS: dict[str, Callable[[str], Iterator[Account]]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "go test": _go,
    "cargo": _cargo,
    "jest": _jest,
    "vitest": _vitest,
    "node --test": _node,
    "mocha": _mocha,
    "maven": _maven,
    "gradle": _gradle,
    "phpunit": _phpunit,
    "pest": _pest,
    "artisan": _artisan,
    "rspec": _rspec,
    "minitest": _minitest,
    "rake": _rake,
    "ctest": _ctest,
    "dotnet": _dotnet,
}
"""Every account in a text, by tool."""
