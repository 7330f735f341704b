"""A deadline that one thread sets and another one, which works for a request, looks at.

Nothing in Python stops a thread. So whoever waits for an answer says when it has given up, and the
thread that makes the answer asks before each piece of work whether somebody still waits.
"""

from hornbook.errors import TooSlow, UsageError

# A field of an answer takes some 300 bytes until it is sent.
MOST_FIELDS = 1_000_000


class Deadline:
    """Lasts until it is ended, by another thread than the one that works."""

    __slots__ = ("_ended", "_left")

    def __init__(self, most_fields: int = MOST_FIELDS) -> None:
        self._ended = False
        self._left = most_fields

    def end(self) -> None:
        """Say that nobody waits any longer: the deadline is over, or the client left."""
        self._ended = True

    def check(self) -> None:
        """Go on only if somebody waits.

        Raises:
            TooSlow: Nobody does.
        """
        if self._ended:
            raise TooSlow("nobody waits for this answer any longer: ask for less.")

    def next_field(self) -> None:
        """Go on with one more field of the answer.

        Raises:
            TooSlow: Nobody waits for it.
            UsageError: It has too many already.
        """
        self.check()
        self._left -= 1
        if self._left < 0:
            raise UsageError(f"the answer has more than {MOST_FIELDS} fields: ask for less.")
