"""Reviewers who are tried before they are believed, and the second opinion that refutes."""

import json
import re
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.agents.assignment import Answer, Assignment
from hornbook.context.templates.roles import shipped_instructions
from hornbook.errors import ConfigError
from hornbook.loop.protocol import StepKind
from hornbook.loop.runs.run_book import breaches
from hornbook.loop.steps.canary import is_due
from hornbook.plans.events import read_lines, verify
from tests.kit.fakes import Move, git, reviews, says, writes
from tests.kit.loops import CONFIG, RULE, Stage, repository

_EVER = datetime(2000, 1, 1, tzinfo=UTC)
CODE = 'def greet(name):\n    said = f"hello {name}"\n    return said\n'
FORBIDS = RULE + "\nCode MUST NOT call `eval`.\n"
WELL = writes({"src/greet.py": CODE})
REJECTS = reviews("rejected", "fixable", violated=True, feedback="Nobody is named.")


def _repository(root: Path, setting: str, rule: str = FORBIDS) -> Path:
    config = f"{CONFIG}review: {{{setting}}}\n"
    rules = {".hornbook__sources__docs__sops__greetings.md": rule}
    return repository(root, config=config, **rules)


def careful(assignment: Assignment) -> Answer:
    """A reviewer who sees what is planted, and else approves."""
    found = re.search(r"^\+(\s+eval\(.*\))$", assignment.prompt, re.MULTILINE)
    if found is None:
        return reviews()(assignment)
    planted = found[1]
    lines = (Path(assignment.folder) / "src/greet.py").read_text().splitlines()
    place = f"src/greet.py:{lines.index(planted) + 1} `{planted.strip()}`"
    answer = json.loads(reviews("rejected", "fixable", feedback="It evaluates.")(assignment).text)
    entry = {"status": "violated", "evidence": place, "violations": ["it calls eval"]}
    answer["sop_review"] = [{**answer["sop_review"][0], **entry}]
    return Answer(text=json.dumps(answer))


def _stage(root: Path, setting: str, reviewer: Move, more: Sequence[Move] = ()) -> Stage:
    others = [[each] for each in more]
    return Stage(_repository(root, setting), [WELL], [reviewer], more_reviewers=others)


def _honest(stage: Stage) -> None:
    path = stage.root / ".hornbook/plans/hello/events.jsonl"
    events, fault = read_lines(path.read_text("utf-8"))
    assert fault is None
    assert verify(events) is None
    assert breaches(events) == []
    with Workspace.open(stage.root) as work:
        assert work.bad_records() == []


def test_a_reviewer_who_finds_what_was_planted_reviews_the_change(tmp_path: Path) -> None:
    stage = _stage(tmp_path, "canary: 1", careful)
    assert stage.go().status == "approved"
    assert stage.kinds()[5:9] == [
        "context.assembled",
        "review.planted",
        "agent.task.canary",
        "agent.task.review",
    ]
    tried = stage.newest("agent.task.canary").data
    assert (tried["agent"], tried["found"]) == ("rev", True)
    trial, real = (each.prompt for each in stage.reviewer.seen)
    assert "eval(" in trial.replace("`eval`", "")
    assert "+    eval(" not in real
    # The packets are alike: the lines that differ are those of the plant and of hashes.
    words = [line.split(" ", 1)[0] for line in set(trial.splitlines()) - set(real.splitlines())]
    assert set(words) <= {"[begin", "[end", "@@", "+", "##", "-", "index"}
    assert [each.key.rpartition("/")[2] for each in stage.reviewer.seen] == [
        "review-rev-0",
        "review-0-1",
    ]
    assert git(tmp_path, "show", f"{stage.newest('task.approved').data['commit']}:src/greet.py")
    _honest(stage)


def test_what_was_planted_stays_with_its_owner(tmp_path: Path) -> None:
    stage = _stage(tmp_path, "canary: 1", careful)
    stage.go()
    folder = tmp_path / ".hornbook/canaries"
    kept = sorted(each.suffix for each in folder.iterdir() if each.name != ".gitignore")
    assert kept == [".json", ".md"]
    for each in folder.iterdir():
        assert each.name == ".gitignore" or stat.S_IMODE(each.stat().st_mode) == 0o600
    assert git(tmp_path, "status", "--porcelain", "--", ".hornbook/canaries") == ""
    said = json.dumps([event.data for event in stage.log() if "canary" in event.kind])
    assert "eval" not in said
    inputs = list((tmp_path / ".hornbook/plans").rglob("inputs/*.md"))
    assert inputs
    assert not any("+    eval(" in each.read_text() for each in inputs)


def test_who_misses_it_is_not_believed_and_the_next_is_asked(tmp_path: Path) -> None:
    stage = _stage(tmp_path, "canary: 1", reviews(), [careful])
    assert stage.go().status == "approved"
    tried = [e.data for e in stage.log() if e.kind == "agent.task.canary"]
    assert [(each["agent"], each["found"]) for each in tried] == [("rev", False), ("rev2", True)]
    assert stage.newest("agent.task.review").data["agent"] == "rev2"
    assert len(stage.reviewer.seen) == 1
    checked = stage.newest("review.checked").data
    assert checked["explanation"][-1] == "rev missed what was planted, and is not believed here"
    with Workspace.open(tmp_path) as work:
        found = {each.reviewer: each.canaries for each in work.reviewer_records(_EVER).reviewers}
    assert {name: (each.given, each.found) for name, each in found.items()} == {
        "rev": (1, 0),
        "rev2": (1, 1),
    }
    _honest(stage)


def test_where_nobody_is_left_a_person_is_asked(tmp_path: Path) -> None:
    stage = _stage(tmp_path, "canary: 1", reviews(), [reviews()])
    outcome = stage.go()
    assert outcome.kind is StepKind.ASKING
    assert "rev2: A violation of this rule was planted" in outcome.message
    checked = stage.newest("review.checked").data
    assert checked["outcome"] == "escalate"
    assert [each["code"] for each in checked["problems"]] == ["missed_canary"] * 2
    assert "agent.task.review" not in stage.kinds()
    assert (checked["findings"], checked["feedback"]) == ([], "")
    _honest(stage)


def test_an_answer_that_cannot_be_read_is_asked_for_again(tmp_path: Path) -> None:
    def second_time(assignment: Assignment) -> Answer:
        return (careful if assignment.feedback else says("fine"))(assignment)

    def trial_only(assignment: Assignment) -> Answer:
        planted = "+    eval(" in assignment.prompt
        return (second_time if planted else reviews())(assignment)

    stage = _stage(tmp_path, "canary: 1", trial_only)
    assert stage.go().status == "approved"
    assert stage.kinds().count("review.reasked") == 1
    assert len(stage.reviewer.seen) == 3


def test_a_rule_that_shows_nothing_plants_nothing(tmp_path: Path) -> None:
    root = _repository(tmp_path, "canary: 1", RULE)
    stage = Stage(root, [WELL], [reviews()])
    assert stage.go().status == "approved"
    planted = stage.newest("review.planted").data
    assert (planted["canary"], planted["eligible"], planted["units"]) == (None, 0, 1)
    assert "agent.task.canary" not in stage.kinds()


def test_one_change_in_so_many_is_chosen_by_its_hashes() -> None:
    trees = [f"{number:040x}" for number in range(2000)]
    due = [tree for tree in trees if is_due("b" * 40, tree, 5)]
    assert due == [tree for tree in trees if is_due("b" * 40, tree, 5)]
    assert 320 < len(due) < 480
    assert all(is_due("b" * 40, tree, 1) for tree in trees)
    assert not any(is_due("b" * 40, tree, 0) for tree in trees)


def test_a_second_opinion_is_told_to_refute_and_both_approve(tmp_path: Path) -> None:
    agrees = reviews(feedback="I tried and found nothing.")
    stage = _stage(tmp_path, "reviewers: 2", reviews(), [agrees])
    assert stage.go().status == "approved"
    first, second = stage.reviewer.seen[0], stage.more[0].seen[0]
    assert "Try to refute that approval" in second.prompt
    assert "refute" not in first.prompt
    assert second.prompt.replace(shipped_instructions("refuter"), "") == first.prompt
    assert first.schema == second.schema
    checked = stage.newest("review.checked").data
    record = json.loads((tmp_path / ".hornbook/records/reviews/run-1.1.json").read_text())
    assert [each["name"] for each in record["reviews"]] == ["rev-1", "rev2-refuting-1"]
    assert (checked["outcome"], len(record["receipts"])) == ("approved", 2)
    _honest(stage)


def test_the_only_reviewer_refutes_itself(tmp_path: Path) -> None:
    def twice(assignment: Assignment) -> Answer:
        refutes = "Try to refute" in assignment.prompt
        return reviews(feedback="Nothing found." if refutes else "Good.")(assignment)

    stage = _stage(tmp_path, "reviewers: 2", twice)
    assert stage.go().status == "approved"
    assert len(stage.reviewer.seen) == 2


def test_a_disagreement_goes_to_a_person_with_both_sides(tmp_path: Path) -> None:
    stage = _stage(tmp_path, "reviewers: 2", reviews(feedback="All is well."), [REJECTS])
    outcome = stage.go()
    assert outcome.kind is StepKind.ASKING
    assert "rev-1 approves: All is well." in outcome.message
    assert "rev2-refuting-1 rejects (violated: " in outcome.message
    assert "Nobody is named." in outcome.message
    checked = stage.newest("review.checked").data
    assert checked["outcome"] == "escalate"
    assert [each["code"] for each in checked["problems"]] == ["reviewers_disagree"]
    assert len(stage.developer.seen) == 1


def test_a_first_rejection_blocks_without_a_second_opinion(tmp_path: Path) -> None:
    stage = _stage(tmp_path, "reviewers: 2", REJECTS, [reviews()])
    assert stage.go().kind is StepKind.ASKING
    assert stage.more[0].seen == []
    assert len(stage.developer.seen) == 3


def test_a_refuter_is_tried_as_well(tmp_path: Path) -> None:
    stage = _stage(tmp_path, "reviewers: 2, canary: 1", careful, [reviews()])
    outcome = stage.go()
    assert outcome.kind is StepKind.ASKING
    checked = stage.newest("review.checked").data
    assert [each["code"] for each in checked["problems"]] == ["no_second_opinion", "missed_canary"]
    assert "Try to refute" in stage.more[0].seen[0].prompt


@pytest.mark.parametrize("setting", ["reviewers: 3", "reviewers: 0", "confidence_percent: often"])
def test_a_number_of_opinions_that_means_nothing_is_refused(tmp_path: Path, setting: str) -> None:
    folder = tmp_path / ".hornbook"
    folder.mkdir()
    (folder / "config.yaml").write_text(f"review: {{{setting}}}\n")
    with pytest.raises(ConfigError, match=setting.partition(":")[0]):
        Workspace.open(tmp_path)


def test_a_killed_trial_is_not_repeated_once_it_is_noted(tmp_path: Path) -> None:
    stage = _stage(tmp_path, "canary: 1", careful)
    stage.loop().start("hello", "1", agent=None, run_id="run-1")
    while "agent.task.canary" not in stage.kinds():
        stage.loop().step("run-1")
    assert stage.drive("run-1").status == "approved"
    assert stage.kinds().count("agent.task.canary") == 1
    assert len(stage.reviewer.seen) == 2
