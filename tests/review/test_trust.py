"""The referee cannot be talked round, and does not trip honest reviewers."""

from pathlib import Path

import pytest

from hornbook.review.check import briefs, recompute_case
from hornbook.review.judge import Case, judge
from hornbook.review.printed_review import PrintedReview
from tests.kit import trust_cases as trust
from tests.kit.git import commit, git, start
from tests.kit.reviews import AT, Receipt, codes, prepared


def changed(folder: Path, files: dict[str, str | None]) -> Path:
    start(folder, trust.BASE)
    for path, text in files.items():
        if text is None:
            (folder / path).unlink()
    commit(folder, {path: text for path, text in files.items() if text is not None})
    assert git(folder, "status", "--porcelain") == ""
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return changed(tmp_path_factory.mktemp("repo"), trust.CHANGED)


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> tuple[Receipt, Case]:
    folder = changed(tmp_path_factory.mktemp("bad"), trust.BAD_CHANGE)
    (facts,) = prepared(folder)
    return facts, recompute_case(folder, [facts], today=AT.date())


@pytest.fixture(scope="module")
def facts(root: Path) -> Receipt:
    return prepared(root)[0]


@pytest.fixture(scope="module")
def case(root: Path, facts: Receipt) -> Case:
    return recompute_case(root, [facts], today=AT.date())


@pytest.mark.parametrize("tried", trust.CASES, ids=lambda each: f"{each.kind}: {each.name}")
def test_a_review_gets_what_it_deserves(facts: Receipt, case: Case, tried: trust.Case) -> None:
    printed = [PrintedReview("it", tried.printed)]
    found = judge(case, list(briefs(printed, [facts], case.rules)))
    assert str(found.outcome) in tried.outcomes, (codes(found), found.problems)


@pytest.mark.parametrize("tried", trust.OVER_BAD, ids=lambda each: each.name)
def test_a_change_that_evaluates_its_input_is_not_approved(
    bad: tuple[Receipt, Case], tried: trust.Case
) -> None:
    facts, case = bad
    found = judge(case, list(briefs([PrintedReview("it", tried.printed)], [facts], case.rules)))
    assert str(found.outcome) in tried.outcomes, (codes(found), found.problems)
