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

Limits are held twice. Where this machine lets us make a control group, the kernel holds memory and
the number of processes, and never lets them pass. Everywhere, the inner keeper adds up each second
what the command and all its descendants use, and ends them when that is over a limit. No limit of
the process is used but that on the size of a file: those on addresses break runtimes that reserve
much and use little, and that on the number of processes does not hold root.

The first line of the input is a word that the answer repeats: the command never sees it, so it
cannot answer for its keeper.
"""

import ctypes
import os
import resource
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
LOOK_AT_USE = 1.0
LOOK_AT_DISK = 2.0
THREADS = 4
JOIN_SESSION_KEYRING = 1
KEYCTL = {"x86_64": 250, "aarch64": 219}
"""The number of the system call, which the C library has no name for."""


def main(arguments: list[str]) -> None:
    """Run `arguments[3:]` for at most `arguments[1]` seconds; tell file `arguments[0]` the end.

    `arguments[2]` has the limits: bytes of memory, processes, bytes of disk and seconds of CPU,
    0 for none, and then the folders whose growth counts, all split by newlines.
    """
    told, limit = int(arguments[0]), float(arguments[1])
    limits = Limits(arguments[2].split("\n"))
    word = _first_line(0)
    _apart()
    inner = os.fork()
    if inner == 0:
        _apart()
        _keep(arguments[3:], told, limit, word, limits)
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
        # A keyring of its own: keys of the user's session are none of the command's. Where the
        # kernel has no keyrings, there is nothing to keep from it.
        if os.uname().machine in KEYCTL:
            library.syscall(KEYCTL[os.uname().machine], JOIN_SESSION_KEYRING, None)


class Limits:
    """What a command may use, and how much of it that is at the moment."""

    def __init__(self, given: list[str]) -> None:
        numbers = [int(each) for each in given[:4] if each] or [0, 0, 0, 0]
        self.memory, self.processes, self.disk, self.cpu = numbers
        self.folders = given[4:]
        self.wanted = any(numbers)
        self._grown_from: int | None = None
        self._measured_at = 0.0
        self._pause = LOOK_AT_DISK

    def over(self, command: int) -> str:
        """Which limit is passed, with both numbers; empty while none is."""
        if not self.wanted:
            return ""
        used = [0, 0, 0.0]
        largest_shared = 0
        for process in _tree(command):
            facts = _usage(process)
            if facts is not None:
                own, shared, seconds = facts
                used = [used[0] + own, used[1] + 1, used[2] + seconds]
                largest_shared = max(largest_shared, shared)
        memory = used[0] + largest_shared
        if self.memory and memory > self.memory:
            return f"memory: {_megabytes(memory)} of {_megabytes(self.memory)}"
        if self.processes and used[1] > self.processes:
            return f"processes: {used[1]} of {self.processes}"
        if self.cpu and used[2] > self.cpu:
            return f"CPU: {used[2]:.0f} of {self.cpu} seconds"
        return self._over_disk()

    def _over_disk(self) -> str:
        """Growth of the folders; looked at so seldom that it costs little."""
        now = time.monotonic()
        if not self.disk or now < self._measured_at + self._pause:
            return ""
        size = sum(map(_size, self.folders))
        self._measured_at = time.monotonic()
        self._pause = max(LOOK_AT_DISK, 20 * (self._measured_at - now))
        if self._grown_from is None:
            self._grown_from = size
        grown = size - self._grown_from
        if grown <= self.disk:
            return ""
        return f"disk: {_megabytes(grown)} of {_megabytes(self.disk)}"


class ControlGroup:
    """A group of the kernel's that holds memory and processes, where one can be made."""

    def __init__(self, limits: Limits) -> None:
        self.folders: list[str] = []
        self._limits = limits
        if limits.wanted and sys.platform == "linux":
            self._make()

    def _make(self) -> None:
        name = f"hornbook-{os.getpid()}"
        for base, files in _control_groups():
            folder = f"{base}/{name}"
            try:
                os.mkdir(folder)  # noqa: PTH102  # see TYPE_CHECKING
                for file, limit in files:
                    _write(f"{folder}/{file}", self._number(file, limit))
            except OSError:
                _remove(folder)
                continue
            self.folders.append(folder)
            if "cgroup.controllers" in os.listdir(folder):  # noqa: PTH208  # as above
                return

    def _number(self, file: str, limit: str) -> str:
        number = getattr(self._limits, limit)
        if not number:
            return "-1" if file == "memory.limit_in_bytes" else "max"
        # The kernel counts threads: it is the wall behind our own count of processes.
        return str(number * THREADS if limit == "processes" else number)

    def enter(self) -> None:
        """Put this process into it."""
        for folder in self.folders:
            _write(f"{folder}/cgroup.procs", "0")

    def over(self) -> str:
        """Which limit the kernel had to hold; empty if none."""
        for folder in self.folders:
            for name, key in (("memory.events", "oom_kill"), ("memory.oom_control", "oom_kill")):
                if _count(f"{folder}/{name}", key):
                    return f"memory: all of {_megabytes(self._limits.memory)}"
            if _count(f"{folder}/pids.events", "max"):
                return f"processes: more than {self._limits.processes}"
        return ""

    def close(self) -> None:
        """Remove it; whatever was in it has ended."""
        for folder in self.folders:
            _remove(folder)


GROUPS = "/sys/fs/cgroup"


def _control_groups() -> "Iterator[tuple[str, tuple[tuple[str, str], ...]]]":
    """Where groups can be made, of version 2 first, and the files that hold limits there."""
    both = (("memory.max", "memory"), ("pids.max", "processes"))
    old = {
        "memory": (("memory.limit_in_bytes", "memory"),),
        "pids": (("pids.max", "processes"),),
    }
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:  # noqa: PTH123  # as above
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return
    for _, names, path in lines:
        if not names:
            yield f"{GROUPS}{path.rstrip('/')}", both
    for _, names, path in lines:
        if names in old:
            yield f"{GROUPS}/{names}{path.rstrip('/')}", old[names]


def _write(path: str, text: str) -> None:
    """Write to a file that the kernel has put there; where it has not, the folder is no group."""
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode("ascii"))
    finally:
        os.close(file)


def _remove(folder: str) -> None:
    try:
        os.rmdir(folder)  # noqa: PTH106  # as above
    except OSError:
        return


def _count(path: str, key: str) -> int:
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123  # as above
            found = [line.split() for line in file]
    except OSError:
        return 0
    return next((int(each[1]) for each in found if each[0] == key), 0)


def _tree(command: int) -> "set[int]":
    """The command and all that descend from it or were adopted by us."""
    return {process for process in _descendants(command) if process != os.getpid()}


def _usage(process: int) -> "tuple[int, int, float] | None":
    """Bytes of its own memory and of shared one, and seconds of CPU with its ended children's."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:  # noqa: PTH123  # as above
            resident, shared = (int(each) for each in file.read().split()[1:3])
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123  # as above
            ticks = file.read().rpartition(b")")[2].split()[11:15]
    except (OSError, ValueError):
        return None
    page = os.sysconf("SC_PAGE_SIZE")
    seconds = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return (resident - shared) * page, shared * page, seconds


def _size(folder: str) -> int:
    """What the files below a folder take, links not followed."""
    total = 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
    return total


def _megabytes(number: float) -> str:
    return f"{number / 1024 / 1024:.0f} MB"


class Command:
    """The command in a session of its own; `code` is how it ended, negative for a signal."""

    def __init__(self, words: list[str], told: int, group: ControlGroup, disk: int) -> None:
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _become(words, told, group, disk)

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


def _become(words: list[str], told: int, group: ControlGroup, disk: int) -> None:
    """Become a program; 127 says, as a shell does, that it cannot be run."""
    try:
        os.close(told)
        group.enter()
        if disk:
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            most = disk if hard == resource.RLIM_INFINITY else min(disk, hard)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
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


def _keep(words: list[str], told: int, limit: float, word: str, limits: Limits) -> None:
    woken = _woken_by_children()
    end = time.monotonic() + limit
    group = ControlGroup(limits)
    command = Command(words, told, group, limits.disk)
    why = _wait(command, woken, end, limits)
    over = why.removeprefix("over ") if why.startswith("over ") else ""
    if why == "ended":
        _settle(command)
    if over:
        _freeze(command)
    left = _sweep(command, at_once=bool(over))
    over = over or group.over()
    group.close()
    ended = f'"code": {command.wait()}, "left": {left}, "over": "{over}"'
    early = f'"timed_out": {int(why == "time")}, "cut_off": {int(why == "lifeline")}'
    os.write(told, f'{{{ended}, {early}, "word": "{word}"}}\n'.encode())


def _freeze(command: Command) -> None:
    """Stop what forks faster than it can be killed: who is stopped makes no more."""
    known: set[int] = set()
    until = time.monotonic() + GRACE
    while (found := _living(command)) - known and time.monotonic() < until:
        _signal(found, signal.SIGSTOP)
        known |= found


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


def _wait(command: Command, woken: int, end: float, limits: Limits) -> str:
    """Why the wait is over: the command ended, a limit or its time is up, or nobody waits."""
    while command.poll() is None:
        left = max(0.0, end - time.monotonic())
        pause = min(left, LOOK_AT_USE) if limits.wanted else left
        ready, _, _ = select.select([0, woken], [], [], pause)
        if command.poll() is not None:
            break
        if over := limits.over(command.pid):
            return f"over {over}"
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


def _sweep(command: Command | None, *, at_once: bool = False) -> int:
    """End everything that is left, politely first; how many there were besides the command."""
    found = _living(command)
    others = len(found - {command.pid if command is not None else 0})
    polite = () if at_once else (signal.SIGTERM,)
    for number in (*polite, signal.SIGKILL, signal.SIGKILL):
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
