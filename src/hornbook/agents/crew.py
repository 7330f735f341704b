"""Who develops and who reviews: agents by name, each with a model."""

import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from hornbook.agents.assignment import Agent, Usage
from hornbook.agents.command import AgentSurroundings, CommandAgent
from hornbook.agents.profile import Profile, own_profile, shipped
from hornbook.agents.script import Script
from hornbook.agents.scripted_agent import ScriptedAgent
from hornbook.errors import UsageError
from hornbook.process.confinement import Machine
from hornbook.settings.models import Endpoint, Models
from hornbook.settings.settings import EMBEDDED, RESERVED, SCRIPTED, SHIPPED, OwnCommand
from hornbook.settings.surroundings import LimitSettings

Builder = Callable[[], Agent]
SAME_MODEL = (
    "develops and reviews with the same model: configure a second one under `models`, or name two "
    "agents (`--agent claude,codex`)."
)


@dataclass(frozen=True, slots=True)
class ChosenAgent:
    """An agent and the model it is asked for; none leaves that to the agent.

    `models` says of every endpoint that it can be asked for how that is called to it.
    """

    agent: Agent
    model: str | None = None
    models: Mapping[str, str] = field(default_factory=dict)

    def model_of(self, asked: str | None, endpoints: Collection[str]) -> str | None:
        """The model to ask for where `asked` names an endpoint, a model, or nothing.

        An endpoint that is not this agent's says nothing to it: then it is the chosen model.
        """
        if asked is None or asked == "default":
            return self.model
        if asked in self.models:
            return self.models[asked]
        return self.model if asked in endpoints else asked


@dataclass(frozen=True, slots=True)
class Crew:
    """Who does what; `notes` are what a person should know about the choice.

    The first of the `reviewers` is asked, the next if that one cannot be believed, or beside it.
    """

    developer: ChosenAgent
    reviewers: tuple[ChosenAgent, ...]
    planner: ChosenAgent
    notes: tuple[str, ...] = ()

    @property
    def reviewer(self) -> ChosenAgent:
        """Who is asked first."""
        return self.reviewers[0]


@dataclass(frozen=True, slots=True)
class Workplace:
    """What agents need to know of where they work: `logs` keeps what they print.

    `script` is for the scripted agent; `builders` makes agents that are no command lines.
    """

    logs: Path
    surroundings: AgentSurroundings | None = None
    machine: Machine | None = None
    used: LimitSettings = field(default_factory=LimitSettings)
    script: Script | None = None
    builders: Mapping[str, Builder] | None = None


def priced(usage: Usage, endpoint: Endpoint | None) -> Usage:
    """What was used, with its cost by the model's prices where nobody told one."""
    if usage.cost is not None or endpoint is None or not usage.input_tokens:
        return usage
    cost = endpoint.cost(usage.input_tokens, usage.output_tokens)
    return usage if cost is None else replace(usage, cost=cost, currency=endpoint.currency)


def choose_agents(
    own: Mapping[str, OwnCommand], name: str, models: Models, workplace: Workplace
) -> Crew:
    """The developer and the reviewers that a name stands for: `claude`, or `claude,codex,gemini`.

    `models` are those that the team configured. A reviewer gets a model other than the
    developer's when there are two that its command can ask for; the first also plans, with the
    model for planning.

    Raises:
        UsageError: There is no such agent, or its command is not installed.
    """
    first, *others = (part.strip() for part in name.split(","))
    named = tuple(dict.fromkeys(filter(None, others))) or (first,)
    developing = _candidates(own, first, models, "developing")
    planning = _candidates(own, named[0], models, "planning")
    mine = _best(developing)
    reviewing = {each: _candidates(own, each, models, "reviewing") for each in named}
    theirs = {each: _best_beside(mine, able) for each, able in reviewing.items()}
    alone = first == named[0] != SCRIPTED and (mine is None or _same(theirs[first], mine))

    def chosen(name: str, best: Endpoint | None, able: Mapping[str, Endpoint]) -> ChosenAgent:
        # a command knows models, one of ours the endpoints themselves
        by_model = profile_of(own, name) is not None
        called = {each: found.model if by_model else each for each, found in able.items()}
        model = next((called[each] for each, found in able.items() if found is best), None)
        return ChosenAgent(_agent(own, name, workplace, best), model, called)

    return Crew(
        chosen(first, mine, developing),
        tuple(chosen(each, theirs[each], reviewing[each]) for each in named),
        chosen(named[0], _best(planning), planning),
        (f"{first} {SAME_MODEL}",) if alone else (),
    )


def choose_reviewer(
    own: Mapping[str, OwnCommand], name: str, models: Models, workplace: Workplace
) -> ChosenAgent:
    """Who reviews under a name: an agent, or the embedded one for a model's name.

    Raises:
        UsageError: There is no such agent, or its command is not installed.
    """
    if name in models.endpoints and name not in {*RESERVED, *own}:
        only = Models({name: models.endpoints[name]}, {})
        return replace(choose_reviewer(own, EMBEDDED, only, workplace), model=name)
    able = _candidates(own, name, models, "reviewing")
    by_model = profile_of(own, name) is not None
    named = {each: found.model if by_model else each for each, found in able.items()}
    best = next(iter(able), None)
    agent = _agent(own, name, workplace, able[best] if best is not None else None)
    return ChosenAgent(agent, named[best] if best is not None else None, named)


def _best(able: Mapping[str, Endpoint]) -> Endpoint | None:
    return next(iter(able.values()), None)


def _same(one: Endpoint | None, other: Endpoint | None) -> bool:
    """Whether two endpoints ask the same model."""
    if one is None or other is None:
        return one is other
    return (one.provider, one.model) == (other.provider, other.model)


def _candidates(
    own: Mapping[str, OwnCommand], name: str, models: Models, capability: str
) -> dict[str, Endpoint]:
    """Every endpoint that an agent can ask for, by name, best first."""
    profile = profile_of(own, name)
    ordered = dict.fromkeys((*models.capabilities.get(capability, ()), *models.endpoints))
    known = {each: models.endpoints[each] for each in ordered if each in models.endpoints}
    if profile is None:
        return {} if name == SCRIPTED else known
    return {
        each: endpoint
        for each, endpoint in known.items()
        if endpoint.provider in profile.providers and _takes_model(profile)
    }


def _takes_model(profile: Profile) -> bool:
    """Whether a model can be named when the command is called."""
    parts = (*profile.model, *profile.developer, *profile.reviewer)
    return any("{model}" in part for part in parts)


def profile_of(own: Mapping[str, OwnCommand], name: str) -> Profile | None:
    """How the command of a name is called; None for an agent that is no command line."""
    if name in own:
        return own_profile(name, own[name])
    return shipped(name) if name in SHIPPED else None


def _best_beside(other: Endpoint | None, able: Mapping[str, Endpoint]) -> Endpoint | None:
    """The first that is not the other's model; where there is none, the best."""
    if other is None:
        return _best(able)
    return next((each for each in able.values() if not _same(each, other)), _best(able))


def _no_agent(name: str, others: Iterable[str]) -> UsageError:
    known = sorted(others)
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}."
    return UsageError(f"no agent {name!r}: {hint}")


def _agent(
    own: Mapping[str, OwnCommand],
    name: str,
    workplace: Workplace,
    model: Endpoint | None,
) -> Agent:
    builders = workplace.builders or {}
    if name in builders:
        return builders[name]()
    if name == SCRIPTED:
        return ScriptedAgent(workplace.script or Script(), workplace.logs)
    profile = profile_of(own, name)
    if profile is None:
        raise _no_agent(name, {*RESERVED, *own, *builders} - ({EMBEDDED} - builders.keys()))
    if shutil.which(profile.program) is None:
        raise UsageError(
            f"agent {name}: {profile.program} is not installed or not on PATH: {profile.install}."
        )
    return CommandAgent(
        profile,
        workplace.logs,
        workplace.surroundings,
        workplace.machine,
        provider=model.provider if model else "",
        endpoints=(model.url,) if model and model.url else (),
        key_variable=model.key_variable or "" if model else "",
        used=workplace.used,
    )
