"""What the output of a failing gate says: the places it names, and the tests that failed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Issue:
    """One place that a gate complains about."""

    path: str
    line: int | None
    text: str


@dataclass(frozen=True, slots=True)
class FailedTest:
    """A test that ran and failed; `file` is its file as far as the output names it."""

    id: str
    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class TestRun:
    """What a test gate's output proves: the tests that failed, and what could not be collected."""

    __test__ = False  # it is no test class of pytest

    failed: tuple[FailedTest, ...] = ()
    uncollected: tuple[str, ...] = ()


_PLACE: Final = re.compile(r"^\s*([\w./+-]+\.\w+):(\d+)(?::\d+)?:? +(.+)$", re.MULTILINE)
_PYTEST: Final = re.compile(r"^FAILED ([^:\s]+)::(.+?)(?: - (.*))?$", re.MULTILINE)
_PYTEST_ERROR: Final = re.compile(r"^ERROR ([^:\s]+\.py)(::\S+)?(?: - (.*))?$", re.MULTILINE)
_PYTEST_SECTION: Final = re.compile(r"^_{3,} (?:.*[. ])?(\w+(?:\[.*\])?) _{3,}$")
_UNITTEST: Final = re.compile(r"^(FAIL|ERROR): ([\w.]+) \(([\w.]+)\)", re.MULTILINE)
_EXCEPTION: Final = re.compile(r"^([\w.]*(?:Error|Exception|Failed)\b.*)$", re.MULTILINE)
_GO: Final = re.compile(r"^\s*--- FAIL: (\S+) \([\d.]+s\)\n((?:\s+.*\n?)*)", re.MULTILINE)
_GO_PLACE: Final = re.compile(r"^\s+(\S+_test\.go):\d+: ?(.*)", re.MULTILINE)
_GO_BROKEN: Final = re.compile(r"^FAIL\s+(\S+) \[(?:build|setup) failed\]", re.MULTILINE)
_CARGO: Final = re.compile(r"^test (\S+) \.\.\. FAILED$", re.MULTILINE)
_CARGO_REASON: Final = re.compile(
    r"^thread '([^']+)'.* panicked at (?:'(.*)', )?([\w./-]+):\d+:\d+:?\n?(.*)", re.MULTILINE
)
_CARGO_BROKEN: Final = re.compile(r"^error: (could not compile .*)$", re.MULTILINE)
_NOTHING: Final = re.compile(
    r"\b(?:no tests ran|collected 0 items|no test files)\b|^Ran 0 tests", re.MULTILINE
)


@lru_cache(maxsize=512)
def issues(output: str) -> tuple[Issue, ...]:
    """The places and tests that an output complains about, each once, in its order."""
    found = [Issue(path, int(line), text) for path, line, text in _PLACE.findall(output)]
    run = read_tests(output)
    found += [Issue(test.file, None, f"{test.id}: {test.reason}") for test in run.failed]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=512)
def read_tests(output: str) -> TestRun:
    """What pytest, unittest, go test or cargo test say in an output; of others, nothing."""
    failed = (*_pytest(output), *_unittest(output), *_go(output), *_cargo(output))
    broken = [f"{path}{name}: {reason}" for path, name, reason in _PYTEST_ERROR.findall(output)]
    broken += [
        f"{name}: it could not be imported"
        for kind, name, where in _UNITTEST.findall(output)
        if "_FailedTest" in where
    ]
    broken += [f"{package}: it does not build" for package in _GO_BROKEN.findall(output)]
    broken += _CARGO_BROKEN.findall(output)
    broken += [found[0] for found in [_NOTHING.search(output)] if found]
    return TestRun(tuple(dict.fromkeys(failed)), tuple(dict.fromkeys(broken)))


def _pytest(output: str) -> Iterator[FailedTest]:
    told = _pytest_reasons(output)
    for file, name, reason in _PYTEST.findall(output):
        bare = name.rpartition("::")[2]
        yield FailedTest(f"{file}::{name}", file, told.get(bare) or reason)


def _pytest_reasons(output: str) -> dict[str, str]:
    """The first `E` line of each failure: the summary's own reason is cut to the terminal."""
    reasons: dict[str, str] = {}
    name = ""
    for line in output.split("\n"):
        header = _PYTEST_SECTION.match(line)
        if header:
            name = header[1]
        elif name and line.startswith("E  "):
            reasons.setdefault(name, line[1:].strip())
    return reasons


def _unittest(output: str) -> Iterator[FailedTest]:
    heads = list(_UNITTEST.finditer(output))
    ends = [*(each.start() for each in heads[1:]), len(output)]
    for head, end in zip(heads, ends, strict=False):
        kind, name, where = head.groups()
        if "_FailedTest" in where:
            continue
        block = output[head.end() : end]
        said = _EXCEPTION.findall(block)
        reason = said[-1] if said else ("AssertionError" if kind == "FAIL" else "")
        module = where.removesuffix(f".{name}").rpartition(".")[0] or where
        yield FailedTest(f"{where}.{name}", f"{module.replace('.', '/')}.py", reason)


def _go(output: str) -> Iterator[FailedTest]:
    for name, body in _GO.findall(output):
        place = _GO_PLACE.search(body)
        if place:
            yield FailedTest(name, place[1], f"assertion: {place[2]}")
        else:
            yield FailedTest(name, "", "panic" if "panic:" in output else "")


def _cargo(output: str) -> Iterator[FailedTest]:
    told = {name: (old or new, file) for name, old, file, new in _CARGO_REASON.findall(output)}
    for name in _CARGO.findall(output):
        reason, file = told.get(name, ("", ""))
        yield FailedTest(name, file, reason)
