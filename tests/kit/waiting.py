"""Waiting for what happens elsewhere, however slow the machine is."""

import time
from collections.abc import Callable

SAFETY = 600.0
"""Seconds after which whatever is waited for surely never comes: only a hang takes so long."""


def until(happened: Callable[[], object], what: str, *, every: float = 0.02) -> None:
    """Wait until it has happened; `what` says what was waited for in vain."""
    end = time.monotonic() + SAFETY
    while not happened():
        assert time.monotonic() < end, f"waited in vain for: {what}"
        time.sleep(every)
