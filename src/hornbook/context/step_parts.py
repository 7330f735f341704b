"""What a step is given: what it inherits, what earlier steps left, what it asks anew."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from hornbook.context.prompt import Part, Unit
from hornbook.context.templates.context_settings import (
    AccumulationFormat,
    ContextSettings,
    FreshContext,
    InheritContext,
)


@dataclass(frozen=True, slots=True)
class StepOutput:
    """What a step left behind: notes for the next one, and all that it wrote."""

    step: str
    notes: str
    whole: str


def step_parts(
    settings: ContextSettings,
    *,
    inherited: Sequence[Part],
    outputs: Sequence[StepOutput],
    fresh: Callable[[], Sequence[Part]],
    concerns: Callable[[Unit], bool],
) -> list[Part]:
    """The parts of a step's context, as its context settings say, before its role's frame.

    This is the table of inherit_context, accumulate_data and fresh_context as a function of values:
    what the parent's parts are, what earlier steps left and how the graph is asked is handed in.
    The loop does not take its steps' contexts from here yet; templates are checked against it.
    `concerns` tells whether an inherited unit applies to the step's files; `fresh` asks the
    graph and is called only if the settings enable it.
    """
    parts: list[Part] = []
    if settings.inherit_context is InheritContext.FULL:
        parts += inherited
    elif settings.inherit_context is InheritContext.SUBSET:
        subsets = (_subset(each, concerns) for each in inherited)
        parts += filter(attrgetter("units"), subsets)
    if settings.accumulate_data and outputs:
        parts.append(_accumulated(settings, outputs))
    if settings.fresh_context is FreshContext.ENABLED:
        parts += fresh()
    return parts


def _subset(part: Part, concerns: Callable[[Unit], bool]) -> Part:
    return replace(part, units=tuple(unit for unit in part.units if concerns(unit)))


def _accumulated(settings: ContextSettings, outputs: Sequence[StepOutput]) -> Part:
    whole = settings.accumulation_format is AccumulationFormat.FULL_OUTPUT
    units = tuple(
        Unit(f"step.{output.step}", str(number), output.whole if whole else output.notes)
        for number, output in enumerate(outputs, 1)
    )
    return Part("earlier", "What earlier steps left", units, 0)
