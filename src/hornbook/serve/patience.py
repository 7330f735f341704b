"""Whether anybody still waits for an answer; long work looks here between its pieces."""

from hornbook.errors import TooSlow


class Patience:
    """Lasts until it is ended, by another thread than the one that works."""

    __slots__ = ("_ended",)

    def __init__(self) -> None:
        self._ended = False

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
