"""Waiting for what happens elsewhere, however slow the machine is."""

import time
from collections.abc import Callable
from typing import TypeVar

SAFETY = 600.0
"""Seconds after which whatever is waited for surely never comes: only a hang takes so long."""


T = TypeVar("T")


def until(happened: Callable[[], T | None], what: str, *, every: float = 0.02) -> T:
    """What is there, as soon as it is; `what` says what was waited for in vain."""
    end = time.monotonic() + SAFETY
    while not (found := happened()):
        assert time.monotonic() < end, f"waited in vain for: {what}"
        time.sleep(every)
    return found
