"""How a run moves on: a pure state machine that an engine drives.

`start` a run, do what `upcoming` says, tell the result to `advance`, until the run has ended. The
same workflow, trigger and results always give the same run, so a run can be folded from events.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from hornbook.errors import ConfigError, UsageError
from hornbook.located import Json, kind_of
from hornbook.loop.workflow.definition import Action, Condition, Step, Workflow
from hornbook.loop.workflow.expressions import (
    EXISTS,
    Unresolved,
    holds,
    member,
    references,
    resolve,
    text_of,
)
from hornbook.loop.workflow.subjects import APPROVED, COMPLETE, GATES, ActionType, Subject
from hornbook.plans.run_kinds import ERROR, ESCALATE, TRIGGER


class WorkflowOutcome(StrEnum):
    """How a run ended; of several signals the last one in this list counts."""

    FINISHED = "finished"
    APPROVED = "approved"
    HANDED_ON = "handed_on"
    ESCALATED = "escalated"


@dataclass(frozen=True, slots=True)
class Succeeded:
    """An action was done; a judging one said yes. `seconds` are those that it took."""

    output: Mapping[str, Json] = field(default_factory=dict)
    seconds: float = 0


@dataclass(frozen=True, slots=True)
class Refused:
    """A judging action said no, and why in its output."""

    output: Mapping[str, Json] = field(default_factory=dict)
    seconds: float = 0


@dataclass(frozen=True, slots=True)
class Erred:
    """An action could not be done: it died, ran out of time or answered what nobody can read."""

    error: str
    seconds: float = 0


@dataclass(frozen=True, slots=True)
class Reopened:
    """Approved work met other work that came first: it is judged again together with that.

    `refusal` is why the two cannot be brought together. While the `review` holds for both, only
    the gates are run again.
    """

    refusal: str = ""
    review: bool = False
    seconds: float = 0


Told: TypeAlias = Succeeded | Refused | Erred
Result: TypeAlias = Told | Reopened


@dataclass(frozen=True, slots=True)
class ResolvedAction:
    """An action with every expression replaced."""

    type: ActionType
    subject: str
    role: str | None = None
    model: str | None = None
    prompt: str | None = None
    payload: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Do:
    """What is to be done next; `number` counts the visits of the run, from 1, and is unique in it.

    `timeout` is in seconds, None where a person is waited for.
    """

    number: int
    step: str
    action: ResolvedAction
    timeout: float | None
    iteration: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended and why; `to` are the workflows that it was handed on to."""

    outcome: WorkflowOutcome
    reason: str
    to: tuple[str, ...] = ()


class StepVisit(StrEnum):
    """What became of a step when the run came to it."""

    DONE = "done"
    REFUSED = "refused"
    ERRED = "erred"
    SKIPPED = "skipped"
    REOPENED = "reopened"


@dataclass(frozen=True, slots=True)
class Trace:
    """One visit of a step."""

    step: str
    visit: StepVisit
    iteration: int


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """The newest result under a name."""

    output: Mapping[str, Json] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """A run at one moment: what was answered so far, and what comes next.

    `back_to` is the step that follows once gates pass that were run again for it.
    """

    workflow: Workflow
    payload: Mapping[str, Json]
    upcoming: Do | Ended
    iteration: int = 1
    answers: Mapping[str, StepAnswer] = field(default_factory=dict)
    trail: tuple[Trace, ...] = ()
    seconds: float = 0
    outcome: WorkflowOutcome = WorkflowOutcome.FINISHED
    reason: str = ""
    to: tuple[str, ...] = ()
    back_to: str | None = None


def start(workflow: Workflow, payload: Mapping[str, Json]) -> WorkflowRun:
    """A run at its first step; `payload` is what the trigger carries.

    Raises:
        UsageError: The workflow is not enabled.
        ConfigError: The payload lacks a value that has no default; names all of them.
    """
    if not workflow.enabled:
        raise UsageError(f'workflow `{workflow.id}` is not enabled: set `"enabled": true` in it.')
    run = WorkflowRun(workflow, payload, Ended(WorkflowOutcome.FINISHED, ""))
    missing = _missing(run)
    if missing:
        raise ConfigError([f"workflow `{workflow.id}` cannot start: {each}" for each in missing])
    return _moved(run, workflow.steps[0].name)


def advance(run: WorkflowRun, result: Result) -> WorkflowRun:
    """The run after its upcoming step had this result.

    Raises:
        UsageError: The run has ended; or an action that does not judge was refused.
    """
    do = run.upcoming
    if isinstance(do, Ended):
        raise UsageError("the run has ended: nothing can be told to it.")
    step = run.workflow.step(do.step)
    if isinstance(result, Reopened):
        return _reopened(run, step, result)
    if isinstance(result, Refused) and not step.action.rule.judges:
        raise UsageError(f"`{step.action.subject}` cannot say no: tell its error.")
    checked = _checked(step, result)
    waits = step.action.type is ActionType.ASK
    told = replace(
        run,
        answers={**run.answers, **dict.fromkeys(step.names, _answer(step, checked))},
        trail=(*run.trail, Trace(step.name, _visit(checked), run.iteration)),
        seconds=run.seconds + (0 if waits else max(0, result.seconds)),
        back_to=None,
    )
    if isinstance(checked, Succeeded):
        return _moved(_signalled(told, step, do.action), run.back_to or step.on_success)
    return _after_failure(told, step, checked)


def asked_next(run: WorkflowRun, output: Mapping[str, Json], subject: str) -> ResolvedAction:
    """What the workflow's step of a subject will be asked, once the upcoming step answered so.

    Raises:
        Unresolved: Something that it is asked is not known by then.
        UsageError: The run has ended, or has no such step.
    """
    ahead = advance(run, Succeeded(output))
    if isinstance(ahead.upcoming, Do) and ahead.upcoming.action.subject == subject:
        return ahead.upcoming.action
    for step in run.workflow.steps:
        if step.action.subject == subject:
            return _resolved(ahead, step.action)
    raise UsageError(f"workflow `{run.workflow.id}` has no step for `{subject}`.")


def visited(run: WorkflowRun, name: str) -> WorkflowRun:
    """The run as if it had come to a step now, whatever comes next in it.

    Raises:
        Unresolved: Something that the step is asked is not known yet.
    """
    return replace(run, upcoming=_do(run, run.workflow.step(name)))


def payload_of(run: WorkflowRun, subject: str) -> Mapping[str, Json]:
    """The payload of the first step of a subject as far as it is known; empty if it is not."""
    for step in run.workflow.steps:
        if step.action.subject == subject:
            try:
                return _resolved(run, step.action).payload
            except Unresolved:
                return {}
    return {}


def _reopened(run: WorkflowRun, step: Step, result: Reopened) -> WorkflowRun:
    """The run back at the gates that its work passed; a refusal counts as theirs.

    Raises:
        UsageError: No gates were run, which no workflow that is loaded allows.
    """
    passed = (
        run.workflow.step(each.step)
        for each in reversed(run.trail)
        if run.workflow.step(each.step).action.subject == GATES and each.visit is StepVisit.DONE
    )
    gates = next(passed, None)
    if gates is None:
        raise UsageError(f"`{step.name}` comes before any gates: nothing was judged.")
    told = replace(
        run,
        trail=(*run.trail, Trace(step.name, StepVisit.REOPENED, run.iteration)),
        seconds=run.seconds + max(0, result.seconds),
        back_to=step.name if result.review else None,
    )
    if not result.refusal:
        return replace(told, upcoming=_do(told, gates))
    refused = Refused({"feedback": result.refusal})
    answers = {**run.answers, **dict.fromkeys(gates.names, _answer(gates, refused))}
    return _after_failure(replace(told, answers=answers), gates, refused)


def _after_failure(run: WorkflowRun, step: Step, result: Refused | Erred) -> WorkflowRun:
    why = _why(step, result)
    if isinstance(result, Erred) and step.action.rule.judges:
        return _escalated(run, f"`{step.name}` judged nothing: {why}")
    if step.condition is not None or step.on_fail is None:
        return _escalated(run, f"`{step.name}` failed: {why}")
    return _moved(run, step.on_fail)


def _moved(run: WorkflowRun, name: str | None) -> WorkflowRun:
    """The run at the next step whose action is to be done, or at its end."""
    while name is not None:
        step = run.workflow.step(name)
        if run.seconds >= run.workflow.timeout:
            limit = run.workflow.timeout
            return _escalated(run, f"the workflow's {limit} seconds were used up before `{name}`.")
        try:
            if step.condition is not None and not _holds(run, step.condition):
                trace = Trace(name, StepVisit.SKIPPED, run.iteration)
                run, name = replace(run, trail=(*run.trail, trace)), step.on_fail
                continue
            if step.starts_iteration:
                run = replace(run, iteration=run.iteration + 1)
            if run.iteration > run.workflow.max_iterations:
                return _escalated(run, f"`max_iterations` {run.workflow.max_iterations} reached.")
            return replace(run, upcoming=_do(run, step))
        except Unresolved as problem:
            return _escalated(run, f"`{name}` cannot be done: {problem}")
    return replace(
        run, upcoming=Ended(run.outcome, run.reason or "the last step was done.", run.to)
    )


def _escalated(run: WorkflowRun, reason: str) -> WorkflowRun:
    return replace(
        run,
        outcome=WorkflowOutcome.ESCALATED,
        reason=reason,
        upcoming=Ended(WorkflowOutcome.ESCALATED, reason, run.to),
    )


# Values


def _look_up(run: WorkflowRun, path: tuple[str, ...]) -> Json:
    if path[0] == "trigger":
        return member(dict(run.payload), path[2:], "trigger.payload")
    if path[0] == "execution":
        return run.iteration
    name, what = path[1], path[2]
    answer = run.answers.get(name)
    if answer is None:
        raise Unresolved(f"`{'.'.join(path)}` has no value: `{name}` has not run.")
    if what == "error":
        if answer.error is None:
            raise Unresolved(f"`{'.'.join(path)}` has no value: `{name}` has not failed.")
        return answer.error
    if answer.output is None:
        raise Unresolved(f"`{'.'.join(path)}` has no value: `{name}` failed: {answer.error}")
    return member(dict(answer.output), path[3:], f"steps.{name}.output")


def _missing(run: WorkflowRun) -> list[str]:
    """What the trigger lacks, in the order of the steps, each once."""
    found: dict[str, None] = {}
    for step in run.workflow.steps:
        action, condition = step.action, step.condition
        used = [*references(action.model), *references(action.prompt), *references(action.payload)]
        if condition is not None:
            used += references(condition.value)
            used += [condition.field] if condition.operator != EXISTS else []
        for reference in used:
            if reference.path[0] == "trigger" and reference.default is None:
                try:
                    _look_up(run, reference.path)
                except Unresolved as problem:
                    found[str(problem)] = None
    return list(found)


def _holds(run: WorkflowRun, condition: Condition) -> bool:
    def look_up(path: tuple[str, ...]) -> Json:
        return _look_up(run, path)

    value = resolve(condition.value, look_up)
    if condition.operator == EXISTS:
        try:
            look_up(condition.field.path)
        except Unresolved:
            return holds(EXISTS, False, value)
        return holds(EXISTS, True, value)
    return holds(condition.operator, _field(run, condition), value)


def _field(run: WorkflowRun, condition: Condition) -> Json:
    try:
        return _look_up(run, condition.field.path)
    except Unresolved:
        if condition.field.default is None:
            raise
        return condition.field.default.value


def _do(run: WorkflowRun, step: Step) -> Do:
    left = run.workflow.timeout - run.seconds
    waits = step.action.type is ActionType.ASK
    timeout = None if waits else min(step.timeout or left, left)
    return Do(len(run.trail) + 1, step.name, _resolved(run, step.action), timeout, run.iteration)


def _resolved(run: WorkflowRun, action: Action) -> ResolvedAction:
    def look_up(path: tuple[str, ...]) -> Json:
        return _look_up(run, path)

    payload = resolve(action.payload, look_up)
    model = text_of(action.model, look_up) if action.model else None
    if model is not None and not model.strip():
        raise Unresolved("the name of the model is empty: name one.")
    return ResolvedAction(
        type=action.type,
        subject=action.subject,
        role=action.role,
        model=model,
        prompt=text_of(action.prompt, look_up) if action.prompt else None,
        payload=payload if isinstance(payload, dict) else {},
    )


# Results


def _checked(step: Step, result: Told) -> Told:
    """The result with its optional lists filled in; an error where the answer lacks something."""
    if isinstance(result, Erred):
        return result
    output = dict(result.output)
    for name, each in step.action.rule.outputs.items():
        if name not in output and each.optional:
            output[name] = []
        if name not in output:
            return Erred(f"the answer has no `{name}`.", result.seconds)
        if not each.fits(output[name]):
            kind = kind_of(output[name])
            return Erred(f"`{name}` of the answer is of kind {kind}, not {each.kind}.")
    return replace(result, output=output)


def _why(step: Step, result: Told) -> str:
    if isinstance(result, Erred):
        return result.error or "it gave no reason."
    told = result.output.get("reason") or result.output.get("feedback")
    return str(told) if told else f"`{step.action.subject}` said no."


def _answer(step: Step, result: Told) -> StepAnswer:
    if isinstance(result, Erred):
        return StepAnswer(error=_why(step, result))
    refused = isinstance(result, Refused)
    return StepAnswer(dict(result.output), _why(step, result) if refused else None)


def _visit(result: Told) -> StepVisit:
    kinds = {Succeeded: StepVisit.DONE, Refused: StepVisit.REFUSED, Erred: StepVisit.ERRED}
    return kinds[type(result)]


def _signalled(run: WorkflowRun, step: Step, action: ResolvedAction) -> WorkflowRun:
    """The run with what a published event says about how it will end; the graver one stays."""
    outcome, reason, to = _signal(step.action.rule, action)
    order = list(WorkflowOutcome)
    graver = order.index(outcome) >= order.index(run.outcome)
    return replace(
        run,
        outcome=outcome if graver else run.outcome,
        reason=reason if graver and reason else run.reason,
        to=(*run.to, to) if to else run.to,
    )


def _signal(rule: Subject, action: ResolvedAction) -> tuple[WorkflowOutcome, str, str]:
    if action.subject in (ESCALATE, ERROR):
        told = action.payload["reason" if "reason" in rule.required else "error"]
        return WorkflowOutcome.ESCALATED, str(told), ""
    if action.subject.startswith(TRIGGER):
        to = action.subject.removeprefix(TRIGGER)
        return WorkflowOutcome.HANDED_ON, f"`{to}` goes on.", to
    if action.subject == COMPLETE and action.payload["status"] == APPROVED:
        return WorkflowOutcome.APPROVED, "the change was approved.", ""
    return WorkflowOutcome.FINISHED, "", ""
