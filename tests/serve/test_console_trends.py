"""Trends and graph in the console."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hornbook import Workspace
from hornbook.serve.console.views.trends import _cell
from tests.kit.console_pages import page_of
from tests.kit.fakes import reviews, writes
from tests.kit.loops import BROKEN, GREET, Clock, Stage, repository
from tests.kit.servers import client

RULE = "source.doc.sops.greetings"


class Now(Clock):
    """The time as it is, which trends look back from."""

    def __call__(self) -> str:
        from hornbook.disk import now

        return now()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    root: Path = repository(tmp_path_factory.mktemp("trends"))
    moves = (writes({"src/greet.py": BROKEN}), writes({"src/greet.py": GREET}))
    stage = Stage(root, developer=moves, reviewer=(reviews(),), clock=Now())
    assert stage.go().status == "approved"
    rule = next(root.rglob("sops/greetings.md"))
    rule.with_name("greetings-again.md").symlink_to(rule.name)  # answered as the rule itself
    with Workspace.open(root) as work:
        work.ingest()
    with client(root, named=False) as found:
        yield found


def test_trends_count_reviews_rules_reviewers_and_plans(local: TestClient) -> None:
    page = page_of(local, "/trends?days=30")
    assert "How reviews ended 1" in page.text
    assert "Reviews of 1 week by outcome" in page.answer.text
    assert f"/rules/{RULE}" in page.links()
    assert "/plans/hello" in page.links()
    assert local.get("/trends?days=0").status_code == 422


def test_totals_count_what_their_heading_names(local: TestClient) -> None:
    page = page_of(local, "/trends?days=30")
    assert f"How reviews ended {len(page.answer.text.split('/changes/')) - 1} " in page.text
    (row,) = csv.DictReader(io.StringIO(local.get("/trends.csv?table=plans").text))
    assert f'href="/plans/hello#runs">{int(row["runs"]):,}<' in page.answer.text


def test_a_number_leads_to_the_reviews_that_it_counts(local: TestClient) -> None:
    page = page_of(local, "/trends?days=30")
    (lead,) = {each for each in page.links() if "outcome=approved" in each}
    assert "Only those with week" in page_of(local, f"/trends{lead}").text
    assert "The reviews 1" in page_of(local, f"/trends{lead}").text
    assert "The reviews 0" in page_of(local, "/trends?days=30&outcome=rejected").text
    (lead,) = {each for each in page.links() if "reviewer=" in each}
    assert "The reviews 1" in page_of(local, f"/trends{lead}").text


def test_each_table_is_had_as_csv(local: TestClient) -> None:
    answer = local.get("/trends.csv?table=rules")
    assert answer.headers["content-disposition"].startswith("attachment")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(row["rule"], row["passed"]) for row in rows] == [(RULE, "1")]
    assert local.get("/trends.csv?table=none").status_code == 404
    for table in ("weeks", "routes", "reviewers", "plans"):
        assert local.get(f"/trends.csv?table={table}").status_code == 200


def test_no_cell_is_a_formula() -> None:
    assert _cell("=1+1") == "'=1+1"
    assert (_cell(None), _cell(3), _cell("plain")) == ("", 3, "plain")


def test_the_neighbourhood_of_an_entity_leads_to_its_neighbours(local: TestClient) -> None:
    page = page_of(local, f"/graph/{RULE}")
    assert "source.doc.severity" in page.text
    neighbours = [link for link in page.links() if link.startswith("/graph/")]
    assert neighbours
    assert f"/graphql#query=%7B%20entity%28id%3A%20%22{RULE}%22" in page.answer.text
    (asked,) = [link for link in page.links() if link.startswith("/sparql?")]
    assert "error" in page_of(local, asked).text, "the severity is among the rows"
    assert f"/graph/{RULE}" in page_of(local, f"/rules/{RULE}").links()
    page_of(local, neighbours[0])
    page_of(local, "/graph/source.doc.sops.none", status=404)
