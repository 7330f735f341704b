"""A clock that stands still: what is written at a fixed time has the same hash every day."""

import datetime as dt
from datetime import UTC, tzinfo
from typing import Any

_Real = dt.datetime


class _EveryMoment(type):
    """Moments made before the clock stood still, and by C code, are moments too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _Real)


class Still(_Real, metaclass=_EveryMoment):
    """`datetime` whose now is what `stand` said."""

    __slots__ = ()
    moment = _Real(2026, 1, 1, tzinfo=UTC)

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Any:  # a real datetime, so that it can be pickled
        """The moment at which the clock stands."""
        return Still.moment.astimezone(tz) if tz else Still.moment.replace(tzinfo=None)


def stand(minutes: int) -> None:
    """Let the clock stand so many minutes after the beginning; to be called before any import."""
    Still.moment = _Real(2026, 1, 1, tzinfo=UTC) + dt.timedelta(minutes=minutes)
    dt.datetime = Still  # type: ignore[misc]  # that is the whole point
