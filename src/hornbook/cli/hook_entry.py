"""Answers a hook of an agent host; standard library only until a plan must be compiled."""

import os
import sys

from hornbook.hooks.active import Active
from hornbook.hooks.entry import EVENTS, HookEnvironment, run


def answer(event: str, root: str | None) -> int:
    """Answer the event on stdin; the exit code, which is never 1."""
    if event not in EVENTS:
        sys.stderr.write(f"hornbook: no hook {event!r}: known are {', '.join(EVENTS)}.\n")
        return 2
    return run(
        event, HookEnvironment(os.environ, _folder(), root, _compile, _checkpoint, _work_tree)
    )


def _folder() -> str:
    return os.getcwd()  # noqa: PTH109  # pathlib costs start-up time


def _compile(root: str) -> Active:
    from pathlib import Path

    from hornbook.hooks.compiler import compile_guard

    return compile_guard(Path(root))


def _checkpoint(root: str) -> str | None:
    """Checkpoint the active plan, if there is one; what was not as it should be, in words."""
    from pathlib import Path

    from hornbook.gates.definitions import check_gates
    from hornbook.loop.memory import Memory
    from hornbook.plans.active import active_plan
    from hornbook.settings.layout import Places
    from hornbook.settings.load import load

    places = Places(Path(root))
    if active_plan(places.state) is None:
        return None
    done = Memory(places, load(places.root, check_gates)).checkpoint(automatic=True)
    found = [f"{each}; it is in quarantine" for each in done.violations]
    found += [f"{path} was edited and left as it is" for path in done.left]
    return f"checkpoint of plan {done.plan}: {'; '.join(found)}" if found else None


def _work_tree(root: str) -> str | None:
    from pathlib import Path

    from hornbook.commits.seal import fingerprint

    return fingerprint(Path(root))
