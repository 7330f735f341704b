"""The GraphQL type of the repository, through which everything else is reached, and its health."""

from collections.abc import Sequence
from dataclasses import dataclass

import strawberry

from hornbook.doctor.finding import Finding as HealthFinding
from hornbook.doctor.finding import Health, NotJudged
from hornbook.rules.catalog import Entry
from hornbook.rules.document import Problem
from hornbook.serve.answers import ChangeReplay, PacketReplay, ReplayAnswer, ReplaySummary
from hornbook.serve.graphql.connections import ListPage, PageAsked, connection
from hornbook.serve.graphql.context import Asking, files_inside
from hornbook.serve.graphql.derived import derive, gives, several
from hornbook.serve.graphql.enums import Moment
from hornbook.serve.graphql.rule_types import (
    COVERAGE,
    FILE,
    PROBLEM_CONNECTION,
    RULE,
    RULE_CONNECTION,
    RepositoryFile,
    RuleCoverage,
    ServedRepository,
    branch_of,
    commit_of,
    coverage_of,
    file_at,
    reviews_page,
)
from hornbook.serve.graphql.run_types import RUN_CONNECTION
from hornbook.serve.graphql.work_types import (
    DECISION_CONNECTION,
    PLAN_CONNECTION,
    REVIEW_CONNECTION,
    runs_of,
    runs_page,
)
from hornbook.vocabulary.terms import Activation, Category, Level, Severity


@strawberry.input(description="Which rules are asked for; all conditions must hold.")
class RuleFilter:
    """Which rules are asked for."""

    severity: Severity | None = None
    category: Category | None = None
    activation: Activation | None = None
    enforced: bool | None = None
    text: str | None = None
    file: str | None = None
    folder: str | None = None
    owner: str | None = None

    def chosen(self, info: Asking) -> Sequence[Entry]:
        """The rules that fit, in id order."""
        rules = info.context.snapshot.all_rules
        if self == RuleFilter():
            return rules
        wanted = self._named(info)
        return [
            rule for rule in rules if (wanted is None or rule.id in wanted) and self._fits(rule)
        ]

    def _fits(self, rule: Entry) -> bool:
        said = (
            (self.severity, rule.severity),
            (self.category, rule.category),
            (self.activation, rule.activation),
            (self.enforced, rule.activation.enforced),
        )
        if any(asked is not None and asked != found for asked, found in said):
            return False
        if self.text is None:
            return True
        texts = (rule.title, rule.summary, rule.id, rule.path, *rule.keywords, *rule.domains)
        return any(self.text.casefold() in each.casefold() for each in texts)

    def _named(self, info: Asking) -> set[str] | None:
        """The rules that the graph has for a file, folder or owner; None if none is asked for."""
        found: list[set[str]] = []
        if self.file is not None:
            paths = files_inside(info.context, [self.file], "file")
            found.append({each.rule.id for each, _ in info.context.snapshot.applicable(paths)})
        if self.folder is not None:
            (folder,) = files_inside(info.context, [self.folder], "folder")
            data = info.context.data
            found.append({*data.binding_below(folder), *data.lying_in(folder)})
        if self.owner is not None:
            found.append(set(info.context.data.owned_by(self.owner)))
        return set.intersection(*found) if found else None


def rules_page(info: Asking, wanted: RuleFilter | None, asked: PageAsked) -> ListPage:
    """A page of rules in id order; what is asked of one of them later is asked of all."""
    rules = info.context.snapshot.all_rules if wanted is None else wanted.chosen(info)
    page = asked.of(rules, lambda rule: rule.id)
    info.context.data.announce(page.nodes)
    return page


# Health


@gives(Level)
def level(self: HealthFinding) -> Level:
    """How bad it is."""
    return self.level


@gives(bool)
def fixable(self: HealthFinding) -> bool:
    """Whether `hornbook doctor --fix` mends it."""
    return self.edit is not None


@gives(RULE | None, name="rule")
def finding_rule(self: HealthFinding, info: Asking) -> Entry | None:
    """The rule that it is about; null where it is none's, or the rule was not ingested yet."""
    return None if self.rule is None else info.context.data.rule(self.rule)


DOCTOR_FINDING = derive(
    HealthFinding,
    "Something in the rules that does not hold in this repository.",
    name="DoctorFinding",
    hidden=("edit", "rule"),
    more=(level, fixable, finding_rule),
)
DOCTOR_FINDING_CONNECTION = connection("DoctorFinding", DOCTOR_FINDING)
derive(NotJudged, "A kind of finding about which not everything could be said, and why.")


@dataclass(frozen=True, slots=True)
class RuleHealth:
    """The health of a rule set in a letter and three numbers."""

    grade: str
    errors: int
    warnings: int
    infos: int
    not_judged: tuple[NotJudged, ...]


HEALTH = derive(
    RuleHealth, "The health of the rules; accepted findings do not count.", name="Health"
)


def health_of(health: Health) -> RuleHealth:
    """What an examination comes to."""
    counts = health.counts
    return RuleHealth(
        grade=health.grade,
        errors=counts[Level.ERROR],
        warnings=counts[Level.WARNING],
        infos=counts[Level.INFO],
        not_judged=health.not_judged,
    )


def doctor_page(info: Asking, code: str | None, asked: PageAsked) -> ListPage:
    """A page of what the doctor found, the worst first."""
    found = [
        (f"{number:06}", finding)
        for number, finding in enumerate(info.context.data.health.findings)
        if code in {None, finding.code}
    ]
    return asked.of(found, lambda each: each[0], made=lambda some: [each for _, each in some])


def problems_page(info: Asking, code: str | None, asked: PageAsked) -> ListPage:
    """A page of what is wrong with documents, by path and line."""
    found: dict[str, Problem] = {}
    for entry in info.context.snapshot.catalog.entries:
        for each in entry.problems:
            if code in {None, each.code}:
                found[f"{each.path}:{each.line or 0:08}:{each.code}:{each.message}"] = each
    listed = sorted(found.items())
    return asked.of(listed, lambda each: each[0], made=lambda some: [each for _, each in some])


# The repository


@gives(str | None)
def branch(self: ServedRepository, info: Asking) -> str | None:
    """The branch that is checked out; null if none is."""
    return branch_of(info)


@gives(str | None)
def commit(self: ServedRepository, info: Asking) -> str | None:
    """The commit that is checked out; null if there is none."""
    return commit_of(info)


@gives(RULE_CONNECTION)
def rules(
    self: ServedRepository,
    info: Asking,
    filter: RuleFilter | None = None,  # noqa: A002  # the documented name
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """Its rules in id order, also those that bind nothing."""
    return rules_page(info, filter, PageAsked(first, after, last, before))


@gives(FILE)
def file(self: ServedRepository, info: Asking, path: str) -> RepositoryFile:
    """A file by its path, which need not exist."""
    return file_at(info, path)


@gives(PLAN_CONNECTION)
def plans(
    self: ServedRepository,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """Its plans in the order of their slugs."""
    asked = PageAsked(first, after, last, before)
    found = sorted(info.context.data.plans.values(), key=lambda each: each.slug)
    return asked.of(found, lambda each: each.slug)


@gives(DECISION_CONNECTION)
def decisions(
    self: ServedRepository,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """Its decisions in id order: those of plans, and documents."""
    asked = PageAsked(first, after, last, before)
    return asked.of([*info.context.data.decisions.values()], lambda each: each.id)


@gives(RUN_CONNECTION)
def runs(
    self: ServedRepository,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """Its runs, the newest first."""
    return runs_page(runs_of(info), PageAsked(first, after, last, before))


@gives(REVIEW_CONNECTION)
def reviews(
    self: ServedRepository,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """Its recorded reviews that can be believed, the newest first."""
    return reviews_page(info.context.data.reviews, PageAsked(first, after, last, before))


@gives(PROBLEM_CONNECTION)
def problems(
    self: ServedRepository,
    info: Asking,
    code: str | None = None,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """What is wrong with its documents, by path and line."""
    return problems_page(info, code, PageAsked(first, after, last, before))


@gives(DOCTOR_FINDING_CONNECTION)
def doctor(
    self: ServedRepository,
    info: Asking,
    code: str | None = None,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """What in its rules does not hold, the worst first."""
    return doctor_page(info, code, PageAsked(first, after, last, before))


@gives(HEALTH, name="health")
def repository_health(self: ServedRepository, info: Asking) -> RuleHealth:
    """The health of its rules."""
    return health_of(info.context.data.health)


@gives(COVERAGE)
def coverage(self: ServedRepository, info: Asking) -> RuleCoverage:
    """How many of its files some rule binds."""
    return coverage_of(info)


REPOSITORY = derive(
    ServedRepository,
    "A repository with its rules, plans, runs and reviews.",
    name="Repository",
    node=True,
    more=(
        *(branch, commit, rules, file, plans, decisions, runs, reviews, problems, doctor),
        *(repository_health, coverage),
    ),
)


# Replays


@gives(several(RULE), name="rules")
def packet_rules(self: PacketReplay, info: Asking) -> list[Entry]:
    """The rules that it holds, as far as they are rules now."""
    return info.context.data.rules(self.rule_ids)


derive(
    PacketReplay,
    "What became of a change's packet by some rules.",
    ids=("rule_ids",),
    texts={"outcome": "complete, too_big, sop_overflow, failed or not_judged."},
    more=(packet_rules,),
)
derive(
    ChangeReplay,
    "One step of the branch, and what the rules did or would have done to it.",
    types={"date": Moment},
)
derive(ReplaySummary, "How many changes came to each end.")
REPLAY = derive(
    ReplayAnswer,
    "What rules did, or would have done, to past changes, the newest first.",
    name="Replay",
    ids=("never_bound",),
)
