"""Refuses a context that holds the value of a secret: a prompt is sent whole or not at all.

The variables of this process are what agents and the service could be given; those that are named
like a key, a token or a password count.
"""

import os
from collections.abc import Mapping
from dataclasses import replace

from hornbook.context.prompt import Context, Outcome, Reason
from hornbook.process.secret_mask import SecretMask, secrets_among


def without_secrets(context: Context, variables: Mapping[str, str] | None = None) -> Context:
    """The context; refused, with path and line of each, where it holds the value of a secret."""
    if context.text is None:
        return context
    mask = SecretMask(secrets_among(os.environ if variables is None else variables))
    data = context.text.encode("utf-8", "surrogatepass")
    reasons = tuple(
        Reason(
            "secret_in_prompt",
            f"{_place(context, data, offset)} has the value of {name}: take it out, and give the "
            "variable another value, since this one may be known by now.",
        )
        for name, offset in mask.places_in(data)
    )
    if not reasons:
        return context
    return replace(
        context,
        outcome=Outcome.FAILED,
        text=None,
        sha256=None,
        sections=(),
        tiers=(),
        split=(),
        passes=(),
        reasons=(*context.reasons, *dict.fromkeys(reasons)),
    )


def _place(context: Context, data: bytes, offset: int) -> str:
    """Where a byte of the prompt comes from: a file, a rule or a section, and its line in it."""
    for section in context.sections:
        for item in section.items:
            if item.offset <= offset < item.offset + item.length:
                line = data.count(b"\n", item.offset, offset) + 1
                return f"{item.path or item.id}, line {line} of what is shown of it,"
    return f"the prompt, line {data.count(bytes([10]), 0, offset) + 1},"
