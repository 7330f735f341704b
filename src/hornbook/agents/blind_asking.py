"""Keeps rules out of the prompts that a model is asked with, step by step."""

from collections.abc import Mapping

from hornbook.agents.blindness import RuleTexts
from hornbook.agents.embedded.asking import Ask
from hornbook.model.agents import Answer

_SHOWN = 80


def unseeing(ask: Ask, withheld: Mapping[str, str]) -> Ask:
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
