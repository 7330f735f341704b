"""How reviewers have done: only what records and git tell."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.commits.history import reverted
from hornbook.context.receipt import receipt
from hornbook.review.calibration import Calibration, threshold
from hornbook.review.judgement import Review, SopEntry, Status, Verdict
from hornbook.review.printed_review import PrintedReview
from hornbook.review.review_record import JudgedReview
from hornbook.review.reviewers import Canaries, GivenReview, ReviewerRecord, missed_by_all
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
        found = work.reviewer_records(AT - timedelta(days=1)).reviewers
    return {each.reviewer: each for each in found}


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
            "alice",
            str(facts["model"]),
            1,
            Canaries(0, 0),
            0.0,
            None,
            0,
            None,
            (),
            threshold(()),
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
    assert said.keys() == {"reviewers", "missed"}
    assert said["missed"]["missed"] is None
    assert "no two reviewers" in said["missed"]["reason"]
    assert said["reviewers"][0] == {
        "reviewer": "alice",
        "model": said["reviewers"][0]["model"],
        "reviews": 1,
        "canaries": {"given": 0, "found": 0},
        "not_applicable_rate": 0.0,
        "agreement": None,
        "overruled": 0,
        "reverted": 0,
        "calibration": [],
        "threshold": {
            "confidence": 0.7,
            "known": 0,
            "reason": "0.7, because the truth of 0 reviews is known and 10 are needed",
        },
    }
    assert "alice" in expect(root, "reviews", "reviewers", "--days", "36500").stdout


@pytest.mark.parametrize(
    ("known", "confidence"),
    [
        ([], 0.7),
        ([(0.9, 9, 9)], 0.7),  # one is missing
        ([(0.9, 10, 10)], 0.85),
        ([(0.5, 5, 5), (0.9, 10, 10)], 0.45),
        ([(0.5, 3, 8), (0.9, 20, 20)], 0.85),  # all together would be right often enough
        ([(0.3, 1, 1), (0.6, 1, 9), (0.9, 9, 10)], 0.85),  # a lucky guess lowers nothing
        ([(0.8, 2, 10), (1.0, 1, 10)], 1.01),
        ([(0.0, 10, 10)], 0.0),
    ],
)
def test_a_threshold_is_where_a_reviewer_is_right_often_enough(
    known: list[tuple[float, int, int]], confidence: float
) -> None:
    assert threshold([Calibration(*each) for each in known]).confidence == confidence


def _given(reviewer: str, change: int, *rules: str) -> GivenReview:
    entries = tuple(SopEntry(rule, Status.VIOLATED, "a.py:1") for rule in rules)
    review = Review(Verdict.REJECTED, None, entries, 0.9, "No.")
    return GivenReview(reviewer, None, ("base", str(change)), "rejected", (review,))


def test_what_two_reviewers_both_miss_is_estimated_from_what_they_share() -> None:
    # 12 and 15 findings, 10 of them the same: 13 * 16 / 11 - 1 are there, 17 are found.
    one = [_given("alice", n, "rule") for n in range(12)]
    two = [_given("bob", n, "rule") for n in range(2, 17)]
    both = [_given("alice", n) for n in range(12, 17)] + [_given("bob", n) for n in range(2)]
    alone = [_given("alice", 99, "a", "b", "c"), _given("carol", 3, "rule")]
    found = missed_by_all([*one, *two, *both, *alone])
    assert (found.found, found.shared, found.reviewers) == (17, 10, ("alice", "bob"))
    assert found.missed == round(13 * 16 / 11 - 1 - 17, 1)
    assert "Chapman" in found.method


def test_nothing_is_estimated_from_nine_shared_findings() -> None:
    both = [_given(who, n, "rule") for n in range(9) for who in ("alice", "bob")]
    found = missed_by_all(both)
    assert (found.missed, found.shared) == (None, 9)
    assert found.reason == "they share 9 findings, and 10 are needed"


def test_auto_goes_by_the_records_of_the_base_alone(root: Path) -> None:
    place, facts = _canary(root)
    sure = json.loads(_finding(place)) | {"confidence": 0.9}
    for _ in range(10):
        _record(root, facts, alice=json.dumps(sure).encode())
    git(root, "checkout", "-q", "main")
    (root / ".hornbook/config.yaml").write_text("review:\n  confidence_percent: auto\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "auto")
    git(root, "checkout", "-q", "work")
    git(root, "rebase", "-q", "main")
    fresh = prepared(root)[0]
    doubtful = json.dumps({**cases.GOOD, "confidence": 0.8}).encode()

    def said(name: str, data: bytes) -> tuple[set[str], str]:
        with Workspace.open(root) as work:
            found = work.check_review([PrintedReview(f"{name}.json", data)], [fresh])
        return {each.code for each in found.problems}, " ".join(found.notes)

    codes, notes = said("alice", doubtful)
    assert codes == {"low_confidence"}
    assert "alice.json is believed is 0.85, from 10 reviews" in notes
    codes, notes = said("bob", doubtful)
    assert (codes, "0.7, because the truth of 0 reviews is known" in notes) == (set(), True)
    # What is recorded since, in the work tree or on the branch, lowers and raises nothing.
    for each in (root / ".hornbook/records/reviews").glob("*.json"):
        each.unlink()
    assert said("alice", doubtful)[0] == {"low_confidence"}
