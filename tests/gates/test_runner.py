"""Gates over real little projects: what counts as a pass, and what never does."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from hornbook import Workspace
from hornbook.cli.commands import gates as gate_run
from hornbook.commits.trees import content
from hornbook.disk import sweep
from hornbook.errors import ConfigError, UsageError
from hornbook.gates.gate import Gate, GateReport, GateResult, GateStatus
from hornbook.gates.gate_run import run_for
from hornbook.gates.reports import junit
from hornbook.gates.runner import NO_GATES, run_gates
from hornbook.gates.test_output import problem_with_tests, tools_run
from hornbook.plans.plan import Constraints
from tests.kit import pytest_command
from tests.kit.workspaces import write

PYTEST = " ".join(pytest_command.PYTEST)
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def run(root: Path, *gates: Gate, parallel: int = 2) -> GateReport:
    return run_gates(gates, root, logs=root / "logs", parallel=parallel)


def one(root: Path, gate: Gate) -> GateResult:
    return run(root, gate).gates[0]


def statuses(report: GateReport) -> dict[str, str]:
    return {gate.name: gate.status.value for gate in report.gates}


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", *identity, "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, message: str = "work") -> str:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    write(
        root, {"app.py": "def one():\n    return 1\n", "test_app.py": "def test_a():\n    pass\n"}
    )
    git(root, "init", "-q", "-b", "main")
    commit(root, "base")
    return root


# Order, requirement, failure


def test_results_come_in_the_order_of_the_gates_whatever_ends_first(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gone")
    report = run(tmp_path, Gate("first", "cat gone"), Gate("second", "echo > gone"), Gate("c", ":"))
    assert [gate.name for gate in report.gates] == ["first", "second", "c"]
    assert report.passed


def test_a_required_failure_fails_and_an_optional_one_warns(tmp_path: Path) -> None:
    report = run(tmp_path, Gate("must", "exit 1"), Gate("may", "exit 2", required=False))
    assert statuses(report) == {"must": "failed", "may": "warned"}
    assert not report.passed
    assert report.warnings[0].startswith("may: exit code 2")
    assert run(tmp_path, Gate("ok", "true"), Gate("may", "exit 2", required=False)).passed


def test_gates_after_a_failed_one_are_skipped_and_that_is_no_pass(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        Gate("test", "touch tested", after=("build",)),
        Gate("build", "false"),
        Gate("deploy", "touch deployed", after=("test",)),
        Gate("apart", "touch apart"),
    )
    assert statuses(report) == {
        "test": "skipped", "build": "failed", "deploy": "skipped", "apart": "passed",
    }  # fmt: skip
    assert report.gates[0].message == "not run: build did not pass"
    assert not (tmp_path / "tested").exists()
    assert (tmp_path / "apart").exists()


def test_a_gate_waits_for_those_it_comes_after(tmp_path: Path) -> None:
    report = run(
        tmp_path, Gate("second", "cat made", after=("first",)), Gate("first", "echo hello > made")
    )
    assert report.passed
    assert report.gates[0].output == "hello"


def test_gates_that_wait_for_each_other_or_for_nothing_known_are_refused(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        Gate("a", ":", after=("b",)),
        Gate("b", ":", after=("a",)),
        Gate("c", ":", after=("nowhere",)),
        Gate("d", ":"),
    )
    assert statuses(report) == {"a": "refused", "b": "refused", "c": "refused", "d": "passed"}
    assert "nowhere" in report.gates[2].message
    assert not report.passed


def test_no_gate_at_all_is_not_a_pass(tmp_path: Path) -> None:
    report = run(tmp_path)
    assert not report.passed
    assert report.gates == (NO_GATES,)
    assert "not a pass" in report.gates[0].message


def test_a_missing_tool_is_named(tmp_path: Path) -> None:
    found = one(tmp_path, Gate("lint", "golangci-lint-that-is-not-here run"))
    assert found.status is GateStatus.FAILED
    assert found.exit_code == 127
    assert found.message == "golangci-lint-that-is-not-here is not installed or not on PATH."


def test_a_gate_that_takes_too_long_fails_with_what_it_printed(tmp_path: Path) -> None:
    found = one(tmp_path, Gate("slow", "echo started; sleep 60", timeout=1))
    assert found.status is GateStatus.FAILED
    assert found.message.startswith("not done after 1 s")
    assert found.output == "started"


def test_a_gate_runs_in_its_folder_and_never_above_the_root(tmp_path: Path) -> None:
    write(tmp_path, {"below/x": "here\n"})
    assert one(tmp_path, Gate("in", "cat x", folder="below")).output == "here"
    assert one(tmp_path, Gate("up", "true", folder="..")).status is GateStatus.FAILED
    assert one(tmp_path, Gate("no", "true", folder="missing")).status is GateStatus.FAILED


def test_secrets_of_ours_do_not_reach_a_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    found = one(tmp_path, Gate("env", "env", environment=(("OWN", "1"),)))
    assert "hush" not in found.output
    assert "OWN=1" in found.output.split("\n")


def test_each_gate_has_a_log_of_its_own_whatever_its_name(tmp_path: Path) -> None:
    names = ["a b", "a-b", "../up", "ok"]
    report = run(tmp_path, *(Gate(name, f"echo '{name}'") for name in names))
    assert [Path(str(gate.log)).read_text() for gate in report.gates] == [f"{n}\n" for n in names]
    assert len(list((tmp_path / "logs").iterdir())) == 4


def test_two_gates_of_one_name_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="two gates are named a: rename one"):
        run(tmp_path, Gate("a", "true"), Gate("a", "false"))


def test_an_interrupted_run_ends_its_gates(tmp_path: Path) -> None:
    def stop(_name: str, ended: GateStatus | None) -> None:
        if ended is not None:
            raise KeyboardInterrupt

    gates = [Gate("long", "sleep 600"), Gate("short", "true")]
    with pytest.raises(KeyboardInterrupt):
        run_gates(gates, tmp_path, logs=tmp_path / "logs", parallel=2, progress=stop)


# No tests ran


@pytest.mark.parametrize(
    ("files", "arguments", "status"),
    [
        ({"test_a.py": "def test_a():\n    print('no tests ran in 0.01s')\n"}, "-s", "passed"),
        ({"test_a.py": "def test_a():\n    assert False\n"}, "-q", "failed"),
        ({"test_a.py": "x = 1\n"}, "", "failed"),
        ({"test_a.py": "def test_a():\n    pass\n"}, "-q -k nothing", "failed"),
        ({"test_a.py": "def test_a():\n    pass\n"}, "--collect-only", "failed"),
        (
            {"test_a.py": "import pytest\n@pytest.mark.skip\ndef test_a():\n    pass\n"},
            "",
            "failed",
        ),
    ],
)
def test_pytest_must_run_a_test(
    tmp_path: Path, files: dict[str, str], arguments: str, status: str
) -> None:
    write(tmp_path, files)
    found = one(tmp_path, Gate("test", f"{PYTEST} {arguments}"))
    assert found.status.value == status
    assert found.message.startswith("no tests ran (pytest)") == ("assert False" not in str(files) and status == "failed")  # fmt: skip


@pytest.mark.parametrize(
    ("files", "arguments", "told"),
    [
        ({"test_a.py": "import os\ndef test_a():\n    os._exit(0)\n"}, "-q", "gave no account"),
        ({"test_a.py": "import os\nos._exit(0)\n"}, "", "gave no account"),
        (
            {"conftest.py": "import os\nos._exit(0)\n", "test_a.py": "def test_a(): pass\n"},
            "-q",
            "gave no account",
        ),
        (
            {
                "pytest.ini": "[pytest]\naddopts = -qq\n",
                "test_a.py": "import pytest\n@pytest.mark.skip\ndef test_a():\n    pass\n",
            },
            "",
            "gave no account",
        ),
        (
            {
                "conftest.py": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
                "test_a.py": "def test_a():\n    assert False\n",
            },
            "-q",
            "tells of 1 failed test, although it ended with 0",
        ),
        (
            {"test_a.py": "import pytest\n@pytest.mark.xfail\ndef test_a():\n    assert False\n"},
            "-q",
            "no tests ran",
        ),
        ({"test_a.py": "def test_a():\n    pass\n"}, "--version", "gave no account"),
        ({"test_a.py": "def test_a():\n    pass\n"}, "-h", "gave no account"),
    ],
)
def test_pytest_that_ends_with_0_must_tell_of_tests_that_passed(
    tmp_path: Path, files: dict[str, str], arguments: str, told: str
) -> None:
    write(tmp_path, files)
    found = one(tmp_path, Gate("test", f"{PYTEST} {arguments}"))
    assert found.exit_code == 0
    assert found.status is GateStatus.FAILED
    assert told in found.message


@pytest.mark.parametrize(
    "command", ["make test", "sh scripts/test.sh", "./scripts/test.sh", "sh -c 'make test'"]
)
def test_a_recipe_that_names_a_test_tool_must_have_its_account(
    tmp_path: Path, command: str
) -> None:
    script = f"#!/bin/sh\nset -e\n{PYTEST} -q\n"
    write(
        tmp_path,
        {
            "Makefile": f"test:\n\t@{PYTEST} -q\n",
            "scripts/test.sh": script,
            "test_a.py": "def test_a():\n    pass\n",
        },
    )
    (tmp_path / "scripts/test.sh").chmod(0o755)
    assert one(tmp_path, Gate("test", command)).status is GateStatus.PASSED
    write(tmp_path, {"test_a.py": "import os\nos._exit(0)\n"})
    assert "pytest gave no account" in one(tmp_path, Gate("test", command)).message


@pytest.mark.parametrize(
    ("command", "tools"),
    [
        ("coverage run -m pytest && coverage report", ("pytest",)),
        ("python -m unittest discover", ("unittest",)),
        ("uv run pytest -q", ("pytest",)),
        ("docker run --rm image pytest -q", ("pytest",)),
        ("bash -c 'cd x && npx jest'", ("jest",)),
        ('test -n "$(pytest -q)"', ("pytest",)),
        ("cargo +nightly test && go test ./...", ("cargo", "go test")),
        ("cargo build && cargo test --no-run", ()),
        ("pip install pytest && make lint", ()),
        ("npm install jest", ()),
        ("command -v pytest", ()),
        ("echo pytest", ()),
        ("ruff check tests/pytest", ()),
        ("go vet ./...", ()),
    ],
)
def test_the_tools_that_a_command_runs_are_told_from_those_it_mentions(
    command: str, tools: tuple[str, ...]
) -> None:
    assert tools_run(command) == tools


CARGO_ONE = (
    "running 1 test\ntest t ... ok\n\n"
    "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n"
)
CARGO_BAD = CARGO_ONE.replace("ok. 1 passed; 0 failed", "FAILED. 0 passed; 2 failed")
JEST = "Test Suites: 1 passed, 1 total\nTests:       3 passed, 3 total\nSnapshots:   0 total\n"
SESSION = "=== test session starts ===\n"


@pytest.mark.parametrize(
    ("command", "output", "told"),
    [
        ("go test ./...", "FAIL\tx\t0.1s\nok  \ty\t0.1s\n", "go test tells of 1 failed test"),
        ("go test ./... || go test ./...", "FAIL\tx\t0.1s\nok  \tx\t0.1s\n", None),
        ("go test ./...", "", "go test gave no account"),
        ("cargo test", "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 x\n", "cargo tells of 2 failed tests"),
        ("pytest || pytest --last-failed", "1 failed in 0.1s\n1 passed in 0.1s\n", None),
        ("pytest", "Results (0.05s):\n       2 passed\n", None),
        ("python -m unittest", "Ran 2 tests in 0.1s\n\nFAILED (failures=1)\n", "unittest tells of 1 failed test"),
        ("python -m unittest", "Ran 1 test in 0.1s\n\nOK (expected failures=1)\n", "no tests ran"),
        ("npx jest", "Tests:       1 failed, 3 total\n", "jest tells of 1 failed test"),
        ("npx mocha", "  2 passing (1ms)\n  1 failing\n", "mocha tells of 1 failed test"),
        # the failure stands in an account before the last
        ("cargo test", CARGO_BAD + CARGO_ONE, "cargo tells of 2 failed tests"),
        ("npx jest", "Tests:       1 failed, 3 total\n" + JEST, "jest tells of 1 failed test"),
        ("./both.sh", "1 failed in 0.1s\n1 passed in 0.1s\n", "pytest tells of 1 failed test"),
        ("npx mocha", "  1 failing\n  2 passing (1ms)\n", "mocha tells of 1 failed test"),
        # another program started the tool
        ("./check", "Ran 2 tests in 0.1s\n\nFAILED (errors=1)\n", "unittest tells of 1 failed test"),
        ("make check", "1 failed, 2 passed in 0.1s\n", "pytest tells of 1 failed test"),
        ("pytest && ./more", "1 passed in 0.1s\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n", "unittest tells of 1 failed test"),
        # what a test printed, and tries until it passes
        ("pytest -s", SESSION + SESSION + "=== 1 failed in 0.1s ===\n=== 1 passed in 0.2s ===\n", None),
        ("pytest", SESSION + "=== 1 failed in 0.1s ===\n" + SESSION + "=== 1 passed in 0.2s ===\n", "pytest tells of 1 failed test"),
        ("for i in 1 2 3; do pytest -q && exit 0; done; exit 1", "1 failed in 0.1s\n1 passed in 0.1s\n", None),
        ("sh -c 'cargo test || cargo test'", CARGO_BAD + CARGO_ONE, None),
        ("npx jest || npx jest", "Tests:       1 failed, 3 total\n" * 2, "jest tells of 1 failed test"),
    ],
)  # fmt: skip
def test_an_account_of_failures_is_no_pass_whatever_the_exit_code(
    command: str, output: str, told: str | None
) -> None:
    found = problem_with_tests(command, 0, output)
    assert found is None if told is None else told in str(found)


NODE_TEST = "const test = require('node:test');\n"


@needs_node
@pytest.mark.parametrize(
    ("files", "arguments", "status"),
    [
        ({"a.test.js": NODE_TEST + "test('a', () => console.log('tests 0'));\n"}, "", "passed"),
        ({"a.test.js": NODE_TEST + "test('a', () => { throw new Error('x') });\n"}, "", "failed"),
        ({"package.json": "{}"}, "", "failed"),
        ({"package.json": "{}"}, "--test-reporter=spec", "failed"),
        ({"a.test.js": NODE_TEST + "test('a', { skip: true }, () => {});\n"}, "", "failed"),
    ],
)
def test_node_must_run_a_test(
    tmp_path: Path, files: dict[str, str], arguments: str, status: str
) -> None:
    write(tmp_path, files)
    found = one(tmp_path, Gate("test", f"node --test {arguments}"))
    assert found.status.value == status


GO_OK = "ok  \texample.org/app/handlers\t0.004s\n"
GO_NONE = "?   \texample.org/app\t[no test files]\n"
GO_EMPTY = "ok  \texample.org/app/model\t0.002s [no tests to run]\n"
CARGO_NONE = (
    "     Running unittests src/lib.rs (target/debug/deps/x-b885370c02d1f6ea)\n\nrunning 0 tests\n\n"
    "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n"
)
VITEST = "\x1b[2m Test Files \x1b[22m 1 passed (1)\n\x1b[2m      Tests \x1b[22m 2 passed (2)\n"


@pytest.mark.parametrize(
    ("command", "code", "output", "tool"),
    [
        ("go test ./...", 0, GO_NONE + GO_OK, None),
        ("go test ./...", 0, GO_NONE + GO_EMPTY, "go test"),
        ("go test ./...", 0, GO_NONE, "go test"),
        ("go test ./...", 0, GO_OK + "ok  \tx/y\t(cached)\n", None),
        ("go test -run Foo ./...", 0, "ok  \tx/y\t(cached) [no tests to run]\n", "go test"),
        ("go test -cover ./...", 0, "\tx/y\t\tcoverage: 0.0% of statements\n", "go test"),
        ("go test -v ./...", 0, "=== RUN   TestA\n    a_test.go:3: [no test files]\n--- PASS: TestA (0.00s)\nPASS\n" + GO_OK, None),
        ("go test ./...", 0, 'go: warning: "./..." matched no packages\n', "go test"),
        ("go test -json ./...", 0, '{"Action":"output","Package":"x","Output":"?   \\tx\\t[no test files]\\n"}\n', "go test"),
        ("go test -json ./...", 0, '{"Action":"output","Package":"x","Output":"ok  \\tx\\t0.1s\\n"}\n', None),
        ("go build ./...", 0, "", None),
        ("cargo test", 0, CARGO_NONE * 2, "cargo"),
        ("cargo test", 0, CARGO_NONE + CARGO_ONE, None),
        ("cargo test", 0, CARGO_ONE.replace("test t", "running 0 tests\ntest t"), None),
        ("cargo test", 0, CARGO_NONE.replace("0 ignored", "2 ignored"), "cargo"),
        ("cargo nextest run", 4, "error: no tests to run\n", "cargo"),
        ("cargo nextest run", 0, "     Summary [   0.004s] 2 tests run: 2 passed, 0 skipped\n", None),
        ("npx jest", 0, JEST, None),
        ("npx jest", 0, JEST + "No tests found\n", None),
        ("npx jest --passWithNoTests", 0, "No tests found, exiting with code 0\n", "jest"),
        ("npx jest", 0, "Tests:       0 total\n", "jest"),
        ("npx jest -t zzz", 0, "Tests:       3 skipped, 3 total\n", "jest"),
        ("npx vitest run", 0, VITEST, None),
        ("npx vitest run --passWithNoTests", 0, "No test files found, exiting with code 0\n", "vitest"),
        ("npx vitest run", 0, "      Tests  2 skipped (2)\n", "vitest"),
        ("npx mocha", 0, "\n  0 passing (1ms)\n", "mocha"),
        ("npx mocha", 0, "\n  2 passing (1ms)\n", None),
        ("python -m unittest", 0, "Ran 0 tests in 0.000s\n\nOK\n", "unittest"),
        ("python -m unittest", 0, "s\nRan 1 test in 0.000s\n\nOK (skipped=1)\n", "unittest"),
        ("python -m unittest", 0, "Ran 3 tests in 0.000s\n\nOK (skipped=1)\n", None),
        ("pytest", 0, "..\n2 passed in 0.05s\n", None),
        ("pytest", 0, "1 passed, 1 deselected, 1 warning in 61.05s (0:01:01)\n", None),
        ("pytest", 5, "", "pytest"),
        ("pytest", 0, "no tests ran in 0.1s\n======= 1 passed in 0.15s =======\n", None),
        ("pytest && node --test", 0, "1 passed in 0.1s\nℹ tests 0\nℹ suites 0\nℹ pass 0\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n", "node --test"),
        ("make test", 0, CARGO_NONE, "cargo"),
        ("make test", 0, CARGO_NONE + "2 passed in 0.05s\n", None),
        ("make build", 0, "compiled\n", None),
        ("./check.sh", 5, "", None),
    ],
)  # fmt: skip
def test_a_tool_that_ran_no_test_is_recognised_by_its_own_account(
    command: str, code: int, output: str, tool: str | None
) -> None:
    told = problem_with_tests(command, code, output)
    assert told == (
        f"no tests ran ({tool}): a run without a test proves nothing." if tool else None
    )


@pytest.mark.parametrize(
    ("tool", "script", "status"),
    [
        ("go", f"printf '{GO_NONE}'", "failed"),
        ("go", f"printf '{GO_OK}'", "passed"),
        ("cargo", "printf 'running 0 tests\\n\\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\\n'", "failed"),
        ("cargo", "echo 'error: could not compile'; exit 101", "failed"),
    ],
)  # fmt: skip
def test_presets_of_absent_tools_run_by_their_command_lines(
    tmp_path: Path, tool: str, script: str, status: str
) -> None:
    write(tmp_path, {f"bin/{tool}": f"#!/bin/sh\n{script}\n"})
    (tmp_path / "bin" / tool).chmod(0o755)
    path = (("PATH", f"{tmp_path}/bin:{os.environ['PATH']}"),)
    gate = Gate("test", f"{tool} test ./...", environment=path)
    assert one(tmp_path, gate).status.value == status


# The tree that is judged


def test_the_report_names_the_tree_that_was_run_on(repository: Path) -> None:
    gates = [Gate("ok", "true > coverage.out", creates=("coverage.out",))]
    clean = run_for(repository, gates)
    assert clean.passed
    assert clean.tree == git(repository, "rev-parse", "HEAD^{tree}")
    index = (repository / ".git/index").read_bytes()
    write(repository, {"app.py": "def one():\n    return 2\n", "new.py": "x = 1\n"})
    dirty = run_for(repository, gates)
    assert dirty.tree != clean.tree
    assert (repository / ".git/index").read_bytes() == index
    (repository / "coverage.out").unlink()
    shutil.rmtree(repository / ".hornbook/logs")
    ignore = (repository / ".hornbook/.gitignore").read_text()
    assert "/logs/\n" in ignore
    git(repository, "add", "app.py", "new.py")
    git(repository, "commit", "-qm", "same", "--", "app.py", "new.py")
    with content(repository, lambda path: path.startswith(".hornbook")) as now:
        assert now.tree == git(repository, "rev-parse", "HEAD^{tree}")


def test_hidden_edits_are_part_of_the_tree(repository: Path) -> None:
    git(repository, "update-index", "--assume-unchanged", "app.py")
    write(repository, {"app.py": "def one():\n    return 3\n"})
    assert git(repository, "status", "--porcelain") == ""
    report = run_for(repository, [Gate("ok", "true")])
    assert report.tree != git(repository, "rev-parse", "HEAD^{tree}")


def test_a_gate_that_edits_what_is_judged_is_told(repository: Path) -> None:
    edits = run_for(repository, [Gate("format", "echo '# x' >> app.py")])
    assert not edits.passed
    assert edits.gates[-1].name == "floor:tree"
    assert "app.py" in edits.gates[-1].message
    leaves = run_for(repository, [Gate("report", "echo x > report.txt")])
    assert leaves.passed
    assert statuses(leaves)["floor:tree"] == "warned"
    named = run_for(repository, [Gate("report", "echo y > made.txt", creates=("made.txt",))])
    assert "floor:tree" not in statuses(named)


def test_a_cache_that_git_would_add_is_noted(repository: Path) -> None:
    leaves = [Gate("cache", "mkdir -p __pycache__ && echo x > __pycache__/a.pyc")]
    report = run_for(repository, leaves)
    assert report.passed
    assert "git does not ignore __pycache__/" in report.notes[0]
    write(repository, {".gitignore": "__pycache__/\n"})
    assert run_for(repository, leaves).notes == ()


def test_with_a_span_gates_run_on_head_even_if_other_files_lie_here(repository: Path) -> None:
    git(repository, "checkout", "-qb", "work")
    write(repository, {"app.py": "def one():\n    return 'work'\n"})
    head = commit(repository)
    git(repository, "checkout", "-q", "main")
    write(repository, {".gitignore": ".venv/\n", ".venv/tool": "tool\n"})
    gates = [Gate("see", "cat app.py .venv/tool; git rev-parse HEAD; git status --short app.py")]
    report = run_for(repository, gates, span="main..work")
    assert report.gates[0].output == f"def one():\n    return 'work'\ntool\n{head}"
    assert report.head == head
    assert report.base == git(repository, "rev-parse", "main")
    assert report.tree == git(repository, "rev-parse", "work^{tree}")
    assert "ran in a copy" in report.notes[0]
    assert (repository / "app.py").read_text().endswith("return 1\n")
    assert list(statuses(report)) == [
        "see", "floor:scope", "floor:tests", "floor:artefacts", "floor:rules",
    ]  # fmt: skip


def test_with_a_span_gates_run_in_place_only_where_that_is_wanted(repository: Path) -> None:
    git(repository, "checkout", "-qb", "work")
    write(repository, {"app.py": "def one():\n    return 'work'\n", ".gitignore": ".hornbook\n"})
    commit(repository)
    copied = run_for(repository, [Gate("where", "pwd")], span="main..")
    assert copied.gates[0].output != str(repository)
    assert "ran in a copy" in copied.notes[0]
    report = run_for(repository, [Gate("where", "pwd")], span="main..", in_place=True)
    assert report.gates[0].output == str(repository)
    assert report.notes == ()
    assert report.passed


HIDES = "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if i.name != 'test_b']\n"


def test_a_file_that_only_this_machine_ignores_does_not_judge_a_change(repository: Path) -> None:
    git(repository, "checkout", "-qb", "work")
    write(repository, {"test_app.py": "def test_a(): pass\ndef test_b(): assert False\n"})
    commit(repository)
    write(repository, {".git/info/exclude": "conftest.py\n", "conftest.py": HIDES})
    gate = Gate("test", f"{PYTEST} -q")
    assert not run_for(repository, [gate], span="main..").passed
    there = run_for(repository, [gate], span="main..", in_place=True)
    assert not there.passed
    assert there.notes[0].endswith("ignored files lie here that no commit has: conftest.py")


def test_a_filter_cannot_pass_other_files_off_as_those_of_head(repository: Path) -> None:
    git(repository, "config", "filter.x.clean", "git show HEAD:%f")
    git(repository, "config", "filter.x.required", "true")
    write(repository, {".git/info/attributes": "app.py filter=x\n"})
    write(repository, {"app.py": "def one():\n    return 'other'\n"})
    report = run_for(repository, [Gate("see", "cat app.py")])
    assert report.tree != git(repository, "rev-parse", "HEAD^{tree}")
    judged = run_for(repository, [Gate("see", "cat app.py")], span="HEAD..HEAD", in_place=True)
    assert "return 1" in judged.gates[0].output
    assert "the files here are others" in judged.notes[0]


def test_copies_of_processes_that_died_are_swept_later(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead, fresh, living = (
        tmp_path / f"hornbook-tree-{name}"
        for name in (f"{gone.pid}-a", f"{gone.pid}-b", f"{os.getpid()}-c")
    )
    for place in (dead, fresh, living):
        (place / "project").mkdir(parents=True)
    for place in (dead, living):
        os.utime(place, (1, 1))
    sweep(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([fresh.name, living.name])


PLAN = (
    "# Plan: Shop\n\n## Situation\n\n## Mission\n\nSell.\n\n## Execution\n\n"
    "## Constraints\n\n- IN: {}\n\n## Coordination\n"
)


def test_the_scope_of_a_plan_is_that_of_base(repository: Path) -> None:
    config = "gates:\n  additional:\n    - {name: ok, command: test -f app.py}\n"
    write(repository, {".hornbook/config.yaml": config})
    with Workspace.open(repository) as work:
        work.plan_book().commit("Shop", PLAN.format("shop/**"))
        commit(repository)
        git(repository, "checkout", "-qb", "work")
        text = PLAN.format("**")
        work.plan_book().rewrite("shop", text, ["Constraints"], reason="wider")
        write(repository, {"app.py": "x = 1\n"})
        commit(repository)
        report = work.run_gates(diff="main..work", plan="shop")
        scope = next(each for each in report.gates if each.name == "floor:scope")
        assert scope.status is GateStatus.FAILED
        assert "app.py is not in scope (shop/**)" in scope.output
        work.plan_book().commit("Newer", PLAN.format("shop/**"))
        newer = work.run_gates(diff="main..work", plan="newer")
        assert "has no plan newer" in newer.notes[0]
        assert statuses(newer)["floor:scope"] == "failed"
        with pytest.raises(UsageError, match=r"--plan limits a change.*add --diff BASE\.\.HEAD"):
            work.run_gates(plan="shop")


def test_a_change_out_of_scope_does_not_pass_though_its_gates_do(repository: Path) -> None:
    git(repository, "checkout", "-qb", "work")
    write(repository, {"app.py": "def one():\n    return 'work'\n"})
    commit(repository)
    limits = Constraints(inside=("src/**",))
    report = run_for(repository, [Gate("ok", "true")], span="main..work", constraints=limits)
    assert not report.passed
    assert statuses(report)["floor:scope"] == "failed"


def test_floors_over_floors_only_are_no_pass_without_gates(repository: Path) -> None:
    git(repository, "checkout", "-qb", "work")
    write(repository, {"README.md": "hello\n"})
    commit(repository)
    report = run_for(repository, [], span="main..work")
    assert not report.passed
    assert statuses(report)["gates"] == "refused"


def test_a_folder_without_a_repository_has_gates_but_no_tree(tmp_path: Path) -> None:
    report = run_for(tmp_path, [Gate("ok", "true")])
    assert report.passed
    assert report.tree is None


def test_a_root_below_the_top_is_judged_with_its_own_paths(repository: Path) -> None:
    web = repository / "web"
    write(web, {"app/a.js": "1;\n"})
    base = commit(repository)
    write(web, {"app/a.js": "2;\n"})
    write(repository, {"beside.py": "x = 1\n"})
    head = commit(repository)
    write(web, {"app/out.cov": "made\n", "app/deep/out.cov": "made\n"})
    gate = Gate("see", "cat app/a.js", creates=("*.cov",))
    inside = Constraints(inside=("app/",))
    report = run_for(web, [gate], span=f"{base}..{head}", constraints=inside, in_place=True)
    assert report.gates[0].output == "2;"
    assert report.notes == ()
    scope = report.gates[1]
    assert scope.output == "../beside.py is not in scope (app/)"
    inner = Gate("see", "true", folder="app", creates=("*.cov",))
    assert run_for(web, [inner]).tree == git(repository, "rev-parse", "HEAD^{tree}")
    git(repository, "checkout", "-q", base)
    copied = run_for(web, [gate], span=f"{base}..{head}")
    assert copied.gates[0].output == "2;"
    assert copied.notes


def test_a_linked_work_tree_is_a_repository_too(repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", "-b", "work", str(linked))
    write(linked, {"app.py": "def one():\n    return 5\n"})
    commit(linked)
    write(linked, {"app.py": "def one():\n    return 6\n"})
    report = run_for(linked, [Gate("see", "cat app.py; git log --format=%s")], span="main..work")
    assert report.gates[0].output == "def one():\n    return 5\nwork\nbase"


# How it is shown


REPORT = GateReport(
    passed=False,
    gates=(
        GateResult("build", required=True, status=GateStatus.PASSED, exit_code=0, seconds=1.5),
        GateResult("test", required=True, status=GateStatus.FAILED, exit_code=1, output="\x1b[31m<E> & \x00\x0b]]>", message='exit "1"', log="x"),
        GateResult("lint", required=False, status=GateStatus.WARNED, message="2 problems", output="a:1"),
        GateResult("e2e", required=True, status=GateStatus.SKIPPED, message="not run"),
        GateResult("bad", required=True, status=GateStatus.REFUSED, message="refused"),
    ),
    tree="abc",
)  # fmt: skip


def test_junit_parses_and_counts() -> None:
    odd = replace(REPORT.gates[1], output=REPORT.gates[1].output + "\udc80\uffff")
    report = replace(REPORT, gates=(REPORT.gates[0], odd, *REPORT.gates[2:]))
    suite = ET.fromstring(junit(report)).find("testsuite")
    assert suite is not None
    assert {key: suite.get(key) for key in ("tests", "failures", "skipped", "errors")} == {
        "tests": "5", "failures": "2", "skipped": "1", "errors": "0",
    }  # fmt: skip
    failure = suite.find("testcase[@name='test']/failure")
    assert failure is not None
    assert failure.get("message") == 'exit "1"'
    assert failure.text == "<E> & ]]>" + 2 * "\N{REPLACEMENT CHARACTER}"
    assert suite.find("testcase[@name='lint']/failure") is None
    assert suite.find("testcase[@name='e2e']/skipped") is not None
    assert suite.find("properties/property[@name='tree']") is not None


def test_a_workspace_runs_the_gates_of_the_base_and_refuses_what_cannot_fail(
    repository: Path,
) -> None:
    config = "gates:\n  additional:\n    - {name: ok, command: test -f app.py}\n"
    write(repository, {".hornbook/config.yaml": config, "app.py": "x = 0\n"})
    commit(repository)
    git(repository, "checkout", "-qb", "work")
    weakened = config.replace("test -f app.py", "test -f app.py || true")
    write(repository, {"app.py": "x = 1\n", ".hornbook/config.yaml": weakened})
    commit(repository)
    with Workspace.open(repository) as work:
        of_the_change = {each.name: each for each in work.run_gates(diff="main..work").gates}
        assert of_the_change["ok"].status is GateStatus.PASSED
        assert ".hornbook/config.yaml" in of_the_change["floor:rules"].message
        here = work.run_gates()
        assert not here.passed
        assert [each.status for each in here.gates if each.name == "ok"] == [GateStatus.REFUSED]
        newest = json.loads((repository / ".hornbook/logs/gates/last.json").read_bytes())
        assert newest["passed"] is False


def test_a_workspace_without_gates_has_not_passed(repository: Path) -> None:
    with Workspace.open(repository) as work:
        report = work.run_gates()
        assert not report.passed
        assert any("No gate is configured" in words for words in report.notes)


def test_the_answer_has_the_promised_keys_and_words(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    gate_run.show(REPORT, "json")
    answer = json.loads(capfdbinary.readouterr().out)
    assert answer["passed"] is False
    wanted = {"name", "required", "status", "exit_code", "seconds", "output", "message"}
    assert wanted <= set(answer["gates"][0])
    gate_run.show(REPORT, "junit")
    assert capfdbinary.readouterr().out.startswith(b"<?xml")
    gate_run.show(REPORT, "text")
    text = capfdbinary.readouterr().out.decode()
    assert text.endswith("not passed: test, e2e, bad (1 warning)\n")
    assert "lint:\n  a:1\n" in text
    gate_run.show(replace(REPORT, passed=True, gates=REPORT.gates[:1]), "text")
    assert capfdbinary.readouterr().out.decode().endswith("passed: 1 result, 0 warnings\n")
    off = replace(REPORT.gates[3], required=False)
    gate_run.show(replace(REPORT, passed=True, gates=(REPORT.gates[0], off)), "text")
    ended = capfdbinary.readouterr().out.decode()
    assert ended.endswith("passed: 1 result, 0 warnings, 1 not run\n")
