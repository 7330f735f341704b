"""Mutants: what is changed in added lines, which are chosen, and what the gates say to them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import UsageError
from hornbook.gates.gate import Gate, GateReport, GateResult, GateStatus
from hornbook.gates.mutation.operators import MOST, Mutation, added_lines, chosen, mutations
from hornbook.gates.mutation.trial import try_mutants
from hornbook.rules.code.parsing import first_error, grammar_of, parse
from tests.kit.git import commit, git, start

PYTHON = b"""\
from a import b


def fee(total, paid):
    '''1 + 1 == 2'''
    if total > 100 and not paid:
        return total * 2 + 7
    name = "a" + str(total)
    return name == "b" or True
"""
SCRIPT = b"""\
export function fee(total, paid) {
  if (total >= 100 && !paid) {
    return total - 2;
  }
  return "a" + total === "b";
}
"""
GO = b"""\
package it

func Fee(total int, paid bool) int {
	if total < 100 || paid {
		total += 3
	}
	return total / 2
}
"""


def _told(path: str, data: bytes) -> list[tuple[int, str, str]]:
    lines = frozenset(range(1, 50))
    return [
        (each.line, str(each.operator), each.text.decode()) for each in mutations(path, data, lines)
    ]


def test_python_has_five_ways_to_be_wrong() -> None:
    assert _told("fee.py", PYTHON) == [
        (6, "condition", "not (total > 100 and not paid)"),
        (6, "comparison", "<="),
        (6, "constant", "101"),
        (6, "logic", "or"),
        (7, "arithmetic", "/"),
        (7, "constant", "3"),
        (7, "arithmetic", "-"),
        (7, "constant", "8"),
        (9, "comparison", "!="),
        (9, "logic", "and"),
        (9, "constant", "False"),
    ]


@pytest.mark.parametrize("path", ["fee.js", "fee.ts", "fee.tsx", "fee.jsx", "fee.mjs"])
def test_scripts_have_them_too(path: str) -> None:
    assert _told(path, SCRIPT) == [
        (2, "condition", "(!((total >= 100 && !paid)))"),
        (2, "comparison", "<"),
        (2, "constant", "101"),
        (2, "logic", "||"),
        (3, "arithmetic", "+"),
        (3, "constant", "3"),
        (5, "comparison", "!=="),
    ]


def test_go_has_them_too() -> None:
    assert _told("fee.go", GO) == [
        (4, "condition", "!(total < 100 || paid)"),
        (4, "comparison", ">="),
        (4, "constant", "101"),
        (4, "logic", "&&"),
        (5, "arithmetic", "-="),
        (5, "constant", "4"),
        (7, "arithmetic", "*"),
        (7, "constant", "3"),
    ]


@pytest.mark.parametrize(("path", "data"), [("a.py", PYTHON), ("a.ts", SCRIPT), ("a.go", GO)])
def test_every_mutant_is_of_the_language(path: str, data: bytes) -> None:
    grammar = grammar_of(path)
    assert grammar is not None
    for each in mutations(path, data, frozenset(range(1, 50))):
        mutant = each.applied(data)
        tree = parse(grammar, mutant)
        assert mutant != data
        assert tree is not None
        assert first_error(tree) is None, mutant.decode()


def test_only_added_lines_of_code_that_parses_are_changed() -> None:
    assert mutations("a.py", PYTHON, frozenset({7, 99})) != []
    assert {each.line for each in mutations("a.py", PYTHON, frozenset({7, 99}))} == {7}
    assert mutations("a.py", b"def (:\n  1 + 1\n", frozenset({1, 2})) == []
    assert mutations("a.java", b"class A { int a = 1; }\n", frozenset({1})) == []
    assert mutations("a.md", b"1 + 1\n", frozenset({1})) == []


def test_the_added_lines_of_a_patch_have_their_numbers() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n-b\n+c\n+d\n e\n@@ -9 +10,2 @@\n f\n+g\n"
    assert added_lines(patch) == {2, 3, 11}


def test_ten_are_chosen_one_of_each_line_first() -> None:
    found = mutations("a.py", PYTHON, frozenset(range(1, 50)))
    assert len(found) == MOST + 1
    few = chosen(found)
    assert len(few) == MOST
    assert few == chosen(found[::-1])
    many = [
        each
        for number in range(20)
        for each in mutations(f"{number}.py", b"x = a + 1\n", frozenset({1}))
    ]
    assert len({each.path for each in chosen(many)}) == MOST


GATES = (Gate("test", "make test", timeout=3600),)


def _trial(
    tmp_path: Path, verdicts: Sequence[bool], took: Sequence[float], count: int
) -> tuple[list[bool], str, list[str]]:
    """Tries `count` mutants; the first verdict and time are those of the code without a fault."""
    data = b"x = a + 1\n"
    found: list[Mutation] = mutations("a.py", data, frozenset({1}))[:1] * count
    ran: list[str] = []
    now = [0.0]

    @contextmanager
    def copies() -> Iterator[Path]:
        (tmp_path / "a.py").write_bytes(data)
        yield tmp_path

    def run(copy: Path, gates: Sequence[Gate]) -> GateReport:
        now[0] += took[len(ran)]
        passed = verdicts[len(ran)]
        ran.append((copy / "a.py").read_text())
        status = GateStatus.PASSED if passed else GateStatus.FAILED
        return GateReport(
            passed, tuple(GateResult(g.name, required=True, status=status) for g in gates)
        )

    trial = try_mutants(found, GATES, copies, run, seconds=100, clock=lambda: now[0])
    return [each.killed for each in trial.mutants], trial.note, ran


def test_a_mutant_that_no_gate_stops_survives(tmp_path: Path) -> None:
    killed, note, ran = _trial(tmp_path, [True, False, True], [1, 1, 1], 2)
    assert (killed, note) == ([True, False], "")
    assert ran == ["x = a + 1\n", "x = a - 1\n", "x = a - 1\n"]


def test_nothing_is_judged_by_tests_that_fail_anyway(tmp_path: Path) -> None:
    killed, note, ran = _trial(tmp_path, [False], [1], 2)
    assert (killed, len(ran)) == ([], 1)
    assert note == "no mutant is judged: without a fault the tests fail (test)"


def test_what_our_own_limit_ended_is_not_killed(tmp_path: Path) -> None:
    killed, note, ran = _trial(tmp_path, [True, False, False], [1, 1, 99], 3)
    assert (killed, len(ran)) == ([True], 3)
    assert note == "2 of 3 mutants were not judged within 100 s"


TEST = "import unittest\nimport calc\n\n\nclass Adds(unittest.TestCase):\n    def test_it(self):\n"
CALC = "def fee(total):\n    if total > 100:\n        return total * 2\n    return total + 7\n"
CONFIG = "gates:\n  additional:\n    - {name: test, command: python3 -m unittest discover -s tests -t .}\n"


def test_survivors_are_told_with_their_lines_and_the_work_tree_is_left_alone(
    tmp_path: Path,
) -> None:
    check = f"{TEST}        self.assertEqual(calc.fee(200), 400)\n"
    files = {"tests/__init__.py": "", "tests/test_calc.py": check}
    start(
        tmp_path,
        {".hornbook/config.yaml": CONFIG, "calc.py": "def fee(total):\n    return 400\n", **files},
    )
    commit(tmp_path, {"calc.py": CALC})
    with Workspace.open(tmp_path) as work:
        plain = work.run_gates(diff="main..work")
        report = work.run_gates(diff="main..work", mutate=True)
        with pytest.raises(UsageError, match="--diff"):
            work.run_gates(mutate=True)
    assert plain.mutants is None
    assert report.passed
    assert report.mutants is not None
    fates = {(each.line, each.operator): each.killed for each in report.mutants if each.line != 2}
    assert fates == {
        (3, "arithmetic"): True,
        (3, "constant"): True,
        (4, "arithmetic"): False,
        (4, "constant"): False,
    }
    assert (
        "a mutant survived at calc.py:4: `+` became `-` (arithmetic), and no test noticed"
        in report.warnings
    )
    assert (tmp_path / "calc.py").read_text() == CALC
    assert git(tmp_path, "status", "--porcelain", "--", "calc.py", "tests") == ""
