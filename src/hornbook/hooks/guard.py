"""Judges a call of a tool before it is made: the role's tools, and the files it would write."""

import os
from collections.abc import Mapping

from hornbook.errors import UsageError
from hornbook.hooks.active_file import Active
from hornbook.hooks.host import DEFAULT_TOOLS, EDITING, READS_ONLY, RUNS_COMMANDS, ToolCall
from hornbook.hooks.write_scope import Denial, WriteScope

# ruff: noqa: PTH111, PTH118  # pathlib costs start-up time

_OTHER_PATHS = ("file_path", "notebook_path", "path", "destination", "target_file")


def role_of(environment: Mapping[str, str]) -> str:
    """The role that `HORNBOOK_ROLE` names, developer if it is not set.

    Raises:
        UsageError: There is no such role.
    """
    role = environment.get("HORNBOOK_ROLE") or "developer"
    if role not in DEFAULT_TOOLS:
        known = ", ".join(DEFAULT_TOOLS)
        raise UsageError(f"HORNBOOK_ROLE is {role!r}: no such role, known are {known}.")
    return role


def judge(call: ToolCall, active: Active, role: str, root: str) -> Denial | None:
    """The denial of the call, None to leave the decision to the host.

    Raises:
        UsageError: The call lacks what it is judged by.
    """
    scope = WriteScope(root, active, role)
    if active.plan is not None:
        denial = _judge_tool(call, scope)
        if denial is not None:
            return denial
    if call.tool in RUNS_COMMANDS:
        return _judge_command(_text(call, "command"), call.folder, scope)
    if call.tool in EDITING:
        return scope.judge(_absolute(_text(call, EDITING[call.tool]), call.folder))
    if call.tool in READS_ONLY or active.plan is None:
        return None
    return _judge_other(call, scope)


def _judge_tool(call: ToolCall, scope: WriteScope) -> Denial | None:
    """The denial of a tool that the role does not have."""
    if scope.read_only and call.tool in EDITING:
        path = call.given.get(EDITING[call.tool])
        shown = path if isinstance(path, str) else None
        reason = (
            f"The {scope.role} is read-only and would {call.tool} {shown or 'a file'}: "
            "report what should change instead."
        )
        return Denial("read_only", shown, reason)
    listed = scope.active.tools.get(scope.role)
    if listed is not None and (listed.names(call.tool) or listed.fitting(call.tool) is not None):
        return None
    reason = (
        f"The tool {call.tool} is not on the list of the {scope.role}: use another, or ask a "
        f"person to add it to `guard.tools` in .hornbook/config.yaml."
    )
    return Denial("tool_not_listed", None, reason)


def _judge_other(call: ToolCall, scope: WriteScope) -> Denial | None:
    """The denial of a tool that a team put on its list, by the paths and command it names."""
    for key in _OTHER_PATHS:
        path = call.given.get(key)
        if isinstance(path, str) and path:
            denial = scope.judge(_absolute(path, call.folder))
            if denial is not None:
                return denial
    command = call.given.get("command")
    return _judge_command(command, call.folder, scope) if isinstance(command, str) else None


def _text(call: ToolCall, key: str) -> str:
    value = call.given.get(key)
    if not isinstance(value, str) or not value:
        raise UsageError(f"`tool_input.{key}` of {call.tool} is no text: it cannot be judged.")
    return value


def _absolute(path: str, folder: str) -> str:
    return os.path.join(folder, os.path.expanduser(path))


def _judge_command(command: str, folder: str, scope: WriteScope) -> Denial | None:
    # Only a command needs the shell's syntax: other tools start without it.
    from hornbook.hooks.command_judge import judge_command  # noqa: PLC0415  # most calls hold no command

    return judge_command(command, folder, scope)
