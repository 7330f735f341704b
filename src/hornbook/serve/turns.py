"""Whose turn it is: how many requests run at a time, and how many a minute one token has."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from hornbook.serve.problems import Refusal


class Turn:
    """The right to be worked on; a stream gives it up."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._held = True

    def give_up(self) -> None:
        """Let another request in; once is enough."""
        if self._held:
            self._held = False
            self._free.release()


class Turns:
    """Lets some requests in at a time; others wait, and too many are turned away."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._most = at_once + waiting
        self.present = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """Wait for a turn and keep it.

        Raises:
            Refusal: Too many are waiting already.
        """
        if self.present >= self._most:
            raise Refusal(
                503,
                "busy",
                f"{self.present} requests are being worked on or waiting: try again later.",
                headers={"retry-after": "1"},
            )
        self.present += 1
        try:
            await self._free.acquire()
            turn = Turn(self._free)
            try:
                yield turn
            finally:
                turn.give_up()
        finally:
            self.present -= 1


class Rates:
    """Counts requests by caller; each may save up a quarter of a minute's worth."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60
        self._most = max(1.0, per_minute / 4)
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def spend(self, name: str) -> Refusal | None:
        """Count one request; a refusal says when the next one may come."""
        now = self._clock()
        left, since = self._left.get(name, (self._most, now))
        left = min(self._most, left + (now - since) * self._per_second)
        if left < 1:
            seconds = int((1 - left) / self._per_second) + 1
            return Refusal(
                429,
                "rate",
                f"token {name!r} has used up its requests: wait {seconds} s.",
                headers={"retry-after": str(seconds)},
            )
        self._left[name] = (left - 1, now)
        return None
