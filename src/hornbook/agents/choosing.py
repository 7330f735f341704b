"""Who develops and who reviews: agents by name, each with a model."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from hornbook.agents.command import CommandAgent
from hornbook.agents.confining import Surroundings
from hornbook.agents.profile import (
    EMBEDDED,
    RESERVED,
    SCRIPTED,
    SHIPPED,
    OwnCommand,
    Profile,
    own_profile,
    shipped,
)
from hornbook.agents.protocol import Agent
from hornbook.agents.script import Script
from hornbook.agents.scripted import ScriptedAgent
from hornbook.errors import UsageError
from hornbook.model.budget import Models
from hornbook.process.confinement import Machine

Builder = Callable[[], Agent]


@dataclass(frozen=True, slots=True)
class Chosen:
    """An agent and the model it is asked for; none leaves that to the agent."""

    agent: Agent
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Crew:
    """Who does what; `notes` are what a person should know about the choice."""

    developer: Chosen
    reviewer: Chosen
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workplace:
    """What agents need to know of where they work: `logs` keeps what they print.

    `script` is for the scripted agent; `builders` makes agents that are no command lines.
    """

    logs: Path
    surroundings: Surroundings | None = None
    machine: Machine | None = None
    script: Script | None = None
    builders: Mapping[str, Builder] | None = None


def choose_agents(
    own: Mapping[str, OwnCommand], name: str, models: Models, workplace: Workplace
) -> Crew:
    """The developer and the reviewer that a name stands for: `claude`, or `claude,codex`.

    `models` are those that the team configured. The reviewer gets a model other than the
    developer's when there are two that its command can ask for.

    Raises:
        UsageError: There is no such agent, or its command is not installed.
    """
    first, _, second = (part.strip() for part in name.partition(","))
    developing = _candidates(own, first, models, "developing")
    reviewing = _candidates(own, second or first, models, "reviewing")
    mine = developing[0] if developing else None
    other = next((each for each in reviewing if each != mine), None)
    theirs = other if mine is not None and other is not None else next(iter(reviewing), None)
    notes = []
    if first == (second or first) and first != SCRIPTED and (mine is None or theirs == mine):
        notes.append(
            f"{first} develops and reviews with the same model: configure a second one under "
            "`models`, or name two agents (`--agent claude,codex`)."
        )
    developer = _agent(own, first, workplace, mine)
    reviewer = _agent(own, second or first, workplace, theirs)
    return Crew(
        Chosen(developer, mine[1] if mine else None),
        Chosen(reviewer, theirs[1] if theirs else None),
        tuple(notes),
    )


def _candidates(
    own: Mapping[str, OwnCommand], name: str, models: Models, capability: str
) -> list[tuple[str, str]]:
    """Provider and model of every endpoint that an agent can ask for, best first."""
    profile = _profile(own, name)
    ordered = dict.fromkeys((*models.capabilities.get(capability, ()), *models.endpoints))
    known = [models.endpoints[each] for each in ordered if each in models.endpoints]
    if profile is None:
        return [] if name == SCRIPTED else [(each.provider, each.model) for each in known]
    return [
        (each.provider, each.model)
        for each in known
        if each.provider in profile.providers and _takes_model(profile)
    ]


def _takes_model(profile: Profile) -> bool:
    """Whether a model can be named when the command is called."""
    parts = (*profile.model, *profile.developer, *profile.reviewer)
    return any("{model}" in part for part in parts)


def _profile(own: Mapping[str, OwnCommand], name: str) -> Profile | None:
    if name in own:
        return own_profile(name, own[name])
    return shipped(name) if name in SHIPPED else None


def _agent(
    own: Mapping[str, OwnCommand],
    name: str,
    workplace: Workplace,
    model: tuple[str, str] | None,
) -> Agent:
    builders = workplace.builders or {}
    if name in builders:
        return builders[name]()
    if name == SCRIPTED:
        return ScriptedAgent(workplace.script or Script(), workplace.logs)
    profile = _profile(own, name)
    if profile is None:
        known = sorted({*RESERVED, *own, *builders} - ({EMBEDDED} - builders.keys()))
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}."
        raise UsageError(f"no agent {name!r}: {hint}")
    if shutil.which(profile.program) is None:
        raise UsageError(
            f"agent {name}: {profile.program} is not installed or not on PATH: {profile.install}."
        )
    return CommandAgent(
        profile,
        workplace.logs,
        workplace.surroundings,
        workplace.machine,
        provider=model[0] if model else "",
    )
