"""Where a change edits tests, BASE's tests are run over HEAD's code, and what fails is answered."""

import json
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.gates.base_tests import BaseResults
from hornbook.gates.gate import Gate, GateReport, GateStatus
from hornbook.gates.gate_run import run_at, run_for
from hornbook.gates.test_names import failed_tests
from hornbook.review.judgement import Judgement
from hornbook.review.printed_review import PrintedReview
from tests.kit.git import commit, git, start
from tests.kit.reviews import codes, prepared

TEST = """\
import unittest
from calc import add


class Adds(unittest.TestCase):
    def test_zero(self):
        self.assertEqual(add(0, 0), 0)

    def test_more(self):
        self.assertEqual(add(1, 2), 3)
"""
SOP = "---\napplies_to: 'calc.py'\nseverity: error\n---\n# Sums\n\nSums MUST be right.\n"
GATES = "gates:\n  additional:\n    - {name: test, command: COMMAND}\n"
UNITTEST = "python3 -m unittest discover -s tests -t ."
BASE = {
    ".hornbook/sources/docs/sops/sums.md": SOP,
    ".hornbook/config.yaml": GATES.replace("COMMAND", UNITTEST),
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/__init__.py": "",
    "tests/test_calc.py": TEST,
}
BROKEN = "def add(a, b):\n    return a - b\n"
SOUND = "def add(a, b):\n    return b + a\n"


def changed(root: Path, files: dict[str, str], base: dict[str, str] | None = None) -> GateReport:
    start(root, {**BASE, **(base or {})})
    commit(root, files)
    with Workspace.open(root) as work:
        return work.run_gates(diff="main..work")


def judged(root: Path, report: GateReport, line: str, feedback: str = "fine") -> Judgement:
    entry = {
        "sop_id": "source.doc.sops.sums",
        "status": "passed",
        "evidence": f"calc.py:2 `{line}`",
        "violations": [],
    }
    said = {
        "verdict": "approved",
        "rejection_type": None,
        "confidence": 0.9,
        "feedback": feedback,
        "sop_review": [entry],
    }
    reviews = [PrintedReview("it", json.dumps(said).encode())]
    with Workspace.open(root) as work:
        return work.check_review(reviews, prepared(root), gates=report, diff="main..work")


WEAKER = {
    "weakened": {"tests/test_calc.py": TEST.replace("(1, 2), 3", "(1, 2), -1")},
    "skipped": {
        "tests/test_calc.py": TEST.replace(
            "    def test_more", "    @unittest.skip('later')\n    def test_more"
        )
    },
    "taken out": {"tests/test_calc.py": TEST.partition("\n    def test_more")[0]},
}


@pytest.mark.parametrize("kind", WEAKER)
def test_a_test_that_only_passes_in_its_new_form_must_be_answered_by_name(
    tmp_path: Path, kind: str
) -> None:
    report = changed(tmp_path, {"calc.py": BROKEN, **WEAKER[kind]})
    assert report.passed
    assert report.base_tests is not None
    assert (str(report.base_tests.status), report.base_tests.failed) == ("failed", ("test_more",))
    found = judged(tmp_path, report, "return a - b")
    assert (str(found.outcome), codes(found)) == ("escalate", {"edited_judges"})
    assert "test_more" in found.problems[0].message
    named = judged(tmp_path, report, "return a - b", "test_more was wrong: add now subtracts.")
    assert named.outcome == "approved"


def test_a_moved_or_removed_test_file_still_judges(tmp_path: Path) -> None:
    start(tmp_path, BASE)
    git(tmp_path, "mv", "tests/test_calc.py", "tests/helpers.py")
    other = TEST.partition("\n    def test_more")[0]
    commit(tmp_path, {"calc.py": BROKEN, "tests/test_other.py": other})
    with Workspace.open(tmp_path) as work:
        report = work.run_gates(diff="main..work")
    assert report.base_tests is not None
    assert report.base_tests.failed == ("test_more",)


def test_what_configures_tests_is_put_back_too(tmp_path: Path) -> None:
    make = {
        ".hornbook/config.yaml": GATES.replace("COMMAND", "make test"),
        "Makefile": "include more.mk\n",
        "more.mk": f"test:\n\t{UNITTEST}\n",
    }
    weaker = {"more.mk": "test:\n\tpython3 -m unittest tests.test_calc.Adds.test_zero\n"}
    report = changed(tmp_path, {"calc.py": BROKEN, **weaker}, make)
    assert report.passed
    assert report.base_tests is not None
    assert report.base_tests.files == ("more.mk",)
    assert report.base_tests.failed == ("test_more",)


def test_edited_tests_with_sound_code_ask_nobody(tmp_path: Path) -> None:
    more = TEST + "\n    def test_less(self):\n        self.assertEqual(add(1, -2), -1)\n"
    report = changed(tmp_path, {"calc.py": SOUND, "tests/test_calc.py": more})
    assert report.base_tests is not None
    assert str(report.base_tests.status) == "passed"
    assert judged(tmp_path, report, "return b + a").outcome == "approved"


def test_new_tests_and_code_alone_run_nothing_again(tmp_path: Path) -> None:
    added = {"calc.py": SOUND, "tests/test_more.py": TEST.replace("Adds", "More")}
    assert changed(tmp_path, added).base_tests is None


def test_results_without_the_run_are_not_enough(tmp_path: Path) -> None:
    files = {"calc.py": BROKEN, **WEAKER["weakened"]}
    off = BASE[".hornbook/config.yaml"] + "  base_tests: off\n"
    report = changed(tmp_path, files, {".hornbook/config.yaml": off})
    assert report.base_tests is None
    assert judged(tmp_path, report, "return a - b").outcome == "approved"
    with Workspace.open(tmp_path) as work:
        here = work.run_gates()
    assert here.base_tests is None


def test_the_names_of_failed_tests_are_read_from_each_tool() -> None:
    output = """\
FAILED tests/test_a.py::T::test_one[1] - assert 1 == 2
FAIL: test_two (tests.test_b.T.test_two)
--- FAIL: TestThree (0.00s)
test four::it_works ... FAILED
  ● sums › adds five
not ok 6 - six holds
"""
    assert list(failed_tests(output)) == [
        "tests/test_a.py::T::test_one[1]",
        "test_two",
        "TestThree",
        "four::it_works",
        "sums › adds five",
        "six holds",
    ]


RED_TEST = f"{TEST}\n    def test_old(self):\n        self.assertTrue(None)\n"


def test_what_is_known_to_be_red_keeps_neither_old_tests_nor_mutants_from_being_run(
    tmp_path: Path,
) -> None:
    start(tmp_path, {**BASE, "tests/test_calc.py": RED_TEST})
    gates = [Gate("test", UNITTEST)]
    base = run_at(tmp_path, gates, git(tmp_path, "rev-parse", "main"))
    assert [each.failing for each in base.gates] == [("test_old",)]
    weaker = RED_TEST.replace("add(1, 2), 3", "add(1, 2), 3 or 4").replace("add(0, 0)", "add(0, 1)")
    commit(
        tmp_path,
        {"calc.py": "def add(a, b):\n    return a + b if a else a\n", "tests/test_calc.py": weaker},
    )
    known = BaseResults(base.gates, "ann: known")
    report = run_for(
        tmp_path, gates, span="main..work", base_tests=True, mutate_seconds=60, known=known
    )
    assert report.passed
    assert report.gates[0].known_red
    assert report.base_tests is not None
    assert report.base_tests.status is GateStatus.PASSED
    assert {each.killed for each in report.mutants or ()} == {True}
    commit(
        tmp_path,
        {
            "calc.py": "def add(a, b):\n    return a - b\n",
            "tests/test_calc.py": RED_TEST.replace("add(1, 2), 3", "add(1, 2), -1"),
        },
    )
    report = run_for(tmp_path, gates, span="main..work", base_tests=True, known=known)
    assert report.base_tests is not None
    assert report.base_tests.failed == ("test_more", "test_old")
