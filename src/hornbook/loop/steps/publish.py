"""The steps that tell others: approvals and triggers; words to a person are asked elsewhere."""

from hornbook.commits.writer import ApprovalProof
from hornbook.loop.protocol import WorktreeSnapshot
from hornbook.loop.runs.state import RunState
from hornbook.loop.steps.ask_person import signal
from hornbook.loop.steps.services import LoopServices, StepRun
from hornbook.loop.steps.start import trigger
from hornbook.loop.workflow.interpreter import Erred, Result, Succeeded
from hornbook.loop.workflow.subjects import APPROVED, COMPLETE
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.run_kinds import DEVELOP, ERROR, ESCALATE, TRIGGER


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
    work, checked = step.run.newest(DEVELOP), step.run.newest(kinds.CHECKED)
    if work is None or checked is None or not _is_about(checked, work):
        return Erred("there is no accepted review of the newest change.")
    about = kinds.attempt(work)
    step.once(
        kinds.APPROVED,
        "approved",
        lambda: approval(step.services, step.run, about, proof=checked.hash),
    )
    return Succeeded()


def _is_about(checked: Event, work: Event) -> bool:
    """Whether a review was of the tree that an attempt left."""
    return kinds.checked(checked)["tree"] == kinds.attempt(work)["tree"]


def approval(
    services: LoopServices, run: RunState, work: kinds.AttemptData, *, proof: str, by: str = ""
) -> Data:
    """Make the commit of approved work; what its event says.

    `proof` is the hash of the event that the approval rests on, `by` the person whose word it is.
    """
    context = run.newest(kinds.ASSEMBLED)
    packets = kinds.context(context).get("packets", []) if context is not None else []
    receipts = [packet["receipt_sha256"] for packet in packets]
    told = ApprovalProof(
        f"plan.{run.plan}", str(run.task), run.id, ", ".join(receipts), events=proof, by=by
    )
    snapshot = WorktreeSnapshot(work["commit"], work["tree"], tuple(work["files"]))
    title = services.task_of(run).title
    commit = services.worktrees.approve(run.plan, snapshot, work["base"], title, told.trailers)
    return {"task": run.task, "commit": commit, "tree": work["tree"], "receipts": receipts}
