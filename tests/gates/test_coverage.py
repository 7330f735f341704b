"""Coverage is counted from the reports that tools write, exactly, and only if they are new."""

import json
import os
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook.gates.coverage import USUAL_PLACES, Coverage, measured, places, read_report, stamps
from hornbook.gates.gate import Gate, GateResult
from hornbook.gates.runner import run_gates
from tests.kit.paths import DOCS
from tests.kit.workspaces import write

GO = """\
mode: set
example.org/app/a.go:3.20,5.2 4 1
example.org/app/a.go:7.20,9.2 3 0
example.org/app/b.go:3.20,5.2 3 0
mode: set
example.org/app/b.go:3.20,5.2 3 7
"""
COBERTURA = """\
<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "coverage-04.dtd">
<coverage version="7.6" line-rate="0.9999" lines-valid="3" lines-covered="3">
  <packages><package name="."><classes>
    <class name="a.py" filename="a.py">
      <methods><method name="f"><lines><line number="1" hits="1"/></lines></method></methods>
      <lines><line number="1" hits="1"/><line number="2" hits="0"/><line number="3" hits="2"/></lines>
    </class>
  </classes></package></packages>
</coverage>
"""
LCOV = "TN:\nSF:src/a.js\nDA:1,1\nDA:2,0\nLF:2\nLH:2\nend_of_record\nSF:src/a.js\nDA:2,3\nDA:3,0,xyz\nend_of_record\n"
ISTANBUL = {"total": {"lines": {"total": 3, "covered": 2, "skipped": 0, "pct": 67}}}
COVERAGE_PY = {"totals": {"covered_lines": 2, "num_statements": 3, "percent_covered": 99.0}}
LLVM = {
    "type": "llvm.coverage.json.export",
    "data": [{"totals": {"lines": {"count": 3, "covered": 2}}}],
}


@pytest.mark.parametrize(
    ("text", "covered", "total"),
    [
        (GO, 7, 10),
        (COBERTURA, 2, 3),
        ('<coverage lines-valid="8" lines-covered="2"/>', 2, 8),
        (LCOV, 2, 3),
        (json.dumps(ISTANBUL), 2, 3),
        (json.dumps(COVERAGE_PY), 2, 3),
        (json.dumps(LLVM), 2, 3),
    ],
    ids=["go", "cobertura", "cobertura totals", "lcov", "istanbul", "coverage.py", "llvm-cov"],
)
def test_every_form_is_counted_from_its_lines(text: str, covered: int, total: int) -> None:
    assert read_report(text, "x") == Coverage(covered, total, "x")


@pytest.mark.parametrize(
    "text", ["", "all fine: 100%", "{}", "[]", "<html/>", "mode: set\nnonsense\n", '{"total": 3}']
)
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_report(text, "x")


@given(st.integers(1, 10**6), st.data())
def test_a_threshold_is_never_reached_by_rounding(total: int, data: st.DataObject) -> None:
    covered = data.draw(st.integers(0, total))
    threshold = data.draw(st.integers(0, 100))
    found = Coverage(covered, total, "x")
    assert found.reaches(threshold) == (covered * 100 >= threshold * total)
    assert Fraction(found.told().removesuffix(" %")) <= found.percent


def test_a_little_below_is_below() -> None:
    found = Coverage(7996, 10000, "x")
    assert not found.reaches(80)
    assert found.told() == "79.96 %"
    assert Coverage(79999, 100000, "x").told() == "79.99 %"
    assert not Coverage(0, 0, "x").reaches(0)


def result(root: Path, command: str, *, threshold: int = 70, required: bool = True) -> GateResult:
    gate = Gate("coverage", command, threshold=threshold, required=required)
    return run_gates([gate], root, logs=root / "logs").gates[0]


def test_a_gate_is_held_to_its_threshold_by_the_report_it_wrote(tmp_path: Path) -> None:
    write(tmp_path, {"made": GO})
    passed = result(tmp_path, "cp made coverage.out")
    assert (passed.status, passed.message) == ("passed", "coverage 70.00 % by coverage.out")
    failed = result(tmp_path, "cp made coverage.out", threshold=71)
    assert failed.status == "failed"
    assert failed.message == "coverage 70.00 % by coverage.out, at least 71 % is wanted."
    assert result(tmp_path, "cp made coverage.out", threshold=71, required=False).status == "warned"


def test_a_report_from_before_does_not_count(tmp_path: Path) -> None:
    write(tmp_path, {"coverage.out": GO})
    failed = result(tmp_path, "true", threshold=1)
    assert failed.status == "failed"
    assert "coverage.out is older than this run" in failed.message


def test_a_report_that_was_only_made_to_look_new_counts_by_what_it_says(tmp_path: Path) -> None:
    write(tmp_path, {"coverage.out": GO})
    before = stamps(tmp_path, ["coverage.out"])
    os.utime(tmp_path / "coverage.out", ns=(1, 1))
    found = measured(tmp_path, ["coverage.out"], before, "")
    assert found == Coverage(7, 10, "coverage.out")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("mkfifo coverage.out", "it is no plain file"),
        ("ln -s /dev/zero coverage.out", "it lies elsewhere"),
        ("ln -s {outside} coverage.out", "it lies elsewhere"),
        ("ln -s coverage.out coverage.out", "looked for"),
    ],
)
def test_what_a_gate_leaves_in_the_place_of_its_report_leads_nowhere(
    tmp_path: Path, made: str, why: str
) -> None:
    write(tmp_path, {"outside/coverage.out": GO, "tree/go.mod": "module tree\n"})
    command = made.format(outside=tmp_path / "outside/coverage.out")
    failed = result(tmp_path / "tree", command, threshold=1)
    assert failed.status == "failed"
    assert why in failed.message


def test_without_a_report_the_gate_says_where_it_looked(tmp_path: Path) -> None:
    failed = result(tmp_path, "echo 'covered: 100% of statements'")
    assert failed.status == "failed"
    assert "looked for coverage.out, cover.out" in failed.message
    assert "lcov.info" in failed.message


def test_a_report_that_cannot_be_read_is_a_failure_that_names_it(tmp_path: Path) -> None:
    failed = result(tmp_path, "echo '{}' > coverage.json")
    assert failed.status == "failed"
    assert "coverage.json is no coverage report" in failed.message
    empty = result(tmp_path, "echo 'mode: set' > coverage.out", threshold=0)
    assert "coverage.out counts no line" in empty.message


def test_the_total_line_is_counted_not_read_as_a_rounded_percentage(tmp_path: Path) -> None:
    line = "TOTAL                     1000    204    100     10    80%"
    found = measured(tmp_path, [], {}, f"Name  Stmts  Miss\n{line}\n")
    assert found == Coverage(796, 1000, "the TOTAL line of the output")


def test_the_docs_list_where_reports_are_looked_for() -> None:
    text = (DOCS / "gates-running.md").read_text(encoding="utf-8")
    assert [place for place in USUAL_PLACES if f"`{place}`" not in text] == []


def test_reports_are_looked_for_where_the_command_puts_them() -> None:
    found = places("pytest --cov --cov-report=xml:out/cov.xml", ["made.info", "*.json"])
    assert found[:2] == ("out/cov.xml", "made.info")
    assert "*.json" not in found


FORGED = "mode: set\\nx.go:1.1,2.2 1000 1\\n"
TOTAL = "echo 'TOTAL 100 50 50%'"


def test_a_report_of_another_language_is_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path, {"forge.sh": f"printf '{FORGED}' > coverage.out\n"})
    found = result(tmp_path, f"sh forge.sh; python -c 0; {TOTAL}")
    assert (
        found.message
        == "coverage 50.00 % by the TOTAL line of the output, at least 70 % is wanted."
    )
    assert not {"coverage.out", "lcov.info"} & set(places("pytest --cov", []))
    assert "coverage.xml" not in places("go test -cover ./...", [])


def test_of_reports_that_disagree_the_lowest_counts_and_that_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"forge.sh": f"printf '{FORGED}' > coverage.out\n{TOTAL}\n"})
    found = result(tmp_path, "sh forge.sh")
    assert found.status == "failed"
    assert "50.00 % by the TOTAL line of the output" in found.message
    assert "(the lowest: coverage.out says 100.00 %)" in found.message


def test_a_report_that_is_named_beats_one_that_lies_in_a_usual_place(tmp_path: Path) -> None:
    write(tmp_path, {"made": GO, "forge.sh": f"printf '{FORGED}' > cover.out\n"})
    found = result(tmp_path, "sh forge.sh; cp made coverage.out")
    assert found.message == "coverage 70.00 % by coverage.out"
