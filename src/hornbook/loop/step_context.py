"""What a step of the loop would see for a task, and by which settings; nobody is asked for it.

The functions of the steps themselves make it, over a run that is under way or as the next one would
begin, so that what is shown is what would be sent. Files are read from copies; nothing is noted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Self

from hornbook.agents.assignment import Agent, Role
from hornbook.commits import git
from hornbook.commits.trees import copy_of, tree_of
from hornbook.commits.worktrees import HIDDEN
from hornbook.context.prompt import (
    Context,
    Outcome,
    Part,
    Reason,
    Unit,
    contributions,
    in_order,
    lay_out,
)
from hornbook.context.review_packet import Contexts, Packet
from hornbook.context.step_parts import FRAME
from hornbook.context.task_route import STARTING
from hornbook.context.templates.roles import LOOP_STEPS, StepFacts, step_templates
from hornbook.disk import now
from hornbook.errors import NotFound, UsageError
from hornbook.graph.commit_graph import graph_at
from hornbook.graph.snapshot import Snapshot
from hornbook.located import Json
from hornbook.loop.loop import open_services
from hornbook.loop.plan_book import PlanBook
from hornbook.loop.protocol import WorktreeSnapshot
from hornbook.loop.runs.files import Projections
from hornbook.loop.runs.lookup import uncommitted
from hornbook.loop.runs.state import RunState, project_run
from hornbook.loop.steps.blindness import looked_through, refusal_to_send
from hornbook.loop.steps.develop import attempt_asked, gates_ahead, wants_tests_first
from hornbook.loop.steps.gates import sized
from hornbook.loop.steps.review import first_packets, reviewing_model
from hornbook.loop.steps.reviewer_prompt import WITHHELD, output_of_packet
from hornbook.loop.steps.services import LoopServices, StepRun
from hornbook.loop.steps.start import EXECUTE, task_run
from hornbook.loop.task_worktrees import TaskWorktrees
from hornbook.loop.workflow.expressions import Unresolved
from hornbook.loop.workflow.interpreter import (
    Do,
    ResolvedAction,
    Succeeded,
    WorkflowRun,
    advance,
    asked_next,
    visited,
)
from hornbook.loop.workflow.subjects import ASSEMBLE, GATES
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.plan import PlanTask
from hornbook.plans.principal import LOOP
from hornbook.plans.run_kinds import DEVELOP, REVIEW
from hornbook.plans.state import PlanState
from hornbook.plans.tasks import Ledger, ledger_after, read_tasks
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.text.tokens import counter

_UNCHANGED = (
    "nobody has worked on the task yet: these are its files as BASE has them; the change takes "
    "their place"
)
_STEP_OF = {DEVELOP: "developer", GATES: "gates", ASSEMBLE: "reviewer", REVIEW: "reviewer"}


@dataclass(frozen=True, slots=True)
class StepContext:
    """A step's context with the template that decided it; `notes` say what else would happen.

    `run` is the run that it is asked in, None if it would be a new one; `base` is the commit whose
    template counts.
    """

    context: Context
    step: StepFacts
    task: str
    base: str
    run: str | None = None
    notes: tuple[str, ...] = ()


def step_context(places: Places, settings: Settings, name: str, task: str) -> StepContext:
    """What a step would see for a task of a plan; it is named by its template or its workflow.

    Raises:
        UsageError: There is no such step, plan or task; the plan is not committed; or the step is
            asked by what is not known yet.
    """
    slug, known = _named(PlanBook(places, settings, _no_graph), task)
    with _opened(places, settings) as services:
        run, begun = _run_of(services, slug, known)
        role, step = _meant(name, run)
        made = _MAKERS[role](_at(services, run, role, step))
        notes = (*made.notes, *_notes(services, run, step, begun=begun))
        return replace(made, run=run.id if begun else None, notes=notes)


def _no_graph() -> Snapshot:
    raise TypeError("a step's context is made from commits")  # a plan's text is read without it


def _named(book: PlanBook, task: str) -> tuple[str, PlanTask]:
    try:
        state = book.view(book.plan_of(task)).state
        return state.plan.slug, book.task(state, task)
    except NotFound as problem:
        raise UsageError(str(problem)) from problem


# What it stands on


class _ReadOnlyWorktrees(TaskWorktrees):
    """Where a task would be worked on: copies of commits, gone afterwards."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, lambda _: False)
        self._copies = ExitStack()
        self._folders: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._copies.close()

    def _begin(self, plan: str) -> str:
        name = f"refs/hornbook/begin/{plan}"
        known = git.run(self._root, "rev-parse", "--verify", "-q", name)
        return git.commit(self._root, name if known.returncode == 0 else "HEAD")

    def ensure(self, plan: str, task: str, commit: str) -> str:
        """A copy of the commit, without the rules' folders, as a worktree would be."""
        if commit not in self._folders:
            copied = copy_of(self._root, tree_of(self._root, commit))
            self._folders[commit] = str(self._copies.enter_context(copied))
            self._hide(Path(self._folders[commit]))
        return self._folders[commit]

    @staticmethod
    def _hide(folder: Path) -> None:
        top = next(each for each in (folder, *folder.parents) if (each / ".git").is_dir())
        rmtree(top / ".git")
        (top / ".git").touch()  # a worktree has a file there
        for name in HIDDEN:
            for each in list(top.rglob(name)):
                rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()

    def change(self, plan: str, task: str, base: str) -> WorktreeSnapshot:
        """Nobody works here."""
        raise UsageError(f"nobody works on {task} here.")


class _Nobody:
    """A staff that cannot be asked."""

    def worker(self, role: Role, name: str | None) -> Agent | None:
        """None."""
        del role, name
        return None

    def reviewers(self, name: str | None) -> Sequence[Agent]:
        """None."""
        del name
        return ()


class _TasksAsWritten(LoopServices):
    """The same, with the tasks of a plan's text where no run has fixed them yet."""

    __slots__ = ()

    def plan(self, slug: str) -> PlanState:
        """A plan as its events leave it, with its tasks."""
        state = LoopServices.plan(self, slug)
        return (
            state if state.tasks else replace(state, tasks=read_tasks(state.plan.execution).tasks)
        )

    def ledger(self, plan: str) -> Ledger:
        """How far the plan's tasks are."""
        return ledger_after(Ledger(plan), self.plan(plan).tasks, self.events(plan))


@contextmanager
def _opened(places: Places, settings: Settings) -> Iterator[LoopServices]:
    with (
        _ReadOnlyWorktrees(places.root) as worktrees,
        open_services(
            places, settings, _Nobody(), now, worktrees=worktrees, projections=Projections()
        ) as found,
    ):
        yield _TasksAsWritten(**{each.name: getattr(found, each.name) for each in fields(found)})


# The run and its step


def _run_of(services: LoopServices, slug: str, task: PlanTask) -> tuple[RunState, bool]:
    """The live run of a task; else the one that would be begun next, and that it is not begun."""
    mine = [run for run in services.runs(slug) if run.task == task.id_in(slug) and run.develops]
    live = next((run for run in reversed(mine) if run.ended is None), None)
    if live is not None:
        return live, True
    run_id = services.ledger(slug).next_run(task.number)
    facts = services.beginning(slug, run_id, task_run(services, services.plan(slug), task))
    begun = Event(
        schema=1,
        plan=slug,
        seq=1,
        kind=kinds.STARTED,
        at=services.clock(),
        key=event_keys.run_started(run_id),
        actor=LOOP.id,
        data=facts,
        previous="",
        hash="",
        principal=LOOP,
    )
    run = project_run([begun], run_id, services.workflows)
    if run is None:
        raise TypeError(f"{run_id} was not begun by the event that begins it")
    return run, False


def _machine(run: RunState) -> WorkflowRun:
    if run.machine is None:
        raise UsageError(f"run {run.id} follows no workflow.")
    return run.machine


def _meant(name: str, run: RunState) -> tuple[str, str]:
    """The role and the step of the workflow that a name means.

    A role is the step that comes next, if that is one of it, else the first of it.
    """
    machine = _machine(run)
    steps = {
        each.name: _STEP_OF[each.action.subject]
        for each in machine.workflow.steps
        if each.action.subject in _STEP_OF
    }
    if name in LOOP_STEPS:
        first = next((step for step, role in steps.items() if role == name), None)
        if first is None:
            raise UsageError(f"workflow `{machine.workflow.id}` has no {name}.")
        return name, run.step if steps.get(run.step) == name else first
    if name not in steps:
        known = ", ".join(dict.fromkeys((*LOOP_STEPS, *steps)))
        raise UsageError(f"no step is called {name!r} in workflow `{EXECUTE}`: there are {known}.")
    return steps[name], name


def _at(services: LoopServices, run: RunState, role: str, step: str) -> StepRun:
    """The run as if it had come to the step; a reviewer's packet is made at the assembly."""
    machine = _machine(run)
    try:
        machine = _at_assembly(machine) if role == "reviewer" else visited(machine, step)
    except Unresolved as problem:
        raise UsageError(f"`{step}` cannot be asked yet: {problem}") from problem
    if not isinstance(machine.upcoming, Do):
        raise UsageError(f"`{step}` cannot be asked: {machine.upcoming.reason}")
    return StepRun(services, replace(run, machine=machine), machine.upcoming)


def _at_assembly(machine: WorkflowRun) -> WorkflowRun:
    """The run at the assembly of the packet, as if what comes before it had gone well."""
    outputs: Mapping[str, Mapping[str, Json]] = {
        DEVELOP: {"files_modified": [], "result": WITHHELD},
        GATES: {"feedback": ""},
    }
    while isinstance(machine.upcoming, Do) and machine.upcoming.action.subject in outputs:
        machine = advance(machine, Succeeded(outputs[machine.upcoming.action.subject]))
    name = next(
        (each.name for each in machine.workflow.steps if each.action.subject == ASSEMBLE), None
    )
    if name is None:
        raise UsageError(f"workflow `{machine.workflow.id}` assembles no packet for a reviewer.")
    return visited(machine, name)


# The contexts


def _developer(step: StepRun) -> StepContext:
    asked = attempt_asked(step)
    context = asked.made.context
    found = looked_through(asked.assignment, asked.told, asked.start)
    refused = refusal_to_send(found) if found is not None and context.text is not None else None
    if refused is not None:
        context = replace(
            context,
            outcome=Outcome.FAILED,
            text=None,
            sha256=None,
            reasons=(Reason("rules_in_prompt", refused),),
        )
    notes = ["a subtask comes first that writes failing tests (`engine.red_first`)"]
    first = notes if wants_tests_first(step) else []
    return _step_context(step, context, asked.made.template.facts, asked.base, first)


def _reviewer(step: StepRun) -> StepContext:
    attempt = step.run.work()
    if attempt is None:
        base, packet = _packet_ahead(step)
        notes = [_UNCHANGED]
    else:
        _, packet, packets = first_packets(step, attempt)
        base, notes = attempt["base"], []
        if len(packets) > 1:
            notes = [
                f"the rules do not fit at once: the reviewer is asked in {len(packets)} passes"
            ]
    facts = packet.made_for.step or step_templates(step.services.root, at=base)["reviewer"].facts
    return _step_context(step, packet.context, facts, base, notes)


def _packet_ahead(step: StepRun) -> tuple[str, Packet]:
    """The base of a task, and the packet of its files there, before anybody changed them."""
    services, run = step.services, step.run
    base = services.base_of(run)
    files = services.paths_of(services.plan(run.plan), services.task_of(run), base)
    snapshot = graph_at(services.root, base)
    bound = snapshot.rules.bind_all(files)
    asked = asked_next(
        _machine(run), output_of_packet(sorted(each.rule.id for each, _ in bound)), REVIEW
    )
    brief = services.book.brief(run.plan, run.task)
    contexts = Contexts(services.root, snapshot, None, brief, asked=asked.prompt or "")
    return base, contexts.at_commit(base, files, _model(step, asked))


def _model(step: StepRun, asked: ResolvedAction) -> str:
    developers = str(step.run.payload.get("model") or "")
    own = asked.model or ""
    return own if own != developers else reviewing_model(step.services, developers)


def _gates(step: StepRun) -> StepContext:
    """What gates run over; they are commands, which are told nothing."""
    services = step.services
    base = services.base_of(step.run)
    units = tuple(
        Unit.hashed(
            f"gate.{each.gate.name}",
            f"- {each.gate.name}: `{each.gate.command}` ({each.state.value}, "
            f"{'required' if each.gate.required else 'optional'})\n",
        )
        for each in gates_ahead(step, base).gates
    )
    brief = services.book.brief(step.run.plan, step.run.task)
    why = "the gates of BASE, and what the workflow adds"
    parts = [
        Part("task", "The task", (brief.work,), 0, because=FRAME),
        Part("gates", "The gates", units, 0, "No gate is configured.", because=why),
    ]
    count = counter(services.settings.counter)
    text, sections = lay_out(in_order(parts), count)
    context = Context(
        outcome=Outcome.COMPLETE,
        sop_ids=(),
        text=text,
        tokens=count(text),
        counter=count.name,
        sha256=sha256(text.encode()).hexdigest(),
        sections=sections,
        tiers=contributions(sections),
    )
    facts = step_templates(services.root, at=base)["gates"].facts
    notes = ["gates are commands, which run over the change and are told nothing"]
    return _step_context(step, context, facts, base, notes)


def _step_context(
    step: StepRun, context: Context, facts: StepFacts, base: str, notes: Sequence[str]
) -> StepContext:
    return StepContext(context, facts, str(step.run.task), base, notes=tuple(notes))


_MAKERS: Mapping[str, Callable[[StepRun], StepContext]] = {
    "developer": _developer,
    "gates": _gates,
    "reviewer": _reviewer,
}


def _notes(services: LoopServices, run: RunState, step: str, *, begun: bool) -> Iterator[str]:
    """What stands between now and the step, and what it is not made from."""
    ledger = services.ledger(run.plan)
    number = ledger.number(str(run.task))
    if begun and run.step != step:
        stands = f"stands at `{run.step}`" if run.step else "has come to its end"
        yield f"run {run.id} {stands}: this is what `{step}` would see if it were asked now"
    if not begun:
        yield from _unbegun(services, run, number, ledger)
    if run.fact(0, "sized") is None:
        data = sized(services, run)
        if data["route"] not in STARTING:
            yield f"nobody is asked: {data['message']}"


def _unbegun(services: LoopServices, run: RunState, number: int, ledger: Ledger) -> Iterator[str]:
    yield f"no run of the task is under way: this is what the next one, {run.id}, would begin with"
    if ledger.done(number):
        yield "the task is done: nobody works on it any more"
    missing = ledger.waits_for(ledger.task(number))
    if missing:
        first = ", ".join(str(each) for each in missing)
        yield f"the task waits for {first}, whose work is not in these files yet"
    for path in uncommitted(services.root):
        yield f"{path} is not committed as it stands: BASE counts, and `execute` refuses to begin"
