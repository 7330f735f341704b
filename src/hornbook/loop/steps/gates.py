"""The steps that no agent takes part in: sizing a task, and running the gates over its tree."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import msgspec

from hornbook.commits import git
from hornbook.commits.change import change
from hornbook.commits.commit import commit_at
from hornbook.context.budget import RoomAsked
from hornbook.context.named_files import is_glob
from hornbook.context.sizing import size_task
from hornbook.context.task_route import route_of
from hornbook.gates.base_tests import NOTHING_KNOWN, BaseResults
from hornbook.gates.gate import GateReport, GateResult, GateStatus, without_unasked
from hornbook.gates.gate_confinement import bounds_in_run
from hornbook.gates.gate_list import GateList, GateState, gates_between
from hornbook.gates.gate_run import run_for
from hornbook.gates.runner import has_passed
from hornbook.gates.workflow_gates import asked_gates, with_asked
from hornbook.graph.commit_graph import graph_at, settings_of_base
from hornbook.located import Json
from hornbook.loop.runs.state import BASE, REJECTED_TREE, RunState, gate_feedback
from hornbook.loop.steps.services import LoopServices, StepRun
from hornbook.loop.workflow.interpreter import Erred, Refused, Result, Succeeded, payload_of
from hornbook.loop.workflow.subjects import GATES
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.plan import PlanTask, TaskType
from hornbook.plans.run_kinds import DEVELOP

WORKTREE, CHANGE, RED = "floor:worktree", "floor:change", "floor:red"
PLANNED = "floor:planned"
TOGETHER = "floor:together"
_UNTOUCHED = re.compile(
    r"^[ \t*-]*untouched:[ \t]*`?(?P<path>[^\s`:]+)`?[ \t]*:[ \t]*\S", re.MULTILINE | re.IGNORECASE
)
"""How a developer says of a planned file, in a line of its answer, why it was left as it is."""


def size(services: LoopServices, run: RunState) -> Data:
    """Whether a run's task fits, noted before anybody works on it."""
    known = run.fact(0, "sized")
    if known is not None:
        return known.data
    data = sized(services, run)
    event, _ = services.log.append(run.plan, kinds.SIZED, data, key=run.key(0, "sized"))
    return event.data


def sized(services: LoopServices, run: RunState) -> Data:
    """Whether a run's task fits, and why not; nothing is noted."""
    state, task, base = services.plan(run.plan), services.task_of(run), services.base_of(run)
    folder = services.worktrees.ensure(run.plan, str(run.task), base)
    snapshot = graph_at(services.root, base)
    sizing = size_task(
        Path(folder),
        snapshot,
        services.paths_of(state, task, base),
        description="\n".join(filter(None, (task.title, task.description))),
        criteria=task.criteria,
        room=RoomAsked(base=settings_of_base(services.root, base)),
    )
    found = route_of(sizing, snapshot)
    return {
        "run": run.id,
        "task": run.task,
        "fits": sizing.fits,
        "route": found.route,
        "message": found.said_of(f"Task {task.number}"),
        "base": base,
        "sizing": {
            "estimate": sizing.estimate,
            "limit": sizing.limit,
            "window": sizing.window,
            "files": [each.path for each in sizing.files],
            "reasons": [each.message for each in sizing.reasons],
        },
    }


def run_gates(step: StepRun) -> Result:
    """The gates as they stood when the plan began, over exactly the tree that was developed."""
    work = step.run.work()
    if work is None:
        return Erred("there is nothing to judge: no developer has worked yet.")
    data = step.noted("gates")
    if data is None:
        report = gate_report(step.services, step.run, work, step.do.action.payload)
        if isinstance(report, Erred):
            return report
        data = step.note(kinds.GATED, "gates", gate_facts(report))
    judged = cast("kinds.GatesData", data)  # what was noted as `GATED`
    if judged["passed"]:
        return Succeeded({"feedback": "\n".join(judged.get("warnings") or ())})
    return Refused({"feedback": gate_feedback(judged) or "the gates did not pass."})


def gate_facts(report: GateReport) -> Data:
    """What is noted of gates that were run over a tree."""
    facts = without_unasked(report)
    red = [each.message for each in report.gates if each.name == RED]
    facts["warnings"] = [*report.warnings, *red]
    return facts


def gate_report(
    services: LoopServices,
    run: RunState,
    work: kinds.AttemptData,
    payload: Mapping[str, Json] | None = None,
) -> GateReport | Erred:
    """What the gates say to work, floors included; or why they can say nothing.

    Raises:
        RunEnded: The run was ended meanwhile, and so were they.
    """
    span = f"{work['base']}..{work['commit']}"
    found = change(services.root, span)
    begin = services.worktrees.begin(run.plan)
    listed = gates_of(services, run, begin, found.head, payload)
    wrong = unsound(listed)
    if wrong:
        return Erred(wrong)
    bounds = bounds_in_run(listed)
    known = base_results(services, run.plan)
    report = run_for(
        services.root,
        listed.ready,
        span=span,
        constraints=services.plan(run.plan).plan.constraints,
        tests=listed.tests,
        base_tests=listed.base_tests,
        mutate_seconds=listed.mutate_seconds if listed.mutate else 0,
        bounds=bounds,
        known=known,
        is_over=lambda: services.is_over(run),
    )
    broken = [each for each in report.gates if each.required and each.status is GateStatus.REFUSED]
    if broken:  # it says nothing of the work, so no attempt is lost to it
        return Erred("; ".join(f"gate {each.name}: {each.message}" for each in broken))
    task = services.task_of(run)
    if task.type is TaskType.WRITE_TESTS:
        from hornbook.loop.steps.red_gates import judged_red  # noqa: PLC0415  # start-up of execute

        report = judged_red(
            services.root,
            report,
            listed.ready,
            span=span,
            files=task.files,
            bounds=bounds,
            known=known,
            is_over=lambda: services.is_over(run),
        )
    floors = (*_floors(work), *_planned(services, run, task, work), *_rejected(run, work))
    every = (*report.gates, *floors)
    passed = report.passed and has_passed(every)
    every = (*every, *_together(run, passed=passed))
    return replace(report, gates=every, passed=passed, base=begin)


def gates_of(
    services: LoopServices,
    run: RunState,
    base: str,
    head: str,
    payload: Mapping[str, Json] | None = None,
) -> GateList:
    """The gates of a change: those of its base, and what the workflow of the run adds to them.

    `payload` is what the step of the gates says; without one it is looked up in the workflow.

    Raises:
        ConfigError: The workflow asks for what cannot be added.
    """
    begun, judged = commit_at(services.root, base), commit_at(services.root, head)
    listed = gates_between(begun, judged)
    if payload is None and run.machine is not None:
        payload = payload_of(run.machine, GATES)
    if not payload:
        return listed
    asked = asked_gates(payload.get("preset"), payload.get("overrides"))
    return with_asked(listed, asked, begun, judged)


def unsound(listed: GateList) -> str | None:
    """Why the gates can judge nothing, which no developer can mend."""
    if not listed.ready:
        return listed.message or "no gate can be run: see `hornbook gates list`."
    refused = [each for each in listed.gates if each.state is GateState.REFUSED]
    if not refused:
        return None
    told = "; ".join(f"{each.gate.name}: {', '.join(each.reasons)}" for each in refused)
    return f"gates that cannot fail are refused: {told}"


def newest_base(events: Sequence[Event]) -> tuple[Event | None, Event | None]:
    """The newest word of the gates on a plan's base, and a person's word on it since."""
    gated: Event | None = None
    said: Event | None = None
    for event in events:
        if event.kind == kinds.BASE_GATED:
            gated, said = event, None
        elif event.kind == kinds.ANSWERED and kinds.answer(event).get("about") == BASE:
            said = event
    return gated, said


def is_taken_as_known(said: Event | None) -> bool:
    """Whether a person took a red base as known: by saying so, or by a plan that goes by it."""
    return said is not None and kinds.answer(said).get("action") in {"accept", "amend"}


def base_results(services: LoopServices, plan: str) -> BaseResults:
    """What the gates said before anybody worked, as far as no approved work mended it since."""
    base, said = newest_base(services.events(plan))
    if base is None:
        return NOTHING_KNOWN
    before = {each.name: each for each in msgspec.convert(base.data["gates"], list[GateResult])}
    if any(each.status is not GateStatus.PASSED for each in before.values()):
        # What approved work mended since then may not be broken again.
        for run in services.runs(plan):
            gated = run.newest(kinds.GATED)
            if run.status == "approved" and gated is not None and gated.seq > base.seq:
                after = msgspec.convert(gated.data["gates"], list[GateResult])
                before |= {each.name: each for each in after if each.name in before}
    known = ""
    if said is not None and is_taken_as_known(said):
        known = f"{said.principal.id}: {kinds.answer(said).get('reason')}"
    return BaseResults(tuple(before.values()), known)


def _floors(work: kinds.AttemptData) -> list[GateResult]:
    """What holds for every attempt: something was changed, and the worktree is whole."""
    problems = list(work.get("problems") or ())
    whole = GateResult(
        WORKTREE,
        required=True,
        status=GateStatus.FAILED if problems else GateStatus.PASSED,
        output="\n".join(problems),
        message=problems[0] if problems else "nothing was done that a diff would not show",
    )
    if work["files"]:
        said = f"{len(work['files'])} files changed"
        return [whole, GateResult(CHANGE, required=True, status=GateStatus.PASSED, message=said)]
    said = "nothing was changed: do the task, or say why it cannot be done"
    return [whole, GateResult(CHANGE, required=True, status=GateStatus.FAILED, message=said)]


def _together(run: RunState, *, passed: bool) -> list[GateResult]:
    """Says of work on top of what came first that this is what was judged."""
    newest = run.newest(DEVELOP, kinds.MERGED)
    if newest is None or newest.kind == DEVELOP:
        return []
    said = f"the work is judged on top of {newest.data['base'][:12]}, which came first"
    if not passed:
        said = (
            "these gates passed over the work alone, and fail over it together with what other "
            "tasks brought onto the plan's branch first, which is part of the files now"
        )
    status = GateStatus.PASSED if passed else GateStatus.FAILED
    return [GateResult(TOGETHER, required=True, status=status, message=said)]


def _planned(
    services: LoopServices, run: RunState, task: PlanTask, work: kinds.AttemptData
) -> list[GateResult]:
    """Whether what the task declares was done: new files are there, the others were touched.

    A file that need not change is excused by a line of the developer's answer. Of a task with
    subtasks, or of a subtask, others may have touched them.
    """
    if not work["files"] or not task.files:
        return []
    ledger = services.ledger(run.plan)
    there = git.files_at(services.root, work["commit"])
    parts = ledger.continued
    shared = task.number in parts or any(task.number in each for each in parts.values())
    excused = {found["path"] for found in _UNTOUCHED.finditer(work["result"])}
    done = {*work["files"], *excused, *task.creates}
    left = [path for path in task.files if path in there and path not in done and not shared]
    told = [
        f"{path} was to be made and is not there: make it"
        for path in task.creates
        if not is_glob(path) and path not in there
    ]
    told += [
        f"{path} was to be changed and is not: change it, or answer with a line "
        f"`untouched: {path}: why`"
        for path in left
    ]
    status = GateStatus.FAILED if told else GateStatus.PASSED
    said = told[0] if told else "every planned file was touched, or it was said why not"
    return [GateResult(PLANNED, True, status, output="\n".join(told), message=said)]


def _rejected(run: RunState, work: kinds.AttemptData) -> list[GateResult]:
    """A floor that fails where a reviewer rejected exactly this tree before."""
    before: list[str] = []
    for event in run.of(kinds.CHECKED, kinds.ANSWERED):
        if event.kind == kinds.ANSWERED:  # by another plan the same work may be right
            before = [] if kinds.answer(event).get("action") == "amend" else before
            continue
        review = kinds.checked(event)
        if review["outcome"] == "rejected" and review["tree"] == work["tree"]:
            before.append(review["record"])
    if not before:
        return []
    said = f"this is the tree that {before[-1]} rejected, unchanged: do what the review says"
    return [GateResult(REJECTED_TREE, required=True, status=GateStatus.FAILED, message=said)]


def report_of(data: Data) -> GateReport:
    """The report that an event tells of."""
    names = [
        "passed",
        "gates",
        "tree",
        "base",
        "head",
        "notes",
        "confined_by",
        "base_tests",
        "mutants",
    ]
    return msgspec.convert({name: data[name] for name in names if name in data}, GateReport)
