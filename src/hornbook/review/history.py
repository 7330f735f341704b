"""What recorded reviews say over time: which rules are violated, and which nobody cites."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from hornbook.graph.snapshot import Snapshot
from hornbook.graph.statements import entity
from hornbook.graph.store import GraphStore
from hornbook.vocabulary import predicates as p


@dataclass(frozen=True, slots=True)
class PastReview:
    """A recorded review: its outcome and when it was given."""

    id: str
    outcome: str
    at: str
    receipts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """How often a rule was kept, violated or waved away, and when it was last looked at."""

    id: str
    violated: int
    passed: int
    not_applicable: int
    last: str | None
    doubted: int = 0
    """How many of these answers carry a warning, such as evidence outside the change."""


def past_reviews(
    store: GraphStore, revision: str | None = None, *, without: Collection[str] = ()
) -> list[PastReview]:
    """The recorded reviews, newest first; with a revision, those that it judged.

    Those `without` are left out: their records cannot be believed.
    """
    if revision is not None:
        rows = store.rows("reviews_under", revision=entity(revision))
        found = {review: PastReview(review, outcome, at) for review, outcome, at in rows}
    else:
        found = {}
        for review, outcome, at, receipt in store.rows("reviews"):
            known = found.get(review, PastReview(review, outcome, at))
            receipts = tuple(sorted({*known.receipts, *filter(None, (receipt,))}))
            found[review] = PastReview(review, outcome, at, receipts)
    for review in without:
        found.pop(review, None)
    return sorted(found.values(), key=lambda each: (each.at, each.id), reverse=True)


def rule_records(
    snapshot: Snapshot, since: str, *, without: Collection[str] = ()
) -> list[RuleRecord]:
    """Every rule in force with its answers since a time, the most violated first.

    A rule with no `last` was not cited since then. Reviews `without` do not count.
    """
    counts: dict[str, Counter[str]] = {rule.id: Counter() for rule in snapshot.rules.enforced}
    last: dict[str, str] = {}
    for rule, answer, review, at in snapshot.store.rows("rule_answers"):
        if at >= since and rule in counts and review not in without:
            counts[rule][answer] += 1
            last[rule] = max(at, last.get(rule, ""))
    return sorted(
        (_record(rule, counts[rule], last) for rule in counts),
        key=lambda each: (-each.violated, -each.passed - each.not_applicable, each.id),
    )


def _record(rule: str, counted: Counter[str], last: dict[str, str]) -> RuleRecord:
    return RuleRecord(
        id=rule,
        violated=counted[p.REVIEW_VIOLATED.name],
        passed=counted[p.REVIEW_PASSED.name],
        not_applicable=counted[p.REVIEW_NOT_APPLICABLE.name],
        last=last.get(rule),
        doubted=counted[p.REVIEW_DOUBTED.name],
    )
