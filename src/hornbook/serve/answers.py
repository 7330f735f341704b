"""What the service answers, made once for every protocol.

Where a room has a dataclass for an answer, that is the answer. Here stand the few that are put
together from several. GraphQL derives its types from them (`graphql.types`), REST describes
them through pydantic, and MCP through msgspec.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import msgspec

from hornbook.context.prompt import Context, Outcome, Reason
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
from hornbook.vocabulary.terms import Severity
from hornbook.workspace import Workspace

if TYPE_CHECKING:  # they load SQLAlchemy and the readers, which other queries do without
    from hornbook.context.receipt import Circumstances
    from hornbook.doctor.replay import Replay, ReplayedPacket
    from hornbook.loop.plan_book import PlanBook
    from hornbook.plans.store import PlanView
    from hornbook.rules.units import RuleUnit

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
    references: tuple[str, ...] | None = None


def whole_plan(
    view: "PlanView", active: str | None, references: tuple[str, ...] | None = None
) -> WholePlan:
    """A plan as it is answered; `active` is the slug of the plan that is being worked on.

    `references` is what the graph has of what the plan names, where one plan is asked for.
    """
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
        references=references,
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


@dataclass(frozen=True, slots=True)
class BudgetAnswer:
    """How a review fills a model's window, in tokens; `outcome` is that of its context.

    Of a context that is refused only the rules are counted: nothing else was put together.
    """

    window: int
    reserve: int
    reserve_from: str
    rules: int
    decisions: int | None
    signatures: int | None
    diff: int | None
    tokens: int | None
    counter: str
    outcome: str
    fits: bool
    reasons: tuple[Reason, ...]


def budget_of(work: Workspace, files: Sequence[str], diff: str | None) -> BudgetAnswer:
    """How a review of files, or of a change, fills the window of the model that reviews.

    Raises:
        UsageError: Neither or both are named, or the diff names no change.
    """
    if bool(files) == (diff is not None):
        raise UsageError("name what is asked about: either files, or a diff BASE..HEAD.")
    context = work.review_packet(files, diff=diff).context
    complete = context.outcome is Outcome.COMPLETE
    taken = {section.name: section.tokens for section in context.sections}
    return BudgetAnswer(
        window=context.window,
        reserve=context.reserve,
        reserve_from=context.reserve_from,
        rules=taken.get("sops", 0) if complete else _rule_tokens(work, files, diff),
        decisions=taken.get("decisions", 0) if complete else None,
        signatures=taken.get("signatures", 0) if complete else None,
        diff=taken.get("diff", taken.get("files", 0)) if complete else None,
        tokens=context.tokens if complete else None,
        counter=context.counter,
        outcome=context.outcome,
        fits=complete,
        reasons=context.reasons,
    )


def _rule_tokens(work: Workspace, files: Sequence[str], diff: str | None) -> int:
    """What the rules take of a review that is refused, each counted once."""
    if diff is not None:
        return work.why_change(diff).tokens
    rules = {rule.id: rule.tokens for answer in work.why(files) for rule in answer.rules}
    return sum(rules.values())


@dataclass(frozen=True, slots=True)
class PacketReplay:
    """What became of a change's packet by some rules."""

    outcome: str
    rule_ids: tuple[str, ...]
    tokens: int
    passes: int
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class ChangeReplay:
    """One step of the branch and its packet; `against` is the packet by the other rules."""

    commit: str
    base: str | None
    date: str
    subject: str
    files: tuple[str, ...]
    packet: PacketReplay
    against: PacketReplay | None
    changed: bool


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """How many changes came to each end; `changed` are those that other rules judge differently."""

    changes: int
    complete: int
    passes: int
    refused: int
    too_big: int
    not_judged: int
    changed: int


@dataclass(frozen=True, slots=True)
class ReplayAnswer:
    """What rules did, or would have done, to past changes, the newest first."""

    changes: tuple[ChangeReplay, ...]
    summary: ReplaySummary
    never_bound: tuple[str, ...]
    notes: tuple[str, ...]


def replay_answer(found: "Replay") -> ReplayAnswer:
    """A replay as it is answered."""
    changes = tuple(
        ChangeReplay(
            commit=each.step.commit,
            base=each.step.base,
            date=each.step.date,
            subject=each.step.subject,
            files=each.files,
            packet=_packet_replay(each.packet),
            against=None if each.against is None else _packet_replay(each.against),
            changed=each.changed,
        )
        for each in reversed(found.changes)
    )
    summary = ReplaySummary(**found.counts(), changed=sum(each.changed for each in changes))
    return ReplayAnswer(changes, summary, found.never_bound, found.notes)


def _packet_replay(packet: "ReplayedPacket") -> PacketReplay:
    return PacketReplay(packet.outcome, packet.rules, packet.tokens, packet.passes, packet.reasons)


@dataclass(frozen=True, slots=True)
class RuleSection:
    """A section of a large rule, which a review answers by its own id."""

    id: str
    title: str
    severity: Severity
    inferred: bool
    tokens: int
    text: str
    path: str


def rule_sections(units: "Iterable[RuleUnit]") -> list[RuleSection]:
    """The sections of a rule as they are answered."""
    names = [field.name for field in fields(RuleSection)]
    return [RuleSection(**{name: getattr(unit, name) for name in names}) for unit in units]
