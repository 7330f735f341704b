"""The seam between the loop, which decides and takes steps, and the engine, which survives."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class StepKind(StrEnum):
    """What follows a step."""

    CONTINUED = "continued"
    WAITING = "waiting"
    ASKING = "asking"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """How a step of a run went.

    `seconds` is how long to wait, `status` where the run stands, `message` what a person should
    read, `spawned` the runs that the step began beside this one.
    """

    kind: StepKind
    run_id: str
    seconds: float = 0.0
    status: str = ""
    message: str = ""
    spawned: tuple[str, ...] = ()


class Loop(Protocol):
    """What the engine drives; every call is idempotent and has one effect at most."""

    def start(self, plan: str, task: str | None, *, agent: str | None, run_id: str) -> StepOutcome:
        """Begin a run; the same again for a run that was begun already."""
        ...

    def step(self, run_id: str) -> StepOutcome:
        """Take exactly one step; after a kill in the middle, the same step again."""
        ...

    def answer(self, run_id: str, text: str) -> StepOutcome:
        """Give a run what it asked a person for."""
        ...
