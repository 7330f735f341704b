"""A person's word on a run that asks: which actions fit, what each notes, and what follows from it.

A word is noted as `run.answered` by a human principal before anything is done about it, so that a
process that is killed in between finds it again. Words that give the work back (`return`, `amend`,
`text`) begin the workflow anew. The others decide: the run carries them out at its next step and
ends. No word changes a recorded review; an approval names the word that it rests on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from hornbook.errors import UsageError
from hornbook.loop.protocol import StepOutcome
from hornbook.loop.runs.lookup import find_run, outcome_of, spawned_by
from hornbook.loop.runs.state import (
    BASE,
    COST,
    ESCALATION,
    HOLDS,
    RunState,
    failed_gates,
    is_offered_again,
)
from hornbook.loop.workflow.definition import Workflow
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.log import EventLog
from hornbook.plans.principal import Principal
from hornbook.plans.run_kinds import DEVELOP


class AnswerAction(StrEnum):
    """What a person can say to a run that asks."""

    ACCEPT = "accept"
    RETURN = "return"
    OVERRULE = "overrule"
    SPLIT = "split"
    AMEND = "amend"
    STOP = "stop"
    TEXT = "text"


MEANINGS: Mapping[AnswerAction, str] = {
    AnswerAction.ACCEPT: "take the reviewer's own verdict",
    AnswerAction.RETURN: "give the work back to the developer, with these words",
    AnswerAction.OVERRULE: "approve the work against what was found, and say why",
    AnswerAction.SPLIT: "have the task split, along these words",
    AnswerAction.AMEND: "change sections of the plan and begin again",
    AnswerAction.STOP: "give up",
    AnswerAction.TEXT: "answer the question in words",
}
ON_BASE: Mapping[AnswerAction, str] = {
    AnswerAction.ACCEPT: "take what is red on the base as known, and have the plan worked on",
    AnswerAction.AMEND: "the same, with sections of the plan changed first",
    AnswerAction.RETURN: "have the plan begin anew with what is checked out by now",
    AnswerAction.STOP: MEANINGS[AnswerAction.STOP],
}
"""What the actions do where the gates are red, or can judge nothing, before anybody works."""
ON_COST: Mapping[AnswerAction, str] = {
    AnswerAction.RETURN: "have it go on from where it is, for as much again",
}
REASONED = frozenset({AnswerAction.ACCEPT, AnswerAction.AMEND, AnswerAction.STOP})
"""Actions whose text does not say why: they need a reason."""


@dataclass(frozen=True, slots=True)
class Word:
    """What a person says: an action, the text that belongs to it, and why."""

    action: AnswerAction
    text: str = ""
    reason: str = ""


def word(action: str, text: str = "", reason: str = "") -> Word:
    """A word in the names of the command line and of HTTP.

    Raises:
        UsageError: The action is none, or lacks its text or its reason.
    """
    try:
        found = AnswerAction(action)
    except ValueError:
        known = ", ".join(AnswerAction)
        raise UsageError(f"action {action!r} is none: give one of {known}.") from None
    if found in REASONED and not reason.strip():
        raise UsageError(f"--{found} needs a reason: say why with --reason.")
    texts = set(AnswerAction) - {AnswerAction.ACCEPT, AnswerAction.STOP}
    if found in texts and not text.strip():
        raise UsageError(f"--{found} says nothing: give it in words.")
    return Word(found, text, reason)


@dataclass(frozen=True, slots=True)
class Judged:
    """What was last said of the newest attempt, and whether a person may take it or go against it.

    `against` names what an overruling goes against: a rejection, an invalid review, failed gates.
    """

    work: kinds.AttemptData
    checked: kinds.CheckedData | None
    against: str | None

    @property
    def verdict(self) -> str | None:
        """The reviewer's own verdict, where a person has to take it.

        It was not clear enough, or the work that it approves did not come onto the branch.
        """
        if self.checked is None or self.checked["outcome"] not in {"escalate", "approved"}:
            return None
        return self.checked.get("verdict") or None


def judged(run: RunState) -> Judged | None:
    """What was last said of the newest attempt; None where nobody judged any work."""
    said, work, holds = None, run.work(), False
    for event in run.of(DEVELOP, kinds.MERGED, kinds.GATED, kinds.CHECKED):
        if event.kind == DEVELOP or _is_new(event):
            said, holds = None, False
        elif event.kind == kinds.MERGED:
            holds = True
        elif holds and event.kind == kinds.GATED and kinds.gates(event)["passed"]:
            continue  # the review is what stands
        elif event.kind == kinds.GATED and is_offered_again(kinds.gates(event)):
            said = run.newest(kinds.CHECKED)  # of the same tree: the review is what stands
        else:
            said = event
    if work is None or said is None or not work["files"]:
        return None
    if said.kind == kinds.GATED:
        failed = failed_gates(kinds.gates(said)["gates"])
        return Judged(work, None, f"failed gates: {', '.join(failed)}" if failed else None)
    checked = kinds.checked(said)
    return Judged(work, checked, _against(checked))


def _is_new(event: Event) -> bool:
    """Whether work was put on top of other work so that its review does not hold for it."""
    return event.kind == kinds.MERGED and kinds.merged(event)["review"] != HOLDS


def _against(checked: kinds.CheckedData) -> str | None:
    """What of a review an overruling goes against."""
    if checked["outcome"] == "invalid":
        codes = sorted({str(each["code"]) for each in checked["problems"]})
        return f"an invalid review: {', '.join(codes)}"
    if checked["outcome"] == "rejected" or checked.get("verdict") == "rejected":
        return f"a rejection: {checked['rejection_type'] or 'without a type'}"
    return None


def offered(run: RunState) -> tuple[AnswerAction, ...]:
    """The actions that fit what a run asks; none if it asks nothing."""
    if not run.is_asking or run.asked is None:
        return ()
    return fitting(run, run.asked.kind, kinds.signal(run.asked)["payload"])


def fitting(run: RunState, kind: str, payload: Data) -> tuple[AnswerAction, ...]:
    """The actions that fit a word to a person of this kind."""
    if payload.get("about") == BASE:
        known = (AnswerAction.ACCEPT, AnswerAction.AMEND) if payload["judges"] else ()
        return *known, AnswerAction.RETURN, AnswerAction.STOP
    if payload.get("about") == COST:
        return AnswerAction.RETURN, AnswerAction.STOP
    if kind in {kinds.QUESTION, kinds.PROMOTE}:
        return AnswerAction.TEXT, AnswerAction.STOP
    found = []
    said = judged(run)
    if said is not None and said.verdict is not None:
        found.append(AnswerAction.ACCEPT)
    found.append(AnswerAction.RETURN)
    if said is not None and said.against is not None:
        found.append(AnswerAction.OVERRULE)
    if run.develops:
        found += [AnswerAction.SPLIT, AnswerAction.AMEND]
    if _developer_asks(run):
        found.append(AnswerAction.TEXT)
    return *found, AnswerAction.STOP


def _developer_asks(run: RunState) -> bool:
    """Whether the developer stopped with a question."""
    work = run.newest(DEVELOP)
    return work is not None and bool(kinds.attempt(work).get("escalation"))


def how_to_answer(run: RunState, kind: str, payload: Data) -> list[str]:
    """A line for each action that fits, as it is typed, with what it does."""
    forms = {
        AnswerAction.ACCEPT: "--accept --reason …",
        AnswerAction.AMEND: "--amend FILE --reason …",
        AnswerAction.STOP: "--stop --reason …",
    }
    return [
        f"{forms.get(each, f'--{each} …')}: {meaning(run, each, payload)}"
        for each in fitting(run, kind, payload)
    ]


def meaning(run: RunState, action: AnswerAction, payload: Data) -> str:
    """What an action would do to a run that asks with this payload."""
    asked = {BASE: ON_BASE, COST: ON_COST}.get(str(payload.get("about")), {})
    if action in asked:
        return asked[action]
    said = judged(run)
    if action is AnswerAction.ACCEPT and said is not None:
        return f"{MEANINGS[action]}, which is {said.verdict}"
    if action is AnswerAction.OVERRULE and said is not None:
        return f"approve the work against {said.against}, and say why"
    return MEANINGS[action]


Amend = Callable[[str, Word], None]
"""Changes sections of a plan as a person says."""


def answer_run(
    log: EventLog,
    run: RunState,
    said: Word,
    workflows: Mapping[str, Workflow],
    *,
    by: Principal,
    amend: Amend,
) -> StepOutcome:
    """Note what a person says to a run that asks, and how the run stands then.

    Raises:
        UsageError: It asks nothing, or the action does not fit; the message lists those that do.
    """
    known = offered(run)
    if not known or run.asked is None:
        raise UsageError(
            f"run {run.id} asks nothing, it is {run.status}: see `runs show {run.id}`."
        )
    if said.action not in known:
        listed = ", ".join(f"--{each}" for each in known)
        raise UsageError(f"--{said.action} does not fit what run {run.id} asks: give {listed}.")
    if said.action is AnswerAction.AMEND:
        amend(run.plan, said)  # first: what was amended and is amended again stays as it is
    asks = run.asked.kind in {kinds.QUESTION, kinds.PROMOTE}
    number = kinds.signal(run.asked)["number"]
    key = run.key(number, "answered" if asks else f"answered-{run.asked.seq}")
    about = kinds.signal(run.asked)["payload"].get("about")
    asked = run.asked.kind.rpartition(".")[2] if asks else COST if about == COST else ESCALATION
    data = {"run": run.id, "round": run.round, "number": number, "asked": asked}
    log.append(run.plan, kinds.ANSWERED, {**data, **_facts(run, said)}, key=key, by=by)
    if said.action is AnswerAction.STOP:
        ended = {
            "run": run.id,
            "status": "stopped",
            "reason": f"a person stopped it: {said.reason}",
            "spawned": list(spawned_by(run)),
        }
        log.append(run.plan, kinds.ENDED, ended, key=event_keys.run_ended(run.id), by=by)
    return outcome_of(find_run(log, run.id, workflows) or run)


def _facts(run: RunState, said: Word) -> dict[str, object]:
    """What a word is noted with: what it says, and of which tree and review it says so."""
    facts: dict[str, object] = {"action": said.action, "text": said.text, "reason": said.reason}
    asked = kinds.signal(run.asked)["payload"] if run.asked is not None else {}
    if asked.get("about") == BASE:
        return {**facts, "about": BASE, "base": asked["base"]}
    if asked.get("about") == COST:
        return {**facts, "about": COST, "scope": asked["scope"]}
    about = judged(run)
    if said.action not in {AnswerAction.ACCEPT, AnswerAction.OVERRULE} or about is None:
        return facts
    facts["tree"] = about.work["tree"]
    facts["review"] = None if about.checked is None else about.checked["record"]
    if said.action is AnswerAction.OVERRULE:
        return {**facts, "against": about.against}
    return {
        **facts,
        "verdict": about.verdict,
        "rejection_type": None if about.checked is None else about.checked["rejection_type"],
    }
