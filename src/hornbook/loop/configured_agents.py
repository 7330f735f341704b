"""The agents that settings and `--agent` name, set up to work in a loop, and the loop itself."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from hornbook.agents.assignment import (
    Agent,
    Answer,
    Assignment,
    Limits,
    Record,
    Role,
)
from hornbook.agents.command import AgentSurroundings, StartsProgram
from hornbook.agents.crew import (
    ChosenAgent,
    Crew,
    Workplace,
    choose_agents,
    choose_reviewer,
    priced,
)
from hornbook.agents.script import Script, parse_script
from hornbook.disk import now
from hornbook.gates.gate_list import gates_now
from hornbook.gates.gate_run import made_by
from hornbook.graph.repository import Repository
from hornbook.loop.loop import open_loop
from hornbook.loop.protocol import Loop
from hornbook.loop.task_worktrees import TaskWorktrees
from hornbook.plans.principal import Principal
from hornbook.process.confinement import Reach, this_machine
from hornbook.settings.models import Endpoint, Models
from hornbook.settings.places import Places
from hornbook.settings.settings import EMBEDDED, RESERVED, Settings, Sight

SCRIPT = "scripted.yaml"


@dataclass(frozen=True, slots=True)
class _WithModel:
    """An agent that is asked for the model that was chosen for it, unless one is named.

    `endpoints` are all that there are: a command is told models, never their names. `notes` are
    told of each assignment.
    """

    chosen: ChosenAgent
    endpoints: Mapping[str, Endpoint]
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the agent is called."""
        return self.chosen.agent.name

    @property
    def reach(self) -> Reach | None:
        """Which network its program has here; None if it starts none."""
        agent = self.chosen.agent
        return agent.reach if isinstance(agent, StartsProgram) else None

    def work(self, assignment: Assignment, record: Record) -> Answer:
        """Do the assignment and answer."""
        for note in self.notes:
            record({"kind": "agent.note", "note": note})
        model = self.chosen.model_of(assignment.model, self.endpoints)
        answer = self.chosen.agent.work(replace(assignment, model=model), record)
        return replace(answer, usage=priced(answer.usage, self.endpoint_of(model)))

    def asked_at(self, model: str | None) -> Endpoint | None:
        """The endpoint for a model that a step names."""
        return self.endpoint_of(self.chosen.model_of(model, self.endpoints))

    def endpoint_of(self, model: str | None) -> Endpoint | None:
        """The endpoint that a model, as it is called to the agent, is asked at."""
        name = self.name_of(model)
        return None if name is None else self.endpoints[name]

    def name_of(self, model: str | None) -> str | None:
        """What the settings call that endpoint."""
        named = self.chosen.models.items()
        return next((name for name, called in named if called == model), None)


@dataclass(frozen=True, slots=True)
class Appointment:
    """Somebody who is about to work: in which role, and the model's endpoint, if it is known.

    `blind` is whether the role must not read rules.
    """

    role: Role
    agent: Agent
    endpoint: Endpoint | None
    blind: bool = False


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Somebody who can review: `model` as it is asked for, at which endpoint, if that is known.

    `reask` is how often an invalid review is asked for again.
    """

    name: str
    agent: _WithModel
    reask: int

    @property
    def model(self) -> str | None:
        """The model that is asked for; none leaves it to the agent."""
        return self.endpoint.model if self.endpoint is not None else self.agent.chosen.model

    @property
    def endpoint_name(self) -> str | None:
        """What the settings call its endpoint."""
        return self.agent.name_of(self.agent.chosen.model)

    @property
    def endpoint(self) -> Endpoint | None:
        """Where it is asked, if the settings say so."""
        return self.agent.endpoint_of(self.agent.chosen.model)

    @property
    def appointment(self) -> Appointment:
        """Who it is that is about to review."""
        return Appointment(Role.REVIEWER, self.agent.chosen.agent, self.endpoint)

    @property
    def window(self) -> int:
        """How much it can read; 0 if that is not known."""
        return self.endpoint.max_tokens if self.endpoint is not None else 0

    @property
    def seconds(self) -> int:
        """How long one call may take."""
        own = self.endpoint.call_seconds if self.endpoint is not None else 0
        return own or Limits().seconds


class WorkspaceStaff:
    """Everybody who can be asked in a workspace; commands are confined as far as it can be."""

    def __init__(self, places: Places, settings: Settings) -> None:
        self._root = places.root
        self._places = places
        self._settings = settings
        self._crews: dict[str, Crew] = {}

    def worker(self, role: Role, name: str | None) -> _WithModel | None:
        """Who does a role, or the one of that name; None if nobody does.

        Raises:
            UsageError: Nobody has that name, or its command is not installed.
        """
        if role is Role.REVIEWER:
            return next(iter(self.reviewers(name)), None)
        crew = self._crew(name)
        if crew is None:
            return None
        return self._with_model(crew.developer if role is Role.DEVELOPER else crew.planner)

    def reviewers(self, name: str | None) -> "list[_WithModel]":
        """Who reviews, in the order in which they are asked; none if nobody does.

        Raises:
            UsageError: Nobody has that name, or its command is not installed.
        """
        crew = self._crew(name)
        if crew is None:
            return []
        return [self._with_model(each, crew.notes) for each in crew.reviewers]

    def appointed(self, name: str | None) -> list[Appointment]:
        """Who is about to develop and to review, by the name that stands for both.

        Raises:
            UsageError: Nobody has that name, or its command is not installed.
        """
        crew = self._crew(name)
        if crew is None:
            return []
        developer = self._with_model(crew.developer)
        blind = self._settings.developer_sees == Sight.BLIND
        endpoint = developer.endpoint_of(crew.developer.model)
        found = [Appointment(Role.DEVELOPER, crew.developer.agent, endpoint, blind)]
        for each in map(self._with_model, crew.reviewers):
            model = each.endpoint_of(each.chosen.model)
            found.append(Appointment(Role.REVIEWER, each.chosen.agent, model))
        return found

    def _with_model(self, chosen: ChosenAgent, notes: tuple[str, ...] = ()) -> _WithModel:
        return _WithModel(chosen, self._settings.registry().endpoints, notes)

    def _crew(self, name: str | None) -> Crew | None:
        wanted = name or self._settings.engine.agent
        if wanted and wanted not in self._crews:
            self._crews[wanted] = choose_agents(
                self._settings.agents, wanted, self._models(), self._workplace
            )
        return self._crews[wanted] if wanted else None

    def reviewer(self, name: str) -> Reviewer:
        """Who reviews under a name: an agent's, or a model's for one behind an endpoint.

        Raises:
            UsageError: Nobody has that name, or its command is not installed.
        """
        everything = self._settings.registry()
        # a model is named, so that those we ship count too; an agent is told the team's own only
        known = self._models() if name in {*RESERVED, *self._settings.agents} else everything
        chosen = choose_reviewer(self._settings.agents, name, known, self._workplace)
        worker = _WithModel(chosen, everything.endpoints)
        return Reviewer(name, worker, self._settings.engine.reask)

    def _models(self) -> Models:
        own = self._settings.models
        return Models(own.endpoints, own.capabilities)

    @cached_property
    def _workplace(self) -> Workplace:
        script = self._places.state / SCRIPT
        blind = self._settings.developer_sees == Sight.BLIND
        return Workplace(
            logs=(self._places.aside or self._places.state) / "logs" / "agents",
            surroundings=AgentSurroundings.of(self._root, blind=blind),
            machine=this_machine(),
            used=self._settings.engine.limits,
            script=parse_script(script.read_text("utf-8"), script.name)
            if script.is_file()
            else Script(),
            builders={EMBEDDED: self._embedded},
        )

    def _embedded(self) -> Agent:
        # Its developer loads what no other agent needs.
        from hornbook.agents.embedded.embedded_agent import EmbeddedAgent  # noqa: PLC0415  # only for models

        return EmbeddedAgent(self._root, self._places.state / "embedded", self._settings)


def loop_of(work: Repository, by: Principal | None = None) -> Loop:
    """The loop of a workspace with the agents that its settings name.

    `by` is who wants what is begun, by default whoever runs this process.
    """
    made = made_by(gates_now(work.root).ready)
    return open_loop(
        work.places,
        work.settings,
        WorkspaceStaff(work.places, work.settings),
        now,
        worktrees=TaskWorktrees(work.root, made),
        by=by,
    )
