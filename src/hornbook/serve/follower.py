"""Follows what happens in runs: events from the log, each with the place to go on from."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from hornbook.plans.events import Event

if TYPE_CHECKING:  # it loads SQLAlchemy, which a query in process need not wait for
    from hornbook.loop.runs.book import RunBook
    from hornbook.loop.runs.log import Followed

LOOK_EVERY = 0.25
READERS = 2
T = TypeVar("T")


class Follower:
    """Reads the log for all streams of a server, in threads of its own."""

    def __init__(self, runs: "RunBook", closing: asyncio.Event) -> None:
        self._runs = runs
        self._closing = closing
        self._pool = ThreadPoolExecutor(READERS, "events")

    async def named(self, name: str) -> "Followed":
        """What an id names: a run, or a plan as `plan.<slug>`.

        Raises:
            NotFound: It names neither.
        """
        return await self._read(lambda: self._runs.follow(name))

    async def events(self, followed: "Followed", after: int = 0) -> AsyncIterator[Event]:
        """The events behind a number of the plan's log, and later ones; a run's end is the last."""
        last = after
        while not self._closing.is_set() and not followed.is_over(last):
            for event in await self._read(partial(self._runs.later, followed, last)):
                last = event.seq
                yield event
                if followed.is_ended_by(event):
                    return
            try:
                await asyncio.wait_for(self._closing.wait(), LOOK_EVERY)
            except TimeoutError:
                continue

    async def _read(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, question)

    def close(self) -> None:
        """Read no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._runs.close()
