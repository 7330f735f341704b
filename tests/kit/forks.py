"""Commands of `hornbook` in forks of a process that has imported everything (see `fork_server`)."""

import atexit
import contextlib
import io
import json
import multiprocessing
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import IO

from tests.kit.paths import ROOT, SOURCES

HORNBOOK = "hornbook.cli.main:main"
SCRIPTED = "tests.kit.engine_cli:run"
SCRIPT = "tests.kit.fork_server:script"
ENGINE = "tests.kit.engine_process:run"
PRELOADED = ("tests.kit.engine_cli", "tests.kit.engine_process")
SHARED = "TESTS_FORK_SERVER"
"""The variable by which processes that share a run of tests find one server."""
START_UP = ("PYTHON", "LC_", "LANG")
"""Variables that an interpreter looks at when it starts, which a fork does not."""

SHIM = """\
#!{python} -IS
import json, os, socket, sys
order = {{"arguments": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ),
         "entry": "{entry}", "session": False}}
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect("{address}")
    socket.send_fds(server, [json.dumps(order).encode()], [0, 1, 2])
    server.recv(32)
    code = os.waitstatus_to_exitcode(int(server.recv(32)))
os._exit(code if code >= 0 else 128 - code)
"""


class Fork:
    """A command that runs in a fork."""

    def __init__(
        self,
        arguments: Sequence[str],
        files: tuple[int, int, int],
        *,
        folder: Path,
        environment: Mapping[str, str],
        entry: str = HORNBOOK,
        session: bool = False,
    ) -> None:
        order = {
            "arguments": ["hornbook", *arguments],
            "folder": str(folder),
            "environment": dict(environment),
            "entry": entry,
            "session": session,
        }
        where = address()
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.connect(where)
        socket.send_fds(self._server, [json.dumps(order).encode()], files)
        self.pid = int(self._server.recv(32))
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, or the number of the signal that ended it, below zero."""
        if self.returncode is None:
            if not select.select([self._server], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("hornbook", timeout or 0.0)
            self.returncode = os.waitstatus_to_exitcode(int(self._server.recv(32)))
            self._server.close()
        return self.returncode

    def poll(self) -> int | None:
        """The same, or nothing if it still runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)
        self.wait()


class ForkedProcess(Fork):
    """A command in a fork that is talked with while it runs, as one talks with a `Popen`."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        entry: str = HORNBOOK,
        session: bool = False,
    ) -> None:
        out, told = os.pipe(), os.pipe()
        self.stdout = open(out[0], encoding="utf-8")  # noqa: SIM115, PTH123  # closed with the process
        self.stderr = open(told[0], encoding="utf-8")  # noqa: SIM115, PTH123  # as above
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123
            try:
                super().__init__(
                    arguments,
                    (nothing.fileno(), out[1], told[1]),
                    folder=folder,
                    environment=environment,
                    entry=entry,
                    session=session,
                )
            finally:
                os.close(out[1])
                os.close(told[1])

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """The rest of what it tells, once it has ended."""
        with ThreadPoolExecutor(1) as pool:
            told = pool.submit(self.stderr.read)
            rest = self.stdout.read(), told.result()
        self.wait(timeout)
        self.close()
        return rest

    def close(self) -> None:
        """End it if it still runs, and listen no more."""
        self.kill()
        self.stdout.close()
        self.stderr.close()


def fork_run(
    arguments: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    sent: bytes = b"",
    entry: str = HORNBOOK,
) -> "subprocess.CompletedProcess[bytes]":
    """What a command prints and ends with, as `subprocess.run` has it."""
    with contextlib.ExitStack() as stack:
        given, out, told = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(sent)
        given.seek(0)
        files = (given.fileno(), out.fileno(), told.fileno())
        fork = Fork(arguments, files, folder=folder, environment=environment, entry=entry)
        try:
            code = fork.wait()
        finally:
            fork.kill()
        return subprocess.CompletedProcess(["hornbook", *arguments], code, _all(out), _all(told))


def forkable(environment: Mapping[str, str]) -> bool:
    """Whether a fork does what a fresh interpreter with these variables would do."""
    return not any(name.startswith(START_UP) for name in environment)


def decoded(done: "subprocess.CompletedProcess[bytes]") -> "subprocess.CompletedProcess[str]":
    """The same with text, and the ends of its lines as Python's text files have them."""
    out, told = _text(done.stdout), _text(done.stderr)
    return subprocess.CompletedProcess(done.args, done.returncode, out, told)


def _text(data: bytes) -> str:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8").read()


def _all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


@cache
def own_processes(*modules: str) -> ForkServerContext:
    """Processes that share nothing with this one, and need not import these modules again."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    return context


def shim_folder() -> Path:
    """A folder for `PATH` with a `hornbook` that runs in a fork."""
    return Path(address()).parent


@cache
def address() -> str:
    """Where the server of this run of tests listens; it ends with the process that started it."""
    return os.environ.get(SHARED) or _started()


def _started() -> str:
    folder = Path(tempfile.mkdtemp(prefix="hornbook-forks-"))
    path = str(folder / "orders")
    shim = folder / "hornbook"
    shim.write_text(SHIM.format(python=sys.executable, entry=HORNBOOK, address=path))
    shim.chmod(0o755)
    paths = [str(SOURCES), str(ROOT), os.environ.get("PYTHONPATH", "")]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen(64)
        number = listener.fileno()
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.kit.fork_server", str(number), *PRELOADED],
            pass_fds=[number],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )

    def end() -> None:
        server.communicate()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return path
