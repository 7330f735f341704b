"""What the server does beside answering: ingests on request, and tells of new versions."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hornbook.errors import Busy
from hornbook.graph.ingest.report import IngestReport, Progress
from hornbook.graph.repository import silent
from hornbook.plans.events import Event
from hornbook.plans.log import LogMemory
from hornbook.serve.answers import GraphVersion
from hornbook.serve.http.problems import HttpRefusal, without_root
from hornbook.serve.leases import Leases
from hornbook.serve.paths import inside
from hornbook.workspace import Workspace

if TYPE_CHECKING:  # it loads SQLAlchemy, which a query in process need not wait for
    from hornbook.loop.runs.log import Followed
    from hornbook.loop.runs.overview import StoppedRun
    from hornbook.loop.runs.run_book import RunBook

FOLLOW_EVERY = 0.25
READERS = 2
LOOKS, LOOK_SECONDS = 100, 0.1
"""How often, and how far apart, the end of another replay is looked for."""
T = TypeVar("T")


class Follower:
    """Reads the log for all streams of a server, in threads of its own."""

    def __init__(self, runs: "RunBook", closing: asyncio.Event) -> None:
        self._closing = closing
        self.book = runs
        """The log, opened once for the server: what it holds is as new as if opened now."""
        self._pool = ThreadPoolExecutor(READERS, "events")

    async def named(self, name: str) -> "Followed":
        """What an id names: a run, or a plan as `plan.<slug>`.

        Raises:
            NotFound: It names neither.
        """
        return await self._read(lambda: self.book.follow(name))

    async def events(self, followed: "Followed", after: int = 0) -> AsyncIterator[Event]:
        """The events behind a number of the plan's log, and later ones; a run's end is the last."""
        last = after
        while not self._closing.is_set() and not followed.is_over(last):
            for event in await self._read(partial(self.book.later, followed, last)):
                last = event.seq
                yield event
                if followed.is_ended_by(event):
                    return
            try:
                await asyncio.wait_for(self._closing.wait(), FOLLOW_EVERY)
            except TimeoutError:
                continue

    async def _read(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, question)

    def close(self) -> None:
        """Read no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.book.close()


if TYPE_CHECKING:  # they load agents, gates and Prometheus, which a query in process does without
    from hornbook.loop.engine.background_runs import Executions
    from hornbook.loop.runs.overview import GivenAnswer, RunLine
    from hornbook.plans.principal import Principal
    from hornbook.serve.http.metrics import Metrics

LOOK_EVERY = 0.2


def ingest(root: Path, paths: Sequence[str] = (), progress: Progress = silent) -> IngestReport:
    """Read documents into the graph, in a workspace of its own: readers keep theirs.

    Raises:
        UsageError: A path leads out of the root.
    """
    with Workspace.open(root) as work:
        return work.ingest([root / path for path in inside(root, paths)], progress=progress)


class GraphUpdates:
    """Lets one request at a time ingest, has plans executed, and keeps count of streams."""

    def __init__(
        self, leases: Leases, metrics: "Metrics", executions: "Executions", most_streams: int
    ) -> None:
        self.leases = leases
        self.executions = executions
        self.root = leases.root
        self.redact = without_root(leases.root)
        """How messages are put to those who ask from elsewhere."""
        self.closing = asyncio.Event()
        self.logs = LogMemory()
        """What was verified of logs, so that a page of the audit does not verify them anew."""
        self._metrics = metrics
        self._most_streams = most_streams
        self._streams = 0
        self._asked = threading.Lock()
        self._next = threading.Lock()
        self._ingesting = threading.Lock()
        self._replaying = threading.Lock()
        with leases.workspace() as work:
            self.follower = Follower(work.run_book(), self.closing)

    def ingest(self, paths: Sequence[str] = ()) -> IngestReport:
        """Read documents into the graph because somebody asks for it.

        Raises:
            Busy: Somebody else asked before, and that is not done.
        """
        if not self._asked.acquire(blocking=False):
            raise Busy("this server is ingesting already: ask again when it is done.")
        try:
            return self.ingest_in_turn(paths)
        finally:
            self._asked.release()

    def ingest_in_turn(self, paths: Sequence[str] = ()) -> IngestReport:
        """The same after an ingest that is going on: watch and request wait for each other."""
        with self._next:  # who came first is next: a lock alone goes to whoever is quickest
            self._ingesting.acquire()
        try:
            self._go_on()
            report = ingest(self.root, paths, self._go_on)
        except Exception:
            self._metrics.ingests.labels("failed").inc()
            raise
        finally:
            self._ingesting.release()
        self._metrics.ingests.labels("done").inc()
        problems = tuple(
            replace(each, message=self.redact(each.message)) for each in report.problems
        )
        return replace(report, problems=problems)

    def _go_on(self, *_progress: object) -> None:
        """Go on with what takes long, unless the server stops: nothing half done is published.

        Raises:
            Busy: It does.
        """
        if self.closing.is_set():
            raise Busy("the server stops: ask again when it is back.")

    def close(self, wait: float) -> None:
        """Begin nothing more, and wait so many seconds until the ingest that goes on has ended."""
        self.closing.set()
        if self._ingesting.acquire(timeout=wait):
            self._ingesting.release()
        self.follower.close()
        self.executions.close()

    def execute(
        self, given: str, *, task: str | None, agent: str | None, by: "Principal | None" = None
    ) -> "RunLine":
        """Begin to carry out a plan, or one of its tasks; the run that somebody works on now.

        Raises:
            HornbookError: It cannot be begun.
        """
        with self.leases.workspace() as work, work.run_book() as runs:
            return runs.line(self.executions.begin(work, given, task=task, agent=agent, by=by))

    def answer(
        self, run_id: str, action: str, text: str, reason: str, by: "Principal"
    ) -> "GivenAnswer":
        """Say a person's word on a run that asks; whoever executes its plan goes on with it.

        Raises:
            NotFound: There is no such run.
            NotAPerson: The request is not a person's.
            UsageError: It asks nothing, or the action does not fit.
        """
        with self.leases.workspace() as work:
            return work.answer(run_id, action, text, reason, by=by)

    def stop(self, run_id: str, reason: str, by: "Principal") -> "StoppedRun":
        """End a run and those that it began.

        Raises:
            NotFound: There is no such run.
            Refusal: It had ended already.
        """
        with self.leases.workspace() as work, work.run_book(by) as book:
            found = book.stop(run_id, reason)
        if not found.ended:
            raise HttpRefusal(
                409, "ended", f"run {found.run} had ended already: it is {found.status}."
            )
        return found

    def replay(
        self,
        waited_for: Callable[..., None],
        *,
        last: int,
        span: str | None,
        against: str | None,
        worktree: bool,
    ) -> dict[str, object]:
        """What the rules did to past changes; one at a time, since it takes long.

        Raises:
            Busy: Another one is under way.
            TooSlow: By `waited_for`, which is asked in between: nobody waits any longer.
            UsageError: The range or the revision names no commit.
        """
        from hornbook.doctor.replay import answer  # noqa: PLC0415  # loads the readers

        with self.replaying(waited_for) as go_on, self.leases.workspace() as work:
            found = work.replay(
                last=last, span=span, against=against, worktree=worktree, progress=go_on
            )
        return answer(found)

    @contextmanager
    def replaying(self, waited_for: Callable[..., None]) -> Iterator[Callable[..., None]]:
        """Be the one replay that is under way, by whatever door; what it calls between changes.

        A short one is waited for, and one whose client left, which ends with its next change.

        Raises:
            Busy: Another one goes on, or the server stops.
            TooSlow: By `waited_for`, which is asked meanwhile.
        """

        def go_on(*_progress: object) -> None:
            self._go_on()
            waited_for()

        for _ in range(LOOKS):
            if self._replaying.acquire(timeout=LOOK_SECONDS):
                break
            go_on()
        else:
            raise Busy("another replay is under way: ask again when it is done.")
        try:
            yield go_on
        finally:
            self._replaying.release()

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Be one of the open streams.

        Raises:
            Refusal: There are too many.
        """
        if self._streams >= self._most_streams:
            raise HttpRefusal(
                503,
                "streams",
                f"{self._streams} streams are open: close one.",
                headers={"retry-after": "5"},
            )
        self._streams += 1
        self._metrics.streams.set(self._streams)
        try:
            yield
        finally:
            self._streams -= 1
            self._metrics.streams.set(self._streams)

    def _version(self) -> GraphVersion:
        """What is published now; given back at once: whoever reads slowly keeps no old version."""
        with self.leases.lease() as snapshot:
            return GraphVersion(snapshot.version, len(snapshot.catalog.entries))

    async def versions(self) -> AsyncIterator[GraphVersion]:
        """The version of the graph, and every later one as soon as it is published."""
        looked: str | None = None
        told: GraphVersion | None = None
        while not self.closing.is_set():
            name = await asyncio.to_thread(self.leases.published)
            if name != looked:
                looked = name
                # What is leased may be newer than the name: then it is told now, and not again.
                found = await asyncio.to_thread(self._version)
                if found != told:
                    told = found
                    yield found
            try:
                await asyncio.wait_for(self.closing.wait(), LOOK_EVERY)
            except TimeoutError:
                continue
