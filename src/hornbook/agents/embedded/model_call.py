"""Tokens per minute: how long to wait before the next call; the caller waits."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from hornbook.agents.assignment import Answer
from hornbook.agents.embedded.fitting import Count


class Ask(Protocol):
    """Asks a model. A failure is an answer with an error, never an exception."""

    def __call__(self, system: str, context: str, seconds: float) -> Answer:
        """The model's answer to the two messages."""


MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Pace:
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

    def after(self, tokens: int, now: float) -> "Pace":
        """The pace once a call was made."""
        recent = tuple((at, size) for at, size in self.spent if now - at < MINUTE)
        return replace(self, spent=(*recent, (now, tokens)))


class Tempo:
    """The pace of one endpoint, which all who ask it share."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = Pace(per_minute)
        self._clock = clock
        self._lock = threading.Lock()

    def wait(self, tokens: int) -> float:
        """The seconds until a call of so many tokens may be made; 0 takes its place."""
        with self._lock:
            now = self._clock()
            wait = self._pace.wait(tokens, now)
            if wait <= 0:
                self._pace = self._pace.after(tokens, now)
            return wait

    def more(self, tokens: int) -> None:
        """Tell that a call came to so many tokens more than it was let in with."""
        if tokens > 0:
            with self._lock:
                self._pace = self._pace.after(tokens, self._clock())


class Paced:
    """A model that is asked no faster than its endpoint allows: too early is a `retry_after`."""

    def __init__(self, ask: Ask, tempo: Tempo, count: Count) -> None:
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
