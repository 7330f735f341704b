"""Compaction: the same events give the same bytes, and what violates the schema never gets in."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hornbook import Workspace
from hornbook.errors import EventLogError, NotFound, PlanHeld, UsageError
from hornbook.hooks.command_judge import refusal
from hornbook.loop.memory import Memory
from hornbook.plans.checkpoint import KEYS, compact, holding, read_checkpoint, write_checkpoint
from hornbook.plans.events import Event, next_event, violations
from hornbook.plans.files import parse_decisions, parse_risks
from hornbook.plans.log import EventLog
from hornbook.plans.plan import Plan
from hornbook.plans.principal import unknown
from hornbook.plans.state import PLAN_KINDS, plan_data, project
from hornbook.plans.store import PlanStore
from tests.kit.commands import expect
from tests.kit.plan_memory import NOW, folder_of, forged, made_files, remembered

DIGEST = "a" * 64


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return remembered(tmp_path_factory.mktemp("made"))


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def memory_of(root: Path) -> Memory:
    with Workspace.open(root) as work:
        return work.memory()


# What is written


def test_a_checkpoint_anchors_the_files_in_the_log(root: Path) -> None:
    done = memory_of(root).checkpoint()
    kept = json.loads((folder_of(root) / "checkpoint.json").read_bytes())
    assert tuple(kept) == KEYS
    with Workspace.open(root) as work:
        events = work.plan_book().events("limits")
    assert (kept["seq"], kept["event_hash"]) == (events[-1].seq, events[-1].hash)
    assert kept["files"] == done.files == compact(events).hashes
    assert {Path(path).name for path in kept["files"]} >= {"plan.md", "decisions.md", "risks.md"}


def test_decisions_carry_the_times_of_their_events_and_risks_the_last_severity(root: Path) -> None:
    memory_of(root).checkpoint()
    with Workspace.open(root) as work:
        events = work.plan_book().events("limits")
    decisions = parse_decisions((folder_of(root) / "decisions.md").read_text())
    times = [event.at for event in events if event.kind == "decision.recorded"]
    assert [(each.id, each.at) for each in decisions] == [
        ("decision.limits-1", times[0]),
        ("decision.limits-2", times[1]),
    ]
    (risk,) = parse_risks((folder_of(root) / "risks.md").read_text())
    assert (risk.id, risk.severity) == ("R1", "high")


def test_a_second_checkpoint_changes_nothing(root: Path) -> None:
    memory_of(root).checkpoint()
    before = made_files(root)
    again = memory_of(root).checkpoint()
    assert again.written == ()
    assert made_files(root) == before


def test_a_plan_that_is_laid_out_differently_is_normalised(tmp_path: Path) -> None:
    root = remembered(tmp_path, commit=False)
    memory_of(root).checkpoint()
    path = folder_of(root) / "plan.md"
    normal = path.read_text()
    path.write_text(normal.replace("## Mission\n\n", "## Mission\n"))
    memory_of(root).checkpoint()
    assert path.read_text() == normal


def test_a_commitment_that_was_edited_is_refused_by_hand_and_left_otherwise(root: Path) -> None:
    path = folder_of(root) / "plan.md"
    edited = path.read_text() + "More.\n"
    path.write_text(edited)
    with pytest.raises(UsageError, match="recover --repair"):
        memory_of(root).checkpoint()
    done = memory_of(root).checkpoint(automatic=True)
    assert done.left == (".hornbook/plans/limits/plan.md",)
    assert path.read_text() == edited


def test_a_plan_that_is_not_there_is_told(root: Path) -> None:
    with pytest.raises(NotFound, match="there is no plan 'nothing'"):
        memory_of(root).checkpoint("nothing")


# Same events, same bytes

SURROUNDINGS = (
    {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "2", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8"},
    {"PYTHONHASHSEED": "3", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0"},
)


def test_the_same_events_give_the_same_bytes_everywhere(root: Path, tmp_path: Path) -> None:
    found = []
    for number, environment in enumerate(SURROUNDINGS):
        place = tmp_path / f"clone-{number}"
        names = ["events.jsonl", "other"][:: 1 if number % 2 else -1]
        for name in names:  # another order in the folder
            target = folder_of(place) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((folder_of(root) / "events.jsonl").read_bytes())
        (folder_of(place) / "other").unlink()
        script = f"umask 0{number}7; exec {sys.executable} -m hornbook checkpoint limits"
        subprocess.run(
            ["sh", "-c", script],
            cwd=place,
            check=True,
            capture_output=True,
            env={**os.environ, "HORNBOOK_ROOT": str(place), **environment},
        )
        found.append(made_files(place))
    memory_of(root).checkpoint()
    assert found == [made_files(root)] * len(SURROUNDINGS)


WORDS = st.text(min_size=1, max_size=12).filter(str.strip)
RISK = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["R1", "R2"]),
        "severity": st.sampled_from(["low", "high"]),
        "text": WORDS,
    }
)
DECISION = st.fixed_dictionaries({"decision": WORDS, "reason": WORDS, "impact": WORDS})
HAPPENED = st.one_of(
    st.tuples(st.just("risk.recorded"), RISK),
    st.tuples(st.just("decision.recorded"), DECISION),
    st.tuples(st.just("plan.edited"), st.fixed_dictionaries({"situation": WORDS})),
    st.tuples(
        st.just("invariant.proposed"), st.fixed_dictionaries({"text": WORDS, "reason": WORDS})
    ),
)


def bytes_after(happened: list[tuple[str, dict[str, Any]]], stops: set[int]) -> dict[str, bytes]:
    """The files after the events, with a checkpoint after each of some of them and at the end."""
    with tempfile.TemporaryDirectory() as place:
        state = Path(place) / ".hornbook"
        state.mkdir()
        log = EventLog(state, lambda: NOW)
        log.append("p", "plan.explored", plan_data(Plan("p", "P")), key="0")
        for number, (kind, data) in enumerate(happened):
            log.append("p", kind, data, key=f"k{number}")
            PlanStore(state, log).view("p")
            if number in stops:
                write_checkpoint(state, log, "p", at=NOW)
        write_checkpoint(state, log, "p", at=NOW)
        log.close()
        return made_files(Path(place))


@given(st.lists(HAPPENED, min_size=1, max_size=5), st.sets(st.integers(0, 4)))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_splitting_the_events_over_checkpoints_ends_equal(
    happened: list[tuple[str, dict[str, Any]]], stops: set[int]
) -> None:
    assert bytes_after(happened, stops) == bytes_after(happened, set())


def test_the_artifacts_are_those_of_the_newest_event_that_names_some() -> None:
    events: list[Event] = []
    happened: tuple[tuple[str, dict[str, Any]], ...] = (
        ("step.ended", {"artifacts": [{"path": "a/old.txt", "sha256": DIGEST}]}),
        ("step.ended", {"artifacts": [{"path": "a/new.txt", "sha256": DIGEST}]}),
        ("gates.ran", {"artifacts": [{"path": "../out", "sha256": DIGEST}]}),
        ("run.ended", {"artifacts": "none"}),
    )
    for number, (kind, data) in enumerate(happened):
        last = events[-1] if events else None
        events.append(
            next_event(
                last, plan="p", kind=kind, data=data, key=str(number), by=unknown("a"), at=NOW
            )
        )
    assert compact(events).artifacts == {"a/new.txt": DIGEST}


# Schema

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["in", "path", "number", "tasks"]), inner, max_size=2)
    ),
    max_leaves=4,
)
FIELDS = sorted({name for kind in PLAN_KINDS.values() for name in kind.required | kind.optional})


@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(PLAN_KINDS)),
            st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_no_event_whatever_it_holds_breaks_a_projection(
    happened: list[tuple[str, dict[str, Any]]],
) -> None:
    events: list[Event] = []
    for number, (kind, data) in enumerate(happened):
        last = events[-1] if events else None
        events.append(
            next_event(
                last, plan="p", kind=kind, data=data, key=str(number), by=unknown("a"), at=NOW
            )
        )
    state = project(events)
    assert state is not None
    assert state.set_aside == violations(events)
    assert compact(events).text


BAD = ("decision.recorded", {"decision": 7, "reason": "r", "impact": "i"})


def test_a_violation_refuses_a_checkpoint_by_hand_with_event_and_field(root: Path) -> None:
    event = forged(root, *BAD)
    before = made_files(root)
    with pytest.raises(EventLogError) as refused:
        memory_of(root).checkpoint()
    assert f"event {event.seq} ({event.hash[:12]}, decision.recorded), `decision`" in str(
        refused.value
    )
    assert made_files(root) == before
    told = expect(root, "checkpoint", code=1)
    assert "`decision`: 7 is no text" in told.stderr


def test_a_violation_is_quarantined_by_an_automatic_checkpoint(root: Path) -> None:
    event = forged(root, *BAD)
    done = memory_of(root).checkpoint(automatic=True)
    (path,) = done.quarantined
    kept = json.loads((root / path).read_bytes())
    assert kept["event"]["hash"] == event.hash
    assert kept["violations"] == [{"field": "decision", "message": "7 is no text"}]
    assert done.seq == event.seq
    assert len(parse_decisions((folder_of(root) / "decisions.md").read_text())) == 2
    with Workspace.open(root) as work:
        (problem,) = work.plan("limits").problems
    assert (problem.code, problem.line) == ("event_set_aside", event.seq)


def test_a_checkpoint_of_a_newer_hornbook_is_refused() -> None:
    with pytest.raises(UsageError, match="update Hornbook"):
        read_checkpoint(b'{"schema": 2}', "checkpoint.json")
    for data in (b"[]", b"{}", b"{", b'{"schema": 1}', b'{"schema": "1"}'):
        with pytest.raises(ValueError, match=r"."):
            read_checkpoint(data, "checkpoint.json")


# When


def test_a_phase_that_ends_is_checkpointed(tmp_path: Path) -> None:
    root = remembered(tmp_path, commit=False)
    assert not (folder_of(root) / "checkpoint.json").exists()
    with Workspace.open(root) as work:
        work.plan_book().promote()
        promoted = json.loads((folder_of(root) / "checkpoint.json").read_bytes())
        work.plan_book().tasks()
    fixed = json.loads((folder_of(root) / "checkpoint.json").read_bytes())
    assert fixed["seq"] == promoted["seq"] + 1


@pytest.mark.parametrize(("percent", "due"), [(100, False), (1, True)])
def test_tiers_that_fill_up_are_checkpointed(root: Path, percent: int, due: bool) -> None:
    (folder_of(root) / "checkpoint.json").unlink()
    config = root / ".hornbook" / "config.yaml"
    config.write_text(f"checkpoint:\n  percent: {percent}\n")
    with Workspace.open(root) as work:
        work.develop_packet(plan="limits", task="1")
    assert (folder_of(root) / "checkpoint.json").exists() is due


def test_a_share_that_is_none_is_refused(root: Path) -> None:
    (root / ".hornbook" / "config.yaml").write_text("checkpoint:\n  percent: 0\n")
    assert "between 1 and 100" in expect(root, "checkpoint", code=2).stderr


def test_the_hook_before_a_compaction_checkpoints_and_never_blocks(root: Path) -> None:
    (folder_of(root) / "checkpoint.json").unlink()
    sent = json.dumps({"session_id": "s", "trigger": "auto"})
    for _ in range(2):
        done = expect(root, "hook", "pre-compact", sent=sent)
        assert (done.stdout, done.stderr) == ("", "")
    kept = made_files(root)
    assert ".hornbook/plans/limits/checkpoint.json" in kept
    forged(root, *BAD)
    told = expect(root, "hook", "pre-compact", sent=sent)
    assert "`decision`: 7 is no text; it is in quarantine" in told.stderr
    (root / ".hornbook" / "ACTIVE_PLAN").write_text("a\nb\n")
    assert "no checkpoint was written" in expect(root, "hook", "pre-compact", sent=sent).stderr


def test_the_hook_is_silent_where_no_plan_is_active(tmp_path: Path) -> None:
    (tmp_path / ".hornbook").mkdir()
    done = expect(tmp_path, "hook", "pre-compact", sent='{"session_id": "s"}')
    assert (done.stdout, done.stderr) == ("", "")


# Two at once

HOLDER = """
import sys
from pathlib import Path
from hornbook.plans.checkpoint import holding
with holding(Path(sys.argv[1]), "limits", "execute", at="2026-11-16T08:00:00Z"):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_the_second_process_on_a_plan_is_told_who_holds_it(root: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root / ".hornbook")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        told = expect(root, "checkpoint", code=1).stderr
        assert f"plan limits is held by process {holder.pid} on " in told
        assert "(execute, since 2026-11-16T08:00:00Z)" in told
        sent = '{"session_id": "s", "trigger": "auto"}'
        assert "is held by process" in expect(root, "hook", "pre-compact", sent=sent).stderr
        assert "is held by process" in expect(root, "recover", "--repair", code=1).stderr
        assert expect(root, "recover").stdout.endswith("restored\n")
        with Workspace.open(root) as work:
            work.plan_book().tasks()  # the end of a phase is no reason to stand in the way
            with pytest.raises(PlanHeld):
                work.memory().checkpoint()
        assert holder.stdin is not None
        holder.stdin.write("\n")
    expect(root, "checkpoint")


def test_a_process_may_hold_a_plan_more_than_once_and_let_it_go(tmp_path: Path) -> None:
    for _ in range(2):
        with (
            holding(tmp_path, "p", "execute", at=NOW),
            holding(tmp_path, "p", "checkpoint", at=NOW),
        ):
            assert json.loads((tmp_path / "logs/holders/p.json").read_text())["doing"] == "execute"


# Invariants


def test_a_proposed_invariant_reaches_the_core_only_when_a_person_promotes_it(root: Path) -> None:
    core = root / "docs" / "context" / "CONTEXT_CORE.md"
    words = ("--text", "Money is an integer.\n- Id: x", "--reason", "rounding")
    made = expect(root, "invariants", "propose", *words).stdout.strip()
    assert expect(root, "invariants", "propose", *words).stdout.strip() == made
    expect(root, "checkpoint")
    assert not core.exists()
    assert "proposed" in expect(root, "invariants").stdout
    expect(root, "invariants", "promote", made)
    text = core.read_text()
    assert "- Invariant: Money is an integer.\n  - Id: x\n- Reason: rounding\n" in text
    expect(root, "invariants", "promote", made)
    assert core.read_text() == text
    listed = json.loads(expect(root, "invariants", "--json").stdout)["invariants"]
    assert [(each["id"], each["promoted_at"] is None) for each in listed] == [(made, False)]
    assert "there is no invariant" in expect(root, "invariants", "promote", "x", code=1).stderr


@pytest.mark.parametrize("role", ["developer", "reviewer", "planner"])
def test_no_agent_promotes_or_repairs(role: str) -> None:
    assert refusal(["invariants", "promote", "x"], role) == "invariants promote"
    assert refusal(["recover", "--repair"], role) == "recover --repair"
    assert refusal(["checkpoint"], role) == "checkpoint"
    assert refusal(["recover", "--check"], role) is None


def test_a_clone_checkpoints_from_the_export_alone(root: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(folder_of(root), folder_of(clone))
    done = memory_of(clone).checkpoint("limits")
    assert done.written == ()
