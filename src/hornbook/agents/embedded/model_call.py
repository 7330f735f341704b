"""Asking a model: the call itself, its tokens per minute, and what it is never sent."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from hornbook.agents.assignment import Answer
from hornbook.agents.embedded.fitting import Count
from hornbook.agents.rule_leaks import RuleTexts


class Ask(Protocol):
    """Asks a model. A failure is an answer with an error, never an exception."""

    def __call__(self, system: str, context: str, seconds: float) -> Answer:
        """The model's answer to the two messages."""


MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class TokenRate:
    """What an endpoint was sent in the last minute, and how much a minute may hold.

    `spent` are pairs of a time in seconds and tokens, oldest first; a limit of 0 is none.
    """

    per_minute: int
    spent: tuple[tuple[float, int], ...] = ()

    def wait(self, tokens: int, now: float) -> float:
        """The seconds until a call of so many tokens keeps to the limit.

        A call that is larger than the limit itself waits for an empty minute.
        """
        if self.per_minute <= 0:
            return 0.0
        recent = [(at, size) for at, size in self.spent if now - at < MINUTE]
        used = sum(size for _, size in recent)
        wait = 0.0
        for at, size in recent:
            if used + tokens <= self.per_minute:
                break
            used -= size
            wait = at + MINUTE - now
        return wait

    def after(self, tokens: int, now: float) -> "TokenRate":
        """The pace once a call was made."""
        recent = tuple((at, size) for at, size in self.spent if now - at < MINUTE)
        return replace(self, spent=(*recent, (now, tokens)))


class RateLimiter:
    """The pace of one endpoint, which all who ask it share."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = TokenRate(per_minute)
        self._clock = clock
        self._lock = threading.Lock()

    def wait(self, tokens: int) -> float:
        """The seconds until a call of so many tokens may be made; 0 takes its place."""
        with self._lock:
            now = self._clock()
            wait = self._rate.wait(tokens, now)
            if wait <= 0:
                self._rate = self._rate.after(tokens, now)
            return wait

    def more(self, tokens: int) -> None:
        """Tell that a call came to so many tokens more than it was let in with."""
        if tokens > 0:
            with self._lock:
                self._rate = self._rate.after(tokens, self._clock())


class RateLimited:
    """A model that is asked no faster than its endpoint allows: too early is a `retry_after`."""

    def __init__(self, ask: Ask, tempo: RateLimiter, count: Count) -> None:
        self._ask = ask
        self._tempo = tempo
        self._count = count

    def __call__(self, system: str, context: str, seconds: float) -> Answer:
        """The answer, or how long to wait before asking again."""
        tokens = self._count(system) + self._count(context)
        wait = self._tempo.wait(tokens)
        if wait > 0:
            return Answer(error="the endpoint's tokens per minute are spent", retry_after=wait)
        answer = self._ask(system, context, seconds)
        used = answer.usage.input_tokens + answer.usage.output_tokens
        self._tempo.more(used - tokens)
        return answer


_SHOWN = 80


def withholding(ask: Ask, withheld: Mapping[str, str]) -> Ask:
    """The same model, which is never sent a text that quotes one of these rules."""
    if not withheld:
        return ask
    known = RuleTexts(withheld)

    def asked(system: str, context: str, seconds: float) -> Answer:
        for name, text in (("system prompt", system), ("context", context)):
            leak = next(known.leaks(name, text), None)
            if leak is not None:
                return Answer(
                    error=f"the developer is blind, and the {name} of this step would quote "
                    f"{leak.rule_id}: {leak.text[:_SHOWN]!r}. It was not sent: find out which "
                    "gate or file shows it, or let developers see rules (`developer_sees`)."
                )
        return ask(system, context, seconds)

    return asked
