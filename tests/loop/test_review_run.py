"""A change reviewed by one command: who is asked for what, and what follows from the answers."""

import json
import os
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.agents.assignment import Answer, Assignment, Record, Usage
from hornbook.agents.crew import ChosenAgent
from hornbook.errors import UsageError
from hornbook.gates.gate import GateReport, GateResult, GateStatus
from hornbook.loop.configured_agents import Reviewer, _WithModel
from hornbook.loop.review_run import MOST_TRIES, RunReview, is_taken_away, review_change
from hornbook.settings.models import Endpoint
from tests.kit import review_cases as cases
from tests.kit.commands import answer as printed_json
from tests.kit.commands import run
from tests.kit.git import commit, git, start
from tests.kit.reviews import AT

GOOD = json.dumps(cases.GOOD)
BAD = json.dumps({**cases.GOOD, "sop_review": []})
PRICED = Endpoint("openai-compatible", "m-1", 50_000, url="u", input_cents=100, output_cents=500)


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """The change of `review_cases`, with agents' own files beside it."""
    start(tmp_path, {**cases.RULES, "web/CLAUDE.md": "# Ours\n", ".claude/settings.json": "{}"})
    commit(tmp_path, cases.CHANGED)
    return tmp_path


class Told:
    """A reviewer that gives its answers in order, and remembers what it was asked."""

    name = "told"

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[Assignment] = []
        self.saw: set[str] = set()

    def work(self, assignment: Assignment, record: Record) -> Answer:
        self.asked.append(assignment)
        for folder, _, files in os.walk(assignment.folder):
            self.saw |= {os.path.relpath(Path(folder) / each, assignment.folder) for each in files}
        return self.answers.pop(0)


def reviewer(told: Told, endpoint: Endpoint | None = None) -> Reviewer:
    known = {} if endpoint is None else {"priced": endpoint}
    chosen = ChosenAgent(told, "priced" if known else None, {name: name for name in known})
    return Reviewer("told", _WithModel(chosen, known), reask=1)


def reviewed(
    root: Path,
    *reviewers: Reviewer,
    gates: GateReport | None = None,
    waits: list[float] | None = None,
) -> RunReview:
    from dataclasses import replace

    noted: list[float] = [] if waits is None else waits
    with Workspace.open(root) as work:
        plan = replace(work.plan_review("main..work", agents=["scripted"]), reviewers=reviewers)
        return review_change(
            work.root, plan, gates, today=AT.date(), tell=lambda _: None, wait=noted.append
        )


def test_a_reviewer_gets_exactly_the_packet_and_no_file_that_steers_an_agent(changed: Path) -> None:
    told = Told(Answer(text=GOOD))
    ran = reviewed(changed, reviewer(told))
    assert ran.judged.judgement.outcome == "approved"
    (asked,) = told.asked
    with Workspace.open(changed) as work:
        packet = work.review_packet(diff="main..work")
    assert asked.prompt == packet.context.text
    assert sorted(json.loads(asked.schema)["properties"]) >= ["confidence", "feedback"]
    assert told.saw == set(cases.CHANGED)


@pytest.mark.parametrize(
    ("path", "away"),
    [
        ("AGENTS.md", True),
        ("web/CLAUDE.md", True),
        (".mcp.json", True),
        ("opencode.json", True),
        ("app/main.py", False),
        ("docs/guide.md", False),
    ],
)
def test_what_steers_agents_is_known_by_its_path(path: str, *, away: bool) -> None:
    assert is_taken_away(path) is away


def test_an_invalid_review_is_asked_for_once_more_with_what_was_wrong(changed: Path) -> None:
    told = Told(Answer(text=BAD), Answer(text=GOOD))
    ran = reviewed(changed, reviewer(told))
    assert ran.judged.judgement.outcome == "approved"
    assert "no entry for this rule" in told.asked[1].feedback
    assert told.asked[0].prompt == told.asked[1].prompt
    twice = Told(Answer(text=BAD), Answer(text=BAD))
    assert reviewed(changed, reviewer(twice)).judged.judgement.outcome == "invalid"
    assert not twice.answers


def test_one_rejection_among_several_reviewers_counts(changed: Path) -> None:
    rejecting = Told(Answer(text=cases.REJECTED[0].printed.decode()))
    ran = reviewed(changed, reviewer(Told(Answer(text=GOOD))), reviewer(rejecting))
    assert ran.judged.judgement.outcome == "rejected"
    assert [each.name for each in ran.judged.reviews] == ["told-1", "told-2"]


def test_a_reviewer_who_cannot_be_reached_approves_nothing(changed: Path) -> None:
    busy = Answer(error="429 too many requests", retry_after=7.0)
    waits: list[float] = []
    ran = reviewed(
        changed,
        reviewer(Told(*[busy] * MOST_TRIES)),
        reviewer(Told(Answer(text=GOOD))),
        waits=waits,
    )
    judgement = ran.judged.judgement
    assert judgement.outcome == "invalid"
    assert [each.code for each in judgement.problems] == ["reviewer_failed"]
    assert waits == [7.0] * (MOST_TRIES - 1)
    assert "429" in str(ran.bills[0].error)


def test_a_wait_that_ends_in_an_answer_is_no_failure(changed: Path) -> None:
    told = Told(Answer(error="overloaded", retry_after=1.0), Answer(text=GOOD))
    assert reviewed(changed, reviewer(told), waits=[]).judged.judgement.outcome == "approved"


def test_an_exception_of_a_reviewer_is_a_reviewer_that_failed(changed: Path) -> None:
    class Broken(Told):
        def work(self, assignment: Assignment, record: Record) -> Answer:
            raise UsageError("the environment variable KEY is not set")

    judgement = reviewed(changed, reviewer(Broken())).judged.judgement
    assert judgement.problems[0].code == "reviewer_failed"
    assert "KEY is not set" in judgement.problems[0].message


def test_gates_that_stop_a_change_spare_the_reviewer(changed: Path) -> None:
    told = Told()
    failed = GateResult("test", required=True, status=GateStatus.FAILED, message="2 failed")
    judgement = reviewed(
        changed, reviewer(told), gates=GateReport(passed=False, gates=(failed,))
    ).judged.judgement
    assert (judgement.outcome, judgement.route) == ("rejected", "developer")
    assert "gate test: 2 failed" in {each.message for each in judgement.findings}
    assert not told.asked


def test_tokens_become_money_by_the_prices_of_the_model(changed: Path) -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=200_000)
    told = reviewer(Told(Answer(text=GOOD, usage=usage)), PRICED)
    (bill,) = reviewed(changed, told).bills
    assert (bill.model, bill.calls, bill.cost, bill.currency) == ("m-1", 1, 2.0, "USD")
    said = Usage(input_tokens=1, output_tokens=1, cost=0.5)
    (own,) = reviewed(changed, reviewer(Told(Answer(text=GOOD, usage=said)), PRICED)).bills
    assert own.cost == 0.5


SETTINGS = """\
engine: {agent: "scripted,first"}
agents:
  first: {command: "true"}
  second: {command: "sh ./review.sh {prompt_file}", prompt: file}
"""


def test_the_base_says_who_reviews(changed: Path) -> None:
    git(changed, "checkout", "-q", "main")
    commit(changed, {".hornbook/config.yaml": SETTINGS, "review.sh": "echo one\n"})
    git(changed, "checkout", "-q", "work")
    git(changed, "rebase", "-q", "main")
    commit(changed, {".hornbook/config.yaml": SETTINGS.replace('"true"', '"false"')})
    with Workspace.open(changed) as work:
        (named,) = work.plan_review("main..work").reviewers
        assert named.name == "first"
        assert named.agent.chosen.agent.profile.program == "true"  # type: ignore[attr-defined]
        commit(changed, {"review.sh": "echo two\n"})
        with pytest.raises(UsageError, match=r"second runs review\.sh, which the change edits"):
            work.plan_review("main..work", agents=["second"])


def test_a_packet_that_cannot_be_whole_reaches_nobody(changed: Path) -> None:
    found = printed_json(
        changed, "review", "run", "--diff", "main..work", "--agent", "scripted",
        "--reserve", "1", "--json", code=1,
    )  # fmt: skip
    assert found["outcome"] == "invalid"
    assert {each["code"] for each in found["problems"]} == {"no_context"}
    assert [each["id"] for each in found["rules"]]
    assert found["reviewers"] == []


def test_a_dry_run_says_what_would_be_sent_and_how_large_it_is(changed: Path) -> None:
    asked = ("review", "run", "--diff", "main..work", "--agent", "scripted", "--dry-run")
    found = printed_json(changed, *asked, "--json")
    assert found["packets"][0]["tokens"] > 100
    assert found["packets"][0]["sop_ids"] == sorted((cases.ERRORS, cases.COVERAGE, cases.PRINTS))
    (who,) = found["reviewers"]
    assert (who["agent"], who["calls"]) == ("scripted", 1)
    assert "scripted would be asked: 1 packet" in run(changed, *asked).stdout


def test_what_was_sent_and_answered_is_kept_and_recorded(changed: Path, tmp_path: Path) -> None:
    done = run(
        changed, "review", "run", "--diff", "main..work", "--agent", "scripted", "--no-gates",
        "--output", str(tmp_path / "kept"), "--record", "--format", "junit",
    )  # fmt: skip
    assert done.stdout.startswith("<?xml"), done.stderr
    kept = {each.name for each in (tmp_path / "kept").iterdir()}
    expected = {
        "prompt.md",
        "receipt.json",
        "review.schema.json",
        "scripted.json",
        "judgement.json",
    }
    assert kept == expected
    (record,) = (changed / ".hornbook/records/reviews").glob("*.json")
    assert json.loads(record.read_text())["reviews"][0]["name"] == "scripted"
    assert "scripted: 1 call" in done.stderr


def test_a_second_opinion_is_asked_for_where_the_base_wants_one(tmp_path: Path) -> None:
    config = {".hornbook/config.yaml": "review: {reviewers: 2}\n"}
    start(tmp_path, {**cases.RULES, **config})
    commit(tmp_path, cases.CHANGED)
    first = Told(Answer(text=GOOD))
    second = Told(Answer(text=json.dumps({**cases.GOOD, "feedback": "I found nothing."})))
    ran = reviewed(tmp_path, reviewer(first), reviewer(second))
    assert ran.judged.judgement.outcome == "approved"
    assert "Try to refute that approval" not in first.asked[0].prompt
    assert "Try to refute that approval" in second.asked[0].prompt
    assert [each.name for each in ran.judged.reviews] == ["told", "told-refuting"]
    assert len(ran.judged.receipts) == 2
    with Workspace.open(tmp_path) as work:
        alone = work.plan_review("main..work", agents=["scripted"])
    assert [each.name for each in alone.reviewers] == ["scripted", "scripted"]
