"""DBOS as we use it: started without network, JSON only, and asked who owns a workflow.

Four of its names are not public (`_sys_db`, `_active_workflows_set`, `reenqueue_for_recovery`, the
ownership token of a context). They are used here only, and `require_known` says so if a release
lacks one.
"""

import contextlib
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
    SetEnqueueOptions,
    SetWorkflowID,
    WorkflowStatus,
)
from dbos._context import current_owner_xid
from dbos._error import DBOSWorkflowConflictIDError
from dbos._sys_db import SystemDatabase

from hornbook.disk import locked
from hornbook.errors import EngineError

APPLICATION = "hornbook"
PROTOCOL = "hornbook-runs-2"
"""The version of the workflow's control flow. It changes when runs that were begun before could
not be replayed any more, never with a release: an upgrade must not strand running work."""
WORKFLOW = "hornbook.leg"
MOST_RECOVERIES = 1000
"""A last resort: the loop gives a step up long before, by what its events say of its deaths."""
POLL_SECONDS = 0.2
LAST_WORDS = 2.0
"""So many seconds legs may take to record how they ended, once everything stops."""

QueuedLeg = WorkflowStatus
"""A leg as DBOS has it: who owns it, in which queue, and how it stands."""
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

    def __init__(self, url: sql.URL, worker: str, leg: Leg, queues: Sequence[str] | None) -> None:
        require_known()
        config: DBOSConfig = {
            "name": APPLICATION,
            "system_database_url": url.render_as_string(hide_password=False),
            "application_version": PROTOCOL,
            "executor_id": worker,
            "serializer": DBOSPortableJSONSerializer(),
            "log_level": "ERROR",
            "enable_otlp": False,
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": POLL_SECONDS,
        }
        self._instance = DBOS(config=config)

        def workflow(run: str, number: int, first: str, spent: float) -> dict[str, object]:
            return leg(run, number, first, spent)

        durable = DBOS.workflow(name=WORKFLOW, max_recovery_attempts=MOST_RECOVERIES)
        self._leg = durable(workflow)
        if queues is not None:
            DBOS.listen_queues(list(queues))
        self._registered: set[str] = set()

    def launch(self, state: Path) -> None:
        """Start it; the first process of a database makes the tables, others wait for that."""
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

    def _active(self) -> int:
        return len(self._instance._active_workflows_set.activeList())  # noqa: SLF001  # see the module's docstring

    def register(self, queue: str, parallel: int) -> None:
        """Make a queue known to all workers."""
        if queue not in self._registered:
            DBOS.register_queue(
                queue,
                worker_concurrency=parallel,
                polling_interval_sec=POLL_SECONDS,
                on_conflict="always_update",
            )
            self._registered.add(queue)

    def retire(self, queue: str) -> None:
        """Have no worker look at a queue any more."""
        DBOS.delete_queue(queue)
        self._registered.discard(queue)

    def enqueue(self, queue: str, leg: "Planned", *, delay: float = 0.0) -> None:
        """Queue a leg of a run; one that was queued before stays as it is."""
        later = SetEnqueueOptions(delay_seconds=delay) if delay else contextlib.nullcontext()
        with SetWorkflowID(f"{leg.run}~{leg.number}"), later:
            DBOS.enqueue_workflow(queue, self._leg, leg.run, leg.number, leg.first, leg.spent)

    def requeue(self, status: WorkflowStatus, queue: str | None) -> bool:
        """Take a workflow from its dead worker and queue it again; False if others were faster.

        From here on the dead worker, should it live after all, can record nothing. Without a
        queue it goes back to where it was.
        """
        dead = [status.executor_id or ""]
        if not self._database.reenqueue_for_recovery(status.workflow_id, dead, APPLICATION):
            return False
        if queue is not None and queue != status.queue_name:
            self.move(status.workflow_id, queue)
        return True

    def move(self, workflow: str, queue: str) -> None:
        """Queue an unfinished workflow in this queue, whatever it waited in or died of."""
        DBOS.resume_workflow(workflow, queue_name=queue)

    def unfinished(self) -> list[WorkflowStatus]:
        """The workflows that some worker has, living or dead."""
        return self._list(status="PENDING")

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


def require_known() -> None:
    """Refuse a DBOS that lacks what fencing needs.

    Raises:
        EngineError: It does.
    """
    wanted = ("reenqueue_for_recovery", "get_workflow_owner")
    missing = [name for name in wanted if not hasattr(SystemDatabase, name)]
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
