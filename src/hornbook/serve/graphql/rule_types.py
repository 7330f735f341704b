"""The GraphQL types of rules and files, linked both ways: what binds what, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hornbook.context.prompt import Outcome
from hornbook.graph.ingest.report import HistoryLine
from hornbook.review.review_history import RecordedReview, ReviewFinding
from hornbook.rules.binding import Binding, not_enforced_because
from hornbook.rules.catalog import Entry
from hornbook.rules.document import Pattern
from hornbook.serve.answers import BudgetAnswer, RuleSection, budget_of, rule_sections
from hornbook.serve.graphql.connections import ListPage, PageAsked, connection
from hornbook.serve.graphql.context import Asking, files_inside
from hornbook.serve.graphql.derived import derive, gives, later, several
from hornbook.serve.graphql.enums import Moment
from hornbook.serve.graphql.request_data import ReviewedChange
from hornbook.serve.graphql.types import PROBLEM
from hornbook.settings.reserve import ReserveFrom
from hornbook.vocabulary.terms import Activation, Category, Severity

_WORK = "hornbook.serve.graphql.work_types"
_REPOSITORY = "hornbook.serve.graphql.repository_types"


def _own(name: str) -> Any:  # a type form
    return later(name, __name__)


@dataclass(frozen=True, slots=True)
class ServedRepository:
    """The repository that is served."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class RepositoryFile:
    """A file by its path, which need not exist."""

    path: str


@dataclass(frozen=True, slots=True)
class FolderCoverage:
    """How many of the files directly or deeper below a folder some rule binds."""

    folder: str
    files: int
    bound: int


@dataclass(frozen=True, slots=True)
class RuleCoverage:
    """How many files of the repository some rule binds."""

    files: int
    bound: int
    folders: tuple[FolderCoverage, ...]
    unbound_paths: tuple[str, ...]


def repository_here(info: Asking) -> ServedRepository:
    """The repository that is served."""
    name = info.context.snapshot.catalog.repository
    return ServedRepository(name, name)


def files_page(paths: Sequence[str], asked: PageAsked) -> ListPage:
    """A page of files, which are in order."""
    return asked.of(paths, str, made=lambda some: [RepositoryFile(path) for path in some])


def reviews_page(reviews: Sequence[RecordedReview], asked: PageAsked) -> ListPage:
    """A page of recorded reviews, the newest first."""
    return asked.of(reviews, lambda each: each.order, newest_first=True)


def findings_page(reviews: Sequence[RecordedReview], rule: str, asked: PageAsked) -> ListPage:
    """A page of what recorded reviews found about a rule, in the order of their keys."""
    found: list[tuple[str, ReviewFinding]] = [
        (f"{review.order} {number:06}", finding)
        for review in reversed(reviews)
        for number, finding in enumerate(review.findings)
        if finding.sop_id == rule
    ]
    return asked.of(found, lambda each: each[0], made=lambda some: [finding for _, finding in some])


# Rules


@gives(later("REPOSITORY", _REPOSITORY))
def repository(self: Entry, info: Asking) -> ServedRepository:
    """The repository that it is a rule of."""
    return repository_here(info)


@gives(int)
def line(self: Entry, info: Asking) -> int:
    """The line of its file on which its text begins."""
    document = info.context.data.document(self.id)
    above = len(document.body) - len(document.body.lstrip())
    return document.head.count("\n") + document.body.count("\n", 0, above) + 1


@gives(str)
def text(self: Entry, info: Asking) -> str:
    """Its whole text, without what stands before it as metadata."""
    return info.context.data.document(self.id).body


@gives(several(_own("RULE_SECTION")))
def sections(self: Entry, info: Asking) -> list[RuleSection]:
    """The sections that a review answers one by one; none where it is answered as a whole."""
    return rule_sections(info.context.snapshot.units(info.context.data.document(self.id)))


@gives(_own("FILE_CONNECTION"))
def files(
    self: Entry,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """The files of the repository that it binds, as they are or were a second ago."""
    paths = info.context.data.files_of(self.id)
    return files_page(paths, PageAsked(first, after, last, before))


@gives(several(_own("REVISION")))
def history(self: Entry, info: Asking) -> list[HistoryLine]:
    """What happened to it, oldest first."""
    return info.context.workspace.history(self.id)


@gives(later("REVIEW_CONNECTION", _WORK))
def reviews(
    self: Entry,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """The recorded reviews that answer it, the newest first."""
    found = info.context.data.reviews_of(self.id)
    return reviews_page(found, PageAsked(first, after, last, before))


@gives(later("FINDING_CONNECTION", _WORK))
def findings(
    self: Entry,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """What recorded reviews found about it, the oldest first."""
    found = info.context.data.reviews_of(self.id)
    return findings_page(found, self.id, PageAsked(first, after, last, before))


@gives(_own("CHANGE_CONNECTION"))
def changes(
    self: Entry,
    info: Asking,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """The changes for which it was put before a reviewer, by the receipts that were kept."""
    found = info.context.data.changes_of(self.id)
    return PageAsked(first, after, last, before).of(found, lambda each: each.order)


@gives(several(_own("RULE")))
def supersedes(self: Entry, info: Asking) -> list[Entry]:
    """The rules that it says it replaces."""
    return info.context.data.rules(info.context.data.snapshot.replacing[0].get(self.id, ()))


@gives(several(_own("RULE")))
def superseded_by(self: Entry, info: Asking) -> list[Entry]:
    """The rules that replace it."""
    return info.context.data.rules(info.context.data.snapshot.replacing[1].get(self.id, ()))


@gives(list[str])
def owner(self: Entry, info: Asking) -> tuple[str, ...]:
    """Who owns its file by CODEOWNERS, as written there; empty if nobody does, or none says so."""
    owners = info.context.data.owners
    return owners.of(self.path) if owners is not None else ()


@gives(bool)
def enforced(self: Entry) -> bool:
    """Whether it can bind a file without a person or a model deciding so."""
    return self.activation.enforced


@gives(str | None)
def not_enforced_reason(self: Entry) -> str | None:
    """Why it binds nothing by itself; null if it does."""
    return None if self.activation.enforced else not_enforced_because(self)


RULE_PATTERN = derive(
    Pattern,
    "A pattern that a rule binds files by.",
    name="RulePattern",
    names={"glob": "pattern"},
)
RULE_SECTION = derive(
    RuleSection,
    "A section of a large rule, which a review answers by its own id.",
    types={"severity": Severity},
)
REVISION = derive(
    HistoryLine,
    "One thing that happened to a document.",
    name="Revision",
    ids=("revision",),
    types={"at": Moment},
)
RULE = derive(
    Entry,
    "A rule: an SOP, or a file in the rule format of another tool.",
    name="Rule",
    node=True,
    hidden=(
        *("sha256", "scope", "chunk_count", "triples", "wanted_id", "signature", "links", "link"),
        *("includes", "only_includes"),
    ),
    types={"category": Category, "severity": Severity, "activation": Activation},
    more=(
        *(repository, line, text, sections, files, history, reviews, findings, changes),
        *(supersedes, superseded_by, owner, enforced, not_enforced_reason),
    ),
)


# What binds a file


@gives(str)
def reason(self: Binding) -> str:
    """Why the rule binds the file, in a sentence."""
    place = self.rule.path if self.line is None else f"{self.rule.path}:{self.line}"
    said = "binds every file" if self.glob == "**" else f"applies to {self.pattern}"
    return f"{place} {said}"


BINDING = derive(
    Binding,
    "A rule that binds a file, and the pattern and line that make it so.",
    hidden=("includes",),
    more=(reason,),
)

BUDGET = derive(
    BudgetAnswer,
    "How a review of some files, or of a change, fills the window of the reviewer's model, in "
    "tokens.",
    name="Budget",
    kinds={"outcome": Outcome, "reserve_from": ReserveFrom},
)


# Files


@gives(bool)
def exists(self: RepositoryFile, info: Asking) -> bool:
    """Whether it is there now."""
    return (info.context.workspace.root / self.path).is_file()


@gives(several(BINDING))
def rules(self: RepositoryFile, info: Asking) -> list[Binding]:
    """The rules that bind it, and why, whether or not it exists."""
    found = info.context.snapshot.rules.bind(self.path)
    info.context.data.announce(binding.rule for binding in found)
    return found


@gives(BUDGET)
def budget(self: RepositoryFile, info: Asking) -> BudgetAnswer:
    """How a review of it alone fills the reviewer's window."""
    info.context.deadline.check()
    return budget_of(info.context.workspace, [self.path], None)


@gives(several(_own("CHANGE")), name="history")
def file_history(self: RepositoryFile, info: Asking) -> list[ReviewedChange]:
    """The changes of it that were put before a reviewer, by the receipts that were kept."""
    return info.context.data.changes_at(self.path)


@gives(later("REVIEW_CONNECTION", _WORK), name="reviews")
def file_reviews(
    self: RepositoryFile,
    info: Asking,
    *,
    from_line: int | None = None,
    to_line: int | None = None,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """The recorded reviews with a finding in it, the newest first; between two lines if given."""
    found = info.context.data.reviews_at(self.path, from_line, to_line)
    return reviews_page(found, PageAsked(first, after, last, before))


@gives(list[str], name="owner")
def file_owner(self: RepositoryFile, info: Asking) -> tuple[str, ...]:
    """Who owns it by CODEOWNERS; empty if nobody does, or no such file says so."""
    owners = info.context.data.owners
    return owners.of(self.path) if owners is not None else ()


FILE = derive(
    RepositoryFile,
    "A file of the repository, or a path where one could be.",
    name="File",
    more=(exists, rules, budget, file_history, file_reviews, file_owner),
)
FILE_CONNECTION = connection("File", FILE)
RULE_CONNECTION = connection("Rule", RULE)
PROBLEM_CONNECTION = connection("Problem", PROBLEM)


# Changes and coverage


@gives(several(later("RECEIPT", _WORK)), name="receipts")
def change_receipts(self: ReviewedChange, info: Asking) -> list[object]:
    """The receipts of its packets."""
    read = (info.context.data.receipt(each) for each in self.receipts)
    return [each for each in read if each is not None]


@gives(several(later("REVIEW", _WORK)), name="reviews")
def change_reviews(self: ReviewedChange, info: Asking) -> list[RecordedReview]:
    """The recorded reviews of it, the newest first."""
    mine = set(self.receipts)
    return [each for each in info.context.data.reviews if mine.intersection(each.receipts)]


CHANGE = derive(
    ReviewedChange,
    "A change that was put before a reviewer.",
    name="Change",
    hidden=("receipts",),
    more=(change_receipts, change_reviews),
)
CHANGE_CONNECTION = connection("Change", CHANGE)


@gives(FILE_CONNECTION)
def unbound(
    self: RuleCoverage,
    *,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> ListPage:
    """The files that no rule binds."""
    return files_page(self.unbound_paths, PageAsked(first, after, last, before))


@gives(float)
def share(self: RuleCoverage) -> float:
    """The share of files that some rule binds, between 0 and 1; 1 where there is no file."""
    return self.bound / self.files if self.files else 1.0


derive(FolderCoverage, "How many of the files below a folder some rule binds.")
COVERAGE = derive(
    RuleCoverage,
    "How many files of the repository some rule binds; the rules themselves are not counted.",
    name="Coverage",
    hidden=("unbound_paths",),
    more=(unbound, share),
)


def coverage_of(info: Asking) -> RuleCoverage:
    """How far the rules reach over the files of the repository."""
    data = info.context.data
    sources = {entry.path for entry in info.context.snapshot.all_rules}
    files = [path for path in data.files.all() if path not in sources]
    bound = data.files.bound(info.context.snapshot).files
    folders: dict[str, list[int]] = {}
    for path in files:
        counts = folders.setdefault(path.partition("/")[0] if "/" in path else ".", [0, 0])
        counts[0] += 1
        counts[1] += path in bound
    return RuleCoverage(
        files=len(files),
        bound=sum(path in bound for path in files),
        folders=tuple(FolderCoverage(name, *counts) for name, counts in sorted(folders.items())),
        unbound_paths=tuple(path for path in files if path not in bound),
    )


def file_at(info: Asking, path: str) -> RepositoryFile:
    """A file by its path.

    Raises:
        GraphQLError: It leads out of the repository.
    """
    (clean,) = files_inside(info.context, [path], "path")
    return RepositoryFile(clean)


def branch_of(info: Asking) -> str | None:
    """The branch that is checked out; None if none is."""
    return _said(info, "symbolic-ref", "--quiet", "--short", "HEAD")


def commit_of(info: Asking) -> str | None:
    """The commit that is checked out; None if there is none."""
    return _said(info, "rev-parse", "--verify", "--quiet", "HEAD")


def _said(info: Asking, *arguments: str) -> str | None:
    from hornbook.commits import git  # noqa: PLC0415  # start-up

    answer = git.run(info.context.workspace.root, *arguments)
    said = answer.stdout.decode("utf-8", "replace").strip()
    return said if answer.returncode == 0 and said else None
