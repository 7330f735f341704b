"""Gates on the base before anybody works: once, asked about where they are red, told apart after."""

from dataclasses import replace
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import UsageError
from hornbook.gates.base_tests import UNTESTED, BaseResults
from hornbook.gates.gate import GateResult, GateStatus
from hornbook.gates.test_names import failed_tests
from hornbook.loop.protocol import StepKind
from tests.kit.fakes import git, writes
from tests.kit.loops import BROKEN, BYE, GREET, PLAN, Stage, repository
from tests.kit.workspaces import write

RED = {"src__old.py": "print('BROKEN already, and long before anybody began')\n"}
COUNTING = """\
gates:
  tests: "off"
  confine: never
  additional:
    - {name: check, command: sh check.sh && echo ran >> COUNTED}
"""
BOTH = [writes({"src/greet.py": GREET}), writes({"src/bye.py": BYE})]


def offers(stage: Stage, run: str = "run-1") -> list[str]:
    with Workspace.open(stage.root) as work, work.run_book() as book:
        return [line.split()[0].rstrip(":") for line in book.report(run).answers]


def test_a_red_base_is_asked_about_before_anybody_is_paid(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path, **RED))
    outcome = stage.go(task=None)
    assert (outcome.kind, outcome.status) == (StepKind.ASKING, "asking")
    assert "these gates are red: check" in outcome.message
    assert "check: exit code 1" in outcome.message
    assert not stage.developer.seen
    assert [event.kind for event in stage.log()][-3:] == [
        "base.started",
        "base.gated",
        "user.signal.escalate",
    ]
    assert "src/old.py" in stage.newest("user.signal.escalate").data["payload"]["red"]["check"]
    assert offers(stage) == ["--accept", "--amend", "--return", "--stop"]
    with Workspace.open(stage.root) as work, work.run_book() as book:
        (row,) = book.rows()
        assert (row.needs_person, row.status, row.last_action) == (
            True,
            "asking",
            "user.signal.escalate",
        )
        base = git(stage.root, "rev-parse", "HEAD")[:12]
        report = book.report("run-1")
        assert report.warnings == (f"red on the base {base}: check",)
        assert report.asks is not None
        assert "src/old.py" in report.asks, "what the gate printed stands where it is asked about"
    with pytest.raises(UsageError, match="--overrule does not fit"):
        stage.answer("run-1", "overrule", "It is fine.")
    assert stage.drive("run-1").kind is StepKind.ASKING
    assert [event.kind for event in stage.log()].count("base.gated") == 1, "it is not run again"
    assert stage.answer("run-1", "stop", reason="Not now.").status == "stopped"


def test_what_is_known_to_be_red_stops_nobody_who_adds_nothing_to_it(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path, **RED), BOTH)
    stage.go(task=None)
    stage.answer("run-1", "accept", reason="It is mended next week.")
    assert stage.drive("run-1").status == "approved"
    gated = stage.newest("gates.ran").data
    (check,) = [each for each in gated["gates"] if each["name"] == "check"]
    assert (check["status"], check["required"], check["known_red"]) == ("warned", True, True)
    assert "human:ann@example.org: It is mended next week." in check["message"]
    assert gated["passed"]
    assert any("known to be red" in each for each in gated["warnings"]), "the reviewer is told"
    assert [event.kind for event in stage.log()].count("base.gated") == 1, "for both tasks"
    for seen in stage.developer.seen:
        told = seen.prompt.partition("What they said before the work began:")[2]
        assert ". Known (human:ann@example.org: It is mended" in told
        assert "it need not be mended, and nothing may be added to it." in told
    with Workspace.open(stage.root) as work, work.run_book() as book:
        assert book.report("hello-t1-1").breaches == ()


def test_what_a_change_breaks_is_told_apart_from_what_was_red(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path, **RED), [writes({"src/greet.py": BROKEN}), *BOTH])
    stage.go()
    stage.answer("run-1", "accept", reason="It is mended next week.")
    assert stage.drive("run-1").status == "approved"
    first = next(event for event in stage.log() if event.kind == "gates.ran").data
    (check,) = [each for each in first["gates"] if each["name"] == "check"]
    assert (first["passed"], check["status"]) == (False, "failed")
    assert "red on the base as well; new since then: " in check["message"]
    assert "src/greet.py" in check["message"].partition("new since then: ")[2]


def test_a_base_that_was_mended_is_where_the_plan_begins_anew(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path, **RED), BOTH)
    stage.go(task=None)
    write(stage.root, {"src/old.py": "print('mended by hand')\n"})
    git(stage.root, "commit", "-qam", "mend")
    stage.answer("run-1", "return", "I mended it.")
    assert stage.drive("run-1").status == "approved"
    mended = git(stage.root, "rev-parse", "HEAD")
    assert stage.newest("base.gated").data["base"] == mended
    git(stage.root, "merge-base", "--is-ancestor", mended, "hornbook/hello")
    assert "I mended it." not in stage.developer.seen[0].prompt


def test_a_plan_that_was_begun_without_gates_gets_them_later(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path, config='gates: {tests: "off"}\n'), BOTH)
    asked = stage.go()
    assert asked.kind is StepKind.ASKING
    assert "No gate is configured" in asked.message
    assert not stage.developer.seen
    assert offers(stage) == ["--return", "--stop"]
    own = 'gates:\n  tests: "off"\n  additional: [{name: check, command: sh check.sh}]\n'
    write(stage.root, {".hornbook/config.yaml": own})
    git(stage.root, "commit", "-qam", "gates")
    stage.answer("run-1", "return", "There are gates now.")
    assert stage.drive("run-1").status == "approved"


def test_one_base_and_one_definition_are_run_once(tmp_path: Path) -> None:
    counted = tmp_path / "counted"
    config = COUNTING.replace("COUNTED", str(counted))
    stage = Stage(repository(tmp_path / "root", config=config), BOTH)
    with Workspace.open(stage.root) as work:
        work.plan_book().commit("Again", (stage.root / ".hornbook/plans/hello/plan.md").read_text())
    assert stage.go(task=None).status == "approved"
    kinds = [event.kind for event in stage.log()]
    assert kinds.count("base.started") == 1
    before = len(counted.read_text().split())
    assert before == kinds.count("gates.ran") + 1, "once on the base, for both tasks"
    stage.loop().start("again", "1", agent=None, run_id="other")
    assert stage.drive("other").status == "approved"
    kinds = [event.kind for event in stage.log("again")]
    assert len(counted.read_text().split()) - before == kinds.count("gates.ran")
    assert "base.started" not in kinds, "what is known of the base is not found out again"
    assert stage.newest("base.gated", "again").data["reused"]


BEHIND = """\
gates:
  tests: "off"
  confine: never
  additional:
    - {name: check, command: sh check.sh}
    - {name: size, command: test $(cat src/*.py | wc -l) -lt 9, after: [check]}
"""


def test_gates_behind_one_that_is_known_to_be_red_are_run(tmp_path: Path) -> None:
    long = 'def greet(name): return f"hello {name}"\n' * 9
    stage = Stage(
        repository(tmp_path, config=BEHIND, **RED), [writes({"src/greet.py": long}), *BOTH]
    )
    assert "these gates are red: check. " in stage.go().message, "and size was run behind it"
    stage.answer("run-1", "accept", reason="Later.")
    assert stage.drive("run-1").status == "approved"
    first, last = (
        {each["name"]: each["status"] for each in event.data["gates"]}
        for event in stage.log()
        if event.kind == "gates.ran"
    )
    assert (first["check"], first["size"]) == ("warned", "failed")
    assert (last["check"], last["size"]) == ("warned", "passed")


TESTED = """\
gates:
  tests: "off"
  confine: never
  additional:
    - {name: test, command: python3 -m unittest discover -s tests -t .}
"""
ASKS_TEST = PLAN.replace("(gate: check)", "(gate: test)")
PASSING = (
    "import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_it(self):\n        pass\n"
)


def test_a_base_without_any_test_is_not_red_and_work_without_one_is(tmp_path: Path) -> None:
    with_test = {"src/greet.py": GREET, "tests/test_greet.py": PASSING}
    plan = ASKS_TEST.replace("IN: src/**", "IN: src/**, tests/**")
    stage = Stage(
        repository(tmp_path, plan, TESTED),
        [writes({"src/greet.py": GREET}), writes(with_test)],
    )
    write(stage.root, {"tests/__init__.py": ""})
    git(stage.root, "add", "tests")
    git(stage.root, "commit", "-qm", "a folder for tests")
    assert stage.go().status == "approved"
    based = stage.newest("base.gated").data
    assert (based["passed"], based["gates"][0]["status"]) == (True, "warned")
    assert "- test: there is no test yet, so that none ran" in stage.developer.seen[0].prompt
    ran = [event.data for event in stage.log() if event.kind == "gates.ran"]
    assert [each["passed"] for each in ran] == [False, True]
    assert "no tests ran" in ran[0]["gates"][0]["message"]


def test_a_base_whose_tests_are_not_found_is_asked_about(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path, ASKS_TEST, TESTED))
    write(stage.root, {"tests/__init__.py": "", "checks/test_old.py": PASSING})
    git(stage.root, "add", "-A")
    git(stage.root, "commit", "-qm", "tests where nobody looks")
    assert "these gates are red: test. " in stage.go().message
    assert not stage.developer.seen


def result(status: str, *failing: str, output: str = "", required: bool = True) -> GateResult:
    return GateResult("check", required, GateStatus(status), 1, output=output, failing=failing)


def failed(output: str, code: int = 1) -> GateResult:
    """A required gate that failed, with the names that its output tells."""
    names = tuple(failed_tests(output))
    return GateResult("check", True, GateStatus.FAILED, code, output=output, failing=names)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (result("failed", "a", "b"), result("failed", "a"), "warned"),
        (result("failed", "a"), result("failed", "a", "b"), "failed"),
        (result("failed", "a"), result("failed", output="Segmentation fault"), "failed"),
        (result("failed", output="x.py:3: bad"), result("failed", output="x.py:9: bad"), "warned"),
        (result("failed", output="x.py: bad"), result("failed", output="y.py: bad"), "failed"),
        (result("failed", output="[9 lines omitted]"), result("failed"), "failed"),
        (result("passed"), result("failed"), "failed"),
        (result("skipped"), result("skipped"), "skipped"),
        (
            failed("FAILED t.py::a"),
            failed("FAILED t.py::a\nSegmentation fault", code=139),
            "failed",
        ),
        (failed("FAILED t.py::a"), failed("FAILED t.py::a\nx.py:1: error: bad"), "failed"),
        (
            failed("--- FAIL: TestNew"),
            failed("--- FAIL: TestNew\nFAIL x/b [build failed]"),
            "failed",
        ),
        (failed("--- FAIL: TestNew"), failed("--- FAIL: TestNew\n--- FAIL: TestNew"), "failed"),
        (failed("3 passed, 1 failed"), failed("0 passed, 4 failed"), "failed"),
        (failed("x.py:1: bad"), failed("x.py:1: bad\nx.py:9: bad"), "failed"),
        (failed("broken: case_1"), failed("broken: case_1\nbroken: case_37"), "failed"),
        (failed("FAIL: test_t (a.A)"), failed("FAIL: test_t (b.B)"), "failed"),
        (failed("FAILED t.py::a[x y]"), failed("FAILED t.py::a[x z]"), "failed"),
        (failed("TOTAL 90%"), failed("TOTAL 3%"), "failed"),
        (
            failed("collected 2 items\n.F  [100%]\n== 1 failed, 1 passed in 0.10s =="),
            failed("collected 3 items\n..F  [100%]\n=== 1 failed, 2 passed in 1.25s ==="),
            "warned",
        ),
        (result("skipped"), result("failed", output="bad"), "failed"),
        (
            failed("rootdir: /tmp/hornbook-tree-12-ab/shop"),
            failed("rootdir: /home/ann/shop/.hornbook/worktrees/hello/task.hello.1"),
            "warned",
        ),
        (
            failed("in /tmp/hornbook-tree-12-ab/shop/web/x.py"),
            failed("in /home/ann/shop/.hornbook/worktrees/hello/task.hello.1/web/y.py"),
            "failed",
        ),
        (replace(result("warned"), known_red=True), result("failed"), "warned"),
        (replace(result("warned"), message=UNTESTED), result("failed"), "failed"),
    ],
)
def test_only_what_failed_on_the_base_in_the_same_way_is_known(
    before: GateResult, now: GateResult, expected: str
) -> None:
    told = BaseResults((before,), "ann: known").told(now)
    assert told.status == expected
    assert told.stops is (expected != "warned")
    assert BaseResults((before,)).told(now).stops
