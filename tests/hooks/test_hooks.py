"""Hooks beside the guard: a session's start, the work log, compaction, stopping, installing."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbook import resources
from hornbook.commits.git_tampering import fingerprint
from hornbook.errors import UsageError
from hornbook.hooks.active_file import Active
from hornbook.hooks.claude_settings import SETTINGS, host_event, install
from hornbook.hooks.entry import EVENTS, HookAnswer, HookEnvironment, respond
from hornbook.hooks.session_context import MOST_CHARACTERS, _fitted, session_context
from tests.kit.commands import run
from tests.kit.hook_calls import ask, events, guarded, payload
from tests.kit.workspaces import write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return guarded(tmp_path)


# session-start


def test_a_session_starts_with_the_core_and_the_active_plan_in_order(root: Path) -> None:
    write(
        root,
        {
            "CLAUDE.md": "The host loads this.",
            "docs/context/CONTEXT_CORE.md": "Core facts.",
            "docs/context/ROLES.md": "Who does what.",
            "docs/context/GUARDRAILS.md": "What nobody does.",
            ".hornbook/plans/guarded/decisions.md": "# Decisions\n\n- Decision: old\n\n- Decision: new\n",
            ".hornbook/plans/guarded/risks.md": "# Risks\n\n- Risk: r1\n",
            ".hornbook/plans/guarded/checkpoint.json": '{"seq": 7, "event_hash": "abc"}',
            ".hornbook/plans/other/plan.md": "# Plan: Other\n\n## Mission\n\nNever shown.\n",
            ".hornbook/sources/docs/sops/a.md": "A rule for reviewers.",
        },
    )
    told = ask(root, "session-start", {"session_id": "s", "source": "startup"})
    assert told.code == 0
    order = [
        "Active plan: `guarded`",
        "Core facts.",
        "Who does what.",
        "What nobody does.",
        "# Plan: Guarded",
        "It is open.",
        "Close it.",
        "- IN: src/**, tests/**",
        "Decision: new",
        "Decision: old",
        "Risk: r1",
        "at event 7, hash abc",
    ]
    places = [told.out.index(text) for text in order]
    assert places == sorted(places)
    for kept_out in ("The host loads this", "Never shown", "A rule for reviewers", "slug:"):
        assert kept_out not in told.out


def test_units_that_do_not_fit_are_named_and_none_is_cut(root: Path) -> None:
    entries = [f"- Decision: number {n} " + "x" * 900 for n in range(30)]
    decisions = root / ".hornbook" / "plans" / "guarded" / "decisions.md"
    decisions.write_text("# Decisions\n\n" + "\n\n".join(entries) + "\n")
    told = session_context(str(root))
    assert len(told) <= MOST_CHARACTERS
    whole = [entry for entry in entries if entry in told]
    assert whole
    assert len(whole) == len(re.findall(r"- Decision: number", told))
    assert entries[-1] in told
    assert ".hornbook/plans/guarded/decisions.md (" in told


@given(st.lists(st.text(max_size=4000), max_size=12))
def test_a_context_is_never_longer_than_the_host_takes(texts: list[str]) -> None:
    told = _fitted("# Head\n", [(f"file{n}.md", text) for n, text in enumerate(texts)])
    assert len(told.encode("utf-16-le", "surrogatepass")) // 2 <= MOST_CHARACTERS
    for number, text in enumerate(texts):
        assert text in told or f"file{number}.md" in told or "more" in told


def test_without_a_plan_a_session_starts_with_the_core_or_with_nothing(tmp_path: Path) -> None:
    (tmp_path / ".hornbook").mkdir()
    assert ask(tmp_path, "session-start", {"source": "startup"}).out == ""
    write(tmp_path, {"docs/context/ROLES.md": "Who does what."})
    told = ask(tmp_path, "session-start", {"source": "startup"}).out
    assert "No plan is active" in told
    assert "Who does what." in told


# post-tool-use


def work_log(root: Path) -> list[dict[str, Any]]:  # JSON lines
    path = root / ".hornbook" / "logs" / "sessions" / "s.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_work_log_has_what_was_done_and_no_contents(root: Path) -> None:
    secret = "hunter2"
    calls = [
        payload(root, "Write", file_path=str(root / "src/a.py"), content=secret),
        payload(root, "Bash", command=f"curl -H 'Key: {secret}' https://example.org | jq ."),
        payload(root, "Grep", pattern=secret, path="src"),
    ]
    for call in calls:
        assert (
            ask(root, "post-tool-use", {**call, "tool_response": secret, "duration_ms": 5}).code
            == 0
        )
    assert ask(root, "post-tool-use-failure", {**calls[0], "error": secret}).code == 0
    logged = work_log(root)
    assert [(each["tool"], each["target"], each["outcome"]) for each in logged] == [
        ("Write", "src/a.py", "ok"),
        ("Bash", "curl jq", "ok"),
        ("Grep", "src", "ok"),
        ("Write", "src/a.py", "failed"),
    ]
    assert [each["duration_ms"] for each in logged] == [5, 5, 5, None]
    assert secret not in json.dumps(logged)


def test_fields_of_the_log_are_bounded(root: Path) -> None:
    ask(root, "post-tool-use", payload(root, "Read", file_path="/" + "long/" * 5000))
    (line,) = work_log(root)
    assert len(json.dumps(line)) < 3000


@pytest.mark.parametrize("session", ["", "../../escape", "a/b", "x" * 500, "ünï", "\ud800"])
def test_a_session_id_never_names_another_place(root: Path, session: str) -> None:
    sent = {**payload(root, "Write", file_path="README.md"), "session_id": session}
    assert ask(root, "pre-tool-use", sent).out
    (spool,) = (root / ".hornbook" / "spool").iterdir()
    assert spool.name.endswith(".jsonl")
    assert len(spool.name) < 100
    assert not (root.parent / "escape.jsonl").exists()


def test_two_processes_append_whole_lines_at_once(root: Path) -> None:
    code = (
        "import sys\nfrom hornbook.hooks.spool import append, path_of\n"
        "for n in range(400):\n"
        "    append(path_of(sys.argv[1], 'spool', 's'), {'who': sys.argv[2], 'n': n, 'pad': 'x' * 900})\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(root), who])
        for who in ("one", "two", "three")
    ]
    assert [each.wait() for each in running] == [0, 0, 0]
    found = events(root)
    assert len(found) == 1200
    for who in ("one", "two", "three"):
        assert [event["n"] for event in found if event["who"] == who] == list(range(400))


# compaction


def compact(root: Path, checkpoint: Callable[[str], None], sent: dict[str, object]) -> HookAnswer:
    around = HookEnvironment({}, str(root), str(root), lambda _: Active(), checkpoint)
    return respond("pre-compact", json.dumps(sent).encode(), around)


def test_a_compaction_is_checkpointed_noted_and_never_blocked(root: Path) -> None:
    called: list[str] = []
    for _ in range(3):
        done = compact(root, called.append, {"session_id": "s", "trigger": "auto"})
        assert (done.code, done.out) == (0, "")
    assert called == [str(root)] * 3
    assert [(each["kind"], each["trigger"]) for each in events(root)] == [("pre_compact", "auto")]
    assert ask(root, "post-compact", {"session_id": "s", "compact_summary": "abc"}).code == 0
    assert events(root)[-1]["kind"] == "post_compact"
    assert events(root)[-1]["summary_characters"] == 3


@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_a_checkpoint_that_fails_is_told_and_blocks_nothing(root: Path, trigger: str) -> None:
    def fails(_root: str) -> None:
        raise UsageError("the schema is violated")

    done = compact(root, fails, {"session_id": "s", "trigger": trigger})
    assert (done.code, done.out) == (0, "")
    assert "the schema is violated" in done.err
    assert "the schema is violated" in events(root)[0]["failed"]


@pytest.mark.parametrize("data", [b"", b"[]", b"nonsense", b'{"trigger": 7}'])
def test_a_compaction_hook_that_cannot_read_its_input_blocks_nothing(
    root: Path, data: bytes
) -> None:
    for event in ("pre-compact", "post-compact"):
        done = ask(root, event, data)
        assert (done.code, done.out) == (0, "")
        assert done.err


# stop


def stop(root: Path, tree: str | None = None, **sent: object) -> str | None:
    around = HookEnvironment({}, str(root), str(root), lambda _: Active(), work_tree=lambda _: tree)
    done = respond("stop", json.dumps({"session_id": "s", **sent}).encode(), around)
    assert done.code == 0
    if not done.out:
        return None
    said = json.loads(done.out)
    assert said["decision"] == "block"
    return str(said["reason"])


def gate_result(root: Path, text: str) -> None:
    write(root, {".hornbook/logs/gates/last.json": text})


def test_an_agent_stops_unless_the_last_gates_failed_for_this_tree(root: Path) -> None:
    assert stop(root) is None
    gate_result(root, '{"passed": true, "tree": "x", "fingerprint": "t"}')
    assert stop(root, "t") is None
    gates = [{"name": "test", "status": "failed"}]
    failed = {"passed": False, "tree": "x", "fingerprint": "t", "gates": gates}
    gate_result(root, json.dumps(failed))
    assert "(test)" in (stop(root, "t") or "")
    assert stop(root, "another") is None
    assert stop(root, None) is not None
    assert stop(root, "t", stop_hook_active=True) is None
    assert stop(root, "t", stop_hook_active=False) is not None
    gate_result(root, json.dumps({**failed, "fingerprint": None}))
    assert stop(root, "t") is None, "the gates ran on a copy of a commit"
    gate_result(root, json.dumps({**failed, "tree": None, "fingerprint": None}))
    assert stop(root, "t") is not None, "outside of git there is one tree only"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"passed": "yes"}', "{"])
def test_a_gate_result_that_cannot_be_read_is_no_pass(root: Path, text: str) -> None:
    gate_result(root, text)
    assert "cannot be read" in (stop(root) or "")


def test_the_fingerprint_of_a_tree_follows_what_git_would_see(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        names = ("-c", "user.name=N", "-c", "user.email=n@example.org")
        subprocess.run(["git", *names, *arguments], cwd=tmp_path, check=True, capture_output=True)

    assert fingerprint(tmp_path) is None
    git("init")
    write(tmp_path, {"a.py": "a = 1\n", ".gitignore": "ignored\n"})
    git("add", "-A")
    git("commit", "-m", "one")
    first = fingerprint(tmp_path)
    assert first is not None
    write(tmp_path, {"ignored": "x", ".hornbook/logs/gates/last.json": "{}"})
    assert fingerprint(tmp_path) == first
    write(tmp_path, {"new.py": "x"})
    second = fingerprint(tmp_path)
    write(tmp_path, {"new.py": "y"})
    third = fingerprint(tmp_path)
    write(tmp_path, {"a.py": "a = 2\n"})
    assert len({first, second, third, fingerprint(tmp_path)}) == 4


# init --hooks claude


def host_settings(root: Path) -> Any:  # JSON
    return json.loads((root / SETTINGS).read_text())


def test_installing_adds_every_event_once(tmp_path: Path) -> None:
    assert install(tmp_path) == [host_event(event) for event in EVENTS]
    found = host_settings(tmp_path)["hooks"]
    assert set(found) == {
        "SessionStart",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "PostCompact",
        "Stop",
    }
    (guard,) = found["PreToolUse"]
    assert guard["matcher"] == "*"
    assert guard["hooks"][0]["onFailure"] == "block"
    assert guard["hooks"][0]["command"] == "hornbook hook pre-tool-use || exit 2"
    others = [
        hook
        for name, groups in found.items()
        if name != "PreToolUse"
        for g in groups
        for hook in g["hooks"]
    ]
    assert not any("onFailure" in hook for hook in others)
    before = (tmp_path / SETTINGS).read_bytes()
    assert install(tmp_path) == []
    assert (tmp_path / SETTINGS).read_bytes() == before


def test_installing_keeps_what_is_there(tmp_path: Path) -> None:
    mine = {"matcher": "Bash", "hooks": [{"type": "command", "command": "my-own check"}]}
    there = {
        "zeta": "ü",
        "permissions": {"allow": ["Read"]},
        "hooks": {"PreToolUse": [mine]},
        "a": 1,
    }
    write(tmp_path, {SETTINGS.as_posix(): json.dumps(there, indent=4, ensure_ascii=False)})
    install(tmp_path)
    text = (tmp_path / SETTINGS).read_text()
    found = json.loads(text)
    assert list(found) == ["zeta", "permissions", "hooks", "a"]
    assert found["hooks"]["PreToolUse"][0] == mine
    assert len(found["hooks"]["PreToolUse"]) == 2
    assert '\n    "zeta": "ü"' in text


def test_a_guard_that_was_installed_earlier_learns_to_block(tmp_path: Path) -> None:
    old = {"type": "command", "command": "uv run hornbook hook pre-tool-use", "timeout": 3}
    there = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [old]}]}}
    write(tmp_path, {SETTINGS.as_posix(): json.dumps(there)})
    assert "PreToolUse" in install(tmp_path)
    assert host_settings(tmp_path)["hooks"]["PreToolUse"] == [
        {"matcher": "*", "hooks": [{**old, "onFailure": "block"}]}
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "// comment\n{}",
        '{"hooks": []}',
        '{"hooks": {"PreToolUse": {}}}',
        '{"hooks": {"Stop": [{"matcher": "x"}]}}',
        '{"hooks": {"Stop": [{"hooks": ["x"]}]}}',
        '{"a": 1, "a": 2}',
    ],
)
def test_settings_that_cannot_be_read_are_refused_and_left(tmp_path: Path, text: str) -> None:
    write(tmp_path, {SETTINGS.as_posix(): text})
    with pytest.raises(UsageError, match="mend it first"):
        install(tmp_path)
    assert (tmp_path / SETTINGS).read_text() == text


def test_init_installs_hooks_that_block_a_forbidden_write(root: Path) -> None:
    done = run(root, "init", "--hooks", "claude", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hooks"]["path"] == ".claude/settings.json"
    again = run(root, "init", "--hooks", "claude")
    assert "they are there already" in again.stdout
    command = host_settings(root)["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    folder = root.parent / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "hornbook").write_text(f'#!/bin/sh\nexec {sys.executable} -m hornbook "$@"\n')
    (folder / "hornbook").chmod(0o755)

    def host(sent: bytes, path: str) -> "subprocess.CompletedProcess[bytes]":
        environment = {**os.environ, "PATH": path}
        return subprocess.run(
            ["/bin/sh", "-c", command],
            input=sent,
            capture_output=True,
            cwd=root,
            env=environment,
            check=False,
        )

    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    sent = json.dumps(payload(root, "Write", file_path=str(root / "README.md"))).encode()
    assert b'"deny"' in host(sent, path).stdout
    assert host(b"nonsense", path).returncode == 2
    assert host(sent, "/nowhere").returncode == 2


def test_init_refuses_before_it_creates_anything(tmp_path: Path) -> None:
    write(tmp_path, {SETTINGS.as_posix(): "{"})
    done = run(tmp_path, "init", "--hooks", "claude")
    assert done.returncode == 2
    assert "settings.json" in done.stderr
    assert not (tmp_path / ".hornbook").exists()


# Files for hosts that want files


def test_the_wrapper_files_pass_on_what_the_commands_answer(
    root: Path, tmp_path_factory: Any
) -> None:
    files = resources.folder("sources") / "hooks"
    folder = tmp_path_factory.mktemp("bin")
    (folder / "hornbook").write_text(f'#!/bin/sh\nexec {sys.executable} -m hornbook "$@"\n')
    (folder / "hornbook").chmod(0o755)

    def call(program: list[str], sent: bytes, path: str) -> "subprocess.CompletedProcess[bytes]":
        environment = {**os.environ, "PATH": path}
        return subprocess.run(
            program, input=sent, capture_output=True, cwd=root, env=environment, check=False
        )

    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    guard = [sys.executable, str(files / "pretooluse.py")]
    log = [sys.executable, str(files / "posttooluse.py")]
    sent = payload(root, "Write", file_path=str(root / "README.md"))
    assert b'"deny"' in call(guard, json.dumps(sent).encode(), path).stdout
    assert call(guard, b"", path).returncode == 2
    assert call(guard, b"{}", "/nowhere").returncode == 2
    failed = {**sent, "hook_event_name": "PostToolUseFailure"}
    assert call(log, json.dumps(failed).encode(), path).returncode == 0
    assert work_log(root)[-1]["outcome"] == "failed"
    compacts = call(["/bin/sh", str(files / "precompact.sh")], b'{"trigger": "auto"}', path)
    assert compacts.returncode == 0
    assert call(["/bin/sh", str(files / "precompact.sh")], b"", "/nowhere").returncode == 0


def test_an_agent_is_sent_back_by_gates_that_really_failed(tmp_path: Path) -> None:
    def called(*arguments: str, sent: str = "") -> str:
        return run(tmp_path, *arguments, sent=sent).stdout

    made = 'command: "touch made.txt; grep -q good a.txt", creates: [made.txt]'
    gates = f"gates:\n  additional:\n    - {{name: test, {made}}}\n"
    write(tmp_path, {"a.txt": "bad\n", ".hornbook/config.yaml": gates})
    names = ("-c", "user.name=N", "-c", "user.email=n@example.org")
    for arguments in (["init"], ["add", "-A"], [*names, "commit", "-m", "one"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)
    sent = json.dumps({"session_id": "s"})
    assert json.loads(called("gates", "run", "--json"))["passed"] is False
    assert "(test)" in json.loads(called("hook", "stop", sent=sent))["reason"]
    write(tmp_path, {"a.txt": "good\n"})
    assert called("hook", "stop", sent=sent) == "", "the gates did not see this tree yet"
    assert json.loads(called("gates", "run", "--json"))["passed"] is True
    assert called("hook", "stop", sent=sent) == ""
