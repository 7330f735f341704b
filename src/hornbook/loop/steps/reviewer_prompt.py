"""What a workflow asks of its reviewer: the prompt, the model, and how sure to be."""

from collections.abc import Sequence
from dataclasses import replace

from hornbook.commits.change import change
from hornbook.errors import UsageError
from hornbook.graph.commit_graph import graph_at
from hornbook.located import Json
from hornbook.loop.steps.services import StepRun
from hornbook.loop.workflow.expressions import Unresolved
from hornbook.loop.workflow.interpreter import ResolvedAction, WorkflowRun, asked_next
from hornbook.plans import run_kinds as kinds
from hornbook.plans.run_kinds import DEVELOP, REVIEW

WITHHELD = "(the change stands below; the developer's own words are not shown to a reviewer)"


def output_of_packet(sop_ids: Sequence[str]) -> dict[str, Json]:
    """What the workflow is told of a packet: texts of rules stand in the packet only."""
    where = "(in the packet below, whole)"
    return {"sops": where, "sop_ids": list(sop_ids), "conventions": where}


def asked_of(step: StepRun, work: kinds.AttemptData) -> ResolvedAction:
    """What the workflow will ask of the reviewer of an attempt, before its packet is assembled.

    Raises:
        UsageError: It names something that nobody knows by then.
    """
    run, root = step.run, step.services.root
    if run.machine is None:
        raise UsageError(f"run {run.id} follows no workflow.")
    found = change(root, f"{work['base']}..{work['commit']}")
    bound = graph_at(root, work["base"]).rules.bind_all(found.paths)
    packet = output_of_packet(sorted(binding.rule.id for binding, _ in bound))
    try:
        return asked_next(without_words(run.machine), packet, REVIEW)
    except Unresolved as problem:
        raise UsageError(f"the reviewer cannot be asked: {problem}") from problem


def without_words(machine: WorkflowRun) -> WorkflowRun:
    """The run without what developers said of their work: a reviewer inherits nothing of it."""
    names = {
        name
        for step in machine.workflow.steps
        if step.action.subject == DEVELOP
        for name in step.names
    }
    answers = {
        name: replace(answer, output={**answer.output, "result": WITHHELD})
        if name in names and answer.output is not None
        else answer
        for name, answer in machine.answers.items()
    }
    return replace(machine, answers=answers)


def model_asked(step: StepRun, work: kinds.AttemptData) -> str:
    """The model that the workflow names for its reviewer; empty if it names none of its own.

    The trigger's model is the developer's: a workflow that hands it on leaves the choice to the
    settings, which prefer another one.
    """
    model = asked_of(step, work).model or ""
    return "" if model == step.run.payload.get("model") else model


def confidence_asked(step: StepRun) -> float:
    """The confidence that the workflow asks for, if it does.

    Raises:
        UsageError: It is no number from 0 to 1.
    """
    value = step.do.action.payload.get("confidence_threshold", 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UsageError(f"the workflow's confidence_threshold is {value!r}: 0 to 1 is possible.")
    return float(value)
