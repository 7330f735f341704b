"""A request as the parts of the server see it: who asks, its name, and its deadline."""

import asyncio
from dataclasses import dataclass

from starlette.types import Scope

from hornbook.errors import TooSlow, UsageError
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.rate_limit import ConcurrencySlot, RateLimit
from hornbook.serve.http.tokens import Caller

KEY = "hornbook.visit"


@dataclass(slots=True)
class RequestContext:
    """One request that was let in; `caller` is None until a WebSocket says who it is."""

    request_id: str
    caller: Caller | None
    deadline: asyncio.Timeout | None = None
    turn: ConcurrencySlot | None = None
    rates: RateLimit | None = None
    address: str = ""

    def spend(self) -> HttpRefusal | None:
        """Count one more request of the caller, as each operation over a WebSocket is."""
        if self.rates is None or self.caller is None:
            return None
        return self.rates.spend(self.caller.name)

    @property
    def may_write(self) -> bool:
        """Whether the caller may change something."""
        return self.caller is not None and self.caller.may_write

    def take_time(self) -> None:
        """Lift the deadline: what is asked for may take long."""
        if self.deadline is not None:
            self.deadline.reschedule(None)

    def step_aside(self) -> None:
        """Let another request have the turn, while this one waits for something else."""
        if self.turn is not None:
            self.turn.give_up()

    def stay(self) -> None:
        """Become a stream: it has no deadline, and takes no other request's turn."""
        self.take_time()
        self.step_aside()

    def needs_write(self) -> None:
        """Go on only if the caller may change something.

        Raises:
            Refusal: It may not.
        """
        if not self.may_write:
            name = self.caller.name if self.caller is not None else "nobody"
            raise HttpRefusal(
                403, "scope", f"token {name!r} may only read: use one with the scope write."
            )


def visit_of(scope: Scope) -> RequestContext:
    """The visit that a request belongs to."""
    found: RequestContext = scope[KEY]
    return found


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
