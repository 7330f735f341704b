"""Whose turn it is: how many requests run at a time, and how many a minute one token has."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from hornbook.serve.http.problems import HttpRefusal

MOST_NAMES = 10_000


class ConcurrencySlot:
    """The right to be worked on; a stream gives it up."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._held = True

    def release(self) -> None:
        """Let another request in; once is enough."""
        if self._held:
            self._held = False
            self._free.release()


class ConcurrencyLimit:
    """Lets some requests in at a time; others wait, and too many are turned away."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._most = at_once + waiting
        self.in_flight = 0

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Be one of those who are worked on, wait, or have not yet said all that they ask.

        Raises:
            Refusal: There are too many.
        """
        if self.in_flight >= self._most:
            raise HttpRefusal(
                503,
                "busy",
                f"{self.in_flight} requests are being worked on or waiting: try again later.",
                headers={"retry-after": "1"},
            )
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[ConcurrencySlot]:
        """Wait for a turn and keep it."""
        await self._free.acquire()
        slot = ConcurrencySlot(self._free)
        try:
            yield slot
        finally:
            slot.release()


class RateLimit:
    """Counts what callers do; each may save up a quarter of a minute's worth."""

    def __init__(
        self,
        per_minute: int,
        said: str = "token {name!r} has used up its requests",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_second = per_minute / 60
        self._most = max(1.0, per_minute / 4)
        self._said = said
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def spend(self, name: str) -> HttpRefusal | None:
        """Count one request; a refusal says when the next one may come."""
        refusal = self.empty(name)
        if refusal is None:
            if len(self._left) >= MOST_NAMES:
                self._forget()
            self._left[name] = (self._saved(name) - 1, self._clock())
        return refusal

    def empty(self, name: str) -> HttpRefusal | None:
        """The refusal that the next request would meet."""
        left = self._saved(name)
        if left >= 1:
            return None
        seconds = int((1 - left) / self._per_second) + 1
        return HttpRefusal(
            429,
            "rate",
            f"{self._said.format(name=name)}: wait {seconds} s.",
            headers={"retry-after": str(seconds)},
        )

    @property
    def names(self) -> int:
        """How many are remembered."""
        return len(self._left)

    def _saved(self, name: str) -> float:
        now = self._clock()
        left, since = self._left.get(name, (self._most, now))
        return min(self._most, left + (now - since) * self._per_second)

    def _forget(self) -> None:
        """Forget those who have saved up everything again, else who was here longest ago."""
        kept = {name: each for name, each in self._left.items() if self._saved(name) < self._most}
        newest = sorted(kept, key=lambda name: kept[name][1])[-MOST_NAMES // 2 :]
        self._left = {name: kept[name] for name in newest}
