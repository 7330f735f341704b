"""The questions about plans, runs and recorded reviews."""

from datetime import UTC, datetime, timedelta

import strawberry

from hornbook.errors import NotFound
from hornbook.serve.context import Asking, refuse
from hornbook.serve.plan_types import (
    PastReview,
    Plan,
    RuleRecord,
    Run,
    past_review,
    plan_of,
    rule_record,
    run_of,
)

DAYS = 90
MOST_DAYS = 3650


@strawberry.type
class PlanQuery:
    """What can be asked about work."""

    @strawberry.field(description="Every plan: explorations, then the committed, then the rest.")
    def plans(self, info: Asking) -> list[Plan]:
        """Every plan."""
        book = info.context.workspace.plan_book()
        active = book.active()
        return [plan_of(view, active) for view in book.views()]

    @strawberry.field(description="One plan by its slug or id; null if there is none.")
    def plan(self, info: Asking, slug: str) -> Plan | None:
        """One plan or null."""
        if not slug.strip():
            raise refuse("slug", "no plan is named", "give a slug, as `plans` lists them")
        book = info.context.workspace.plan_book()
        try:
            return plan_of(book.view(slug), book.active())
        except NotFound:
            return None

    @strawberry.field(description="The runs, newest first; those of a plan if one is named.")
    def runs(self, info: Asking, plan_id: strawberry.ID | None = None) -> list[Run]:
        """The runs, newest first."""
        with info.context.workspace.run_book() as book:
            return [run_of(line) for line in book.lines(plan_id)]

    @strawberry.field(description="One run; null if there is none.")
    def run(self, info: Asking, id: strawberry.ID) -> Run | None:  # noqa: A002  # documented
        """One run or null."""
        with info.context.workspace.run_book() as book:
            try:
                return run_of(book.line(id))
            except NotFound:
                return None

    @strawberry.field(
        description="Recorded reviews, newest first; those that judged by a revision if named."
    )
    def reviews(self, info: Asking, revision: strawberry.ID | None = None) -> list[PastReview]:
        """Recorded reviews, newest first."""
        return [past_review(each) for each in info.context.workspace.reviews(revision)]

    @strawberry.field(description="How reviews answered each rule in the last days.")
    def rule_records(self, info: Asking, days: int = DAYS) -> list[RuleRecord]:
        """How reviews answered each rule, the most violated first."""
        if not 1 <= days <= MOST_DAYS:
            raise refuse("days", f"days is {days}", f"ask for 1 to {MOST_DAYS}")
        since = datetime.now(UTC) - timedelta(days=days)
        return [rule_record(each) for each in info.context.workspace.rule_records(since)]
