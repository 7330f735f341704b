"""The questions of the GraphQL schema about things that have a type of their own."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import strawberry

from hornbook.errors import NotFound
from hornbook.rules.catalog import Entry
from hornbook.serve.answers import BudgetAnswer, ReplayAnswer, budget_of, replay_answer
from hornbook.serve.graphql.connections import ListPage, PageAsked
from hornbook.serve.graphql.context import Asking, described, files_inside, refuse
from hornbook.serve.graphql.derived import Node
from hornbook.serve.graphql.repository_types import (
    DOCTOR_FINDING_CONNECTION,
    HEALTH,
    REPLAY,
    REPOSITORY,
    RuleFilter,
    RuleHealth,
    doctor_page,
    health_of,
    problems_page,
    rules_page,
)
from hornbook.serve.graphql.rule_types import (
    BUDGET,
    CHANGE_CONNECTION,
    COVERAGE,
    FILE,
    PROBLEM_CONNECTION,
    RULE,
    RULE_CONNECTION,
    RepositoryFile,
    RuleCoverage,
    ServedRepository,
    coverage_of,
    file_at,
    repository_here,
    reviews_page,
)
from hornbook.serve.graphql.run_types import RUN_CONNECTION
from hornbook.serve.graphql.types import entity_of
from hornbook.serve.graphql.work_types import (
    DECISION,
    DECISION_CONNECTION,
    PLAN_CONNECTION,
    REVIEW,
    REVIEW_CONNECTION,
    runs_of,
    runs_page,
)

REPLAYED = 50
MOST_REPLAYED = 1000


def local_id(info: Asking, given: str) -> str | None:
    """An id without the repository before it; None if that is another one."""
    name, colon, rest = given.partition(":")
    if not colon or "." in name:
        return given
    return rest if name == info.context.snapshot.catalog.repository else None


def node_of(info: Asking, given: str) -> object | None:
    """Whatever has an id; None if nothing has it."""
    found = local_id(info, given)
    if found is None:
        return None
    data = info.context.data
    if found == info.context.snapshot.catalog.repository:
        return repository_here(info)
    family = found.partition(".")[0] if "." in found else "run"
    finders: Mapping[str, Any] = {
        "plan": lambda: data.plans.get(found.removeprefix("plan.")),
        "task": lambda: data.task(found),
        "run": lambda: data.runs.get(found.removeprefix("run.")),
        "review": lambda: data.review(found),
        "receipt": lambda: data.receipt(found),
        "decision": lambda: data.decisions.get(found),
    }
    typed = finders[family]() if family in finders else data.rule(found)
    if typed is not None:
        return typed
    try:
        return entity_of(info.context.snapshot.thing(found))
    except NotFound:
        return None


@strawberry.type
class TypedQuery:
    """What can be asked about things that have a type of their own."""

    @described(strawberry.field, Node | None)
    def node(self, info: Asking, id: strawberry.ID) -> object | None:  # noqa: A002  # Relay's name
        """Whatever has this id, also with the repository's name and a colon before it; null if
        nothing has it.
        """
        return node_of(info, id)

    @described(strawberry.field, REPOSITORY | None)
    def repository(
        self,
        info: Asking,
        id: strawberry.ID | None = None,  # noqa: A002  # the documented name
    ) -> ServedRepository | None:
        """The repository that is served; null if another one is named."""
        here = repository_here(info)
        return here if id is None or id.removesuffix(":") == here.id else None

    @described(strawberry.field, list[REPOSITORY])
    def repositories(self, info: Asking) -> list[ServedRepository]:
        """Every repository that is served here: one."""
        return [repository_here(info)]

    @described(strawberry.field, RULE | None)
    def rule(self, info: Asking, id: strawberry.ID) -> Entry | None:  # noqa: A002  # documented
        """One rule by its id; null if there is none."""
        return info.context.data.rule(local_id(info, id) or "")

    @described(strawberry.field, RULE_CONNECTION)
    def rules(
        self,
        info: Asking,
        filter: RuleFilter | None = None,  # noqa: A002  # the documented name
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> ListPage:
        """The rules in id order, also those that bind nothing; by file, folder or owner."""
        return rules_page(info, filter, PageAsked(first, after, last, before))

    @described(strawberry.field, FILE)
    def file(self, info: Asking, path: str) -> RepositoryFile:
        """A file by its path, which need not exist."""
        return file_at(info, path)

    @described(strawberry.field, BUDGET)
    def budget(
        self, info: Asking, files: list[str] | None = None, diff: str | None = None
    ) -> BudgetAnswer:
        """How a review of some files, or of a change `BASE..HEAD`, fills the reviewer's window."""
        return budget_of(info.context.workspace, files_inside(info.context, files or []), diff)

    @described(strawberry.field, COVERAGE)
    def coverage(self, info: Asking) -> RuleCoverage:
        """How many files of the repository some rule binds."""
        return coverage_of(info)

    @described(strawberry.field, PROBLEM_CONNECTION)
    def problems(
        self,
        info: Asking,
        code: str | None = None,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> ListPage:
        """What is wrong with documents, by path and line; of one kind if a code is named."""
        return problems_page(info, code, PageAsked(first, after, last, before))

    @described(strawberry.field, DOCTOR_FINDING_CONNECTION)
    def doctor(
        self,
        info: Asking,
        code: str | None = None,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> ListPage:
        """What in the rules does not hold in this repository, the worst first."""
        return doctor_page(info, code, PageAsked(first, after, last, before))

    @described(strawberry.field, HEALTH)
    def health(self, info: Asking) -> RuleHealth:
        """The health of the rules in a letter and three numbers."""
        return health_of(info.context.data.health)

    @described(strawberry.field, REPLAY)
    def replay(
        self,
        info: Asking,
        last: int = REPLAYED,
        range: str | None = None,  # noqa: A002  # the documented name
        against: str | None = None,
        *,
        draft: bool = False,
    ) -> ReplayAnswer:
        """What the rules did to the last changes of the branch, or to those of a range `A..B`;
        beside it what those of another commit would have done, or with `draft` those of the
        files as they are.
        """
        if not 1 <= last <= MOST_REPLAYED:
            raise refuse("last", f"last is {last}", f"ask for 1 to {MOST_REPLAYED}")
        updates = info.context.updates
        waited_for = info.context.deadline.check_client
        alone = nullcontext(waited_for) if updates is None else updates.replaying(waited_for)
        with alone as go_on:
            found = info.context.workspace.replay(
                last=last,
                span=range,
                against=against,
                worktree=draft,
                progress=go_on,
            )
        return replay_answer(found)

    @described(strawberry.field, REVIEW | None)
    def review(self, info: Asking, id: strawberry.ID) -> object | None:  # noqa: A002  # documented
        """One recorded review; null if there is none that can be believed."""
        return info.context.data.review(local_id(info, id) or "")

    @described(strawberry.field, REVIEW_CONNECTION)
    def reviews_connection(  # noqa: PLR0913  # GraphQL arguments are always named
        self,
        info: Asking,
        rule: strawberry.ID | None = None,
        path: str | None = None,
        *,
        from_line: int | None = None,
        to_line: int | None = None,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> ListPage:
        """Recorded reviews, the newest first: of a rule, with a finding in a file, or between two
        lines of it.
        """
        data = info.context.data
        found = data.reviews if rule is None else data.reviews_of(local_id(info, rule) or "")
        if path is None and from_line is not None:
            raise refuse("fromLine", "no file is named", "name the `path` that the lines are of")
        if path is not None:
            (clean,) = files_inside(info.context, [path], "path")
            there = {each.id for each in data.reviews_at(clean, from_line, to_line)}
            found = [each for each in found if each.id in there]
        return reviews_page(found, PageAsked(first, after, last, before))

    @described(strawberry.field, CHANGE_CONNECTION)
    def changes(
        self,
        info: Asking,
        rule: strawberry.ID | None = None,
        path: str | None = None,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> ListPage:
        """Changes that were put before a reviewer: for a rule, or those of a file."""
        if (rule is None) == (path is None):
            raise refuse("rule", "neither or both are named", "name either a rule or a path")
        data = info.context.data
        if rule is not None:
            found = data.changes_of(local_id(info, rule) or "")
        else:
            found = data.changes_at(files_inside(info.context, [path or ""], "path")[0])
        return PageAsked(first, after, last, before).of(found, lambda each: each.order)

    @described(strawberry.field, DECISION | None)
    def decision(self, info: Asking, id: strawberry.ID) -> object | None:  # noqa: A002  # documented
        """One decision, of a plan or a document; null if there is none."""
        return info.context.data.decisions.get(local_id(info, id) or "")

    @described(strawberry.field, DECISION_CONNECTION)
    def decisions_connection(
        self,
        info: Asking,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> ListPage:
        """Every decision in id order: those of plans, and documents."""
        asked = PageAsked(first, after, last, before)
        return asked.of([*info.context.data.decisions.values()], lambda each: each.id)

    @described(strawberry.field, PLAN_CONNECTION)
    def plans_connection(
        self,
        info: Asking,
        decision: strawberry.ID | None = None,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> ListPage:
        """Plans in the order of their slugs; those that a decision was taken with if named."""
        data = info.context.data
        found = [*data.plans.values()] if decision is None else data.plans_of(decision)
        asked = PageAsked(first, after, last, before)
        return asked.of(sorted(found, key=lambda each: each.slug), lambda each: each.slug)

    @described(strawberry.field, RUN_CONNECTION)
    def runs_connection(
        self,
        info: Asking,
        plan_id: strawberry.ID | None = None,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> ListPage:
        """The runs, the newest first; those of a plan if one is named."""
        slug = None if plan_id is None else plan_id.removeprefix("plan.")
        return runs_page(runs_of(info, plan=slug), PageAsked(first, after, last, before))
