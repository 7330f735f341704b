"""The GraphQL types of plans, tasks, decisions, reviews and what they rest on, linked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hornbook.loop.runs.overview import RunLine
from hornbook.plans.plan import Constraints, PlanDecision, Risk, TaskType
from hornbook.plans.state import Amendment, PlanStatus
from hornbook.review.judgement import (
    CanaryResult,
    Finding,
    Judgement,
    RejectionType,
    ReviewProblem,
    Route,
    Ruling,
)
from hornbook.review.review_history import ReceiptUnit, RecordedReceipt, RecordedReview
from hornbook.rules.catalog import Entry
from hornbook.serve.answers import TaskAnswer, WholePlan
from hornbook.serve.graphql.connections import ListPage, PageAsked, connection
from hornbook.serve.graphql.context import Asking
from hornbook.serve.graphql.derived import derive, gives, later, several
from hornbook.serve.graphql.enums import FindingStatus, Moment, RunStatus
from hornbook.serve.graphql.request_data import KnownDecision, PlannedTask
from hornbook.serve.graphql.rule_types import FILE, RULE, RepositoryFile
from hornbook.vocabulary.terms import Severity

_RUNS = "hornbook.serve.graphql.run_types"

REVIEW_PROBLEM = derive(ReviewProblem, "Why a review is not accepted as it is.", ids=("sop_id",))


# Reviews and what they rest on


@gives(RULE | None)
def rule(self: Finding, info: Asking) -> Entry | None:
    """The rule that it is about; null where it is none's, or the rule is gone."""
    return info.context.data.rule(self.sop_id)


@gives(later("REVIEW", __name__) | None)
def review(self: Finding, info: Asking) -> RecordedReview | None:
    """The recorded review that it is a finding of; null where nothing is recorded."""
    return info.context.data.review(getattr(self, "review_id", ""))


FINDING = derive(
    Finding,
    "Something that a judgement rests on.",
    kinds={"severity": Severity, "status": FindingStatus},
    more=(rule, review),
)
FINDING_CONNECTION = connection("Finding", FINDING)


@gives(several(RULE), name="rules")
def receipt_rules(self: RecordedReceipt, info: Asking) -> list[Entry]:
    """The rules that the packet holds, as far as they are still there."""
    return info.context.data.rules(self.rules)


derive(
    ReceiptUnit,
    "A section of a large rule that a packet holds as a question of its own.",
    ids=("sop_id",),
    kinds={"severity": Severity},
)
RECEIPT = derive(
    RecordedReceipt,
    "A receipt: what a reviewer was handed. `verified` says that it is as it was written.",
    name="Receipt",
    node=True,
    hidden=("rules",),
    more=(receipt_rules,),
)


@gives(RECEIPT | None)
def receipt(self: RecordedReview, info: Asking) -> RecordedReceipt | None:
    """The receipt of its first packet; null where none was kept."""
    return info.context.data.receipt(self.receipts[0]) if self.receipts else None


@gives(several(RECEIPT), name="receipts")
def review_receipts(self: RecordedReview, info: Asking) -> list[RecordedReceipt]:
    """The receipts of all its packets, as far as they were kept."""
    read = (info.context.data.receipt(each) for each in self.receipts)
    return [each for each in read if each is not None]


@gives(str | None)
def reviewer(self: RecordedReview) -> str | None:
    """Who reviewed; the first of several."""
    return self.reviewers[0] if self.reviewers else None


@gives(several(RULE), name="rules")
def review_rules(self: RecordedReview, info: Asking) -> list[Entry]:
    """The rules that it had to answer, as far as they are still there."""
    return info.context.data.rules(self.rules)


@gives(later("RUN", _RUNS) | None, name="run")
def review_run(self: RecordedReview, info: Asking) -> RunLine | None:
    """The run that it was made in; null where it was made in none, or the run is not known."""
    return info.context.data.runs.get(self.run or "")


REVIEW = derive(
    RecordedReview,
    "A recorded review: what the reviewer said, and what follows from it.",
    name="Review",
    node=True,
    hidden=("receipts", "rules", "run", "plan", "task"),
    types={
        "at": Moment,
        "outcome": Ruling,
        "route": Route | None,
        "rejection_type": RejectionType | None,
        "findings": several(FINDING),
    },
    more=(receipt, review_receipts, reviewer, review_rules, review_run),
)
REVIEW_CONNECTION = connection("Review", REVIEW)

derive(CanaryResult, "Whether the reviews found the violation that was planted.")
JUDGEMENT = derive(
    Judgement,
    "What follows from a review; nothing is recorded.",
    hidden=("patterns", "rules"),
    texts={
        "outcome": "approved, rejected, escalate or invalid.",
        "route": "Who works on the change next.",
        "canary": "There where the change is a canary, which no judgement approves.",
        "warnings": "What keeps nothing from being approved and a person should look at.",
    },
    kinds={"outcome": Ruling, "route": Route, "rejection_type": RejectionType},
)


# Decisions, plans and tasks


@gives(later("PLAN", __name__) | None, name="plan")
def decision_plan(self: KnownDecision, info: Asking) -> WholePlan | None:
    """The plan that it was taken with; null for a document of its own."""
    return next(iter(info.context.data.plans_of(self.id)), None)


@gives(later("DECISION", __name__) | None, name="supersedes")
def decision_supersedes(self: KnownDecision, info: Asking) -> KnownDecision | None:
    """The decision that it replaces."""
    return info.context.data.decisions.get(self.supersedes_id or "")


@gives(later("DECISION", __name__) | None, name="superseded_by")
def decision_superseded_by(self: KnownDecision, info: Asking) -> KnownDecision | None:
    """The decision that replaces it."""
    return info.context.data.decisions.get(self.superseded_by_id or "")


DECISION = derive(
    KnownDecision,
    "A decision: taken with a plan, or a document of its own.",
    name="Decision",
    node=True,
    hidden=("plan_slug", "supersedes_id", "superseded_by_id"),
    types={"at": Moment | None},
    more=(decision_plan, decision_supersedes, decision_superseded_by),
)
DECISION_CONNECTION = connection("Decision", DECISION)


def runs_of(info: Asking, plan: str | None = None, task: str | None = None) -> list[RunLine]:
    """The runs, the newest first, of a plan or a task if one is named."""
    return [
        line
        for line in info.context.data.runs.values()
        if plan in {None, line.plan} and task in {None, line.task}
    ]


def runs_page(runs: Sequence[RunLine], asked: PageAsked) -> ListPage:
    """A page of runs, the newest first."""
    return asked.of(runs, lambda each: f"{each.started_at} {each.id}", newest_first=True)


@gives(later("PLAN", __name__), name="plan")
def task_plan(self: PlannedTask, info: Asking) -> WholePlan:
    """The plan that it is a task of."""
    return info.context.data.plans[self.plan_slug]


@gives(str, name="status")
def task_status(self: PlannedTask, info: Asking) -> str:
    """How its newest run stands; open where there is none."""
    runs = runs_of(info, task=self.id)
    return runs[0].status if runs else "open"


@gives(RunStatus | None)
def status_kind(self: PlannedTask, info: Asking) -> RunStatus | None:
    """The same as an enum; null where there is no run."""
    runs = runs_of(info, task=self.id)
    return RunStatus(runs[0].status) if runs else None


@gives(several(later("TASK", __name__)), name="depends_on")
def task_depends_on(self: PlannedTask, info: Asking) -> list[PlannedTask]:
    """The tasks that come first."""
    tasks = info.context.data.tasks(self.plan_slug)
    return [each for each in tasks if each.task.number in self.task.depends_on]


@gives(later("RUN_CONNECTION", _RUNS), name="runs")
def task_runs(
    self: PlannedTask,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """Its runs, the newest first."""
    return runs_page(runs_of(info, task=self.id), PageAsked(first, after, last, before))


@gives(several(FILE), name="files")
def task_files(self: PlannedTask) -> list[RepositoryFile]:
    """The files that it names; patterns stay as they are written."""
    return [RepositoryFile(path) for path in self.task.files]


def _of_task(name: str, kind: object, told: str) -> Callable[..., object]:
    """A field that is read from the task itself."""

    def resolver(self: PlannedTask) -> object:
        return getattr(self.task, name)

    resolver.__name__, resolver.__doc__ = name, told
    described: Callable[..., object] = gives(kind)(resolver)
    return described


TASK = derive(
    PlannedTask,
    "A task of a plan, as it was fixed.",
    name="Task",
    node=True,
    hidden=("plan_slug", "task"),
    more=(
        _of_task("number", int, "Its number in the plan."),
        _of_task("title", str, "What it is called."),
        _of_task("description", str, "What is to be done."),
        _of_task("type", TaskType, "What kind of work it is."),
        _of_task("criteria", list[str], "What shows that it is done."),
        *(task_plan, task_status, status_kind, task_depends_on, task_runs, task_files),
    ),
)
TASK_CONNECTION = connection("Task", TASK)


@dataclass(frozen=True, slots=True)
class PlanSection:
    """A section of a plan."""

    name: str
    text: str


PLAN_SECTION = derive(PlanSection, "A section of a plan, as it is written.")
derive(
    Constraints,
    "Globs of the files that a plan may change, and must not.",
    names={"inside": "in", "outside": "out"},
)
derive(
    PlanDecision,
    "A decision that was taken with a plan.",
    ids=("supersedes", "superseded_by"),
)
derive(Risk, "What may go wrong with a plan.")
derive(TaskAnswer, "A task of a plan, as it was fixed.", name="PlanTask", hidden=("line",))
derive(Amendment, "A change to a committed plan.")


@gives(several(PLAN_SECTION), name="sections")
def plan_sections(self: WholePlan) -> list[PlanSection]:
    """Its texts in order: situation, mission, execution, coordination."""
    names = ("situation", "mission", "execution", "coordination")
    return [PlanSection(name, getattr(self, name)) for name in names]


@gives(later("RUN_CONNECTION", _RUNS), name="runs")
def plan_runs(
    self: WholePlan,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """Its runs, the newest first."""
    return runs_page(runs_of(info, plan=self.slug), PageAsked(first, after, last, before))


@gives(TASK_CONNECTION)
def tasks_connection(
    self: WholePlan,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """Its tasks, linked, in the order of their numbers."""
    asked = PageAsked(first, after, last, before)
    tasks = sorted(info.context.data.tasks(self.slug), key=lambda each: each.task.number)
    return asked.of(tasks, lambda each: f"{each.task.number:06}")


@gives(DECISION_CONNECTION)
def decisions_connection(
    self: WholePlan,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """Its decisions, linked, in the order of their ids."""
    known = info.context.data.decisions
    mine = sorted(each.id for each in self.decisions)
    decisions = [known[each] for each in mine if each in known]
    return PageAsked(first, after, last, before).of(decisions, lambda each: each.id)


PLAN = derive(
    WholePlan,
    "A plan: a commitment, or an exploration that may become one.",
    name="Plan",
    node=True,
    hidden=("invariants",),
    first=("id", "slug", "title", "status", "committed", "active"),
    texts={"status": "exploring, committed or superseded."},
    kinds={"status": PlanStatus},
    more=(plan_sections, plan_runs, tasks_connection, decisions_connection),
)
PLAN_CONNECTION = connection("Plan", PLAN)
