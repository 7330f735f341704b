"""The lists of REST, each a page at a time: `first` items behind the cursor `after`."""

import time
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi import Path as InPath

from hornbook.doctor.finding import Finding, NotJudged, order
from hornbook.loop.runs.overview import Fleet, FleetMachine
from hornbook.plans.audit.audit_log import AuditFilter, AuditLog, since_of
from hornbook.plans.events import AuditPage
from hornbook.review.review_history import PastReview
from hornbook.rules.document import Problem
from hornbook.serve import lists
from hornbook.serve.lists import LARGEST_PAGE, LONGEST_CURSOR, PAGE, ListPage
from hornbook.serve.rest.asking import MISSING, REFUSALS, Reading
from hornbook.vocabulary.terms import Level

First = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="How many items at most.")]
After = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=LONGEST_CURSOR,
        pattern="^[A-Za-z0-9_=-]*$",  # others would be three times as long in an address
        description="`next` of the page before, as it came.",
    ),
]

router = APIRouter(
    prefix="/api/v1",
    responses=REFUSALS,
    generate_unique_id_function=lambda route: route.name,
)


@dataclass(frozen=True, slots=True)
class RulePage(ListPage[lists.ListedRule]):
    """Some rules, in id order."""

    items: tuple[lists.ListedRule, ...]


@router.get("/rules", tags=["rules"])
def rules(asking: Reading, first: First = PAGE, after: After = None) -> RulePage:
    """Every rule in id order, those that bind nothing too, each with the reason."""
    with asking.updates.leases.current() as work:
        snapshot = work.snapshot()
        asking.note(snapshot.version)
        found = lists.page("rules", lists.rules(snapshot), lambda e: (e.id,), first, after)
        return RulePage(tuple(map(lists.listed_rule, found.items)), found.next, found.total)


@router.get("/rules/{id}", responses=MISSING, tags=["rules"])
def rule(
    id: Annotated[str, InPath(min_length=1, max_length=1000)],  # noqa: A002  # the documented name
    asking: Reading,
) -> lists.WholeRule:
    """One rule with its text, whole, and the texts that it includes."""
    with asking.updates.leases.current() as work:
        asking.note(work.snapshot().version)
        return lists.whole_rule(work.snapshot(), id)


@dataclass(frozen=True, slots=True)
class ReviewPage(ListPage[PastReview]):
    """Some reviews, newest first."""

    items: tuple[PastReview, ...]


@router.get("/reviews", tags=["reviews"])
def reviews(
    asking: Reading,
    revision: Annotated[str | None, Query(min_length=1, max_length=1000)] = None,
    first: First = PAGE,
    after: After = None,
) -> ReviewPage:
    """Recorded reviews, newest first; those that judged by a `revision` of a rule if one is named.

    Reviews whose records are not as they were written are left out; `hornbook verify` names them.
    """
    with asking.updates.leases.current() as work:
        found = work.reviews(revision)
        told = lists.page("reviews", found, lambda e: (e.at, e.id), first, after, descending=True)
        return ReviewPage(told.items, told.next, told.total)


@dataclass(frozen=True, slots=True)
class ProblemPage(ListPage[Problem]):
    """Some problems, by path and line."""

    items: tuple[Problem, ...]


@router.get("/problems", tags=["documents"])
def problems(
    asking: Reading,
    code: Annotated[str | None, Query(min_length=1, max_length=80)] = None,
    first: First = PAGE,
    after: After = None,
) -> ProblemPage:
    """What is wrong with what was read, by path and line; of one `code` if one is named."""
    with asking.updates.leases.current() as work:
        found = [each for each in work.problems() if code in {None, each.code}]
        told = lists.page("problems", found, lists.problem_key, first, after)
        return ProblemPage(told.items, told.next, told.total)


@dataclass(frozen=True, slots=True)
class DecisionPage(ListPage[lists.ListedDecision]):
    """Some decisions, in id order."""

    items: tuple[lists.ListedDecision, ...]


@router.get("/decisions", tags=["documents"])
def decisions(
    asking: Reading,
    plan: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    first: First = PAGE,
    after: After = None,
) -> DecisionPage:
    """Every decision in id order, those that are replaced too; of a `plan` if one is named."""
    with asking.updates.leases.current() as work:
        snapshot = work.snapshot()
        asking.note(snapshot.version)
        found = lists.decisions(snapshot, plan)
        told = lists.page("decisions", found, lambda e: (e.id,), first, after)
        items = tuple(lists.listed_decision(snapshot, each) for each in told.items)
        return DecisionPage(items, told.next, told.total)


@dataclass(frozen=True, slots=True)
class FindingAnswer:
    """One thing that is wrong with the rules, as `doctor --json` has it."""

    code: str
    level: Level
    path: str
    line: int | None
    rule: str | None
    message: str
    remedy: str
    fixable: bool
    accepted_until: str | None


@dataclass(frozen=True, slots=True)
class HealthPage(ListPage[FindingAnswer]):
    """Some findings, the worst first; the rest is told of the whole rule set."""

    items: tuple[FindingAnswer, ...]
    grade: str
    counts: dict[str, int]
    not_judged: tuple[NotJudged, ...]
    seconds: float


@router.get("/doctor", tags=["rules"])
def doctor(asking: Reading, first: First = PAGE, after: After = None) -> HealthPage:
    """The health of the rule set as its files are now: findings, the worst first."""
    began = time.perf_counter()
    with asking.updates.leases.workspace() as work:
        health = asking.updates.leases.files.health(work)
    told = lists.page("doctor", health.findings, _finding_key, first, after)
    return HealthPage(
        tuple(_finding(each) for each in told.items),
        told.next,
        told.total,
        health.grade,
        health.counts,
        health.not_judged,
        round(time.perf_counter() - began, 3),
    )


def _finding_key(finding: Finding) -> lists.Key:
    return (*order(finding), finding.rule or "")


def _finding(finding: Finding) -> FindingAnswer:
    known = {
        each.name: getattr(finding, each.name)
        for each in fields(FindingAnswer)
        if each.name != "fixable"
    }
    return FindingAnswer(**known, fixable=finding.edit is not None)


@dataclass(frozen=True, slots=True)
class FleetPage(Fleet):
    """As `fleet --json`, and its machines a page at a time."""

    items: tuple[FleetMachine, ...] = ()
    next: str | None = None
    total: int = 0


@router.get("/fleet", tags=["runs"])
def fleet(asking: Reading, first: First = PAGE, after: After = None) -> FleetPage:
    """The machines that work on runs, what waits and why, and how much gets done."""
    from hornbook.loop.engine.fleet import fleet_of  # noqa: PLC0415  # start-up: SQLAlchemy

    with asking.updates.leases.workspace() as work:
        found = fleet_of(work.places, work.settings)
    machines = sorted(found.machines, key=_machine_key)
    told = lists.page("fleet", machines, _machine_key, first, after)
    return FleetPage(
        found.machines,
        found.waiting,
        found.per_minute,
        found.cost,
        found.currency,
        found.costs,
        found.untold,
        told.items,
        told.next,
        told.total,
    )


def _machine_key(machine: FleetMachine) -> lists.Key:
    return (machine.host, machine.id, machine.repository, machine.place)


@router.get("/audit", tags=["server"])
def audit(
    asking: Reading,
    *,
    since: Annotated[str, Query(max_length=40)] = "",
    principal: Annotated[str, Query(max_length=200)] = "",
    kind: Annotated[str, Query(max_length=80)] = "",
    plan: Annotated[str, Query(max_length=200)] = "",
    first: First = PAGE,
    after: After = None,
) -> AuditPage:
    """Who did what, oldest first, from the logs of all plans; whether their chains are whole.

    `since` is a time, a day, or a span such as 7d.
    """
    wanted = AuditFilter(since_of(since, datetime.now(UTC)), principal, kind, plan)
    with asking.updates.leases.workspace() as work:
        return (
            AuditLog(work.places, work.settings, asking.updates.logs)
            .events(wanted)
            .page(first, after)
        )
