"""The loop: projects a run from its events, decides, takes one step, and notes what came of it."""

import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

from hornbook.agents.assignment import Role
from hornbook.commits import git
from hornbook.context.task_route import STARTING, Route
from hornbook.errors import DatabaseFailed, EventLogError, HornbookError, RunEnded, UsageError
from hornbook.gates.definitions import check_gates
from hornbook.graph.repository import Repository
from hornbook.located import Json
from hornbook.loop.agent_places import lacking
from hornbook.loop.base_gates import base_question
from hornbook.loop.plan_book import PlanBook
from hornbook.loop.protocol import (
    Exchange,
    Loop,
    NoExchange,
    Staff,
    StepKind,
    StepOutcome,
    Worktrees,
)
from hornbook.loop.runs.files import Projections, write_snapshots, write_task_files
from hornbook.loop.runs.lookup import outcome_of, spawned_by, workflows_of
from hornbook.loop.runs.state import RunState, last_escalation, pauses, result_data
from hornbook.loop.steps.answer import AnswerAction
from hornbook.loop.steps.ask_person import signal
from hornbook.loop.steps.coordinate import coordinate, follow, seconds_to_wait
from hornbook.loop.steps.develop import develop
from hornbook.loop.steps.gates import run_gates, size
from hornbook.loop.steps.merge import approve_by_word
from hornbook.loop.steps.publish import publish
from hornbook.loop.steps.review import assemble, review, validate
from hornbook.loop.steps.seals import new_seal, sealed_in, tampered
from hornbook.loop.steps.services import (
    Clock,
    HandedOver,
    LoopServices,
    Pending,
    StepRun,
    seconds_until,
    timed,
)
from hornbook.loop.steps.start import (
    EXECUTE,
    begin_plan,
    begin_task,
    hand_on,
    refusal,
    trigger,
)
from hornbook.loop.workflow.interpreter import Do, Ended, Erred, Result, WorkflowOutcome
from hornbook.loop.workflow.subjects import ASSEMBLE, GATES, VALIDATE, ActionType
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.principal import LOOP, Principal, at_command_line
from hornbook.plans.run_kinds import DEVELOP, ERROR, ESCALATE, REVIEW
from hornbook.plans.run_records import spent, write_run_records
from hornbook.plans.state import PlanState, PlanStatus
from hornbook.plans.store import PlanStore
from hornbook.plans.workspace_log import clock_for, open_log
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings
from hornbook.settings.surroundings import CostSettings

NO_LIMIT = CostSettings()
MOST_DEATHS = 20
"""So often whoever works on a step may die without any event between, before a person is asked."""

Effect = Callable[[StepRun], Result | Pending | HandedOver]


def _rare(module: str, name: str) -> Effect:
    """An effect of a workflow that few runs come to: its module is loaded when it is done."""

    def effect(step: StepRun) -> Result | Pending | HandedOver:
        found: Effect = getattr(import_module(f"hornbook.loop.steps.{module}"), name)
        return found(step)

    return effect


_REFINE, _SPLIT = partial(_rare, "refine"), partial(_rare, "decompose")

EFFECTS: Mapping[str, Effect] = {
    DEVELOP: develop,
    REVIEW: review,
    kinds.PLAN: _REFINE("plan"),
    GATES: run_gates,
    ASSEMBLE: assemble,
    VALIDATE: validate,
    "workflow.plan.pause": _REFINE("pause"),
    "workflow.plan.draft": _REFINE("draft"),
    "workflow.plan.check": _REFINE("check"),
    "workflow.plan.supersede": _REFINE("supersede"),
    "workflow.plan.decide": _REFINE("decide"),
    "workflow.task.read": _SPLIT("read_task"),
    "workflow.task.split": _SPLIT("propose"),
    "workflow.task.cover": _SPLIT("check_cover"),
    "workflow.task.size": _SPLIT("check_sizes"),
    "workflow.context.check": _SPLIT("check_contexts"),
    "workflow.task.create": _SPLIT("create"),
}
"""What is done for each subject that is no event and no question."""


def open_loop(
    places: Places,
    settings: Settings,
    agents: Staff,
    clock: Clock,
    *,
    worktrees: Worktrees,
    by: Principal | None = None,
) -> Loop:
    """The loop of a workspace; everything that it knows, it reads from events again each time.

    `by` is who wants what is begun, by default whoever runs this process.
    """
    return _Loop(places, settings, agents, clock, worktrees, by=by)


class _Loop:
    def __init__(
        self,
        places: Places,
        settings: Settings,
        agents: Staff,
        clock: Clock,
        worktrees: Worktrees,
        *,
        by: Principal | None = None,
    ) -> None:
        self._by = by
        self._places = places
        self._settings = settings
        self._agents = agents
        self._clock = clock
        self._worktrees = worktrees
        self._projections = Projections()
        self._recorded: dict[str, RunState] = {}

    def start(self, plan: str, task: str | None, *, agent: str | None, run_id: str) -> StepOutcome:
        """Begin a run of a task, or of a whole plan; one that was begun already is left alone."""
        with self._opened() as services:
            slug = services.book.slug(plan)
            begun = services.begun(slug, run_id)
            if begun is not None:
                return outcome_of(begun)
            why = refusal(services, slug)
            if why is None and self._agents.worker(Role.DEVELOPER, agent) is None:
                why = "nobody develops: name an agent with --agent, or in `engine.agent`."
            why = why or "\n".join(services.worktrees.obstacles(slug)) or None
            if why is not None:
                return StepOutcome(StepKind.ENDED, run_id, status="refused", message=why)
            services.book.tasks(slug)
            services.worktrees.begin(slug)
            by = self._by or at_command_line(self._places.state)
            if task is None:
                begin_plan(services, slug, run_id, agent=agent, by=by)
            else:
                number = PlanBook.task(services.plan(slug), task).number
                begin_task(services, slug, number, run_id, agent=agent, parent=None, by=by)
            return outcome_of(services.run(run_id))

    def step(self, run_id: str, held: Collection[str] | None = None) -> StepOutcome:
        """Do the one thing that comes next; after a crash the interrupted one is done again."""
        with self._opened() as services:
            services.exchange.fetch(services.run(run_id).plan)
            try:
                outcome = _stepped(services, services.run(run_id), held)
            except RunEnded:
                outcome = outcome_of(services.run(run_id))
            run = services.run(run_id)
            # Who was killed before us may have left events that no file shows yet: what this
            # process did not record itself is recorded, also where nothing happened since.
            recorded = self._recorded.get(run_id)
            if recorded is not run:
                _record(services, run, recorded)
                self._recorded[run_id] = run
            return replace(outcome, spawned=spawned_by(run))

    def gave_up(self, run_id: str, reason: str, status: str) -> StepOutcome:
        """Ask a person about a run that whoever drives it could not go on with."""
        with self._opened() as services:
            run = services.run(run_id)
            if run.ended is not None or run.is_asking:
                return outcome_of(run)
            payload = {"task_id": run.task, "error": f"The run was given up: {reason}"}
            upcoming = run.machine.upcoming if run.machine is not None else None
            number = upcoming.number if isinstance(upcoming, Do) else 0
            signal(services, run, number, ERROR, {**payload, "status": status}, halts=True)
            run = services.run(run_id)
            _record(services, run, None)
            return outcome_of(run)

    @contextmanager
    def _opened(self) -> Iterator[LoopServices]:
        self._places.prepare()
        with (
            _shared(self._places, self._settings, self._worktrees) as (exchange, worktrees),
            open_services(
                self._places,
                self._settings,
                self._agents,
                self._clock,
                worktrees=worktrees,
                projections=self._projections,
                exchange=exchange,
            ) as services,
        ):
            yield services


@contextmanager
def _shared(
    places: Places, settings: Settings, worktrees: Worktrees
) -> Iterator[tuple[Exchange, Worktrees]]:
    """How what steps make comes to other machines, and the worktrees that see to it."""
    if not settings.engine.database:
        yield NoExchange(), worktrees
        return
    from hornbook.loop.shared_worktrees import open_shared  # noqa: PLC0415  # start-up

    with open_shared(places, settings, worktrees) as (exchange, shared):
        yield exchange, shared


@contextmanager
def open_services(
    places: Places,
    settings: Settings,
    agents: Staff,
    clock: Clock,
    *,
    worktrees: Worktrees,
    projections: Projections,
    exchange: Exchange | None = None,
) -> Iterator[LoopServices]:
    """What the steps of a workspace's loop stand on, open meanwhile."""
    clock = clock_for(settings, clock)
    with git.operation(places.root):
        workflows = workflows_of(places, settings)
        log = open_log(
            places,
            settings,
            clock,
            kinds=kinds.kinds_for(workflows),
            memory=projections.log,
            principal=LOOP,
        )
        projections.use(workflows)
        work = Repository(places.root, check_gates)
        try:
            yield LoopServices(
                places=places,
                settings=settings,
                staff=agents,
                worktrees=worktrees,
                clock=clock,
                log=log,
                store=PlanStore(places.state, log),
                book=PlanBook(places, settings, work.ingested, clock, log),
                workflows=workflows,
                projections=projections,
                exchange=exchange or NoExchange(),
            )
        finally:
            log.close()
            work.close()


def _record(services: LoopServices, run: RunState, before: RunState | None) -> None:
    """Write what people and the graph read of a run and its task.

    `before` is the run as it was recorded last by this process, if it was.
    """
    fresh = run.events if before is None else run.events[len(before.events) :]
    if before is None:
        services.log.sync(run.plan)  # whoever was killed may not have come to the export
    if run.task is not None:
        every = [each for each in services.runs(run.plan) if each.task == run.task]
        folder = services.task_folder(run)
        write_task_files(folder, every)
        if before is None or any(event.kind in {DEVELOP, kinds.TOLD} for event in fresh):
            write_snapshots(services.root, folder / "artifacts" / "snapshots", every)
    write_run_records(services.places.state, run.events)


def _stepped(services: LoopServices, run: RunState, held: Collection[str] | None) -> StepOutcome:
    """The outcome of one step of a run."""
    blocked = _blocked(services, run)
    if blocked is not None:
        return blocked
    if run.decided is not None:
        return _carried_out(services, run, run.decided)
    if run.machine is None:
        return base_question(services, run) or coordinate(services, run)
    do = run.machine.upcoming
    if run.workflow == EXECUTE and isinstance(do, Do) and not _fits(run):
        return _sized(services, run)
    if isinstance(do, Ended):
        return _finished(services, run, do)
    over = _over_limit(services, run)
    if over is not None:
        return _halted(services, run, do.number, over)
    return (
        _first_on_base(services, run, do)
        or _over_cost(services, run, do)
        or lacking(services, run, do, held)
        or _done(services, run, do)
    )


def _first_on_base(services: LoopServices, run: RunState, do: Do) -> StepOutcome | None:
    """What a person is asked of the base before a developer first works on it."""
    if run.workflow != EXECUTE or do.number > 1 or run.newest(DEVELOP) is not None:
        return None
    return base_question(services, run)


def _over_cost(services: LoopServices, run: RunState, do: Do) -> StepOutcome | None:
    """What a person is asked, or waited for, before an agent is asked that would cost more."""
    if services.settings.engine.cost == NO_LIMIT:
        return None
    if do.action.subject not in {DEVELOP, REVIEW, kinds.PLAN}:
        return None
    from hornbook.loop.cost_limits import cost_question  # noqa: PLC0415  # only where it is limited

    return cost_question(services, run, do.number)


def _fits(run: RunState) -> bool:
    """Whether the task was sized in this round, and may be worked on as it is."""
    sized = run.fact(0, "sized")
    return sized is not None and sized.data["route"] in STARTING


def _blocked(services: LoopServices, run: RunState) -> StepOutcome | None:
    """Why nothing is done now: the run ended, asks, waits, or its plan is changed."""
    if run.ended is not None:
        return outcome_of(run)
    state = services.plan(run.plan)
    if state.status is PlanStatus.SUPERSEDED and not _supersedes(run, state):
        return end(
            services, run, "superseded", f"plan {state.superseded_by} took its plan's place."
        )
    if run.is_asking and run.asked is not None and run.asked.kind != kinds.PROMOTE:
        return outcome_of(run)
    return _waits_for_refinement(services, run) or _waits_for_agent(services, run)


def _waits_for_refinement(services: LoopServices, run: RunState) -> StepOutcome | None:
    """The wait for another run that rewrites the plan, if there is one."""
    first = next(pauses(services.runs(run.plan)), run)
    if first.id == run.id:
        return None
    status = "asking" if first.is_asking else "paused"
    message = f"the plan is being refined by {first.id}"
    seconds = seconds_to_wait(services, run)
    return StepOutcome(StepKind.WAITING, run.id, seconds, status, message)


def _waits_for_agent(services: LoopServices, run: RunState) -> StepOutcome | None:
    """What is left of the time after which an agent may be asked again."""
    if run.waits_until is None:
        return None
    left = seconds_until(run.waits_until, services.clock())
    if left <= 0:
        return None
    return StepOutcome(StepKind.WAITING, run.id, left, "waiting", "waits for the agent")


def _supersedes(run: RunState, state: PlanState) -> bool:
    """Whether the plan's successor is the one that this run wrote."""
    drafted = {event.data["successor"] for event in run.of(kinds.DRAFTED)}
    return state.superseded_by in drafted


def _sized(services: LoopServices, run: RunState) -> StepOutcome:
    """Size the task; one that is too large is split, or a person is asked, and no agent runs."""
    try:
        data = size(services, run)
    except EventLogError:
        raise
    except HornbookError as problem:
        return _halted(services, run, 0, f"The task cannot be sized: {problem}")
    if data["route"] in STARTING:
        message = f"sized: {data['sizing']['estimate']} of {data['sizing']['limit']} tokens"
        return StepOutcome(StepKind.CONTINUED, run.id, status="running", message=message)
    if data["route"] == Route.REFUSED:
        return _halted(services, run, 0, data["message"])
    return _hand_over(services, run, HandedOver("task-decomposition", data["message"]))


def _done(services: LoopServices, run: RunState, do: Do) -> StepOutcome:
    """Do a step, note its result, and say where the run stands."""
    step = StepRun(services, run, do)
    if run.deaths(do.number) >= MOST_DEATHS:
        return _died_too_often(services, run, do)
    seal = None
    if not (run.is_asking or do.action.type is ActionType.ASK):
        seal = _note_started(step)
    told = tampered(step, seal)
    if told is None:
        with timed() as seconds:
            result = _effect(step)
            took = seconds()
        told = tampered(step, seal)
    if told is not None:
        signal(services, run, do.number, ERROR, {"task_id": run.task, "error": told}, halts=True)
        return outcome_of(services.run(run.id))
    if isinstance(result, Pending):
        services.projections.alive.add(_place(step))
        return StepOutcome(
            result.kind, run.id, result.seconds, result.status or "running", result.message
        )
    if isinstance(result, HandedOver):
        return _hand_over(services, run, result)
    finish(step, replace(result, seconds=took))
    return outcome_of(services.run(run.id))


def _died_too_often(services: LoopServices, run: RunState, do: Do) -> StepOutcome:
    """Ask a person about a step whose worker died time and again, with nothing to show for it."""
    payload = {
        "task_id": run.task,
        "error": f"The step {do.step} was begun {MOST_DEATHS} times, and each time whoever worked "
        "on it died before anything came of it: look at .hornbook/logs, and at the memory.",
    }
    signal(services, run, do.number, ERROR, payload, halts=True)
    return outcome_of(services.run(run.id))


def _place(step: StepRun) -> tuple[str, int, int]:
    return step.run.id, step.run.round, step.number


def _note_started(step: StepRun) -> str | None:
    """Note that a step is begun; if it was cut off, that it is begun again. The seal that it has.

    One that this process began and that waits for others was not cut off.
    """
    if step.run.deaths(step.number) and _place(step) in step.services.projections.alive:
        return sealed_in(step)
    execution = step.run.executions(step.number) + 1
    data = {
        "step": step.do.step,
        "subject": step.do.action.subject,
        "execution": execution,
        **new_seal(step),
    }
    return step.note(kinds.STEP_STARTED, f"started-{execution}", data).get("seal")


def finish(step: StepRun, result: Result) -> None:
    """Note the result of a step."""
    data = {
        "step": step.do.step,
        "subject": step.do.action.subject,
        **result_data(result),
    }
    step.note(kinds.STEP_FINISHED, "finished", data)


def _effect(step: StepRun) -> Result | Pending | HandedOver:
    action = step.do.action
    try:
        if action.type is ActionType.PUBLISH:
            return publish(step)
        if action.type is ActionType.ASK:
            return _REFINE("ask")(step)
        return EFFECTS[action.subject](step)
    except (EventLogError, DatabaseFailed, RunEnded):
        raise
    except (HornbookError, OSError) as problem:
        return Erred(str(problem))
    except Exception as problem:  # noqa: BLE001  # a workflow's step: whoever is asked may raise
        return Erred(_told(problem))


def _told(problem: Exception) -> str:
    """What an unforeseen error says, and where in the code it was raised."""
    last = traceback.extract_tb(problem.__traceback__)[-1:]
    where = "".join(f" ({Path(each.filename).name}, line {each.lineno})" for each in last)
    return f"{type(problem).__name__}: {problem}{where}"


def _hand_over(services: LoopServices, run: RunState, handover: HandedOver) -> StepOutcome:
    """End a run whose task another workflow goes on with."""
    machine = run.machine
    if machine is None or isinstance(machine.upcoming, Ended):
        raise UsageError(f"run {run.id} has nothing to hand on.")
    step = StepRun(services, run, machine.upcoming)
    payload: dict[str, Json] = {
        "original_task_id": run.task,
        "feedback": handover.reason,
        "plan_slug": run.plan,
    }
    trigger(step, handover.to, payload, "handed")
    return end(services, run, WorkflowOutcome.HANDED_ON, handover.reason, to=[handover.to])


_ROUTES = {
    "misscoped": "plan-refinement",
    "architectural": "design-refinement",
    "too_big": "task-decomposition",
}


def _carried_out(services: LoopServices, run: RunState, decided: Event) -> StepOutcome:
    """Do what a person decided, and end the run; or go on where it cannot be done."""
    said = kinds.answer(decided)
    action = AnswerAction(said["action"])
    if action is AnswerAction.STOP:
        return end(services, run, "stopped", f"a person stopped it: {said['reason']}")
    if action is AnswerAction.SPLIT:
        return _handed_on(services, run, "task-decomposition", said["text"])
    if action is AnswerAction.ACCEPT and said.get("verdict") != "approved":
        return _handed_on(services, run, _ROUTES[str(said["rejection_type"])], run.feedback())
    if not approve_by_word(services, run, decided):
        return outcome_of(services.run(run.id))
    follow(services, run)
    why = said["text"] or said["reason"]
    return end(services, run, "approved", f"approved by {decided.principal.id}: {why}")


def _handed_on(services: LoopServices, run: RunState, to: str, feedback: str) -> StepOutcome:
    """End a run by a person's word whose task another workflow goes on with."""
    said = kinds.answer(run.decided) if run.decided is not None else None
    payload: dict[str, Json] = {
        "original_task_id": run.task,
        "feedback": feedback,
        "plan_slug": run.plan,
    }
    number = said["number"] if said is not None else 0
    hand_on(services, run, number, to, payload, what="handed")
    return end(services, run, WorkflowOutcome.HANDED_ON, feedback, to=[to])


def _finished(services: LoopServices, run: RunState, ended: Ended) -> StepOutcome:
    """The end of a workflow: the run ends, or a person has to look."""
    if ended.outcome is not WorkflowOutcome.ESCALATED:
        follow(services, run)
        return end(services, run, ended.outcome, ended.reason, to=list(ended.to))
    if last_escalation(run) is None:
        number = len(run.machine.trail) + 1 if run.machine is not None else 1
        payload = {"task_id": run.task, "reason": ended.reason}
        signal(services, run, number, ESCALATE, payload)
    return outcome_of(services.run(run.id))


def _halted(services: LoopServices, run: RunState, number: int, reason: str) -> StepOutcome:
    """Stop before a step until a person has answered."""
    payload = {"task_id": run.task, "reason": reason}
    signal(services, run, number, ESCALATE, payload, halts=True)
    return outcome_of(services.run(run.id))


def _over_limit(services: LoopServices, run: RunState) -> str | None:
    """Which limit of a run is reached, since a person last answered."""
    limits, cost = services.settings.engine, spent(run.this_round())
    checks = (
        (limits.most_steps, cost.steps, "steps"),
        (limits.most_tokens, cost.tokens, "tokens"),
        (limits.most_seconds, cost.seconds, "seconds"),
    )
    for most, used, what in checks:
        if most and used >= most:
            return f"The run used {used:g} {what}, {most} are its limit (`engine.most_*`)."
    return None


def end(
    services: LoopServices, run: RunState, status: str, reason: str, *, to: list[str] | None = None
) -> StepOutcome:
    """Note that a run ended."""
    data = {
        "run": run.id,
        "status": status,
        "reason": reason,
        "to": to or [],
        "spawned": list(spawned_by(services.run(run.id))),
    }
    if run.task is not None:  # while the run is not over, nobody else begins there
        services.worktrees.release(run.plan, run.task)
    services.log.append(run.plan, kinds.ENDED, data, key=event_keys.run_ended(run.id))
    return outcome_of(services.run(run.id))
