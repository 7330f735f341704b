"""What becomes of independent tasks of a plan whose work meets on the plan's branch."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hornbook import Workspace
from hornbook.agents.assignment import Answer, Assignment
from hornbook.loop.engine.plan_engine import PlanEngine
from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.loop.steps import merge
from hornbook.plans.run_kinds import APPROVED, GATED, MERGED, RETURNED, REVIEW
from hornbook.plans.tasks import Ledger
from tests.kit.fakes import Move, git, reviews
from tests.kit.git import git as repository_git
from tests.kit.git import start
from tests.kit.loops import CONFIG, PLAN, RULE, Stage, repository
from tests.kit.tax_plan import FILES
from tests.kit.tax_plan import PLAN as TAX_PLAN

TALK = "".join(f"# line {number}\n" for number in range(20))
SHARED = PLAN.replace("src/greet.py (new)", "src/talk.py").replace(
    "src/bye.py (new)", "src/talk.py"
)
SHARED = SHARED.replace("   - Depends on: 1\n", "")
APART = PLAN.replace("   - Depends on: 1\n", "")
FIRST, SECOND = "run-1", "run-2"
# A gate that fails where two files that are right alone stand side by side.
NOT_BOTH = (
    "if test -f src/greet.py && grep -q old_to src/bye.py 2>/dev/null; then echo both; exit 1; fi\n"
)
Files = Mapping[str, str]


def does(*attempts: tuple[Files, Files]) -> Move:
    """A developer who writes, at each attempt, files for the first task and for the second."""

    def move(assignment: Assignment) -> Answer:
        files = attempts[min(assignment.attempt, len(attempts)) - 1]
        for path, text in files[int(assignment.task_id[-1]) - 1].items():
            (Path(assignment.folder) / path).write_text(text)
        return Answer(text="done")

    return move


def talk(**lines: str) -> Files:
    """The file that both change, with some lines put in another's place."""
    text = TALK
    for number, line in lines.items():
        text = text.replace(f"# line {number.removeprefix('at')}\n", f"{line}\n")
    return {"src/talk.py": text}


def until_approved(stage: Stage, run: str) -> None:
    """Step a run until nothing is left but to bring its work onto the branch."""
    stage.loop().start("hello", run[-1], agent=None, run_id=run)
    for _ in range(40):
        assert stage.loop().step(run).kind is StepKind.CONTINUED
        done = of(stage, "step.finished", run)
        if done and done[-1]["step"] == "validate_review":
            return
    raise AssertionError(f"{run} is never approved")


def met(stage: Stage) -> tuple[StepOutcome, StepOutcome]:
    """Two runs that know nothing of each other, the second of which is approved later."""
    until_approved(stage, SECOND)
    return stage.go(FIRST, "1"), stage.drive(SECOND)


def on_branch(stage: Stage, path: str) -> str:
    return git(stage.root, "show", f"hornbook/hello:{path}")


def of(stage: Stage, kind: str, run: str = SECOND) -> list[Mapping[str, object]]:
    return [each.data for each in stage.log() if each.kind == kind and each.data["run"] == run]


def test_work_that_goes_with_what_came_first_is_gated_with_it_and_its_review_holds(
    tmp_path: Path,
) -> None:
    move = does(({"src/greet.py": "hello_to_all = 1\n"}, {"src/bye.py": "bye_to_all = 1\n"}))
    stage = Stage(repository(tmp_path, APART), [move])
    first, second = met(stage)
    assert (first.status, second.status) == ("approved", "approved")
    (merged,) = of(stage, MERGED)
    assert (merged["review"], merged["conflicts"], merged["files"]) == ("holds", [], ["src/bye.py"])
    alone, both = of(stage, GATED)
    assert (alone["tree"], both["tree"]) == (of(stage, APPROVED)[0]["tree"], merged["tree"])
    assert git(stage.root, "rev-parse", "hornbook/hello^{tree}") == merged["tree"]
    assert len(of(stage, REVIEW)) == 1
    assert len(stage.developer.seen) == 2
    parents = git(stage.root, "rev-parse", "hornbook/hello^1", "hornbook/hello^2").split()
    assert parents == [of(stage, APPROVED, run)[0]["commit"] for run in (FIRST, SECOND)]


def test_work_that_breaks_with_what_came_first_goes_back_to_its_developer(tmp_path: Path) -> None:
    move = does(
        ({"src/greet.py": "hello_to_all = 1\n"}, {"src/bye.py": "old_to_all = 1\n"}),
        ({}, {"src/bye.py": "new_to_all = 1\n"}),
    )
    stage = Stage(repository(tmp_path, APART, **{"check.sh": NOT_BOTH}), [move])
    first, second = met(stage)
    assert (first.status, second.status) == ("approved", "approved")
    assert [each["passed"] for each in of(stage, GATED)] == [True, False, True]
    assert on_branch(stage, "src/bye.py") == "new_to_all = 1"
    told = stage.developer.seen[-1]
    assert told.attempt == 2
    assert "fail over it together with what other tasks brought" in told.feedback
    assert "both" in told.feedback
    (merged,) = of(stage, MERGED)
    assert of(stage, "agent.task.development")[1]["base"] == merged["base"]


def test_lines_that_both_change_send_the_later_one_back_with_both_sides(tmp_path: Path) -> None:
    move = does(
        (talk(at3="hello_to_all = 1"), talk(at3="bye_to_all = 1", at15="more_to_all = 1")),
        ({}, talk(at3="b_to_all = 1")),
    )
    stage = Stage(repository(tmp_path, SHARED, **{"src__talk.py": TALK}), [move])
    first, second = met(stage)
    assert (first.status, second.status) == ("approved", "approved")
    told = stage.developer.seen[-1]
    assert told.attempt == 2
    assert "changed the same lines of src/talk.py, and came first" in told.feedback
    assert "+hello_to_all = 1" in told.feedback
    assert "+bye_to_all = 1" in told.feedback
    (merged,) = of(stage, MERGED)
    assert merged["conflicts"] == ["src/talk.py"]
    assert git(stage.root, "rev-parse", "hornbook/hello^") == merged["base"]
    assert len(of(stage, REVIEW)) == 2


def test_a_conflict_shows_no_more_of_each_side_than_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge, "MOST_LINES", 3)
    move = does(
        (talk(at3="hello_to_all = 1"), talk(at3="bye_to_all = 1")), ({}, talk(at3="b_to_all = 1"))
    )
    stage = Stage(repository(tmp_path, SHARED, **{"src__talk.py": TALK}), [move])
    assert met(stage)[1].status == "approved"
    assert "more lines are not shown" in stage.developer.seen[-1].feedback


def test_a_file_that_both_change_elsewhere_is_reviewed_again(tmp_path: Path) -> None:
    move = does((talk(at2="hello_to_all = 1"), talk(at17="bye_to_all = 1")))
    stage = Stage(repository(tmp_path, SHARED, **{"src__talk.py": TALK}), [move])
    first, second = met(stage)
    assert (first.status, second.status) == ("approved", "approved")
    (merged,) = of(stage, MERGED)
    assert merged["review"] == "again"
    assert [each["tree"] for each in of(stage, REVIEW)][-1] == merged["tree"]
    assert len(of(stage, REVIEW)) == 2
    assert len(stage.developer.seen) == 2
    assert {"hello_to_all = 1", "bye_to_all = 1"} < set(
        on_branch(stage, "src/talk.py").splitlines()
    )


def test_what_is_rejected_together_goes_back_as_a_second_attempt(tmp_path: Path) -> None:
    move = does(
        (talk(at2="hello_to_all = 1"), talk(at5="bye_to_all = 1")),
        ({}, talk(at2="hello_to_all = 1", at5="bye_to_all = 2")),
    )

    def doubts(assignment: Assignment) -> Answer:
        both = "hello_to_all = 1" in assignment.prompt and "bye_to_all = 1" in assignment.prompt
        said = reviews("rejected", "fixable", feedback="Not both.") if both else reviews()
        return said(assignment)

    stage = Stage(repository(tmp_path, SHARED, **{"src__talk.py": TALK}), [move], [doubts])
    assert met(stage)[1].status == "approved"
    assert "Not both." in stage.developer.seen[-1].feedback
    assert stage.developer.seen[-1].attempt == 2


def test_rules_that_came_first_have_later_work_reviewed_by_them(tmp_path: Path) -> None:
    """A person let the first task change a rule: the later review was held to the old one."""
    rule = "docs/AGENTS.md"
    plan = APART.replace("- IN: src/**", "- IN: src/**, AGENTS.md")
    plan = plan.replace("src/greet.py (new)", "AGENTS.md (new)")
    move = does(({"AGENTS.md": RULE.rpartition("---")[2]}, {"src/bye.py": "bye_to_all = 1\n"}))
    stage = Stage(repository(tmp_path, plan), [move])
    until_approved(stage, SECOND)
    assert stage.go(FIRST, "1").kind is StepKind.ASKING, rule
    stage.answer(FIRST, "accept", reason="I want the rule.")
    assert stage.drive(FIRST).status == "approved"
    assert stage.drive(SECOND).status == "approved"
    (merged,) = of(stage, MERGED)
    assert merged["review"] == "again"
    assert "source.doc.sops.agents" in str(of(stage, "context.assembled")[-1]["sop_ids"])


def test_the_third_failure_beside_what_came_first_asks_a_person(tmp_path: Path) -> None:
    move = does(({"src/greet.py": "hello_to_all = 1\n"}, {"src/bye.py": "old_to_all = 1\n"}))
    stage = Stage(repository(tmp_path, APART, **{"check.sh": NOT_BOTH}), [move])
    assert met(stage)[1].kind is StepKind.ASKING
    assert [each.attempt for each in stage.developer.seen if each.task_id[-1] == "2"] == [1, 2, 3]
    asked = stage.newest("user.signal.escalate").data["record"].removeprefix("escalation.")
    record = stage.root / f".hornbook/records/escalations/{asked}.json"
    assert "against failed gates: check" in record.read_text()


# A person's word


def asked_about(stage: Stage) -> None:
    """The second run asks a person; meanwhile the first one's work comes onto the branch."""
    assert stage.go(SECOND, "2").kind is StepKind.ASKING
    assert stage.go(FIRST, "1").status == "approved"


def unsure(task: str) -> Callable[[Assignment], Answer]:
    """A reviewer who is not sure of a task's first attempt."""

    def move(assignment: Assignment) -> Answer:
        doubts = assignment.task_id.endswith(task) and assignment.attempt == 1
        return reviews(confidence=0.2 if doubts else 0.9)(assignment)

    return move


def test_a_word_holds_for_work_that_goes_with_what_came_first(tmp_path: Path) -> None:
    move = does(({"src/greet.py": "hello_to_all = 1\n"}, {"src/bye.py": "bye_to_all = 1\n"}))
    stage = Stage(repository(tmp_path, APART), [move], [unsure("2")])
    asked_about(stage)
    stage.answer(SECOND, "accept", reason="I looked.")
    assert stage.drive(SECOND).status == "approved"
    assert len(of(stage, GATED)) == 2
    assert on_branch(stage, "src/bye.py") == "bye_to_all = 1"


def test_a_word_does_not_bring_work_that_breaks_onto_the_branch(tmp_path: Path) -> None:
    move = does(
        ({"src/greet.py": "hello_to_all = 1\n"}, {"src/bye.py": "old_to_all = 1\n"}),
    )
    mends = does(({}, {"src/bye.py": "new_to_all = 1\n"}))
    stage = Stage(repository(tmp_path, APART, **{"check.sh": NOT_BOTH}), [move], [unsure("2")])
    asked_about(stage)
    stage.answer(SECOND, "accept", reason="I looked.")
    stage.developer.moves = [mends]
    stage.reviewer.moves = [reviews()]
    assert stage.drive(SECOND).status == "approved"
    assert "these gates fail: check" in str(of(stage, RETURNED)[0]["reason"])
    assert "both" in stage.developer.seen[-1].feedback
    assert on_branch(stage, "src/bye.py") == "new_to_all = 1"


def test_work_approved_against_a_gate_is_held_to_all_others_beside_what_came_first(
    tmp_path: Path,
) -> None:
    config = CONFIG + "    - {name: strict, command: test ! -f src/bye.py}\n"
    move = does(({"src/greet.py": "hello_to_all = 1\n"}, {"src/bye.py": "bye_to_all = 1\n"}))
    stage = Stage(repository(tmp_path, APART, config), [move])
    asked_about(stage)
    stage.answer(SECOND, "overrule", "The gate is wrong.")
    assert stage.drive(SECOND).status == "approved"
    assert on_branch(stage, "src/bye.py") == "bye_to_all = 1"


def test_a_conflict_with_what_a_person_approved_goes_back_to_its_developer(tmp_path: Path) -> None:
    move = does((talk(at3="hello_to_all = 1"), talk(at3="bye_to_all = 1")))
    files = {"src__talk.py": TALK}
    stage = Stage(repository(tmp_path, SHARED, **files), [move], [unsure("2")])
    asked_about(stage)
    stage.answer(SECOND, "accept", reason="I looked.")
    stage.developer.moves = [does(({}, talk(at3="both_to_all = 1")))]
    stage.reviewer.moves = [reviews()]
    assert stage.drive(SECOND).status == "approved"
    assert "+hello_to_all = 1" in stage.developer.seen[-1].feedback
    assert "both_to_all = 1" in on_branch(stage, "src/talk.py").splitlines()


def test_a_word_that_cannot_be_carried_out_is_asked_for_again(tmp_path: Path) -> None:
    move = does(({"src/greet.py": "hello_to_all = 1\n"}, {"src/bye.py": "bye_to_all = 1\n"}))
    stage = Stage(repository(tmp_path, APART), [move], [unsure("2")])
    asked_about(stage)
    stage.answer(SECOND, "accept", reason="I looked.")
    git(stage.root, "checkout", "-q", "hornbook/hello")
    loop = stage.loop()
    with pytest.raises(Exception, match="is checked out"):
        loop.step(SECOND)
    assert loop.gave_up(SECOND, "it is checked out", "failed").kind is StepKind.ASKING
    git(stage.root, "checkout", "-q", "main")
    stage.answer(SECOND, "accept", reason="I looked.")
    assert stage.drive(SECOND).status == "approved"


def test_approved_work_that_git_keeps_off_the_branch_can_be_taken_by_a_person(
    tmp_path: Path,
) -> None:
    stage = Stage(repository(tmp_path, APART), [does(({"src/greet.py": "hello_to_all = 1\n"}, {}))])
    until_approved(stage, FIRST)
    git(stage.root, "checkout", "-q", "-b", "hornbook/hello")
    assert stage.drive(FIRST).kind is StepKind.ASKING
    git(stage.root, "checkout", "-q", "main")
    stage.answer(FIRST, "accept", reason="It is free again.")
    assert stage.drive(FIRST).status == "approved"
    assert len(stage.developer.seen) == 1
    assert on_branch(stage, "src/greet.py") == "hello_to_all = 1"


# By the engine, in parallel

BOTH = """\
1. Triple the price
   - Files: `shop/price.py`
   - Criteria: price is three times
2. Quadruple the price
   - Files: `shop/price.py`
   - Criteria: price is four times

## Constraints
"""
SCRIPT = """\
developer:
  - task: "1"
    do: [{write: {path: shop/price.py, text: "def price(n):\\n    return n * 3\\n"}}]
  - task: "2"
    do: [{write: {path: shop/price.py, text: "def price(n):\\n    return n * 4\\n"}}]
"""


def test_tasks_that_conflict_are_both_done_one_after_the_other(tmp_path: Path) -> None:
    start(tmp_path, FILES)
    (tmp_path / ".hornbook/scripted.yaml").write_text(SCRIPT)
    plan = TAX_PLAN.partition("1. Add")[0] + BOTH + TAX_PLAN.partition("## Constraints\n")[2]
    with Workspace.open(tmp_path) as work:
        work.ingest()
        work.plan_book().commit("Add tax", plan)
        work.plan_book().tasks("add-tax")
        ended = PlanEngine(work).execute("add-tax", agent="scripted")
    assert ended.approved
    assert not ended.asking
    texts = repository_git(tmp_path, "log", "-p", "--format=%s", "hornbook/add-tax")
    assert "+    return n * 3" in texts
    assert "+    return n * 4" in texts


def test_two_who_see_a_task_become_ready_begin_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(repository(tmp_path))
    stage.loop().start("hello", None, agent=None, run_id="run-1")
    ready = Ledger.ready

    def meanwhile(ledger: Ledger, *asked: Any) -> list[int]:
        found = ready(ledger, *asked)
        monkeypatch.setattr(Ledger, "ready", ready)
        assert stage.loop().step("run-1").kind is StepKind.CONTINUED
        return found

    monkeypatch.setattr(Ledger, "ready", meanwhile)
    assert stage.loop().step("run-1").kind is StepKind.CONTINUED
    begun = [event.data["run"] for event in stage.log() if event.kind == "run.started"]
    named = [run for event in stage.log() for run in event.data.get("runs", ())]
    assert begun == ["run-1", "hello-t1-1"]
    assert set(named) <= set(begun)
