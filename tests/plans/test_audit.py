"""Who did what, from the logs of all plans, and what shows that a log is not whole."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree

import pytest
from click.testing import CliRunner, Result

from hornbook.cli.app import app
from hornbook.errors import EventLogError, UsageError
from hornbook.loop.verification import verify_state
from hornbook.plans.audit.audit_log import AuditFilter, AuditLog, read_head, since_of
from hornbook.plans.audit.dropped_logs import dropped_after, note_dropped
from hornbook.plans.events import read_lines
from hornbook.plans.log import EventLog, LogMemory
from hornbook.plans.plan import Plan
from hornbook.plans.principal import Principal, PrincipalKind, Via
from hornbook.plans.run_costs import CostBook, RunCost
from hornbook.plans.run_kinds import kinds_for
from hornbook.plans.state import plan_data
from hornbook.plans.workspace_log import open_log
from hornbook.workspace import Workspace
from tests.kit.git import git, start

TOKEN = Principal("token:rel", PrincipalKind.TOKEN, Via.TOKEN, "r1")
ANN = Principal("human:ann", PrincipalKind.HUMAN, Via.TOKEN, "r2")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    start(tmp_path, {"a.txt": "a\n"})
    with Workspace.open(tmp_path) as work:
        work.plan_book(TOKEN).explore("One")
        work.plan_book(ANN).explore("Two")
        work.plan_book(ANN).decide("two", decision="Use Go", reason="fast", impact="all")
    return tmp_path


def audited(root: Path) -> AuditLog:
    with Workspace.open(root) as work:
        return AuditLog(work.places, work.settings)


def cli(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["--root", str(root), "audit", *arguments])


def export(root: Path, plan: str) -> Path:
    return root / ".hornbook/plans" / plan / "events.jsonl"


def test_every_event_names_who_and_how_they_were_known(root: Path) -> None:
    found = audited(root).events(AuditFilter())
    told = [(each.plan, each.kind, each.principal.id, each.principal.via) for each in found.events]
    assert told == [
        ("one", "plan.explored", "token:rel", "token"),
        ("two", "plan.explored", "human:ann", "token"),
        ("two", "decision.recorded", "human:ann", "token"),
    ]
    assert found.verified
    assert len({each.repository for each in found.events}) == 1
    assert found.events[0].repository


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (AuditFilter(principal="token:rel"), 1),
        (AuditFilter(principal="human"), 2),
        (AuditFilter(principal="nobody"), 0),
        (AuditFilter(kind="plan"), 2),
        (AuditFilter(kind="plan.explored", plan="two"), 1),
        (AuditFilter(kind="pla"), 0),
        (AuditFilter(plan="plan.one"), 1),
        (AuditFilter(since="2999-01-01"), 0),
    ],
)
def test_events_are_found_by_who_what_where_and_when(
    root: Path, wanted: AuditFilter, count: int
) -> None:
    assert len(audited(root).events(wanted).events) == count


def test_a_page_verifies_only_what_was_added_since_the_one_before(root: Path) -> None:
    memory = LogMemory()
    with Workspace.open(root) as work:
        log = AuditLog(work.places, work.settings, memory)
        log.events(AuditFilter())
        before = dict(memory.verified)
        work.plan_book(ANN).explore("Three")
        assert len(log.events(AuditFilter()).events) == 4
    assert all(memory.verified[plan] is known for plan, known in before.items())
    assert [*memory.verified] == ["one", "two", "three"]


def test_pages_go_on_where_the_one_before_ended(root: Path) -> None:
    whole = audited(root).events(AuditFilter())
    first = whole.page(2, None)
    rest = whole.page(2, first.next)
    assert (first.total, len(first.items), len(rest.items), rest.next) == (3, 2, 1, None)
    assert first.items + rest.items == whole.events
    with pytest.raises(UsageError, match="next"):
        whole.page(2, "no-such-hash")


def test_a_span_a_day_and_a_time_say_since_when() -> None:
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert since_of("7d", moment) == "2026-01-24T12:00:00.000Z"
    assert since_of("2026-01-30", moment) == "2026-01-30T00:00:00.000Z"
    assert since_of("2026-01-30T02:00:00+02:00", moment) == "2026-01-30T00:00:00.000Z"
    with pytest.raises(UsageError, match="7d"):
        since_of("yesterday", moment)


def test_the_command_prints_json_and_csv(root: Path) -> None:
    told = json.loads(cli(root, "--json", "--principal", "token").stdout)
    assert (told["verified"], [each["actor"] for each in told["events"]]) == (True, ["token:rel"])
    rows = list(csv.reader(io.StringIO(cli(root, "--csv").stdout)))
    assert rows[0] == ["at", "principal", "via", "kind", "plan"]
    assert len(rows) == 4
    assert isinstance(cli(root, "--csv", "--json").exception, UsageError)


def test_an_altered_event_is_seen(root: Path) -> None:
    path = export(root, "two")
    path.write_text(path.read_text().replace("Use Go", "Use Rust"))
    result = cli(root, "verify", "--json")
    assert result.exit_code == 1
    codes = {each["code"] for each in json.loads(result.stdout)["problems"]}
    assert codes == {"chain_broken"}
    assert not audited(root).events(AuditFilter()).verified
    assert cli(root).exit_code == 1


def test_a_log_that_was_cut_is_seen_against_a_head_alone(root: Path, tmp_path: Path) -> None:
    head = tmp_path / "head.json"
    assert cli(root, "verify", "--write-head", str(head)).exit_code == 0
    assert cli(root, "verify", "--head", str(head)).exit_code == 0
    first, _ = export(root, "two").read_text().splitlines(keepends=True)
    export(root, "two").write_text(first)
    (root / ".hornbook/events.db").unlink()
    assert audited(root).verify().ok  # a shorter chain is a chain
    (problem,) = audited(root).verify(read_head(head)).problems
    assert (problem.code, "had 2" in problem.message) == ("cut", True)


def test_a_log_that_was_written_anew_or_is_gone_is_seen(root: Path, tmp_path: Path) -> None:
    head = tmp_path / "head.json"
    cli(root, "verify", "--write-head", str(head))
    (root / ".hornbook/events.db").unlink()
    export(root, "one").unlink()
    export(root, "two").unlink()
    with Workspace.open(root) as work:
        book = work.plan_book(ANN)
        for file in (root / ".hornbook/plans/two").iterdir():
            file.unlink() if file.is_file() else None
        book.explore("Two")
        book.decide("two", decision="Use Rust", reason="safe", impact="all")
    found = audited(root).verify(read_head(head)).problems
    assert sorted(each.code for each in found) == ["cut", "rewritten"]


def test_a_head_that_was_altered_is_refused(root: Path, tmp_path: Path) -> None:
    head = tmp_path / "head.json"
    cli(root, "verify", "--write-head", str(head))
    head.write_text(head.read_text().replace('"seq": 2', '"seq": 1'))
    with pytest.raises(UsageError, match="altered"):
        read_head(head)
    head.write_text("{}")
    with pytest.raises(UsageError, match="write-head"):
        read_head(head)


def test_where_nothing_happened_there_is_nothing(tmp_path: Path) -> None:
    assert audited(tmp_path).events(AuditFilter()).events == ()
    assert audited(tmp_path).verify().ok
    assert not (tmp_path / ".hornbook").exists()


def past(root: Path, *plans: str) -> None:
    """Plans that others replaced years ago, as if the clock had stood there."""
    with Workspace.open(root) as work:
        log = open_log(
            work.places, work.settings, lambda: "2020-01-02T03:04:05.000Z", principal=ANN
        )
        for plan in plans:
            data = plan_data(Plan(plan, plan.title()))
            log.append(plan, "plan.explored", data, key="explored")
            log.append(plan, "plan.promoted", {}, key="promoted")
            log.append(plan, "plan.superseded", {"by": "one"}, key="superseded")
        log.close()
    config = root / ".hornbook/config.yaml"
    config.write_text("audit:\n  keep_days: 400\n")


def test_a_log_past_its_time_is_dropped_and_its_head_is_kept(root: Path, tmp_path: Path) -> None:
    past(root, "old", "older")
    head = tmp_path / "head.json"
    assert cli(root, "verify", "--write-head", str(head)).exit_code == 0
    assert (
        "old: 3 events to 2020-01-02T03:04:05.000Z; would go"
        in cli(root, "drop", "--dry-run").stdout
    )
    assert export(root, "old").exists()
    told = json.loads(cli(root, "drop", "--json").stdout)
    assert [each["plan"] for each in told["dropped"]] == ["old", "older"]
    assert not export(root, "old").parent.exists()
    found = audited(root).events(AuditFilter())
    assert (found.verified, found.dropped, {each.plan for each in found.events}) == (
        True,
        2,
        {"one", "two"},
    )
    check = audited(root).verify(read_head(head))
    assert (check.ok, len(check.dropped)) == (False, 2)
    assert [(each.code, each.path) for each in check.problems] == [
        ("dropped_since", ".hornbook/dropped.jsonl")
    ] * 2
    told_of = "line 1: the log of plan old, 3 events to 2020-01-02T03:04:05.000Z, was dropped at "
    assert check.problems[0].message.startswith(told_of)
    cli(root, "verify", "--write-head", str(head))
    assert audited(root).verify(read_head(head)).ok
    assert check.since == found.events[0].at
    lines = cli(root, "verify").stdout.splitlines()
    assert lines[0] == "old: 3 events to 2020-01-02T03:04:05.000Z not kept any more"
    assert lines[-1] == f"3 events since {check.since}, 0 problems"
    assert cli(root, "drop").stdout == "no log is past its time\n"
    with Workspace.open(root) as work:
        assert [view.plan.slug for view in work.plan_book().views()] == ["one", "two"]
        assert verify_state(work.places, work.settings).problems == ()


def test_the_list_of_dropped_logs_is_a_chain(root: Path, tmp_path: Path) -> None:
    past(root, "old", "older")
    cli(root, "drop")
    head = tmp_path / "head.json"
    cli(root, "verify", "--write-head", str(head))
    listed = root / ".hornbook/dropped.jsonl"
    first, second = listed.read_text().splitlines(keepends=True)
    for text, code in (
        (first, "cut"),
        (second, "chain_broken"),
        (first.replace("old", "odd") + second, "chain_broken"),
    ):
        listed.write_text(text)
        assert code in {each.code for each in audited(root).verify(read_head(head)).problems}
    assert not audited(root).events(AuditFilter()).verified
    assert isinstance(cli(root, "drop").exception, EventLogError)
    listed.write_text(first + second)
    assert audited(root).verify(read_head(head)).ok


def test_a_log_stays_while_something_of_its_plan_is_in_force(root: Path) -> None:
    past(root, "old", "decided", "active")
    with Workspace.open(root) as work:
        log = open_log(
            work.places, work.settings, lambda: "2020-01-03T00:00:00.000Z", principal=ANN
        )
        data = {"decision": "Use Go", "reason": "fast", "impact": "all"}
        log.append("decided", "decision.recorded", data, key="d1")
        log.append("idea", "plan.explored", plan_data(Plan("idea", "Idea")), key="explored")
        log.close()
    (root / ".hornbook/ACTIVE_PLAN").write_text("active\n")
    lines = cli(root, "drop").stdout.splitlines()
    assert [line.partition("; ")[2] for line in lines] == [
        "stays: it is the active plan",
        "stays: its decision decision.decided-1 stands",
        "stays: it was never committed",
        "dropped",
    ]


def paid(root: Path, plan: str, day: str, *, agreed: bool = False) -> None:
    """Add a payment of 25 cents to a log, and that a person agreed to more after it."""
    with Workspace.open(root) as work:
        log = EventLog(
            work.places.state, lambda: f"{day}T00:00:00.000Z", kinds=kinds_for(()), principal=ANN
        )
        at = {"run": "run-1", "round": 1, "number": 1}
        told = {"key": plan, "cost": 0.25}
        log.append(plan, "agent.told", {**at, "execution": 1, "told": told}, key="told")
        if agreed:
            said = {"text": "Go on.", "asked": "why", "about": "cost", "scope": "repository"}
            log.append(plan, "run.answered", {**at, **said}, key="answered")
        log.close()


def test_a_log_stays_while_its_costs_count_for_the_limit_of_the_repository(root: Path) -> None:
    past(root, "early", "agreed", "late", "free")
    paid(root, "early", "2020-02-01")
    paid(root, "agreed", "2020-02-02", agreed=True)
    paid(root, "late", "2020-02-03")
    config = root / ".hornbook/config.yaml"
    kept = config.read_text()
    config.write_text(f"{kept}engine:\n  cost: {{repository: 100}}\n")
    book = CostBook()
    with Workspace.open(root) as work:
        log = open_log(work.places, work.settings, lambda: "2026-01-01T00:00:00.000Z")
    assert book.read(log).spent("repository").amounts == (RunCost(0.25, "USD"),)
    lines = cli(root, "drop").stdout.splitlines()
    assert [line.partition("; ")[2] for line in lines] == [
        "stays: in it a person last agreed to more than `engine.cost.repository`",
        "dropped",
        "dropped",
        "stays: what its agents cost counts for `engine.cost.repository`",
    ]
    for each in (book, CostBook()):
        assert each.read(log).spent("repository").amounts == (RunCost(0.25, "USD"),)
        assert len(each.read(log).payments) == 2, "what is gone is not counted from memory"
    log.close()
    config.write_text(kept)  # without the limit nothing counts for it
    assert [each["plan"] for each in json.loads(cli(root, "drop", "--json").stdout)["dropped"]] == [
        "agreed",
        "late",
    ]


def test_without_the_setting_nothing_is_dropped(root: Path) -> None:
    failed = cli(root, "drop").exception
    assert isinstance(failed, UsageError)
    assert "keep_days" in str(failed)


def rows(root: Path, plan: str) -> int:
    with closing(sqlite3.connect(root / ".hornbook/events.db")) as database:
        asked = "SELECT count(*) FROM hornbook_events WHERE plan = ?"
        (found,) = database.execute(asked, (plan,)).fetchone()
    return int(found)


def forged(root: Path, plan: str, principal: str = "human:ann") -> None:
    """Somebody writes that a log was dropped, and removes the plan's folder."""
    events, _ = read_lines(export(root, plan).read_text())
    note_dropped(
        root / ".hornbook", dropped_after(None, events, at=events[-1].at, principal=principal)
    )
    rmtree(export(root, plan).parent)


@pytest.mark.parametrize(
    ("plan", "principal", "why"),
    [
        ("two", "human:ann", "its decision decision.two-1 stands"),
        ("old", "agent:codex", "agent:codex is no person"),
    ],
)
def test_a_line_that_cannot_be_true_hides_no_plan_and_is_told_without_a_head(
    root: Path, plan: str, principal: str, why: str
) -> None:
    past(root, "old")
    forged(root, plan, principal)
    with Workspace.open(root) as work:
        assert plan in [view.plan.slug for view in work.plan_book().views()]
    (problem,) = audited(root).verify().problems
    assert (problem.code, why in problem.message) == ("dropped_untrue", True)


def test_a_line_that_git_refutes_is_told_where_no_table_is(root: Path) -> None:
    git(root, "add", ".")
    git(root, "commit", "-qm", "plans")
    forged(root, "two")
    (root / ".hornbook/events.db").unlink()
    for commit in (False, True):
        if commit:
            git(root, "add", "-A")
            git(root, "commit", "-qm", "gone")
        (problem,) = audited(root).verify().problems
        assert (problem.code, "decision.two-1 stands" in problem.message) == (
            "dropped_untrue",
            True,
        )
        with Workspace.open(root) as work:
            told = {each.code for each in verify_state(work.places, work.settings).problems}
        assert ("committed_file_missing" in told) is not commit


def test_a_line_that_can_be_true_deletes_nothing_and_is_told(root: Path, tmp_path: Path) -> None:
    past(root, "old")
    head = tmp_path / "head.json"
    cli(root, "verify", "--write-head", str(head))
    forged(root, "old")
    with Workspace.open(root) as work:
        assert [view.plan.slug for view in work.plan_book().views()] == ["one", "two"]
        with pytest.raises(UsageError, match="choose another title"):
            work.plan_book(ANN).explore("Old")
    assert rows(root, "old") == 3
    assert [each.code for each in audited(root).verify().problems] == ["dropped_and_here"]
    told = audited(root).verify(read_head(head)).problems
    assert [each.code for each in told] == ["dropped_and_here", "dropped_since"]
    (root / ".hornbook/dropped.jsonl").unlink()
    assert len(audited(root).events(AuditFilter(plan="old")).events) == 3
    assert audited(root).verify(read_head(head)).ok


def test_a_line_that_is_older_than_a_head_excuses_no_log_of_the_same_name(
    root: Path, tmp_path: Path
) -> None:
    past(root, "old")
    cli(root, "drop")
    with Workspace.open(root) as work:
        work.plan_book(ANN).explore("Old")
    head = tmp_path / "head.json"
    cli(root, "verify", "--write-head", str(head))
    rmtree(export(root, "old").parent)
    (root / ".hornbook/events.db").unlink()
    (problem,) = audited(root).verify(read_head(head)).problems
    assert (problem.code, problem.path) == ("cut", ".hornbook/plans/old/events.jsonl")


def test_a_clone_hides_what_another_one_dropped_until_it_drops_too(root: Path) -> None:
    past(root, "old")
    database = root / ".hornbook/events.db"
    audited(root).events(AuditFilter())
    kept = database.read_bytes()
    cli(root, "drop")
    database.write_bytes(kept)  # as where only git brought what the other did
    assert {each.plan for each in audited(root).events(AuditFilter()).events} == {"one", "two"}
    assert not export(root, "old").exists()
    assert rows(root, "old") == 3
    listed = (root / ".hornbook/dropped.jsonl").read_bytes()
    assert cli(root, "drop").stdout.endswith("; dropped\n")
    assert rows(root, "old") == 0
    assert (root / ".hornbook/dropped.jsonl").read_bytes() == listed
