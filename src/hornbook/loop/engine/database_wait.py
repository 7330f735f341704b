"""Waits for a database that is away: busy, restarted, or cut off for a while."""

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sql

from hornbook.errors import DatabaseAway

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0

T = TypeVar("T")


class DatabaseWait:
    """Does things again until the database is back, for so many seconds.

    That it is away is told once, and so is how that ended. What is done must be
    safe to repeat.
    """

    def __init__(self, seconds: float, tell: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._tell = tell
        self._told = False
        self._lock = threading.Lock()

    def until_back(self, action: Callable[[], T]) -> T:
        """What an action gives, once the database answers.

        Raises:
            Exception: What the action raised: at once if the database is there, else when the
                time is over.
        """
        until = time.monotonic() + self._seconds
        pause = FIRST_PAUSE
        while True:
            try:
                found = action()
            except Exception as problem:
                if not is_away(problem):
                    raise
                left = until - time.monotonic()
                if left <= 0:
                    self._note_over()
                    raise
                self._note_away(problem)
            else:
                self._note_back()
                return found
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE)

    def _note_away(self, problem: Exception) -> None:
        if not self._was_told(now=True):
            said = str(problem).splitlines()[0]
            self._tell(f"the database is away ({said}): waiting up to {self._seconds:g} seconds")

    def _note_over(self) -> None:
        if self._was_told(now=False):
            self._tell(
                f"the database was away for {self._seconds:g} seconds, which is as long as "
                "`engine.database_wait_seconds` says"
            )

    def _note_back(self) -> None:
        if self._was_told(now=False):
            self._tell("the database is back")

    def _was_told(self, *, now: bool) -> bool:
        """Whether it was told until now that the database is away."""
        with self._lock:
            told, self._told = self._told, now
        return told


def is_away(problem: BaseException | None) -> bool:
    """Whether an error, or one that it comes from, says that the database cannot be reached now."""
    while problem is not None:
        if isinstance(problem, sql.exc.DBAPIError):
            problem = problem.orig if isinstance(problem.orig, sqlite3.Error) else problem
        if isinstance(problem, sqlite3.Error):
            # A full disk, or a file that cannot be written, does not come back by itself.
            return any(word in str(problem) for word in ("locked", "busy"))
        if isinstance(
            problem, sql.exc.OperationalError | sql.exc.InterfaceError | sql.exc.TimeoutError
        ):
            return True
        if isinstance(problem, DatabaseAway) and problem.__cause__ is None:
            return True
        problem = problem.__cause__
    return False
