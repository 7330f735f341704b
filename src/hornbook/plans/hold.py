"""Who works on a plan: one process at a time, and the others are told which."""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hornbook.errors import PlanHeld

HOLDERS = Path("logs", "holders")


@contextmanager
def holding(state: Path, plan: str, doing: str, *, at: str) -> Iterator[None]:
    """Hold a plan for what is being done; within one process it may be nested.

    The lock ends with the process, however that ends.

    Raises:
        PlanHeld: Another process holds it.
    """
    path = state / HOLDERS / f"{plan}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _refuse(plan, _read(handle))
            yield
            return
        ours = {"pid": os.getpid(), "host": socket.gethostname(), "doing": doing, "since": at}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(ours).encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _read(handle: int) -> dict[str, object]:
    try:
        found = json.loads(os.pread(handle, 4096, 0))
    except ValueError:
        return {}  # it has just been taken, or let go
    return found if isinstance(found, dict) else {}


def _refuse(plan: str, holder: dict[str, object]) -> None:
    """Tell who holds the plan, unless that is this process."""
    if (holder.get("pid"), holder.get("host")) == (os.getpid(), socket.gethostname()):
        return
    who = "another process"
    if holder:
        who = (
            f"process {holder.get('pid')} on {holder.get('host')} "
            f"({holder.get('doing')}, since {holder.get('since')})"
        )
    raise PlanHeld(f"plan {plan} is held by {who}: wait until it is done, or end it.")
