"""The GraphQL types of plans, runs and reviews."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import strawberry
from strawberry.scalars import JSON

from hornbook.plans import plan as model
from hornbook.plans.events import Event
from hornbook.review import judgement, review_history
from hornbook.serve.graphql.answer_types import Problem

if TYPE_CHECKING:  # they load SQLAlchemy, which a query in process need not wait for
    from hornbook.loop.runs.book import RunLine
    from hornbook.plans.store import PlanView


@strawberry.type(description="Globs of the files that a plan may change, and must not.")
class Constraints:
    """How far the work on a plan may reach."""

    inside: list[str] = strawberry.field(name="in")
    outside: list[str] = strawberry.field(name="out")
    do_not_touch: list[str]


@strawberry.type(description="A decision that was taken with a plan.")
class PlanDecision:
    """A decision with its reason, and what it replaces."""

    id: strawberry.ID
    decision: str
    reason: str
    impact: str
    at: str
    supersedes: strawberry.ID | None
    superseded_by: strawberry.ID | None


@strawberry.type(description="What may go wrong with a plan.")
class Risk:
    """A risk as it was last said."""

    id: strawberry.ID
    severity: str
    text: str
    at: str


@strawberry.type(description="A task of a plan, as it was fixed.")
class PlanTask:
    """A task; `depends_on` are the numbers of those that come first."""

    id: strawberry.ID
    number: int
    title: str
    description: str
    files: list[str]
    creates: list[str]
    criteria: list[str]
    depends_on: list[int]


@strawberry.type(description="A change to a committed plan.")
class Amendment:
    """Which parts of a plan were changed, why, when and by whom."""

    changed: list[str]
    reason: str
    at: str
    actor: str


@strawberry.type(description="A plan: a commitment, or an exploration that may become one.")
class Plan:
    """A plan as its events leave it."""

    id: strawberry.ID
    slug: str
    title: str
    status: str = strawberry.field(description="exploring, committed or superseded.")
    committed: bool
    active: bool
    situation: str
    mission: str
    execution: str
    constraints: Constraints
    coordination: str
    created_at: str
    committed_at: str | None
    supersedes: str | None
    superseded_by: str | None
    decisions: list[PlanDecision]
    risks: list[Risk]
    tasks: list[PlanTask]
    amendments: list[Amendment]
    problems: list[Problem]


@strawberry.type(description="A run of a task, or of a whole plan.")
class Run:
    """A run in a line: what it is about, and how it stands."""

    id: strawberry.ID
    plan: str
    task: strawberry.ID | None
    workflow: str
    status: str = strawberry.field(
        description="running, waiting, asking, or how it ended: approved, stopped and others."
    )
    step: str = strawberry.field(description="The step that comes next; empty if there is none.")
    attempt: int
    message: str = strawberry.field(description="What it asks a person, or why it ended.")
    started_at: str
    updated_at: str


@strawberry.type(description="Something that happened in a run; `seq` is the place to go on from.")
class RunEvent:
    """An event of a plan's log."""

    seq: int
    plan: str
    run: strawberry.ID | None
    kind: str
    at: str
    actor: str
    data: JSON


@strawberry.type(description="A recorded review.")
class PastReview:
    """A recorded review: its outcome and when it was given."""

    id: strawberry.ID
    outcome: str
    at: str
    receipts: list[strawberry.ID]


@strawberry.type(description="How often a rule was violated, kept or waved away.")
class RuleRecord:
    """How reviews answered a rule; without `last` none did."""

    id: strawberry.ID
    violated: int
    passed: int
    not_applicable: int
    last: str | None
    doubted: int = strawberry.field(description="How many of the answers carry a warning.")


@strawberry.type(description="Why a review is not accepted as it is.")
class ReviewProblem:
    """A code, the rule if there is one, and the remedy."""

    code: str
    sop_id: strawberry.ID | None
    message: str


@strawberry.type(description="Something that a judgement rests on.")
class Finding:
    """A rule's state with the first place cited for it."""

    sop_id: str
    severity: str
    status: str
    path: str | None
    line: int | None
    message: str


@strawberry.type(description="What follows from a review; nothing is recorded.")
class Judgement:
    """The outcome of a review, derived."""

    outcome: str = strawberry.field(description="approved, rejected, escalate or invalid.")
    rejection_type: str | None
    route: str | None = strawberry.field(description="Who works on the change next.")
    problems: list[ReviewProblem]
    findings: list[Finding]
    explanation: list[str]
    feedback: str
    disagreements: list[str]
    notes: list[str]
    base: str | None
    head: str | None
    warnings: list[ReviewProblem] = strawberry.field(
        description="What keeps nothing from being approved and a person should look at."
    )


def plan_of(view: "PlanView", active: str | None) -> Plan:
    """A plan as a GraphQL answer."""
    plan, state = view.plan, view.state
    facts = {name: getattr(plan, name) for name in _PLAIN}
    return Plan(
        **facts,
        id=strawberry.ID(plan.id),
        status=state.status,
        active=plan.slug == active,
        constraints=Constraints(
            inside=list(plan.constraints.inside),
            outside=list(plan.constraints.outside),
            do_not_touch=list(plan.constraints.do_not_touch),
        ),
        superseded_by=state.superseded_by,
        decisions=[PlanDecision(**asdict(each)) for each in state.decisions],
        risks=[Risk(**asdict(each)) for each in state.risks],
        tasks=[_task(each, plan.slug) for each in state.tasks],
        amendments=[Amendment(**asdict(each)) for each in state.amendments],
        problems=[Problem(**asdict(each)) for each in view.problems],
    )


_PLAIN = (
    "slug",
    "title",
    "committed",
    "situation",
    "mission",
    "execution",
    "coordination",
    "created_at",
    "committed_at",
    "supersedes",
)


def _task(task: model.PlanTask, slug: str) -> PlanTask:
    facts = {name: value for name, value in asdict(task).items() if name != "line"}
    return PlanTask(**facts, id=strawberry.ID(task.id_in(slug)))


def run_of(line: "RunLine") -> Run:
    """A run as a GraphQL answer."""
    return Run(**asdict(line))


def run_event(event: Event) -> RunEvent:
    """An event as a GraphQL answer."""
    return RunEvent(
        seq=event.seq,
        plan=event.plan,
        run=event.data.get("run"),
        kind=event.kind,
        at=event.at,
        actor=event.actor,
        data=JSON(event.data),
    )


def past_review(found: review_history.PastReview) -> PastReview:
    """A recorded review as a GraphQL answer."""
    return PastReview(**{**asdict(found), "receipts": list(found.receipts)})


def rule_record(found: review_history.RuleRecord) -> RuleRecord:
    """A rule's record as a GraphQL answer."""
    return RuleRecord(**asdict(found))


def judgement_of(found: judgement.Judgement) -> Judgement:
    """A judgement as a GraphQL answer."""
    return Judgement(
        outcome=found.outcome,
        rejection_type=found.rejection_type,
        route=found.route,
        problems=[ReviewProblem(**asdict(each)) for each in found.problems],
        findings=[Finding(**asdict(each)) for each in found.findings],
        explanation=list(found.explanation),
        feedback=found.feedback,
        disagreements=list(found.disagreements),
        notes=list(found.notes),
        base=found.base,
        head=found.head,
        warnings=[ReviewProblem(**asdict(each)) for each in found.warnings],
    )
