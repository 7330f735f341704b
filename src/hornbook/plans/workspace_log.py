"""The event log of a workspace, as its settings have it: whose it is, and where it lies."""

from collections.abc import Mapping

from hornbook.disk import now
from hornbook.plans.databases.database import SQLITE_NAMES
from hornbook.plans.events import EventKind
from hornbook.plans.log import Clock, EventLog, LogMemory
from hornbook.plans.principal import Principal
from hornbook.plans.state import PLAN_KINDS
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings


def repository_of(places: Places, settings: Settings) -> str:
    """The name that a workspace's rows have in its database; empty where it has one of its own.

    Raises:
        UsageError: The database may be shared, and there is nothing to take a name from.
    """
    if not settings.engine.database:
        return ""
    from hornbook.commits.repository_name import repository_name  # noqa: PLC0415  # start-up: it is for sharing

    return repository_name(places.root, settings.repository)


def clock_for(settings: Settings, clock: Clock) -> Clock:
    """The clock that events are dated by: this machine's, or that of the database they share."""
    url = settings.engine.database
    if clock is not now or not url or url.partition("://")[0] in SQLITE_NAMES:
        return clock
    from hornbook.plans.databases.shared_database import clock_of  # noqa: PLC0415  # start-up: SQLAlchemy

    return clock_of(url)


def open_log(
    places: Places,
    settings: Settings,
    clock: Clock,
    *,
    kinds: Mapping[str, EventKind] = PLAN_KINDS,
    memory: LogMemory | None = None,
    principal: Principal | None = None,
) -> EventLog:
    """The event log of a workspace; whoever opens it closes it.

    Raises:
        UsageError: The settings name no database that we can use.
        EventLogError: It cannot be used.
    """
    log = EventLog(
        places.state,
        clock_for(settings, clock),
        database=settings.engine.database,
        repository=repository_of(places, settings),
        kinds=kinds,
        memory=memory,
        principal=principal,
    )
    if settings.engine.database:
        try:
            _claim(log, places, settings)
        except BaseException:
            log.close()
            raise
    return log


_CLAIMED: set[tuple[str, str, str]] = set()
"""Databases, names and folders that this process compared: they do not become others meanwhile."""


def _claim(log: EventLog, places: Places, settings: Settings) -> None:
    """Make sure that no other repository has the name; a clone without its beginning cannot say."""
    here = (settings.engine.database, log.repository, str(places.root))
    if here in _CLAIMED:
        return
    from hornbook.commits.repository_name import first_commit  # noqa: PLC0415  # start-up: it is for sharing

    first = first_commit(places.root)
    if first is not None:
        log.claim(first)
        _CLAIMED.add(here)
