"""A second opinion: what two reviews come to where the base asks for both."""

import json
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.context.receipt import receipt
from hornbook.context.templates.roles import shipped_instructions
from hornbook.review.judgement import Judgement
from hornbook.review.printed_review import PrintedReview
from tests.kit import review_cases as cases
from tests.kit.git import commit, start
from tests.kit.reviews import GOOD, REJECTION, Receipt, codes

REFUTER = json.dumps({**cases.GOOD, "feedback": "I tried hard and found nothing."}).encode()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repo")
    config = {".hornbook/config.yaml": "review:\n  reviewers: 2\n"}
    start(folder, {**cases.RULES, **config, "README.md": "# It\n"})
    commit(folder, cases.CHANGED)
    return folder


def _packet(root: Path, *, refute: bool) -> Receipt:
    with Workspace.open(root) as work:
        made = work.review_packet(diff="main..work", refute=refute)
    return receipt(made.context, made.made_for)


@pytest.fixture(scope="module")
def first(root: Path) -> Receipt:
    return _packet(root, refute=False)


@pytest.fixture(scope="module")
def second(root: Path) -> Receipt:
    return _packet(root, refute=True)


def _check(root: Path, receipts: list[Receipt], *reviews: bytes) -> Judgement:
    names = ("alice", "bob", "carol")
    printed = [
        PrintedReview(f"{name}.json", data) for name, data in zip(names, reviews, strict=False)
    ]
    with Workspace.open(root) as work:
        return work.check_review(printed, receipts)


def test_both_approve(root: Path, first: Receipt, second: Receipt) -> None:
    found = _check(root, [first, second], GOOD, REFUTER)
    assert (str(found.outcome), codes(found)) == ("approved", set())
    assert {each.code for each in found.warnings} <= {"shared_evidence"}  # no `told_besides`


def test_one_review_is_no_approval(root: Path, first: Receipt, second: Receipt) -> None:
    for receipts, reviews in (
        ([first], [GOOD]),
        ([first, second], [GOOD]),
        ([first, second], [GOOD, GOOD]),  # the same words twice are one opinion
        ([first], [GOOD, REFUTER]),  # nobody was told to refute
    ):
        found = _check(root, receipts, *reviews)
        assert (str(found.outcome), codes(found)) == ("escalate", {"no_second_opinion"})


def test_a_rejection_needs_no_second_opinion(root: Path, first: Receipt) -> None:
    assert str(_check(root, [first], REJECTION).outcome) == "rejected"


def test_both_reject(root: Path, first: Receipt, second: Receipt) -> None:
    other = json.dumps({**json.loads(REJECTION), "feedback": "No, and no again."}).encode()
    assert str(_check(root, [first, second], REJECTION, other).outcome) == "rejected"


@pytest.mark.parametrize("reviews", [(GOOD, REJECTION), (REJECTION, GOOD)])
def test_who_disagrees_is_heard(
    root: Path, first: Receipt, second: Receipt, reviews: tuple[bytes, bytes]
) -> None:
    found = _check(root, [first, second], *reviews)
    assert (str(found.outcome), codes(found)) == ("escalate", {"reviewers_disagree"})
    (problem,) = found.problems
    for review in map(json.loads, reviews):
        assert review["feedback"] in problem.message
    assert "alice.json approves" in problem.message or "alice.json rejects" in problem.message


def test_the_refuters_packet_differs_in_its_instructions_alone(root: Path) -> None:
    with Workspace.open(root) as work:
        plain, refuting = (
            work.review_packet(diff="main..work", refute=refute).context for refute in (False, True)
        )
    assert plain.text is not None
    assert refuting.text is not None
    before, _, after = refuting.text.partition(shipped_instructions("refuter"))
    assert before + after == plain.text
    assert plain.answer_ids == refuting.answer_ids
