"""Commands of `hornbook` in processes of their own, which kill themselves at one of their effects.

`python -m tests.kit.kill_process` reads one order a line (JSON) and forks for each, so that everything is
imported only once. An effect is what a kill can come before or into: a transaction that wrote
something is committed, an event is exported, a file is written, renamed or removed, git writes,
a gate is run. Each is a line in a ledger that all processes of a workspace share. An order names
an effect and how often it must have come. The hooks are here alone; the product knows nothing of
them.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sql

import hornbook.cli.app
import hornbook.cli.commands.execute
import hornbook.cli.commands.plans
import hornbook.cli.commands.runs
import hornbook.loop.engine.plan_engine  # so that no forked process has to
from hornbook.plans import log
from hornbook.plans.databases.database import Row, SqliteTransaction
from hornbook.plans.log import EventLog
from tests.kit.kill_cases import ANY

BEFORE, INSIDE = "before", "inside"
WRITING_GIT = frozenset(
    {
        "add",
        "commit-tree",
        "merge-tree",
        "read-tree",
        "update-ref",
        "worktree",
        "write-tree",
    }
)
QUIET_THREADS = ("hornbook-keeper",)
"""Whose effects come by the clock, and so are no part of a story."""
SCHEMA = ("CREATE", "ALTER", "DROP")
WRITES = ("INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP")
PATIENCE = 240.0
TOO_LATE = 124
INDOORS = 0.006
"""Up to so many seconds a program that is killed with us may have run."""


@dataclass
class Ledger:
    """Counts the effects of this process behind those of earlier ones; kills it at one of them.

    By the name `ANY` it is the first from a number on that the process can be killed at.
    """

    path: Path
    name: str
    left: int
    how: str
    places: tuple[str, ...]
    here: threading.local = field(default_factory=threading.local)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.path.touch()
        earlier = self.path.read_text().splitlines()
        self.left -= len(earlier) if self.name == ANY else earlier.count(self.name)

    def effect(self, name: str, inside: Callable[[], None] | None = None) -> bool:
        """Note an effect that comes now; whether this is the one to be killed inside of."""
        if threading.current_thread().name in QUIET_THREADS:
            return False
        with self.lock:
            meant = self.name in {name, ANY}
            self.left -= meant
            chosen = meant and (self.left == 0 or (self.left < 0 and self.name == ANY))
            with self.path.open("a") as file:
                file.write(f"{name}\n")
        if not chosen:
            return False
        if self.how == INSIDE and inside is not None:
            inside()
        if self.how == BEFORE or inside is not None:
            die()
        return True

    def concerns(self, path: object) -> bool:
        """Whether a file is of the workspace or of the temporary folder, and no mere lock."""
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100  # it need not exist
        if name.endswith(("-lock", "/.lock")) or name == str(self.path):
            return False
        return name.startswith(self.places)

    def short(self, path: object) -> str:
        """A path without what differs from run to run."""
        name = os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]  # noqa: PTH100
        for place, called in zip(self.places, ("", "tmp/"), strict=True):
            if name.startswith(f"{place}/"):
                name = called + name.removeprefix(f"{place}/")
        parts = ["…" if _is_hash(part) else part for part in name.split("/")]
        return _OF_A_PROCESS.sub("", "/".join(parts))


_OF_A_PROCESS = re.compile(r"(?<=[.-])\d+-(\w+)(?=$|/|\.draft)")
"""What a name of a draft or of a temporary folder says of its process."""


def _is_hash(part: str) -> bool:
    stem = part.partition(".")[0]
    return len(stem) >= 12 and all(letter in "0123456789abcdef" for letter in stem)


def die() -> None:
    """Kill this process as nothing else can."""
    os.kill(os.getpid(), signal.SIGKILL)


def install(ledger: Ledger) -> None:
    """Watch everything that this process does to the world."""
    _watch_databases(ledger)
    _watch_exports(ledger)
    _watch_programs(ledger)
    sys.addaudithook(lambda event, details: _audited(ledger, event, details))


def _watch_databases(ledger: Ledger) -> None:
    def executed(connection: sql.Connection, _cursor: object, text: str, *_more: object) -> None:
        words = text.split(None, 3)
        if words and words[0].upper() in WRITES:
            connection.info.setdefault("written", []).append(" ".join(words[:3]))
        if words and words[0].upper() in SCHEMA:
            ledger.effect(f"schema {' '.join(words[:3])}")

    def committed(connection: sql.Connection) -> None:
        written = connection.info.pop("written", None)
        if written:
            ledger.effect(f"commit {written[0]} {getattr(ledger.here, 'kind', '')}".rstrip())

    def undone(connection: sql.Connection) -> None:
        connection.info.pop("written", None)

    _watch_events(ledger)
    sql.event.listen(sql.Engine, "before_cursor_execute", executed)
    sql.event.listen(sql.Engine, "commit", committed)
    sql.event.listen(sql.Engine, "rollback", undone)


def _watch_events(ledger: Ledger) -> None:
    """The same of the events, which reach SQLite without SQLAlchemy."""
    execute, commit = SqliteTransaction.execute, SqliteTransaction.commit
    written: dict[int, str] = {}

    def executed(self: SqliteTransaction, statement: str, *values: object) -> list[Row]:
        words = statement.split(None, 3)
        if words[0].upper() in WRITES:
            written.setdefault(id(self), " ".join(words[:3]))
        if words[0].upper() in SCHEMA:
            ledger.effect(f"schema {' '.join(words[:3])}")
        return execute(self, statement, *values)

    def committed(self: SqliteTransaction) -> None:
        said = written.pop(id(self), None)
        if said:
            ledger.effect(f"commit {said} {getattr(ledger.here, 'kind', '')}".rstrip())
        commit(self)

    SqliteTransaction.execute = executed  # type: ignore[method-assign]  # to see what is done
    SqliteTransaction.commit = committed  # type: ignore[method-assign]


def _watch_exports(ledger: Ledger) -> None:
    whole, append = log._extend, EventLog._append  # what is torn in the middle

    def extend(path: Path, data: bytes) -> None:
        if data:
            ledger.effect("export", lambda: whole(path, data[: len(data) // 2]))
        ledger.here.busy = True
        try:
            whole(path, data)
        finally:
            ledger.here.busy = False

    def appended(self: EventLog, plan: str, kind: str, *rest: Any, **named: Any) -> Any:
        ledger.here.kind = kind
        try:
            return append(self, plan, kind, *rest, **named)
        finally:
            del ledger.here.kind

    log._extend = extend  # as above
    EventLog._append = appended  # type: ignore[method-assign]  # as above


def _watch_programs(ledger: Ledger) -> None:
    begin = subprocess.Popen.__init__

    def begun(self: "subprocess.Popen[Any]", args: Any, *rest: Any, **named: Any) -> None:
        name = _program(args)
        inside = False
        if name is not None:
            inside = ledger.effect(name)
        ledger.here.busy = True
        try:
            begin(self, args, *rest, **named)
        finally:
            ledger.here.busy = False
        if inside:
            _run_a_little(self, len(ledger.path.read_bytes()))
            if name is not None and name.startswith("git"):
                self.kill()
            die()

    subprocess.Popen.__init__ = begun  # type: ignore[method-assign]  # for this process


def _program(args: object) -> str | None:
    """What a program that writes is called; None for one that only reads."""
    words = [os.fspath(each) for each in args] if isinstance(args, Sequence) else []
    if not words or isinstance(args, str):
        return None
    if Path(words[0]).name != "git":
        return f"run {Path(words[-1].split()[0]).name}" if words[-1].split() else None
    rest = iter(words[1:])
    for word in rest:
        if word in {"-c", "-C"}:
            next(rest)
        elif not word.startswith("-"):
            return f"git {word}" if word in WRITING_GIT and "list" not in words else None
    return None


def _run_a_little(program: "subprocess.Popen[Any]", number: int) -> None:
    """Let a program run for a while that the number of its effect decides."""
    until = time.monotonic() + INDOORS * (number % 7) / 6
    while time.monotonic() < until and program.poll() is None:
        pass


_OPENS_TO_WRITE = os.O_WRONLY | os.O_RDWR


def _audited(ledger: Ledger, event: str, details: tuple[Any, ...]) -> None:
    if getattr(ledger.here, "busy", False):
        return
    if event == "open":
        path, _mode, flags = details
        if not (flags or 0) & _OPENS_TO_WRITE or not ledger.concerns(path) or _is_folder(path):
            return
        kept = os.fsdecode(path)
        ledger.here.busy = True
        try:
            ledger.effect(f"write {ledger.short(path)}", lambda: _open_only(kept, flags))
        finally:
            ledger.here.busy = False
    elif event in {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.symlink", "os.link"}:
        path = details[0] if event != "os.rename" else details[1]
        if not ledger.concerns(path) or _changes_nothing(event, path):
            return
        ledger.here.busy = True
        try:
            ledger.effect(f"{event.removeprefix('os.')} {ledger.short(path)}")
        finally:
            ledger.here.busy = False


def _is_folder(path: str) -> bool:
    return Path(os.fsdecode(path)).is_dir()


def _changes_nothing(event: str, path: str) -> bool:
    if event == "os.mkdir":
        return _is_folder(path)
    return event in {"os.remove", "os.rmdir"} and not os.path.lexists(path)


def _open_only(path: str, flags: int) -> None:
    with contextlib.suppress(OSError):
        os.close(os.open(path, flags, 0o644))


def _obey(order: dict[str, Any]) -> None:
    """Do what an order says, in a process of its own."""
    os.setsid()
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.environ.update(order["environment"])
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(file, number)
        os.close(file)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    import tempfile

    tempfile.tempdir = order["environment"]["TMPDIR"]
    places = (order["root"], order["environment"]["TMPDIR"])
    wanted = (order["name"], order["times"], order["how"])
    install(Ledger(Path(order["ledger"]), *wanted, places))
    sys.argv = ["hornbook", "--root", order["root"], *order["arguments"]]
    code = 0
    try:
        hornbook.cli.app.run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  # the outermost line of this process
        traceback.print_exc()
        code = 70
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Fork for each order, and tell how that process ended."""
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _obey(order)
        sys.stdout.write(f"{_awaited(child)}\n")
        sys.stdout.flush()


def _awaited(child: int) -> int:
    """How a process ended; one that does not end in time is ended."""
    late: list[bool] = []

    def too_late(_number: int, _frame: object) -> None:
        late.append(True)
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    _, status = os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return TOO_LATE if late else os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()
