"""Keeps one command and all that it starts: run as a script of its own, not imported.

Its standard input is a lifeline: when the other end closes, for whatever reason, everything that
was started is ended. On Linux it adopts orphans, so that a process that left its session and lost
its parent is found too; elsewhere the command's process group is what it can end. When it ends,
nothing that it started runs any more, and it has told how the command ended as one JSON line.

There are two levels, because the command may turn against its keeper: a test that kills its parent
would kill the only process that knows what else was started. The inner keeper runs the command,
waits for it, ends what it left and answers. The outer keeper only watches the inner one. If that
is killed, its children become the outer keeper's by adoption, which ends them and says nothing: no
answer is how the caller learns that nobody knows how the command ended. If it is stopped, or far
too late, the outer keeper kills it first. Should both be killed, the caller finds what is left by
the mark in its environment or by our pipe that it holds (`shell_command`).

The first line of the input is a word that the answer repeats: the command never sees it, so it
cannot answer for its keeper.
"""

import ctypes
import os
import select
import signal
import sys
import time

TYPE_CHECKING = (
    False  # typing, subprocess, json and pathlib would double the start of every command
)
if TYPE_CHECKING:
    from collections.abc import Iterator

ADOPT_ORPHANS = 36
DUMPABLE = 4
GRACE = 2.0
LATE = 4 * GRACE
TICK = 0.02
SETTLING = 0.15


def main(arguments: list[str]) -> None:
    """Run `arguments[2:]` for at most `arguments[1]` seconds; tell file `arguments[0]` the end."""
    told, limit = int(arguments[0]), float(arguments[1])
    word = _first_line(0)
    _apart()
    inner = os.fork()
    if inner == 0:
        _apart()
        _keep(arguments[2:], told, limit, word)
        return
    os.close(told)
    _watch(inner, limit)
    _sweep(None)


def _first_line(file: int) -> str:
    line = b""
    while (piece := os.read(file, 1)) not in {b"", b"\n"}:
        line += piece
    return line.decode("ascii")


def _apart() -> None:
    """Adopt orphans, and let nobody open our files by /proc."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        library.prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
        library.prctl(DUMPABLE, 0, 0, 0, 0)


class Command:
    """The command in a session of its own; `code` is how it ended, negative for a signal."""

    def __init__(self, words: list[str], told: int) -> None:
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _become(words, told)

    def poll(self) -> int | None:
        """How it ended, None while it runs."""
        return self._awaited(os.WNOHANG)

    def wait(self) -> int | None:
        """How it ended, once it has."""
        return self._awaited(0)

    def _awaited(self, options: int) -> int | None:
        if self.code is None:
            process, status = os.waitpid(self.pid, options)
            self.code = os.waitstatus_to_exitcode(status) if process else None
        return self.code


def _become(words: list[str], told: int) -> None:
    """Become a program; 127 says, as a shell does, that it cannot be run."""
    try:
        os.close(told)
        os.setsid()
        signal.set_wakeup_fd(-1)
        # Python ignores these two for itself; what it starts must not inherit that.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execvp(words[0], words)  # noqa: S606  # the command itself
    except OSError as problem:
        os.write(2, f"{words[0]}: {problem.strerror}\n".encode())
    finally:
        os._exit(127)


def _keep(words: list[str], told: int, limit: float, word: str) -> None:
    woken = _woken_by_children()
    end = time.monotonic() + limit
    command = Command(words, told)
    why = _wait(command, woken, end)
    if why == "ended":
        _settle(command)
    left = _sweep(command)
    ended = f'"code": {command.wait()}, "left": {left}'
    early = f'"timed_out": {int(why == "time")}, "cut_off": {int(why == "lifeline")}'
    os.write(told, f'{{{ended}, {early}, "word": "{word}"}}\n'.encode())


def _woken_by_children() -> int:
    """A pipe that can be read when a child ended."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return woken


def _watch(inner: int, limit: float) -> None:
    """Wait for the inner keeper; one that is stopped, or far too late, is killed."""
    woken = _woken_by_children()
    end = time.monotonic() + limit + LATE
    while True:
        process, status = os.waitpid(inner, os.WNOHANG | os.WUNTRACED)
        stopped = process and os.WIFSTOPPED(status)
        if process and not stopped:
            return
        if stopped or time.monotonic() >= end:
            os.kill(inner, signal.SIGKILL)
            os.waitpid(inner, 0)
            return
        select.select([woken], [], [], max(0.0, end - time.monotonic()))
        _drain(woken)


def _drain(woken: int) -> None:
    try:
        os.read(woken, 512)
    except BlockingIOError:
        return


def _wait(command: Command, woken: int, end: float) -> str:
    """Why the wait is over: the command ended, its time is up, or nobody waits any more."""
    while command.poll() is None:
        ready, _, _ = select.select([0, woken], [], [], max(0.0, end - time.monotonic()))
        if command.poll() is not None:
            break
        if 0 in ready:
            return "lifeline"
        if woken in ready:
            os.read(woken, 512)
        elif time.monotonic() >= end:
            return "time"
    return "ended"


def _settle(command: Command) -> None:
    """Let what ends with the command end: a sandbox, for one, does so a moment later."""
    until = time.monotonic() + SETTLING
    while _living(command) and time.monotonic() < until:
        time.sleep(TICK)


def _sweep(command: Command | None) -> int:
    """End everything that is left, politely first; how many there were besides the command."""
    found = _living(command)
    others = len(found - {command.pid if command is not None else 0})
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        until = time.monotonic() + GRACE
        _signal(found, number)
        while found and time.monotonic() < until:
            time.sleep(TICK)
            newer = _living(command)
            # Who was asked to end is asked once; who is killed may have forked meanwhile.
            _signal(newer if number is signal.SIGKILL else newer - found, number)
            found = newer
    return others


def _signal(processes: set[int], number: int) -> None:
    for process in processes:
        try:
            os.kill(process, number)
        except (ProcessLookupError, PermissionError):
            continue


def _living(command: Command | None) -> set[int]:
    """Our descendants that still run, zombies reaped; without /proc the command's group alone."""
    if command is not None:
        command.poll()
    if not os.path.exists("/proc/self/stat"):  # noqa: PTH110  # see TYPE_CHECKING
        return _group(command) if command is not None else set()
    return _descendants(0 if command is None else command.pid)


def _descendants(own: int) -> set[int]:
    """Our descendants that still run; all that ended are reaped, but for our `own` command."""
    known = dict(_processes())
    parents = {process: parent for process, (parent, _) in known.items()}
    mine = {process for process in parents if _descends(process, parents)}
    ended = {process for process in mine if known[process][1]}
    # The command itself is waited for by whoever started it, which wants its status.
    for process in ended - {own}:
        if parents[process] == os.getpid():
            _reap(process)
    return mine - ended


def _processes() -> "Iterator[tuple[int, tuple[int, bool]]]":
    """Every process, with its parent and whether it has ended and only waits to be reaped."""
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208  # as above
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  # as above
                facts = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        yield int(name), (int(facts[1]), facts[0] in {b"Z", b"X"})


def _descends(process: int, parents: dict[int, int]) -> bool:
    seen = set()
    while process in parents and process not in seen:
        seen.add(process)
        process = parents[process]
        if process == os.getpid():
            return True
    return False


def _reap(process: int) -> None:
    try:
        os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        return


def _group(command: Command) -> set[int]:
    """The group as a negative number, which is how a signal is sent to all of it."""
    try:
        os.killpg(command.pid, 0)
    except (ProcessLookupError, PermissionError):
        return set()
    return {-command.pid}


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # nothing is left to be told, and an interpreter takes its time to be torn down
