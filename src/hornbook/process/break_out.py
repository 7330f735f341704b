"""Tries to get out of a confinement and prints what worked: run as a script, not imported.

Its argument is JSON with what it may try itself at, all of it made for this and harmless: `etc` a
file to make, `home` one to read, `git` one to write, `mode` one that can be read, `program` one to
make where it may; `port` a server on loopback, `socket` and `abstract` two more, `process` one that
sleeps, `memory` the number of what is shared, `key` that of a key, `terminal` one, `other` a file
of another call. It prints one JSON object, true for each way out.
"""

import ctypes
import json
import os
import signal
import socket
import sys

TYPE_CHECKING = False  # typing would have to be found inside
if TYPE_CHECKING:
    from collections.abc import Callable

REMOUNT = 32
ATTACH, DETACH = 16, 17
WAIT = 5
KEYCTL = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine, -1)
READ_KEY = 11
VIRTUAL_MACHINES = 40
CORE_FILE = 4


def main(argument: str) -> None:
    """Try everything."""
    given = json.loads(argument)
    ways: dict[str, Callable[[], object]] = {
        "remount": _remount,
        "write_etc": lambda: _made(given["etc"]),
        "kernel_settings": lambda: open("/proc/sys/kernel/panic", "r+").close(),  # noqa: PTH123  # closed at once
        "read_home": lambda: open(given["home"]).close(),  # noqa: PTH123  # as above
        "host_loopback": lambda: socket.create_connection(("127.0.0.1", given["port"]), WAIT),
        "unix_socket": lambda: _connected(given["socket"]),
        "abstract_socket": lambda: _connected("\0" + given["abstract"]),
        "ptrace": lambda: _traced(given["process"]),
        "kill_outside": lambda: os.kill(given["process"], 0),
        "change_limits": lambda: _checked(
            _libc().prlimit(given["process"], CORE_FILE, bytes(16), None)
        ),
        "user_program": lambda: _user_program(given["program"]),
        "shared_memory": lambda: _checked(min(0, _libc().shmget(given["memory"], 0, 0))),
        "read_key": lambda: _checked(
            min(0, _libc().syscall(KEYCTL, READ_KEY, given["key"], None, 0))
        ),
        "vm_socket": lambda: socket.socket(VIRTUAL_MACHINES, socket.SOCK_STREAM).close(),
        "terminal": lambda: os.close(os.open(given["terminal"], os.O_RDONLY | os.O_NOCTTY)),
        "other_calls": lambda: open(given["other"]).close(),  # noqa: PTH123  # as above
        "change_mode": lambda: os.chmod(given["mode"], 0o640),  # noqa: PTH101  # pathlib would have to be found inside
        "git_write": lambda: open(given["git"], "a").close(),  # noqa: PTH123  # as above
    }
    print(json.dumps({name: _works(way) for name, way in ways.items()}))  # noqa: T201  # its answer


def _works(way: "Callable[[], object]") -> bool:
    try:
        way()
    except OSError:
        return False
    return True


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(answer: int) -> None:
    if answer != 0:
        raise OSError(ctypes.get_errno(), "refused")


def _remount() -> None:
    _checked(_libc().mount(None, b"/", None, REMOUNT, None))


def _made(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    os.unlink(path)  # noqa: PTH108  # pathlib would have to be found inside


def _user_program(path: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123  # as above
        os.fchmod(file.fileno(), 0o4700)


def _connected(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(WAIT)
        line.connect(path)


def _traced(process: int) -> None:
    _checked(_libc().ptrace(ATTACH, process, None, None))
    os.waitpid(process, 0x40000000)  # one that is nobody's child of ours
    _libc().ptrace(DETACH, process, None, signal.SIGCONT)


if __name__ == "__main__":
    main(sys.argv[1])
