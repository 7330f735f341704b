"""The plans of a workspace: what people and the loop do with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbook.commits import git
from hornbook.commits.commit import Commit, commit_at
from hornbook.context.named_files import is_glob, matching
from hornbook.context.plan_brief import Brief, brief_of
from hornbook.context.plan_check import PlanSurroundings, check_plan, fails, task_files
from hornbook.context.sizing import Sizing, size_task
from hornbook.context.task_route import TaskRoute, route_of
from hornbook.disk import now
from hornbook.errors import ConfigError, NotFound, UsageError
from hornbook.gates.gate_list import gates_now
from hornbook.graph.snapshot import Snapshot
from hornbook.plans.active import choose_plan
from hornbook.plans.files import PLAN_FILE
from hornbook.plans.log import EventLog
from hornbook.plans.plan import Plan, PlanDecision, PlanTask
from hornbook.plans.principal import Principal
from hornbook.plans.reader import PlanReader
from hornbook.plans.scope import PlanScope
from hornbook.plans.state import PlanState, PlanStatus
from hornbook.plans.store import PlanView, with_sections
from hornbook.plans.tasks import in_order, read_tasks
from hornbook.plans.text import SECTIONS, PlanText, parse, render
from hornbook.rules.catalog import Entry
from hornbook.rules.discover import STATE_FOLDERS, FileKind, walk
from hornbook.rules.document import Problem
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.vocabulary.predicates import PLAN_REFERENCES
from hornbook.vocabulary.terms import Level


@dataclass(frozen=True, slots=True)
class SizedTask:
    """A task of a plan with its id, whether it fits, and what becomes of it if not."""

    id: str
    task: PlanTask
    size: Sizing
    route: TaskRoute


@dataclass(frozen=True, slots=True)
class PlanCheck:
    """What a check of a plan found; `rules` are those that judge plans, to be read with it.

    `head` is the commit that work would begin with, none if there is none.
    """

    view: PlanView
    problems: tuple[Problem, ...]
    rules: tuple[Entry, ...]
    head: Commit | None = None

    @property
    def passed(self) -> bool:
        """Whether the plan may start."""
        return not fails(self.problems)


class PlanBook(PlanReader):
    """Every plan of one workspace; `ingested` gives the graph, where there is one.

    `log` is one that is open already; else each question opens its own.
    """

    def __init__(
        self,
        places: Places,
        settings: Settings,
        ingested: Callable[[], Snapshot],
        clock: Callable[[], str] = now,
        log: EventLog | None = None,
        *,
        by: Principal | None = None,
    ) -> None:
        super().__init__(places, settings, clock, log, by=by)
        self._ingested = ingested

    def use(self, slug: str) -> PlanView:
        """The plan, made the active one."""
        view = self.view(slug)
        return self._chosen(view)

    def explore(
        self,
        title: str,
        text: str | None = None,
        *,
        path: str = "",
        supersedes: str | None = None,
        active: bool = True,
    ) -> PlanView:
        """A new exploration, made the active plan unless that is not wanted."""
        with self.store() as store:
            view = store.begin(title, text, path=path, supersedes=supersedes)
        return self._chosen(view) if active else view

    def commit(
        self, title: str, text: str | None = None, *, path: str = "", active: bool = True
    ) -> PlanView:
        """A new committed plan, made the active one unless that is not wanted.

        One that lacks sections stays an exploration; its problems say which.

        Raises:
            NotAPerson: Whoever asks is none; nothing was done.
        """
        with self.store() as store:
            view = store.commit(title, text, path=path)
        if view.plan.committed:
            view = self._at_boundary(view)
        return self._chosen(view) if active else view

    def promote(self, given: str | None = None) -> PlanView:
        """The plan, committed.

        Raises:
            PlanIncomplete: It lacks sections; it stays an exploration.
            NotAPerson: Whoever asks is none; nothing was done.
        """
        slug = self.view(given).plan.slug
        with self.store() as store:
            view = store.promote(slug)
        return self._guarded(self._at_boundary(view))

    def rewrite(
        self,
        given: str | None,
        text: str,
        sections: Sequence[str] = SECTIONS,
        *,
        path: str = "",
        reason: str = "",
    ) -> PlanView:
        """The plan with some of its sections taken from a text.

        Raises:
            ConfigError: The text has none of them, or is wrong otherwise.
            UsageError: The plan is committed and no reason is given.
            NotAPerson: The plan is committed, and whoever asks is none.
        """
        plan = self.view(given).plan
        changed = with_sections(plan, text, sections, path)
        with self.store() as store:
            view = store.change(plan.slug, changed, reason=reason)
        return self._guarded(view)

    def decide(
        self,
        given: str | None,
        *,
        decision: str,
        reason: str,
        impact: str,
        supersedes: str | None = None,
    ) -> PlanDecision:
        """The decision, recorded with the plan.

        Raises:
            NotFound: The decision that it supersedes is not there.
        """
        slug = self.view(given).plan.slug
        if supersedes is not None:
            self._require_decision(supersedes)
        with self.store() as store:
            state = store.decide(
                slug,
                decision=decision,
                reason=reason,
                impact=impact,
                supersedes=supersedes,
            ).state
        said = (decision, reason, impact, supersedes)
        return next(
            each
            for each in state.decisions
            if (each.decision, each.reason, each.impact, each.supersedes) == said
        )

    def risk(self, given: str | None, *, name: str, severity: str, text: str) -> PlanView:
        """The plan with the risk as it is seen now."""
        slug = self.view(given).plan.slug
        with self.store() as store:
            return store.risk(slug, name=name, severity=severity, text=text)

    def tried(self, given: str, *, number: int, answer: str, findings: Sequence[str]) -> None:
        """Record what a planner answered when it was asked for the plan, and what is wrong."""
        with self.store() as store:
            store.tried(given, number, answer, findings)

    def tasks(self, given: str | None = None) -> tuple[PlanView, list[SizedTask]]:
        """The plan and its tasks, sized, each behind those it depends on.

        The tasks of a committed plan are fixed by this; those of an exploration are only shown.

        Raises:
            ConfigError: The execution section is no list of tasks that can be put in order.
            NotFound: Nothing is ingested yet.
        """
        view = self.view(given)
        path = _path(view.plan)
        read = self._text(view)
        listed = read_tasks(view.plan.execution, path)
        wrong = [each for each in listed.problems if each.level is Level.ERROR]
        if wrong:
            first = read.lines.get("Execution", 1)
            lines = [f"{path}, line {first + (e.line or 1) - 1}: {e.message}" for e in wrong]
            raise ConfigError(lines)
        fixed = view.state.tasks  # those that runs added stand behind those of the text
        tasks = fixed if fixed[: len(listed.tasks)] == listed.tasks else listed.tasks
        sized = self._sized(view.plan, in_order(tasks), self.files())
        if view.state.status is PlanStatus.COMMITTED:
            with self.store() as store:
                view = store.fix_tasks(view.plan.slug, tasks)
            view = self._at_boundary(view)
        return view, sized

    @staticmethod
    def task(state: PlanState, number_or_id: str) -> PlanTask:
        """One task of a plan, by its number or id; as it was fixed, if it was.

        Raises:
            NotFound: The plan has no such task.
        """
        plan = state.plan
        wanted = number_or_id.removeprefix(f"task.{plan.slug}.")
        tasks = state.tasks or read_tasks(plan.execution).tasks
        found = next((task for task in tasks if str(task.number) == wanted), None)
        if found is None:
            known = ", ".join(task.id_in(plan.slug) for task in tasks) or "none"
            raise NotFound(f"plan {plan.slug} has no task {number_or_id!r}: there are {known}.")
        return found

    def plan_of(self, task_id: str) -> str:
        """The slug of the plan that a task's id belongs to; a bare number is the active plan's."""
        parts = task_id.split(".")
        return parts[1] if len(parts) == 3 and parts[0] == "task" else self.slug(None)

    def files_for(self, plan: Plan, task: PlanTask | None) -> list[str]:
        """The files of a task; where none are named, all that the plan may change."""
        present = self.files()
        if task is None or not task.files:
            return PlanScope(plan.constraints).files(present)
        return self._sizable(task.files, present)

    def brief(self, plan: str, task: str | None = None, *, with_files: bool = False) -> Brief:
        """What a step is told of a plan, and of one of its tasks; on demand with its files.

        Raises:
            NotFound: There is no such plan or task.
            UsageError: The plan is not committed.
        """
        state = self.view(plan).state
        meant = self.task(state, task) if task is not None else None
        files = self.files_for(state.plan, meant) if with_files else ()
        from hornbook.graph.plan_graph import PlanGraph  # noqa: PLC0415  # start-up: opens a store

        accepted = {each.id for each in self.decisions(state.plan.slug)}
        graph = PlanGraph(
            state.plan.id,
            {d.id: "accepted" if d.id in accepted else "superseded" for d in state.decisions},
        )
        return brief_of(state, graph.standing(), meant, files, graph.store.asked)

    def check(self, given: str | None = None) -> PlanCheck:
        """Whether a plan is fit to be carried out, and every reason why not."""
        view = self.view(given)
        files = self.files()
        listed = read_tasks(view.plan.execution).tasks
        rules: tuple[Entry, ...] = ()
        routes = entities = None
        try:
            snapshot = self._ingested()
        except NotFound:
            pass  # told as a problem of the plan: it cannot be sized
        else:
            concerned = PlanScope(view.plan.constraints).files(files)
            named = [path for task in listed for path in task.files]
            rules = tuple(snapshot.rules.bind_plan([*concerned, *named]))
            sized = self._sized(view.plan, listed, files)
            routes = {each.task.number: each.route for each in sized}
            entities = self._entities(snapshot)
        head = self._head()
        committed = None if head is None else head.files
        around = PlanSurroundings(files, self._gates(), routes, entities, committed)
        found = check_plan(self._text(view), _path(view.plan), around)
        problems = dict.fromkeys((*view.problems, *found))
        ordered = tuple(sorted(problems, key=lambda each: each.line or 0))
        return PlanCheck(view, ordered, rules, head)

    def _gates(self) -> set[str] | None:
        """The names of the gates; None without any, which is told before anybody works."""
        return {each.gate.name for each in gates_now(self._places.root).gates} or None

    def _head(self) -> Commit | None:
        """The commit that work would begin with, if there is one."""
        try:
            return commit_at(self._places.root, "HEAD")
        except UsageError:
            return None

    def references(self, given: str | None) -> tuple[str, ...]:
        """What the plan names, by id or path, as the graph has it; nothing where there is none."""
        try:
            snapshot = self._ingested()
        except NotFound:
            return ()
        edges = snapshot.edges([f"plan.{self.slug(given)}"], inbound=False)
        return tuple(target for _, name, target in edges if name == PLAN_REFERENCES.name)

    def _entities(self, snapshot: Snapshot) -> set[str]:
        """The ids of all that a plan may name; of plans also what was not ingested yet."""
        found = set(snapshot.by_id)
        for view in self.views():
            state = view.state
            found |= {view.plan.id, *(task.id_in(view.plan.slug) for task in state.tasks)}
            found |= {each.id for each in state.decisions}
        return found

    def files(self) -> list[str]:
        """The files of the repository, without our own and without what git ignores; sorted."""
        found = [
            each.path
            for each in walk(self._places.root, "", lambda _path, _name: True)
            if each.kind is FileKind.FILE and each.path.split("/")[0] not in STATE_FOLDERS
        ]
        hidden = git.ignored(self._places.root, found)
        return sorted(path for path in found if path not in hidden)

    def scope_files(self, given: str | None) -> list[str]:
        """The files that a plan's constraints let anybody change.

        Raises:
            UsageError: There is none.
        """
        plan = self.view(given).plan
        found = PlanScope(plan.constraints).files(self.files())
        if not found:
            raise UsageError(f"no file is in the scope of plan {plan.slug}: see `plans check`.")
        return found

    def _sized(
        self, plan: Plan, tasks: Sequence[PlanTask], present: Sequence[str]
    ) -> list[SizedTask]:
        snapshot = self._ingested()
        scope = PlanScope(plan.constraints)
        sized = []
        for task in tasks:
            files = self._sizable(task_files(task, scope, present), present)
            size = size_task(
                self._places.root,
                snapshot,
                files,
                description="\n".join(filter(None, (task.title, task.description))),
                criteria=task.criteria,
            )
            route = route_of(size, snapshot)
            sized.append(SizedTask(task.id_in(plan.slug), task, size, route))
        return sized

    def _sizable(self, files: Sequence[str], present: Sequence[str]) -> list[str]:
        """Files, with globs and folders replaced by what lies there; nothing may."""
        found: set[str] = set()
        for path in files:
            pattern = f"{path.rstrip('/')}/**" if (self._places.root / path).is_dir() else path
            found.update(matching(pattern, present) if is_glob(pattern) else [pattern])
        return sorted(found)

    def _text(self, view: PlanView) -> PlanText:
        """The plan's file as it was read; where it says something else, as it should be."""
        path = self._places.state / "plans" / view.plan.slug / PLAN_FILE
        read = parse(path.read_bytes().decode("utf-8", "replace"), _path(view.plan))
        return read if read.plan == view.plan else parse(render(view.plan), _path(view.plan))

    def _require_decision(self, decision_id: str) -> None:
        known = {each.id for view in self.views() for each in view.state.decisions}
        if decision_id in known:
            return
        try:
            entries = self._ingested().by_id
        except NotFound:
            entries = {}
        if decision_id not in entries:
            listed = ", ".join(sorted(known)) or "none"
            raise NotFound(f"there is no decision {decision_id!r}: plans have {listed}.")

    def _chosen(self, view: PlanView) -> PlanView:
        choose_plan(self._places.state, view.plan.slug)
        return self._guarded(view)

    def _guarded(self, view: PlanView) -> PlanView:
        """The plan, compiled anew for the guard of the hooks."""
        from hornbook.hooks.compiler import guarded  # noqa: PLC0415  # start-up: `execute` reads plans and never writes them

        return guarded(self._places.root, self._settings, view)

    def _at_boundary(self, view: PlanView) -> PlanView:
        """The plan, checkpointed where a phase of it ends."""
        from hornbook.loop.memory import Memory  # noqa: PLC0415  # start-up: as above

        memory = Memory(self._places, self._settings, self._clock)
        memory.checkpoint_at_boundary(view.plan.slug)
        return view


def _path(plan: Plan) -> str:
    return Path(".hornbook", "plans", plan.slug, PLAN_FILE).as_posix()
