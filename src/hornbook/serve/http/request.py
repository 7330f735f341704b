"""A request as the parts of the server see it: who asks, its name, and what it holds."""

import asyncio
from dataclasses import dataclass

from starlette.types import Scope

from hornbook.plans.principal import Principal
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.rate_limit import ConcurrencySlot, RateLimit
from hornbook.serve.http.tokens import NOBODY, Caller

KEY = "hornbook.request"


@dataclass(slots=True)
class RequestContext:
    """One request that was let in; `caller` is None until a WebSocket says who it is."""

    request_id: str
    caller: Caller | None
    deadline: asyncio.Timeout | None = None
    slot: ConcurrencySlot | None = None
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

    @property
    def principal(self) -> Principal:
        """Who acts, for the events that come of this request."""
        return (self.caller or NOBODY).principal(self.request_id)

    def lift_deadline(self) -> None:
        """Lift the deadline: what is asked for may take long."""
        if self.deadline is not None:
            self.deadline.reschedule(None)

    def release_slot(self) -> None:
        """Let another request have the turn, while this one waits for something else."""
        if self.slot is not None:
            self.slot.release()

    def become_stream(self) -> None:
        """Become a stream: it has no deadline, and takes no other request's turn."""
        self.lift_deadline()
        self.release_slot()

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


def request_context_of(scope: Scope) -> RequestContext:
    """The visit that a request belongs to."""
    found: RequestContext = scope[KEY]
    return found
