"""DBOS as we use it: started without network, JSON only, and asked who owns a workflow.

Its own queues are not polled: which leg is next is decided by `turns`, and costs the same however
many plans there are. A leg lies in a queue that nobody listens to, until a worker whose turn it is
moves it into a queue of its own and takes it from there.

Some of its names are not public (`_sys_db`, `_active_workflows_set`, `start_queued_workflows`,
`execute_dequeued_workflow`, the ownership token of a context, and `time` in three modules). They
are used here only, and `require_known` says so if a release lacks one.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from dbos import (
    DBOS,
    DBOSConfig,
    DBOSPortableJSONSerializer,
    SetWorkflowID,
    WorkflowStatus,
    _context,
    _enqueue_options,
    _queue,
    _sys_db,
)
from dbos._context import current_owner_xid
from dbos._core import execute_dequeued_workflow
from dbos._error import DBOSWorkflowConflictIDError
from dbos._sys_db import SystemDatabase
from dbos._utils import GlobalParams, generate_uuid

from hornbook.disk import locked
from hornbook.errors import EngineError
from hornbook.loop.engine.workers import workflow_name
from hornbook.plans.databases.shared_database import SCHEMA, clock_of

APPLICATION = "hornbook"
PROTOCOL = "hornbook-runs-2"
"""The version of the workflow's control flow. It changes when runs that were begun before could
not be replayed any more, never with a release: an upgrade must not strand running work."""
WORKFLOW = "hornbook.leg"
POLL_SECONDS = 0.2
LAST_WORDS = 5.0
"""So many seconds legs may take to record how they ended, once everything stops."""

_TIMED = (_sys_db, _context, _enqueue_options)
"""The modules of DBOS that say until when something waits."""

Leg = Callable[[str, int, str, float], dict[str, object]]
"""Takes a run, the number of the leg, what it begins with, and seconds spent so far."""


class Fenced(BaseException):
    """This execution lost its run to another one: no exception handler may go on after it."""


LOST = (Fenced, DBOSWorkflowConflictIDError)
"""What says so: our check before an effect, or DBOS when something is to be recorded."""


class Stopping(BaseException):
    """This process takes no further step; the run is left as it is, for others."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A leg of a run that is to be queued: what it begins with, and what was spent before."""

    run: str
    number: int
    first: str
    spent: float = 0.0


class Durable:
    """A running DBOS, of which a process has one at most."""

    def __init__(self, engine: sql.Engine, worker: str, leg: Leg, repository: str = "") -> None:
        require_known()
        self._repository = repository
        self._worker = worker
        self._ready = f"{repository}/ready" if repository else "ready"
        ours = f"-{repository}" if repository else ""
        self._application = f"{APPLICATION}{ours}"  # each has its own queues and versions
        url, shared = engine.url, engine.dialect.name != "sqlite"
        config: DBOSConfig = {
            "name": self._application,
            "system_database_url": url.render_as_string(hide_password=False),
            "application_version": f"{PROTOCOL}{ours}",
            "executor_id": worker,
            "serializer": DBOSPortableJSONSerializer(),
            "log_level": "ERROR",
            "enable_otlp": False,
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": POLL_SECONDS,
        }
        self._time = _DatabaseTime(engine) if shared else None
        if shared:
            # In one schema with our tables: an older release has its queue in another one.
            config |= {"system_database_engine": engine, "dbos_system_schema": SCHEMA}
        self._instance = DBOS(config=config)

        def workflow(run: str, number: int, first: str, spent: float) -> dict[str, object]:
            return leg(run, number, first, spent)

        # The loop counts deaths by its events; DBOS forgets its own count whenever a leg is begun.
        durable = DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
        self._leg = durable(workflow)
        DBOS.listen_queues([])
        proof = _queue._INTERNAL_QUEUE_CONSTRUCTION  # noqa: SLF001  # see the module's docstring
        self._own = _queue.Queue(f"{self._ready}:{worker}", token=proof)

    def launch(self, state: Path) -> None:
        """Start it; the first process of a database makes the tables, others wait for that."""
        if self._time is not None:
            self._time.install()
        with _alone(state), _whole_transactions():
            DBOS.launch()

    def close(self, busy: Callable[[], int]) -> None:
        """Stop it; steps that still run are left to themselves and can record nothing.

        `busy` counts those. Whatever else was begun, such as recording how a leg ended, comes to
        its end before.
        """
        until = time.monotonic() + LAST_WORDS
        while self._active() > busy() and time.monotonic() < until:
            time.sleep(0.01)
        DBOS.destroy(destroy_registry=True)
        if self._time is not None:
            self._time.remove()

    def _active(self) -> int:
        return len(self._instance._active_workflows_set.activeList())  # noqa: SLF001  # see the module's docstring

    def enqueue(self, leg: "Planned") -> None:
        """Keep a leg of a run until its turn; one that was kept before stays as it is."""
        name = workflow_name(self._repository, leg.run, leg.number)
        with SetWorkflowID(name):
            DBOS.enqueue_workflow(self._ready, self._leg, leg.run, leg.number, leg.first, leg.spent)

    def begin(self, workflow: str) -> bool:
        """Execute a leg here, wherever it waited and whoever had it before.

        From here on whoever had it, should it live after all, can record nothing. False if it is
        over already.
        """
        database, owner = self._database, generate_uuid()
        database.resume_workflows([workflow], queue_name=self._own.name)
        version = GlobalParams.app_version
        taken, _ = database.start_queued_workflows(
            self._own, self._worker, version, None, owner_xid=owner
        )
        # Others that lie there could not be begun before, and were, or will be, given back.
        mine = [each for each in taken if each == workflow]
        for status in database.get_workflow_statuses(mine):
            execute_dequeued_workflow(self._instance, status, owner)
        return bool(mine)

    def statuses(self, workflows: Sequence[str]) -> list[WorkflowStatus]:
        """What DBOS knows about workflows; those that it does not know are not listed."""
        return self._list(workflow_ids=list(workflows)) if workflows else []

    def token(self, workflow: str) -> str:
        """What proves that the calling execution owns its workflow."""
        return current_owner_xid(workflow) or ""

    def require(self, workflow: str, token: str) -> None:
        """Go on only while the token is the one in the database.

        Raises:
            Fenced: The workflow was given to another execution.
        """
        if self._database.get_workflow_owner(workflow) != token:
            raise Fenced(workflow)

    @staticmethod
    def step(name: str, action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What an action gave: now, or before the process was killed."""
        return DBOS.run_step({"name": name}, action)

    @staticmethod
    def sleep(seconds: float) -> None:
        """Wait; a wait that was begun before a kill is only completed."""
        DBOS.sleep(seconds)

    @property
    def _database(self) -> SystemDatabase:
        return self._instance._sys_db  # noqa: SLF001  # see the module's docstring

    @staticmethod
    def _list(**conditions: Any) -> list[WorkflowStatus]:  # as DBOS declares them
        return DBOS.list_workflows(name=WORKFLOW, load_input=False, load_output=False, **conditions)


class _DatabaseTime:
    """The module `time` as DBOS sees it: waits and deadlines are by the database's clock.

    DBOS takes those from its own machine. Of two machines whose clocks differ by ten minutes one
    would begin what waits ten minutes too early, or ten minutes too late.
    """

    def __init__(self, engine: sql.Engine) -> None:
        url = engine.url.render_as_string(hide_password=False)
        self.time = clock_of(url).seconds

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)

    def install(self) -> None:
        """Have DBOS ask us."""
        for module in _TIMED:
            vars(module)["time"] = self

    def remove(self) -> None:
        """Have DBOS ask this machine again."""
        for module in _TIMED:
            vars(module)["time"] = time


def require_known() -> None:
    """Refuse a DBOS that lacks what fencing needs.

    Raises:
        EngineError: It does.
    """
    wanted = ("start_queued_workflows", "resume_workflows", "get_workflow_owner")
    missing = [name for name in wanted if not hasattr(SystemDatabase, name)]
    missing += [f"time in {each.__name__}" for each in _TIMED if not hasattr(each, "time")]
    if missing:
        raise EngineError(
            f"DBOS {version('dbos')} has no {' and no '.join(missing)}: install dbos 3.3."
        )


@contextmanager
def _whole_transactions() -> Iterator[None]:
    """Have SQLite make and change tables in one go, or not at all if we are killed meanwhile.

    The driver begins no transaction for such statements by itself; half-made tables would keep
    every later process from starting.
    """
    sql.event.listen(sql.Engine, "begin", _begin)
    try:
        yield
    finally:
        sql.event.remove(sql.Engine, "begin", _begin)


def _begin(connection: sql.Connection) -> None:
    driver: object = connection.connection.dbapi_connection
    if not isinstance(driver, sqlite3.Connection) or driver.isolation_level is None:
        return  # another database, or a connection of ours, which begins by itself
    if not driver.in_transaction:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


@contextmanager
def _alone(state: Path) -> Iterator[None]:
    state.mkdir(parents=True, exist_ok=True)
    with locked(state / "engine.db-lock"):
        yield
