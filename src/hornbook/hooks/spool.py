"""Appends what hooks see to files below `.hornbook/`, one line and one write each.

The service picks the spool up later: no hook waits for it, and none fails because it is away.
"""

import json
import os
import time
from collections.abc import Mapping

from hornbook.hooks.active_file import STATE
from hornbook.hooks.host import ToolCall
from hornbook.hooks.write_scope import places

# ruff: noqa: PTH103, PTH118, PTH120, PTH123  # pathlib costs start-up time

SPOOL = "spool"
WORK_LOGS = os.path.join("logs", "sessions")
LONGEST_FIELD = 1000


def now() -> str:
    """The time in UTC, ISO 8601 with milliseconds."""
    seconds = time.time()
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        + f".{int(seconds % 1 * 1000):03d}Z"
    )


def path_of(root: str, folder: str, session: str) -> str:
    """The file of a session; an id that is no plain name is hashed."""
    name = session if _is_plain(session) else _hashed(session)
    return os.path.join(root, STATE, folder, f"{name}.jsonl")


def _is_plain(session: str) -> bool:
    marks_aside = session.replace("-", "").replace("_", "")
    return len(session) <= 80 and marks_aside.isalnum() and session.isascii() and session[0] != "-"


def _hashed(session: str) -> str:
    from hashlib import sha256  # noqa: PLC0415  # hosts send plain ids: start-up time

    digest = sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"session-{digest}" if session else "no-session"


def append(path: str, event: Mapping[str, object]) -> None:
    """Append one event as a line of JSON, in a single write.

    Raises:
        OSError: The file cannot be written.
    """
    bounded = {
        key: value[:LONGEST_FIELD] if isinstance(value, str) else value
        for key, value in event.items()
    }
    line = (json.dumps(bounded, sort_keys=True) + "\n").encode("ascii")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        written = os.write(handle, line)
    finally:
        os.close(handle)
    if written != len(line):
        raise OSError(f"{path}: only {written} of {len(line)} bytes were written")


def last_event(path: str) -> dict[str, object]:
    """The newest event of a file, {} if there is none that can be read."""
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
        found = json.loads(lines[-1])
    except (OSError, IndexError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


_PATHS = ("file_path", "notebook_path", "path")
_MOST_PROGRAMS = 20


def entry_of(
    call: ToolCall, payload: dict[str, object], root: str, *, succeeded: bool
) -> dict[str, object]:
    """One line of the work log; of a command only the names of its programs are kept."""
    duration = payload.get("duration_ms")
    interrupted = payload.get("is_interrupt")
    return {
        "kind": "tool_used",
        "tool": call.tool,
        "target": _target(call, root),
        "outcome": "ok" if succeeded else "interrupted" if interrupted is True else "failed",
        "duration_ms": duration if isinstance(duration, int | float) else None,
        "tool_use_id": call.use_id,
        "at": now(),
        "session": call.session,
    }


def _target(call: ToolCall, root: str) -> str | None:
    command = call.given.get("command")
    if isinstance(command, str):
        return " ".join(_programs(command))
    for key in _PATHS:
        path = call.given.get(key)
        if isinstance(path, str) and path and "\0" not in path:
            found = places(os.path.join(call.folder, path), root)[0]
            return found.absolute if found.inside is None else found.inside
    return None


def _programs(command: str) -> list[str]:
    """The programs that a command line runs: arguments may hold what nobody should keep."""
    # Only the work log needs the shell's syntax, a denial does not.
    from hornbook.shell.guard.syntax import Command, ShellSyntax, literal, read  # noqa: PLC0415  # most calls hold no command

    try:
        items = read(command)
    except (ShellSyntax, RecursionError):
        return []
    commands = [each for each in items if isinstance(each, Command) and each.words]
    names = (literal(each.words[0]) or "…" for each in commands)
    return list(names)[:_MOST_PROGRAMS]
