"""What REST takes and gives about plans, runs and reviews; the shapes are those of `--json`."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from hornbook.loop.runs.book import RunLine
from hornbook.plans.events import Event
from hornbook.plans.plan import Invariant, PlanDecision, Risk
from hornbook.plans.state import Amendment, constraints_data, task_data
from hornbook.plans.store import PlanView
from hornbook.rules.document import Problem
from hornbook.serve.rest.bodies import Name, RequestBody, Text

Title = Annotated[str, StringConstraints(min_length=1, max_length=200)]
# What stands in a review and its receipt is judged there, key by key.
Json = dict[str, Any]


class CheckBody(RequestBody):
    """A review with its receipt and gate results; several reviews or receipts as lists."""

    review: Json | str | list[Json | str]
    receipt: Json | list[Json]
    gates: Json | None = None


class PlanBody(RequestBody):
    """A plan to begin; `text` is Markdown with its sections."""

    title: Title
    text: Text | None = None
    committed: bool = False
    supersedes: Name | None = None


class ExecuteBody(RequestBody):
    """What to execute: the whole plan, or one task, by a named agent if one is."""

    task: Name | None = None
    agent: Name | None = None


class AnswerBody(RequestBody):
    """What a person says to a run that asks."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]


class ConstraintsAnswer(BaseModel):
    """How far the work on a plan may reach."""

    model_config = ConfigDict(populate_by_name=True)

    inside: list[str] = Field(alias="in")
    outside: list[str] = Field(alias="out")
    do_not_touch: list[str]


class TaskAnswer(BaseModel):
    """A task of a plan, as it was fixed; `depends_on` are numbers."""

    id: str
    number: int
    title: str
    description: str
    files: list[str]
    creates: list[str]
    criteria: list[str]
    depends_on: list[int]
    line: int


class PlanAnswer(BaseModel):
    """A plan as its events leave it."""

    id: str
    slug: str
    title: str
    committed: bool
    situation: str
    mission: str
    execution: str
    constraints: ConstraintsAnswer
    coordination: str
    created_at: str
    committed_at: str | None
    supersedes: str | None
    status: str
    active: bool
    superseded_by: str | None
    decisions: list[PlanDecision]
    risks: list[Risk]
    tasks: list[TaskAnswer]
    amendments: list[Amendment]
    invariants: list[Invariant]
    problems: list[Problem]


class PlansAnswer(BaseModel):
    """Every plan."""

    plans: list[PlanAnswer]


@dataclass(frozen=True, slots=True)
class RunsAnswer:
    """Some runs, newest first."""

    runs: tuple[RunLine, ...]


def plan_answer(view: PlanView, active: str | None) -> PlanAnswer:
    """A plan as it is answered."""
    plan, state = view.plan, view.state
    facts: dict[str, Any] = {  # pydantic checks each of them
        **asdict(plan),
        "id": plan.id,
        "constraints": constraints_data(plan.constraints),
        "status": state.status,
        "active": plan.slug == active,
        "superseded_by": state.superseded_by,
        "decisions": state.decisions,
        "risks": state.risks,
        "tasks": [{"id": each.id_in(plan.slug), **task_data(each)} for each in state.tasks],
        "amendments": state.amendments,
        "invariants": state.invariants,
        "problems": view.problems,
    }
    return PlanAnswer(**facts)


def event_answer(event: Event) -> dict[str, object]:
    """An event as it is told."""
    return {
        "seq": event.seq,
        "plan": event.plan,
        "run": event.data.get("run"),
        "kind": event.kind,
        "at": event.at,
        "actor": event.actor,
        "data": event.data,
    }
