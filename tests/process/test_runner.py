"""One command, run whole: real shells, real processes that try to get away."""

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hornbook.gates.runner import trim
from hornbook.process.keeper import KEYCTL
from hornbook.process.shell_command import (
    HEAD,
    INHERITED,
    LOG,
    MARK,
    TAIL,
    Finished,
    ended_by,
    environment,
    run_command,
    shell_of,
)
from tests.kit.paths import ROOT
from tests.kit.waiting import SAFETY, until

OURS = f"{os.getpid():07}"
"""Digits that tell our processes from those of other tests on this machine."""


def run(tmp_path: Path, command: str, *, timeout: float = SAFETY, **more: str) -> Finished:
    return run_command(
        command,
        folder=tmp_path,
        environment={"PATH": os.environ["PATH"], **more},
        timeout=timeout,
        log=tmp_path / "logs" / "gate.log",
    )


def living(mark: str) -> list[str]:
    """The processes whose command line has the mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in command and state != b"Z":
            found.append(entry.name)
    return found


def test_what_is_printed_is_in_the_log_at_once(tmp_path: Path) -> None:
    waits = "echo begun; until grep -q begun logs/gate.log; do sleep 0.02; done; echo seen"
    found = run(tmp_path, waits)
    assert (found.output, found.code) == ("begun\nseen\n", 0)


def test_output_code_folder_and_environment_are_those_of_the_command(tmp_path: Path) -> None:
    found = run(tmp_path, 'echo out; echo err >&2; pwd; echo "$COLOUR"; exit 3', COLOUR="green")
    assert found.code == 3
    assert not found.timed_out
    assert found.output == f"out\nerr\n{tmp_path}\ngreen\n"
    assert found.log.read_text() == found.output


def test_nothing_can_be_read_from_standard_input_or_a_terminal(tmp_path: Path) -> None:
    found = run(tmp_path, "cat; (: < /dev/tty) 2>/dev/null || echo no terminal")
    assert found.output == "no terminal\n"


def test_a_failure_inside_a_pipe_is_a_failure(tmp_path: Path) -> None:
    assert run(tmp_path, "false | cat").code == 1
    assert run(tmp_path, "false | cat").shell == "bash --noprofile --norc -o pipefail -c"


def test_without_bash_the_plain_shell_is_used_and_named(tmp_path: Path) -> None:
    assert shell_of({"PATH": str(tmp_path)}) == ("/bin/sh", "-c")


def test_an_end_by_a_signal_is_told(tmp_path: Path) -> None:
    found = run(tmp_path, "kill -SEGV $$")
    assert found.code == -signal.SIGSEGV
    assert ended_by(-signal.SIGSEGV) == "ended by SIGSEGV"
    assert ended_by(137) == "ended by SIGKILL"
    assert ended_by(2) == "exit code 2"


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_a_timeout_ends_children_that_left_the_session_and_their_environment(
    tmp_path: Path,
) -> None:
    command = (
        f"setsid sleep 88.0417{OURS} & "
        f"(env -i setsid sh -c 'sleep 88.0417{OURS} & wait' &) ; "
        f"trap '' TERM; sleep 88.0417{OURS}"
    )
    found = run(tmp_path, command, timeout=1)
    assert found.timed_out
    assert found.left >= 3
    assert living(f"88.0417{OURS}") == []


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_what_a_finished_command_leaves_running_is_ended_and_does_not_hold_the_output(
    tmp_path: Path,
) -> None:
    found = run(tmp_path, f"setsid nohup sleep 88.0418{OURS} & echo done")
    assert found.code == 0
    assert found.output == "done\n"
    assert found.left == 1
    assert living(f"88.0418{OURS}") == []


@pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")
def test_a_command_that_kills_its_keeper_has_not_passed_and_leaves_nothing(tmp_path: Path) -> None:
    found = run(tmp_path, f"kill -KILL $PPID; sleep 88.0419{OURS}")
    assert found.code is None
    assert living(f"88.0419{OURS}") == []


linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")


@linux
def test_what_lost_its_keeper_its_session_and_its_environment_is_ended_too(tmp_path: Path) -> None:
    escape = f"(env -i setsid sleep 88.0421{OURS} >/dev/null 2>&1 &)"
    found = run(tmp_path, f"{escape}; kill -KILL $PPID; sleep 88.0421{OURS}")
    assert found.code is None
    assert living(f"88.0421{OURS}") == []


OUTER = "$(cut -d' ' -f4 /proc/$PPID/stat)"


@linux
@pytest.mark.parametrize(
    ("attack", "mark"),
    [
        ("kill -STOP $PPID", "88.0431"),
        (f"trap 'exit 0' TERM; kill -STOP {OUTER}", "88.0432"),
        (f"kill -STOP $PPID {OUTER}", "88.0433"),
        (f"kill -KILL {OUTER} $PPID", "88.0434"),
    ],
)
def test_a_keeper_that_is_stopped_or_killed_ends_the_run_long_before_its_time(
    tmp_path: Path, attack: str, mark: str
) -> None:
    found = run(tmp_path, f"{attack}; sleep {mark}{OURS}", timeout=3600)
    assert found.code is None
    assert not found.timed_out
    assert living(mark + OURS) == []


@linux
def test_a_command_cannot_answer_for_its_keeper(tmp_path: Path) -> None:
    forge = """
for fd in /proc/$PPID/fd/*; do
  case "$(readlink "$fd" 2>/dev/null)" in
    pipe:*) echo '{"code": 0, "timed_out": false, "left": 0}' 2>/dev/null > "$fd";;
  esac
done
kill -KILL $PPID
exit 1
"""
    assert run(tmp_path, forge).code is None
    seen = tmp_path / "seen"
    beside = forge.replace("kill -KILL $PPID\nexit 1\n", "exit 4\n")
    found = run(tmp_path, f"ls /proc/$PPID/fd > {seen}\n{beside}")
    # Who sees the keeper's pipes, as root does, spoils its answer; others only give their own.
    assert found.code == (None if seen.read_text() else 4)


@linux
def test_the_word_of_the_answer_is_nowhere_for_the_command_to_see(tmp_path: Path) -> None:
    look = "tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' '\\n' < /proc/$PPID/cmdline; env"
    found = run(tmp_path, look)
    words = set(re.findall(r"\b[0-9a-f]{32}\b", found.output))
    assert len(words) == 1
    assert f"{MARK}={words.pop()}" in found.output


@pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_when_we_end_so_does_the_command(tmp_path: Path, number: signal.Signals) -> None:
    mark = f"88.05{int(number)}{OURS}"
    script = f"""
import os
from pathlib import Path
from hornbook.gates.runner import run_gates
from hornbook.gates.gate import Gate
root = Path({str(tmp_path)!r})
run_gates([Gate("slow", "echo x > started; setsid sleep {mark}; sleep {mark}")], root, logs=root / "logs")
"""
    ours = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stderr=subprocess.PIPE,
    )
    try:
        started = tmp_path / "started"
        until(lambda: started.exists() or ours.poll() is not None, "the start of the command")
        ours.send_signal(number)
        assert ours.wait() != 0
    finally:
        ours.kill()
        ours.communicate()
    until(lambda: not living(mark), f"no process with {mark}")


def test_head_and_tail_are_kept_and_the_rest_is_counted(tmp_path: Path) -> None:
    size = LOG + 1_000_000
    found = run(tmp_path, f"echo first; head -c {size} /dev/zero | tr '\\0' a; echo; echo last")
    total = size + len("first\n\nlast\n")
    assert found.total == total
    assert found.output.startswith("first\n")
    assert found.output.endswith("a\nlast\n")
    assert f"\n[{total - HEAD - TAIL} bytes dropped]\n" in found.output
    log = found.log.read_text()
    assert len(log) < LOG + TAIL + 100
    assert f"\n[{total - LOG - TAIL} bytes dropped]\n" in log
    assert log.endswith("a\nlast\n")


def test_no_secret_is_inherited_and_what_the_gate_sets_wins() -> None:
    ours = {"PATH": "/bin", "LC_ALL": "C", "API_KEY": "k", "GITHUB_TOKEN": "t", "LC_TOKEN_x": "t"}
    assert environment(ours, {"LC_ALL": "de_DE", "MODE": "test"}) == {
        "PATH": "/bin",
        "LC_ALL": "de_DE",
        "MODE": "test",
    }
    secret = re.compile("TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL")
    assert not [name for name in INHERITED if secret.search(name)]


def test_the_docs_list_what_is_inherited_and_no_more() -> None:
    text = (ROOT / "docs" / "gates-running.md").read_text(encoding="utf-8")
    listed = re.search(r"of yours only these.*?: (.*?), and the locale", text, re.DOTALL)
    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed[1])) == INHERITED


PYTEST_FAILURE = "\n".join(
    [
        *(f"tests/test_{n}.py ......" for n in range(500)),
        "=================================== FAILURES ===================================",
        "____________________________________ test_b ____________________________________",
        "",
        "    def test_b():",
        ">       assert total([1, 2]) == 4",
        "\x1b[31mE       assert 3 == 4\x1b[0m",
        "",
        "test_x.py:6: AssertionError",
        *(f"captured line {n}" for n in range(500)),
        "FAILED test_x.py::test_b - assert 3 == 4",
        "1 failed, 3000 passed in 0.15s",
    ]
)


@pytest.mark.parametrize(
    ("failing", "around"),
    [
        ("E       assert 3 == 4", None),
        ("--- FAIL: TestSum (0.00s)", "go"),
        ("./main.go:12:3: undefined: x", "go"),
        ("error[E0308]: mismatched types", "cargo"),
        ("thread 't' panicked at src/lib.rs:3:37:", "cargo"),
        ("  ● adds › two numbers", "jest"),
        ("src/a.py:3:1: F401 `os` imported but unused", "ruff"),
        ("src/a.py:3: error: Incompatible types in assignment  [assignment]", "mypy"),
        ("src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.", "tsc"),
        ("not ok 2 - b", "node"),
    ],
)
def test_what_goes_back_has_the_failing_line_and_says_what_is_missing(
    failing: str, around: str | None
) -> None:
    noise = [f"fine {number}" for number in range(2000)]
    text = PYTEST_FAILURE if around is None else "\n".join([*noise, failing, *noise, "the end"])
    told = trim(text, log="logs/test.log", budget=2000)
    assert failing in told.split("\n")
    assert len(told) <= 2000
    assert told.split("\n")[-1].endswith("lines: logs/test.log]")
    omitted = sum(
        int(number) for number in re.findall(r"^\[(\d+) lines omitted\]$", told, re.MULTILINE)
    )
    shown = [line for line in told.split("\n")[:-1] if not line.endswith("lines omitted]")]
    assert omitted + len(shown) == len(text.split("\n"))


def test_an_output_without_known_failures_keeps_head_and_tail() -> None:
    told = trim("\n".join(f"line {n}" for n in range(5000)), log="x.log", budget=1500)
    assert told.startswith("line 0\n")
    assert "\nline 4999\n" in told
    assert len(told) <= 1500


def test_a_short_output_is_whole_and_plain() -> None:
    assert trim("10%\r50%\r100%\n\x1b[1mdone\x1b[0m\n", log="x.log") == "100%\ndone"


KEYRING = """
import ctypes
call = ctypes.CDLL(None, use_errno=True).syscall
ring = call({keyctl}, 0, -3, 0)
print(ring, -ctypes.get_errno() if ring < 0 else call({keyctl}, 11, ring, None, 0))
"""
"""The number of the session's keyring, and how many bytes of keys' numbers are in it."""


@pytest.mark.skipif(os.uname().machine not in KEYCTL, reason="nobody looked up its system call")
def test_a_command_has_a_keyring_of_its_own_with_nothing_in_it(tmp_path: Path) -> None:
    asked = [sys.executable, "-c", KEYRING.format(keyctl=KEYCTL[os.uname().machine])]
    outside = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    inside = run(tmp_path, shlex.join(asked)).output.split()
    if outside[0] == "-1":  # this kernel has no keyrings, or keeps them from us: so from all
        assert outside[1] in {f"{-errno.ENOSYS}", f"{-errno.EPERM}"}
        assert inside == outside
    else:
        assert int(inside[0]) > 0
        assert inside[0] != outside[0]
        assert inside[1] == "0"
