"""How reviewers have done: only what records and git tell."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.commits.reverts import reverted
from hornbook.context.receipt import receipt
from hornbook.review.printed_review import PrintedReview
from hornbook.review.review_record import JudgedReview
from hornbook.review.reviewers import Calibration, Canaries, ReviewerRecord
from tests.kit import review_cases as cases
from tests.kit.commands import expect
from tests.kit.git import commit, git, start
from tests.kit.reviews import AT, GOOD, REJECTION, Receipt, prepared

BLIND = json.dumps({**cases.GOOD, "confidence": 0.94}).encode()


def _record(root: Path, facts: Receipt, **reviews: bytes) -> None:
    printed = [PrintedReview(f"answers/{name}.json", data) for name, data in reviews.items()]
    with Workspace.open(root) as work:
        judgement = work.check_review(printed, [facts])
        work.record_receipt(facts)
        work.record_review(JudgedReview(judgement, printed, [facts]), at=AT)


def _reviewers(root: Path) -> dict[str, ReviewerRecord]:
    with Workspace.open(root) as work:
        return {each.reviewer: each for each in work.reviewer_records(AT - timedelta(days=1))}


def _canary(root: Path) -> tuple[str, Receipt]:
    with Workspace.open(root) as work:
        made = work.review_canary("main..work")
    assert made.canary is not None
    assert made.packet is not None
    place = f"{made.canary.path}:{made.canary.line} `{made.canary.text.strip()}`"
    return place, receipt(made.packet.context, made.packet.made_for)


def _finding(place: str) -> bytes:
    review = {
        **cases.GOOD,
        "verdict": "rejected",
        "rejection_type": "fixable",
        "sop_review": [
            {"sop_id": cases.PRINTS, "status": "violated", "evidence": place, "violations": ["It"]}
        ],
    }
    return json.dumps(review).encode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    start(tmp_path, {**cases.RULES, "README.md": "# It\n"})
    commit(tmp_path, cases.CHANGED)
    return tmp_path


def test_what_is_not_known_is_none(root: Path) -> None:
    assert _reviewers(root) == {}
    facts = prepared(root)[0]
    _record(root, facts, alice=REJECTION)
    assert _reviewers(root) == {
        "alice": ReviewerRecord(
            "alice", str(facts["model"]), 1, Canaries(0, 0), 0.0, None, None, None, ()
        )
    }


def test_verdicts_on_the_same_change_are_compared(root: Path) -> None:
    facts = prepared(root)[0]
    _record(root, facts, alice=GOOD)
    _record(root, facts, bob=REJECTION)
    _record(root, facts, carol=GOOD)
    agreement = {name: each.agreement for name, each in _reviewers(root).items()}
    assert agreement == {"alice": 0.5, "bob": 0.0, "carol": 0.5}


def test_canaries_tell_who_looks_and_count_for_no_rule(root: Path) -> None:
    place, facts = _canary(root)
    _record(root, facts, alice=_finding(place), bob=BLIND)
    _record(root, facts, bob=BLIND)
    found = _reviewers(root)
    assert (found["alice"].canaries, found["alice"].reviews) == (Canaries(1, 1), 0)
    assert found["bob"].canaries == Canaries(2, 0)
    assert found["alice"].calibration == (Calibration(0.8, 1, 1),)
    assert found["bob"].calibration == (Calibration(0.9, 0, 2),)
    with Workspace.open(root) as work:
        work.ingest()
        assert {each.violated for each in work.rule_records(AT - timedelta(days=1))} == {0}


def test_an_approved_change_that_was_reverted_counts_against_its_reviewer(root: Path) -> None:
    _record(root, prepared(root)[0], alice=GOOD)
    assert _reviewers(root)["alice"].reverted == 0
    git(root, "revert", "--no-edit", "HEAD")
    found = _reviewers(root)["alice"]
    assert found.reverted == 1
    assert found.calibration == (Calibration(0.8, 0, 1),)


def test_the_revert_of_a_merge_is_one_of_what_it_brought(root: Path) -> None:
    head = git(root, "rev-parse", "work")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "--no-edit", "work")
    assert reverted(root, {head}) == frozenset()
    git(root, "revert", "--no-edit", "-m", "1", "HEAD")
    assert reverted(root, {head}) == {head}
    assert reverted(root, {git(root, "rev-parse", "main~2")}) == frozenset()


def test_a_record_that_was_edited_does_not_count(root: Path) -> None:
    _record(root, prepared(root)[0], alice=GOOD)
    (path,) = (root / ".hornbook/records/reviews").glob("*.json")
    path.write_text(path.read_text().replace("alice", "carol"))
    assert _reviewers(root) == {}


def test_the_command_prints_the_keys_of_the_contract(root: Path) -> None:
    _record(root, prepared(root)[0], alice=GOOD)
    said = json.loads(expect(root, "reviews", "reviewers", "--days", "36500", "--json").stdout)
    assert said.keys() == {"reviewers"}
    assert said["reviewers"][0] == {
        "reviewer": "alice",
        "model": said["reviewers"][0]["model"],
        "reviews": 1,
        "canaries": {"given": 0, "found": 0},
        "not_applicable_rate": 0.0,
        "agreement": None,
        "overruled": None,
        "reverted": 0,
        "calibration": [],
    }
    assert "alice" in expect(root, "reviews", "reviewers", "--days", "36500").stdout
