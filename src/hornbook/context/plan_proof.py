"""Whether the files of a plan in a commit are its log, and what follows from that."""

from collections.abc import Sequence

from hornbook.context.recovery import read_export
from hornbook.errors import EventLogError, UsageError
from hornbook.plans.checkpoint import checkpoint_path, compact, digest_of, read_checkpoint
from hornbook.plans.events import Event
from hornbook.plans.log import EXPORT


def log_of(plan: str) -> str:
    """Where the log of a plan lies."""
    return f".hornbook/plans/{plan}/{EXPORT}"


class PlanProof:
    """The log of a plan, which must be chained by hashes and go on where each earlier one ends."""

    def __init__(self, plan: str, log: bytes | None, before: Sequence[bytes]) -> None:
        self._plan = plan
        self._events: tuple[Event, ...] = ()
        if log is not None and all(map(log.startswith, before)):
            self._events = _events(plan, log)

    @property
    def is_whole(self) -> bool:
        """Whether there is a log, and it holds."""
        return bool(self._events)

    def tells(self, path: str, data: bytes) -> bool:
        """Whether a file is the log, or says just what the events of it add up to."""
        if not self._events:
            return False
        if path == log_of(self._plan):
            return True
        if path == checkpoint_path(self._plan):
            return self._is_checkpoint(path, data)
        made = compact(self._events)
        text = made.files.get(path)
        if text is not None:
            return text.encode() == data
        return made.artifacts.get(path) == digest_of(data)

    def _is_checkpoint(self, path: str, data: bytes) -> bool:
        """Whether a checkpoint says what the events up to its own moment add up to."""
        try:
            seq = read_checkpoint(data, path).seq
        except (ValueError, UsageError):
            return False
        return 0 < seq <= len(self._events) and compact(self._events[:seq]).text.encode() == data


def _events(plan: str, log: bytes) -> tuple[Event, ...]:
    """The events of a log that is whole; none of another."""
    try:
        export = read_export(log, plan, log_of(plan))
    except (EventLogError, UsageError):
        return ()
    return () if export.torn else export.events
