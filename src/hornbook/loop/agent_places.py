"""The agents and models that a step asks, as the limits of `engine.at_once` call them."""

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from hornbook.agents.assignment import Agent, Role
from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.loop.runs.state import RunState
from hornbook.loop.steps.services import LoopServices
from hornbook.loop.workflow.interpreter import Do
from hornbook.plans import run_kinds as kinds
from hornbook.plans.run_kinds import DEVELOP, REVIEW
from hornbook.settings.models import Endpoint
from hornbook.settings.surroundings import AtOnceSettings

_ROLES = {DEVELOP: Role.DEVELOPER, kinds.PLAN: Role.PLANNER}


@runtime_checkable
class AsksModel(Protocol):
    """An agent of which it is known where its model is asked."""

    def asked_at(self, model: str | None) -> Endpoint | None:
        """The endpoint for a model that a step names."""
        ...


def limited_places(limits: AtOnceSettings) -> dict[str, int]:
    """How many steps may use each of what is limited, by the name of its places."""
    agents = {f"agent:{name}": most for name, most in limits.agents.items()}
    return agents | {f"endpoint:{name}": most for name, most in limits.endpoints.items()}


def lacking(
    services: LoopServices, run: RunState, do: Do, held: Collection[str] | None
) -> StepOutcome | None:
    """That a step has to wait for places which it does not hold; None if it may be done."""
    limits = services.settings.engine.at_once
    if held is None or not (limits.agents or limits.endpoints):
        return None
    needs = sorted(_needed(services, run, do) & limited_places(limits).keys())
    if set(needs) <= set(held):
        return None
    said = f"needs a place: {', '.join(needs)}"
    return StepOutcome(
        StepKind.CONTINUED, run.id, status="running", message=said, needs=tuple(needs)
    )


def _needed(services: LoopServices, run: RunState, do: Do) -> set[str]:
    asked: list[Agent | None] = []
    if do.action.subject == REVIEW:  # whoever is not believed is followed by the next
        asked += services.staff.reviewers(run.agent)
    elif do.action.subject in _ROLES:
        asked.append(services.staff.worker(_ROLES[do.action.subject], run.agent))
    found = set()
    for agent in asked:
        if agent is not None:
            found.add(f"agent:{agent.name}")
            endpoint = agent.asked_at(do.action.model) if isinstance(agent, AsksModel) else None
            if endpoint is not None:
                found.add(f"endpoint:{endpoint.host}")
    return found
