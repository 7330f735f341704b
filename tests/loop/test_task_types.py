"""The types of tasks: what an attempt is about follows from the task and from what was said of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import NotFound, UsageError
from hornbook.loop.fix_plan import fix_plan
from hornbook.plans.plan import TaskType
from hornbook.plans.run_kinds import DEVELOP, GATED
from hornbook.plans.tasks import read_tasks
from hornbook.review.recorded_finding import recorded_finding
from tests.kit.fakes import Move, reviews, writes
from tests.kit.loops import BROKEN, CONFIG, GREET, PLAN, Stage, repository

RULE_ID = "source.doc.sops.greetings"
SENTENCE = "Every greeting MUST name the person whom it is for, and nobody else at all."
TESTS = """\
if test -f tests/test_old.py && grep -q wrong tests/test_old.py; then
  echo 'FAILED tests/test_old.py::test_old - AssertionError: old'
  red=1
fi
if test -f tests/test_greet.py && grep -q typo tests/test_greet.py; then
  echo 'FAILED tests/test_greet.py::test_greet - NameError: typo'
  red=1
elif test -f tests/test_greet.py && ! grep -qs hello src/greet.py; then
  echo 'FAILED tests/test_greet.py::test_greet - AssertionError: nobody greets'
  red=1
fi
echo "the tests of greetings and of all else that there is were run to their very end"
test -z "$red"
"""
RED_CONFIG = CONFIG + "    - {name: test, command: sh test.sh}\n"
RED_PLAN = (
    PLAN.replace("src/greet.py (new)\n", "tests/test_greet.py (new)\n   - Type: write_tests\n")
    .replace("- IN: src/**", "- IN: src/**, tests/**")
    .replace("src/bye.py (new)", "src/greet.py (new)")
)
TEST = "def test_greet():\n    assert greet('ada') == 'hello ada'\n"
GOOD_TEST = writes({"tests/test_greet.py": TEST})
GOOD = writes({"src/greet.py": GREET})


def red_repository(root: Path, plan: str = RED_PLAN, config: str = RED_CONFIG) -> Path:
    return repository(root, plan, config, **{"test.sh": TESTS, "tests__test_old.py": "# old\n"})


def types(stage: Stage) -> list[str]:
    return [str(event.data["type"]) for event in stage.log() if event.kind == DEVELOP]


def by_type(**moves: Move) -> Move:
    return lambda assignment: moves[assignment.phase](assignment)


# The text of a plan


def test_a_task_says_its_type_and_the_finding_that_it_mends() -> None:
    said = read_tasks("1. Mend\n   - Type: Fix violation\n   - Finding: `review.a.1:x`\n2. Go\n")
    first, second = said.tasks
    assert (first.type, first.finding) == (TaskType.FIX_VIOLATION, "review.a.1:x")
    assert (second.type, second.finding, said.problems) == (TaskType.IMPLEMENT_FEATURE, "", ())


def test_an_unknown_type_is_told_with_the_nearest_one() -> None:
    (problem,) = read_tasks("1. Mend\n   - Type: write_test\n").problems
    assert (problem.code, problem.line) == ("bad_task_type", 2)
    assert "did you mean `write_tests`?" in problem.message


# What an attempt is about


def test_a_failed_gate_is_mended_as_a_violation_of_it(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path), [writes({"src/greet.py": BROKEN}), GOOD])
    assert stage.go().status == "approved"
    first, second = stage.developer.seen
    assert (first.phase, first.violation) == ("implement_feature", None)
    assert second.phase == "fix_violation"
    assert second.violation is not None
    assert (second.violation.check_id, second.violation.pattern) == ("check", "sh check.sh")
    assert second.violation.requirement == "the gate check passes"
    assert types(stage) == ["implement_feature", "fix_violation"]


def test_a_violated_rule_is_mended_and_its_text_stays_hidden(tmp_path: Path) -> None:
    said = f"Line 1 breaks this: {SENTENCE} Name the person."
    rejected = reviews("rejected", "fixable", violated=True, feedback=said)
    stage = Stage(repository(tmp_path), [GOOD], [rejected, reviews()])
    assert stage.go().status == "approved"
    found = stage.developer.seen[1].violation
    assert found is not None
    assert (found.id, found.check_id, found.severity) == ("review.run-1.1", RULE_ID, "error")
    assert (found.file_path, found.message) == ("src/greet.py", "no context is told")
    assert found.pattern == "files that match src/**"
    assert found.fix_hint == f"Line 1 breaks this: [a passage of {RULE_ID}] Name the person."
    assert "its text is not shown here" in found.requirement
    assert SENTENCE not in repr(replace(stage.developer.seen[1], withheld={}))


def test_developers_who_may_see_rules_are_told_what_the_rule_requires(
    tmp_path: Path,
) -> None:
    rejected = reviews("rejected", "fixable", violated=True)
    config = f"developer_sees: full\n{CONFIG}"
    stage = Stage(repository(tmp_path, config=config), [GOOD], [rejected, reviews()])
    assert stage.go().status == "approved"
    found = stage.developer.seen[1].violation
    assert found is not None
    assert SENTENCE in found.requirement


def test_a_rejection_without_a_violated_rule_is_refined(tmp_path: Path) -> None:
    rejected = reviews("rejected", "fixable", feedback="Say it louder.")
    stage = Stage(repository(tmp_path), [GOOD], [rejected, reviews()])
    assert stage.go().status == "approved"
    assert types(stage) == ["implement_feature", "refine"]
    assert "Say it louder." in stage.developer.seen[1].feedback


def test_an_attempt_that_changed_nothing_is_the_tasks_own_again(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path), [writes({}), GOOD])
    assert stage.go().status == "approved"
    assert types(stage) == ["implement_feature", "implement_feature"]


# Red


def test_tests_that_fail_because_the_feature_is_missing_are_approved(tmp_path: Path) -> None:
    stage = Stage(red_repository(tmp_path), [GOOD_TEST])
    assert stage.go().status == "approved"
    report = stage.newest(GATED).data
    by_name = {gate["name"]: gate for gate in report["gates"]}
    assert (by_name["test"]["status"], by_name["test"]["exit_code"]) == ("passed", None)
    assert by_name["test"]["message"].startswith("red as the task asks: 1 new tests fail (tests/")
    assert report["warnings"] == [by_name["floor:red"]["message"]]
    assert "red as the task asks" in stage.reviewer.seen[0].prompt
    assert "This task writes tests and nothing else." in stage.developer.seen[0].prompt


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"tests/test_greet.py": TEST, "src/greet.py": GREET}, "src/greet.py is no test"),
        ({"tests/test_old.py": "# old\nassert 1\n"}, "no new test fails"),
        ({"tests/test_greet.py": "typo\n"}, "fails for a wrong reason: it fails with NameError"),
        (
            {"tests/test_greet.py": TEST, "check.sh": "exit 1\n"},
            "check.sh is no test: write tests only",
        ),
    ],
)
def test_tests_that_are_not_red_for_the_right_reason_are_sent_back(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    stage = Stage(red_repository(tmp_path), [writes(files), GOOD_TEST])
    stage.go()
    assert [each.phase for each in stage.developer.seen[:2]] == ["write_tests", "write_tests"]
    assert said in stage.developer.seen[1].feedback


def test_the_feature_is_built_on_its_red_tests_and_makes_them_pass(tmp_path: Path) -> None:
    both = by_type(write_tests=GOOD_TEST, implement_feature=GOOD)
    stage = Stage(red_repository(tmp_path), [both])
    assert stage.go(task=None).status == "approved"
    assert types(stage) == ["write_tests", "implement_feature"]
    last = {gate["name"]: gate for gate in stage.newest(GATED).data["gates"]}
    assert (last["test"]["status"], last["test"]["exit_code"]) == ("passed", 0)
    assert "floor:red" not in last


def test_red_first_has_tests_written_and_reviewed_before_a_feature(tmp_path: Path) -> None:
    plan = PLAN.replace(
        "src/greet.py (new)", "src/greet.py (new), tests/test_greet.py (new)"
    ).replace("- IN: src/**", "- IN: src/**, tests/**")
    config = RED_CONFIG + "engine: {red_first: true}\n"
    both = by_type(write_tests=GOOD_TEST, implement_feature=GOOD)
    stage = Stage(red_repository(tmp_path, plan, config), [both])
    assert stage.go().status == "approved"
    first, second = stage.developer.seen
    assert (first.phase, first.files) == ("write_tests", ("tests/test_greet.py",))
    assert first.criteria == second.criteria == ("a name is greeted",)
    assert (second.phase, len(stage.reviewer.seen)) == ("implement_feature", 2)
    assert "Subtask 3 is done" in second.feedback


# Recorded findings


def rejected_once(root: Path) -> Stage:
    said = [reviews("rejected", "fixable", violated=True), reviews()]
    stage = Stage(repository(root), [GOOD], said)
    assert stage.go().status == "approved"
    return stage


def test_a_finding_is_found_by_its_review_and_by_the_end_of_its_rule(tmp_path: Path) -> None:
    records = rejected_once(tmp_path).root / ".hornbook/records"
    for name in ("review.run-1.1", "run-1.1:greetings", f"review.run-1.1:{RULE_ID}"):
        found = recorded_finding(records, name)
        assert (found.reference, found.files) == (f"review.run-1.1:{RULE_ID}", ("src/greet.py",))
    for name, message in (
        ("review.run-1.2", "found no violation: there is nothing to fix"),
        ("review.run-1.1:other", f"name one of review.run-1.1:{RULE_ID}"),
        ("nothing", "names no finding"),
    ):
        with pytest.raises(UsageError, match=message):
            recorded_finding(records, name)
    with pytest.raises(NotFound, match="there is no review"):
        recorded_finding(records, "review.run-9.1")


def test_a_finding_whose_record_was_edited_is_not_believed(tmp_path: Path) -> None:
    records = rejected_once(tmp_path).root / ".hornbook/records"
    path = records / "reviews/run-1.1.json"
    path.write_text(path.read_text().replace("no context is told", "all is well"))
    with pytest.raises(UsageError, match="not as it was written"):
        recorded_finding(records, "review.run-1.1")


def test_a_task_mends_the_finding_that_it_names(tmp_path: Path) -> None:
    mends = PLAN.replace(
        "   - Depends on: 1\n",
        "   - Depends on: 1\n   - Type: fix_violation\n   - Finding: run-1.1:greetings\n",
    ).replace("src/bye.py (new)", "src/greet.py")
    stage = Stage(
        repository(tmp_path, mends, **{"src/greet.py": "# nobody\n"}),
        [GOOD],
        [reviews("rejected", "fixable", violated=True), reviews()],
    )
    assert stage.go().status == "approved"
    assert stage.go("run-2", "2").status == "approved"
    last = stage.developer.seen[-1]
    assert (last.phase, last.violation and last.violation.check_id) == ("fix_violation", RULE_ID)
    assert "- Violation: no context is told" in last.prompt
    assert SENTENCE not in last.prompt


def test_fix_plans_one_task_from_a_finding_and_finds_the_same_plan_again(tmp_path: Path) -> None:
    mended = {"src/greet.py": "# nobody\n"}
    stage = Stage(
        repository(tmp_path, **mended),
        [GOOD],
        [reviews("rejected", "fixable", violated=True), reviews()],
    )
    assert stage.go().status == "approved"
    with Workspace.open(stage.root) as work:
        book = work.plan_book()
        slug = fix_plan(stage.root, book, work.places.records, "review.run-1.1")
        assert fix_plan(stage.root, book, work.places.records, "run-1.1:greetings") == slug
        assert book.check(slug).passed
        (task,) = read_tasks(book.view(slug).plan.execution).tasks
        assert book.view(slug).plan.constraints.inside == ("src/greet.py",)
    assert (slug, task.files) == ("fix-greetings-of-review-run-1-1", ("src/greet.py",))
    assert (task.type, task.finding) == (TaskType.FIX_VIOLATION, f"review.run-1.1:{RULE_ID}")
    assert SENTENCE not in book.view(slug).plan.execution


def test_fix_refuses_a_finding_whose_files_are_not_checked_out(tmp_path: Path) -> None:
    stage = rejected_once(tmp_path)
    with Workspace.open(stage.root) as work:
        book = work.plan_book()
        with pytest.raises(UsageError, match=r"src/greet\.py is not in HEAD: check out the work"):
            fix_plan(stage.root, book, work.places.records, "review.run-1.1")
        assert [view.plan.slug for view in book.views()] == ["hello"]
