"""One call of a reviewer: the packet that it is handed, kept by its hashes, and its answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from hornbook.agents.assignment import Agent, Answer
from hornbook.agents.review_assignment import review_assignment
from hornbook.context.receipt import receipt
from hornbook.context.review_packet import Packet
from hornbook.errors import UsageError
from hornbook.loop.steps.develop import limits_of, telling
from hornbook.loop.steps.services import LoopServices, StepRun
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data
from hornbook.review.judgement import ReviewProblem
from hornbook.review.opinions import REFUTING
from hornbook.review.review_record import keep_receipt


class Opinion(StrEnum):
    """Which of the opinions on a change is meant: the review, or the one that is to refute it."""

    REVIEW = "review"
    REFUTE = "refute"


@dataclass(frozen=True, slots=True)
class ReviewerCall:
    """What a reviewer is asked: a prompt about the files of a commit; `name` tells calls apart.

    `problems` are why its last answer was not accepted.
    """

    worker: Agent
    name: str
    head: str
    model: str
    prompt: str
    asked: Sequence[str]
    problems: Sequence[Data] = ()


def call_reviewer(step: StepRun, call: ReviewerCall) -> Answer:
    """The reviewer's answer, which may be that it has to be asked later."""
    services, run = step.services, step.run
    assignment = review_assignment(
        key=run.key(step.number, call.name),
        task_id=str(run.task),
        attempt=run.attempt,
        folder=services.worktrees.ensure(run.plan, str(run.task), call.head),
        prompt=call.prompt,
        asked=call.asked,
        model=call.model,
        limits=limits_of(step),
        problems=call.problems,
    )
    return step.ask(call.worker, assignment, telling(step, call.worker.name))


def packet_data(services: LoopServices, plan: str, packet: Packet) -> dict[str, object]:
    """What an event says of a packet, whose receipt is kept as a record."""
    context = packet.context
    facts = receipt(context, packet.made_for)
    services.exchange.put(plan, keep_receipt(services.places, facts))
    return {
        "prompt_sha256": context.sha256,
        "receipt_sha256": str(facts["receipt_sha256"]),
        "sop_ids": list(context.sop_ids),
        "asked": list(context.answer_ids),
        "tokens": context.tokens,
        "window": context.window,
    }


def kept_prompt(path: Path, packet: Mapping[str, object]) -> str:
    """The text of a packet, as it was assembled.

    Raises:
        UsageError: It is not there any more, or is another one.
    """
    if not path.is_file():
        raise UsageError(f"{path}: the packet of the review is gone: answer, to begin anew.")
    data = path.read_bytes()
    if sha256(data).hexdigest() != packet["prompt_sha256"]:
        raise UsageError(f"{path}: the packet of the review was edited: answer, to begin anew.")
    return data.decode()


def kept_receipt(services: LoopServices, packet: Data) -> dict[str, object]:
    """The receipt of a packet, as its event has it.

    Raises:
        UsageError: The record is another one.
    """
    path = services.places.records / "receipts" / f"{str(packet['receipt_sha256'])[:16]}.json"
    facts: dict[str, object] = json.loads(path.read_bytes())
    if facts.get("receipt_sha256") != packet["receipt_sha256"]:
        raise UsageError(f"{path}: it is not the receipt of the packet: answer, to begin anew.")
    return facts


def review_name(agent: str, opinion: Opinion, place: int) -> str:
    """What a review of a run is called: by its agent, whether it refutes, and its pass from 1."""
    return f"{agent}{REFUTING if opinion is Opinion.REFUTE else ''}-{place}"


def reasked_in(step: StepRun, asked: str) -> list[Data]:
    """How often something was asked again in this step, and why."""
    place = (step.run.round, step.number)
    return [
        event.data
        for event in step.run.of(kinds.REASKED)
        if (event.data["round"], event.data["number"]) == place
        and event.data.get("opinion", Opinion.REVIEW) == asked
    ]


def note_reasked(step: StepRun, asked: str, ask: int, problems: Sequence[ReviewProblem]) -> None:
    """Note that something is asked again, and why."""
    data = {"ask": ask, "problems": [asdict(each) for each in problems], "opinion": asked}
    step.note(kinds.REASKED, f"reask-{asked}-{ask}", data)
