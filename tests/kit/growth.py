"""How the time that a text takes grows with the text: no number of seconds is right everywhere."""

import time
from collections.abc import Callable
from typing import TypeVar

Text = TypeVar("Text", str, bytes)
Result = TypeVar("Result")

PART = 8
STEEPEST = 4 * PART
"""A text that is eight times as long takes eight times the time, and not sixty-four times."""

NOTHING = 0.5
"""Seconds of processor time below which nobody asks how they grow."""


def in_proportion(work: Callable[[Text], Result], text: Text) -> Result:
    """What the work gives for a text, if an eighth of it takes its part of the time.

    The eighth is its beginning and its end: what stands at the end may be what makes all before it
    costly.

    A machine that is disturbed for a moment gets two more tries.
    """
    for _ in range(3):
        whole, result = _timed(work, text)
        if whole < NOTHING:
            return result
        half = len(text) // PART // 2
        small, _ = _timed(work, text[:half] + text[-half:])
        if whole < STEEPEST * small:
            return result
    raise AssertionError(f"an eighth of the text takes {small:.2f} s, all of it {whole:.2f} s")


def _timed(work: Callable[[Text], Result], text: Text) -> tuple[float, Result]:
    started = time.process_time()
    result = work(text)
    return time.process_time() - started, result
