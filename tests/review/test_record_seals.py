"""Records that were edited are seen, told with their path, and count nowhere."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any  # records are JSON

import pytest
from click.testing import CliRunner

from hornbook import Workspace
from hornbook.cli.main import app
from hornbook.errors import UsageError
from hornbook.rules.own_files.records import hashes_of, sealed
from hornbook.vocabulary.terms import Standing
from tests.kit import review_cases as cases
from tests.kit.git import commit, start
from tests.kit.loops import Stage, repository
from tests.kit.reviews import AT, LATER, REJECTION, WITH_PATTERN, recorded


@pytest.fixture
def root(tmp_path: Path) -> Path:
    start(tmp_path, {**cases.RULES, "README.md": "# It\n"})
    commit(tmp_path, cases.CHANGED)
    return tmp_path


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    facts = json.loads(path.read_bytes())
    change(facts)
    path.write_text(json.dumps(facts))


def anew(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """An edit by somebody who computes the hashes again."""
    facts = json.loads(path.read_bytes())
    change(facts)
    facts["hashes"] |= hashes_of(facts)
    path.write_text(json.dumps(sealed({k: v for k, v in facts.items() if k != "record_sha256"})))


def approve(facts: dict[str, Any]) -> None:
    facts["outcome"] = "approved"


def test_a_record_as_it_was_written_is_believed(root: Path) -> None:
    path = recorded(root, REJECTION)
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=7).replace("\n", "\r\n"))
    with Workspace.open(root) as work:
        assert work.ingest().problems == ()
        assert work.bad_records() == []
        assert len(work.reviews()) == 1


EDITS: list[Callable[[dict[str, Any]], object]] = [
    approve,
    lambda facts: facts["reviews"][0].update(printed="{}"),
    lambda facts: facts.update(receipts=["receipt.0000000000000000"]),
    lambda facts: facts["rules"][0].update(statuses=["passed"]),
    lambda facts: facts.update(at="2020-01-01T00:00:00Z"),
    lambda facts: facts.pop("record_sha256"),
    lambda facts: facts.pop("hashes"),
    lambda facts: facts.update(id="review.other.1"),
    lambda facts: facts.update(gates={"passed": True, "gates": []}),
]


@pytest.mark.parametrize("change", EDITS)
def test_an_edited_record_is_told_with_its_path_and_counts_nowhere(
    root: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    path = recorded(root, REJECTION)
    edit(path, change)
    name = path.relative_to(root).as_posix()
    with Workspace.open(root) as work:
        told = [(each.code, each.path) for each in work.ingest().problems]
        assert told == [("altered_record", name)]
        assert work.reviews() == []
        assert {each.violated for each in work.rule_records(AT)} == {0}
        (bad,) = work.bad_records()
        assert bad.path == name
    answer = CliRunner().invoke(app, ["--root", str(root), "reviews", "--json"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["problems"][0]["path"] == name
    assert f"{name} does not count" in answer.stderr


@pytest.mark.parametrize("text", ["", "[]", "{", '{"reviews": [3]}', '{"hashes": 3}', "\0"])
def test_what_is_no_record_stops_nothing(root: Path, text: str) -> None:
    path = recorded(root, WITH_PATTERN)
    path.write_text(text)
    with Workspace.open(root) as work:
        work.ingest()
        assert [each.id for each in work.bad_records()] == [f"review.{path.stem}"]
        assert work.reviews() == []
        assert work.conventions().watched()[0].doubts


def test_a_record_by_another_name_does_not_count_twice(root: Path) -> None:
    path = recorded(root, REJECTION)
    path.with_name("copy.1.json").write_bytes(path.read_bytes())
    with Workspace.open(root) as work:
        assert [each.code for each in work.ingest().problems] == ["altered_record"]
        assert len(work.reviews()) == 1


def test_an_edited_receipt_is_told(root: Path) -> None:
    recorded(root, REJECTION)
    (path,) = (root / ".hornbook/records/receipts").glob("*.json")
    edit(path, lambda facts: facts.update(head="0" * 40))
    with Workspace.open(root) as work:
        assert [each.code for each in work.ingest().problems] == ["altered_record"]


def test_warnings_are_kept_and_counted_for_each_rule(root: Path) -> None:
    review = json.loads(REJECTION)
    review["sop_review"][1]["evidence"] = f"Tested, handlers/user.go:7 `{cases.QUOTE}`"
    recorded(root, json.dumps(review).encode())
    with Workspace.open(root) as work:
        work.ingest()
        found = {each.id: each.doubted for each in work.rule_records(AT)}
    assert found == {cases.ERRORS: 1, cases.COVERAGE: 0, cases.PRINTS: 0}


# Conventions


def text_for(work: Workspace) -> str:
    work.ingest()
    return work.review_context(["handlers/user.go"]).text or ""


def test_a_convention_of_an_altered_review_is_not_promoted(root: Path) -> None:
    path = recorded(root, WITH_PATTERN)
    edit(path, lambda facts: facts.update(feedback="Nice."))
    with Workspace.open(root) as work:
        (watched,) = work.conventions().watched()
        assert path.name in watched.doubts[0]
        with pytest.raises(UsageError, match="was edited"):
            work.conventions().decide("convention.wrap-errors", Standing.PROMOTED, LATER)
        work.conventions().decide("convention.wrap-errors", Standing.RETIRED, LATER)


@pytest.mark.parametrize("change", [approve, lambda facts: facts["reviews"][0].update(printed="")])
def test_a_review_that_taught_nothing_of_the_kind_stands_behind_no_convention(
    root: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    recorded(root, WITH_PATTERN)
    (convention,) = (root / ".hornbook/records/conventions").glob("*.json")
    rejected = recorded(root, REJECTION)
    anew(rejected, change)
    facts = json.loads(convention.read_bytes())
    facts["reviews"] = [f"review.{rejected.stem}"]
    convention.write_text(json.dumps(sealed({k: v for k, v in facts.items() if k[-3:] != "256"})))
    with Workspace.open(root) as work:
        (watched,) = work.conventions().watched()
        assert "approves no such pattern" in watched.doubts[0]


def test_a_promoted_convention_falls_with_its_only_review(root: Path) -> None:
    path = recorded(root, WITH_PATTERN)
    with Workspace.open(root) as work:
        work.conventions().decide("convention.wrap-errors", Standing.PROMOTED, LATER)
        assert "Every error is wrapped." in text_for(work)
        edit(path, approve)  # nothing changes: it was approved
        assert "Every error is wrapped." in text_for(work)
        edit(path, lambda facts: facts.update(feedback="Nice."))
        assert "Every error is wrapped." not in text_for(work)
        left = work.review_context(["handlers/user.go"]).left_out
    assert ("convention.wrap-errors", True) in [(e.id, "altered" in e.reason) for e in left]


def test_a_convention_cannot_promote_or_reword_itself(root: Path) -> None:
    recorded(root, WITH_PATTERN)
    (path,) = (root / ".hornbook/records/conventions").glob("*.json")
    edit(path, lambda facts: facts.update(standing="promoted", decided_by="a person"))
    with Workspace.open(root) as work:
        assert "Every error is wrapped." not in text_for(work)
        assert [each.code for each in work.ingest(rebuild=True).problems] == ["altered_record"]
        (watched,) = work.conventions().watched()
        assert "was edited" in watched.doubts[0]
    answer = CliRunner().invoke(app, ["--root", str(root), "conventions"])
    assert "does not count" in answer.stdout


def test_another_review_does_not_seal_an_altered_convention_anew(root: Path) -> None:
    recorded(root, WITH_PATTERN)
    (path,) = (root / ".hornbook/records/conventions").glob("*.json")
    edit(path, lambda facts: facts.update(standing="promoted"))
    altered = path.read_bytes()
    recorded(root, WITH_PATTERN)
    assert path.read_bytes() == altered


# Runs


def test_a_run_s_record_is_held_against_its_events(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path))
    path = tmp_path / ".hornbook/records/reviews/run-1.1.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"outcome": "approved"}')  # in the place of what the run will write
    stage.go()
    whole = path.read_bytes()
    assert json.loads(whole)["run"] == "run-1"
    forged = path.with_name("run-1.7.json")
    with Workspace.open(tmp_path) as work:
        assert work.bad_records() == []
        anew(path, lambda facts: facts.update(feedback="Perfect."))
        (bad,) = work.bad_records()
        assert "the event of its run" in bad.message
        path.write_bytes(whole)
        forged.write_bytes(whole)
        anew(forged, lambda facts: facts.update(id="review.run-1.7"))
        (bad,) = work.bad_records()
        assert (bad.id, bad.message) == ("review.run-1.7", "no event of run run-1 tells of it")
        work.ingest()
        assert [each.id for each in work.reviews()] == ["review.run-1.1"]
