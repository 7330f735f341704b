"""Records of reviews and conventions: files first, the graph from there, a person decides."""

import json
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import NotFound, UsageError
from hornbook.gates.gate import GateReport, GateResult, GateStatus
from hornbook.review.printed_review import PrintedReview
from hornbook.review.review_record import JudgedReview
from hornbook.vocabulary.terms import Standing
from tests.kit import review_cases as cases
from tests.kit.git import commit, git, start
from tests.kit.reviews import AT, LATER, PATTERN, REJECTION, WITH_PATTERN, prepared, recorded
from tests.kit.workspaces import write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    start(tmp_path, {**cases.RULES, "README.md": "# It\n"})
    commit(tmp_path, cases.CHANGED)
    return tmp_path


def test_a_review_is_a_file_first_and_an_entity_from_there(root: Path) -> None:
    path = recorded(root, REJECTION)
    with Workspace.open(root) as work:
        work.ingest()
        found = dict.fromkeys(work.snapshot().thing(f"review.{path.stem}").triples)
        (receipt,) = [value for name, value in found if name == "review.receipt"]
        assert ("review.outcome", "rejected") in found
        assert ("review.violated", cases.ERRORS) in found
        assert ("review.passed", cases.COVERAGE) in found
        assert ("prov.generated_at", "2026-03-01T12:00:00Z") in found
        assert work.snapshot().thing(receipt).triples
        revisions = [value for name, value in found if name == "prov.derived_from"]
        assert [each.id for each in work.reviews(revisions[0])] == [f"review.{path.stem}"]


def test_reviews_of_one_receipt_are_numbered_and_never_written_over(root: Path) -> None:
    first, second = recorded(root, REJECTION), recorded(root, REJECTION)
    assert (first.stem.rpartition(".")[2], second.stem.rpartition(".")[2]) == ("1", "2")
    assert json.loads(first.read_bytes())["outcome"] == "rejected"


def test_the_graph_knows_which_rules_are_violated_and_which_nobody_cites(root: Path) -> None:
    recorded(root, REJECTION)
    recorded(root, WITH_PATTERN, LATER)
    unused = {
        ".hornbook/sources/docs/sops/unused.md": "---\napplies_to: '*.c'\n---\n# Unused\n\nNo.\n"
    }
    write(root, unused)
    with Workspace.open(root) as work:
        work.ingest()
        records = work.rule_records(since=AT)
        assert (records[0].id, records[0].violated, records[0].passed) == (cases.ERRORS, 1, 1)
        assert [each.id for each in records if each.last is None] == ["source.doc.sops.unused"]
        late = {each.id: each for each in work.rule_records(since=LATER)}
        assert late[cases.ERRORS].violated == 0
        assert [each.outcome for each in work.reviews()] == ["approved", "rejected"]


def test_a_rebuild_gives_the_same_graph(root: Path) -> None:
    recorded(root, WITH_PATTERN)
    with Workspace.open(root) as work:
        work.ingest()
        first = work.export()
        work.ingest(rebuild=True)
        assert work.export() == first


def test_a_damaged_record_is_a_problem_and_no_injection(root: Path) -> None:
    path = recorded(root, REJECTION)
    facts = json.loads(path.read_bytes())
    path.write_text(json.dumps({**facts, "at": '2026" . <x:y> <x:y> <x:y'}))
    with Workspace.open(root) as work:
        report = work.ingest()
        assert [problem.code for problem in report.problems] == ["bad_record"]


def test_records_of_reviews_are_no_edit_of_the_rules(root: Path) -> None:
    recorded(root, REJECTION)
    git(root, "checkout", "-q", "work")
    commit(root, {})
    (facts,) = prepared(root)
    assert facts["findings"] == []


def test_patterns_wait_for_a_person(root: Path) -> None:
    recorded(root, WITH_PATTERN)
    with Workspace.open(root) as work:
        work.ingest()
        context = work.review_context(["handlers/user.go"])
        assert context.text is not None
        assert "Every error is wrapped." not in context.text
        (candidate,) = work.conventions().all()
        assert (candidate.standing, candidate.id) == (Standing.CANDIDATE, "convention.wrap-errors")
        assert [each.path for each in candidate.evidence] == ["handlers/user.go"] or [
            each.path for each in candidate.evidence
        ] == ["handlers/user.go", "handlers/user_test.go"]
        work.conventions().decide(candidate.id, Standing.PROMOTED, LATER)
        work.ingest()
        context = work.review_context(["handlers/user.go"])
        assert context.text is not None
        assert "Every error is wrapped." in context.text
        other = work.review_context(["README.md"])
        assert other.text is not None
        assert "Every error is wrapped." not in other.text


def test_a_rejected_review_teaches_nothing(root: Path) -> None:
    review = {**json.loads(REJECTION), "patterns": [PATTERN]}
    recorded(root, json.dumps(review).encode())
    with Workspace.open(root) as work:
        assert work.conventions().all() == []


def test_what_a_person_decided_stays_decided(root: Path) -> None:
    recorded(root, WITH_PATTERN)
    with Workspace.open(root) as work:
        work.conventions().decide("convention.wrap-errors", Standing.RETIRED, LATER)
    recorded(root, WITH_PATTERN)
    with Workspace.open(root) as work:
        (known,) = work.conventions().all()
        assert (known.standing, len(known.reviews)) == (Standing.RETIRED, 2)


def test_a_convention_whose_code_changed_is_flagged(root: Path) -> None:
    recorded(root, WITH_PATTERN)
    write(root, {"handlers/user.go": "package handlers\n"})
    with Workspace.open(root) as work:
        (watched,) = work.conventions().watched()
        assert watched.changed == ("handlers/user.go",)


def test_an_unknown_convention_and_a_bad_pattern_are_refused(root: Path) -> None:
    review = {**cases.GOOD, "patterns": [{**PATTERN, "applies_to": "[broken"}]}
    recorded(root, json.dumps(review).encode())
    with Workspace.open(root) as work:
        with pytest.raises(NotFound, match="conventions"):
            work.conventions().decide("convention.../../x", Standing.PROMOTED, AT)
        with pytest.raises(UsageError, match="cannot be promoted"):
            work.conventions().decide("convention.wrap-errors", Standing.PROMOTED, AT)
        report = work.ingest()
        assert [problem.code for problem in report.problems] == ["bad_glob"]


def test_a_record_names_logs_from_the_root(root: Path) -> None:
    log = root / ".hornbook" / "logs" / "gates" / "x.log"
    result = GateResult("x", required=True, status=GateStatus.PASSED, log=str(log))
    reviews, receipts = [PrintedReview("review", REJECTION)], prepared(root)
    with Workspace.open(root) as work:
        judgement = work.check_review(reviews, receipts)
        gates = GateReport(passed=True, gates=(result,))
        path = work.record_review(JudgedReview(judgement, reviews, receipts, gates), at=AT)
    assert json.loads(path.read_bytes())["gates"]["gates"][0]["log"] == ".hornbook/logs/gates/x.log"
    assert str(root) not in path.read_text("utf-8")
