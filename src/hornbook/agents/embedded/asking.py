"""How a model is asked: two messages in, one answer out, within a number of seconds."""

from typing import Protocol

from hornbook.model.agents import Answer


class Ask(Protocol):
    """Asks a model. A failure is an answer with an error, never an exception."""

    def __call__(self, system: str, context: str, seconds: float) -> Answer:
        """The model's answer to the two messages."""
