"""Whether an agent may stop: not while the last gate run for this tree failed."""

import json
import os
from collections.abc import Callable

from hornbook.hooks.active_file import STATE

# ruff: noqa: PTH118, PTH123  # pathlib costs start-up time

LAST_GATES = os.path.join("logs", "gates", "last.json")
_MOST_NAMES = 10


def refusal(
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
