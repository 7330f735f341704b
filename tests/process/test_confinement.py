"""What a confined command cannot do, tried for real by every means that this machine has."""

import os
import shlex
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hornbook.agents.assignment import Role
from hornbook.agents.command import AgentSurroundings, confinement_of
from hornbook.gates.gate import Gate, GateStatus
from hornbook.gates.gate_confinement import GateShell
from hornbook.gates.runner import run_gates
from hornbook.process.confinement import (
    Confinement,
    Machine,
    Means,
    bubblewrap,
    confine,
    landlock,
    this_machine,
)
from hornbook.process.shell_command import Finished, run_command
from tests.kit.waiting import SAFETY
from tests.kit.workspaces import write

MEANS = [Means.BUBBLEWRAP, Means.LANDLOCK]

# The interpreter itself: an environment below /tmp is not to be seen inside.
PYTHON = str(Path(sys.executable).resolve())


@pytest.fixture(params=MEANS)
def machine(request: pytest.FixtureRequest) -> Machine:
    here = this_machine()
    if request.param is Means.BUBBLEWRAP:
        if here.bubblewrap is None:
            pytest.skip("bubblewrap is not installed, or does not work here")
        return here
    if not here.landlock:
        pytest.skip("this kernel has no Landlock")
    return Machine(None, here.landlock, here.apart)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository as the loop has it, with a worktree below `.hornbook`."""
    return write(
        tmp_path / "repository",
        {
            "app.py": "print('app')\n",
            ".git/config": "[core]\n",
            ".git/objects/ab": "a rule, packed\n",
            ".hornbook/sources/docs/sops/rule.md": "Errors MUST say what failed.\n",
            ".semspec/config.yaml": "gates: {}\n",
            ".hornbook/worktrees/plan/1/app.py": "print('app')\n",
            ".hornbook/worktrees/plan/1/.git": "gitdir: elsewhere\n",
        },
    )


def tree(root: Path) -> Path:
    return root / ".hornbook" / "worktrees" / "plan" / "1"


def around(root: Path, *, blind: bool = True) -> AgentSurroundings:
    return AgentSurroundings(root, root, root / ".git", blind=blind)


def run(
    command: str | Sequence[str], confinement: Confinement, machine: Machine, place: Path
) -> Finished:
    scratch = place / "scratch"
    scratch.mkdir(exist_ok=True)
    argv = ["sh", "-c", command] if isinstance(command, str) else command
    confined = confine(argv, confinement, scratch=scratch, machine=machine)
    return run_command(
        shlex.join(confined.command),
        folder=confinement.folder,
        environment={"PATH": os.environ["PATH"], "HOME": str(place / "home")},
        timeout=SAFETY,
        log=place / "log",
    )


def test_a_confined_developer_writes_its_worktree(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    confinement = confinement_of(Role.DEVELOPER, tree(root), around(root))
    work = "echo new > app.py && mkdir sub && echo x > sub/x && mv sub/x y && echo done > /dev/null"
    ended = run(work, confinement, machine, tmp_path)
    assert (ended.code, ended.output) == (0, "")
    assert (tree(root) / "app.py").read_text() == "new\n"
    assert (tree(root) / "y").read_text() == "x\n"


def test_a_developer_in_a_folder_of_its_worktree_writes_all_of_it(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    write(tree(root), {"service/a.py": "a\n"})
    folder = tree(root) / "service"
    confinement = confinement_of(Role.DEVELOPER, folder, around(root), worktree=tree(root))
    assert run("echo b > a.py && echo c > ../app.py", confinement, machine, tmp_path).code == 0


@pytest.mark.parametrize(
    "attempt",
    [
        "echo bad > {root}/app.py",
        "echo bad > {root}/new.py",
        "rm {root}/app.py",
        "mkdir {root}/folder",
        "ln -s / {root}/link",
        "echo bad >> {root}/.git/config",
        "mv app.py {root}/moved.py",
        "echo bad > {home}/.profile",
        "echo bad > {tmp}/loose",
    ],
)
def test_a_confined_developer_cannot_write_outside_its_worktree(
    root: Path, tmp_path: Path, machine: Machine, attempt: str
) -> None:
    (tmp_path / "home").mkdir()
    before = {path: path.is_file() and path.read_bytes() for path in sorted(root.rglob("*"))}
    confinement = confinement_of(Role.DEVELOPER, tree(root), around(root, blind=False))
    command = attempt.format(root=root, home=tmp_path / "home", tmp=tmp_path)
    ended = run(command, confinement, machine, tmp_path)
    after = {path: path.is_file() and path.read_bytes() for path in sorted(root.rglob("*"))}
    assert after == before
    assert list((tmp_path / "home").iterdir()) == []
    assert not (tmp_path / "loose").exists()
    # Under bubblewrap /tmp is a private one, where writing works and nobody else sees it.
    private = machine.bubblewrap is not None and str(tmp_path).startswith("/tmp")
    assert ended.code != 0 or (private and "{root}" not in attempt)


def test_a_link_does_not_lead_a_confined_developer_out(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    confinement = confinement_of(Role.DEVELOPER, tree(root), around(root, blind=False))
    ended = run(f"ln -s {root} out && echo bad > out/app.py", confinement, machine, tmp_path)
    assert ended.code != 0
    assert (root / "app.py").read_text() == "print('app')\n"


@pytest.mark.parametrize(
    "secret",
    [".hornbook/sources/docs/sops/rule.md", ".semspec/config.yaml", ".git/objects/ab"],
)
def test_a_blind_developer_cannot_read_rules_outside_its_worktree(
    root: Path, tmp_path: Path, machine: Machine, secret: str
) -> None:
    blind = confinement_of(Role.DEVELOPER, tree(root), around(root))
    seeing = confinement_of(Role.DEVELOPER, tree(root), around(root, blind=False))
    command = f"cat {root / secret}"
    assert run(command, blind, machine, tmp_path).code != 0
    told = run(command, seeing, machine, tmp_path)
    assert (told.code, told.output) == (0, (root / secret).read_text())
    assert run(f"cat {root}/app.py ./app.py", blind, machine, tmp_path).code == 0


def test_a_confined_reviewer_reads_everything_and_writes_nothing(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    confinement = confinement_of(Role.REVIEWER, tree(root), around(root))
    read = run(
        f"cat app.py {root}/.hornbook/sources/docs/sops/rule.md", confinement, machine, tmp_path
    )
    assert read.code == 0
    for attempt in ("echo bad > app.py", "echo bad > new", "rm app.py", f"rm {root}/app.py"):
        assert run(attempt, confinement, machine, tmp_path).code != 0
    assert (tree(root) / "app.py").read_text() == "print('app')\n"
    assert not (tree(root) / "new").exists()
    assert (root / "app.py").exists()


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.DEVELOPER])
def test_nobody_who_is_confined_reads_what_was_planted(
    root: Path, tmp_path: Path, machine: Machine, role: Role
) -> None:
    write(root, {".hornbook/canaries/it.json": "planted\n"})
    for blind in (True, False):
        confinement = confinement_of(role, tree(root), around(root, blind=blind))
        told = run(f"cat {root}/.hornbook/canaries/it.json", confinement, machine, tmp_path)
        assert told.code != 0
        assert "planted\n" not in told.output
        assert run(f"cat app.py {root}/app.py", confinement, machine, tmp_path).code == 0


def test_an_agent_keeps_its_own_login_and_a_temporary_folder(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    state = tmp_path / "home" / ".agent"
    write(state, {"login": "token\n"})
    confinement = confinement_of(Role.REVIEWER, tree(root), around(root), state=[state])
    work = f"cat {state}/login && echo session > {state}/session && echo t > $TMPDIR/t"
    assert run(work, confinement, machine, tmp_path).code == 0
    assert (state / "session").exists()


@pytest.fixture
def server() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize("network", [True, False])
def test_gates_run_confined_by_the_shell_that_they_are_given(
    root: Path, tmp_path: Path, machine: Machine, server: int, *, network: bool
) -> None:
    (tmp_path / "scratch").mkdir()
    shell = GateShell(tree(root), tmp_path / "scratch", machine, network=network, shown=(root,))
    reach = f"exec 3<>/dev/tcp/127.0.0.1/{server} && echo made > made"
    gates = [
        Gate(name="net", command=reach),
        Gate(name="out", command=f"echo bad > {root}/app.py"),
        Gate(name="fine", command="false | true; test -f app.py && echo ok > ok"),
    ]
    report = run_gates(gates, tree(root), logs=tmp_path / "logs", wrap=shell)
    found = {each.name: each.status is GateStatus.PASSED for each in report.gates}
    assert found == {"net": network, "out": False, "fine": True}
    assert (tree(root) / "ok").exists()
    assert (root / "app.py").read_text() == "print('app')\n"
    assert shell.warnings({"PATH": os.environ["PATH"]}) == ()


def test_landlock_alone_takes_tcp_away(root: Path, tmp_path: Path, server: int) -> None:
    version = this_machine().landlock
    if version < 4:
        pytest.skip("this kernel's Landlock knows nothing of networks")
    confinement = Confinement(tree(root), network=False)
    code = f"import socket; socket.create_connection(('127.0.0.1', {server}), 5)"
    machine = Machine(None, version, apart=False)
    ended = run([PYTHON, "-c", code], confinement, machine, tmp_path)
    assert ended.code != 0
    assert "PermissionError" in ended.output


def test_a_gate_without_network_still_talks_to_itself(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    if machine.bubblewrap is None and not machine.apart:
        pytest.skip("this machine cannot give a process a network of its own")
    code = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "socket.create_connection(s.getsockname(), 5)"
    )
    confinement = Confinement(tree(root), network=False)
    assert run([PYTHON, "-c", code], confinement, machine, tmp_path).code == 0


def test_the_git_file_of_a_worktree_cannot_be_replaced_under_bubblewrap(
    root: Path, tmp_path: Path
) -> None:
    here = this_machine()
    if here.bubblewrap is None:
        pytest.skip("bubblewrap is not installed, or does not work here")
    confinement = confinement_of(Role.DEVELOPER, tree(root), around(root))
    for attempt in ("echo x > .git", "rm .git", "mv app.py .git"):
        assert run(attempt, confinement, here, tmp_path).code != 0
    assert (tree(root) / ".git").read_text() == "gitdir: elsewhere\n"


def test_a_command_that_cannot_be_confined_as_told_does_not_run(root: Path, tmp_path: Path) -> None:
    if this_machine().landlock == 0:
        pytest.skip("this kernel has no Landlock")
    confinement = Confinement(tree(root), (tree(root),))
    order = landlock(confinement, tmp_path, apart=False)
    assert order["write"] == [str(tree(root)), str(tmp_path), *_devices()]
    missing = run(["no-such-program"], confinement, Machine(None, 1, apart=False), tmp_path)
    assert missing.code == 127
    assert "no-such-program: No such file or directory" in missing.output


def _devices() -> list[str]:
    return [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty")]


# What is built, whatever the machine can do


def test_bubblewrap_mounts_parents_before_children(root: Path) -> None:
    confinement = confinement_of(Role.DEVELOPER, tree(root), around(root))
    found = bubblewrap("bwrap", confinement)
    assert " ".join(found[:10]) == "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp"
    assert "--unshare-net" not in found
    places = [str(root), str(root / ".git"), str(tree(root)), str(tree(root) / ".git")]
    kinds = [found[found.index(place) - 1] for place in places]
    assert kinds == ["--ro-bind", "--tmpfs", "--bind", "--ro-bind"]
    order = [found.index(place) for place in places]
    assert order == sorted(order)
    assert found[found.index(str(root / ".hornbook")) - 1] == "--tmpfs"
    assert found[-3:] == ["--chdir", str(tree(root)), "--"]


def test_a_hidden_file_is_an_empty_one(root: Path) -> None:
    found = bubblewrap("bwrap", Confinement(root, hidden=(root / "app.py",)))
    place = found.index(str(root / "app.py"))
    assert found[place - 2 : place] == ["--ro-bind", "/dev/null"]


def test_landlock_reads_everything_but_what_is_hidden(root: Path) -> None:
    confinement = confinement_of(Role.DEVELOPER, tree(root), around(root))
    order = landlock(confinement, root, apart=True)
    read = order["read"]
    assert isinstance(read, list)
    assert str(root / "app.py") in read
    assert str(tree(root)) in read
    hidden = [root / ".hornbook", root / ".semspec", root / ".git"]
    for path in hidden:
        assert str(path) not in read
        assert not any(path.is_relative_to(each) for each in read)
    assert landlock(Confinement(root), root, apart=True).keys() == {"write", "network", "apart"}


def test_landlock_allows_nothing_through_a_link_beside_what_is_hidden(root: Path) -> None:
    (root.parent / "newest").symlink_to(root, target_is_directory=True)
    confinement = confinement_of(Role.DEVELOPER, tree(root), around(root))
    read = landlock(confinement, root, apart=True)["read"]
    assert isinstance(read, list)
    assert str(root.parent / "newest") not in read


def test_a_machine_that_confines_nothing_says_so(tmp_path: Path) -> None:
    machine = Machine(None, 0, apart=False)
    confined = confine(["true"], Confinement(tmp_path), scratch=tmp_path, machine=machine)
    assert machine.means is Means.NOTHING
    assert confined.command == ("true",)
    assert "nothing confines commands on this machine" in confined.warnings[0]


@pytest.mark.parametrize(("version", "word"), [(3, "cannot take"), (4, "not UDP")])
def test_landlock_says_what_it_cannot_hold(tmp_path: Path, version: int, word: str) -> None:
    machine = Machine(None, version, apart=False)
    confinement = Confinement(tmp_path, network=False)
    confined = confine(["true"], confinement, scratch=tmp_path, machine=machine)
    assert confined.means is Means.LANDLOCK
    assert [word in warning for warning in confined.warnings] == [True]
