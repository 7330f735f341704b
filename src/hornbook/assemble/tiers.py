"""What each tier put into a context, and when the tiers that grow are due for a checkpoint."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hornbook.assemble.packet import Part
from hornbook.model.context import LeftOut, Section
from hornbook.model.tiers import TIER_OF, Contribution, Tier

GROWING = ("plan", "task", "decisions", "risks", "feedback", "recent")
"""The sections of task and transient tier that grow with the work."""


def in_order(parts: Iterable[Part]) -> list[Part]:
    """The parts of a context, tier by tier; within a tier as they were given."""
    tiers = list(Tier)
    return sorted(parts, key=lambda part: tiers.index(TIER_OF[part.name]))


def contributions(
    sections: Sequence[Section], left_out: Mapping[Tier, Sequence[LeftOut]] | None = None
) -> tuple[Contribution, ...]:
    """What each tier contributed, every tier included, in their order."""
    return tuple(_one(tier, sections, (left_out or {}).get(tier, ())) for tier in Tier)


def with_left_out(
    tiers: Sequence[Contribution], tier: Tier, left_out: Sequence[LeftOut]
) -> tuple[Contribution, ...]:
    """The contributions with more that one of the tiers left out."""
    more = tuple(each.id for each in left_out)
    return tuple(
        replace(each, left_out=(*each.left_out, *more)) if each.tier is tier else each
        for each in tiers
    )


def is_due(sections: Sequence[Section], budget: int, percent: int) -> bool:
    """Whether the sections that grow take more than a share of the room that they have together."""
    used = sum(each.tokens for each in sections if each.name in GROWING)
    return used * 100 > budget * percent


def _one(tier: Tier, sections: Sequence[Section], left_out: Sequence[LeftOut]) -> Contribution:
    held = [each for each in sections if TIER_OF[each.name] is tier]
    return Contribution(
        tier=tier,
        tokens=sum(each.tokens for each in held),
        budget=sum(each.budget for each in held),
        sections=tuple(each.name for each in held),
        items=tuple(item.id for each in held for item in each.items),
        left_out=tuple(each.id for each in left_out),
    )
