"""Runs one shell command to its end: in limited time, apart from our terminal, leaving nothing."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from hornbook.process.secret_mask import SecretMask

KEEPER = Path(__file__).with_name("keeper.py")
MARK = "HORNBOOK_GATE_RUN"
HEAD = 64 * 1024
TAIL = 64 * 1024
LOG = 8 * 1024 * 1024
_PIECE = 64 * 1024
# So many seconds after its time a keeper must have ended what it keeps, else it is ended itself.
_LATE = 15.0
_LOOK = 1.0
# A pipe that a process beyond our reach keeps open is left after so many silent seconds.
_DRAIN = 0.2
_SETTLING = 0.02


@dataclass(frozen=True, slots=True)
class UseLimits:
    """What a command and all that it starts may use together; 0 is as much as there is.

    `memory` and `disk` are bytes; of `folders` the growth counts as disk.
    """

    memory: int = 0
    processes: int = 0
    disk: int = 0
    cpu_seconds: int = 0
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended: `output` is its head and tail, `log` holds all of it up to a limit.

    `code` is the exit code, negative for the number of the signal that ended it, or none when
    its keeper was killed or it was cut off, and nobody knows. `left` counts the processes that
    it left running and that were ended; `over` is the limit that it passed, with its numbers;
    `shell` is how it was run.
    """

    code: int | None
    timed_out: bool
    seconds: float
    output: str
    log: Path
    total: int
    left: int
    shell: str
    over: str = ""


def shell_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The shell that runs commands: bash with pipefail, or sh where there is no bash."""
    bash = shutil.which("bash", path=environment.get("PATH"))
    if bash is not None:
        return (bash, "--noprofile", "--norc", "-o", "pipefail", "-c")
    return ("/bin/sh", "-c")


def run_command(
    command: str,
    *,
    folder: Path,
    environment: Mapping[str, str],
    timeout: float,
    log: Path,
    stop: int | None = None,
    limits: UseLimits | None = None,
    mask: SecretMask | None = None,
) -> Finished:
    """Run a command in a folder with exactly this environment, and wait for its end.

    It is ended early once the pipe `stop` can be read or its other end is closed. What `mask`
    knows is written nowhere.

    Nothing that it started runs on afterwards: not when its time is up, not when we are
    interrupted, and not when this process is killed.
    """
    shell = shell_of(environment)
    mark, word = uuid.uuid4().hex, uuid.uuid4().hex
    told, tell = os.pipe()
    started = time.monotonic()
    try:
        keeper = subprocess.Popen(
            [*keeper_of(tell, timeout, limits), *shell, command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**environment, MARK: mark},
            pass_fds=(tell,),
            start_new_session=True,
        )
    except BaseException:
        os.close(told)
        raise
    finally:
        os.close(tell)
    output = _name_of(keeper.stdout)
    with os.fdopen(told, "rb") as answer:
        try:
            _say(keeper, word)
            kept = _read(keeper, answer, log, stop, started + timeout + _LATE, mask)
        finally:
            _let_go(keeper)
        ended = _answer(answer, word)
    if not ended:
        _end_left(f"{MARK}={mark}".encode(), output)
    seconds = time.monotonic() - started
    return Finished(
        # What was cut off may end as it likes: its code says nothing.
        code=None if ended.get("cut_off") else ended.get("code"),
        timed_out=bool(ended.get("timed_out")) or (not ended and seconds >= timeout),
        seconds=seconds,
        output=kept.text(),
        log=log,
        total=kept.total,
        left=int(ended.get("left") or 0),
        shell=" ".join((Path(shell[0]).name, *shell[1:])),
        over=str(ended.get("over") or ""),
    )


def keeper_of(tell: int, timeout: float, limits: UseLimits | None) -> tuple[str, ...]:
    """The keeper's own command line, before that of what it keeps."""
    held = limits or UseLimits()
    numbers = (held.memory, held.processes, held.disk, held.cpu_seconds)
    given = "\n".join((*map(str, numbers), *map(str, held.folders)))
    return (sys.executable, "-I", "-S", str(KEEPER), str(tell), str(timeout), given)


def _say(keeper: "subprocess.Popen[bytes]", word: str) -> None:
    """Give the keeper the word that its answer must have."""
    if keeper.stdin is None:
        raise TypeError("the keeper was started without a lifeline")
    with suppress(BrokenPipeError):
        keeper.stdin.write(f"{word}\n".encode("ascii"))
        keeper.stdin.flush()


def _let_go(keeper: "subprocess.Popen[bytes]") -> None:
    """Close the lifeline and wait: the keeper ends what still runs, unless it was stopped."""
    for stream in (keeper.stdin, keeper.stdout):
        if stream is not None:
            stream.close()
    until = time.monotonic() + _LATE
    while keeper.poll() is None:
        try:
            keeper.wait(_LOOK)
        except subprocess.TimeoutExpired:
            if _is_stopped(keeper.pid) or time.monotonic() >= until:
                keeper.kill()


def _is_lost(keeper: "subprocess.Popen[bytes]", end: float) -> bool:
    """Whether the keeper was stopped, or is not done at the `end`: then it is killed."""
    if not _is_stopped(keeper.pid) and time.monotonic() < end:
        return False
    keeper.kill()
    return True


def _is_stopped(process: int) -> bool:
    """Whether a process was stopped: such a one keeps nothing and never ends."""
    try:
        facts = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return False
    return facts.rpartition(b")")[2].split()[:1] in ([b"T"], [b"t"])


def _answer(answer: BinaryIO, word: str) -> dict[str, Any]:  # JSON that the keeper wrote
    """What the keeper told; nothing if it was killed, or if somebody else wrote too."""
    until = time.monotonic() + _LATE
    told = b""
    while select.select([answer], [], [], max(0.0, until - time.monotonic()))[0]:
        piece = os.read(answer.fileno(), _PIECE)
        told += piece
        if not piece or len(told) > _PIECE:
            break
    lines = told.splitlines()
    try:
        known = json.loads(lines[0]) if len(lines) == 1 else {}
    except ValueError:
        return {}
    return known if isinstance(known, dict) and known.get("word") == word else {}


def _name_of(stream: IO[bytes] | None) -> str:
    """What /proc calls a pipe; empty where there is none."""
    try:
        return str(Path(f"/proc/self/fd/{stream.fileno()}").readlink()) if stream else ""
    except OSError:
        return ""


def _end_left(mark: bytes, pipe: str) -> None:
    """End what a killed keeper left behind: it has the mark in its environment, or our pipe.

    It is looked for until there is nothing: a shell may start its next command while others are
    looked at, and what is killed needs a moment to be gone.
    """
    until = time.monotonic() + _LATE
    while _kill_all(mark, pipe) and time.monotonic() < until:
        time.sleep(_SETTLING)


def _kill_all(mark: bytes, pipe: str) -> bool:
    """Kill each process with the mark or the pipe that is there now; whether there was one."""
    ours, found = os.getpid(), False
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) == ours:
            continue
        try:
            marked = mark in (entry / "environ").read_bytes().split(b"\0")
            if marked or any(str(each.readlink()) == pipe for each in (entry / "fd").iterdir()):
                os.kill(int(entry.name), signal.SIGKILL)
                found = True
        except OSError:
            continue
    return found


def _read(  # noqa: PLR0917  # of one call alone
    keeper: "subprocess.Popen[bytes]",
    answer: BinaryIO,
    log: Path,
    stop: int | None,
    end: float,
    mask: SecretMask | None,
) -> "_Kept":
    """Read the output until the keeper has ended, whoever still holds the pipe.

    A keeper that was stopped, or is not done at the `end`, is killed.
    """
    if keeper.stdout is None:
        raise TypeError("the keeper was started without a pipe")
    pipe = keeper.stdout.fileno()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as written:
        kept = _Kept(written, mask or SecretMask({}))
        watched = [pipe, answer.fileno(), *([] if stop is None else [stop])]
        while pipe in watched:
            over = answer.fileno() not in watched
            ready, _, _ = select.select(watched, [], [], _DRAIN if over else _LOOK)
            if stop in ready or _is_lost(keeper, end):
                break
            if pipe in ready:
                piece = os.read(pipe, _PIECE)
                kept.add(piece)
                if not piece:
                    watched.remove(pipe)
            elif over:
                break
            elif ready:
                # Its answer or its end: either way only what is already in the pipe counts now.
                watched.remove(answer.fileno())
        kept.finish()
    return kept


class _Kept:
    """Output as it comes: the first and last bytes in memory, and a log with a limit."""

    def __init__(self, log: BinaryIO, mask: SecretMask) -> None:
        self._log = log
        self._stream = mask.stream()
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, piece: bytes) -> None:
        self._add(self._stream.add(piece))

    def _add(self, piece: bytes) -> None:
        room = max(0, LOG - self.total)
        self._log.write(piece[:room])
        self._log.flush()  # whoever follows the log sees it as it comes
        self.total += len(piece)
        for_head = piece[: max(0, HEAD - len(self._head))]
        self._head += for_head
        self._tail += piece[len(for_head) :]
        if len(self._tail) > 4 * TAIL:
            del self._tail[:-TAIL]

    def finish(self) -> None:
        """Cut the tail to its size; a log that is full gets it after a word on what is missing."""
        self._add(self._stream.finish())
        del self._tail[: max(0, len(self._tail) - TAIL)]
        missing = self.total - LOG
        if missing <= 0:
            return
        tail = self._tail[-missing:]
        self._log.write(f"\n[{missing - len(tail)} bytes dropped]\n".encode())
        self._log.write(tail)

    def text(self) -> str:
        dropped = self.total - len(self._head) - len(self._tail)
        head, tail = bytes(self._head), bytes(self._tail)
        marker = f"\n[{dropped} bytes dropped]\n".encode() if dropped else b""
        return (head + marker + tail).decode("utf-8", "replace")


def ended_by(code: int) -> str:
    """An exit in words: the code, or the signal that ended the command."""
    number = -code if code < 0 else code - 128
    if code < 0 or number in {signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM}:
        try:
            return f"ended by {signal.Signals(number).name}"
        except ValueError:
            return f"ended by signal {number}"
    return f"exit code {code}"


INHERITED_TEXT = """
BUNDLE_PATH CARGO_HOME CARGO_TARGET_DIR CI COMPOSER_HOME CONDA_PREFIX DOTNET_ROOT GEM_HOME GEM_PATH
GOCACHE GOFLAGS GOMODCACHE GOPATH GOROOT GRADLE_USER_HOME HOME JAVA_HOME LANG LANGUAGE LOGNAME
MAVEN_HOME NODE_PATH NVM_DIR PATH PNPM_HOME PYENV_ROOT RBENV_ROOT RUSTUP_HOME RUSTUP_TOOLCHAIN
SHELL SSL_CERT_DIR SSL_CERT_FILE TEMP TMP TMPDIR TZ USER VIRTUAL_ENV
XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME
"""
INHERITED = frozenset(INHERITED_TEXT.split())
_LOCALE = re.compile(r"LC_[A-Z]+")


def environment(inherited: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The environment of a gate: what is on the list, and on top of it what the gate sets."""
    passed_on = {
        name: value
        for name, value in inherited.items()
        if name in INHERITED or _LOCALE.fullmatch(name)
    }
    return {**passed_on, **own}
