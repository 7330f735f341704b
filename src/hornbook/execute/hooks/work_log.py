"""The work log of a session: which tool did what to which file, and never what was in it."""

import os

from hornbook.execute.hooks.paths import places
from hornbook.execute.hooks.payload import ToolCall
from hornbook.execute.hooks.shell_syntax import Command, ShellSyntax, literal, read
from hornbook.execute.hooks.spool import now

# ruff: noqa: PTH118  # pathlib costs start-up time

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
    try:
        items = read(command)
    except (ShellSyntax, RecursionError):
        return []
    commands = [each for each in items if isinstance(each, Command) and each.words]
    names = (literal(each.words[0]) or "…" for each in commands)
    return list(names)[:_MOST_PROGRAMS]
