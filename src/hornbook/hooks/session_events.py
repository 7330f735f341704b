"""What happens to a session: its conversation is compacted, or its agent wants to stop.

A compaction is noted and never blocked. An agent may not stop while the last gate run for its tree
failed.
"""

import json
import os
from collections.abc import Callable

from hornbook.hooks import spool
from hornbook.hooks.active_file import STATE
from hornbook.hooks.host import text_of

# ruff: noqa: PTH112, PTH118, PTH123  # pathlib costs start-up time

LAST_GATES = os.path.join("logs", "gates", "last.json")
_MOST_NAMES = 10


def before_compaction(
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


def after_compaction(payload: dict[str, object], root: str) -> None:
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


def stop_refusal(
    payload: dict[str, object], root: str, work_tree: Callable[[str], str | None] | None
) -> str | None:
    """Why the agent must go on, None if it may stop. No gate is run here.

    An agent that goes on because it was refused before may stop: it was told, and a person looks.
    A result for another tree says nothing about this one.
    """
    if payload.get("stop_hook_active") is True:
        return None
    try:
        with open(os.path.join(root, STATE, LAST_GATES), "rb") as file:
            last = json.loads(file.read())
    except FileNotFoundError:
        return None
    except ValueError:
        last = None
    if not isinstance(last, dict) or not isinstance(last.get("passed"), bool):
        return f"{STATE}/{LAST_GATES} cannot be read: run `hornbook gates run` again."
    if last["passed"] or not _is_this_tree(last, root, work_tree):
        return None
    names = _failed(last.get("gates"))
    return f"The last gate run for this tree failed{names}: mend that and run `hornbook gates run`."


def _is_this_tree(
    last: dict[str, object], root: str, work_tree: Callable[[str], str | None] | None
) -> bool:
    """Whether the gates ran on these files; a result without a tree is taken to be for them.

    One with a tree but no fingerprint is that of a commit, which was run in a copy.
    """
    if not isinstance(last.get("tree"), str) or work_tree is None:
        return True
    now = work_tree(root)
    return now is None or now == last.get("fingerprint")


def _failed(gates: object) -> str:
    """The first names of the gates that failed, in brackets."""
    listed = gates if isinstance(gates, list) else []
    names = [
        str(gate.get("name"))
        for gate in listed
        if isinstance(gate, dict) and gate.get("status") in {"failed", "refused"}
    ]
    return f" ({', '.join(names[:_MOST_NAMES])})" if names else ""
