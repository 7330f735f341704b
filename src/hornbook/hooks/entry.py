"""`hornbook hook EVENT`: reads a host's payload on stdin and answers in the host's terms.

Exit 0 with nothing on stdout leaves the decision to the host, JSON on stdout is an answer, and
exit 2 blocks with the reason on stderr. Never 1, which lets the call through, and never `allow`,
which would skip the user's own prompts.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping

from hornbook.errors import HornbookError
from hornbook.hooks.active_file import STATE, Active, load
from hornbook.hooks.host import read_payload, text_of, tool_call
from hornbook.hooks.write_scope import find_root
from hornbook.shell.cheap_tuple import NamedTuple

# ruff: noqa: PLC0415, PTH112, PTH118  # each event loads what it needs: start-up time

EVENTS = (
    "session-start",
    "pre-tool-use",
    "post-tool-use",
    "post-tool-use-failure",
    "pre-compact",
    "post-compact",
    "stop",
)
_NEVER_BLOCK = frozenset({"pre-compact", "post-compact"})
"""A compaction that is blocked leaves a session without room: these never fail with exit 2."""

Payload = dict[str, object]


class HookAnswer(NamedTuple):
    """What the process says: its exit code, stdout and stderr."""

    code: int = 0
    out: str = ""
    err: str = ""


class HookEnvironment(NamedTuple):
    """What an event is answered with, from the outside in."""

    environment: Mapping[str, str]
    folder: str
    root: str | None
    compile_active: Callable[[str], Active]
    checkpoint: Callable[[str], str | None] | None = None
    work_tree: Callable[[str], str | None] | None = None


def run(event: str, around: HookEnvironment) -> int:
    """Answer the event on stdin; the exit code of the process."""
    try:
        data = _stdin()
    except OSError as problem:
        data = b""
        sys.stderr.write(f"hornbook: stdin cannot be read ({problem})\n")
    answer = respond(event, data, around)
    if answer.err:
        _write(2, answer.err)
    if answer.out:
        _write(1, answer.out)
    return answer.code


def respond(event: str, data: bytes, around: HookEnvironment) -> HookAnswer:
    """The answer to an event; any failure of ours is one too."""
    try:
        root = find_root(around.root, dict(around.environment), around.folder)
        return _HANDLERS[event](read_payload(data), root, around)
    except HornbookError as problem:
        told = f"hornbook: {problem}\n"
    except Exception as problem:  # noqa: BLE001  # the outermost line: a guard that fails must block
        told = f"hornbook: {type(problem).__name__}: {problem}\n"
    return HookAnswer(0 if event in _NEVER_BLOCK else 2, err=told)


def _stdin() -> bytes:
    parts = []
    while part := os.read(0, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write(stream: int, text: str) -> None:
    left = text.encode("utf-8", "backslashreplace")
    while left:
        left = left[os.write(stream, left) :]


def _pre_tool_use(payload: Payload, root: str, around: HookEnvironment) -> HookAnswer:
    from hornbook.hooks.guard import judge, role_of

    call = tool_call(payload, around.folder)
    role = role_of(around.environment)
    active = load(root, lambda: around.compile_active(root))
    denial = judge(call, active, role, root)
    if denial is None:
        return HookAnswer()
    from hornbook.hooks import spool

    event = {
        "kind": "guard_denied",
        "tool": call.tool,
        "path": denial.path,
        "rule": denial.rule,
        "tool_use_id": call.use_id,
        "at": spool.now(),
        "session": call.session,
        "role": role,
        "plan": active.plan,
    }
    told = ""
    try:
        spool.append(spool.path_of(root, spool.SPOOL, call.session), event)
    except OSError as problem:
        told = f"hornbook: the denial could not be logged ({problem})\n"
    answer = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": denial.reason,
        }
    }
    return HookAnswer(out=json.dumps(answer) + "\n", err=told)


def _tool_used(
    payload: Payload, root: str, around: HookEnvironment, *, succeeded: bool
) -> HookAnswer:
    from hornbook.hooks import spool
    from hornbook.hooks.spool import entry_of

    call = tool_call(payload, around.folder)
    if os.path.isdir(os.path.join(root, STATE)):
        entry = entry_of(call, payload, root, succeeded=succeeded)
        spool.append(spool.path_of(root, spool.WORK_LOGS, call.session), entry)
    return HookAnswer()


def _post_tool_use(payload: Payload, root: str, around: HookEnvironment) -> HookAnswer:
    return _tool_used(payload, root, around, succeeded=True)


def _post_tool_use_failure(payload: Payload, root: str, around: HookEnvironment) -> HookAnswer:
    return _tool_used(payload, root, around, succeeded=False)


def _pre_compact(payload: Payload, root: str, around: HookEnvironment) -> HookAnswer:
    from hornbook.hooks.session_events import before_compaction

    return HookAnswer(err=before_compaction(payload, root, around.checkpoint))


def _post_compact(payload: Payload, root: str, _around: HookEnvironment) -> HookAnswer:
    from hornbook.hooks.session_events import after_compaction

    after_compaction(payload, root)
    return HookAnswer()


def _session_start(payload: Payload, root: str, _around: HookEnvironment) -> HookAnswer:
    from hornbook.hooks.session_context import session_context

    text_of(payload, "session_id", "")
    return HookAnswer(out=session_context(root))


def _stop(payload: Payload, root: str, around: HookEnvironment) -> HookAnswer:
    from hornbook.hooks.session_events import stop_refusal

    reason = stop_refusal(payload, root, around.work_tree)
    if reason is None:
        return HookAnswer()
    return HookAnswer(out=json.dumps({"decision": "block", "reason": reason}) + "\n")


_HANDLERS: dict[str, Callable[[Payload, str, HookEnvironment], HookAnswer]] = {
    "session-start": _session_start,
    "pre-tool-use": _pre_tool_use,
    "post-tool-use": _post_tool_use,
    "post-tool-use-failure": _post_tool_use_failure,
    "pre-compact": _pre_compact,
    "post-compact": _post_compact,
    "stop": _stop,
}
