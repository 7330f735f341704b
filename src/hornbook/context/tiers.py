"""The tiers of a context: what binds always, what the active plan says, what just happened."""

from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """The tiers, in the order in which a context is built from them."""

    CORE = "core"
    TASK = "task"
    TRANSIENT = "transient"


CORE_FILES = (
    "CLAUDE.md",
    "docs/context/CONTEXT_CORE.md",
    "docs/context/ROLES.md",
    "docs/context/GUARDRAILS.md",
)
"""The core tier, in the order in which it is loaded."""

LOADED_BY_HOST = frozenset({"CLAUDE.md"})
"""What an agent's host loads by itself, and rules name to a reviewer: it is not given twice."""

CONTEXT_CORE = "docs/context/CONTEXT_CORE.md"
"""Where promoted invariants stand."""

TIER_OF = {
    "instructions": Tier.CORE,
    "core": Tier.CORE,
    "sops": Tier.CORE,
    "rules": Tier.CORE,
    "conventions": Tier.CORE,
    "plan": Tier.TASK,
    "task": Tier.TASK,
    "decisions": Tier.TASK,
    "risks": Tier.TASK,
    "situation": Tier.TRANSIENT,
    "gates": Tier.TRANSIENT,
    "signatures": Tier.TRANSIENT,
    "feedback": Tier.TRANSIENT,
    "earlier": Tier.TRANSIENT,
    "recent": Tier.TRANSIENT,
    "files": Tier.TRANSIENT,
    "diff": Tier.TRANSIENT,
}
"""For each section of a context the tier that it belongs to."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a tier put into a context: its sections, and the ids of what stands in them.

    `left_out` are the ids of what belongs to the tier but is not repeated, or did not fit.
    """

    tier: Tier
    tokens: int
    budget: int
    sections: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
