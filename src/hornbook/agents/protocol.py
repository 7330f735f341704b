"""The seam between the loop and those who do the work."""

from collections.abc import Callable, Mapping
from typing import Protocol

from hornbook.model.agents import Answer, Assignment

Record = Callable[[Mapping[str, object]], None]
"""Told what happened while an agent worked, as plain values: each becomes an event."""


def nowhere(_told: Mapping[str, object]) -> None:
    """A record that nobody keeps."""


class Agent(Protocol):
    """Someone who can be given an assignment.

    The answer is what the agent says; nothing in it is taken for the truth.
    """

    @property
    def name(self) -> str:
        """What the agent is called in settings and events."""
        ...

    def work(self, assignment: Assignment, record: Record) -> Answer:
        """Do the assignment and answer; a failure of the agent is an answer too."""
        ...
