"""The GraphQL types of runs: their steps, gates, costs, and who answered what they asked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hornbook.gates.gate import GateResult, GateStatus, gate_result
from hornbook.loop.runs.overview import GivenAnswer, RunLine
from hornbook.plans import run_kinds
from hornbook.plans.events import Event
from hornbook.plans.principal import Principal
from hornbook.plans.run_costs import DOLLARS, RunCost, paid_costs
from hornbook.review.review_history import RecordedReceipt, RecordedReview
from hornbook.serve.answers import RunEvent, WholePlan
from hornbook.serve.graphql.connections import ListPage, PageAsked, connection
from hornbook.serve.graphql.context import Asking
from hornbook.serve.graphql.derived import derive, gives, later, several
from hornbook.serve.graphql.enums import Moment, RunStatus
from hornbook.serve.graphql.request_data import PlannedTask
from hornbook.serve.graphql.rule_types import reviews_page
from hornbook.serve.graphql.types import PRINCIPAL, RUN_COST
from hornbook.serve.graphql.work_types import (
    PLAN,
    RECEIPT,
    REVIEW,
    REVIEW_CONNECTION,
    TASK,
)

ROLES = {
    run_kinds.DEVELOP: "developer",
    run_kinds.REVIEW: "reviewer",
    run_kinds.PLAN: "planner",
}


@dataclass(frozen=True, slots=True)
class RunStep:
    """One step of a run; `ended_at` and `result` are None while it goes on or was cut off.

    `tokens` are those that agents say they read and wrote, `receipts` the ids of what reviewers
    were handed, `review` the id of the record that was kept of their answer.
    """

    run: str
    step: str
    role: str
    round: int
    number: int
    attempt: int
    started_at: str
    ended_at: str | None = None
    result: str | None = None
    error: str | None = None
    tokens: int = 0
    receipts: tuple[str, ...] = ()
    gates: tuple[GateResult, ...] = ()
    review: str | None = None


def run_steps(events: Iterable[Event]) -> tuple[RunStep, ...]:
    """The steps that some events of one run tell of, in the order in which they were begun.

    A step that was begun again is told once, from its first beginning on.
    """
    found: dict[tuple[object, object], RunStep] = {}
    attempt = 1
    for event in events:
        place = (event.data.get("round"), event.data.get("number"))
        if event.kind == run_kinds.STEP_STARTED and place not in found:
            found[place] = _begun(event, attempt)
        if event.kind == run_kinds.DEVELOP:
            attempt = run_kinds.attempt(event)["attempt"]
        if place in found:
            found[place] = _with(found[place], event)
    return tuple(found.values())


def _begun(event: Event, attempt: int) -> RunStep:
    data = event.data
    return RunStep(
        run=str(data["run"]),
        step=str(data["step"]),
        role=ROLES.get(str(data["subject"]), str(data["step"])),
        round=int(data["round"]),
        number=int(data["number"]),
        attempt=attempt,
        started_at=event.at,
    )


def _with(step: RunStep, event: Event) -> RunStep:
    """The step with what an event at its place adds."""
    usage = event.data.get("usage")
    if isinstance(usage, Mapping):
        step = replace(step, tokens=step.tokens + usage["input_tokens"] + usage["output_tokens"])
    if event.kind == run_kinds.DEVELOP:
        return replace(step, attempt=run_kinds.attempt(event)["attempt"])
    if event.kind == run_kinds.REVIEW:
        receipt = f"receipt.{run_kinds.review_answer(event)['receipt_sha256'][:16]}"
        return replace(step, receipts=tuple(dict.fromkeys((*step.receipts, receipt))))
    if event.kind == run_kinds.GATED:
        return replace(step, gates=tuple(map(gate_result, run_kinds.gates(event)["gates"])))
    if event.kind == run_kinds.CHECKED:
        return replace(step, review=run_kinds.checked(event)["record"])
    if event.kind == run_kinds.STEP_FINISHED:
        done = run_kinds.step_result(event)
        return replace(step, ended_at=event.at, result=done["result"], error=done.get("error"))
    return step


@gives(str | None)
def origin(self: GateResult, info: Asking) -> str | None:
    """Where its command is defined now; null for a floor, or where there is no such gate now."""
    return info.context.data.gate_origins.get(self.name) or None


GATE = derive(
    GateResult,
    "How one gate ended: `output` is what matters of what it printed.",
    name="Gate",
    hidden=("log",),
    types={"status": GateStatus},
    more=(origin,),
)


@gives(later("RUN", __name__), name="run")
def step_run(self: RunStep, info: Asking) -> RunLine:
    """The run that it is a step of."""
    return info.context.data.runs[self.run]


@gives(RECEIPT | None)
def receipt(self: RunStep, info: Asking) -> RecordedReceipt | None:
    """The receipt of what a reviewer was handed first; null for other roles."""
    return info.context.data.receipt(self.receipts[0]) if self.receipts else None


@gives(REVIEW | None, name="review")
def step_review(self: RunStep, info: Asking) -> RecordedReview | None:
    """The review that was recorded; null where the step checked none."""
    return info.context.data.review(self.review or "")


STEP = derive(
    RunStep,
    "One step of a run: one role, once.",
    name="Step",
    hidden=("run", "receipts", "review"),
    types={"started_at": Moment, "ended_at": Moment | None},
    more=(step_run, receipt, step_review),
)


@gives(PLAN | None)
def plan_node(self: RunLine, info: Asking) -> WholePlan | None:
    """The plan that it is a run of."""
    return info.context.data.plans.get(self.plan)


@gives(TASK | None)
def task_node(self: RunLine, info: Asking) -> PlannedTask | None:
    """The task that it is a run of; null for the run of a whole plan."""
    return None if self.task is None else info.context.data.task(self.task)


@gives(several(STEP))
def steps(self: RunLine, info: Asking) -> tuple[RunStep, ...]:
    """Its steps in the order in which they were begun."""
    return run_steps(info.context.data.events(self.id))


@gives(RUN_COST | None)
def cost(self: RunLine, info: Asking) -> RunCost | None:
    """What agents told that it cost so far; null where none told, or in several currencies."""
    told = paid_costs(info.context.data.events(self.id)).spent()
    return None if told.amount is None else RunCost(told.amount, told.currency or DOLLARS)


@gives(several(RUN_COST))
def costs(self: RunLine, info: Asking) -> tuple[RunCost, ...]:
    """What agents told that it cost so far, an amount for each currency."""
    return paid_costs(info.context.data.events(self.id)).spent().amounts


@gives(int)
def tokens(self: RunLine, info: Asking) -> int:
    """The tokens that agents say they read and wrote so far."""
    from hornbook.plans.run_records import spent  # noqa: PLC0415  # start-up

    return spent(info.context.data.events(self.id)).tokens


@gives(str | None)
def question(self: RunLine, info: Asking) -> str | None:
    """What a person is asked; null where nothing is asked."""
    if self.status != RunStatus.ASKING:
        return None
    from hornbook.plans.run_records import open_question, question_text  # noqa: PLC0415  # the same

    asked = open_question(info.context.data.events(self.id))
    return self.message if asked is None else question_text(asked)


@gives(PRINCIPAL | None)
def answered_by(self: RunLine, info: Asking) -> Principal | None:
    """Who answered last what it asked; null where nobody did."""
    events = info.context.data.events(self.id)
    answers = (event for event in reversed(events) if event.kind == run_kinds.ANSWERED)
    answer = next(answers, None)
    return None if answer is None else answer.principal


@gives(REVIEW_CONNECTION)
def reviews(
    self: RunLine,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """The reviews that were recorded in it, the newest first."""
    mine = [each for each in info.context.data.reviews if each.run == self.id]
    return reviews_page(mine, PageAsked(first, after, last, before))


RUN = derive(
    RunLine,
    "A run of a task, or of a whole plan.",
    name="Run",
    node=True,
    ids=("task",),
    texts={
        "status": "running, waiting, asking, or how it ended: approved, stopped and others.",
        "step": "The step that comes next; empty if there is none.",
        "message": "What it asks a person, or why it ended.",
    },
    kinds={"status": RunStatus},
    more=(plan_node, task_node, steps, cost, costs, tokens, question, answered_by, reviews),
)
RUN_CONNECTION = connection("Run", RUN)

GIVEN_ANSWER = derive(
    GivenAnswer, "What a person said to a run, and how the run stands since.", ids=("run",)
)
RUN_EVENT = derive(
    RunEvent,
    "Something that happened in a run; `seq` is the place to go on from.",
    ids=("run",),
)
