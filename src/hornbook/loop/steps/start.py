"""Begins runs: of a task, of a whole plan, of the workflow that another one hands on to."""

from collections.abc import Iterator, Mapping, Sequence

from hornbook.commits.commit import Commit, commit_at
from hornbook.context.budget import endpoint
from hornbook.context.templates.roles import step_templates
from hornbook.errors import NotFound, UsageError
from hornbook.gates.workflow_gates import presets_of
from hornbook.located import Json
from hornbook.loop.runs.lookup import uncommitted
from hornbook.loop.runs.state import RunState
from hornbook.loop.steps.services import LoopServices, StepRun
from hornbook.loop.workflow.expressions import written_out
from hornbook.loop.workflow.interpreter import start as begun
from hornbook.plans.plan import PlanTask
from hornbook.plans.principal import Principal
from hornbook.plans.run_kinds import TRIGGER
from hornbook.plans.state import PlanState, PlanStatus
from hornbook.plans.store import amendment
from hornbook.vocabulary.terms import Level

EXECUTE = "plan-and-execute"


def refusal(services: LoopServices, plan: str) -> str | None:
    """Why a plan does not start, every reason in a line; None if it may.

    Raises:
        UsageError: The plan is not committed, or another one took its place.
    """
    state = services.plan(plan)
    if state.status is PlanStatus.EXPLORING:
        raise UsageError(
            f"plan {plan} is not committed and nobody works on it: `hornbook promote {plan}` "
            "commits it."
        )
    if state.status is PlanStatus.SUPERSEDED:
        raise UsageError(f"plan {plan} is superseded by {state.superseded_by}: execute that one.")
    checked = services.book.check(plan)
    problems = [
        f"{each.path}, line {each.line or 1}: {each.message} ({each.code})"
        for each in checked.problems
        if each.level is Level.ERROR
    ]
    if problems:
        problems.append(f"What is mended in its file, {amendment(plan)} takes.")
    problems += _unused_definitions(services, plan, checked.head)
    return "\n".join(problems) or None


def _unused_definitions(services: LoopServices, plan: str, head: Commit | None) -> Iterator[str]:
    """What templates and workflows say that no run of the plan would follow."""
    for path in uncommitted(services.root, head):
        yield (
            f"{path} is not committed as it stands, and runs follow what is committed: commit or "
            "restore it."
        )
    step_templates(services.root, at=services.worktrees.begin(plan))
    registry = services.settings.registry()
    for workflow in services.workflows_of(plan).values():
        for step in workflow.steps:
            named = written_out(step.action.model)
            if named is not None and named != "default" and registry.resolve(named) is None:
                known = ", ".join(sorted(registry.endpoints))
                yield (
                    f"`{step.name}` of workflow `{workflow.id}` names the model {named!r}, and "
                    f"there are {known}: add it under models.endpoints."
                )


def task_payload(services: LoopServices, state: PlanState, task: PlanTask) -> dict[str, object]:
    """What the workflow of a task is begun with."""
    slug = state.plan.slug
    brief = services.book.brief(slug, task.id_in(slug))
    return {
        "model": endpoint(services.settings, "developing")[0],
        "slug": slug,
        "gate_preset": list(presets_of(commit_at(services.root, services.worktrees.begin(slug)))),
        "task_id": task.id_in(slug),
        "task_description": brief.description(),
        "acceptance_criteria": "\n".join(f"- {each}" for each in task.criteria) or "none",
        "constraints": "\n".join(f"- {each}" for each in brief.constraints) or "none",
    }


def begin_task(
    services: LoopServices,
    plan: str,
    number: int,
    run_id: str,
    *,
    agent: str | None,
    parent: str | None,
    by: Principal | None = None,
) -> None:
    """Begin the run of a task; `by` is who wants it, by default the loop.

    Raises:
        UsageError: What it depends on is not done, or somebody works on it already.
    """
    state, ledger = services.plan(plan), services.ledger(plan)
    task = ledger.task(number)
    missing = ledger.waits_for(task)
    if missing:
        first = ", ".join(str(each) for each in missing)
        raise UsageError(f"task {number} of plan {plan} depends on {first}: execute that first.")
    others = [run for run in ledger.live(number) if run != run_id]
    if others:
        raise UsageError(
            f"task {number} of plan {plan} is worked on by {others[0]}: `hornbook resume "
            f"{others[0]}` goes on with it."
        )
    if ledger.done(number):
        raise UsageError(f"task {number} of plan {plan} is done already.")
    data = task_run(services, state, task)
    services.begin_run(plan, run_id, {**data, "agent": agent, "parent": parent}, by=by)


def task_run(services: LoopServices, state: PlanState, task: PlanTask) -> dict[str, object]:
    """What the run of a task is begun with, whoever begins it."""
    return {
        "workflow": EXECUTE,
        "task": task.id_in(state.plan.slug),
        "agent": None,
        "parent": None,
        "payload": task_payload(services, state, task),
    }


def begin_plan(
    services: LoopServices,
    plan: str,
    run_id: str,
    *,
    agent: str | None,
    parent: str | None = None,
    only: Sequence[int] = (),
    by: Principal | None = None,
) -> None:
    """Begin the run of a plan: it starts tasks as they become ready; with `only`, just those."""
    data = {
        "workflow": "",
        "agent": agent,
        "parent": parent,
        "payload": {"plan_slug": plan},
        "only": list(only),
    }
    services.begin_run(plan, run_id, data, by=by)


def begin_task_run(step: StepRun, number: int) -> str:
    """Begin the run of a subtask of a run, and note it; the id of the run."""
    services, run = step.services, step.run
    run_id = services.ledger(run.plan).next_run(number)
    begin_task(services, run.plan, number, run_id, agent=run.agent, parent=run.id)
    payload = {"plan_slug": run.plan, "tasks": [f"task.{run.plan}.{number}"]}
    step.note(f"{TRIGGER}{EXECUTE}", f"subtask-{number}", {"payload": payload, "runs": [run_id]})
    return run_id


def trigger(step: StepRun, workflow: str, payload: Mapping[str, Json], what: str) -> str:
    """Begin the workflow that a step hands on to, and note it; the id of the new run.

    Raises:
        NotFound, ConfigError: As `hand_on` does.
    """
    return hand_on(step.services, step.run, step.number, workflow, payload, what=what)


def hand_on(
    services: LoopServices,
    run: RunState,
    number: int,
    workflow: str,
    payload: Mapping[str, Json],
    *,
    what: str,
) -> str:
    """Begin the workflow that a run hands on to, and note it; the id of the new run.

    Raises:
        NotFound: There is no such workflow.
        ConfigError: The payload lacks something that the workflow needs.
    """
    known = run.fact(number, what)
    if known is not None:
        return str(known.data["runs"][0])
    known_workflows = services.workflows_of(run.plan)
    if workflow not in known_workflows:
        raise NotFound(f"there is no workflow {workflow!r}: see .hornbook/workflows.")
    suffix = f"{number}" if run.round == 1 else f"r{run.round}-{number}"
    child = f"{run.id}-{_short(workflow)}-{suffix}"
    plan = str(payload["plan_slug"])
    if workflow == EXECUTE:
        listed = payload.get("tasks") or []
        named = listed if isinstance(listed, list) else []
        numbers = [int(str(each).rpartition(".")[2]) for each in named]
        begin_plan(services, plan, child, agent=run.agent, parent=run.id, only=numbers)
    else:
        begun(known_workflows[workflow], payload)  # refuses before anything is noted
        data = {
            "workflow": workflow,
            "task": payload.get("original_task_id"),
            "agent": run.agent,
            "parent": run.id,
            "payload": dict(payload),
        }
        services.begin_run(plan, child, data)
    data = {
        "run": run.id,
        "round": run.round,
        "number": number,
        "payload": dict(payload),
        "runs": [child],
    }
    services.log.append(run.plan, f"{TRIGGER}{workflow}", data, key=run.key(number, what))
    return child


def _short(workflow: str) -> str:
    """The last word of a workflow's id but for the loop itself."""
    return "go" if workflow == EXECUTE else workflow
