"""What a confined command cannot do, tried for real by every means that this machine has."""

import os
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hornbook.agents.assignment import Role
from hornbook.agents.command import AgentSurroundings, confinement_of
from hornbook.disk import temporary_folder
from hornbook.errors import UsageError
from hornbook.gates.gate import Gate, GateStatus
from hornbook.gates.gate_confinement import GateShell
from hornbook.gates.runner import run_gates
from hornbook.process.confinement import (
    Confinement,
    Machine,
    Means,
    Reach,
    Route,
    bubblewrap,
    confine,
    landlock,
    this_machine,
)
from hornbook.process.egress import EgressProxy, HostPort
from hornbook.process.own_home import own_home, tools_below
from hornbook.process.shell_command import Finished, run_command
from hornbook.settings.places import relative_to_root
from hornbook.settings.surroundings import HomeSettings
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
    warnings = shell.warnings({"PATH": os.environ["PATH"]})
    told = [True, False, False] if machine.bubblewrap is None else []
    assert ["unix sockets" in each for each in warnings] == told


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
    found = bubblewrap(Machine("bwrap", 0, apart=True), confinement)
    assert " ".join(found[:5]) == "bwrap --unshare-user --disable-userns --cap-drop ALL"
    assert "--unshare-net" not in found
    places = [str(root), str(root / ".git"), str(tree(root)), str(tree(root) / ".git")]
    kinds = [found[found.index(place) - 1] for place in places]
    assert kinds == ["--ro-bind", "--tmpfs", "--bind", "--ro-bind"]
    order = [found.index(place) for place in places]
    assert order == sorted(order)
    assert found[found.index(str(root / ".hornbook")) - 1] == "--tmpfs"
    assert found[-3:] == ["--chdir", str(tree(root)), "--"]


@pytest.mark.parametrize("role", list(Role))
def test_tokens_that_lie_elsewhere_are_hidden_like_our_own(root: Path, role: Role) -> None:
    write(root, {"ops/tokens": "x\n", ".hornbook/config.yaml": "serve:\n  tokens: ops/tokens\n"})
    hidden = confinement_of(role, tree(root), around(root)).hidden
    assert {root / "ops/tokens", root / "ops/tokens.used"} <= set(hidden)
    with pytest.raises(UsageError, match="ops/tokens is never shown"):
        relative_to_root(root, "ops/tokens")
    write(root, {".hornbook/config.yaml": "serve:\n  tokens: other/tokens\n"})
    hidden = confinement_of(role, tree(root), around(root)).hidden
    assert root / "other/tokens" in hidden
    assert root / "ops/tokens" not in hidden


def test_a_hidden_file_is_an_empty_one(root: Path) -> None:
    found = bubblewrap(
        Machine("bwrap", 0, apart=True), Confinement(root, hidden=(root / "app.py",))
    )
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


@pytest.mark.parametrize(
    ("version", "word", "count"), [(2, "cannot take", 5), (3, "cannot take", 4), (4, "not UDP", 4)]
)
def test_landlock_says_what_it_cannot_hold(
    tmp_path: Path, version: int, word: str, count: int
) -> None:
    machine = Machine(None, version, apart=False)
    confinement = Confinement(tmp_path, network=False)
    confined = confine(["true"], confinement, scratch=tmp_path, machine=machine)
    assert confined.means is Means.LANDLOCK
    assert [word in warning for warning in confined.warnings] == [*(False,) * (count - 1), True]
    assert any("being ended" in warning for warning in confined.warnings)
    assert confined.reach is Reach.HOST


# A network, a home and users of its own

CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"
ASK = """
import os, socket, sys
host, port = os.environ['HTTPS_PROXY'].removeprefix('http://').split(':')
line = socket.create_connection((host, int(port)), 5)
line.sendall(f'CONNECT 127.0.0.1:{sys.argv[1]} HTTP/1.1\\r\\n\\r\\n'.encode())
print(line.recv(400).decode().split()[1])
"""


def needs_own_network(machine: Machine) -> None:
    if not machine.apart:
        pytest.skip("this machine cannot give a process a network of its own")


@pytest.fixture
def other_server() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield int(found.getsockname()[1])


def test_a_listed_port_of_this_machine_is_reached_and_no_other(
    root: Path, tmp_path: Path, machine: Machine, server: int, other_server: int
) -> None:
    needs_own_network(machine)
    refused: list[str] = []
    proxy = EgressProxy([HostPort("127.0.0.1", server)], refused.append)
    with proxy.listening() as path:
        confinement = Confinement(tree(root), network=False, route=Route(path, (server,)))
        codes = [
            run([PYTHON, "-c", CONNECT, str(port)], confinement, machine, tmp_path).code
            for port in (server, other_server)
        ]
        asked = [
            run([PYTHON, "-c", ASK, str(port)], confinement, machine, tmp_path).output.strip()
            for port in (server, other_server)
        ]
    assert codes == [0, 1]
    assert asked == ["200", "403"]
    assert [f"127.0.0.1:{other_server}: it is not listed" in each for each in refused] == [True]


def test_an_abstract_socket_of_this_machine_is_not_reached(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    needs_own_network(machine)
    name = f"hornbook-{os.getpid()}"
    code = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        confinement = Confinement(tree(root), network=False)
        assert run([PYTHON, "-c", code], confinement, machine, tmp_path).code == 1


def test_a_socket_outside_of_run_and_tmp_is_shut_by_bubblewrap(root: Path, tmp_path: Path) -> None:
    machine = this_machine()
    if machine.bubblewrap is None:
        pytest.skip("bubblewrap is not installed, or does not work here")
    place = root / "s"

    code = "import socket; socket.socket(socket.AF_UNIX).connect('../../../../s')"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()
        confinement = Confinement(tree(root), hidden=(place,))
        ended = run([PYTHON, "-c", code], confinement, machine, tmp_path)
    assert ended.code == 1


def test_temporary_files_of_others_are_hidden_wherever_they_lie(
    root: Path, tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = Path(tempfile.mkdtemp(prefix="elsewhere-", dir="/var/tmp"))
    try:
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        write(temporary, {"hornbook-agent-1-x/prompt.md": "Errors MUST say what failed.\n"})
        confinement = confinement_of(Role.DEVELOPER, tree(root), around(root))
        read = ("cat", str(temporary / "hornbook-agent-1-x/prompt.md"))
        assert run(read, confinement, machine, tmp_path).code != 0
        assert run(("cat", str(tree(root) / "app.py")), confinement, machine, tmp_path).code == 0
    finally:
        shutil.rmtree(temporary)


def test_gates_do_not_read_the_temporary_files_of_agents(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    (tmp_path / "scratch").mkdir()
    shell = GateShell(tree(root), tmp_path / "scratch", machine, shown=(root,))
    with temporary_folder("agent") as other:
        (other / "prompt.md").write_text("Errors MUST say what failed.\n", encoding="utf-8")
        gates = [Gate("read", f"cat {other}/prompt.md"), Gate("tree", "cat app.py")]
        report = run_gates(gates, tree(root), logs=tmp_path / "logs", wrap=shell)
    assert [each.status for each in report.gates] == [GateStatus.FAILED, GateStatus.PASSED]


def test_a_home_of_its_own_shows_what_was_asked_for(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    place = write(tmp_path / "home", {".agent/log": "a rule\n", ".agent/key.json": '{"key": 1}\n'})
    wanted = HomeSettings(read=(".agent/key.json",))
    with own_home(place, tmp_path / "own", wanted, means=machine.means) as home:
        confinement = Confinement(tree(root), home=home)
        seen = run("cat ~/.agent/key.json && echo x > ~/new", confinement, machine, tmp_path)
        secret = run(f"cat {place}/.agent/log", confinement, machine, tmp_path)
        written = run(f"echo bad > {place}/.agent/key.json", confinement, machine, tmp_path)
    assert (seen.code, seen.output) == (0, '{"key": 1}\n')
    assert secret.code != 0
    assert written.code != 0
    assert sorted(each.name for each in place.rglob("*")) == [".agent", "key.json", "log"]


def test_a_confined_command_has_no_capability_and_no_way_to_one(
    root: Path, tmp_path: Path, machine: Machine
) -> None:
    show = "grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs' /proc/self/status | cut -f2 | sort -u"
    ended = run(show, Confinement(tree(root)), machine, tmp_path)
    expected = ["0000000000000000", "1"]
    # Who is no ordinary user's superior cannot lower the bound; without new privileges it is idle.
    if machine.bubblewrap is None and os.getuid() != 0:
        assert set(ended.output.split()) >= set(expected)
    else:
        assert ended.output.split() == expected


@pytest.mark.parametrize(
    "attempt",
    ["mount -o remount,rw /", "touch /etc/hornbook-was-here", "exec 3> /proc/sys/kernel/panic"],
)
def test_not_even_root_gets_out(root: Path, tmp_path: Path, machine: Machine, attempt: str) -> None:
    assert run(attempt, Confinement(tree(root)), machine, tmp_path).code != 0
    assert not Path("/etc/hornbook-was-here").exists()


# What a call gives back


def returned(tmp_path: Path, made: str, *, meanwhile: str | None = None) -> str:
    place = write(tmp_path / "home", {".agent/key.json": '{"key": 1, "of": {"a": 1}}'})
    with own_home(place, tmp_path / "own", HomeSettings(back=(".agent/key.json",))):
        (tmp_path / "own" / ".agent" / "key.json").write_text(made)
        if meanwhile is not None:
            (place / ".agent" / "key.json").write_text(meanwhile)
    return (place / ".agent" / "key.json").read_text()


def test_a_refreshed_credential_returns(tmp_path: Path) -> None:
    assert returned(tmp_path, '{"key": 2, "of": {"a": "b"}}') == '{"key": 2, "of": {"a": "b"}}'


@pytest.mark.parametrize("made", ["", "no JSON", "[1]", '{"key": 2}', '{"key": 2, "of": {"b": 1}}'])
def test_a_credential_of_another_shape_is_dropped(tmp_path: Path, made: str) -> None:
    assert returned(tmp_path, made) == '{"key": 1, "of": {"a": 1}}'


@pytest.mark.parametrize("elsewhere", ["another", "/dev/zero"])
def test_a_credential_is_read_nowhere_else(tmp_path: Path, elsewhere: str) -> None:
    """A call that puts links in its place has us give back what only we can read."""
    place = write(tmp_path / "home", {".agent/key.json": '{"key": 1}'})
    write(tmp_path / "another", {"key.json": '{"key": "of somebody else"}'})
    with own_home(place, tmp_path / "own", HomeSettings(back=(".agent/key.json",))) as home:
        shutil.rmtree(home.folder / ".agent")
        if elsewhere == "another":
            (home.folder / ".agent").symlink_to(tmp_path / elsewhere)
        else:
            (home.folder / ".agent").mkdir()
            (home.folder / ".agent/key.json").symlink_to(elsewhere)
    assert (place / ".agent/key.json").read_text() == '{"key": 1}'


def test_a_credential_that_another_call_refreshed_meanwhile_stays(tmp_path: Path) -> None:
    other = '{"key": 3, "of": {"a": 1}}'
    assert returned(tmp_path, '{"key": 2, "of": {"a": 1}}', meanwhile=other) == other


def test_a_virtual_environment_on_the_path_is_readable_whole(tmp_path: Path) -> None:
    environment, plain = tmp_path / "shop/.venv/bin", tmp_path / "scripts"
    for folder in (environment, plain):
        folder.mkdir(parents=True)
    (environment.parent / "pyvenv.cfg").write_text("home = /usr/bin\n")
    told = {"PATH": f"{environment}:{plain}:/usr/bin"}
    assert tools_below(tmp_path, told) == (environment.parent, plain)
