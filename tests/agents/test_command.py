"""Coding agents' command lines, with real shell scripts in their place."""

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hornbook.agents.assignment import Answer, Assignment, Limits, Role, Subtask, nowhere
from hornbook.agents.command import RUN_ENDED, AgentSurroundings, CommandAgent
from hornbook.agents.command_output import (
    LONGEST,
    RATE_LIMITED,
    SERVER_DOWN,
    read_forms,
    read_printed,
    retry_after,
)
from hornbook.agents.crew import Workplace, choose_agents
from hornbook.agents.profile import Profile, own_profile, shipped
from hornbook.agents.script import Script
from hornbook.errors import ConfigError, UsageError
from hornbook.process.confinement import Machine, Means, this_machine
from hornbook.process.shell_command import LOG
from hornbook.settings.load import parse_settings
from hornbook.settings.models import Endpoint, Models
from hornbook.settings.settings import PLACEHOLDERS, SHIPPED, OwnCommand, Settings
from hornbook.settings.surroundings import HomeSettings
from tests.kit.paths import DOCS, PACKAGE
from tests.kit.waiting import SAFETY
from tests.kit.workspaces import write

UNCONFINED = Machine(None, 0, apart=False)
NO_MODELS = Models({}, {})

CLAUDE = """cat > "$HOME/prompt"; printf '%s\\n' "$@" > "$HOME/arguments"
echo 'print("done")' > made.py
cat <<'END'
{"type":"result","subtype":"success","is_error":false,"result":"Done.\\n```json\\n{\\"files\\": [\\"made.py\\"]}\\n```","num_turns":3,"total_cost_usd":0.0125,"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":7}}
END
exit 1"""
CODEX = """cat > "$HOME/prompt"; printf '%s\\n' "$@" > "$HOME/arguments"
echo "warning: not JSON"
cat <<END
{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"type":"reasoning","text":"thinking"}}
{"type":"item.completed","item":{"type":"agent_message","text":"first"}}
{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"$PWD/b.py"},{"path":"a.py"}]}}
{"type":"item.completed","item":{"type":"agent_message","text":"last"}}
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":50,"output_tokens":5}}
END"""
OPENCODE = """cat > "$HOME/prompt"; printf '%s\\n' "$@" > "$HOME/arguments"; echo "$OPENCODE_PERMISSION" > "$HOME/permission"
cat <<'END'
{"type":"step_start","part":{"type":"step-start"}}
{"type":"text","part":{"type":"text","text":"Hello "}}
{"type":"text","part":{"type":"text","text":"there"}}
{"type":"step_finish","part":{"cost":0.5,"tokens":{"input":10,"output":3,"reasoning":1,"cache":{"read":5,"write":0}}}}
{"type":"step_finish","part":{"cost":0.25,"tokens":{"input":1,"output":1}}}
END"""
GEMINI = """cat > "$HOME/prompt"; printf '%s\\n' "$@" > "$HOME/arguments"
echo "Loaded cached credentials."
cat <<'END'
{
  "response": "Hello",
  "stats": {"models": {"pro": {"api": {"totalRequests": 2}, "tokens": {"prompt": 20, "candidates": 4}},
                       "flash": {"api": {"totalRequests": 1}, "tokens": {"prompt": 2, "candidates": 1, "thoughts": 3}}}}
}
END"""
AIDER = """while [ $# -gt 0 ]; do [ "$1" = --message-file ] && cat "$2" > "$HOME/prompt"; echo "$1" >> "$HOME/arguments"; shift; done
printf 'Aider v1\\n\\033[32mEdited a.py\\033[0m\\nTokens: 2.3k sent, 1.1k cache hit, 150 received. Cost: $0.02 message, $0.02 session.\\n'"""
QWEN = """cat > "$HOME/prompt"; printf '%s\\n' "$@" > "$HOME/arguments"
cat <<'END'
{"type":"system","subtype":"init","tools":["read_file"],"model":"m1"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"thinking"}],"usage":{"input_tokens":120,"output_tokens":7}}}
{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"Hello","usage":{"input_tokens":240,"output_tokens":14,"cache_read_input_tokens":0,"total_tokens":254},"permission_denials":[]}
END"""
MINI = """while [ $# -gt 0 ]; do [ "$1" = --task ] && printf '%s' "$2" > "$HOME/prompt"; echo "$1" >> "$HOME/arguments"; shift; done
printf 'Task: do it\\n\\nExit:\\nHello\\n\\nSaved trajectory to here\\n'"""
GOOSE = """while [ $# -gt 0 ]; do [ "$1" = --instructions ] && cat "$2" > "$HOME/prompt"; echo "$1" >> "$HOME/arguments"; shift; done
echo Hello"""
CRUSH = """cat > "$HOME/prompt"; printf '%s\\n' "$@" > "$HOME/arguments"
echo Hello"""
STAND_INS = {
    "claude": CLAUDE,
    "codex": CODEX,
    "opencode": OPENCODE,
    "gemini": GEMINI,
    "aider": AIDER,
    "qwen-code": QWEN,
    "mini-swe-agent": MINI,
    "goose": GOOSE,
    "crush": CRUSH,
}
ONLY_CONFINED = {"crush", "mini-swe-agent"}
"""Those that have no mode that only reads."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, a folder to work in, and a folder of programs that is first on PATH."""
    for name in ("home", "work", "bin"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


def install(place: Path, name: str, body: str) -> None:
    program = place / "bin" / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)


def assignment(place: Path, **values: object) -> Assignment:
    basic = Assignment(
        key="run.1/task.auth.1/1/developer",
        role=Role.DEVELOPER,
        task_id="task.auth.1",
        attempt=1,
        folder=str(place / "work"),
        prompt="Do it.\n",
        limits=Limits(seconds=int(SAFETY)),
    )
    return replace(basic, **values)  # type: ignore[arg-type]  # tests name real fields


def agent(place: Path, profile: Profile, machine: Machine | None = UNCONFINED) -> CommandAgent:
    return CommandAgent(profile, place / "logs", machine=machine)


def own(place: Path, body: str, **values: object) -> CommandAgent:
    install(place, "mine", body)
    command = replace(OwnCommand("mine"), **values)  # type: ignore[arg-type]  # real fields
    return agent(place, own_profile("ours", command))


def ask(agent: CommandAgent, task: Assignment) -> Answer:
    return agent.work(task, nowhere)


# The shipped profiles


@pytest.mark.parametrize("name", SHIPPED)
def test_a_profile_has_known_keys_and_placeholders_only(name: str) -> None:
    profile = shipped(name)
    text = (PACKAGE / "agents/profiles" / f"{name}.yaml").read_text()
    stated = yaml.safe_load(text)
    assert stated.keys() <= {each.name for each in fields(Profile)} - {"name"}
    arguments = [
        *profile.developer,
        *profile.reviewer,
        *profile.last,
        *profile.model,
        *profile.system,
        *profile.schema,
    ]
    used = {part for argument in arguments for part in _fields(argument)}
    assert used <= set(PLACEHOLDERS)
    assert (profile.developer == profile.reviewer) is (name in ONLY_CONFINED)
    assert profile.text or profile.output == "text"


SERVED = "http://127.0.0.1:{port}/v1"


@pytest.mark.parametrize(
    ("name", "told", "variables"),
    [
        ("aider", "openai/coder", {"OPENAI_API_BASE": SERVED, "OPENAI_API_KEY": "key-of-mine"}),
        ("opencode", "hornbook/coder", {"OPENCODE_CONFIG_CONTENT": "baseURL"}),
    ],
)
def test_a_server_of_ones_own_is_named_in_the_words_of_the_program(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str, told: str, variables: dict[str, str]
) -> None:
    monkeypatch.setenv("MY_KEY", "key-of-mine")
    install(place, name, 'printf "%s\\n" "$@"; env; cat > /dev/null')
    url = SERVED.format(port=8080)
    command = CommandAgent(
        replace(shipped(name), output="text", text=(), error=()),  # type: ignore[arg-type]  # as text
        place / "logs",
        machine=UNCONFINED,
        provider="openai-compatible",
        endpoints=(url,),
        key_variable="MY_KEY",
    )
    seen: list[Mapping[str, object]] = []
    command.work(assignment(place, model="coder"), seen.append)
    printed = Path(str(seen[-1]["log"])).read_text()
    assert f"\n{told}\n" in printed
    for variable, value in variables.items():
        assert f"{variable}=" in printed
        line = next(each for each in printed.splitlines() if each.startswith(f"{variable}="))
        # its value is masked, as that of every key
        assert value.format(port=8080) in line or "[masked]" in line
        if variable.endswith("CONTENT"):
            given = json.loads(line.partition("=")[2])["provider"]["hornbook"]
            assert given["options"]["baseURL"] == url
            assert list(given["models"]) == ["coder"]


def test_a_model_on_this_machine_that_is_not_listed_is_told(place: Path) -> None:
    if this_machine().means is Means.NOTHING or not this_machine().apart:
        pytest.skip("needs a network of its own")
    install(place, "mine", "cat > /dev/null; echo no model; exit 3")
    profile = own_profile("ours", OwnCommand("mine", provider=("openai-compatible",)))
    seen: list[Mapping[str, Any]] = []
    command = CommandAgent(profile, place / "logs", endpoints=(SERVED.format(port=8080),))
    answer = command.work(assignment(place), seen.append)
    told = "`agents.ours.network` does not list it; add `127.0.0.1:8080` there."
    assert any(told in each for each in seen[0]["warnings"])
    assert told in (answer.error or "")
    listed = replace(profile, network=("127.0.0.1:8080",))
    CommandAgent(listed, place / "logs", endpoints=command.endpoints).work(
        assignment(place), seen.append
    )
    assert not any(told in each for each in seen[-2]["warnings"])


def _fields(argument: str) -> list[str]:
    from string import Formatter

    return [name for _, name, _, _ in Formatter().parse(argument) if name]


def test_of_what_an_agent_complains_about_for_ever_the_ends_are_kept(place: Path) -> None:
    body = "echo first >&2; yes middle | head -c 21000000 >&2; echo last >&2; echo done"
    answer = ask(own(place, body), assignment(place))
    assert answer.text.strip() == "done"
    assert answer.log is not None
    kept = Path(answer.log).with_suffix(".err").read_bytes()
    assert kept.startswith(b"first\nmiddle\n")
    assert kept.endswith(b"middle\nlast\n")
    assert len(kept) < LOG + 100
    assert b" bytes dropped]\n" in kept


@pytest.mark.parametrize("name", SHIPPED)
def test_each_shipped_agent_works_confined_by_what_this_machine_has(place: Path, name: str) -> None:
    """A sandbox of its own could not be made inside of ours, so that it is turned off there."""
    if this_machine().means is Means.NOTHING:
        pytest.skip("nothing confines commands here")
    own_sandbox = """case " $* " in *danger-full-access*) ;;
*" --sandbox "*) unshare --user --map-root-user true || exit 9 ;; esac
echo made > made.txt || echo held > "$HOME/held"
"""
    install(place, shipped(name).program, own_sandbox + STAND_INS[name])
    for role in (Role.REVIEWER, Role.DEVELOPER):
        task = assignment(place, role=role, files=("a.py",), key=f"run.1/{role}")
        answer = ask(agent(place, shipped(name), None), task)
        assert answer.error is None, answer.error
        assert (place / "work/made.txt").exists() is (role is Role.DEVELOPER)
    assert list((place / "home").iterdir()) == []


@pytest.mark.parametrize("name", SHIPPED)
def test_each_command_line_gets_the_whole_prompt_and_is_read(place: Path, name: str) -> None:
    install(place, shipped(name).program, STAND_INS[name])
    prompt = "Line one.\n'quotes' \"and\" $HOME `date` \\ ünïcode\n" * 500
    task = assignment(place, prompt=prompt, system="You develop.", files=("a.py",))
    answer = ask(agent(place, shipped(name)), task)
    assert answer.error is None
    got = (place / "home/prompt").read_text()
    arguments = (place / "home/arguments").read_text()
    whole = "You develop.\n\n" + prompt
    apart = name in {"claude", "qwen-code"}
    assert got == (prompt if apart else whole)
    assert ("You develop." in arguments.replace(got, "")) is apart
    expected = {
        "claude": (100, 7, 3, 0.0125),
        "codex": (100, 5, 0, None),
        "opencode": (16, 5, 0, 0.75),
        "gemini": (22, 8, 3, None),
        "aider": (2300, 150, 0, 0.02),
        "qwen-code": (240, 14, 2, None),
    }
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens, usage.steps, usage.cost) == expected.get(
        name, (0, 0, 0, None)
    )
    said = {
        "qwen-code": "Hello",
        "goose": "Hello",
        "mini-swe-agent": "Hello",
        "codex": "last",
        "opencode": "Hello there",
        "gemini": "Hello",
    }
    if name in said:
        assert answer.text == said[name]
    claimed = {"claude": ("made.py",), "codex": ("a.py", "b.py")}
    assert answer.claimed_files == claimed.get(name)
    if name == "aider":
        assert arguments.splitlines()[-1] == "a.py"
        assert "\x1b" not in answer.text


def test_an_exit_code_is_recorded_and_not_believed(place: Path) -> None:
    install(place, "claude", CLAUDE)
    answer = ask(agent(place, shipped("claude")), assignment(place))
    assert answer.exit_code == 1
    assert answer.error is None
    assert answer.text.startswith("Done.")
    assert answer.log is not None
    assert '"is_error":false' in Path(answer.log).read_text()


def test_a_reviewer_is_called_for_reading_only_with_schema_and_model(place: Path) -> None:
    task = assignment(place, role=Role.REVIEWER, schema='{"type": "object"}', model="m-1")
    by_name = {}
    for name in SHIPPED:
        install(place, shipped(name).program, STAND_INS[name])
        (place / "home/arguments").unlink(missing_ok=True)
        ask(replace(agent(place, shipped(name)), provider="p"), task)
        by_name[name] = (place / "home/arguments").read_text().splitlines()
    assert "Edit,Write,NotebookEdit,Bash,WebFetch,WebSearch" in by_name["claude"]
    assert by_name["claude"][-2:] == ["--json-schema", '{"type": "object"}']
    assert "read-only" in by_name["codex"]
    schema = by_name["codex"][by_name["codex"].index("--output-schema") + 1]
    assert schema.endswith("schema.json")
    assert by_name["codex"][-1] == "-"
    assert by_name["gemini"][:4] == ["--output-format", "json", "--approval-mode", "plan"]
    assert json.loads((place / "home/permission").read_text())["edit"] == "deny"
    assert "--dry-run" in by_name["aider"]
    assert [name for name, found in by_name.items() if "p/m-1" in found] == [
        *("opencode", "aider", "mini-swe-agent", "crush")
    ]
    assert [name for name, found in by_name.items() if "m-1" in found] == [
        *("claude", "codex", "gemini", "qwen-code", "goose")
    ]
    assert "edit,write_file,run_shell_command" in by_name["qwen-code"]


def test_a_schema_is_passed_on_without_the_name_of_its_dialect(place: Path) -> None:
    install(place, "claude", CLAUDE)
    schema = '{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}'
    ask(agent(place, shipped("claude")), assignment(place, role=Role.REVIEWER, schema=schema))
    arguments = (place / "home/arguments").read_text().splitlines()
    assert arguments[-2:] == ["--json-schema", '{"type": "object"}']


def test_an_error_on_stderr_is_told_where_no_json_was_printed(place: Path) -> None:
    install(place, "codex", "echo 'stream disconnected before completion' >&2; exit 1")
    answer = ask(agent(place, shipped("codex")), assignment(place))
    assert answer.error == "it printed no JSON (exit code 1): stream disconnected before completion"
    assert answer.retry_after == SERVER_DOWN


def test_one_that_names_no_file_claims_nothing(place: Path) -> None:
    said = '{"type":"item.completed","item":{"type":"agent_message","text":"done"}}'
    install(place, "codex", f"echo '{said}'")
    answer = ask(agent(place, shipped("codex")), assignment(place))
    assert (answer.text, answer.claimed_files) == ("done", None)


def test_an_error_that_is_called_a_success_is_none(place: Path) -> None:
    said = '{"type":"result","is_error":false,"result":"[API Error: 429 Rate limit, try again in 20s]"}'
    install(place, "qwen", f"echo '{said}'")
    answer = ask(agent(place, shipped("qwen-code")), assignment(place))
    assert answer.error is not None
    assert (answer.text, answer.retry_after) == ("", 20.0)


@pytest.mark.parametrize(
    "words",
    [
        "stream disconnected before completion: Transport error: timeout",
        "stream error: connection closed; retrying",
        "error sending request for url (https://example.org/v1/responses)",
        "TypeError: fetch failed",
        "socket hang up",
        "getaddrinfo EAI_AGAIN example.org",
    ],
)
def test_a_network_that_fails_is_waited_for(words: str) -> None:
    assert retry_after(words, 0.0) == SERVER_DOWN


def test_a_constrained_answer_is_taken_before_prose(place: Path) -> None:
    printed = {
        "type": "result",
        "is_error": False,
        "result": "prose",
        "structured_output": {"a": 1},
    }
    assert read_printed(shipped("claude"), json.dumps(printed), "/w").text == '{"a": 1}'
    lines = "\n".join(map(json.dumps, [{"type": "system"}, printed]))
    assert read_printed(shipped("claude"), lines, "/w").text == '{"a": 1}'


@pytest.mark.parametrize(
    ("name", "printed", "error"),
    [
        ("claude", '{"type":"result","is_error":true,"result":"API Error: 401"}', "API Error: 401"),
        (
            "claude",
            '{"type":"result","is_error":true,"subtype":"error_max_turns"}',
            "error_max_turns",
        ),
        ("codex", '{"type":"turn.failed","error":{"message":"no access"}}', "no access"),
        ("opencode", '{"type":"error","error":{"name":"E","data":{"message":"no key"}}}', "no key"),
        ("gemini", '{"error":{"type":"Error","message":"no key","code":1}}', "no key"),
        ("aider", "litellm.AuthenticationError: no key", "litellm.AuthenticationError: no key"),
    ],
)
def test_an_error_in_the_output_is_an_error_whatever_the_exit_code(
    place: Path, name: str, printed: str, error: str
) -> None:
    install(place, name, f"cat >/dev/null; echo '{printed}'")
    answer = ask(agent(place, shipped(name)), assignment(place))
    assert (answer.error, answer.retry_after, answer.text) == (error, None, "")
    assert answer.exit_code == 0


# Failures


def test_standard_input_is_closed_after_the_prompt(place: Path) -> None:
    answer = ask(own(place, "cat; cat; echo end"), assignment(place))
    assert answer.text == "Do it.\nend"


def test_a_command_whose_run_is_over_is_ended_with_all_that_it_started(place: Path) -> None:
    over = place / "over"
    body = f"sleep 300 & echo $! > {place}/started; touch {over}; wait"
    answer = ask(own(place, body), assignment(place, is_over=over.exists))
    assert answer.error == RUN_ENDED
    with pytest.raises(ProcessLookupError):
        os.kill(int((place / "started").read_text()), 0)


def test_a_command_that_hangs_is_ended_with_all_that_it_started(place: Path) -> None:
    told: list[Mapping[str, object]] = []
    mine = own(place, "(trap '' TERM; while :; do :; done) & while :; do :; done")
    answer = mine.work(assignment(place, limits=Limits(seconds=1)), told.append)
    assert answer.error is not None
    assert answer.error.startswith("not done after 1 s")
    assert answer.retry_after is None
    assert told[1]["timed_out"] is True
    assert told[1]["left_running"] == 1


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("exit 0", "it answered nothing (exit code 0): nothing"),
        ("echo 'no login' >&2; exit 2", "it answered nothing (exit code 2): no login"),
        ("echo half; kill -9 $$", "ended by SIGKILL: half"),
        ("echo half; echo why >&2; exit 4", "exit code 4: why"),
    ],
)
def test_a_command_that_dies_says_how(place: Path, body: str, error: str) -> None:
    answer = ask(own(place, body), assignment(place))
    assert answer.error == error


def test_output_that_should_be_json_and_is_not_is_an_error(place: Path) -> None:
    answer = ask(own(place, "echo sorry", output="json", text="a"), assignment(place))
    assert answer.error == "it printed no JSON: sorry"
    answer = ask(own(place, "kill -9 $$", output="json", text="a"), assignment(place))
    assert answer.error == "it printed no JSON (ended by SIGKILL): nothing"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("HTTP 429 Too Many Requests", RATE_LIMITED),
        ("rate_limit_error: retry-after: 12", 12.0),
        ("Rate limit reached, please try again in 1.5s", 1.5),
        ("429: try again in 20 ms, rate limited", 0.02),
        ("Too many requests: retry after 2 minutes", 120.0),
        ("Overloaded: resets in 3 hours", 3 * 3600.0),
        ("usage limit reached|1000000300", 300.0),
        ("usage limit reached|0999999000", 0.0),
        ("quota exceeded, wait for 400 hours", LONGEST),
        ("API Error: 503 upstream", SERVER_DOWN),
        ("500 Internal Server Error", SERVER_DOWN),
        ("502 Bad Gateway, Retry-After: 7", 7.0),
        ("connect ECONNREFUSED", SERVER_DOWN),
        ("assertion failed in line 429", None),
        ("expected 500 items, got 503", None),
        ("401 Unauthorized, try again in 5s", None),
    ],
)
def test_what_passes_by_itself_is_waited_for(said: str, seconds: float | None) -> None:
    assert retry_after(said, now=1_000_000_000.0) == seconds


@given(st.text(max_size=300), st.floats(0, 4e9))
def test_a_wait_is_never_negative_and_never_endless(said: str, now: float) -> None:
    wait = retry_after(f"rate limit {said}", now)
    assert wait is not None
    assert 0 <= wait <= LONGEST


def test_a_rate_limited_command_is_to_be_asked_again(place: Path) -> None:
    answer = ask(own(place, "echo 'HTTP 429: retry after 9 s' >&2; exit 1"), assignment(place))
    assert answer.retry_after == 9.0
    assert answer.error is not None


def test_an_answer_that_talks_of_rate_limits_is_an_answer(place: Path) -> None:
    answer = ask(own(place, "echo 'I added a rate limit (HTTP 429).'"), assignment(place))
    assert (answer.error, answer.retry_after) == (None, None)


def test_a_prompt_too_long_for_an_argument_is_refused(place: Path) -> None:
    mine = own(place, 'echo "$1"', command="mine {prompt}", prompt="argument")
    assert ask(mine, assignment(place, prompt="short")).text == "short"
    refused = ask(mine, assignment(place, prompt="x" * 200_000))
    assert refused.error == "the prompt does not fit in an argument of mine: pass it by stdin."


def test_a_secret_of_ours_does_not_reach_the_command(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    monkeypatch.setenv("MINE_KEY", "its own")
    mine = own(place, "env", inherits=("MINE_*",), environment={"EXTRA": "set"})
    seen = ask(mine, assignment(place)).text
    assert "s3cret" not in seen
    assert "MINE_KEY=its own" in seen
    assert "EXTRA=set" in seen
    assert "HORNBOOK_ROLE=developer" in seen


def test_a_reviewer_may_be_another_program(place: Path) -> None:
    install(place, "second", "echo second $1")
    mine = own(place, "echo first", reviewer="second --look")
    assert ask(mine, assignment(place)).text == "first"
    assert ask(mine, assignment(place, role=Role.REVIEWER)).text == "second --look"


def test_what_happened_is_recorded(place: Path) -> None:
    told: list[Mapping[str, object]] = []
    own(place, "exit 7").work(assignment(place), told.append)
    assert [each["kind"] for each in told] == ["agent.started", "agent.ended"]
    assert told[0]["confined_by"] == "nothing"
    assert told[0]["warnings"]
    assert told[1]["exit_code"] == 7


def test_a_confined_command_works_in_its_folder_alone(place: Path) -> None:
    write(place, {"repository/.hornbook/sop.md": "secret\n", "repository/.git/config": "[core]\n"})
    tree = place / "repository/.hornbook/worktrees/p/1"
    write(tree, {"a.py": "a\n", ".git": "gitdir: x\n"})
    body = f"""cat > prompt.txt; echo bad > {place}/repository/x; cat {place}/repository/.hornbook/sop.md
echo "wrote $(ls)" """
    install(place, "mine", body)
    around = AgentSurroundings(
        place / "repository", place / "repository", place / "repository/.git"
    )
    profile = own_profile("ours", OwnCommand("mine"))
    mine = CommandAgent(profile, place / "logs", around)
    told: list[Mapping[str, object]] = []
    answer = mine.work(assignment(place, folder=str(tree)), told.append)
    if told[0]["confined_by"] == "nothing":
        pytest.skip("nothing confines commands on this machine")
    assert (tree / "prompt.txt").read_text() == "Do it.\n"
    assert not (place / "repository/x").exists()
    assert "secret" not in answer.text
    assert answer.text.split()[:2] == ["wrote", "a.py"]
    reviewed = mine.work(assignment(place, folder=str(tree), role=Role.REVIEWER), told.append)
    assert "secret" in reviewed.text
    (tree / "prompt.txt").unlink()
    mine.work(assignment(place, folder=str(tree), role=Role.REVIEWER), told.append)
    assert not (tree / "prompt.txt").exists()


# What agents say beside their work

FORM = """Almost done.

```json
{"continuation": {"description": "Add the table first", "files": ["db.py"], "criteria": ["it exists"]},
 "decisions": [{"decision": "Use a table", "reason": "It is simple", "impact": "One migration"}]}
```

And a snippet: ```json {"a": 1}```

```json
{"risks": [{"id": "R1", "severity": "high", "text": "Slow"}], "files": ["b.py", "a.py"], "escalate": "Which one?"}
```
"""


def test_an_agents_forms_become_values(place: Path) -> None:
    (place / "answer").write_text(FORM)
    answer = ask(own(place, f"cat {place}/answer"), assignment(place))
    assert answer.subtask == Subtask("Add the table first", ("db.py",), ("it exists",))
    assert answer.decisions == (("Use a table", "It is simple", "One migration"),)
    assert answer.risks == (("R1", "high", "Slow"),)
    assert answer.claimed_files == ("a.py", "b.py")
    assert answer.escalation == "Which one?"
    assert answer.error is None


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ('{"continuation": {}}', "`continuation` has no description"),
        ('{"continuation": {"description": "x", "file": []}}', "unknown key file"),
        ('{"continuation": {"description": "x", "files": "a"}}', "is no list of texts"),
        ('{"decisions": [{"decision": "x"}]}', "lacks one of decision, reason, impact"),
        ('{"risks": {}}', "`risks` is no list"),
        ('{"files": [1]}', "`files` is no list of texts"),
        ('{"files": [], "verdict": 1}', "unknown key verdict"),
        ('{"continuation": ', "a form is not JSON"),
    ],
)
def test_a_form_that_cannot_be_read_is_told(form: str, problem: str) -> None:
    (found,) = read_forms(f"```json\n{form}\n```\n").problems
    assert problem in found


def test_json_that_is_no_form_is_prose() -> None:
    assert read_forms('```json\n{"verdict": "approved"}\n```\n```json\n[1\n```\n') == read_forms("")


def test_a_continuation_that_cannot_be_read_is_an_error(place: Path) -> None:
    (place / "answer").write_text('```json\n{"continuation": {"files": []}}\n```\n')
    answer = ask(own(place, f"cat {place}/answer"), assignment(place))
    assert answer.error is not None
    assert "say what is to be done first" in answer.error


@given(st.text())
def test_any_text_can_be_an_answer(text: str) -> None:
    for printed in (text, f"```json\n{text}\n```"):
        assert read_forms(printed) == read_forms(printed)
    for name in SHIPPED:
        found = read_printed(shipped(name), text, "/work")
        assert found.error is not None or found.text in text


# Settings


def test_an_own_command_is_read_from_settings() -> None:
    settings = parse_settings(
        b"agents:\n  ours: {command: 'mine --model {model} -', output: jsonl, text: a.b, "
        b"provider: [openai], inherits: ['MINE_*'], network: 'open', home: {copy: [.mine]}}\n"
        b"developer_sees: full\n"
    )
    profile = own_profile("ours", settings.agents["ours"])
    assert (profile.program, profile.developer) == ("mine", ("--model", "{model}", "-"))
    assert profile.text[0].path == "a.b"
    assert settings.developer_sees == "full"
    assert Settings().developer_sees == "blind"


def test_every_problem_of_an_own_command_is_told_with_its_line() -> None:
    text = b"""\
agents:
  claude: {command: mine}
  one: {command: 'mine {promt_file}', prompt: file}
  two: {command: "mine '", output: xml}
  three: {comand: x}
  four: {command: mine, output: json}
  five: {command: mine, text: a.b}
  six: {command: mine, prompt: argument}
developer_sees: all
"""
    with pytest.raises(ConfigError) as caught:
        parse_settings(text)
    found = [each.removeprefix(".hornbook/config.yaml, ") for each in caught.value.problems]
    for wanted in (
        "line 2: `claude` is shipped with Hornbook: give yours another name.",
        "line 3: `agents.one.command` holds `{promt_file}`: did you mean `{prompt_file}`?",
        "line 3: `agents.one.command` lacks `{prompt_file}`, which carries the prompt.",
        "line 4: `agents.two.output` is 'xml': write text, json, jsonl.",
        "line 4: `agents.two.command` cannot be split into words: No closing quotation.",
        "line 5: unknown setting `agents.three.comand`: did you mean `command`?",
        "line 5: `agents.three` lacks command.",
        "line 6: `agents.four` prints json: say with `text` where the answer stands.",
        "line 7: `agents.five.text` is a path in JSON: set `output` to json.",
        "line 8: `agents.six.command` lacks `{prompt}`, which carries the prompt.",
        "line 9: `developer_sees` is 'all': write blind, requirements, full.",
    ):
        assert wanted in found


# Choosing

TWO = Models(
    {"a": Endpoint("anthropic", "small", 1000), "b": Endpoint("anthropic", "large", 1000)},
    {"developing": ("a",), "reviewing": ("a", "b")},
)


def test_the_reviewer_gets_another_model_than_the_developer(place: Path) -> None:
    install(place, "claude", "exit 0")
    crew = choose_agents({}, "claude", TWO, Workplace(place / "logs"))
    assert (crew.developer.model, crew.reviewer.model, crew.notes) == ("small", "large", ())
    assert crew.developer.agent.name == crew.reviewer.agent.name == "claude"


@pytest.mark.parametrize(
    "models",
    [
        NO_MODELS,
        Models({"a": Endpoint("anthropic", "small", 1)}, {}),
        Models(
            {"a": Endpoint("anthropic", "small", 1), "b": Endpoint("openai", "gpt", 1)},
            {"reviewing": ("b", "a")},
        ),
    ],
)
def test_one_model_for_both_is_said(place: Path, models: Models) -> None:
    install(place, "claude", "exit 0")
    crew = choose_agents({}, "claude", models, Workplace(place / "logs"))
    assert crew.developer.model == crew.reviewer.model
    assert "with the same model" in crew.notes[0]


def test_two_agents_may_share_the_work(place: Path) -> None:
    install(place, "claude", "exit 0")
    install(place, "mine", "exit 0")
    crew = choose_agents(
        {"ours": OwnCommand("mine")}, "ours,claude", NO_MODELS, Workplace(place / "logs")
    )
    assert (crew.developer.agent.name, crew.reviewer.agent.name) == ("ours", "claude")
    assert crew.notes == ()


def test_a_command_is_told_models_and_never_the_names_of_endpoints(place: Path) -> None:
    install(place, "claude", "exit 0")
    chosen = choose_agents({}, "claude", TWO, Workplace(place / "logs")).reviewer
    every = {*TWO.endpoints, "gpt", "claude-opus"}
    assert chosen.model_of("a", every) == "small"
    assert chosen.model_of("b", every) == "large"
    assert chosen.model_of(None, every) == chosen.model_of("default", every) == "large"
    assert chosen.model_of("gpt", every) == "large"
    assert chosen.model_of("claude-next", every) == "claude-next"
    by_default = choose_agents({}, "claude", NO_MODELS, Workplace(place / "logs")).developer
    assert by_default.model_of("claude-opus", every) is None


def test_a_planner_gets_the_model_for_planning(place: Path) -> None:
    install(place, "claude", "exit 0")
    models = Models(TWO.endpoints, {**TWO.capabilities, "planning": ("b",)})
    crew = choose_agents({}, "claude", models, Workplace(place / "logs"))
    assert (crew.developer.model, crew.planner.model) == ("small", "large")


def test_a_command_that_is_not_installed_is_told_before_anything_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place / "bin"))
    with pytest.raises(UsageError, match=r"agent codex: codex is not installed.*codex login"):
        choose_agents({}, "codex", NO_MODELS, Workplace(place / "logs"))
    answer = ask(agent(place, shipped("codex")), assignment(place))
    assert answer.error is not None
    assert "codex is not installed" in answer.error


def test_an_unknown_agent_is_told_with_the_nearest(place: Path) -> None:
    with pytest.raises(UsageError, match="no agent 'claud': did you mean claude"):
        choose_agents({}, "claud", NO_MODELS, Workplace(place / "logs"))
    with pytest.raises(UsageError, match="no agent 'embedded'"):
        choose_agents({}, "embedded", NO_MODELS, Workplace(place / "logs"))


def test_an_agent_that_is_no_command_is_built(place: Path) -> None:
    scripted = choose_agents({}, "scripted", TWO, Workplace(place, script=Script()))
    assert scripted.developer.agent.name == "scripted"
    assert (scripted.developer.model, scripted.notes) == (None, ())
    built = scripted.developer.agent
    workplace = Workplace(place, builders={"embedded": lambda: built})
    crew = choose_agents({}, "embedded", TWO, workplace)
    assert crew.developer.agent is built
    assert (crew.developer.model, crew.reviewer.model) == ("a", "b")  # the endpoints


# The page about them

PAGE = (DOCS / "agents.md").read_text(encoding="utf-8")


def rows(*heads: str) -> list[list[str]]:
    start = PAGE.index(f"| {' | '.join(heads)} |")
    table = PAGE[start:].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in table]


def test_the_table_of_profiles_is_what_they_say() -> None:
    heads = ("agent", "program", "prompt", "output", "told with the answer", "models of")
    listed = rows(*heads)
    assert [row[0] for row in listed] == list(SHIPPED)
    for name, program, prompt, output, told, providers in listed:
        profile = shipped(name)
        parts = {
            "tokens": profile.input_tokens or profile.input_pattern,
            "cost": profile.cost or profile.cost_pattern,
            "steps": profile.steps,
            "files": profile.files,
        }
        assert told == ", ".join(part for part, found in parts.items() if found)
        assert (program, prompt, output) == (profile.program, profile.prompt, profile.output)
        assert providers == ", ".join(profile.providers)


def test_every_key_of_an_own_command_is_documented_and_the_example_is_read() -> None:
    assert [row[0] for row in rows("key", "default", "meaning")] == [
        each.name for each in fields(OwnCommand)
    ]
    example = PAGE.split("```yaml\n")[1].split("```")[0]
    assert sorted(parse_settings(example.encode()).agents) == ["claude", "ours", "plain"]
    for name in PLACEHOLDERS:
        assert f"`{{{name}}}`" in PAGE


def test_the_example_of_a_form_is_read() -> None:
    found = read_forms("```json\n" + PAGE.split("```json\n")[1])
    assert not found.problems
    assert found.subtask is not None
    assert (len(found.decisions), len(found.risks)) == (1, 1)
    assert (found.files, found.escalation) == (["db.py"], "Which database is it?")


# What surrounds a call


def test_a_confined_agent_reaches_what_is_listed_and_finds_what_is_its_own(place: Path) -> None:
    machine = this_machine()
    if machine.means is Means.NOTHING or not machine.apart:
        pytest.skip("this machine cannot give a process a network of its own")
    write(place / "home", {".mine/login.json": '{"token": "old"}', ".other/session": "a rule"})
    reach = "(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo shut"
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("", 0)) as two:
        ports = [each.getsockname()[1] for each in (one, two)]
        tried = "; ".join(f"bash -c '{reach.format(port=port)}'" for port in ports)
        install(
            place,
            "mine",
            f"cat >/dev/null; cat ~/.mine/login.json; echo; {tried}; "
            f"cat {place}/home/.other/session 2>/dev/null || echo hidden; "
            'echo \'{"token": "new"}\' > ~/.mine/login.json; echo hook > ~/.other-hook',
        )
        command = OwnCommand(
            "mine",
            network=(f"127.0.0.1:{ports[0]}",),
            home=HomeSettings(back=(".mine/login.json",)),
        )
        told: list[Mapping[str, Any]] = []
        found = agent(place, own_profile("ours", command), machine).work(
            assignment(place), told.append
        )
    assert found.error is None
    assert found.text.split() == ['{"token":', '"old"}', "reached", "shut", "hidden"]
    assert (place / "home/.mine/login.json").read_text() == '{"token": "new"}\n'
    assert not (place / "home/.other-hook").exists()
    assert [each.get("network") for each in told] == ["listed", None]


def test_where_we_confine_it_an_agent_has_no_sandbox_of_its_own() -> None:
    profile = shipped("codex")
    assert "danger-full-access" in profile.arguments(Role.DEVELOPER, confined=True)
    assert "danger-full-access" not in profile.arguments(Role.DEVELOPER)


def test_the_value_of_a_secret_is_neither_sent_nor_written(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE_API_KEY", "sk-0123456789")
    body = "cat >/dev/null; echo key $MINE_API_KEY; echo $MINE_API_KEY >&2"
    mine = own(place, body, inherits=("MINE_*",))
    answer = ask(mine, assignment(place))
    assert answer.text == "key [masked]"
    assert [b"sk-0" in path.read_bytes() for path in (place / "logs").iterdir()] == [False, False]
    refused = ask(mine, assignment(place, prompt="one\nuse sk-0123456789\n"))
    assert refused.error is not None
    assert refused.error.startswith("secret_in_prompt: the prompt holds the value of MINE_API_KEY")
