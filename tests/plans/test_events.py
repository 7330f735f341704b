import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from hypothesis import given
from hypothesis import strategies as st

from hornbook.errors import EventLogError, UsageError
from hornbook.loop.engine.workers import connect, database_url
from hornbook.plans import log as log_module
from hornbook.plans.databases.database import write_ahead
from hornbook.plans.events import (
    SCHEMA,
    Data,
    Event,
    EventKind,
    Fault,
    canonical,
    next_event,
    read_event,
    read_lines,
    verify,
    verify_following,
)
from hornbook.plans.log import EXPORT, EventLog, LogMemory
from hornbook.plans.plan import Constraints, Plan, PlanTask
from hornbook.plans.principal import unknown
from hornbook.plans.run_kinds import kinds_for
from hornbook.plans.state import PLAN_KINDS, PlanStatus, plan_data, project
from hornbook.plans.store import PlanStore
from hornbook.plans.tasks import ledger_of
from tests.kit.engines import DATABASES, database_for
from tests.kit.forks import own_processes
from tests.kit.waiting import SAFETY

NOW = "2026-11-16T08:00:00Z"
PLAN = Plan("rates", "Rates", situation="Now.", constraints=Constraints(("src/**",)))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
DATA = st.dictionaries(st.text(), VALUES, max_size=4)


def log_in(folder: Path, **more: Any) -> EventLog:
    folder.mkdir(parents=True, exist_ok=True)
    return EventLog(folder, lambda: NOW, **more)


def chain(*datas: dict[str, Any]) -> list[Event]:
    events: list[Event] = []
    for number, data in enumerate(datas):
        last = events[-1] if events else None
        made = next_event(
            last,
            plan="rates",
            kind="risk.recorded",
            data=data,
            key=str(number),
            by=unknown("a"),
            at=NOW,
        )
        events.append(made)
    return events


def risk(number: int, severity: str = "low") -> dict[str, Any]:
    return {"id": f"R{number}", "severity": severity, "text": f"risk {number}"}


@given(DATA)
def test_an_event_survives_its_line(data: dict[str, Any]) -> None:
    (event,) = chain(data)
    assert read_event(event.line) == event
    assert len(event.line.splitlines()) == 1


@given(st.lists(DATA, min_size=1, max_size=5))
def test_a_chain_as_it_was_made_is_whole(datas: list[dict[str, Any]]) -> None:
    assert verify(chain(*datas)) is None


@given(st.lists(DATA, min_size=2, max_size=5), st.data())
def test_any_change_is_found_on_its_line(datas: list[dict[str, Any]], data: st.DataObject) -> None:
    events = chain(*datas)
    place = data.draw(st.integers(0, len(events) - 1))
    change: dict[str, Any] = data.draw(
        st.sampled_from(
            [
                {"at": "x"},
                {"actor": "b"},
                {"kind": "k"},
                {"data": {"z": 1}},
                {"key": "z"},
                {"previous": "0"},
                {"hash": "0"},
                {"seq": 99},
            ]
        )
    )
    events[place] = replace(events[place], **change)
    fault = verify(events)
    assert fault is not None
    assert fault.line == place + 1


@pytest.mark.parametrize("gone", [0, 1])
def test_a_missing_or_swapped_event_is_found(gone: int) -> None:
    events = chain({}, {"a": 1}, {"b": 2})
    without = [event for place, event in enumerate(events) if place != gone]
    assert verify(without) == Fault(gone + 1, f"its number is {gone + 2}")
    assert verify([events[1], events[0], events[2]]) is not None


def test_a_newer_schema_is_refused() -> None:
    (event,) = chain({})
    newer = canonical({**json.loads(event.line), "schema": SCHEMA + 1})
    with pytest.raises(ValueError, match="update Hornbook"):
        read_event(newer)
    _, fault = read_lines(f"{event.line}{newer}\n")
    assert fault is not None
    assert fault.line == 2


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800", {"a": object()}])
def test_what_is_not_json_is_no_event(value: object) -> None:
    with pytest.raises(UsageError):
        canonical(value)


def test_an_unknown_kind_is_refused_but_tolerated_when_read(tmp_path: Path) -> None:
    mine = {"run.started": EventKind("run.started", "A run began.")}
    log = log_in(tmp_path)
    with pytest.raises(UsageError, match="no event has the kind"):
        log.append("rates", "run.started", {}, key="1")
    log.append("rates", "plan.explored", plan_data(PLAN), key="1")
    wider = log_in(tmp_path, kinds={**PLAN_KINDS, **mine})
    wider.append("rates", "run.started", {}, key="2")
    state = project(log.events("rates"))
    assert state is not None
    assert (state.others, state.plan.situation) == (1, "Now.")


@pytest.mark.parametrize(
    ("data", "said"), [({"id": "R1"}, "lacks severity, text"), ({**risk(1), "x": 1}, "unknown x")]
)
def test_data_that_does_not_fit_its_kind_is_refused(
    tmp_path: Path, data: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        log_in(tmp_path).append("rates", "risk.recorded", data, key="1")


def test_a_plan_is_what_its_events_add_up_to(tmp_path: Path) -> None:
    log = log_in(tmp_path)

    def told(kind: str, data: dict[str, Any], key: str) -> None:
        log.append("rates", kind, data, key=key)

    told("plan.explored", plan_data(PLAN), "1")
    told("plan.edited", {"mission": "Limit."}, "2")
    told("plan.promoted", {}, "3")
    told("plan.amended", {"changes": {"execution": "1. Do"}, "reason": "late"}, "4")
    words = {"reason": "r", "impact": "i"}
    told("decision.recorded", {"decision": "A", **words}, "5")
    told("decision.recorded", {"decision": "B", **words, "supersedes": "decision.rates-1"}, "6")
    for number, severity in ((1, "high"), (2, "low"), (1, "low")):
        told("risk.recorded", risk(number, severity), f"{number}{severity}")
    told("plan.superseded", {"by": "limits"}, "9")
    state = project(log.events("rates"))
    assert state is not None
    assert state.plan == replace(
        PLAN, mission="Limit.", execution="1. Do", committed=True, created_at=NOW, committed_at=NOW
    )
    assert state.status is PlanStatus.SUPERSEDED
    assert state.superseded_by == "limits"
    assert [(each.changed, each.reason) for each in state.amendments] == [(("execution",), "late")]
    assert [each.id for each in state.decisions] == ["decision.rates-1", "decision.rates-2"]
    assert [each.decision for each in state.current_decisions] == ["B"]
    assert [(each.id, each.severity) for each in state.risks] == [("R1", "low"), ("R2", "low")]
    assert state.seq == 10
    assert state == project(log.events("rates"))


def test_the_same_key_twice_gives_the_first_event(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    first = log.append("rates", "risk.recorded", risk(1), key="k")
    again = log.append("rates", "risk.recorded", risk(2), key="k")
    assert again == (first[0], False)
    assert len(log.events("rates")) == 1
    assert log.append("other", "risk.recorded", risk(2), key="k")[1]


def export(folder: Path) -> Path:
    return folder / "plans" / "rates" / "events.jsonl"


def filled(folder: Path, count: int = 3) -> EventLog:
    log = log_in(folder)
    for number in range(count):
        log.append("rates", "risk.recorded", risk(number), key=str(number))
    return log


def test_the_export_has_a_line_for_each_event_and_verifies(tmp_path: Path) -> None:
    log = filled(tmp_path)
    events, fault = read_lines(export(tmp_path).read_text("utf-8"))
    assert fault is None
    assert events == log.events("rates")
    assert verify(events) is None


@pytest.mark.parametrize("kept", [0, 1, 300, -1])
def test_an_export_that_is_behind_or_torn_is_completed(tmp_path: Path, kept: int) -> None:
    log = filled(tmp_path)
    whole = export(tmp_path).read_bytes()
    export(tmp_path).write_bytes(whole[:kept])
    log.append("rates", "risk.recorded", risk(9), key="9")
    assert export(tmp_path).read_bytes().startswith(whole)
    assert export(tmp_path).read_bytes().count(b"\n") == 4


def test_an_export_is_taken_over_into_an_empty_database(tmp_path: Path) -> None:
    events = filled(tmp_path / "one").events("rates")
    clone = tmp_path / "two"
    export(clone).parent.mkdir(parents=True)
    export(clone).write_bytes(export(tmp_path / "one").read_bytes())
    log = log_in(clone)
    assert log.plans() == ["rates"]
    log.sync("rates")
    assert log.events("rates") == events
    log.append("rates", "risk.recorded", risk(9), key="9")
    assert export(clone).read_bytes().count(b"\n") == 4


def test_nothing_is_appended_before_the_export_was_taken_over(tmp_path: Path) -> None:
    events = filled(tmp_path / "one").events("rates")
    export(tmp_path / "two").parent.mkdir(parents=True)
    export(tmp_path / "two").write_bytes(export(tmp_path / "one").read_bytes())
    log = log_in(tmp_path / "two")
    event, _ = log.append("rates", "risk.recorded", risk(9), key="9")
    assert (event.seq, event.previous) == (4, events[-1].hash)
    assert log.events("rates")[:3] == events


def test_nothing_is_appended_to_a_log_that_its_export_contradicts(tmp_path: Path) -> None:
    log = filled(tmp_path)
    text = export(tmp_path).read_text("utf-8").replace("risk 1", "another risk")
    export(tmp_path).write_text(text, "utf-8")
    with pytest.raises(EventLogError, match="line 2 and event 2"):
        log.append("rates", "risk.recorded", risk(9), key="9")
    assert len(log.events("rates")) == 3


def test_an_export_that_goes_on_where_the_database_ends_is_taken_over(tmp_path: Path) -> None:
    filled(tmp_path / "one", 4)
    log = filled(tmp_path / "two", 2)
    export(tmp_path / "two").write_bytes(export(tmp_path / "one").read_bytes())
    log.sync("rates")
    assert len(log.events("rates")) == 4


def test_a_contradiction_names_both_sides_and_changes_nothing(tmp_path: Path) -> None:
    log = filled(tmp_path)
    forged = export(tmp_path).read_bytes().replace(b"risk 1", b"risk x")
    export(tmp_path).write_bytes(forged)
    with pytest.raises(EventLogError, match=r"events\.jsonl, line 2 and event 2 in .*events\.db"):
        log.sync("rates")
    assert export(tmp_path).read_bytes() == forged
    assert len(log.events("rates")) == 3


def test_a_damaged_export_is_not_taken_over(tmp_path: Path) -> None:
    filled(tmp_path / "one")
    export(tmp_path / "two").parent.mkdir(parents=True)
    text = export(tmp_path / "one").read_text("utf-8")
    export(tmp_path / "two").write_text(text.replace("risk 1", "risk x"), "utf-8")
    log = log_in(tmp_path / "two")
    with pytest.raises(EventLogError, match=r"events\.jsonl, line 2: its content"):
        log.sync("rates")
    assert log.events("rates") == []


def _append_many(folder: str, database: str, name: str) -> None:
    log = log_in(Path(folder), database=database)
    for number in range(15):
        log.append("rates", "risk.recorded", risk(number), key=f"{name}-{number}")
        log.append("rates", "risk.recorded", risk(number), key=f"shared-{number}")
    log.close()
    os._exit(0)


def _number_tasks(folder: str, database: str, name: str) -> None:
    """Promise numbers to two tasks, then make them, time and again."""
    log = log_in(Path(folder), database=database, kinds=kinds_for(()))
    store = PlanStore(Path(folder), log)
    for round_ in range(6):

        def promised(events: list[Event], key: str = f"{name}-{round_}") -> tuple[str, Data]:
            first = ledger_of("rates", events).next_number
            numbers = [first, first + 1]
            return key, {"run": name, "task": "task.rates.1", "children": numbers}

        chosen = log.choose("rates", "task.decomposed", promised)
        assert chosen is not None
        numbers = chosen[0].data["children"]
        store.add_tasks("rates", [PlanTask(number, name) for number in numbers])
    log.close()
    os._exit(0)


def at_once(target: Callable[[str, str, str], None], folders: list[Path], database: str) -> None:
    """Have a process in each folder do the same at the same time."""
    processes = own_processes(__name__)
    workers = [
        processes.Process(target=target, args=(str(folder), database, f"p{place}"))
        for place, folder in enumerate(folders)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(SAFETY)
    assert [worker.exitcode for worker in workers] == [0] * len(folders)


def machines(tmp_path: Path, database: str) -> list[Path]:
    """The folders of three processes: one for all, or with a shared database one for each."""
    return [tmp_path / name for name in "abc"] if database else [tmp_path / "a"] * 3


@pytest.mark.parametrize("kind", DATABASES)
def test_processes_that_append_at_once_never_fork_the_chain(tmp_path: Path, kind: str) -> None:
    with database_for(kind) as url:
        folders = machines(tmp_path, url)
        at_once(_append_many, folders, url)
        log = log_in(folders[0], database=url)
        events = log.events("rates")
        assert verify(events) is None
        assert len(events) == 3 * 15 + 15
        for folder in folders:
            here = log_in(folder, database=url)
            here.sync("rates")
            here.close()
            exported, fault = read_lines(export(folder).read_text("utf-8"))
            assert fault is None
            assert exported == events
        log.close()


@pytest.mark.parametrize("kind", DATABASES)
def test_processes_that_number_tasks_at_once_never_give_a_number_twice(
    tmp_path: Path, kind: str
) -> None:
    with database_for(kind) as url:
        folders = machines(tmp_path, url)
        log = log_in(folders[0], database=url)
        PlanStore(folders[0], log).commit("Rates", TEXT)
        at_once(_number_tasks, folders, url)
        events = log.events("rates")
        assert verify(events) is None
        given_out = [
            (number, event.data["run"])
            for event in events
            if event.kind == "task.decomposed"
            for number in event.data["children"]
        ]
        assert sorted(number for number, _ in given_out) == list(range(1, 37))
        state = project(events)
        assert state is not None
        assert {(task.number, task.title) for task in state.tasks} == set(given_out)
        log.close()


TEXT = """\
# Plan: Rates

## Situation
Now.

## Mission
Then.

## Execution
1. Do it

## Constraints
- IN: src/**

## Coordination
None.
"""


def _meet(folder: str, database: str, _name: str) -> None:
    """Open everything that has tables in a database that may be empty."""
    for _ in range(3):
        log_in(Path(folder), database=database).close()
        connect(database_url(Path(folder), database)).dispose()


@pytest.mark.parametrize("kind", DATABASES)
def test_machines_that_meet_at_an_empty_database_all_find_their_tables(
    tmp_path: Path, kind: str
) -> None:
    with database_for(kind) as url:
        folders = machines(tmp_path, url)
        at_once(_meet, folders, url)
        engine = connect(database_url(folders[0], url))
        found = sql.inspect(engine).get_table_names()
        engine.dispose()
        assert {"hornbook_workers", "hornbook_runs", "hornbook_holds"} <= set(found)
        log = log_in(folders[0], database=url)
        assert log.plans() == []
        log.close()


def test_a_database_that_somebody_is_making_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "engine.db"
    writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    writer.execute("BEGIN IMMEDIATE")
    refused: list[str] = []

    class Refused(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            try:
                return super().execute(*arguments)
            except sqlite3.OperationalError as problem:
                refused.append(str(problem))
                if len(refused) == 3:
                    writer.execute("COMMIT")
                raise

    reader = sqlite3.connect(path, factory=Refused)
    write_ahead(reader)
    assert refused == ["database is locked"] * 3
    assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    reader.close()
    writer.close()


def appended(log: EventLog, *numbers: int) -> None:
    for number in numbers:
        log.append("rates", "risk.recorded", risk(number), key=str(number))


def verifications(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each verification looked at."""
    counts: list[int] = []

    def counted(known: Sequence[Event], events: Sequence[Event]) -> Fault | None:
        counts.append(len(events))
        return verify_following(known, events)

    monkeypatch.setattr(log_module, "verify_following", counted)
    monkeypatch.setattr(log_module, "verify", lambda events: counted((), events))
    return counts


def test_what_was_verified_is_not_verified_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, others = log_in(tmp_path), log_in(tmp_path)
    appended(mine, 1, 2, 3)
    counts = verifications(monkeypatch)
    assert [event.seq for event in mine.events("rates")] == [1, 2, 3]
    assert mine.events("rates") == mine.events("rates")
    appended(others, 4, 5)
    assert [event.key for event in mine.events("rates")] == ["1", "2", "3", "4", "5"]
    assert counts == [3, 2]
    assert mine.state("rates") == project(mine.events("rates")) == others.state("rates")
    for log in (mine, others):
        log.close()


def test_a_memory_serves_every_log_of_one_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = verifications(monkeypatch)
    memory = LogMemory()
    for number in range(1, 5):
        log = log_in(tmp_path, memory=memory)
        appended(log, number)
        assert len(log.events("rates")) == number
        log.close()
    assert counts == [1, 1, 1, 1]


@pytest.mark.parametrize("seq", [1, 3])
def test_a_row_that_does_not_go_on_with_the_chain_is_found(tmp_path: Path, seq: int) -> None:
    log = log_in(tmp_path)
    appended(log, 1, 2)
    if seq == 3:
        assert len(log.events("rates")) == 2
    appended(log, 3)
    with sqlite3.connect(tmp_path / "events.db") as table:
        changed = "UPDATE hornbook_events SET line = replace(line, 'low', 'high') WHERE seq = ?"
        table.execute(changed, (seq,))
    table.close()
    with pytest.raises(EventLogError, match=f"event {seq} "):
        log.events("rates")
    log.close()


def test_a_log_that_is_another_one_by_now_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    appended(log, 1, 2)
    before = log.events("rates")
    log.forget("rates")
    (tmp_path / "plans" / "rates" / EXPORT).unlink()
    assert log.events("rates") == []
    assert log.state("rates") is None
    appended(log, 3, 4)
    after = log.events("rates")
    assert [event.key for event in after] == ["3", "4"]
    assert [event.seq for event in after] == [event.seq for event in before]
    assert log.state("rates") == project(after)
    log.close()


def test_an_export_is_compared_again_only_when_one_of_the_two_changed(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    appended(log, 1)
    log.sync("rates")
    appended(log, 2)
    assert log._is_level("rates")
    path = tmp_path / "plans" / "rates" / EXPORT
    text = path.read_text()
    path.write_text(text.replace("risk 1", "RISK 1"))
    with pytest.raises(EventLogError, match="differ"):
        log.sync("rates")
    path.write_text(text)
    log.sync("rates")
    log.close()


def test_an_event_of_another_machine_while_lines_are_read_is_not_overlooked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database_for("postgres") as url:
        here, there, *_ = machines(tmp_path, url)
        mine, other = log_in(here, database=url), log_in(there, database=url)
        other.append("rates", "risk.recorded", risk(1), key="1")
        lines = mine._lines

        def overtaken(connection: Any, plan: str) -> Any:
            found = list(lines(connection, plan))
            other.append("rates", "risk.recorded", risk(2), key="2")
            return found

        monkeypatch.setattr(mine, "_lines", overtaken)
        mine.sync("rates")
        monkeypatch.undo()
        assert mine.append("rates", "risk.recorded", risk(3), key="3")[1]
        assert len(read_lines(export(here).read_text("utf-8"))[0]) == len(mine.events("rates"))
        mine.close()
        other.close()
