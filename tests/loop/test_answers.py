"""A person's word on a run that asks, and runs that were given up."""

from dataclasses import replace
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.agents.assignment import Answer, Assignment
from hornbook.commits.plan_branch import branch_obstacles
from hornbook.errors import NotAPerson, UsageError
from hornbook.loop.loop import MOST_DEATHS
from hornbook.loop.protocol import StepKind
from hornbook.loop.runs.run_book import breaches
from hornbook.plans.principal import Principal, PrincipalKind, Via
from tests.kit.fakes import git, reviews, writes
from tests.kit.loops import BROKEN, GREET, PLAN, Stage, repository

ANN = "human:ann@example.org"
UNSURE = reviews(confidence=0.4, feedback="I am not sure.")
UNSURE_NO = reviews("rejected", "fixable", violated=True, confidence=0.4, feedback="Perhaps not.")
NO = reviews("rejected", "fixable", violated=True, feedback="Name the person.")


def asking(root: Path, **agents: object) -> Stage:
    stage = Stage(repository(root), **agents)  # type: ignore[arg-type]  # moves, by role
    assert stage.go().kind is StepKind.ASKING
    return stage


def offers(stage: Stage, run: str = "run-1") -> list[str]:
    with Workspace.open(stage.root) as work, work.run_book() as book:
        return [line.split()[0].rstrip(":") for line in book.report(run).answers]


def test_an_accepted_review_is_carried_out_by_its_own_verdict(tmp_path: Path) -> None:
    stage = asking(tmp_path, reviewer=[UNSURE])
    assert offers(stage) == ["--accept", "--return", "--split", "--amend", "--stop"]
    given = stage.answer("run-1", "accept", reason="I looked at it myself.")
    assert (given.status, given.action, given.principal.id) == ("running", "accept", ANN)
    assert stage.drive("run-1").status == "approved"
    word = stage.newest("run.answered")
    assert (word.data["verdict"], word.data["reason"]) == ("approved", "I looked at it myself.")
    assert word.principal == Principal(ANN, PrincipalKind.HUMAN, Via.CLI)
    approved = stage.newest("task.approved")
    assert approved.data["answer"] == word.hash
    assert stage.newest("review.checked").data["outcome"] == "escalate", "the review stays"
    assert len(stage.developer.seen) == 1, "nobody works again"
    message = git(stage.root, "log", "-1", "--format=%B", str(approved.data["commit"]))
    assert f"Hornbook-Approved-By: {ANN}" in message


def test_an_accepted_rejection_goes_back_to_the_developer(tmp_path: Path) -> None:
    def reviewer(assignment: Assignment) -> Answer:
        again = "Perhaps not." in assignment.prompt
        return (reviews() if again else UNSURE_NO)(assignment)

    stage = asking(tmp_path, reviewer=[reviewer])
    stage.answer("run-1", "accept", reason="It is right.")
    assert stage.drive("run-1").status == "approved"
    assert "Perhaps not." in stage.developer.seen[-1].prompt


def test_an_accepted_rejection_of_the_scope_goes_where_such_go(tmp_path: Path) -> None:
    unsure = reviews("rejected", "too_big", violated=True, confidence=0.4, feedback="Too much.")
    stage = asking(tmp_path, reviewer=[unsure])
    stage.answer("run-1", "accept", reason="It is.")
    outcome = stage.loop().step("run-1")
    assert (outcome.status, outcome.message) == ("handed_on", "It is.\n\nToo much.")
    assert "task-decomposition" in outcome.spawned[0]


@pytest.mark.parametrize(
    ("agents", "against"),
    [
        ({"reviewer": [NO]}, "a rejection: fixable"),
        ({"reviewer": [lambda _: Answer(text="fine")]}, "an invalid review: unparsable"),
        ({"developer": [writes({"src/greet.py": BROKEN})]}, "failed gates: check"),
    ],
)
def test_an_overruling_names_what_it_goes_against(
    tmp_path: Path, agents: dict[str, object], against: str
) -> None:
    stage = asking(tmp_path, **agents)
    assert "--overrule" in offers(stage)
    stage.answer("run-1", "overrule", "It is what we want.")
    ended = stage.drive("run-1")
    assert (ended.status, ended.message) == ("approved", f"approved by {ANN}: It is what we want.")
    assert stage.newest("run.answered").data["against"] == against


def test_a_word_that_gives_back_starts_the_developer_with_it(tmp_path: Path) -> None:
    def developer(assignment: Assignment) -> Answer:
        told = "Say hello, whole." in assignment.prompt
        return writes({"src/greet.py": GREET if told else BROKEN})(assignment)

    stage = asking(tmp_path, developer=[developer])
    stage.answer("run-1", "return", "Say hello, whole.")
    assert stage.drive("run-1").status == "approved"
    assert "Say hello, whole." in stage.developer.seen[-1].prompt


def test_a_split_hands_the_task_to_decomposition(tmp_path: Path) -> None:
    stage = asking(tmp_path, reviewer=[NO])
    stage.answer("run-1", "split", "One for the greeting, one for the name.")
    outcome = stage.loop().step("run-1")
    assert outcome.status == "handed_on"
    assert "task-decomposition" in outcome.spawned[0]


def test_giving_up_needs_a_reason_and_ends_the_run(tmp_path: Path) -> None:
    stage = asking(tmp_path, reviewer=[NO])
    with pytest.raises(UsageError, match="--stop needs a reason"):
        stage.answer("run-1", "stop")
    assert stage.answer("run-1", "stop", reason="Not now.").status == "stopped"
    assert stage.newest("run.ended").principal.id == ANN


def test_an_amended_plan_is_what_the_next_attempt_sees(tmp_path: Path) -> None:
    told: list[str] = []

    def developer(assignment: Assignment) -> Answer:
        told.append(assignment.prompt)
        return writes({"src/greet.py": GREET})(assignment)

    def reviewer(assignment: Assignment) -> Answer:
        return (reviews() if "People are shy." in told[-1] else NO)(assignment)

    stage = asking(tmp_path, developer=[developer], reviewer=[reviewer])
    stage.answer("run-1", "amend", "## Situation\n\nPeople are shy.\n", "We know more now.")
    assert stage.drive("run-1").status == "approved"
    assert "People are shy." in stage.developer.seen[-1].prompt
    assert stage.newest("plan.amended").principal.id == ANN


def test_an_amendment_never_changes_a_task_that_was_fixed(tmp_path: Path) -> None:
    stage = asking(tmp_path, reviewer=[NO])
    with pytest.raises(UsageError, match="task 1 of plan hello was fixed"):
        stage.answer("run-1", "amend", "## Execution\n\n1. Something else\n", "Better.")
    assert stage.loop().step("run-1").kind is StepKind.ASKING


def test_an_action_that_does_not_fit_is_refused_with_those_that_do(tmp_path: Path) -> None:
    stage = asking(tmp_path, developer=[writes({"src/greet.py": BROKEN})])
    with pytest.raises(UsageError, match=r"--accept does not fit .*: give --return, --overrule"):
        stage.answer("run-1", "accept", reason="Fine.")
    with pytest.raises(UsageError, match="--text does not fit"):
        stage.answer("run-1", "text", "approved: I looked at it myself")


def test_what_the_developer_asked_is_answered_in_words(tmp_path: Path) -> None:
    def developer(assignment: Assignment) -> Answer:
        if "Hello." in assignment.prompt:
            return writes({"src/greet.py": GREET})(assignment)
        return Answer(escalation="Which greeting?")

    stage = asking(tmp_path, developer=[developer])
    assert "--text" in offers(stage)
    stage.answer("run-1", "text", "Hello.")
    assert stage.drive("run-1").status == "approved"
    assert "Hello." in stage.developer.seen[-1].prompt


def test_with_a_role_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = asking(tmp_path, reviewer=[NO])
    before = len(stage.log())
    monkeypatch.setenv("HORNBOOK_ROLE", "developer")
    with pytest.raises(NotAPerson, match="a role is no person"):
        stage.answer("run-1", "overrule", "I am the developer.")
    assert len(stage.log()) == before


def test_a_word_of_nobody_in_a_log_is_a_breach(tmp_path: Path) -> None:
    stage = asking(tmp_path, reviewer=[UNSURE])
    stage.answer("run-1", "accept", reason="Fine.")
    stage.drive("run-1")
    events = stage.log()
    assert breaches(events) == []
    word = stage.newest("run.answered")
    agent = Principal("agent:dev", PrincipalKind.AGENT, Via.ENGINE)
    forged = [replace(e, principal=agent) if e == word else e for e in events]
    told = breaches(forged)
    assert "agent:dev is no person" in told[0]
    assert "no accepted review" in told[1]


def test_an_agent_that_raises_is_asked_about(tmp_path: Path) -> None:
    def raises(_: Assignment) -> Answer:
        raise RuntimeError("the model is on fire")

    stage = asking(tmp_path, developer=[raises])
    asked = stage.newest("user.signal.error")
    assert "RuntimeError: the model is on fire" in asked.data["payload"]["error"]
    assert offers(stage) == ["--return", "--split", "--amend", "--stop"]


def test_a_run_that_was_given_up_asks_and_goes_on_with_a_word(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path))
    stage.loop().start("hello", "1", agent=None, run_id="run-1")
    stage.loop().step("run-1")
    outcome = stage.loop().gave_up("run-1", "its workers died time and again", "failed")
    assert outcome.kind is StepKind.ASKING
    assert "given up: its workers died" in outcome.message
    assert stage.loop().step("run-1").kind is StepKind.ASKING
    stage.answer("run-1", "return", "Try again.")
    assert stage.drive("run-1").status == "approved"


def test_twenty_deaths_without_an_event_are_asked_about(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def dies(assignment: Assignment) -> Answer:
        if assignment.feedback:
            return writes({"src/greet.py": GREET})(assignment)
        raise Killed

    stage = Stage(repository(tmp_path), [dies])
    stage.loop().start("hello", "1", agent=None, run_id="run-1")
    stage.loop().step("run-1")
    for _ in range(1 + MOST_DEATHS):  # the first has an event: rules were looked for
        with pytest.raises(Killed):
            stage.loop().step("run-1")
    outcome = stage.loop().step("run-1")
    assert outcome.kind is StepKind.ASKING
    assert f"was begun {MOST_DEATHS} times" in outcome.message
    stage.answer("run-1", "return", "There is more memory now.")
    assert stage.drive("run-1").status == "approved"


def test_a_planned_file_that_is_missing_fails_before_any_reviewer(tmp_path: Path) -> None:
    stage = asking(tmp_path, developer=[writes({"src/other.py": GREET})])
    assert stage.reviewer.seen == []
    floor = {gate["name"]: gate for gate in stage.newest("gates.ran").data["gates"]}
    assert (
        floor["floor:planned"]["message"] == "src/greet.py was to be made and is not there: make it"
    )


TOUCHES = PLAN.replace("src/greet.py (new)", "src/greet.py (new), src/app.py")


@pytest.mark.parametrize(
    ("said", "status"), [("done", "asking"), ("untouched: src/app.py: it calls nobody", "approved")]
)
def test_a_planned_file_is_touched_or_it_is_said_why_not(
    tmp_path: Path, said: str, status: str
) -> None:
    developer = writes({"src/greet.py": GREET}, text=said)
    stage = Stage(repository(tmp_path, TOUCHES), [developer])
    assert stage.go().status == status


def test_a_rejected_tree_is_not_offered_again(tmp_path: Path) -> None:
    def stubborn(assignment: Assignment) -> Answer:
        (Path(assignment.folder) / "src" / "greet.py").write_text(GREET)
        return Answer(text="done")

    stage = asking(tmp_path, developer=[stubborn], reviewer=[NO])
    assert len(stage.reviewer.seen) == 1, "the other attempts changed nothing"
    assert len(stage.developer.seen) == 3
    assert "unchanged: do what the review says" in stage.developer.seen[-1].prompt
    assert "Name the person." in stage.developer.seen[-1].prompt


def test_a_plan_whose_branch_cannot_be_does_not_start(tmp_path: Path) -> None:
    root = repository(tmp_path)
    git(root, "branch", "hornbook")
    found = branch_obstacles(root, "hornbook/hello")
    assert "git branch -m hornbook" in found[0]
    git(root, "branch", "-m", "hornbook", "ours")
    assert branch_obstacles(root, "hornbook/hello") == []
    git(root, "branch", "hornbook/hello")
    git(root, "checkout", "-q", "hornbook/hello")
    assert "is checked out" in branch_obstacles(root, "hornbook/hello")[0]
