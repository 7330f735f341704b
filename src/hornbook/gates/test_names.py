"""The names of tests that failed or were skipped, as each test tool prints them.

Names are read where a tool lists them in a form of its own. A tool that prints none leaves none:
nothing is guessed from the output of a test.
"""

import re
from collections.abc import Iterator

from hornbook.gates.test_output import plain

# One line is enough: pytest, unittest, go, cargo, jest, vitest, node, gradle, surefire.
_FAILED = re.compile(
    r"^(?:FAILED|ERROR) (?P<pytest>\S*(?:::|\.py)\S*)|^(?:FAIL|ERROR): (?P<unittest>\w+) \("
    r"|^\s*--- FAIL: (?P<go>\S+)|^test (?P<cargo>\S+) \.\.\. FAILED$"
    r"|^\s*(?:●|✕|×) (?P<jest>\S.*?)(?: \(?\d+ ?ms\)?)?$|^ ?FAIL  (?P<vitest>\S+ > .+)$"
    r"|^not ok \d+ - (?P<node>.+)$|^(?P<gradle>[\w.$]+(?: > .+?)+) FAILED$"
    r"|^(?:\[\w+\] +)?(?P<surefire>[\w.$\[\]]+(?:\([\w.$]+\))?)(?: --)? +Time elapsed: .*<<< "
    r"(?:FAILURE|ERROR)!(?!.* in )",
    re.MULTILINE,
)
_SKIPPED = re.compile(
    r"^(?P<pytest>\S+\.py::\S+) SKIPPED|^(?P<unittest>\w+) \(.*\) \.\.\. skipped"
    r"|^\s*--- SKIP: (?P<go>\S+)|^test (?P<cargo>\S+) \.\.\. ignored"
    r"|^\s*○ (?:skipped )?(?P<jest>\S.*?)$|^\s*↓ (?P<vitest>\S.*?)(?: \[skipped\])?$"
    r"|^(?:not )?ok \d+ - (?P<node>.+?) # SKIP\b.*$|^(?P<gradle>[\w.$]+(?: > .+?)+) SKIPPED$"
    r"|^(?:\[\w+\] +)?(?P<surefire>[\w.$\[\]]+(?:\([\w.$]+\))?)(?: --)? +Time elapsed: .*<<< "
    r"SKIPPED!",
    re.MULTILINE,
)

# Tools that print a heading, and the names below it.
_PHPUNIT = re.compile(
    r"^There (?:was|were) \d+ (?P<how>failure|error|skipped test|incomplete test)s?:$"
    r"|^\d+\) (?P<name>[\w\\]+::.+)$",
    re.MULTILINE,
)
_RSPEC = re.compile(r"^rspec (?:\S+) # (?P<name>.+)$", re.MULTILINE)
_RSPEC_PENDING = re.compile(r"^Pending:(?: \(.*\))?$", re.MULTILINE)
_RSPEC_ENTRY = re.compile(r"^  \d+\) (?P<name>.+)\n     # ", re.MULTILINE)
_MINITEST = re.compile(
    r"^(?:  \d+\) )?(?P<how>Failure|Error|Skipped):\n(?P<name>[A-Z][\w:]*#.+?)(?: \[\S+\])?:?$"
    r"|^(?P<unit_how>Failure|Error|Omission|Pending): (?P<unit>\w+\([A-Z][\w:]*\))",
    re.MULTILINE,
)
_CTEST = re.compile(r"^The following tests (?P<how>FAILED|did not run):$", re.MULTILINE)
_CTEST_ENTRY = re.compile(r"^\t +\d+ - (?P<name>.+) \([A-Z][\w ]*\)(?: .*)?$", re.MULTILINE)
_MOCHA_FAILING = re.compile(r"^  \d+ failing$", re.MULTILINE)
_MOCHA_ENTRY = re.compile(r"^  \d+\) (?P<first>.+)\n(?P<rest>(?: {5,}\S.*\n)*)", re.MULTILINE)
_MOCHA_PENDING = re.compile(r"^  \d+ pending$", re.MULTILINE)
_MOCHA_IDLE = re.compile(r"^ {2,}- (?P<name>\S.*)$", re.MULTILINE)


def failed_tests(output: str) -> Iterator[str]:
    """The names of the tests that an output says to have failed, each once."""
    yield from dict.fromkeys(name for name, failed in _named(plain(output)) if failed)


def skipped_tests(output: str) -> Iterator[str]:
    """The names of the tests that an output says to have been skipped, each once."""
    yield from dict.fromkeys(name for name, failed in _named(plain(output)) if not failed)


def _named(text: str) -> Iterator[tuple[str, bool]]:
    """Every name in a text, and whether its test failed; otherwise it was skipped."""
    for pattern, failed in ((_FAILED, True), (_SKIPPED, False)):
        for found in pattern.finditer(text):
            name = next(group for group in found.groups() if group is not None).strip()
            yield _of_class(name) if found["surefire"] else name, failed
    for read in (_phpunit, _ruby, _ctest, _mocha):
        yield from read(text)


def _of_class(name: str) -> str:
    """`package.Class.method` and `method(package.Class)` as `package.Class::method`."""
    method, _, owner = name.rstrip(")").partition("(")
    return f"{owner}::{method}" if owner else "::".join(name.rpartition(".")[::2])


def _phpunit(text: str) -> Iterator[tuple[str, bool]]:
    how = ""
    for found in _PHPUNIT.finditer(text):
        how = found["how"] or how
        if found["name"] and how:
            yield found["name"], how in {"failure", "error"}


def _ruby(text: str) -> Iterator[tuple[str, bool]]:
    for found in _RSPEC.finditer(text):
        yield found["name"], True
    pending = _RSPEC_PENDING.search(text)
    if pending is not None:
        end = text.find("\nFailures:", pending.end())
        for found in _RSPEC_ENTRY.finditer(text, pending.end(), end if end >= 0 else len(text)):
            yield found["name"], False
    for found in _MINITEST.finditer(text):
        how = found["how"] or found["unit_how"]
        yield found["name"] or found["unit"], how in {"Failure", "Error"}


def _ctest(text: str) -> Iterator[tuple[str, bool]]:
    headings = list(_CTEST.finditer(text))
    for place, heading in enumerate(headings):
        until = headings[place + 1].start() if place + 1 < len(headings) else len(text)
        for found in _CTEST_ENTRY.finditer(text, heading.end(), until):
            yield found["name"], heading["how"] == "FAILED"


def _mocha(text: str) -> Iterator[tuple[str, bool]]:
    """Suites and test stand below each other, and a colon ends the test."""
    failing = _MOCHA_FAILING.search(text)
    if failing is not None:
        for found in _MOCHA_ENTRY.finditer(text, failing.end()):
            titles = [found["first"].strip()]
            for line in found["rest"].splitlines():
                if titles[-1].endswith(":"):
                    break
                titles.append(line.strip())
            yield " › ".join(titles).rstrip(":"), True
    pending = _MOCHA_PENDING.search(text)
    if pending is not None:
        for found in _MOCHA_IDLE.finditer(text, 0, pending.start()):
            yield found["name"], False
