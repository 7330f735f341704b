"""Trying reviewers: for one change in N a reviewer is first given a planted violation.

Which changes these are follows from the hashes of base and tree, so that a run that is played again
makes the same choice. Whoever misses what was planted is not believed about the change: nothing
real was asked of it yet, and the next reviewer is tried in its place. An event tells that something
was planted and whether it was found; what it was stands in `.hornbook/canaries` alone.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from hashlib import sha256

from hornbook.agents.assignment import Agent
from hornbook.context.review_packet import Contexts
from hornbook.loop.protocol import StepKind
from hornbook.loop.steps.develop import wait
from hornbook.loop.steps.reviewer_call import (
    Opinion,
    ReviewerCall,
    call_reviewer,
    kept_prompt,
    kept_receipt,
    note_reasked,
    packet_data,
    reasked_in,
    review_name,
)
from hornbook.loop.steps.services import Pending, StepRun
from hornbook.loop.workflow.interpreter import Erred
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.principal import agent
from hornbook.review.canary_files import keep, keep_prompt, prompt_place
from hornbook.review.check import check_reviews
from hornbook.review.printed_review import PrintedReview, read_review
from hornbook.review.review_record import JudgedReview, Occasion, record_review
from hornbook.rules.own_files.records import RECORD

MISSED = "missed_canary"
UNREAD = "What was planted is not found in an answer that cannot be read."


def is_due(base: str, tree: str, one_in: int) -> bool:
    """Whether a change is one of those whose reviewer is tried; with 0 none is."""
    if one_in < 1:
        return False
    digest = sha256(f"canary\0{base}\0{tree}".encode()).digest()
    return int.from_bytes(digest[:8]) % one_in == 0


def plant(step: StepRun, contexts: Contexts, opinion: Opinion, made_for: Data) -> None:
    """Plant a violation into the change, with a packet like its own, and note that it is there."""
    what = f"planted-{opinion}"
    if step.noted(what) is not None:
        return
    from hornbook.review.canary_packet import make_canary  # noqa: PLC0415  # only where one is due

    span = f"{made_for['base']}..{made_for['head']}"
    made = make_canary(step.services.root, span, contexts=contexts, model=str(made_for["model"]))
    facts: dict[str, object] = {
        "opinion": opinion,
        "eligible": made.eligible,
        "units": made.units,
        "canary": None,
    }
    if made.canary is not None and made.packet is not None:
        places = step.services.places
        keep(places, made.canary)
        keep_prompt(places, made.canary, made.packet.context.text or "")
        plan, head = step.run.plan, made.packet.made_for.head
        packet = packet_data(step.services, plan, made.packet)
        facts |= {"canary": made.canary.id, "head": head, "packet": packet}
        step.services.exchange.put_commit(plan, str(head))
        for path in sorted(places.canaries.glob(f"{str(packet['receipt_sha256'])[:16]}*")):
            step.services.exchange.put(plan, path)
    step.note(kinds.PLANTED, what, facts)


def planted_since(events: Sequence[Event], since: int) -> dict[str, Data]:
    """What was planted after an event, by the opinion that it is for."""
    return {
        str(event.data["opinion"]): event.data
        for event in events
        if event.kind == kinds.PLANTED and event.seq > since and event.data["canary"] is not None
    }


def tried_since(events: Sequence[Event], since: int) -> list[kinds.CanaryData]:
    """How reviewers did with what was planted after an event."""
    return [kinds.canary(e) for e in events if e.kind == kinds.CANARY and e.seq > since]


def try_reviewer(
    step: StepRun, worker: Agent, opinion: Opinion, planted: Data, context: Data
) -> Pending | Erred:
    """Have a reviewer review what was planted, and note whether it found it.

    An answer that cannot be read is asked for again, as that to any packet.
    """
    services, packet = step.services, planted["packet"]
    asked = f"canary-{opinion}-{worker.name}"
    reasked = reasked_in(step, asked)
    model = str(context["second_model" if opinion is Opinion.REFUTE else "model"])
    call = ReviewerCall(
        worker,
        # The agent may see it: nothing in it tells of a trial.
        f"{opinion}-{worker.name}-{len(reasked)}",
        str(planted["head"]),
        model,
        kept_prompt(prompt_place(services.places, packet["receipt_sha256"]), packet),
        packet["asked"],
        reasked[-1]["problems"] if reasked else (),
    )
    answer = call_reviewer(step, call)
    if answer.retry_after is not None:
        return wait(step, answer)
    failed = answer.error or answer.escalation
    if failed:
        return Erred(failed)
    printed = PrintedReview(review_name(worker.name, opinion, 1), answer.text.encode())
    if len(reasked) < services.settings.engine.reask:
        unread = read_review(printed.data)
        if unread.review is None:
            note_reasked(step, asked, len(reasked) + 1, unread.problems)
            return Pending(StepKind.CONTINUED, "the reviewer is asked again")
    data = {
        "agent": worker.name,
        "opinion": opinion,
        "prompt_sha256": packet["prompt_sha256"],
        "tokens": packet["tokens"],
        "window": packet["window"],
        "usage": asdict(answer.usage),
        "task": step.run.task,
        "tree": context["tree"],
        "exit_code": answer.exit_code,
        "log": answer.log,
        "model": model,
        **_judged(step, packet, printed),
    }
    step.note(kinds.CANARY, asked, data, by=agent(worker.name))
    said = "found" if data["found"] else "missed"
    return Pending(StepKind.CONTINUED, f"{worker.name} {said} what was planted")


def _judged(step: StepRun, packet: Data, printed: PrintedReview) -> dict[str, object]:
    """What follows from the answer; the judgement is recorded as that of any canary."""
    services, run = step.services, step.run
    receipts = [kept_receipt(services, packet)]
    at = services.clock()
    today = date.fromisoformat(at[:10])
    judgement = check_reviews(services.root, [printed], receipts, today=today, chained=True)
    number = len(run.of(kinds.CHECKED, kinds.CANARY)) + 1
    occasion = Occasion(datetime.fromisoformat(at), run.id, f"plan.{run.plan}", run.task, number)
    path = record_review(services.places, JudgedReview(judgement, [printed], receipts), occasion)
    services.exchange.put(run.plan, path)
    return {
        "receipt_sha256": packet["receipt_sha256"],
        "found": judgement.canary is not None and judgement.canary.found,
        "record": f"review.{path.stem}",
        "record_sha256": json.loads(path.read_bytes())[RECORD],
        "problems": [asdict(each) for each in judgement.problems if each.code == MISSED],
    }


def lost(tried: Sequence[kinds.CanaryData]) -> list[Data]:
    """The problems of those who missed what was planted, each with who it was."""
    return [
        {**problem, "message": f"{each['agent']}: {problem['message']}"}
        for each in tried
        if not each["found"]
        for problem in each["problems"] or [{"code": MISSED, "sop_id": None, "message": UNREAD}]
    ]
