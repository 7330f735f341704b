"""The developer's step: a clean worktree, a blind context, one attempt, and what git says of it."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path

from hornbook.agents.assignment import Answer, Assignment, Limits, Record, Role
from hornbook.commits.change import change
from hornbook.commits.writer import keep_blob
from hornbook.context.developer_packet import DevelopmentContext, Situation, development_context
from hornbook.context.prompt import Context, Outcome
from hornbook.context.review_packet import bound_rules
from hornbook.errors import PlanHeld, UsageError
from hornbook.gates.gate_list import GateList
from hornbook.gates.test_files import is_test
from hornbook.graph.commit_graph import graph_at
from hornbook.loop.protocol import StepKind
from hornbook.loop.runs.state import RunState
from hornbook.loop.steps.attempt_type import AttemptType, attempt_type
from hornbook.loop.steps.blindness import DeveloperFeedback, blind, told_to
from hornbook.loop.steps.gates import base_results, gates_of
from hornbook.loop.steps.services import HandedOver, Pending, StepRun, later
from hornbook.loop.steps.start import begin_task_run
from hornbook.loop.steps.step_outputs import step_outputs
from hornbook.loop.workflow.interpreter import Erred, Result, Succeeded
from hornbook.plans import run_kinds as kinds
from hornbook.plans.checkpoint import write_checkpoint
from hornbook.plans.events import Data
from hornbook.plans.plan import TaskType
from hornbook.plans.principal import agent
from hornbook.plans.run_kinds import DEVELOP
from hornbook.plans.run_records import spent
from hornbook.plans.tasks import MOST_LEVELS
from hornbook.rules.rendering import header


def checkpoint_when_due(step: StepRun, name: str, *, due: bool) -> None:
    """Checkpoint the plan if this attempt is the first of its run that finds it due.

    Where another process holds the plan nothing is written, and the next attempt tries again.
    """
    what, services = f"checkpoint-{name}", step.services
    if not due or step.noted(what) is not None or _is_checkpointed(step.run):
        return
    try:
        made = write_checkpoint(
            services.places.state, services.log, step.run.plan, at=services.clock(), automatic=True
        )
    except PlanHeld:
        return
    data = {
        "path": made.path,
        "seq": made.seq,
        "event_hash": made.event_hash,
        "written": list(made.written),
        "left": list(made.left),
        "quarantined": list(made.quarantined),
    }
    step.note(kinds.CHECKPOINTED, what, data)


def _is_checkpointed(run: RunState) -> bool:
    """Whether the run was checkpointed since it was last not due."""
    for event in reversed(run.of(DEVELOP, kinds.CHECKPOINTED)):
        if event.kind == kinds.CHECKPOINTED:
            return True
        if not event.data.get("due"):
            return False
    return False


PATIENCE = 5.0
"""Seconds between two looks at a subtask that is being worked on."""


def develop(step: StepRun) -> Result | Pending | HandedOver:
    """One attempt of a developer; nothing is asked of them that does not fit their window."""
    if wants_tests_first(step):
        return _begin_tests(step)
    subtask = _subtask(step)
    if isinstance(subtask, Pending | Erred):
        return subtask
    attempt = step.noted(_name(step))
    if attempt is None:
        answered = _ask_developer(step)
        if not isinstance(answered, Mapping):
            return answered
        attempt = answered
    return _attempt_result(step, attempt)


def _name(step: StepRun) -> str:
    """What this answer is noted under: a developer is asked again behind each subtask."""
    return f"agent-{len(_continued(step)) + 1}"


def _continued(step: StepRun) -> list[Data]:
    place = (step.run.round, step.number)
    return [
        event.data
        for event in step.run.of(kinds.CONTINUED)
        if (event.data["round"], event.data["number"]) == place
    ]


def _subtask(step: StepRun) -> Pending | Erred | None:
    """Whether a subtask that the developer asked for is still to be done."""
    for place, each in enumerate(_continued(step), 1):
        child = each["child"]
        asked = step.noted(f"agent-{place}")
        if asked is not None:
            _begin_subtask(step, asked["subtask"], child, TaskType.IMPLEMENT_FEATURE)
        else:
            _begin_subtask(step, _tests_first(step), child, TaskType.WRITE_TESTS)
        ledger = step.services.ledger(step.run.plan)
        if ledger.done(child):
            continue
        if ledger.live(child) or child in ledger.children:
            said = f"waits for the subtask {child}"
            return Pending(StepKind.WAITING, said, "waiting", PATIENCE)
        return Erred(f"the subtask {child} that the developer asked for was not done.")
    return None


def wants_tests_first(step: StepRun) -> bool:
    """Whether failing tests come before anybody works on the task."""
    task = step.services.task_of(step.run)
    asked = step.services.settings.engine.red_first and task.type is TaskType.IMPLEMENT_FEATURE
    if not asked or step.run.newest(DEVELOP) is not None:
        return False
    ledger = step.services.ledger(step.run.plan)
    return task.number not in ledger.continued and ledger.depth(task.number) < MOST_LEVELS


def _tests_first(step: StepRun) -> Data:
    """The subtask that writes the tests of a task."""
    task = step.services.task_of(step.run)
    tests = [path for path in task.files if is_test(path)]
    return {
        "title": f"Tests first: {task.title}",
        "description": "\n\n".join(filter(None, (task.title, task.description))),
        "files": tests or list(task.files),
        "criteria": list(task.criteria),
    }


def _begin_tests(step: StepRun) -> Pending:
    """Failing tests are a subtask of their own, with gates and a review."""
    run = step.run
    data = step.choose(
        kinds.CONTINUED,
        "tests-first",
        lambda known: {"task": run.task, "child": known.next_number},
    )
    _begin_subtask(step, _tests_first(step), data["child"], TaskType.WRITE_TESTS)
    return Pending(StepKind.CONTINUED, f"the tests, subtask {data['child']}, come first")


def _begin_subtask(step: StepRun, subtask: Data, number: int, kind: TaskType) -> None:
    """Make the subtask and its run, unless they are there."""
    services, run = step.services, step.run
    ledger = services.ledger(run.plan)
    parent = services.task_of(run)
    if not any(task.number == number for task in ledger.tasks):
        from hornbook.loop.steps.decompose import Child, as_tasks  # noqa: PLC0415  # start-up of execute

        said = str(subtask.get("title") or subtask["description"])
        child = Child(
            " ".join(said.split())[:80] or "Subtask",
            tuple(subtask["files"]) or parent.files,
            tuple(subtask["criteria"]),
            str(subtask["description"]),
        )
        made = as_tasks(parent, [child], number, kind)
        services.store.add_tasks(run.plan, made)
    if not ledger.runs.get(number):
        begin_task_run(step, number)


def _ask_developer(step: StepRun) -> Data | Pending | HandedOver | Erred:
    """What git says of an attempt, noted; or why there was none."""
    services, run = step.services, step.run
    worker = services.staff.worker(Role.DEVELOPER, run.agent)
    if worker is None:
        return Erred("no agent is configured for the role developer: name one with --agent.")
    asked = attempt_asked(step)
    base, made, kind = asked.base, asked.made, asked.type
    context = made.context
    if context.text is None:
        return _too_big(step, context)
    blinded = blind(
        step, _name(step), asked.assignment, asked.told, commit=asked.start, worker=worker
    )
    if isinstance(blinded, str):
        return Erred(blinded)
    assignment = blinded
    checkpoint_when_due(step, _name(step), due=made.due)
    services.keep(run, "inputs", f"{step.place}-developer.md", context.text)
    answer = step.ask(worker, assignment, telling(step, worker.name))
    if answer.retry_after is not None:
        return wait(step, answer)
    found = services.worktrees.change(run.plan, str(run.task), base)
    data = {
        **answer_data(worker.name, context, answer),
        "task": run.task,
        "attempt": run.attempt,
        "base": base,
        "commit": found.commit,
        "tree": found.tree,
        "files": list(found.files),
        "result": answer.text,
        "model": assignment.model,
        "type": kind.type,
        "problems": list(found.problems),
        "claimed": None if answer.claimed_files is None else sorted(answer.claimed_files),
        "subtask": None if answer.subtask is None else asdict(answer.subtask),
        "escalation": answer.escalation,
        "decisions": [list(each) for each in answer.decisions],
        "risks": [list(each) for each in answer.risks],
        "due": made.due,
    }
    return step.note(DEVELOP, _name(step), data, by=agent(worker.name))


@dataclass(frozen=True, slots=True)
class AskedAttempt:
    """All that a developer's next attempt is asked by; `start` has the files that it goes on from.

    The assignment has no prompt where the context is refused.
    """

    base: str
    start: str
    told: DeveloperFeedback
    type: AttemptType
    made: DevelopmentContext
    assignment: Assignment


def attempt_asked(step: StepRun) -> AskedAttempt:
    """What the developer of a step is asked; nobody is asked yet, and nothing is noted."""
    services, run = step.services, step.run
    base = services.base_of(run)
    start = _start(run, base)
    folder = services.worktrees.ensure(run.plan, str(run.task), start)
    told = told_to(step, _feedback(step), base=base, commit=start, folder=Path(folder))
    ahead = gates_ahead(step, base)
    commands = {gate.name: gate.command for gate in ahead.ready}
    before = base_results(services, run.plan)
    kind = attempt_type(step, base, commands).without(told.hidden)
    situation = Situation(
        folder=Path(folder),
        feedback=told.feedback,
        gates=tuple(commands.values()),
        known=tuple(map(told.hidden, before.warnings)),
        asked="" if is_retry(step) else step.do.action.prompt or "",
        outputs=step_outputs(run, told.hidden, blind=told.veil is not None),
        at=base,
        continuation=services.ledger(run.plan).is_continuation(str(run.task)),
        graph=lambda: graph_at(services.root, base),
    )
    made = _context(step, base, situation, kind)
    assignment = _assignment(step, made.context, situation, kind)
    assignment = replace(assignment, gates=ahead, told_apart=before.told, pause=_pause(step))
    return AskedAttempt(base, start, told, kind, made, assignment)


def _pause(step: StepRun) -> Callable[[], str | None] | None:
    """Why an agent at work pauses: a limit of `engine.cost` that is reached meanwhile."""
    services = step.services
    if not any(astuple(services.settings.engine.cost)):
        return None
    from hornbook.loop.cost_limits import reached  # noqa: PLC0415  # only where it is limited

    def pause() -> str | None:
        found = reached(services, services.run(step.run.id))
        return None if found is None else f"{found.told} No further step is paid for."

    return pause


def _start(run: RunState, base: str) -> str:
    """The commit that an attempt goes on from: the last attempt's, while the base is the same."""
    last = run.work()
    return base if last is None or last["base"] != base else last["commit"]


def gates_ahead(step: StepRun, base: str) -> GateList:
    """The gates that will judge an attempt on top of a base."""
    services = step.services
    return gates_of(services, step.run, services.worktrees.begin(step.run.plan), base)


def _context(
    step: StepRun, base: str, situation: Situation, kind: AttemptType
) -> DevelopmentContext:
    services, run = step.services, step.run
    state, task = services.plan(run.plan), services.task_of(run)
    files = services.paths_of(state, task, base)
    return development_context(
        services.root,
        services.settings,
        files,
        description=kind.described(task),
        model=step.do.action.model,
        brief=services.book.brief(run.plan, run.task),
        situation=replace(situation, rules=_rules(step, base, files)),
    )


def is_retry(step: StepRun) -> bool:
    """Whether the step tries again: its prompt tells of a failure, and stands above it."""
    machine = step.run.machine
    return machine is not None and machine.workflow.step(step.do.step).starts_iteration


def _feedback(step: StepRun) -> str:
    """The newest word: of gates, a reviewer or a person, and of a subtask that is done.

    What a retry is asked stands above it; what its prompt says already is not said again.
    """
    run = step.run
    asked = step.do.action.prompt or "" if is_retry(step) else ""
    newest = run.feedback() if run.newest(DEVELOP) is not None or any(run.answers()) else ""
    told = [asked, "" if newest.strip() in asked else newest]
    told += [
        f"Subtask {each['child']} is done and is part of the files." for each in _continued(step)
    ]
    return "\n\n".join(filter(None, told))


def _rules(step: StepRun, base: str, files: list[str]) -> str:
    """What the settings let a developer see of the rules: by default nothing."""
    sees = step.services.settings.developer_sees
    if sees == "blind":
        return ""
    snapshot = graph_at(step.services.root, base)
    rules = bound_rules(snapshot, files)
    if sees == "full":
        return "\n\n".join(unit.text for rule in rules for unit in (rule.unit, *rule.included))
    return "\n\n".join(header(snapshot.document(rule.unit.id)).rstrip() for rule in rules)


def _assignment(
    step: StepRun, context: Context, situation: Situation, kind: AttemptType
) -> Assignment:
    run, services = step.run, step.services
    task, state = services.task_of(run), services.plan(run.plan)
    return Assignment(
        key=run.key(step.number, _name(step)),
        role=Role.DEVELOPER,
        task_id=str(run.task),
        attempt=run.attempt,
        folder=str(situation.folder),
        prompt=context.text or "",
        phase=kind.type,
        violation=kind.violation,
        files=task.files,
        criteria=task.criteria,
        constraints=state.plan.constraints,
        feedback=situation.feedback,
        model=step.do.action.model,
        limits=limits_of(step),
    )


def limits_of(step: StepRun) -> Limits:
    """How much the call of an agent may cost in this step."""
    engine, seconds = step.services.settings.engine, step.do.timeout
    limits = Limits(tokens=engine.most_tokens)
    if engine.most_steps:
        used = spent(step.run.this_round()).steps
        limits = replace(limits, steps=max(1, engine.most_steps - used))
    if not seconds:
        return limits
    return replace(limits, seconds=max(1, int(seconds)))


def _too_big(step: StepRun, context: Context) -> HandedOver | Erred:
    """The refusal of a developer's context: no agent runs."""
    reasons = [reason.message for reason in context.reasons]
    step.note(
        kinds.ASSEMBLED,
        "context",
        {
            "role": "developer",
            "outcome": context.outcome,
            "tokens": context.tokens,
            "window": context.window,
            "reasons": reasons,
            "split": [list(group) for group in context.split],
        },
    )
    if context.outcome is Outcome.TOO_BIG and context.split:
        return HandedOver("task-decomposition", "The task does not fit: " + " ".join(reasons))
    return Erred("the developer's context cannot be made: " + " ".join(reasons))


def answer_data(agent: str, context: Context, answer: Answer) -> dict[str, object]:
    """What is noted of every agent's answer."""
    return {
        "agent": agent,
        "prompt_sha256": context.sha256,
        "tokens": context.tokens,
        "window": context.window,
        "usage": asdict(answer.usage),
        "error": answer.error,
        "exit_code": answer.exit_code,
        "log": answer.log,
    }


def telling(step: StepRun, name: str) -> Record:
    """Notes what an agent tells while it works, each as an event."""
    execution = step.run.executions(step.number) + 1
    counted = itertools.count(1)

    def note(what: Mapping[str, object]) -> None:
        data = {"execution": execution, "told": _with_objects(step, what)}
        step.note(kinds.TOLD, f"told-{execution}-{next(counted)}", data, by=agent(name))

    return note


def _with_objects(step: StepRun, what: Mapping[str, object]) -> dict[str, object]:
    """What an agent told, with git's objects in the place of a folder that holds an edit."""
    facts = dict(what)
    place = facts.pop("snapshot", None)
    if isinstance(place, str):
        for side in ("before", "after"):
            file = Path(place) / side
            facts[side] = _kept_object(step, file.read_bytes()) if file.is_file() else None
    return facts


def _kept_object(step: StepRun, data: bytes) -> str:
    name = keep_blob(step.services.root, data)
    step.services.exchange.put_blob(step.run.plan, name, data)
    return name


def wait(step: StepRun, answer: Answer) -> Pending:
    """The run waits until an agent can be asked again: that is no attempt."""
    seconds = max(0.0, answer.retry_after or 0.0)
    reason = answer.error or "the agent asks to be asked again later"
    execution = step.run.executions(step.number) + 1
    until = later(step.services.clock(), seconds)
    data = {"until": until, "seconds": seconds, "reason": reason}
    step.note(kinds.WAITING, f"waiting-{execution}", data)
    return Pending(StepKind.WAITING, reason, "waiting", seconds)


# What follows from an answer


def _attempt_result(step: StepRun, data: Data) -> Result | Pending:
    """The result of an attempt that is noted: the same whenever it is asked for."""
    services, run = step.services, step.run
    claimed = data.get("claimed")
    if claimed is not None and claimed != sorted(data["files"]):
        step.note(kinds.CLAIM, f"{_name(step)}-claim", {"claimed": claimed, "files": data["files"]})
    services.keep(run, "outputs", f"{step.place}-developer.md", str(data["result"]))
    patches = change(services.root, f"{data['base']}..{data['commit']}").patches
    services.keep(run, "snapshots", f"{step.place}.patch", "".join(patches.values()))
    _notes(step, data)
    if data.get("error"):
        return Erred(str(data["error"]))
    if data.get("escalation"):
        return Erred(f"the developer stopped: {data['escalation']}")
    if data.get("subtask"):
        return _continue(step, data["subtask"])
    return Succeeded({"files_modified": list(data["files"]), "result": str(data["result"])})


def _notes(step: StepRun, data: Data) -> None:
    """The decisions and risks that an agent told become the plan's; what is none is noted."""
    store, plan, by = step.services.store, step.run.plan, agent(str(data["agent"]))
    for place, (decision, reason, impact) in enumerate(data.get("decisions") or (), 1):
        try:
            store.decide(plan, decision=decision, reason=reason, impact=impact, by=by)
        except UsageError as problem:
            _ignored(step, f"decision-{place}", str(problem))
    for place, (name, severity, text) in enumerate(data.get("risks") or (), 1):
        try:
            store.risk(plan, name=name, severity=severity, text=text, by=by)
        except UsageError as problem:
            _ignored(step, f"risk-{place}", str(problem))


def _ignored(step: StepRun, what: str, reason: str) -> None:
    told = {"ignored": what, "reason": reason}
    step.note(kinds.TOLD, f"{_name(step)}-{what}", {"execution": 0, "told": told})


def _continue(step: StepRun, subtask: Data) -> Pending | Erred:
    """A subtask is begun first; the developer is asked again when it is done."""
    services, run = step.services, step.run
    ledger = services.ledger(run.plan)
    number = ledger.number(str(run.task))
    most = services.settings.engine.subtasks + int(services.settings.engine.red_first)
    if len(ledger.continued.get(number, ())) >= most:
        return Erred(f"the developer asked for more than {most} subtasks.")
    if ledger.depth(number) >= MOST_LEVELS:
        return Erred(f"the task is a subtask {MOST_LEVELS} levels deep: it may ask for no other.")
    data = step.choose(
        kinds.CONTINUED,
        f"{_name(step)}-subtask",
        lambda known: {"task": run.task, "child": known.next_number},
    )
    child = data["child"]
    _begin_subtask(step, subtask, child, TaskType.IMPLEMENT_FEATURE)
    return Pending(StepKind.CONTINUED, f"the subtask {child} comes first")
