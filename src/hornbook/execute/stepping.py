"""The seam between the loop and whoever drives it: one step at a time, each safe to repeat."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class StepKind(StrEnum):
    """What became of a run by one step."""

    CONTINUED = "continued"
    WAITING = "waiting"
    ASKING = "asking"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Where a run stands after a step.

    `seconds` is how long to wait before the next one, when it is `waiting`; `spawned` are the
    runs that this step started: somebody has to step them too, and starting one twice is harmless.
    """

    kind: StepKind
    run_id: str
    seconds: float = 0.0
    status: str = ""
    message: str = ""
    spawned: tuple[str, ...] = ()


class Loop(Protocol):
    """Runs, moved on from what the events say; nothing else is remembered between two steps."""

    def start(self, plan: str, task: str | None, *, agent: str | None, run_id: str) -> StepOutcome:
        """Begin a run of a task, or of a whole plan; one that was begun already is left alone.

        A plan that fails its check does not start: the answer is `ended` with status `refused`.
        """
        ...

    def step(self, run_id: str) -> StepOutcome:
        """Do the one thing that comes next; after a crash the interrupted one is done again."""
        ...

    def answer(self, run_id: str, text: str) -> StepOutcome:
        """Tell a run that asks what a person says; it goes on with the next step."""
        ...
