"""A request as the parts of the server see it: who asks, its name, and what it holds."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from starlette.types import Receive, Scope

from hornbook.plans.principal import Principal
from hornbook.serve.access.callers import LOOK_EVERY, NOBODY, Caller, CallerCheck
from hornbook.serve.access.scopes import AccessScope
from hornbook.serve.http.problems import HttpRefusal
from hornbook.serve.http.rate_limit import ConcurrencySlot, RateLimit

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
    callers: CallerCheck | None = None
    """Who knows whether what the caller showed is still good."""
    prefix: str = ""
    """The path that the server lies below, for whoever asks."""
    session: str = ""
    """The session that a browser showed, whether or not it may act in it."""
    unproven: bool = False
    """Whether a form has yet to show, by a field of its own, that a page of ours sent it."""

    still_open: Callable[[str], bool] | None = None
    """Says whether a session has not ended."""
    connection: tuple[asyncio.AbstractEventLoop, Receive] | None = None
    """Where the rest of the request would come from, once its body was read."""

    def has_left(self) -> bool:
        """Whether the client closed the connection; asked by a thread that works for it."""
        if self.connection is None:
            return False
        loop, receive = self.connection
        if loop.is_closed():
            return True
        asked = asyncio.run_coroutine_threadsafe(_is_closed(receive), loop)
        try:
            return asked.result(LOOK_EVERY)
        except TimeoutError:  # the loop has much to do, or ends
            asked.cancel()
            return False

    async def taken_back(self) -> None:
        """Wait until what the caller showed is good no longer, which may be never."""
        while self._holds():
            await asyncio.sleep(LOOK_EVERY)

    def _holds(self) -> bool:
        """Whether what the caller showed is still good: a session, and what it was opened with."""
        if self.session and self.still_open is not None and not self.still_open(self.session):
            return False
        return self.callers is None or self.callers.holds(self.caller)

    def spend(self) -> HttpRefusal | None:
        """Count one more request of a token, as each operation over a WebSocket is."""
        if self.rates is None or self.caller is None or self.caller.token is None:
            return None
        return self.rates.spend(self.caller.name)

    @property
    def principal(self) -> Principal:
        """Who acts, for the events that come of this request."""
        return (self.caller or NOBODY).principal(self.request_id)

    @property
    def ends_at(self) -> float | None:
        """When nobody waits any longer, by the monotonic clock; None if there is no such time."""
        return self.deadline.when() if self.deadline is not None else None

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

    def needs_name(self) -> None:
        """Go on only if the caller has said who they are.

        Raises:
            Refusal: They have not.
        """
        caller = self.caller or NOBODY
        if not caller.is_named:
            raise caller.nameless(f"the scope {AccessScope.READ} here")

    def needs(self, scope: AccessScope) -> None:
        """Go on only if the caller may do this.

        Raises:
            Refusal: They may not: 401 if they have not said who they are, else 403.
        """
        refusal = (self.caller or NOBODY).refusal(scope)
        if refusal is not None:
            raise refusal


def request_context_of(scope: Scope) -> RequestContext:
    """The visit that a request belongs to."""
    found: RequestContext = scope[KEY]
    return found


async def _is_closed(receive: Receive) -> bool:
    """Whether the next that comes, if anything is there already, is the end of the connection."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0):
            while (await receive())["type"] != "http.disconnect":
                pass
            return True
    return False
