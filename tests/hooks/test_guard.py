"""The guard before a tool: the shared cases whole, roles, tools, paths, and its own failures."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hornbook
from hornbook.hooks import active_file as activity
from hornbook.hooks.active_file import Active, load
from hornbook.hooks.compiler import compile_guard, read_constraints
from hornbook.hooks.entry import EVENTS, HookEnvironment, respond
from hornbook.hooks.host import DEFAULT_TOOLS
from hornbook.hooks.write_scope import WriteScope
from hornbook.plans.plan import Constraints, Plan
from hornbook.plans.text import render
from hornbook.text.globs import parse
from tests.kit.hook_calls import PLAN, ask, decision, events, guarded, payload
from tests.kit.paths import DATA

CASES = json.loads((DATA / "cases" / "guardrail.json").read_text())
CALLS = CASES["payload_cases"]
RAW = CASES["raw_cases"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return guarded(tmp_path)


@pytest.fixture
def as_shared(tmp_path: Path) -> Path:
    """A workspace with the scope that the shared cases have."""
    bullets = [f"- IN: {', '.join(CASES['scope']['in'])}"]
    bullets += [f"- DO NOT TOUCH: {glob}" for glob in CASES["scope"]["do_not_touch"]]
    return guarded(tmp_path, "# Plan: Shared\n\n## Constraints\n\n" + "\n".join(bullets) + "\n")


def moved(case: dict[str, Any], root: Path) -> dict[str, Any]:
    """The payload with the root of the cases at our root, and its state folder as ours."""
    text = json.dumps(case["payload"]).replace("/repo", str(root))
    return dict(json.loads(text.replace(".state/", ".hornbook/")))


def run(
    root: Path, event: str, data: bytes, **environment: str
) -> "subprocess.CompletedProcess[bytes]":
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HORNBOOK_", "CLAUDE_"))}
    return subprocess.run(
        [sys.executable, "-m", "hornbook", "hook", event],
        input=data,
        capture_output=True,
        cwd=root,
        check=False,
        env={**kept, **environment},
    )


# The shared cases


@pytest.mark.parametrize("case", CALLS, ids=lambda case: case["id"])
def test_every_shared_case_is_decided_as_it_says(case: dict[str, Any], as_shared: Path) -> None:
    found = decision(
        ask(as_shared, "pre-tool-use", moved(case, as_shared), HORNBOOK_ROLE=case["role"])
    )
    wanted = {"allow": "silent", "deny": "deny", "deny_or_sandbox": "deny"}[case["expect"]]
    assert found == wanted, case["why"]
    logged = events(as_shared)
    assert len(logged) == (found == "deny")
    for event in logged:
        assert event["kind"] == "guard_denied"
        assert event["tool"] == case["payload"]["tool_name"]
        assert event["tool_use_id"] == "toolu_1"
        assert {"path", "rule", "at", "session"} <= event.keys()


@pytest.mark.parametrize("case", RAW, ids=lambda case: case["id"])
def test_every_shared_input_that_cannot_be_read_blocks(case: dict[str, Any], root: Path) -> None:
    done = ask(root, "pre-tool-use", case["stdin"].encode())
    assert (done.code, done.out) == (case["expect_exit"], "")
    assert done.err


@pytest.mark.parametrize(
    "case", [CALLS[0], CALLS[1], CALLS[4], RAW[0], RAW[2]], ids=lambda c: c["id"]
)
def test_the_shared_cases_hold_in_a_process(case: dict[str, Any], as_shared: Path) -> None:
    if "stdin" in case:
        done = run(as_shared, "pre-tool-use", case["stdin"].encode())
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr
        return
    data = json.dumps(moved(case, as_shared)).encode()
    done = run(as_shared, "pre-tool-use", data, HORNBOOK_ROLE=case["role"])
    assert (done.returncode, done.stderr) == (0, b"")
    assert bool(done.stdout) == (case["expect"] == "deny")
    assert b"allow" not in done.stdout


# Tools and roles


@pytest.mark.parametrize("tool", ["Read", "Grep", "Glob", "TodoWrite", "ExitPlanMode"])
@pytest.mark.parametrize("role", DEFAULT_TOOLS)
def test_reading_and_planning_are_never_bound_by_scope(root: Path, tool: str, role: str) -> None:
    sent = payload(root, tool, file_path="/etc/passwd", path=".hornbook")
    assert decision(ask(root, "pre-tool-use", sent, HORNBOOK_ROLE=role)) == "silent"


@pytest.mark.parametrize("tool", ["WebFetch", "Agent", "mcp__deploy__run", "write", "Brand_New"])
def test_a_tool_that_is_not_listed_is_denied(root: Path, tool: str) -> None:
    assert decision(ask(root, "pre-tool-use", payload(root, tool))) == "deny"
    assert [event["rule"] for event in events(root)] == ["tool_not_listed"]


def test_a_team_lists_the_tools_of_a_role(root: Path) -> None:
    config = "guard:\n  tools:\n    developer: [Read, 'mcp__files__*']\n"
    (root / ".hornbook" / "config.yaml").write_text(config)
    listed = payload(root, "mcp__files__write", path=str(root / "src" / "a.py"))
    assert decision(ask(root, "pre-tool-use", listed)) == "silent"
    outside = payload(root, "mcp__files__write", path=str(root / "README.md"))
    assert decision(ask(root, "pre-tool-use", outside)) == "deny"
    assert decision(ask(root, "pre-tool-use", payload(root, "Bash", command="ls"))) == "deny"
    sent = payload(root, "Write", file_path=str(root / "src" / "a.py"))
    assert decision(ask(root, "pre-tool-use", sent)) == "deny"


@pytest.mark.parametrize("role", ["reviewer", "planner"])
@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit", "NotebookEdit"])
def test_a_reader_edits_nothing(root: Path, role: str, tool: str) -> None:
    sent = payload(root, tool, file_path=str(root / "src/a.py"), notebook_path="src/a.ipynb")
    assert decision(ask(root, "pre-tool-use", sent, HORNBOOK_ROLE=role)) == "deny"
    assert events(root)[0]["rule"] == "read_only"


def test_a_reviewer_stays_read_only_whatever_its_list_says(root: Path) -> None:
    config = "guard:\n  tools:\n    reviewer: [Read, Write]\n"
    (root / ".hornbook" / "config.yaml").write_text(config)
    sent = payload(root, "Write", file_path=str(root / "src/a.py"))
    assert decision(ask(root, "pre-tool-use", sent, HORNBOOK_ROLE="reviewer")) == "deny"


def test_an_unknown_role_blocks_and_names_those_there_are(root: Path) -> None:
    sent = payload(root, "Read", file_path="x")
    done = ask(root, "pre-tool-use", sent, HORNBOOK_ROLE="devloper")
    assert decision(done) == "blocked"
    assert "developer, reviewer, planner" in done.err


# Paths


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("src/a.py", "silent"),
        ("./src/a.py", "silent"),
        ("src/new/deep/file.py", "silent"),
        ("src/../src/a.py", "silent"),
        ("src/../README.md", "deny"),
        ("src/../../elsewhere.py", "deny"),
        ("src/core/kernel.py", "deny"),
        ("src/./core/new.py", "deny"),
        ("src/generated/x.py", "deny"),
        ("src2/a.py", "deny"),
        ("srcs", "deny"),
        ("~/x.py", "deny"),
        ("/", "deny"),
        (".", "deny"),
        (".hornbook/config.yaml", "deny"),
        (".Hornbook/config.yaml", "deny"),
        ("src/../.hornbook/plans/guarded/plan.md", "deny"),
        (".semspec/sources/docs/sops/a.md", "deny"),
        (".claude/settings.json", "deny"),
        (".git/hooks/pre-commit", "deny"),
        ("src/\udcff.py", "silent"),
        ("docs/\udcff.py", "deny"),
        ("src/a\0b.py", "blocked"),
        ("src/\ud800.py", "blocked"),
        ("", "blocked"),
    ],
)
def test_paths_are_judged_where_they_lead(root: Path, path: str, wanted: str) -> None:
    relative = payload(root, "Write", file_path=path)
    assert decision(ask(root, "pre-tool-use", relative)) == wanted
    if path and path[0] not in "/~":
        absolute = payload(root, "Edit", file_path=f"{root}/{path}")
        assert decision(ask(root, "pre-tool-use", absolute)) == wanted


def test_links_are_judged_by_their_name_and_by_what_they_lead_to(root: Path) -> None:
    (root / "src" / "out").symlink_to(root / "docs", target_is_directory=True)
    (root / "src" / "file").symlink_to("../README.md")
    (root / "src" / "state").symlink_to("../.hornbook")
    (root / "src" / "loop").symlink_to("loop")
    (root / "docs" / "back").symlink_to("../src")
    (root / "in").symlink_to("src/a.py")
    for path, wanted in {
        "src/out/page.md": "deny",
        "src/file": "deny",
        "src/state/config.yaml": "deny",
        "src/out/../a.py": "deny",
        "docs/back/a.py": "silent",
        "docs/back/core/kernel.py": "deny",
        "in": "deny",
        "src/loop": "silent",
    }.items():
        sent = payload(root, "Write", file_path=str(root / path))
        assert decision(ask(root, "pre-tool-use", sent)) == wanted, path


def test_a_root_behind_a_link_is_the_same_root(root: Path, tmp_path_factory: Any) -> None:
    alias = tmp_path_factory.mktemp("other") / "alias"
    alias.symlink_to(root, target_is_directory=True)
    for path, wanted in {"src/a.py": "silent", "README.md": "deny"}.items():
        sent = payload(alias, "Write", file_path=str(alias / path))
        assert decision(ask(alias, "pre-tool-use", sent)) == wanted
        assert decision(ask(root, "pre-tool-use", sent)) == wanted


def test_a_worktree_of_ours_is_judged_as_the_tree_it_is(root: Path) -> None:
    tree = root / ".hornbook" / "worktrees" / "one"
    (tree / "src").mkdir(parents=True)
    (tree / ".git").write_text("gitdir: elsewhere\n")
    around = HookEnvironment({}, str(tree), None, lambda at: compile_guard(Path(at)))
    for path, wanted in {"src/a.py": "silent", "README.md": "deny", "src/core/x": "deny"}.items():
        data = json.dumps(payload(tree, "Write", file_path=str(tree / path))).encode()
        assert decision(respond("pre-tool-use", data, around)) == wanted
    beside = payload(tree, "Write", file_path=str(tree.parent / "notes"))
    assert decision(respond("pre-tool-use", json.dumps(beside).encode(), around)) == "deny"


def test_a_nested_repository_does_not_take_the_guard_away(root: Path) -> None:
    nested = root / "vendor" / "lib"
    (nested / ".git").mkdir(parents=True)
    environment = {"CLAUDE_PROJECT_DIR": str(root)}
    around = HookEnvironment(environment, str(nested), None, lambda at: compile_guard(Path(at)))
    data = json.dumps(payload(nested, "Write", file_path=str(root / "README.md"))).encode()
    assert decision(respond("pre-tool-use", data, around)) == "deny"


def test_folders_outside_are_writable_where_a_team_says_so(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    sent = payload(root, "Write", file_path=str(scratch / "x"))
    assert decision(ask(root, "pre-tool-use", sent)) == "deny"
    (root / ".hornbook" / "config.yaml").write_text(f"guard:\n  scratch: ['{scratch}']\n")
    assert decision(ask(root, "pre-tool-use", sent)) == "silent"
    beside = payload(root, "Write", file_path=f"{scratch}-beside/x")
    assert decision(ask(root, "pre-tool-use", beside)) == "deny"


def test_a_file_system_that_folds_case_folds_what_is_denied(root: Path) -> None:
    active = compile_guard(root)
    path = str(root / "src" / "CORE" / "x.py")
    assert WriteScope(str(root), active, "developer", folds_case=False).judge(path) is None
    denial = WriteScope(str(root), active, "developer", folds_case=True).judge(path)
    assert denial is not None
    assert denial.rule == "do_not_touch"


# Without a plan


def test_without_a_plan_only_our_folder_is_guarded(tmp_path: Path) -> None:
    (tmp_path / ".hornbook").mkdir()
    for tool, sent, wanted in [
        ("Write", {"file_path": "README.md"}, "silent"),
        ("Write", {"file_path": "/etc/x"}, "silent"),
        ("Write", {"file_path": ".semspec/x"}, "silent"),
        ("WebFetch", {}, "silent"),
        ("Bash", {"command": "hornbook plan x"}, "silent"),
        ("Bash", {"command": "echo x > README.md"}, "silent"),
        ("Bash", {"command": "echo 'x"}, "silent"),
        ("Write", {"file_path": ".hornbook/config.yaml"}, "deny"),
        ("Bash", {"command": "rm -rf .hornbook"}, "deny"),
        ("Bash", {"command": "rm -rf ."}, "deny"),
        ("Bash", {"command": "echo 'x > .hornbook/config.yaml"}, "deny"),
    ]:
        assert decision(ask(tmp_path, "pre-tool-use", payload(tmp_path, tool, **sent))) == wanted, (
            sent
        )


def test_a_folder_that_is_no_workspace_stays_as_it_is(tmp_path: Path) -> None:
    sent = payload(tmp_path, "Write", file_path=str(tmp_path / "x"))
    for event in EVENTS:
        assert ask(tmp_path, event, sent).code == 0
    assert list(tmp_path.iterdir()) == []


# The compiled file


def never(_root: str) -> Active:
    raise AssertionError("compiled anew")


def test_a_fresh_file_is_used_as_it_is(root: Path) -> None:
    compiled = compile_guard(root)
    assert load(str(root), lambda: never("")) == compiled


@pytest.mark.parametrize("changed", ["plans/guarded/plan.md", "config.yaml", "active.json"])
def test_a_file_that_is_not_fresh_is_never_used(root: Path, changed: str) -> None:
    compile_guard(root)
    path = root / ".hornbook" / changed
    facts = path.stat() if path.exists() else None
    text = path.read_text() if facts else "code: []\n"
    path.write_text(text.replace("src/core", "src/cord") if facts else text)
    if facts:
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    if changed == "active.json":
        path.write_text("{}")
    with pytest.raises(AssertionError, match="compiled anew"):
        load(str(root), lambda: never(""))


def test_another_plan_binds_as_soon_as_it_is_active(root: Path) -> None:
    sent = payload(root, "Write", file_path=str(root / "docs" / "page.md"))
    assert decision(ask(root, "pre-tool-use", sent)) == "deny"
    other = root / ".hornbook" / "plans" / "other" / "plan.md"
    other.parent.mkdir()
    other.write_text("# Plan: Other\n\n## Constraints\n\n- IN: docs/**\n")
    (root / ".hornbook" / "ACTIVE_PLAN").write_text("other")
    assert decision(ask(root, "pre-tool-use", sent)) == "silent"
    (root / ".hornbook" / "ACTIVE_PLAN").unlink()
    assert compile_guard(root) == Active()
    assert not (root / ".hornbook" / "active.json").exists()


@pytest.mark.parametrize(
    "pointer", ["", "\n", "guarded\nother\n", "../guarded", "no-such-plan", "a b"]
)
def test_a_pointer_that_cannot_be_followed_blocks(root: Path, pointer: str) -> None:
    (root / ".hornbook" / "ACTIVE_PLAN").write_text(pointer)
    done = ask(root, "pre-tool-use", payload(root, "Read", file_path="x"))
    assert decision(done) == "blocked"
    assert "ACTIVE_PLAN" in done.err


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".hornbook/config.yaml", "gard: {}\n"),
        (".hornbook/config.yaml", "guard:\n  tools:\n    develper: [Read]\n"),
        (".hornbook/config.yaml", "guard:\n  scratch: [tmp]\n"),
        (".hornbook/plans/guarded/plan.md", PLAN.replace("src/core/**", "src/[core")),
        (".hornbook/plans/guarded/plan.md", PLAN.replace("src/core/**", "!src")),
    ],
)
def test_what_cannot_be_compiled_blocks(root: Path, path: str, text: str) -> None:
    (root / path).write_text(text)
    done = ask(root, "pre-tool-use", payload(root, "Read", file_path="x"))
    assert decision(done) == "blocked"


def test_a_state_folder_that_cannot_be_read_blocks(tmp_path: Path) -> None:
    (tmp_path / ".hornbook").write_text("a file")
    done = ask(tmp_path, "pre-tool-use", payload(tmp_path, "Read", file_path="x"))
    assert decision(done) == "blocked"
    (tmp_path / ".hornbook").unlink()
    (tmp_path / ".hornbook" / "ACTIVE_PLAN").mkdir(parents=True)
    assert decision(ask(tmp_path, "pre-tool-use", payload(tmp_path, "Read"))) == "blocked"
    assert (
        run(tmp_path, "pre-tool-use", json.dumps(payload(tmp_path, "Read")).encode()).returncode
        == 2
    )


def test_a_state_folder_that_cannot_be_written_still_denies(root: Path) -> None:
    compile_guard(root)
    (root / ".hornbook" / "spool").write_text("in the way")
    done = ask(root, "pre-tool-use", payload(root, "Write", file_path="README.md"))
    assert json.loads(done.out)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "could not be logged" in done.err


def test_kept_regexes_fit_what_the_dialect_fits(root: Path) -> None:
    patterns = ["src/**", "*.py", "a/**/b?.{py,go}", "[!x]y/", "/top", "**"]
    (root / ".hornbook" / "plans" / "guarded" / "plan.md").write_text(
        "# P\n\n## Constraints\n\n" + "".join(f"- IN: {each}\n" for each in patterns)
    )
    compile_guard(root)
    kept = load(str(root), lambda: never("")).inside.included
    paths = [
        "src",
        "src/a.py",
        "x.py",
        "a/b1.py",
        "a/z/b2.go",
        "zy/q",
        "xy/q",
        "top",
        "a/top",
        "é.py",
    ]
    for pattern in kept:
        for path in paths:
            assert activity._fits(pattern, path, folds_case=False) == parse(
                pattern.pattern
            ).matches(path)


def test_a_pattern_too_large_for_a_regex_still_fits(root: Path) -> None:
    wide = "{" + ",".join(f"name{n}" for n in range(200)) + "}/**"
    plan = PLAN.replace("src/core/**", wide)
    (root / ".hornbook" / "plans" / "guarded" / "plan.md").write_text(
        plan.replace("src/**, ", "**, ")
    )
    for path, wanted in {"name7/x": "deny", "other/x": "silent"}.items():
        sent = payload(root, "Write", file_path=str(root / path))
        assert decision(ask(root, "pre-tool-use", sent)) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("## Constraints\n- IN: a/**\n", Constraints(("a/**",))),
        ("## Constraints\n* in: a, b/{c,d}\n+ IN: e\n", Constraints(("a", "b/{c,d}", "e"))),
        ("## Constraints\n- **OUT:** `a`, `b c`\n", Constraints((), ("a", "b c"))),
        ("## Constraints\n- DO_NOT_TOUCH: a\n- DO NOT TOUCH: b\n", Constraints((), (), ("a", "b"))),
        ("## Constraints\n### Files\n- IN: a\n## Next\n- IN: b\n", Constraints(("a",))),
        ("## Constraints\n```\n- IN: a\n```\n- OUT: b\n", Constraints((), ("b",))),
        ("## Other\n- IN: a\n", Constraints()),
        ('## Constraints\n- IN: "a, b"\n', Constraints(("a, b",))),
        ("## Constraints\n\nWords only.\n- Speed: fast\n", Constraints()),
        ("", Constraints()),
    ],
)
def test_constraints_are_the_bullets_of_their_section(text: str, wanted: Constraints) -> None:
    assert read_constraints(text) == wanted


# Any input


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(max_size=200), event=st.sampled_from(EVENTS))
def test_any_bytes_are_answered_or_blocked(root: Path, data: bytes, event: str) -> None:
    done = ask(root, event, data)
    assert done.code in {0, 2}
    assert "allow" not in done.out


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "session_id": JSON,
        "cwd": JSON | st.just("/"),
        "tool_name": st.sampled_from(["Bash", "Write", "NotebookEdit", "Read"]) | JSON,
        "tool_input": st.dictionaries(
            st.sampled_from(["command", "file_path", "notebook_path"]), JSON, max_size=3
        )
        | JSON,
        "tool_use_id": JSON,
        "trigger": JSON,
        "stop_hook_active": JSON,
        "duration_ms": JSON,
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(sent=FIELDS, event=st.sampled_from(EVENTS))
def test_any_payload_is_answered_or_blocked(
    root: Path, sent: dict[str, object], event: str
) -> None:
    done = ask(root, event, json.dumps(sent).encode())
    assert done.code in {0, 2}
    if event == "pre-tool-use":
        assert decision(done) in {"silent", "deny", "blocked"}


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"[" * 100_000, b"9" * 10_000, b'{"tool_name": "Bash"}']
)
def test_a_process_never_fails_in_another_way_than_by_blocking(root: Path, data: bytes) -> None:
    done = run(root, "pre-tool-use", data)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Traceback" not in done.stderr


def test_an_unknown_event_or_option_is_a_usage_error(root: Path) -> None:
    done = run(root, "pre-tool-usage", b"{}")
    assert done.returncode == 2
    assert b"pre-tool-use" in done.stderr


def test_the_root_can_be_given(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    data = json.dumps(payload(root, "Write", file_path=str(root / "README.md"))).encode()
    for options in (["--root", str(root)], [f"--root={root}"]):
        done = subprocess.run(
            [sys.executable, "-m", "hornbook", *options, "hook", "pre-tool-use"],
            input=data,
            capture_output=True,
            cwd=elsewhere,
            check=True,
        )
        assert b'"deny"' in done.stdout


MOST_MODULES = 20
"""Of ours, before a tool: a hook starts for every call of an agent."""


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "src/a.py"}),
        ("Write", {"file_path": "README.md"}),
        ("Bash", {"command": "pytest -q 2>&1 | tail -5"}),
        ("Bash", {"command": "git status && rm src/a.py"}),
        ("Bash", {"command": "uv run pytest -q && rm src/a.py"}),
        ("Bash", {"command": "rm README.md"}),
    ],
)
def test_a_call_before_a_tool_loads_few_modules_and_the_standard_library(
    root: Path, tool: str, given: dict[str, str]
) -> None:
    compile_guard(root)
    code = (
        "import sys\n"
        "from hornbook.cli.main import main\n"
        "sys.argv = ['hornbook', 'hook', 'pre-tool-use']\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        "    print(end.code, *sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        input=json.dumps(payload(root, tool, **given)).encode(),
        capture_output=True,
        cwd=root,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(hornbook.__file__).parents[1])},
    )
    ended, *loaded = done.stderr.decode().split()
    assert ended == "0"
    ours = [name for name in loaded if name.partition(".")[0] == "hornbook"]
    assert len(ours) <= MOST_MODULES, ours
    assert not {"dataclasses", "pathlib", "typing"}.intersection(loaded)
    names = {name.partition(".")[0] for name in loaded}
    assert names - sys.stdlib_module_names <= {"hornbook", "__main__"}


# The guard and the plans read the same constraints

GLOBS = st.text(min_size=1).filter(lambda text: bool(text.strip()))


@given(st.lists(GLOBS, max_size=3), st.lists(GLOBS, max_size=3), st.text())
def test_the_guard_reads_the_constraints_that_a_plan_states(
    inside: list[str], outside: list[str], situation: str
) -> None:
    stated = Constraints(tuple(inside), tuple(outside), ("core/**",))
    plan = Plan("any", "Any", situation=situation, constraints=stated, coordination="```\nopen")
    assert read_constraints(render(plan)) == stated
