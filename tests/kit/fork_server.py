"""A process that has imported all of `hornbook` and forks itself for every command it is sent.

Most of what a short command costs is the start of an interpreter and its imports. A fork has them
already and is still a process of its own: its folder, its environment, its files and its end are
nobody else's. Whatever is about the start itself (imports, hash seed, encodings, an entry point)
is tested with a fresh interpreter instead.

Whoever wants a command connects, and sends one order as JSON with three files: its stdin, stdout
and stderr. The answers are the process id at once, and the wait status when the command has ended.
Who goes away before has the command told to end. The server itself ends with its stdin.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

SCRIPTS = ("hornbook.__main__", "hornbook.process.keeper", "hornbook.process.landlock")
LARGEST = 1 << 20
Command = Callable[[], None]


class Server:
    """Forks for every order; `serve` returns in the forks alone."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._running: dict[int, socket.socket] = {}
        self._woken, self._wake = os.pipe()
        for end in (self._woken, self._wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._selector = selectors.DefaultSelector()
        for file in (listener, self._woken, 0):
            self._selector.register(file, selectors.EVENT_READ)

    def serve(self) -> Command:
        """What a fork is to do; the server itself serves until its stdin ends."""
        while True:
            for key, _ in self._selector.select():
                if key.fd == 0:
                    sys.exit()
                elif key.fd == self._woken:
                    self._reap()
                elif key.fileobj is self._listener:
                    command = self._fork()
                    if command is not None:
                        return command
                else:
                    self._left(key.fileobj)

    def _fork(self) -> Command | None:
        asker, _ = self._listener.accept()
        message, files, _, _ = socket.recv_fds(asker, LARGEST, 3)
        pid = os.fork() if message else -1
        if pid == 0:
            self._forget()
            asker.close()
            return _command(json.loads(message), files)
        for file in files:
            os.close(file)
        if pid < 0:
            asker.close()
        else:
            asker.send(b"%d" % pid)
            self._running[pid] = asker
            self._selector.register(asker, selectors.EVENT_READ)
        return None

    def _forget(self) -> None:
        """Leave nothing of the server open in a fork."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        os.close(self._woken)
        os.close(self._wake)
        for each in (self._listener, *self._running.values()):
            each.close()

    def _reap(self) -> None:
        os.read(self._woken, 4096)
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._running.pop(pid) as asker, contextlib.suppress(OSError):
                with contextlib.suppress(KeyError):
                    self._selector.unregister(asker)
                asker.send(b"%d" % status)

    def _left(self, asker: object) -> None:
        for pid, each in self._running.items():
            if each is asker:
                self._selector.unregister(each)
                os.kill(pid, signal.SIGTERM)


def _command(order: dict[str, Any], files: list[int]) -> Command:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    if order["session"]:
        os.setsid()
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        like = getattr(sys, name)  # opened by the interpreter, by its rules
        mode, buffering = ("r", -1) if number == 0 else ("w", 1 if number == 2 else -1)
        setattr(sys, name, open(number, mode, buffering, like.encoding, like.errors))  # noqa: PTH123, SIM115  # a number, closed at the end
    sys.argv = order["arguments"]
    module, _, function = order["entry"].partition(":")
    found: Command = getattr(importlib.import_module(module), function)
    return found


def script() -> None:
    """Run the text that is given as the only argument, as `python -c` does."""
    exec(compile(sys.argv[1], "<string>", "exec"), {"__name__": "__main__"})


def _end(code: int) -> None:
    """The end of an interpreter without the hundred milliseconds that it takes to be torn down."""
    threading._shutdown()  # type: ignore[attr-defined]  # it waits for threads, as at any end
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            code = code or 120
    os._exit(code)


def _code(given: object) -> int:
    """The exit code for what was given to `sys.exit`."""
    if given is None or isinstance(given, int):
        return (given or 0) & 255
    print(given, file=sys.stderr)
    return 1


def main() -> None:
    """Import everything, then serve the listening socket whose number is given."""
    import hornbook
    from hornbook.text import tokens

    for found in pkgutil.walk_packages(hornbook.__path__, "hornbook."):
        if found.name not in SCRIPTS:
            importlib.import_module(found.name)
    for name in sys.argv[2:]:
        importlib.import_module(name)
    # The table of an exact count takes most of a small command's time, and never changes.
    tokens.counter(tokens.DEFAULT_COUNTER)
    assert threading.active_count() == 1, "a thread would be lost in every fork"
    gc.collect()
    gc.freeze()
    command = Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    try:
        command()
    except SystemExit as end:
        code = _code(end.code)
    except BaseException:  # noqa: BLE001  # a command that breaks is told as the interpreter tells it
        sys.excepthook(*sys.exc_info())
        code = 1
    else:
        code = 0
    _end(code)


if __name__ == "__main__":
    main()
