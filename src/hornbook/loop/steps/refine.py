"""The steps of a refinement: a planner's or a person's sections become a successor plan."""

import itertools
from dataclasses import asdict, replace
from hashlib import sha256

from hornbook.agents.assignment import Answer, Assignment, Role
from hornbook.context.budget import endpoint
from hornbook.errors import UsageError
from hornbook.located import Json
from hornbook.loop.protocol import StepKind
from hornbook.loop.steps.ask_person import signal
from hornbook.loop.steps.decompose import CHILDREN_SCHEMA, children_in
from hornbook.loop.steps.develop import limits_of, telling, wait
from hornbook.loop.steps.services import LoopServices, Pending, StepRun
from hornbook.loop.workflow.interpreter import Erred, Refused, Result, Succeeded
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data
from hornbook.plans.plan import Plan
from hornbook.plans.principal import Principal, agent
from hornbook.plans.run_records import question_text
from hornbook.plans.state import PlanStatus
from hornbook.plans.store import carried, rewritten, section_diff
from hornbook.plans.tasks import Ledger
from hornbook.plans.text import render
from hornbook.rules.ids import slug as slug_of
from hornbook.text.tokens import counter
from hornbook.vocabulary.terms import Level

YES = frozenset({"yes", "y", "ok", "okay", "promote", "approve", "approved", "ja"})


# The planner


def plan(step: StepRun) -> Result | Pending:
    """A planner's answer: sections, decisions, or children."""
    data = step.noted("agent")
    if data is None:
        answered = _ask_planner(step)
        if isinstance(answered, Pending | Erred):
            return answered
        data = answered
    if data.get("error"):
        return Erred(str(data["error"]))
    return Succeeded(
        {
            "answer": data["answer"],
            "decisions": list(data["decisions"]),
            "children": list(data["children"]),
        }
    )


def _ask_planner(step: StepRun) -> Data | Pending | Erred:
    """What a planner answered, noted; or why there is no answer."""
    services, run = step.services, step.run
    worker = services.staff.worker(Role.PLANNER, run.agent)
    if worker is None:
        return Erred("no agent is configured for the role planner.")
    splits = _splits(step)
    text = render(services.plan(run.plan).plan)
    prompt = f"{step.do.action.prompt}\n\nThe plan as it stands:\n\n{text}"
    model = step.do.action.model
    chosen = None if model in {None, "default"} else model
    _, able = endpoint(services.settings, chosen or "planning")
    assignment = Assignment(
        key=run.key(step.number, "agent"),
        role=Role.PLANNER,
        task_id=str(run.task),
        attempt=run.attempt,
        folder=str(services.root),
        prompt=prompt,
        phase="plan",
        schema=CHILDREN_SCHEMA if splits else "",
        model=chosen or endpoint(services.settings, "planning")[0],
        limits=limits_of(step),
    )
    services.keep(run, "inputs", f"{step.place}-planner.md", prompt)
    answer = step.ask(worker, assignment, telling(step, worker.name))
    if answer.retry_after is not None:
        return wait(step, answer)
    children, error = _children_or_error(answer, splits=splits)
    data = {
        "agent": worker.name,
        "prompt_sha256": sha256(prompt.encode()).hexdigest(),
        "tokens": counter(services.settings.counter)(prompt),
        "window": able.max_tokens,
        "usage": asdict(answer.usage),
        "answer": answer.text,
        "decisions": [
            dict(zip(("decision", "reason", "impact"), each, strict=True))
            for each in answer.decisions
        ],
        "children": children,
        "error": error,
        "exit_code": answer.exit_code,
        "log": answer.log,
        "model": assignment.model,
    }
    return step.note(kinds.PLAN, "agent", data, by=agent(worker.name))


def _children_or_error(answer: Answer, *, splits: bool) -> tuple[list[Json], str | None]:
    """The children in an answer that should have some; or what went wrong."""
    error = answer.error or answer.escalation
    if error is not None or not splits:
        return [], error
    try:
        return children_in(answer.text), None
    except ValueError as problem:
        return [], str(problem)


def _splits(step: StepRun) -> bool:
    """Whether the workflow wants children of a planner."""
    machine = step.run.machine
    return machine is not None and any(
        step.action.subject == "workflow.task.cover" for step in machine.workflow.steps
    )


# The successor


def pause(step: StepRun) -> Result:
    """The plan's other tasks stop at their next step, until this run has ended."""
    step.once(kinds.PAUSED, "paused", lambda: {"task": step.run.task})
    return Succeeded()


def draft(step: StepRun) -> Result:
    """An uncommitted successor of the plan, with the feedback and how it differs."""
    services, payload = step.services, step.do.action.payload
    old = services.plan(str(payload["plan_slug"])).plan
    changed, wrong = rewritten(old, str(payload["answer"]), str(payload["feedback"]))
    if changed is None:
        return Refused({"successor": "", "diff": "", "feedback": "\n".join(wrong)})
    data = step.noted("drafted")
    if data is None:
        successor = _written(services, old, changed)
        diff = section_diff(old, successor)
        told = {"successor": successor.slug, "diff": diff}
        data = step.note(kinds.DRAFTED, "drafted", told)
    return Succeeded({"successor": data["successor"], "diff": data["diff"], "feedback": ""})


def _written(services: LoopServices, old: Plan, changed: Plan) -> Plan:
    """The successor, begun or edited: there is one exploration for a plan at a time."""
    title = old.title.partition(" (revision ")[0]
    for number in itertools.count(2):
        name = f"{title} (revision {number})"
        slug = slug_of(name)
        if slug not in services.store.slugs():
            text = render(replace(changed, title=name))
            return services.store.begin(name, text, supersedes=old.slug).plan
        known = services.plan(slug)
        if known.status is PlanStatus.EXPLORING and known.plan.supersedes == old.slug:
            parts = ("situation", "mission", "execution", "constraints", "coordination")
            texts = {part: getattr(changed, part) for part in parts}
            return services.store.change(slug, replace(known.plan, **texts)).plan
    raise UsageError(f"plan {old.slug} has no free name for a successor.")


def check(step: StepRun) -> Result:
    """Whether a plan may start, as `plans check` says; too large a task is split later."""
    found = step.services.book.check(str(step.do.action.payload["plan_slug"]))
    wrong = [
        f"line {each.line or 1}: {each.message}"
        for each in found.problems
        if each.level is Level.ERROR
    ]
    return Refused({"feedback": "\n".join(wrong)}) if wrong else Succeeded({"feedback": ""})


def decide(step: StepRun) -> Result:
    """Decisions of a planner become the plan's."""
    payload = step.do.action.payload
    listed = payload["decisions"]
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict):
            step.services.store.decide(
                str(payload["plan_slug"]),
                decision=str(each.get("decision", "")),
                reason=str(each.get("reason", "")),
                impact=str(each.get("impact", "")),
                by=agent("planner"),
            )
    return Succeeded()


def supersede(step: StepRun) -> Result:
    """The successor takes the plan's place; what was approved in the same words stays so."""
    services, payload = step.services, step.do.action.payload
    old, new = str(payload["plan_slug"]), str(payload["successor"])
    before = services.ledger(old)
    services.store.promote(new, by=_who_agreed(step))
    view, _ = services.book.tasks(new)
    tasks = view.state.tasks
    for number, commit in carried(before.tasks, _done(before), tasks).items():
        data = {
            "run": step.run.id,
            "task": f"task.{new}.{number}",
            "commit": commit,
            "tree": "",
            "carried_from": f"plan.{old}",
        }
        key = event_keys.carried_over(step.run.id, number)
        services.log.append(new, kinds.APPROVED, data, key=key)
    after = services.ledger(new)
    open_ones = [task.id_in(new) for task in tasks if not after.done(task.number)]
    return Succeeded({"tasks": [*open_ones]})


def _who_agreed(step: StepRun) -> Principal | None:
    """The person who was asked whether the successor may take the plan's place, and said so."""
    said = [
        event.principal
        for event in step.run.of(kinds.ANSWERED)
        if kinds.answer(event)["asked"] == "promote"
    ]
    return said[-1] if said else None


def _done(ledger: Ledger) -> dict[int, str]:
    return dict(ledger.approved)


# A person


def ask(step: StepRun) -> Result | Pending:
    """Ask a person and wait; a successor that was promoted by hand is an answer too."""
    action = step.do.action
    told = step.noted("answered")
    if told is not None:
        return answered(action.subject, str(told["text"]))
    event = signal(step.services, step.run, step.number, action.subject, dict(action.payload))
    if action.subject == kinds.PROMOTE:
        successor = step.services.plan(str(action.payload["successor"]))
        if successor.status is PlanStatus.COMMITTED:
            return Succeeded({"feedback": "it was promoted."})
    return Pending(StepKind.ASKING, question_text(event), "asking")


def answered(subject: str, text: str) -> Result:
    """The result of a question that a person answered."""
    if subject == kinds.PROMOTE:
        agreed = text.strip().rstrip(".!").lower() in YES
        made = Succeeded if agreed else Refused
        return made({"feedback": text})
    return Succeeded({"answer": text, "decisions": [], "children": _children(text)})


def _children(text: str) -> list[Json]:
    """The children in a person's answer, if it is JSON of some."""
    try:
        return children_in(text)
    except ValueError:
        return []
