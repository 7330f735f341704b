"""What the gates say of the work so far, and whether it may be called complete."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final

from hornbook.agents.embedded.failures import FailedTest, Issue, TestRun, issues, read_tests
from hornbook.agents.embedded.records import StepRecord
from hornbook.agents.embedded.task import Schema, StepTask
from hornbook.model.gates import GateResult, GateStatus

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
    def tests_passing(self) -> bool | None:
        """Whether the gates that run tests pass; None without such a gate."""
        tests = [gate for gate in self.gates if is_test_gate(gate)]
        return all(gate.status is GateStatus.PASSED for gate in tests) if tests else None

    @property
    def issues(self) -> tuple[Issue, ...]:
        """What the failing gates complain about."""
        return tuple(dict.fromkeys(issue for gate in self.failing for issue in issues(gate.output)))


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


def failure_signature(gates: Sequence[GateResult]) -> str | None:
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
        return _red_obstacles(task, verification, changed)
    failing = [f"{gate.name} fails: {_said(gate)}" for gate in verification.failing]
    return failing or ([] if verification.passing else ["no check passed"])


def new_failures(
    task: StepTask, verification: Verification, changed: Sequence[str]
) -> tuple[FailedTest, ...]:
    """The tests that fail since the first step, in changed files and for the right reason."""
    return tuple(
        test
        for test in _failures_since(verification)
        if _is_in(test.file, changed) and wrong_reason(test, task.files) is None
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


def _red_obstacles(task: StepTask, verification: Verification, changed: Sequence[str]) -> list[str]:
    tests = [gate for gate in verification.gates if is_test_gate(gate)]
    if not tests:
        return ["no gate runs tests: that they fail cannot be proved; escalate"]
    found = [
        f"{gate.name} fails: {_said(gate)}" for gate in verification.failing if gate not in tests
    ]
    runs = [read_tests(gate.output) for gate in tests]
    found += [f"not collected: {each}" for run in runs for each in run.uncollected]
    for test in _failures_since(verification):
        if not _is_in(test.file, changed):
            found.append(f"{test.id} failed in a file that was not changed")
        elif reason := wrong_reason(test, task.files):
            found.append(f"{test.id} fails for a wrong reason: {reason}")
    if not new_failures(task, verification, changed):
        found.append("no new test fails: write tests that fail until the feature is there")
    return found


def _failures_since(verification: Verification) -> list[FailedTest]:
    def failed(gates: Iterable[GateResult]) -> dict[str, FailedTest]:
        runs: list[TestRun] = [read_tests(gate.output) for gate in gates if is_test_gate(gate)]
        return {test.id: test for run in runs for test in run.failed}

    before = failed(verification.baseline)
    return [test for key, test in failed(verification.gates).items() if key not in before]


def _is_in(file: str, changed: Sequence[str]) -> bool:
    """Whether a test's file is a changed one; go test names no folder."""
    return bool(file) and any(path == file or path.endswith(f"/{file}") for path in changed)


def _said(gate: GateResult) -> str:
    return gate.message or f"exit code {gate.exit_code}"
