"""Runs and what they ask are entities: derived from events, deterministic, and asked for."""

import json
import os
import shutil
import sys
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any  # GraphQL answers are JSON

import pytest

from hornbook import Workspace
from hornbook.agents.assignment import Answer, Assignment, Usage
from hornbook.loop.protocol import StepKind
from hornbook.serve.graphql.schema import execute
from tests.kit.commands import answer, run
from tests.kit.fakes import fails, reviews, writes
from tests.kit.loops import GREET, Stage, repository

DEAR = writes({"src/greet.py": GREET}, usage=Usage(800, 300, 1, 0.5))


def answered(root: Path, text: str) -> Any:
    with Workspace.open(root) as work:
        work.ingest()
        answer: Any = execute(work, text, {})
    assert "errors" not in answer, answer
    return answer["data"]


def ingested(root: Path) -> Workspace:
    work = Workspace.open(root)
    work.ingest()
    return work


def test_a_run_is_an_entity_with_what_it_is_about_and_what_it_cost(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path), [DEAR])
    assert stage.go().status == "approved"
    with ingested(tmp_path) as work:
        found = dict(work.snapshot().thing("run.run-1").triples)
        (run,) = work.past_runs("plan.hello")
        assert work.past_runs("plan.other") == []
        review = dict(work.snapshot().thing("review.run-1.1").triples)
    assert found["run.status"] == "approved"
    assert found["run.commit"] == stage.newest("task.approved").data["commit"]
    assert (run.task, run.workflow, run.attempts) == ("task.hello.1", "plan-and-execute", 1)
    assert (run.tokens, run.cost, run.question) == (1100, Decimal("0.5"), None)
    times = [run.started_at, str(run.ended_at)]
    events = [stage.newest("run.started"), stage.newest("run.ended")]
    assert list(map(datetime.fromisoformat, times)) == [
        datetime.fromisoformat(event.at) for event in events
    ]
    assert review["review.run"] == "run.run-1"


def test_currencies_of_one_run_are_never_added_up(tmp_path: Path) -> None:
    def dollars(assignment: Assignment) -> Answer:
        return replace(reviews()(assignment), usage=Usage(10, 10, 1, 0.25, "USD"))

    euros = writes({"src/greet.py": GREET}, usage=Usage(800, 300, 1, 0.5, "EUR"))
    stage = Stage(repository(tmp_path), [euros], [dollars])
    assert stage.go().status == "approved"
    each = [{"amount": 0.5, "currency": "EUR"}, {"amount": 0.25, "currency": "USD"}]
    apart = {"cost": None, "currency": None, "costs": each}
    record = json.loads((tmp_path / ".hornbook/records/runs/run-1.json").read_text())
    assert record["spent"] == {"tokens": 1120, **apart}
    said = answer(tmp_path, "runs", "show", "run-1", "--json")["spent"]
    assert {key: said[key] for key in apart} == apart
    (row,) = answer(tmp_path, "runs", "--json")["runs"]
    assert {key: row[key] for key in apart} == apart
    assert "0.50 EUR + 0.25 USD as reported" in run(tmp_path, "runs", "show", "run-1").stdout
    asked = '{ run(id: "run-1") { cost { amount } costs { amount currency } } }'
    assert answered(tmp_path, asked)["run"] == {"cost": None, "costs": each}
    with ingested(tmp_path) as work:
        (past,) = work.past_runs("plan.hello")
    assert past.cost is None


def test_a_run_that_asks_says_what_until_somebody_answers(tmp_path: Path) -> None:
    def developer(assignment: Assignment) -> Answer:
        return (DEAR if assignment.feedback else fails("it died"))(assignment)

    stage = Stage(repository(tmp_path), [developer])
    assert stage.go().kind is StepKind.ASKING
    with ingested(tmp_path) as work:
        (run,) = work.past_runs()
        asks = dict(work.snapshot().thing("run.run-1").triples)["run.asks"]
        escalation = dict(work.snapshot().thing(asks).triples)
    assert run.status == "asking"
    assert "it died" in str(run.question)
    assert (escalation["escalation.kind"], escalation["prov.derived_from"]) == (
        "error",
        "run.run-1",
    )
    stage.answer("run-1", "return", "Try again.")
    assert stage.drive("run-1").status == "approved"
    with ingested(tmp_path) as work:
        (run,) = work.past_runs()
    assert (run.status, run.question, run.answered_by) == (
        "approved",
        None,
        ("human:ann@example.org",),
    )


def test_runs_are_found_by_their_predicates(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path), [DEAR])
    stage.go(task=None)
    asked = '{ entities(filter: { predicatePrefix: "run" }) { id } }'
    assert [each["id"] for each in answered(tmp_path, asked)["entities"]] == [
        "run.hello-t1-1",
        "run.hello-t2-1",
        "run.run-1",
    ]
    begun = '{ traverse(start: "run.run-1", depth: 1, direction: INBOUND) { nodes { id } } }'
    nodes = {each["id"] for each in answered(tmp_path, begun)["traverse"]["nodes"]}
    assert {"run.hello-t1-1", "run.hello-t2-1"} <= nodes


def test_records_follow_from_events_alone(tmp_path: Path) -> None:
    no = reviews("rejected", "fixable", violated=True, feedback="Name the person.")
    stage = Stage(repository(tmp_path), [DEAR], [no, reviews()])
    stage.go()
    folder = tmp_path / ".hornbook" / "records" / "runs"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert list(before) == ["run-1.json"]
    assert json.loads(before["run-1.json"])["attempts"] == 2
    with ingested(tmp_path) as work:
        first = work.export("nquads")
    shutil.rmtree(folder)
    with Workspace.open(tmp_path) as work:
        work.plan_book().view("hello")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        report = work.ingest()
        assert (report.added, report.changed, report.removed) == (0, 0, 0)
        assert work.export("nquads") == first


def test_a_receipt_names_the_revision_of_the_task_that_the_graph_has(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path), [DEAR])
    stage.go()
    (path,) = (tmp_path / ".hornbook" / "records" / "receipts").iterdir()
    sections = json.loads(path.read_text())["sections"]
    revisions = {item["id"]: item["revision"] for part in sections for item in part["items"]}
    with ingested(tmp_path) as work:
        current = dict(work.snapshot().thing("task.hello.1").triples)["source.doc.revision"]
    assert revisions["task.hello.1"] == current
    assert "plan.hello" not in revisions  # a reviewer inherits nothing


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_disk_has_a_receipt_and_its_name_before_an_event_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipts = tmp_path / ".hornbook" / "records" / "receipts"
    kept: list[tuple[Path, bytes]] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        fsync(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if receipts in {path, path.parent}:
            logs = [each for each in (tmp_path / ".hornbook").rglob("events.*") if each.is_file()]
            kept.append((path, b"".join(each.read_bytes() for each in logs)))

    stage = Stage(repository(tmp_path), [DEAR])
    monkeypatch.setattr(os, "fsync", noted)
    stage.go()
    (receipt,) = receipts.iterdir()
    (draft, first), (folder, second) = kept
    assert draft.name.startswith(f".{receipt.name}.")
    assert folder == receipts
    name = json.loads(receipt.read_text())["receipt_sha256"].encode()
    logs = [each for each in (tmp_path / ".hornbook").rglob("events.*") if each.is_file()]
    assert [name in each.read_bytes() for each in logs].count(True) > 1
    assert name not in first + second


def test_a_damaged_record_is_kept_with_a_problem(tmp_path: Path) -> None:
    stage = Stage(repository(tmp_path), [DEAR])
    stage.go()
    path = tmp_path / ".hornbook" / "records" / "runs" / "run-1.json"
    path.write_text('{"status": "approved"}')
    with Workspace.open(tmp_path) as work:
        problems = [each for each in work.ingest().problems if each.path.endswith("run-1.json")]
    assert [each.code for each in problems] == ["bad_record"]
