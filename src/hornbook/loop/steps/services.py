"""What every step of the loop stands on: the log, the plans, and those who work."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from hornbook.agents.assignment import Agent, Answer, Assignment, Record
from hornbook.commits import git
from hornbook.context.named_files import is_glob, matching
from hornbook.disk import to_milliseconds
from hornbook.errors import DatabaseAway, NotFound
from hornbook.loop.plan_book import PlanBook
from hornbook.loop.protocol import Exchange, NoExchange, Staff, StepKind, Worktrees
from hornbook.loop.runs.files import Projections
from hornbook.loop.runs.state import RunState
from hornbook.loop.workflow.definition import Workflow, Workflows
from hornbook.loop.workflow.interpreter import Do
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.files import write_if_changed
from hornbook.plans.log import EventLog
from hornbook.plans.plan import PlanTask
from hornbook.plans.principal import LOOP, Principal
from hornbook.plans.scope import PlanScope
from hornbook.plans.state import PlanState
from hornbook.plans.store import PlanStore
from hornbook.plans.tasks import Ledger, ledger_of
from hornbook.rules.discover import STATE_FOLDERS
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

Clock = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Pending:
    """A step that did not come to a result yet: how the run stands instead."""

    kind: StepKind
    message: str = ""
    status: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A run that ends here, because another workflow goes on with its task."""

    to: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoopServices:
    """An opened workspace of the loop."""

    places: Places
    settings: Settings
    staff: Staff
    worktrees: Worktrees
    clock: Clock
    log: EventLog
    store: PlanStore
    book: PlanBook
    workflows: Workflows
    projections: Projections
    exchange: Exchange = field(default_factory=NoExchange)

    @property
    def root(self) -> Path:
        """The folder of the repository."""
        return self.places.root

    def events(self, plan: str) -> list[Event]:
        """The whole log of a plan, as it stands now."""
        return self.log.events(plan)

    def run(self, run_id: str) -> RunState:
        """A run as its events leave it.

        Raises:
            NotFound: It was never begun.
        """
        plan = self.log.plan_with(event_keys.run_started(run_id))
        found = self.projections.run(self.events(plan), run_id) if plan else None
        if found is None:
            raise NotFound(f"there is no run {run_id!r}: `hornbook runs` lists them.")
        return found

    def is_over(self, run: RunState) -> bool:
        """Whether a run was ended beside us, as by `runs stop`; only what is new is read.

        While the database is away nobody knows, and whoever works goes on.
        """
        try:
            fresh = self.log.later(run.plan, run.events[-1].seq)
        except DatabaseAway:
            return False
        return any(e.kind == kinds.ENDED and e.data["run"] == run.id for e in fresh)

    def begun(self, plan: str, run_id: str) -> RunState | None:
        """A run of a plan, if it was begun; no other plan is looked at."""
        if not self.store.has(plan):
            return None
        self.log.sync(plan)
        return self.projections.run(self.events(plan), run_id)

    def runs(self, plan: str) -> list[RunState]:
        """All runs of a plan, oldest first."""
        return self.projections.runs(self.events(plan))

    def ledger(self, plan: str) -> Ledger:
        """How far the plan's tasks are."""
        return self.projections.ledger(plan, self.events(plan))

    def plan(self, slug: str) -> PlanState:
        """A plan as its events leave it.

        Raises:
            NotFound: There is no such plan.
        """
        state = self.projections.plan(slug, self.events(slug))
        return self.store.view(slug).state if state is None else state

    def task_of(self, run: RunState) -> PlanTask:
        """The task that a run is about."""
        return PlanBook.task(self.plan(run.plan), str(run.task))

    def base_of(self, run: RunState) -> str:
        """The commit that a run's task builds on: what it depends on, and its subtasks.

        Once its work was put on top of the plan's branch it is that, and what was asked for since.
        """
        ledger = self.ledger(run.plan)
        number = ledger.number(str(run.task))
        merged = run.newest(kinds.MERGED)
        if merged is None:
            built_on = ledger.built_on(ledger.task(number))
            subtasks = ledger.continued.get(number, ())
        else:
            built_on = [kinds.merged(merged)["base"]]
            since = [event for event in run.of(kinds.CONTINUED) if event.seq > merged.seq]
            subtasks = tuple(event.data["child"] for event in since)
        parts = [commit for child in subtasks for commit in ledger.commits(child) or ()]
        return self.worktrees.base_for(run.plan, [*built_on, *parts])

    def paths_of(self, plan: PlanState, task: PlanTask, base: str) -> list[str]:
        """The files of a task at a commit; one that names none may touch all that the plan may."""
        present = sorted(
            path
            for path in git.files_at(self.root, base)
            if path.split("/")[0] not in STATE_FOLDERS
        )
        if not task.files:
            return PlanScope(plan.plan.constraints).files(present)
        found: set[str] = set()
        for path in task.files:
            below = [each for each in present if each.startswith(path.rstrip("/") + "/")]
            matched = matching(path, present) if is_glob(path) else [path]
            found.update(below or matched)
        return sorted(found)

    def workflows_of(self, plan: str) -> Mapping[str, Workflow]:
        """The workflows of the commit that a plan began with.

        Raises:
            ConfigError: One of the files there is wrong.
        """
        return self.workflows.at(self.worktrees.begin(plan))

    def keep(self, run: RunState, folder: str, name: str, text: str) -> Path:
        """Keep what a step saw or said with its task, for people."""
        path = self.task_folder(run) / "artifacts" / folder / name
        write_if_changed(path, text)
        self.exchange.put(run.plan, path)
        return path

    def task_folder(self, run: RunState) -> Path:
        """Where the files of a run's task lie."""
        number = str(run.task).rpartition(".")[2] if run.task else "plan"
        return self.places.state / "plans" / run.plan / "tasks" / number

    def begin_run(
        self,
        plan: str,
        run_id: str,
        data: Mapping[str, object],
        *,
        by: Principal | None = None,
    ) -> Event:
        """The event that begins a run; asked for again, the one that is there."""
        facts = self.beginning(plan, run_id, data)
        key = event_keys.run_started(run_id)
        event, _ = self.log.append(plan, kinds.STARTED, facts, key=key, by=by)
        return event

    def beginning(self, plan: str, run_id: str, data: Mapping[str, object]) -> dict[str, object]:
        """What the event that begins a run says."""
        workflow = self.workflows_of(plan).get(str(data["workflow"]))
        facts = {"run": run_id, "base": self.worktrees.begin(plan), **data}
        return facts if workflow is None else {**facts, "attempts": workflow.max_iterations}


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step of one run, and how what happens in it is noted."""

    services: LoopServices
    run: RunState
    do: Do

    @property
    def number(self) -> int:
        """The number of the step in its round."""
        return self.do.number

    @property
    def place(self) -> str:
        """A name for the step, for files."""
        return f"{self.run.id}-{self.run.round}-{self.number}"

    def noted(self, what: str) -> Data | None:
        """What was noted already under a name; that is not done again."""
        event = self.run.fact(self.number, what)
        return None if event is None else event.data

    def note(self, kind: str, what: str, data: Data, *, by: Principal = LOOP) -> Data:
        """Append an event of this step; the one that has the name already counts."""
        whole = {"run": self.run.id, "round": self.run.round, "number": self.number, **data}
        key = self.run.key(self.number, what)
        event, _ = self.services.log.append(self.run.plan, kind, whole, key=key, by=by)
        return event.data

    def choose(
        self, kind: str, what: str, choice: Callable[[Ledger], Data], *, by: Principal = LOOP
    ) -> Data:
        """Append what follows from the ledger as it stands; nobody else can come in between."""
        run = self.run
        key = run.key(self.number, what)
        place = {"run": run.id, "round": run.round, "number": self.number}
        chosen = self.services.log.choose(
            run.plan,
            kind,
            lambda events: (key, {**place, **choice(ledger_of(run.plan, events))}),
            by=by,
        )
        if chosen is None:
            raise TypeError(f"nothing was chosen for {key}")
        return chosen[0].data

    def is_over(self) -> bool:
        """Whether the run was ended beside us."""
        return self.services.is_over(self.run)

    def ask(self, worker: Agent, assignment: Assignment, record: Record) -> Answer:
        """What somebody answers, unless the run ends meanwhile: then their program does, too."""
        return worker.work(replace(assignment, is_over=self.is_over), record)

    def once(self, kind: str, what: str, make: Callable[[], Data]) -> Data:
        """What is known under a name, made and noted the first time."""
        known = self.noted(what)
        return known if known is not None else self.note(kind, what, make())


@contextmanager
def timed() -> Iterator[Callable[[], float]]:
    """How many seconds a block took so far."""
    start = time.monotonic()
    yield lambda: round(time.monotonic() - start, 3)


def later(at: str, seconds: float) -> str:
    """The time some seconds after another, as events carry it."""
    moment = datetime.fromisoformat(at).timestamp() + seconds
    return to_milliseconds(datetime.fromtimestamp(moment, UTC))


def seconds_until(at: str, now: str) -> float:
    """How many seconds are left until a time; none if it is over."""
    left = datetime.fromisoformat(at) - datetime.fromisoformat(now)
    return max(0.0, left.total_seconds())
