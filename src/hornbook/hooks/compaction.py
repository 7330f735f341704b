"""Before and after a host compacts its conversation: what was done is kept, nothing is blocked."""

import os
from collections.abc import Callable

from hornbook.hooks import spool
from hornbook.hooks.active_file import STATE
from hornbook.hooks.host import text_of

# ruff: noqa: PTH112, PTH118  # pathlib costs start-up time


def before(
    payload: dict[str, object], root: str, checkpoint: Callable[[str], str | None] | None
) -> str:
    """Write a checkpoint of the active plan and note the compaction; what went wrong, in words.

    It never raises because of the checkpoint: a compaction that is stopped leaves a session
    without room. Called again without anything in between, it notes nothing anew.
    """
    if not os.path.isdir(os.path.join(root, STATE)):
        return ""
    told = ""
    if checkpoint is not None:
        try:
            said = checkpoint(root)
            told = f"hornbook: {said}\n" if said else ""
        except Exception as problem:  # noqa: BLE001  # told, logged, and never in the way
            told = f"hornbook: no checkpoint was written ({problem})\n"
    _note("pre_compact", payload, root, failed=told.strip() or None)
    return told


def after(payload: dict[str, object], root: str) -> None:
    """Note that the conversation was compacted, and how long the summary is."""
    if os.path.isdir(os.path.join(root, STATE)):
        _note("post_compact", payload, root, failed=None)


def _note(kind: str, payload: dict[str, object], root: str, *, failed: str | None) -> None:
    session = text_of(payload, "session_id", "")
    path = spool.path_of(root, spool.SPOOL, session)
    summary = payload.get("compact_summary")
    event: dict[str, object] = {
        "kind": kind,
        "trigger": text_of(payload, "trigger", "auto"),
        "summary_characters": len(summary) if isinstance(summary, str) else None,
        "failed": failed,
        "session": session,
    }
    newest = spool.last_event(path)
    newest.pop("at", None)
    if newest != event:
        spool.append(path, {**event, "at": spool.now()})
