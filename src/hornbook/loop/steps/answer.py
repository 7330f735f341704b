"""What a person answers to a run: to a question, to an escalation, or that it should stop."""

from collections.abc import Mapping

from hornbook.errors import UsageError
from hornbook.loop.protocol import StepOutcome
from hornbook.loop.runs.lookup import find_run, outcome_of, spawned_by
from hornbook.loop.runs.state import ESCALATION, STOP, RunState
from hornbook.loop.workflow.definition import Workflow
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.log import EventLog


def answer_run(
    log: EventLog, run: RunState, text: str, workflows: Mapping[str, Workflow]
) -> StepOutcome:
    """Note what a person says to a run that asks; `stop` ends it.

    Raises:
        UsageError: It asks nothing, or the text says nothing.
    """
    if not text.strip():
        raise UsageError("an answer says something: give it with --text.")
    if not run.is_asking or run.asked is None:
        raise UsageError(
            f"run {run.id} asks nothing, it is {run.status}: see `runs show {run.id}`."
        )
    asks = run.asked.kind in {kinds.QUESTION, kinds.PROMOTE}
    asked = run.asked.kind.rpartition(".")[2] if asks else ESCALATION
    stops = text.strip().lower() == STOP
    number = kinds.signal(run.asked)["number"]
    place = {"run": run.id, "round": run.round, "number": number}
    key = run.key(number, "answered" if asks else f"answered-{run.asked.seq}")
    if stops:
        data = {
            "run": run.id,
            "status": "stopped",
            "reason": "a person stopped it.",
            "spawned": list(spawned_by(run)),
        }
        log.append(run.plan, kinds.ENDED, data, key=event_keys.run_ended(run.id))
    else:
        log.append(run.plan, kinds.ANSWERED, {**place, "text": text, "asked": asked}, key=key)
    found = find_run(log, run.id, workflows)
    return outcome_of(found or run)
