"""Who did it: principals of events, old and new, and who counts as a person."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from hornbook.errors import NotAPerson
from hornbook.plans.events import START, canonical, digest, next_event, read_event, verify
from hornbook.plans.log import EventLog
from hornbook.plans.principal import (
    LOOP,
    Principal,
    PrincipalKind,
    Via,
    agent,
    at_command_line,
    require_human,
    why_no_human,
)

NOW = "2026-11-16T08:00:00Z"
RISK = {"id": "R1", "severity": "low", "text": "it may rain"}
OLD = {
    "schema": 1,
    "plan": "rates",
    "seq": 1,
    "kind": "risk.recorded",
    "at": NOW,
    "key": "a",
    "actor": "user",
    "data": RISK,
    "previous": START,
}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(
        ["git", "-C", str(tmp_path), "config", "user.email", "ann@example.org"], check=True
    )
    (tmp_path / ".hornbook").mkdir()
    return tmp_path / ".hornbook"


def old_line() -> str:
    return canonical({**OLD, "hash": digest(OLD)})


def test_an_old_event_stays_valid_and_names_who_acted_as_far_as_it_knows() -> None:
    event = read_event(old_line())
    assert event.principal == Principal("user", PrincipalKind.LOCAL, Via.UNKNOWN)
    assert verify([event]) is None


def test_a_new_event_chains_onto_an_old_one() -> None:
    old = read_event(old_line())
    new = next_event(old, plan="rates", kind="risk.recorded", data=RISK, key="b", by=LOOP, at=NOW)
    assert verify([old, read_event(new.line)]) is None
    assert json.loads(new.line)["principal"] == {
        "id": "engine:loop",
        "kind": "engine",
        "via": "engine",
        "request": None,
    }


def test_another_principal_is_another_hash() -> None:
    made = next_event(None, plan="p", kind="k", data={}, key="b", by=agent("codex"), at=NOW)
    facts = json.loads(made.line)
    forged = {**facts, "actor": "human:eve", "principal": {**facts["principal"], "id": "human:eve"}}
    event = read_event(canonical(forged))
    fault = verify([event])
    assert fault is not None
    assert "hash" in fault.message


@pytest.mark.parametrize(
    "wrong",
    [
        {"actor": "human:eve"},
        {"principal": None},
        {"principal": {"id": "agent:codex"}},
        {"principal": {"id": "agent:codex", "kind": "boss", "via": "cli", "request": None}},
        {"principal": {"id": "agent:codex", "kind": "agent", "via": "cli", "request": 1}},
    ],
)
def test_a_principal_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    made = next_event(None, plan="p", kind="k", data={}, key="b", by=agent("codex"), at=NOW)
    with pytest.raises(ValueError, match="principal"):
        read_event(canonical({**json.loads(made.line), **wrong}))


def test_the_owner_at_the_command_line_is_a_person_by_gits_address(state: Path) -> None:
    assert at_command_line(state, {}) == Principal(
        "human:ann@example.org", PrincipalKind.HUMAN, Via.CLI
    )


@pytest.mark.parametrize("mark", ["HORNBOOK_ROLE", "HORNBOOK_CONFINED", "HORNBOOK_GATE_RUN"])
def test_inside_a_role_a_confinement_or_a_gate_nobody_is_a_person(state: Path, mark: str) -> None:
    found = at_command_line(state, {mark: "developer"})
    assert found == Principal(f"local:{os.getuid()}", PrincipalKind.LOCAL, Via.LOCAL)
    assert why_no_human(state, {mark: "developer"}) is not None


def test_without_an_address_nobody_is_a_person_and_the_remedy_is_told(state: Path) -> None:
    subprocess.run(["git", "-C", str(state.parent), "config", "user.email", ""], check=True)
    assert at_command_line(state, {}).kind is PrincipalKind.LOCAL
    assert "git config user.email" in str(why_no_human(state, {}))
    with pytest.raises(NotAPerson, match=r"git config user\.email"):
        require_human(at_command_line(state, {}), "answer a run", state)


def test_whoever_owns_nothing_is_no_person(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: state.stat().st_uid + 1)
    assert "another account" in str(why_no_human(state, {}))


def test_a_log_notes_who_runs_the_process_unless_it_is_told(state: Path) -> None:
    log = EventLog(state, lambda: NOW)
    mine, _ = log.append("rates", "risk.recorded", RISK, key="a")
    theirs, _ = log.append("rates", "risk.recorded", RISK, key="b", by=agent("codex"))
    log.close()
    assert (mine.actor, theirs.actor) == ("human:ann@example.org", "agent:codex")
