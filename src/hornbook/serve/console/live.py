"""What happens, told to every browser that looks: new versions of the graph, runs that go on.

However many look, the log is read once: one task looks at it while anybody is there, and hands what
it found to all. It tells only that something happened; a page asks again for what it shows.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

from fastapi import APIRouter, Request, Response
from starlette.types import Receive, Scope, Send

from hornbook.errors import HornbookError
from hornbook.loop.runs.run_book import RunBook
from hornbook.serve.graph_updates import GraphUpdates
from hornbook.serve.http.logs import log
from hornbook.serve.http.request import request_context_of
from hornbook.serve.http.response import as_json, frame, send_events

LOOK_EVERY = 0.4
MOST_WAITING = 200
"""Messages that a slow browser may have before it; it is cut off then, and comes back."""

Message = dict[str, object]


class LiveFeed:
    """Looks at the log for all who follow, and at nothing while nobody does."""

    def __init__(self, updates: GraphUpdates) -> None:
        self.updates = updates
        with updates.leases.workspace() as work:
            self._look = _Look(work.run_book())
        self._pool = ThreadPoolExecutor(1, "live")
        self._followers: set[asyncio.Queue[Message | None]] = set()
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        self._follows = asyncio.Event()
        """Whether what happens from now on is told: what was known before is read by then."""

    async def messages(self) -> AsyncIterator[Message]:
        """What happens from now on, until the server stops; the first says that now is.

        A page that is asked for again when it is told `open` misses nothing.
        """
        waiting: asyncio.Queue[Message | None] = asyncio.Queue(MOST_WAITING)
        self._followers.add(waiting)
        if not self._tasks:
            self._tasks = (
                asyncio.create_task(self._follow_log()),
                asyncio.create_task(self._follow_graph()),
            )
        try:
            await self._follows.wait()
            yield {"kind": "open"}
            while (message := await waiting.get()) is not None:
                yield message
        finally:
            self._followers.discard(waiting)
            if not self._followers:
                await self._rest()

    async def _rest(self) -> None:
        tasks, self._tasks = self._tasks, ()
        self._follows.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _tell(self, message: Message | None) -> None:
        for waiting in tuple(self._followers):
            try:
                waiting.put_nowait(message)
            except asyncio.QueueFull:
                self._followers.discard(waiting)
                waiting.get_nowait()
                waiting.put_nowait(None)

    async def _follow_log(self) -> None:
        loop = asyncio.get_running_loop()
        closing = self.updates.closing
        await loop.run_in_executor(self._pool, self._look.begin)
        self._follows.set()
        while not closing.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(closing.wait(), LOOK_EVERY)
            for message in await loop.run_in_executor(self._pool, self._look.news):
                self._tell(message)
        self._tell(None)

    async def _follow_graph(self) -> None:
        async for version in self.updates.versions():
            self._tell({"kind": "graph", "version": version.version})

    def close(self) -> None:
        """Look no more."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._look.close()


class _Look:
    """What the log had when it was last looked at."""

    def __init__(self, runs: RunBook) -> None:
        self._runs = runs
        self._heads: dict[str, int] = {}
        self._printed: dict[str, dict[str, int]] = {}
        self._failed = ""

    def begin(self) -> None:
        """Take what is there as known."""
        self.news()

    def news(self) -> list[Message]:
        """What happened since the last look; nothing where the log cannot be read just now."""
        try:
            found = self._found()
        except HornbookError as problem:
            if str(problem) != self._failed:
                self._failed = str(problem)
                log.warning("the log cannot be followed", extra={"facts": {"error": self._failed}})
            return []
        self._failed = ""
        return found

    def _found(self) -> list[Message]:
        heads = self._runs.heads()
        changed = [plan for plan, seq in heads.items() if self._heads.get(plan) != seq]
        found: list[Message] = []
        for plan in changed:
            found += self._events(plan, self._heads.get(plan, 0))
        for plan in {*changed, *(each for each, runs in self._printed.items() if runs)}:
            before, now = self._printed.get(plan, {}), self._runs.printed(plan)
            found += [
                {"kind": "log", "run": run, "plan": plan}
                for run, size in now.items()
                if run in before and before[run] != size
            ]
            self._printed[plan] = now
        self._heads = heads
        return found

    def _events(self, plan: str, seq: int) -> list[Message]:
        """One message for each run of a plan that something happened in."""
        from hornbook.loop.runs.log import Followed  # noqa: PLC0415  # start-up: SQLAlchemy

        if not self._heads:
            return []
        newest = {event.data.get("run"): event for event in self._runs.later(Followed(plan), seq)}
        return [
            {"kind": "run", "run": run, "plan": plan, "seq": event.seq, "what": event.kind}
            for run, event in newest.items()
        ]

    def close(self) -> None:
        """Let go of the log."""
        self._runs.close()


router = APIRouter(include_in_schema=False)


@router.get("/live")
async def live(request: Request) -> Response:
    """The stream that the tabs of a browser share."""
    feed: LiveFeed = request.app.state.console.live
    return _Stream(feed)


class _Stream(Response):
    """A stream of messages; it counts as one of the server's streams."""

    def __init__(self, feed: LiveFeed) -> None:
        super().__init__()
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._feed.updates.stream():
            request_context = request_context_of(scope)
            request_context.become_stream()
            until = request_context.taken_back
            await send_events(self._frames(), receive, send, until=until)

    async def _frames(self) -> AsyncIterator[bytes]:
        messages = self._feed.messages()
        try:
            async for message in messages:
                yield frame(as_json(message))
        finally:
            await messages.aclose()  # type: ignore[attr-defined]  # an async generator has it
