"""Whether an agent can work here: each thing that it needs, and what a call proves."""

import json
import os
from pathlib import Path

import pytest

from hornbook.agents.assignment import Role
from hornbook.agents.command import CommandAgent
from hornbook.agents.crew import profile_of
from hornbook.errors import EngineError, UsageError
from hornbook.loop.agent_readiness import (
    AgentReadiness,
    check_agent,
    list_agents,
    tell_readiness,
)
from hornbook.loop.configured_agents import Appointment
from hornbook.process.confinement import Machine
from hornbook.settings.load import parse_settings
from hornbook.settings.places import Places
from hornbook.settings.settings import SHIPPED, Settings
from tests.kit.commands import answer as printed_json
from tests.kit.git import start

OURS = parse_settings(b"agents: {ours: {command: ours, inherits: [OURS_KEY]}}")
BARE = Machine(None, 0, apart=False)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    start(tmp_path, {"a.py": "pass\n"})
    for name in ("home", "bin"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name in [each for each in os.environ if each.endswith(("_KEY", "_TOKEN"))]:
        monkeypatch.delenv(name)
    return tmp_path


def install(place: Path, body: str) -> None:
    program = place / "bin/ours"
    program.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo 'ours 1.2' && exit\n{body}\n")
    program.chmod(0o755)


def check(place: Path, name: str = "ours", *, call: bool = True) -> AgentReadiness:
    return check_agent(Places(place), OURS, name, call=call, machine=BARE)


def statuses(found: AgentReadiness) -> dict[str, str]:
    return {each.name: str(each.status) for each in found.checks}


def test_an_answer_proves_the_login(place: Path) -> None:
    install(place, """echo '{"ready": true}'""")
    found = check(place)
    assert found.ready
    assert statuses(found) == {
        "program": "passed",
        "version": "passed",
        "login": "passed",
        "schema": "skipped",
        "confinement": "skipped",
        "call": "passed",
    }
    assert found.checks[1].message == "ours 1.2"


def test_without_a_call_a_key_must_be_there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(place, "exit 1")
    missing = check(place, call=False)
    assert not missing.ready
    assert statuses(missing)["login"] == "failed"
    monkeypatch.setenv("OURS_KEY", "secret")
    found = check(place, call=False)
    assert found.ready
    assert statuses(found)["call"] == "skipped"
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("body", "told"),
    [("echo 'not logged in' >&2; exit 1", "not logged in"), ("echo hello", "something else")],
)
def test_a_call_that_fails_says_why(place: Path, body: str, told: str) -> None:
    install(place, body)
    found = check(place)
    assert not found.ready
    assert told in found.checks[-1].message
    assert found.checks[-1].remedy


def test_a_missing_program_is_named_and_nobody_is_called(place: Path) -> None:
    found = check(place)
    assert statuses(found)["program"] == "failed"
    assert statuses(found)["call"] == "skipped"
    assert "config.yaml" in found.checks[0].remedy


def test_a_model_needs_its_key(place: Path) -> None:
    found = check_agent(Places(place), Settings(), "claude-opus", call=False)
    (login,) = [each for each in found.checks if each.name == "login"]
    assert login.status == "failed"
    assert "ANTHROPIC_API_KEY" in login.message
    with pytest.raises(UsageError, match="no agent and no model 'nobody'"):
        check_agent(Places(place), Settings(), "nobody", call=False)


@pytest.mark.parametrize(("setting", "status"), [("OURS_URL", "skipped"), ("OTHER_URL", "failed")])
def test_what_is_set_up_without_a_key_may_be_logged_in_all_the_same(
    place: Path, monkeypatch: pytest.MonkeyPatch, setting: str, status: str
) -> None:
    install(place, "exit 1")
    monkeypatch.setenv(setting, "somewhere")
    settings = parse_settings(b"agents: {ours: {command: ours, inherits: ['OURS_*']}}")
    found = check_agent(Places(place), settings, "ours", call=False, machine=BARE)
    assert statuses(found)["login"] == status


def appointed(machine: Machine, *, network: str = "") -> list[Appointment]:
    own = f"agents: {{ours: {{command: ours, inherits: [OURS_KEY], network: [{network}]}}}}"
    profile = profile_of(parse_settings(own.encode()).agents, "ours")
    assert profile is not None
    agent = CommandAgent(profile, Path("logs"), machine=machine)
    return [
        Appointment(Role.DEVELOPER, agent, None, blind=True),
        Appointment(Role.REVIEWER, agent, None),
    ]


@pytest.mark.parametrize(
    ("machine", "network", "told"),
    [
        (BARE, "", "network: host: no network of its own is possible here"),
        (Machine("bwrap", 0, apart=False), "", "network: host: "),
        (Machine("bwrap", 0, apart=True), "open", "network: open: "),
        (Machine("bwrap", 0, apart=True), "", None),
    ],
)
def test_before_the_start_it_is_told_who_works_and_whether_blindness_is_whole(
    place: Path, monkeypatch: pytest.MonkeyPatch, machine: Machine, network: str, told: str | None
) -> None:
    install(place, "echo called >called")
    monkeypatch.setenv("OURS_KEY", "secret")
    who, *more = tell_readiness(appointed(machine, network=network))
    assert who.startswith(f"developer and reviewer ours: {place / 'bin/ours'}, ours 1.2, OURS_KEY")
    assert [line.startswith(told or "-") for line in more] == [True] * (told is not None)


def test_whoever_cannot_work_is_refused_with_everything_that_is_missing(place: Path) -> None:
    with pytest.raises(EngineError) as refused:
        tell_readiness(appointed(BARE))
    first, second, last = str(refused.value).splitlines()
    assert "ours is not on PATH" in first
    assert "neither a key nor a log-in was found (OURS_KEY)" in second
    assert last == "nothing was begun, and nobody was asked."


def test_everybody_who_can_be_named_is_listed(place: Path) -> None:
    names = [each.name for each in list_agents(OURS)]
    assert names == ["ours", *SHIPPED, "embedded", "scripted"]
    assert {each.name for each in list_agents(OURS) if each.untried} == {"goose", "crush"}


def test_the_command_answers_and_exits_by_it(place: Path) -> None:
    found = printed_json(place, "agents", "check", "scripted", "--json")
    assert (found["agent"], found["ready"]) == ("scripted", True)
    assert [set(each) for each in found["checks"]] == [{"name", "status", "message", "remedy"}] * 6
    listed = printed_json(place, "agents", "list", "--json")
    assert json.dumps(listed["agents"][-1]["name"]) == '"scripted"'
