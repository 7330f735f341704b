"""What the gates say of the work so far: whether it is complete, advances, or is stuck.

All of it is a function of the recorded steps, so that a restart changes no answer.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final

from hornbook.agents.embedded.step import Schema, StepRecord, StepTask
from hornbook.gates.gate import GateResult, GateStatus
from hornbook.gates.test_accounts import ACCOUNTS
from hornbook.gates.test_files import is_test


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


_TEST_FOLDERS: Final = frozenset({"test", "tests", "__tests__", "spec", "testdata", "fixtures"})
_STOPS: Final = {GateStatus.FAILED, GateStatus.REFUSED}
_VARYING: Final = re.compile(r"0x[0-9a-f]+|\b\d+(?:\.\d+)?\s?m?s(?:econds)?\b|/tmp/\S+")
_RUNS_TESTS: Final = re.compile(r"(?:^|[^a-z])(?:py|unit)?tests?(?:[^a-z]|$)")
_ASSERTED: Final = re.compile(
    r"(?:[\w.]*AssertionError|assert(?:ion)?\b|[\w.]*Failed\b(?!: Timeout)|NotImplementedError"
    r"|not (?:yet )?implemented|AttributeError"
    r"|TypeError:.*(?:unexpected keyword argument|positional argument))"
)
_MISSING: Final = re.compile(
    r"(?:ModuleNotFoundError|ImportError):.*?(?:No module named|from|import of) '?([\w.]+)"
    r"|AttributeError: module '([\w.]+)' has no attribute"
)


@dataclass(frozen=True, slots=True)
class Verification:
    """The newest result of every gate, and the results before the first step."""

    gates: tuple[GateResult, ...] = ()
    baseline: tuple[GateResult, ...] = ()

    @property
    def passing(self) -> int:
        """How many gates passed."""
        return sum(gate.status is GateStatus.PASSED for gate in self.gates)

    @property
    def failing(self) -> tuple[GateResult, ...]:
        """The required gates that stop the change."""
        return tuple(gate for gate in self.gates if gate.required and gate.status in _STOPS)

    @property
    def known_red(self) -> tuple[GateResult, ...]:
        """The gates that fail as they did before anybody worked, which a person took as known."""
        return tuple(gate for gate in self.gates if gate.known_red)

    @property
    def tests_passing(self) -> bool | None:
        """Whether the gates that run tests pass; None without such a gate."""
        tests = [gate for gate in self.gates if is_test_gate(gate)]
        return all(gate.status is GateStatus.PASSED for gate in tests) if tests else None

    @property
    def issues(self) -> tuple[Issue, ...]:
        """What the failing gates complain about."""
        return _all_issues(tuple(gate.output for gate in self.failing))


@lru_cache(maxsize=512)  # after each step all steps before it are looked at again
def _all_issues(outputs: tuple[str, ...]) -> tuple[Issue, ...]:
    return tuple(dict.fromkeys(issue for output in outputs for issue in issues(output)))


def verified(records: Iterable[StepRecord]) -> Verification:
    """The newest result of every gate; a change makes those before it worthless."""
    baseline: tuple[GateResult, ...] = ()
    newest: dict[str, GateResult] = {}
    for record in records:
        if record.step == 0:
            baseline = record.gates
        if record.change is not None:
            newest = {}
        newest |= {gate.name: gate for gate in record.gates}
    return Verification(tuple(newest.values()), baseline)


def is_test_gate(gate: GateResult) -> bool:
    """Whether a gate runs tests: its name says so."""
    return _RUNS_TESTS.search(gate.name.lower()) is not None


@lru_cache(maxsize=1024)  # every step asks for those of all steps before it
def failure_signature(gates: tuple[GateResult, ...]) -> str | None:
    """What the required gates complain about, without times and addresses; None if nothing."""
    failing = sorted(
        (gate.name, str(gate.exit_code), _VARYING.sub("", gate.output or gate.message))
        for gate in gates
        if gate.required and gate.status in _STOPS
    )
    return sha256(repr(failing).encode()).hexdigest() if failing else None


def obstacles(task: StepTask, verification: Verification, changed: Sequence[str]) -> list[str]:
    """Why the task is not complete, a line each; none if it is ready."""
    if not verification.gates:
        return ["no check has run: nothing proves the work; run_check, or escalate"]
    if not changed:
        return ["no file was changed: if there is nothing to do, escalate and say so"]
    if task.phase.schema is Schema.WRITE_TESTS:
        return red_obstacles(task.files, verification, changed)
    failing = [f"{gate.name} fails: {_failure_of(gate)}" for gate in verification.failing]
    fine = verification.passing or verification.known_red
    return failing or ([] if fine else ["no check passed"])


def new_failures(
    files: Sequence[str], verification: Verification, changed: Sequence[str]
) -> tuple[FailedTest, ...]:
    """The tests that fail since the first step, in changed files and for the right reason."""
    return tuple(
        test
        for test in _failures_since(verification)
        if _is_in(test.file, changed) and wrong_reason(test, files) is None
    )


def wrong_reason(test: FailedTest, files: Sequence[str]) -> str | None:
    """Why a failure does not show that the feature is missing; None if it does.

    An assertion, a call that the code does not offer yet and a module among the task's files that
    is not there yet are right reasons.
    """
    missing = _MISSING.match(test.reason)
    if missing:
        module = missing[1] or missing[2]
        words = {part for file in files for part in PurePosixPath(file).with_suffix("").parts}
        return None if set(module.split(".")) & words else f"{module} is none of the task's files"
    if _ASSERTED.match(test.reason):
        return None
    return f"it fails with {test.reason or 'no reason in the output'}"


def _unfit_failures(
    files: Sequence[str], verification: Verification, changed: Sequence[str]
) -> Iterator[str]:
    for test in _failures_since(verification):
        if not _is_in(test.file, changed):
            yield f"{test.id} failed in a file that was not changed"
        elif reason := wrong_reason(test, files):
            yield f"{test.id} fails for a wrong reason: {reason}"


def red_obstacles(
    files: Sequence[str], verification: Verification, changed: Sequence[str]
) -> list[str]:
    """Why tests that were to be written do not show yet that the feature is missing.

    `files` are those of the task: a module among them may be missing.
    """
    tests = list(filter(_tells_of_tests, verification.gates))
    if not tests:
        return ["no gate runs tests: that they fail cannot be proved; escalate"]
    found = [f"{path} is no test: write tests only" for path in changed if not _is_of_tests(path)]
    others = (gate for gate in verification.failing if gate not in tests)
    found += [f"{gate.name} fails: {_failure_of(gate)}" for gate in others]
    for gate in tests:
        found += [f"not collected: {each}" for each in read_tests(gate.output).uncollected]
    found += _unfit_failures(files, verification, changed)
    if not new_failures(files, verification, changed):
        found.append("no new test fails: write tests that fail until the feature is there")
    return found


def _is_of_tests(path: str) -> bool:
    """Whether a file belongs to tests; Rust keeps them beside the code that they test."""
    folders = set(PurePosixPath(path).parts[:-1])
    return is_test(path) or bool(folders & _TEST_FOLDERS) or path.endswith(".rs")


def _tells_of_tests(gate: GateResult) -> bool:
    return is_test_gate(gate) or bool(read_tests(gate.output).failed)


def _failures_since(verification: Verification) -> list[FailedTest]:
    def failed(gates: Iterable[GateResult]) -> dict[str, FailedTest]:
        runs: list[TestRun] = [read_tests(gate.output) for gate in gates if _tells_of_tests(gate)]
        return {test.id: test for run in runs for test in run.failed}

    before = failed(verification.baseline)
    return [test for key, test in failed(verification.gates).items() if key not in before]


def _is_in(file: str, changed: Sequence[str]) -> bool:
    """Whether a test's file is a changed one; go test names no folder."""
    return bool(file) and any(path == file or path.endswith(f"/{file}") for path in changed)


def _failure_of(gate: GateResult) -> str:
    return gate.message or f"exit code {gate.exit_code}"


@dataclass(frozen=True, slots=True)
class LoopRules:
    """How often is too often. Steps grow from `first_steps` by `growth` with each progress."""

    same_action: int = 3
    same_error: int = 3
    same_diff: int = 2
    same_failure: int = 2
    idle_steps: int = 10
    first_steps: int = 15
    growth: int = 10
    most_steps: int = 400


def stuck(records: Sequence[StepRecord], task: StepTask, rules: LoopRules) -> str | None:
    """Why a person is needed, or None while the steps may go on."""
    taken = [record for record in records if record.step > 0]
    progress = progress_steps(records, task)
    reasons = (
        _same_action(taken, rules),
        _same_error(taken, rules),
        _same_diff(taken, rules),
        _same_failure(taken, task, rules),
        _idle(records, progress, rules),
        _too_many(taken, progress, rules),
    )
    return next((reason for reason in reasons if reason), None)


def progress_steps(records: Sequence[StepRecord], task: StepTask) -> tuple[int, ...]:
    """The steps whose change left less to do than any step before them.

    Where all gates pass before anybody works, that is no work of the first change, which may break
    them: what follows it is held against it.
    """
    found: list[int] = []
    best: tuple[int, ...] | None = None
    baseline: tuple[GateResult, ...] = ()
    changed: list[str] = []
    for record in records:
        if record.change is not None:
            changed.append(record.change.path)
        elif record.step > 0:
            continue
        else:
            baseline = record.gates
        score = _score(Verification(record.gates, baseline), task, changed)
        if best is not None and score < best:
            found.append(record.step)
        untouched = len(changed) <= 1 and not Verification(baseline).failing
        best = score if best is None or untouched else min(best, score)
    return tuple(found)


def allowed_steps(progress: Sequence[int], rules: LoopRules) -> int:
    """How many steps the work may take after so much progress."""
    return min(rules.first_steps + rules.growth * len(progress), rules.most_steps)


def changed_paths(records: Sequence[StepRecord]) -> tuple[str, ...]:
    """The files that the steps changed, each once."""
    return tuple(dict.fromkeys(record.change.path for record in records if record.change))


def _score(now: Verification, task: StepTask, changed: Sequence[str]) -> tuple[int, ...]:
    """What is left to do; less is better."""
    if task.phase.schema is Schema.WRITE_TESTS:
        return (-len(new_failures(task.files, now, changed)),)
    still = sum(path not in changed for path in task.files)
    passed = sum(_passed_tests(gate.output) for gate in now.gates if is_test_gate(gate))
    return (len(now.failing), len(now.issues), still, -passed)


@lru_cache(maxsize=512)  # after each step all steps before it are looked at again
def _passed_tests(output: str) -> int:
    """How many tests passed, as the tool that ran them accounts for it."""
    told = (sum(each.ran - each.failed for each in read(output)) for read in ACCOUNTS.values())
    return max(told, default=0)


def _same_action(taken: Sequence[StepRecord], rules: LoopRules) -> str | None:
    """An action counts anew after a change: looking again is then no repetition."""
    seen: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
    for record in taken:
        key = (record.action, tuple(sorted(record.parameters)))
        if record.change is not None:
            seen = Counter({each: times for each, times in seen.items() if each[0] == "edit_file"})
        seen[key] += 1
        if seen[key] >= rules.same_action:
            asked = f"{record.action} {record.target}".strip()
            return f"{asked} was asked for {seen[key]} times with the same parameters"
    return None


def _same_error(taken: Sequence[StepRecord], rules: LoopRules) -> str | None:
    errors = Counter(record.error for record in taken if record.error)
    for error, times in errors.items():
        if times >= rules.same_error:
            return f"the same error came {times} times: {error}"
    return None


def _same_diff(taken: Sequence[StepRecord], rules: LoopRules) -> str | None:
    changes = Counter(record.change for record in taken if record.change)
    for change, times in changes.items():
        if times >= rules.same_diff:
            return f"the same change of {change.path} was made {times} times"
    return None


def _same_failure(taken: Sequence[StepRecord], task: StepTask, rules: LoopRules) -> str | None:
    """The same complaint of the gates after changes that follow each other.

    Where tests are to be written, gates that run tests are meant to fail.
    """
    red = task.phase.schema is Schema.WRITE_TESTS
    last, times = None, 0
    for record in filter(lambda each: each.change is not None, taken):
        judged = tuple(gate for gate in record.gates if not (red and _tells_of_tests(gate)))
        signature = failure_signature(judged)
        times = times + 1 if signature == last else 1
        last = signature
        if signature is not None and times >= rules.same_failure:
            names = ", ".join(gate.name for gate in Verification(judged).failing)
            return f"{names} failed in the same way after {times} changes"
    return None


def _idle(records: Sequence[StepRecord], progress: Sequence[int], rules: LoopRules) -> str | None:
    first = next((record.step for record in records if record.change), None)
    if first is None:
        return None
    since = max((first, *progress))
    idle = records[-1].step - since
    if idle < rules.idle_steps:
        return None
    return f"no progress in the {idle} steps since step {since}"


def _too_many(taken: Sequence[StepRecord], progress: Sequence[int], rules: LoopRules) -> str | None:
    allowed = allowed_steps(progress, rules)
    if not taken or taken[-1].step < allowed:
        return None
    return f"{taken[-1].step} steps were taken and {allowed} are allowed"
