"""The steps that tell others: approvals and triggers; words to a person are asked elsewhere."""

from hornbook.commits.plan_branch import BranchMoved
from hornbook.loop.runs.state import HOLDS
from hornbook.loop.steps.ask_person import signal
from hornbook.loop.steps.merge import approval, merge
from hornbook.loop.steps.services import StepRun
from hornbook.loop.steps.start import trigger
from hornbook.loop.workflow.interpreter import Erred, Reopened, Result, Succeeded
from hornbook.loop.workflow.subjects import APPROVED, COMPLETE
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data
from hornbook.plans.run_kinds import ERROR, ESCALATE, TRIGGER


def publish(step: StepRun) -> Result:
    """Record what a workflow says, and do what it means."""
    action = step.do.action
    payload = dict(action.payload)
    if action.subject == COMPLETE:
        return _complete(step, payload)
    if action.subject.startswith(TRIGGER):
        trigger(step, action.subject.removeprefix(TRIGGER), payload, "trigger")
    elif action.subject in {ESCALATE, ERROR}:
        signal(step.services, step.run, step.number, action.subject, payload)
    else:
        step.once(kinds.PUBLISHED, "published", lambda: {"payload": payload})
    return Succeeded()


def _complete(step: StepRun, payload: Data) -> Result:
    """An approved task becomes a commit; one that was split is told to be."""
    if payload["status"] != APPROVED:
        told = {"event": "task_decomposed", **payload}
        step.once(kinds.PUBLISHED, "published", lambda: {"payload": told})
        return Succeeded()
    if step.noted("approved") is not None:
        return Succeeded()
    work, checked = step.run.reviewed_work(), step.run.newest(kinds.CHECKED)
    if work is None or checked is None or kinds.checked(checked)["tree"] != work["tree"]:
        return Erred("there is no accepted review of the newest change.")
    made = approval(step.services, step.run, work, proof=checked.hash)
    if isinstance(made, BranchMoved):
        merged = merge(step.services, step.run, step.number, work, made.tip)
        return Reopened(
            merged["feedback"] if merged["conflicts"] else "", merged["review"] == HOLDS
        )
    step.note(kinds.APPROVED, "approved", made)
    return Succeeded()
