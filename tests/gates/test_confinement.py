"""Gates of a run have no network and write only their tree, by every means of this machine."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hornbook import Workspace
from hornbook.agents.embedded.embedded_agent import EmbeddedAgent
from hornbook.errors import ConfigError, UsageError
from hornbook.gates.gate import Gate, GateReport, GateStatus
from hornbook.gates.gate_confinement import GateBounds, bounds_by_hand, bounds_in_run, gate_shell
from hornbook.gates.gate_list import gates_now
from hornbook.gates.gate_run import run_for
from hornbook.gates.runner import NO_NETWORK, NO_WRITING, run_gates, why_confined
from hornbook.loop.task_worktrees import TaskWorktrees
from hornbook.process.confinement import Machine, Means, this_machine
from hornbook.settings.load import parse_settings
from hornbook.settings.settings import Settings
from tests.kit import commands
from tests.kit.confinements import MEANS, machine_with
from tests.kit.fakes import git
from tests.kit.loops import CONFIG, Stage, repository
from tests.kit.workspaces import write

NOTHING = Machine(None, 0, apart=False)
# A gate of a configuration must be a command that can fail by itself.
TRY = """\
import pathlib, socket, sys

what, where = sys.argv[1:]
if what == "reach":
    socket.create_connection(("127.0.0.1", int(where)), 5)
elif what == "read":
    print(pathlib.Path(where).read_text())
else:
    pathlib.Path(where).write_text("bad")
"""


@pytest.fixture(params=MEANS)
def machine(request: pytest.FixtureRequest) -> Machine:
    found = machine_with(request.param)
    if found is None:
        pytest.skip(f"{request.param} does not work here")
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = write(tmp_path / "repository", {"app.py": "print(1)\n", ".gitignore": "kept/\n"})
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    return place


@pytest.fixture
def server() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def reach(port: int) -> str:
    return f"exec 3<>/dev/tcp/127.0.0.1/{port}"


def passed(report: GateReport) -> dict[str, bool]:
    return {each.name: each.status is GateStatus.PASSED for each in report.gates}


def test_gates_over_a_change_reach_no_server_and_write_nothing_outside_their_copy(
    root: Path, tmp_path: Path, machine: Machine, server: int
) -> None:
    home = tmp_path / "home"
    (home / ".cache").mkdir(parents=True)
    gates = [
        Gate("net", reach(server)),
        Gate("asked", reach(server), network=True),
        Gate("outside", f"echo bad > {root}/app.py"),
        Gate("git", f"echo bad >> {root}/.git/config"),
        Gate("home", "echo bad > ~/.cache/x", environment=(("HOME", str(home)),)),
        Gate("tree", "echo made > made && git log --format=%s && rm made"),
        Gate("scratch", 'echo t > "$TMPDIR/t" && mkdir -p "$GOCACHE" && echo o > "$GOCACHE/o"'),
    ]
    before = (root / ".git" / "config").read_bytes()
    report = run_for(root, gates, span="HEAD..HEAD", bounds=GateBounds(machine))
    found = passed(report)
    assert {name: found[name] for name in ("net", "outside", "git", "home")} == dict.fromkeys(
        ("net", "outside", "git", "home"), False
    )
    assert found["asked"]
    assert found["tree"]
    assert found["scratch"]
    assert (root / "app.py").read_text() == "print(1)\n"
    assert (root / ".git" / "config").read_bytes() == before
    assert list((home / ".cache").iterdir()) == []
    assert report.confined_by == machine.means.value
    assert "with the network, as the settings say: asked" in report.notes
    messages = {each.name: each.message for each in report.gates}
    assert "`network: true`" in messages["net"]
    assert "`writable` under `gates`" in messages["outside"]


@pytest.mark.parametrize("most", [0, 10_000])
def test_what_a_gate_needs_from_below_tmp_is_readable(
    root: Path, tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("hornbook.gates.gate_confinement._MOST_SEEN", most)
    tool = write(tmp_path / "venv" / "bin", {"own-tool": "#!/bin/sh\ncat kept/data\n"}) / "own-tool"
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    write(root, {"kept/data": "here\n"})
    linked = Gate("linked", "own-tool && test -x $(command -v own-tool)")
    report = run_for(root, [linked], bounds=GateBounds(machine))
    assert report.gates[0].output.strip() == "here", report.gates[0]
    assert passed(report)["linked"]


def test_gates_in_a_work_tree_cannot_write_the_files_of_git(root: Path) -> None:
    machine = machine_with(Means.BUBBLEWRAP)
    if machine is None:
        pytest.skip("bubblewrap does not work here")
    gates = [Gate("hooks", "echo bad > .git/hook"), Gate("read", "git status --short")]
    report = run_for(root, gates, bounds=GateBounds(machine))
    assert passed(report) == {"hooks": False, "read": True}
    assert not (root / ".git" / "hook").exists()


def test_a_folder_that_the_settings_name_is_writable_and_keeps_its_cache_there(
    root: Path, tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "home" / ".cache" / "go-build"
    cache.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GOCACHE", raising=False)
    write(root, {".hornbook/config.yaml": "gates:\n  writable: [~/.cache/go-build]\n"})
    bounds = bounds_by_hand(gates_now(root), confined=True)
    assert bounds is not None
    assert bounds.writable == (cache,)
    gate = Gate("go", f'test -z "$GOCACHE" && echo x > {cache}/x')
    report = run_for(root, [gate], bounds=GateBounds(machine, bounds.writable))
    assert passed(report)["go"], report.gates[0]
    assert (cache / "x").exists()


def test_what_the_settings_name_of_the_home_is_found_by_the_name_that_it_has_there(
    root: Path, tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = write(tmp_path / "home", {"key": "k\n", ".cache/tool/old": "", "go/pkg/mod/m": "m\n"})
    monkeypatch.setenv("HOME", str(home))
    gates = [
        Gate("read", "cat ~/key"),
        Gate("write", "echo x > ~/.cache/tool/new"),
        Gate("modules", "cat ~/go/pkg/mod/m"),
        Gate("elsewhere", "echo x > ~/go/pkg/mod/n"),
    ]
    bounds = GateBounds(machine, (home / ".cache" / "tool",), readable=(home / "key",))
    found = passed(run_for(root, gates, bounds=bounds))
    assert found == {"read": True, "write": True, "modules": True, "elsewhere": False}
    assert (home / ".cache" / "tool" / "new").exists()
    without = run_for(
        root, [*gates[:2], Gate("whole", f"cat {home}/key")], bounds=GateBounds(machine)
    )
    assert passed(without) == {"read": False, "write": False, "whole": False}
    for each in without.gates:
        named = "names ~/key: what it needs of that, name in `readable` under `gates`"
        assert (named in each.message) is (each.name != "write"), each


def test_a_machine_without_any_means_runs_gates_and_says_so(root: Path, server: int) -> None:
    report = run_for(root, [Gate("net", reach(server))], bounds=GateBounds(NOTHING))
    assert report.passed
    assert report.confined_by == "nothing"
    assert any("nothing confines commands on this machine" in note for note in report.notes)


def test_what_a_killed_run_of_gates_left_is_removed_by_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with gate_shell(tmp_path, NOTHING) as shell:
        left = shutil.copytree(shell.scratch, tmp_path / f"hornbook-gates-{2**40}-x")
    assert not shell.scratch.exists()
    os.utime(left, (0, 0))
    with gate_shell(tmp_path, NOTHING):
        assert not left.exists()


def test_means_that_do_not_work_run_no_gate(root: Path) -> None:
    broken = Machine("/bin/false", 0, apart=False)
    with pytest.raises(UsageError, match="bubblewrap does not confine gates here"):
        run_for(root, [Gate("any", "true")], bounds=GateBounds(broken))


@pytest.mark.parametrize(
    ("output", "network", "hint"),
    [
        ("curl: (6) Could not resolve host: example.org", False, NO_NETWORK),
        ("dial tcp: lookup proxy: no such host", False, NO_NETWORK),
        ("    sock.connect(sa)\nPermissionError: [Errno 13] Permission denied", False, NO_NETWORK),
        ("npm error code ENOTCACHED", False, NO_NETWORK),
        ("curl: (6) Could not resolve host: example.org", True, ""),
        ("OSError: [Errno 30] Read-only file system: '/x'", True, NO_WRITING),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'x'", False, ""),
        ("1 failed, 3 passed", False, ""),
    ],
)
def test_a_gate_that_may_have_failed_by_its_confinement_is_told_so(
    output: str, network: bool, hint: str
) -> None:
    found = why_confined(output, network=network)
    assert found.startswith(hint)
    assert bool(found) is bool(hint)


def test_the_settings_say_which_gates_are_confined(tmp_path: Path) -> None:
    def with_confine(text: str) -> tuple[bool, bool, bool]:
        write(tmp_path, {".hornbook/config.yaml": f"gates:\n  {text}\n"})
        listed = gates_now(tmp_path)
        return (
            bounds_in_run(listed) is not None,
            bounds_by_hand(listed, confined=None) is not None,
            bounds_by_hand(listed, confined=True) is not None,
        )

    assert with_confine("tests: warn") == (True, False, True)
    assert with_confine("confine: always") == (True, True, True)
    assert with_confine("confine: never") == (False, False, True)
    with pytest.raises(ConfigError) as problem:
        parse_settings(b"gates:\n  confine: sometimes\n  writable: [cache, ~/../x]\n")
    told = str(problem.value)
    assert "`gates.confine` is 'sometimes': write runs, always, never." in told
    assert "'cache'" in told
    assert "'~/../x'" in told


def test_a_gate_says_whether_it_has_the_network_and_where_that_comes_from(tmp_path: Path) -> None:
    config = (
        "gates:\n  network: true\n  preset: [go]\n"
        "  overrides:\n    - {name: vet, network: false}\n"
        "  additional:\n    - {name: e2e, command: make e2e, network: true}\n"
    )
    write(tmp_path, {".hornbook/config.yaml": config})
    found = {gate.name: gate for gate in gates_now(tmp_path).ready}
    assert {name: gate.network for name, gate in found.items()} == {
        **dict.fromkeys(("build", "lint", "test", "coverage", "e2e"), True),
        "vet": False,
    }
    assert dict(found["build"].origins)["network"] == "gates.network"
    assert dict(found["vet"].origins)["network"].endswith("line 5 (overrides)")
    assert dict(found["e2e"].origins)["network"].endswith("(additional)")


# In a run


def test_the_gates_of_a_run_are_confined_and_the_event_says_by_what(
    tmp_path: Path, server: int
) -> None:
    config = (
        CONFIG + f"    - {{name: net, command: python3 try.py reach {server}, required: false}}\n"
    )
    stage = Stage(repository(tmp_path, config=config, **{"try.py": TRY}))
    assert stage.go().status == "approved"
    ran = stage.newest("gates.ran").data
    assert ran["confined_by"] == this_machine().means.value
    net = next(each for each in ran["gates"] if each["name"] == "net")
    assert net["status"] == ("passed" if ran["confined_by"] == "nothing" else "warned")


def test_a_run_whose_settings_confine_no_gate_warns_of_it(tmp_path: Path, server: int) -> None:
    config = (
        CONFIG + f"    - {{name: net, command: python3 try.py reach {server}}}\n  confine: never\n"
    )
    stage = Stage(repository(tmp_path, config=config, **{"try.py": TRY}))
    assert stage.go().status == "approved"
    assert stage.newest("gates.ran").data["confined_by"] is None
    from hornbook.loop.runs.run_book import RunBook

    with Workspace.open(tmp_path) as work:
        report = RunBook(work.places, work.settings).report("run-1")
    assert "gates were not confined, as the settings say" in report.warnings


def test_the_gates_of_an_embedded_developer_are_confined_and_see_no_rule(
    tmp_path: Path, server: int
) -> None:
    rule = ".hornbook/sources/docs/sops/greetings.md"
    config = CONFIG + (
        f"    - {{name: net, command: python3 try.py reach {server}}}\n"
        f"    - {{name: rules, command: python3 try.py read {tmp_path}/{rule}}}\n"
        f"    - {{name: outside, command: python3 try.py write {tmp_path}/src/app.py}}\n"
    )
    root = repository(tmp_path, config=config, **{"try.py": TRY})
    trees = TaskWorktrees(root, lambda _: False)
    folder = Path(trees.ensure("hello", "task.hello.1", trees.begin("hello")))
    crew = EmbeddedAgent(root, root / ".hornbook" / "embedded", Settings())
    report = crew.check(folder, [], logs=tmp_path / ".hornbook" / "logs")
    assert report.confined_by == this_machine().means.value
    if report.confined_by == "nothing":
        pytest.skip("nothing confines commands on this machine")
    assert passed(report) == {"check": True, "net": False, "rules": False, "outside": False}
    assert (root / "src" / "app.py").read_text() == "print('the app does nothing')\n"


def test_gates_below_a_hidden_folder_see_their_tree_and_nothing_beside_it(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    git(root, "worktree", "add", "-q", str(root / ".hornbook" / "worktrees" / "1"))
    write(root, {".hornbook/sources/rule.md": "A rule.\n"})
    tree = root / ".hornbook" / "worktrees" / "1"
    bounds = GateBounds(machine, hidden=(root / ".hornbook",))
    gates = [
        Gate("rule", "cat ../../sources/rule.md"),
        Gate("tree", "cat app.py && echo new > new && git log --format=%s"),
        Gate("outside", f"cat {root}/app.py"),
    ]
    with bounds.shell(tree, root, ours=False) as shell:
        report = run_gates(gates, tree, logs=tmp_path / "logs", wrap=shell)
    assert passed(report) == {"rule": False, "tree": True, "outside": True}
    assert (tree / "new").exists()


def test_gates_that_are_run_by_hand_are_confined_when_asked(root: Path, server: int) -> None:
    config = f"gates:\n  additional:\n    - {{name: net, command: python3 try.py reach {server}}}\n"
    write(root, {".hornbook/config.yaml": config, "try.py": TRY})

    def run(*options: str) -> tuple[int, dict[str, object]]:
        ended = commands.run(root, "gates", "run", "--json", *options)
        return ended.returncode, json.loads(ended.stdout)

    code, free = run()
    assert (code, free["confined_by"]) == (0, None)
    code, bound = run("--confine")
    means = this_machine().means
    assert bound["confined_by"] == means.value
    assert code == (0 if means is Means.NOTHING else 1)
