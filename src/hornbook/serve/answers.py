"""What the service answers, made once for every protocol.

Where a room has a dataclass for an answer, that is the answer. Here stand the few that are put
together from several. GraphQL derives its types from them (`graphql.types`), REST describes
them through pydantic, and MCP through msgspec.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import msgspec

from hornbook.context.prompt import Context
from hornbook.errors import UsageError
from hornbook.graph.catalog_view import FileAnswer
from hornbook.graph.change_answer import ChangeAnswer
from hornbook.graph.snapshot import EntityTriples
from hornbook.plans.events import Event
from hornbook.plans.plan import Constraints, Invariant, PlanDecision, Risk
from hornbook.plans.principal import Principal
from hornbook.plans.state import Amendment
from hornbook.review.judgement import Judgement
from hornbook.rules.document import Problem
from hornbook.vocabulary.names import within
from hornbook.workspace import Workspace

if TYPE_CHECKING:  # they load SQLAlchemy and the readers, which other queries do without
    from hornbook.context.receipt import Circumstances
    from hornbook.loop.plan_book import PlanBook
    from hornbook.plans.store import PlanView

# Files times the rules that each is told of; a rule takes up to a kilobyte until it is sent.
MOST_LINES = 200_000
PIECE = 20
MOST_REVIEWS = 20


@dataclass(frozen=True, slots=True)
class GraphVersion:
    """A version of the graph that readers can open."""

    version: str
    documents: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement about an entity."""

    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class EntityAnswer:
    """An entity with its statements, sorted."""

    id: str
    triples: tuple[Statement, ...]


def statements(thing: EntityTriples, prefix: str | None = None) -> tuple[Statement, ...]:
    """What is said of an entity, below a predicate prefix if one is given."""
    return tuple(
        Statement(name, value)
        for name, value in thing.triples
        if prefix is None or within(name, prefix)
    )


def why_within(
    why: Callable[[Sequence[str]], Iterable[FileAnswer]], files: Sequence[str], piece: int = PIECE
) -> list[FileAnswer]:
    """The rules of each file, asked for a piece at a time.

    Raises:
        UsageError: A thousand files of ten thousand rules each are more than anybody can read.
    """
    answers: list[FileAnswer] = []
    lines = 0
    for start in range(0, len(files), piece):
        asked = list(why(files[start : start + piece]))
        lines += _lines(asked)
        answers += asked
        if lines > MOST_LINES:
            raise UsageError(
                f"the answer for {len(files)} files has more than {MOST_LINES} rules, counted once "
                f"for each file: ask for fewer than {len(answers)} at a time."
            )
    return answers


def change_within(
    work: Workspace, files: Sequence[str] | None, diff: str | None, at: str | None
) -> ChangeAnswer:
    """The rules of a change.

    Raises:
        UsageError: Beside it files or a commit are named, or it is none; or it has more rules than
            anybody can read.
    """
    if diff is None or files is not None:
        raise UsageError("name what is asked about: either files, or a diff BASE..HEAD.")
    if at is not None:
        raise UsageError("a diff takes the rules of BASE: leave `at` out, or name files.")
    answer = work.why_change(diff)
    if _lines(answer.files) > MOST_LINES:
        raise UsageError(
            f"the answer for {len(answer.files)} files has more than {MOST_LINES} rules, counted "
            "once for each file: ask about some of the files with `at`."
        )
    return answer


def _lines(answers: Iterable[FileAnswer]) -> int:
    return sum(1 + len(answer.rules) + len(answer.not_enforced) for answer in answers)


@dataclass(frozen=True, slots=True)
class ReviewAnswer(Context):
    """A reviewer's context, and what it was made for."""

    files: tuple[str, ...] = ()
    base: str | None = None
    head: str | None = None
    model: str | None = None
    findings: tuple[str, ...] = ()


def review_answer(context: Context, made_for: "Circumstances") -> ReviewAnswer:
    """A reviewer's context as it is answered."""
    facts = {field.name: getattr(context, field.name) for field in fields(Context)}
    return ReviewAnswer(
        **facts,
        files=made_for.files,
        base=made_for.base,
        head=made_for.head,
        model=made_for.model,
        findings=made_for.findings,
    )


def check_review(
    work: Workspace, review: object, receipt: object, gates: object, diff: str | None
) -> Judgement:
    """What follows from a review, or from several in a list; the same for receipts.

    With `diff`, the receipts must be for just that change. Nothing is recorded.

    Raises:
        UsageError: One of them is not what it should be, or git does not have the commits.
    """
    from hornbook.review.check import read_gates  # noqa: PLC0415  # loads the readers
    from hornbook.review.printed_review import PrintedReview  # noqa: PLC0415  # the same

    reviews = [
        PrintedReview(f"review {number}", _printed(each))
        for number, each in enumerate(_several(review, "review"), 1)
    ]
    receipts = []
    for each in _several(receipt, "receipt"):
        if not isinstance(each, dict):
            raise UsageError("the receipt is no object: give the receipt.json of the packet.")
        receipts.append(each)
    report = read_gates(msgspec.json.encode(gates)) if gates is not None else None
    return work.check_review(reviews, receipts, gates=report, diff=diff)


def _several(value: object, name: str) -> Sequence[object]:
    found = value if isinstance(value, list) else [value]
    if not 1 <= len(found) <= MOST_REVIEWS:
        raise UsageError(f"there are {len(found)} of {name}: give 1 to {MOST_REVIEWS}.")
    return found


def _printed(review: object) -> bytes:
    if isinstance(review, str):
        return review.encode("utf-8", "replace")
    return msgspec.json.encode(review)


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """A task of a plan, as it was fixed; `depends_on` are numbers."""

    id: str
    number: int
    title: str
    description: str
    files: tuple[str, ...]
    creates: tuple[str, ...]
    criteria: tuple[str, ...]
    depends_on: tuple[int, ...]
    line: int
    type: str
    finding: str


@dataclass(frozen=True, slots=True)
class WholePlan:
    """A plan as its events leave it."""

    id: str
    slug: str
    title: str
    committed: bool
    situation: str
    mission: str
    execution: str
    constraints: Constraints
    coordination: str
    created_at: str
    committed_at: str | None
    supersedes: str | None
    status: str
    active: bool
    superseded_by: str | None
    decisions: tuple[PlanDecision, ...]
    risks: tuple[Risk, ...]
    tasks: tuple[TaskAnswer, ...]
    amendments: tuple[Amendment, ...]
    invariants: tuple[Invariant, ...]
    problems: tuple[Problem, ...]


def whole_plan(view: "PlanView", active: str | None) -> WholePlan:
    """A plan as it is answered; `active` is the slug of the plan that is being worked on."""
    plan, state = view.plan, view.state
    facts: dict[str, Any] = {field.name: getattr(plan, field.name) for field in fields(plan)}
    return WholePlan(
        **facts,
        id=plan.id,
        status=state.status,
        active=plan.slug == active,
        superseded_by=state.superseded_by,
        decisions=state.decisions,
        risks=state.risks,
        tasks=tuple(TaskAnswer(each.id_in(plan.slug), **asdict(each)) for each in state.tasks),
        amendments=state.amendments,
        invariants=state.invariants,
        problems=view.problems,
    )


def begin_plan(
    book: "PlanBook",
    title: str,
    text: str | None,
    *,
    committed: bool,
    supersedes: str | None,
    active: bool = False,
) -> WholePlan:
    """Begin a plan, committed or not yet; it becomes the active one only if that is said."""
    view = (
        book.commit(title, text, path="text", active=active)
        if committed
        else book.explore(title, text, path="text", supersedes=supersedes, active=active)
    )
    return whole_plan(view, book.active())


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event of a plan's log, as those who follow a run are told of it."""

    seq: int
    plan: str
    run: str | None
    kind: str
    at: str
    actor: str
    principal: Principal
    data: Mapping[str, Any]  # each kind of event has its own facts
    previous: str
    hash: str


def run_event(event: Event) -> RunEvent:
    """An event as it is told."""
    run = event.data.get("run")
    return RunEvent(
        seq=event.seq,
        plan=event.plan,
        run=run,
        kind=event.kind,
        at=event.at,
        actor=event.actor,
        principal=event.principal,
        data=event.data,
        previous=event.previous,
        hash=event.hash,
    )
