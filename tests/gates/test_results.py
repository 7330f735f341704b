"""Gate results that somebody hands in: a change is approved only by ones that can be true of it."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import msgspec
import pytest

from hornbook import Workspace
from hornbook.gates.gate import GateReport, GateResult, GateStatus
from hornbook.review.check import read_gates
from hornbook.review.judgement import Judgement
from hornbook.review.printed_review import PrintedReview
from tests.kit import review_cases as cases
from tests.kit.git import commit, git, start
from tests.kit.reviews import GOOD, Receipt, codes, prepared

CONFIG = """\
gates:
  additional:
    - {name: there, command: test -f README.md}
    - {name: nice, command: test -f NICE.md, required: false}
"""
THERE = {"name": "there", "required": True, "status": "passed"}
OTHER = {"name": "other", "required": True, "status": "passed"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gated")
    start(folder, {**cases.RULES, "README.md": "x\n", ".hornbook/config.yaml": CONFIG})
    commit(folder, cases.CHANGED)
    return folder


@pytest.fixture(scope="module")
def facts(root: Path) -> Receipt:
    return prepared(root)[0]


@pytest.fixture(scope="module")
def real(root: Path) -> GateReport:
    with Workspace.open(root) as work:
        return work.run_gates(diff="main..work")


def judged(
    root: Path, facts: Receipt, report: GateReport | None, *, bound: bool = False
) -> Judgement:
    with Workspace.open(root) as work:
        return work.check_review(
            [PrintedReview("it", GOOD)], [facts], gates=report, bound_gates=bound
        )


def loose(passed: object, *gates: dict[str, object]) -> GateReport:
    return read_gates(json.dumps({"passed": passed, "gates": list(gates)}).encode())


@pytest.mark.parametrize(
    ("report", "outcome"),
    [
        pytest.param(loose(True, THERE), "approved", id="all that is required passed"),
        pytest.param(loose(True, THERE, OTHER), "approved", id="and more"),
        pytest.param(
            loose(True, THERE, {"name": "nice", "required": False, "status": "warned"}),
            "approved",
            id="an optional one warned",
        ),
        pytest.param(
            loose(True, THERE, {"name": "nice", "required": False, "status": "failed"}),
            "approved",
            id="an optional one failed",
        ),
        pytest.param(
            loose(True, {**THERE, "required": False}), "approved", id="passed as an optional one"
        ),
        pytest.param(loose(True, {**THERE, "exit_code": 0}), "approved", id="exit code 0"),
        pytest.param(loose(False, {**THERE, "status": "failed"}), "rejected", id="it failed"),
        pytest.param(loose(True, {**THERE, "status": "failed"}), "rejected", id="failed, said not"),
        pytest.param(loose(True, {**THERE, "status": "skipped"}), "rejected", id="skipped"),
        pytest.param(loose(True, {**THERE, "status": "refused"}), "rejected", id="refused"),
        pytest.param(loose(True, {**THERE, "status": "warned"}), "rejected", id="only warned"),
        pytest.param(loose(False, THERE), "rejected", id="passed, said not"),
        pytest.param(loose(True), "rejected", id="none"),
        pytest.param(
            loose(True, THERE, {**OTHER, "status": "failed"}), "rejected", id="another failed"
        ),
        pytest.param(loose(False, {**OTHER, "status": "failed"}), "rejected", id="stopped early"),
        pytest.param(loose(True, OTHER), "invalid", id="a required one is missing"),
        pytest.param(
            loose(True, OTHER, {"name": "There", "required": True, "status": "passed"}),
            "invalid",
            id="a required one in other letters",
        ),
        pytest.param(
            loose(True, OTHER, {**THERE, "required": False, "status": "failed"}),
            "invalid",
            id="a required one failed as an optional one",
        ),
        pytest.param(
            loose(True, {**THERE, "required": False, "status": "failed"}, THERE),
            "invalid",
            id="twice, failed and passed",
        ),
        pytest.param(loose(True, {**THERE, "exit_code": 1}), "invalid", id="passed with exit 1"),
    ],
)
def test_results_by_hand_count_only_if_they_can_be_true(
    root: Path, facts: Receipt, report: GateReport, outcome: str
) -> None:
    found = judged(root, facts, report)
    assert str(found.outcome) == outcome, found.problems
    assert codes(found) == ({"no_context"} if outcome == "invalid" else set())
    assert [each.code for each in found.warnings] == ["unbound_gates"]


def test_what_python_hands_in_is_added_up_too(root: Path, facts: Receipt) -> None:
    failed = GateReport(True, (GateResult("there", True, GateStatus.FAILED),))
    assert judged(root, facts, failed).outcome == "rejected"


def test_an_approval_by_loose_results_says_so_in_its_reasons(root: Path, facts: Receipt) -> None:
    found = judged(root, facts, loose(True, THERE))
    assert "1 gate passed, by results that do not say which tree they are of" in found.explanation


def test_real_results_are_accepted_in_the_strict_form_without_a_warning(
    root: Path, facts: Receipt, real: GateReport
) -> None:
    found = judged(root, facts, real, bound=True)
    assert (found.outcome, found.warnings) == ("approved", ())


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"tree": None}, "do not name the tree"),
        ({"base": None}, "do not name the tree"),
        ({"head": None}, "do not name the tree"),
        ({"tree": None, "base": None, "head": None}, "do not name the tree"),
        ({"tree": "0" * 40}, "ran on tree 000000000000"),
        ({"head": "0" * 40}, "ran for"),
        ({"base": "0" * 40}, "ran for"),
        ({"base": "main"}, "ran for main"),
        ({"base": "--help"}, "ran for --help"),
    ],
)
def test_the_strict_form_wants_results_of_this_change(
    root: Path, facts: Receipt, real: GateReport, edit: dict[str, str | None], said: str
) -> None:
    found = judged(root, facts, msgspec.convert({**asdict(real), **edit}, GateReport), bound=True)
    assert codes(found) == {"no_context"}
    assert any(said in each.message for each in found.problems)


def test_the_strict_form_wants_results_at_all(root: Path, facts: Receipt) -> None:
    (problem,) = judged(root, facts, None, bound=True).problems
    assert problem.code == "no_context"
    assert "there are none" in problem.message


def test_results_without_the_floors_are_not_those_of_a_change(
    root: Path, facts: Receipt, real: GateReport
) -> None:
    gates = tuple(gate for gate in real.gates if gate.name != "floor:artefacts")
    (problem,) = judged(root, facts, replace(real, gates=gates)).problems
    assert "lack floor:artefacts" in problem.message


def test_a_floor_that_fails_cannot_be_said_to_have_passed(tmp_path: Path) -> None:
    start(tmp_path, {**cases.RULES, "README.md": "x\n", ".hornbook/config.yaml": CONFIG})
    commit(tmp_path, {**cases.CHANGED, "notes.orig": "left over\n"})
    (facts,) = prepared(tmp_path)
    with Workspace.open(tmp_path) as work:
        report = work.run_gates(diff="main..work")
    assert not report.passed
    fine = [
        replace(gate, status=GateStatus.PASSED) if gate.name == "floor:artefacts" else gate
        for gate in report.gates
    ]
    found = judged(tmp_path, facts, replace(report, passed=True, gates=tuple(fine)))
    assert found.outcome == "invalid"
    assert any("notes.orig is a leftover" in each.message for each in found.problems)


def test_a_gate_that_cannot_fail_cannot_have_passed(tmp_path: Path) -> None:
    config = "gates:\n  additional:\n    - {name: there, command: 'test -f README.md || true'}\n"
    start(tmp_path, {**cases.RULES, "README.md": "x\n", ".hornbook/config.yaml": config})
    commit(tmp_path, cases.CHANGED)
    (facts,) = prepared(tmp_path)
    found = judged(tmp_path, facts, loose(True, THERE))
    assert codes(found) == {"no_context"}
    assert "cannot have passed" in found.problems[0].message
    missing = judged(tmp_path, facts, loose(True, OTHER))
    assert "was not run" in missing.problems[0].message


def test_a_setting_of_the_base_asks_for_bound_results(tmp_path: Path) -> None:
    strict = CONFIG + "review:\n  gates: bound\n"
    start(tmp_path, {**cases.RULES, "README.md": "x\n", ".hornbook/config.yaml": strict})
    commit(tmp_path, {**cases.CHANGED, ".hornbook/config.yaml": CONFIG})
    (facts,) = prepared(tmp_path)
    assert codes(judged(tmp_path, facts, None)) == {"no_context", "edited_judges"}
    assert codes(judged(tmp_path, facts, loose(True, THERE))) == {"no_context", "edited_judges"}
    with Workspace.open(tmp_path) as work:
        report = work.run_gates(diff="main..work")
    assert codes(judged(tmp_path, facts, report)) == {"edited_judges"}


WEAK = "gates:\n  additional:\n    - {name: there, command: test -f work}\n"


def test_results_by_an_older_definition_are_not_those_of_the_change(tmp_path: Path) -> None:
    start(tmp_path, {**cases.RULES, "work": "x\n", ".hornbook/config.yaml": WEAK})
    git(tmp_path, "branch", "-f", "main", commit(tmp_path, {".hornbook/config.yaml": CONFIG}))
    commit(tmp_path, cases.CHANGED)
    (facts,) = prepared(tmp_path)
    with Workspace.open(tmp_path) as work:
        now, old = work.run_gates(diff="main..work"), work.run_gates(diff="main~1..work")
    assert judged(tmp_path, facts, now).outcome == "rejected"
    assert old.passed
    found = judged(tmp_path, facts, old)
    assert codes(found) == {"no_context"}
    assert "older than the change's base" in found.problems[0].message


def test_definitions_that_the_base_tightened_after_the_fork_count(tmp_path: Path) -> None:
    start(tmp_path, {**cases.RULES, "work": "x\n", ".hornbook/config.yaml": WEAK})
    commit(tmp_path, cases.CHANGED)
    with Workspace.open(tmp_path) as work:
        here = work.run_gates()
    assert here.passed
    git(tmp_path, "checkout", "-q", "main")
    commit(tmp_path, {".hornbook/config.yaml": CONFIG})
    git(tmp_path, "checkout", "-q", "work")
    (facts,) = prepared(tmp_path)
    found = judged(tmp_path, facts, here)
    assert codes(found) == {"no_context"}
    assert "the base defines them otherwise" in found.problems[0].message
