"""What the resolvers of one request share, so that nothing is read twice, and nothing one by one.

Whoever shows rules announces them. The first resolver that needs the text of one of them, its
reviews or its changes asks for those of all that were announced: a page of a hundred rules is one
question to the graph, not a hundred.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hornbook.errors import NotFound
from hornbook.graph.snapshot import Snapshot
from hornbook.graph.statements import literal
from hornbook.review.review_history import (
    RecordedReceipt,
    RecordedReview,
    bad_records,
    of_runs,
    read_record,
    read_records,
    recorded_receipt,
    recorded_review,
)
from hornbook.rules.catalog import Entry
from hornbook.rules.document import Document
from hornbook.serve.answers import TaskAnswer, WholePlan, whole_plan
from hornbook.serve.work_tree_files import WorkTreeFiles
from hornbook.vocabulary.terms import Category
from hornbook.workspace import Workspace

if TYPE_CHECKING:  # they load the readers, the log and the doctor, which most queries do without
    from hornbook.doctor.checks.owners import CodeOwners
    from hornbook.doctor.finding import Health
    from hornbook.loop.runs.overview import RunLine
    from hornbook.loop.runs.run_book import RunBook
    from hornbook.plans.events import Event


def _file_version(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return ()  # it went meanwhile
    return (found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task, and the plan that it is of."""

    plan_slug: str
    task: TaskAnswer

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id


@dataclass(frozen=True, slots=True)
class KnownDecision:
    """A decision: of a plan, or a document of its own, which gives no reason in a field."""

    id: str
    title: str
    reason: str | None
    impact: str | None
    path: str | None
    at: str | None
    plan_slug: str | None
    supersedes_id: str | None
    superseded_by_id: str | None


@dataclass(frozen=True, slots=True)
class ReviewedChange:
    """A change that was put before a reviewer, by the receipts of its packets."""

    base: str
    head: str
    receipts: tuple[str, ...]

    @property
    def order(self) -> str:
        """What changes are ordered by."""
        return f"{self.head} {self.base}"


class RequestData:
    """Everything that one request looked at already."""

    def __init__(
        self,
        workspace: Workspace,
        snapshot: Snapshot,
        files: WorkTreeFiles,
        book: "RunBook | None" = None,
    ) -> None:
        """`book` is one that stays open beside requests; else each request opens its own."""
        self._book = book
        self.workspace = workspace
        self.snapshot = snapshot
        self.files = files
        self._announced: dict[str, None] = {}
        self._documents: dict[str, Document] = {}
        self._changes_of: dict[str, list[ReviewedChange]] = {}
        self._receipts: dict[str, RecordedReceipt | None] = {}

    # Rules

    def announce(self, rules: Iterable[Entry]) -> None:
        """Note rules that are shown: what is asked of one of them is asked of all."""
        self._announced.update(dict.fromkeys(rule.id for rule in rules))

    def rule(self, rule_id: str) -> Entry | None:
        """A rule by its id; None if there is none."""
        entry = self.snapshot.rules_by_id.get(rule_id)
        if entry is not None:
            self.announce([entry])
        return entry

    def rules(self, ids: Iterable[str]) -> list[Entry]:
        """The rules among some ids, in id order."""
        known = self.snapshot.rules_by_id
        found = [known[each] for each in sorted(set(ids)) if each in known]
        self.announce(found)
        return found

    def document(self, rule_id: str) -> Document:
        """A rule whole.

        Raises:
            NotFound: The graph does not have it any more.
        """
        if rule_id not in self._documents:
            wanted = self._waiting(rule_id, self._documents)
            self._documents |= self.snapshot.documents(wanted)
        if rule_id not in self._documents:
            raise NotFound(f"the graph has no text of {rule_id}: run `hornbook ingest`.")
        return self._documents[rule_id]

    def _waiting(self, rule_id: str, known: Mapping[str, object]) -> list[str]:
        """The rules that were announced and are not known yet, this one among them."""
        self._announced[rule_id] = None
        return [each for each in self._announced if each not in known]

    @cached_property
    def owners(self) -> "CodeOwners | None":
        """Who owns which files; None where nobody says so."""
        from hornbook.doctor.checks.owners import CodeOwners  # noqa: PLC0415  # start-up

        return CodeOwners.read(self.workspace.root)

    def owned_by(self, owner: str) -> list[str]:
        """The ids of the rules whose files somebody owns."""
        owners = self.owners
        if owners is None:
            return []
        rules = self.snapshot.all_rules
        paths = [rule.path for rule in rules if owner in owners.of(rule.path)]
        return self._at(paths)

    def _at(self, paths: Sequence[str]) -> list[str]:
        """The ids of the documents whose text stands in some files, as the graph has them."""
        if not paths:
            return []
        terms = " ".join(map(literal, paths))
        return [row[0] for row in self.snapshot.store.rows("rules_by_path", paths=terms)]

    def lying_in(self, folder: str) -> list[str]:
        """The ids of the documents whose text stands in a file below a folder."""
        below = literal(f"{folder.strip('/')}/")
        return [row[0] for row in self.snapshot.store.rows("rules_by_folder", folder=below)]

    def binding_below(self, folder: str) -> list[str]:
        """The ids of the rules that bind a file below a folder."""
        below = f"{folder.strip('/')}/"
        files = [path for path in self.files.all() if path.startswith(below)]
        return [binding.rule.id for binding, _ in self.snapshot.applicable(files)] if files else []

    def files_of(self, rule_id: str) -> tuple[str, ...]:
        """The files of the repository that a rule binds, sorted."""
        return self.files.bound(self.snapshot).by_rule.get(rule_id, ())

    # Reviews, receipts and changes

    @cached_property
    def reviews(self) -> tuple[RecordedReview, ...]:
        """Every recorded review that can be believed, the newest first, as of a second ago."""
        return self.files.reviews(self._read_reviews, self._reviews_version)

    def _reviews_version(self) -> object:
        """What tells the records, and the logs that vouch for them, from what they were."""
        if self._book is None:
            return object()  # the command line asks once
        places = self.workspace.places
        paths = [*(places.records / "reviews").glob("*.json")]
        paths += (places.state / "plans").glob("*/events.jsonl")
        return {path: _file_version(path) for path in paths}, self._book.heads()

    def _read_reviews(self) -> tuple[RecordedReview, ...]:
        records = read_records(self.workspace.places)
        events: list[Event] = []
        if of_runs(records):
            kept = self._book
            with self.workspace.run_book() if kept is None else nullcontext(kept) as book:
                events = book.all_events()
        bad = {each.id for each in bad_records(records, events)}
        found = (
            recorded_review(name, record)
            for name, record in records.items()
            if record is not None and name not in bad
        )
        return tuple(sorted(found, key=lambda each: each.order, reverse=True))

    @cached_property
    def _reviews_by_id(self) -> Mapping[str, RecordedReview]:
        return {each.id: each for each in self.reviews}

    def review(self, review_id: str) -> RecordedReview | None:
        """A recorded review by its id; None if there is none that can be believed."""
        return self._reviews_by_id.get(review_id)

    def among(self, ids: Iterable[str]) -> list[RecordedReview]:
        """The reviews with some ids, the newest first."""
        wanted = set(ids)
        return [each for each in self.reviews if each.id in wanted]

    def reviews_of(self, rule_id: str) -> list[RecordedReview]:
        """The recorded reviews that answer a rule, the newest first."""
        known = self.files.reviews_by_rule(self.snapshot)
        if rule_id not in known:
            wanted = self._waiting(rule_id, known)
            found: dict[str, list[str]] = {each: [] for each in wanted}
            terms = " ".join(map(self.snapshot.store.names.term, wanted))
            for rule, review, _ in self.snapshot.store.rows("reviews_by_rule", rules=terms):
                found[rule].append(review)
            known.update({rule: tuple(each) for rule, each in found.items()})
        return self.among(known[rule_id])

    def reviews_at(
        self, path: str, first: int | None = None, last: int | None = None
    ) -> list[RecordedReview]:
        """The recorded reviews with a finding in a file, between two lines if they are given."""
        store = self.snapshot.store
        if first is None:
            rows = store.rows("reviews_by_path", paths=literal(path))
            return self.among(row[1] for row in rows)
        rows = store.rows(
            "reviews_by_line",
            path=literal(path),
            **{"from": str(first), "to": str(first if last is None else last)},
        )
        return self.among(row[0] for row in rows)

    def changes_of(self, rule_id: str) -> list[ReviewedChange]:
        """The changes that a rule was put before a reviewer for."""
        if rule_id not in self._changes_of:
            wanted = self._waiting(rule_id, self._changes_of)
            terms = " ".join(map(self.snapshot.store.names.term, wanted))
            rows = self.snapshot.store.rows("changes_by_rule", rules=terms)
            told: dict[str, list[tuple[str, ...]]] = {each: [] for each in wanted}
            for rule, *change in rows:
                told[rule].append(tuple(change))
            self._changes_of.update({each: _changes(some) for each, some in told.items()})
        return self._changes_of[rule_id]

    def changes_at(self, path: str) -> list[ReviewedChange]:
        """The changes of a file that were put before a reviewer."""
        rows = self.snapshot.store.rows("changes_by_path", paths=literal(path))
        return _changes(row[1:] for row in rows)

    def receipt(self, receipt_id: str) -> RecordedReceipt | None:
        """A receipt that was kept; None if it was not."""
        if receipt_id not in self._receipts:
            self._receipts[receipt_id] = self._read_receipt(receipt_id)
        return self._receipts[receipt_id]

    def _read_receipt(self, receipt_id: str) -> RecordedReceipt | None:
        name = receipt_id.removeprefix("receipt.")
        if not name.isalnum():
            return None
        said = read_record(self.workspace.places.records / "receipts" / f"{name}.json")
        return None if said is None else recorded_receipt(receipt_id, said)

    # Plans, decisions and runs

    @cached_property
    def plans(self) -> Mapping[str, WholePlan]:
        """Every plan by its slug: explorations, then the committed, then the rest."""
        book = self.workspace.plan_book()
        active = book.active()
        return {view.plan.slug: whole_plan(view, active) for view in book.views()}

    def task(self, task_id: str) -> PlannedTask | None:
        """A task by its id; None if there is none."""
        slug = task_id.removeprefix("task.").rpartition(".")[0]
        return next((each for each in self.tasks(slug) if each.id == task_id), None)

    def tasks(self, slug: str) -> list[PlannedTask]:
        """The tasks of a plan, as they were fixed."""
        plan = self.plans.get(slug)
        return [PlannedTask(slug, task) for task in plan.tasks] if plan is not None else []

    @cached_property
    def decisions(self) -> Mapping[str, KnownDecision]:
        """Every decision by its id: those of plans, and the documents."""
        supersedes, superseded_by = self.snapshot.replacing
        found = {}
        for entry in self.snapshot.catalog.entries:
            if entry.category is Category.DECISION:
                found[entry.id] = KnownDecision(
                    id=entry.id,
                    title=entry.title,
                    reason=None,
                    impact=None,
                    path=entry.path,
                    at=None,
                    plan_slug=None,
                    supersedes_id=next(iter(supersedes.get(entry.id, ())), None),
                    superseded_by_id=next(iter(superseded_by.get(entry.id, ())), None),
                )
        for plan in self.plans.values():
            for each in plan.decisions:
                known = found.get(each.id)
                found[each.id] = KnownDecision(
                    id=each.id,
                    title=each.decision,
                    reason=each.reason,
                    impact=each.impact,
                    path=None if known is None else known.path,
                    at=each.at,
                    plan_slug=plan.slug,
                    supersedes_id=each.supersedes,
                    superseded_by_id=each.superseded_by,
                )
        return dict(sorted(found.items()))

    def plans_of(self, decision_id: str) -> list[WholePlan]:
        """The plans that a decision was taken with: by their events, else as the graph has them."""
        known = self.decisions.get(decision_id)
        if known is not None and known.plan_slug is not None:
            return [self.plans[known.plan_slug]]
        store = self.snapshot.store
        rows = store.rows("plans_by_decision", decisions=store.names.term(decision_id))
        slugs = sorted({row[1].removeprefix("plan.") for row in rows})
        return [self.plans[slug] for slug in slugs if slug in self.plans]

    @cached_property
    def _runs(self) -> tuple[Mapping[str, "RunLine"], Mapping[str, "list[Event]"]]:
        from hornbook.loop.runs.state import by_run  # noqa: PLC0415  # start-up

        # Opened anew: where a run stands is told by its workflow, which may be another one by now.
        with self.workspace.run_book() as book:
            lines = {line.id: line for line in book.lines()}
            events = book.all_events() if lines else []
        return lines, by_run(events)

    @property
    def runs(self) -> Mapping[str, "RunLine"]:
        """Every run by its id, the newest first."""
        return self._runs[0]

    def events(self, run_id: str) -> "list[Event]":
        """The events of a run."""
        return self._runs[1].get(run_id, [])

    # Health

    @cached_property
    def health(self) -> "Health":
        """What in the rules does not hold in this repository."""
        return self.files.health(self.workspace)

    @cached_property
    def gate_origins(self) -> Mapping[str, str]:
        """Where the command of each gate is defined now, by the gate's name."""
        return {
            each.gate.name: dict(each.gate.origins).get("command", "")
            for each in self.workspace.gates().gates
        }


def _changes(rows: Iterable[Sequence[str]]) -> list[ReviewedChange]:
    """Changes from receipts with base and head, in the order of their keys."""
    found: dict[tuple[str, str], ReviewedChange] = {}
    for receipt, base, head in sorted(tuple(row) for row in rows):
        known = found.get((base, head), ReviewedChange(base, head, ()))
        receipts = tuple(dict.fromkeys((*known.receipts, receipt)))
        found[base, head] = replace(known, receipts=receipts)
    return sorted(found.values(), key=lambda each: each.order)
