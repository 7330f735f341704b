"""`gates list` and `init --gates`, as a new user would try them."""

import json
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hornbook.gates.reports import schema
from tests.kit.commands import answer, run
from tests.kit.git import commit, start
from tests.kit.workspaces import write

GO = {
    "go.mod": "module x\n",
    "a_test.go": "package a\n",
    "web/package.json": '{"scripts": {"test": "vitest run"}}',
}


def test_init_writes_gates_that_are_listed(tmp_path: Path) -> None:
    write(tmp_path, GO)
    told = answer(tmp_path, "init", "--gates", "auto", "--json")
    assert told["gates"]["written"]
    assert ".hornbook/config.yaml" in told["created"]
    listed = answer(tmp_path, "gates", "list", "--json")
    Draft202012Validator(schema()).validate(listed)
    states = {gate["name"]: gate["status"] for gate in listed["gates"]}
    assert (states["go-test"], states["go-lint"]) == ("ready", "disabled")
    assert listed["file"] == ".hornbook/config.yaml"
    assert all(gate["origins"].keys() >= {"name", "command"} for gate in listed["gates"])


@pytest.mark.parametrize("preset", ["go", "maven"])
def test_init_writes_the_preset_that_is_named(tmp_path: Path, preset: str) -> None:
    assert run(tmp_path, "init", "--gates", preset).returncode == 0
    assert f"gates:\n  preset: {preset}\n" in (tmp_path / ".hornbook/config.yaml").read_text()
    assert run(tmp_path, "gates", "list").returncode == 0


def test_init_adds_gates_to_what_an_earlier_init_wrote(tmp_path: Path) -> None:
    write(tmp_path, GO)
    assert run(tmp_path, "init").returncode == 0
    config = tmp_path / ".hornbook/config.yaml"
    before = config.read_text()
    done = run(tmp_path, "init", "--gates", "auto")
    line = before.count("\n") + 2
    assert f"configured gates (auto), added in .hornbook/config.yaml, line {line}:" in done.stdout
    assert config.read_text().startswith(before)
    listed = answer(tmp_path, "gates", "list", "--json")
    assert "go-build" in [gate["name"] for gate in listed["gates"]]


def test_init_leaves_a_block_of_gates_and_says_what_to_write(tmp_path: Path) -> None:
    stands = "reserve: 5000\ngates:\n  preset: go\n"
    write(tmp_path, {".hornbook/config.yaml": stands})
    done = run(tmp_path, "init", "--gates", "rust")
    assert done.returncode == 0
    assert (tmp_path / ".hornbook/config.yaml").read_text() == stands
    assert ".hornbook/config.yaml, line 2, has a `gates:` block, which stays" in done.stdout
    assert "gates:\n  preset: rust\n" in done.stdout


@pytest.mark.parametrize("arguments", [[], ["--gates", "none"]])
def test_init_without_gates_configures_none(tmp_path: Path, arguments: list[str]) -> None:
    write(tmp_path, GO)
    assert run(tmp_path, "init", *arguments).returncode == 0
    done = run(tmp_path, "gates", "list")
    assert done.returncode == 1
    assert done.stdout.startswith("No gate is configured in .hornbook/config.yaml")


def test_init_says_when_nothing_fits(tmp_path: Path) -> None:
    done = run(tmp_path, "init", "--gates", "auto")
    assert "no gates configured: no folder has the manifest" in done.stdout
    block = "gates:\n  additional:\n    - {name: test, command: make test}\n"
    assert block in done.stdout
    assert answer(tmp_path, "init", "--gates", "auto", "--json")["gates"] == {
        "block": "",
        "written": False,
        "notes": [],
    }


def test_nothing_configured_is_told_and_no_success(tmp_path: Path) -> None:
    found = answer(tmp_path, "gates", "list", "--json", code=1)
    Draft202012Validator(schema()).validate(found)
    assert (found["gates"], found["file"]) == ([], None)
    assert "No gate is configured: there is no .hornbook/config.yaml" in found["message"]


def test_what_is_advised_where_no_gate_is_configured_makes_one(tmp_path: Path) -> None:
    write(tmp_path, {".git/HEAD": "", "Makefile": "test:\n\ttest -f Makefile\n"})
    told = answer(tmp_path, "gates", "list", "--json", code=1)["message"]
    advised = told.split("`")[1]
    write(tmp_path, {".hornbook/config.yaml": f"{advised}\n"})
    assert run(tmp_path, "gates", "run").returncode == 0


def test_gates_that_are_refused_are_not_called_none(tmp_path: Path) -> None:
    only = "gates: {additional: [{name: test, command: make test || true}]}\n"
    write(tmp_path, {".hornbook/config.yaml": only})
    told = answer(tmp_path, "gates", "run", "--json", code=1)
    assert (told["passed"], [gate["name"] for gate in told["gates"]]) == (False, ["test"])


def test_a_gate_that_cannot_fail_is_refused_with_its_reason(tmp_path: Path) -> None:
    config = (
        "gates:\n  preset: go\n  overrides:\n    - {name: test, command: go test ./... || true}\n"
    )
    write(tmp_path, {".hornbook/config.yaml": config})
    done = run(tmp_path, "gates", "list")
    assert done.returncode == 1
    told = "test is refused: `|| true` turns the failure of `go test ./...` into a pass: remove it."
    assert told in done.stdout
    found = answer(tmp_path, "gates", "list", "--json", code=1)
    Draft202012Validator(schema()).validate(found)
    assert {gate["name"]: gate["status"] for gate in found["gates"]}["test"] == "refused"


def test_a_wrong_definition_is_a_configuration_error(tmp_path: Path) -> None:
    write(tmp_path, {".hornbook/config.yaml": "gates:\n  preset: gol\n  extra: 1\n"})
    done = run(tmp_path, "gates", "list")
    assert (done.returncode, done.stdout) == (2, "")
    assert "line 2: no preset `gol`: did you mean `go`?" in done.stderr
    assert "line 3: unknown setting `gates.extra`" in done.stderr


def test_a_change_is_listed_with_the_commits_that_count(tmp_path: Path) -> None:
    write(tmp_path, {".hornbook/config.yaml": "gates: {preset: go}\n"})
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True)
    write(tmp_path, {".hornbook/config.yaml": "reserve: 10%\n"})
    found = answer(tmp_path, "gates", "list", "--diff", "HEAD..HEAD", "--json")
    assert found["base"] == found["head"]
    assert len(found["gates"]) == 5
    done = run(tmp_path, "gates", "list", "--diff", "HEAD..HEAD")
    assert f"as defined at {found['base']}" in done.stdout
    assert run(tmp_path, "gates", "list", "--diff", "nowhere..HEAD").returncode == 2


def test_control_characters_of_a_command_do_not_steer_the_terminal(tmp_path: Path) -> None:
    config = {"gates": {"additional": [{"name": "a", "command": "pytest \x1b[2J || true"}]}}
    write(tmp_path, {".hornbook/config.yaml": json.dumps(config)})
    done = run(tmp_path, "gates", "list")
    assert done.returncode == 1
    assert "\x1b" not in done.stdout


def test_the_pull_request_that_adds_hornbook_can_be_green_but_for_its_judges(
    tmp_path: Path,
) -> None:
    test = "import unittest\n\nimport calc\n\n\nclass T(unittest.TestCase):\n"
    test += "    def test_adds(self):\n        self.assertEqual(calc.add(1, 2), 3)\n"
    files = {"pyproject.toml": "", "calc.py": "def add(a, b):\n    return a + b\n"}
    start(tmp_path, {**files, "test_calc.py": test, "AGENTS.md": "# Sums\n\nSums MUST be right.\n"})
    assert run(tmp_path, "init", "--gates", "auto").returncode == 0
    held = ".hornbook/config.yaml"
    commit(tmp_path, {held: (tmp_path / held).read_text()})
    for arguments in (["ingest", "--strict"], ["doctor"], ["gates", "run"]):
        done = run(tmp_path, *arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    judged = run(tmp_path, "gates", "run", "--diff", "main..work")
    assert judged.returncode == 1
    assert "those that it brings count from the next one on" in judged.stderr
