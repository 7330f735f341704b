"""The reviewer's steps: the packet, whole or refused; the review; and what follows from it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any  # what events carry

from hornbook.agents.assignment import Agent
from hornbook.commits.commit import commit_at
from hornbook.context.budget import endpoint
from hornbook.context.prompt import Outcome, Pressure
from hornbook.context.review_packet import Contexts, Packet
from hornbook.graph.commit_graph import graph_at, settings_of
from hornbook.located import Json
from hornbook.loop.protocol import StepKind
from hornbook.loop.runs.state import RunState
from hornbook.loop.steps.canary import (
    is_due,
    lost,
    plant,
    planted_since,
    tried_since,
    try_reviewer,
)
from hornbook.loop.steps.develop import wait
from hornbook.loop.steps.gates import report_of
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
from hornbook.loop.steps.reviewer_prompt import (
    asked_of,
    confidence_asked,
    model_asked,
    output_of_packet,
)
from hornbook.loop.steps.services import HandedOver, LoopServices, Pending, StepRun
from hornbook.loop.workflow.interpreter import Erred, Refused, Result, Succeeded
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.principal import agent
from hornbook.plans.run_kinds import REVIEW
from hornbook.plans.run_records import spent
from hornbook.review.check import check_reviews
from hornbook.review.judgement import Judgement, Route, Ruling
from hornbook.review.printed_review import PrintedReview, read_review
from hornbook.review.review_record import JudgedReview, Occasion, record_review
from hornbook.rules.own_files.records import RECORD
from hornbook.settings.settings import ReviewSettings

OVERFLOW = frozenset({Outcome.TOO_BIG})


# The packet


def assemble(step: StepRun) -> Result | HandedOver:
    """The reviewer's packet for exactly the tree that the gates passed, whole or refused."""
    work = step.run.work()
    if work is None:
        return Erred("there is nothing to review: no developer has worked yet.")
    data = step.noted("context") or _assembled(step, work)
    if data["outcome"] in OVERFLOW:
        return HandedOver(
            "task-decomposition", "The change does not fit: " + " ".join(data["reasons"])
        )
    if not data["packets"]:
        return Erred(f"{data['outcome']}: " + " ".join(data["reasons"]))
    _plant(step, work, data)
    return Succeeded(output_of_packet(data["sop_ids"]))


def _assembled(step: StepRun, work: kinds.AttemptData) -> Data:
    first, packet, packets = first_packets(step, work)
    whole = all(each.context.text is not None for each in packets)
    data = {
        "role": "reviewer",
        "outcome": Outcome.COMPLETE if whole else packet.context.outcome,
        "tokens": sum(each.context.tokens for each in packets),
        "window": packet.context.window,
        "reasons": [each.message for each in packet.context.reasons],
        "split": [list(group) for group in packet.context.split],
        "base": work["base"],
        "head": work["commit"],
        "tree": work["tree"],
        "sop_ids": list(packet.context.sop_ids),
        "packets": [_keep(step, each) for each in packets] if whole else [],
        "model": first,
    }
    if whole and _settings(step, work).reviewers > 1:
        data |= _second(step, work, first)
    return step.note(kinds.ASSEMBLED, "context", data)


def first_packets(step: StepRun, work: kinds.AttemptData) -> tuple[str, Packet, list[Packet]]:
    """The model that reviews first, the packet of an attempt, and those that are sent of it."""
    named = model_asked(step, work)
    model = named or reviewing_model(step.services, work.get("model") or "")
    return model, *_packets(step, work, Opinion.REVIEW, model)


def _second(step: StepRun, work: kinds.AttemptData, first: str) -> dict[str, object]:
    """The packets of the second opinion; none where they cannot be whole, so that none is given."""
    model = reviewing_model(step.services, work.get("model") or "", first)
    _, packets = _packets(step, work, Opinion.REFUTE, model)
    whole = all(each.context.text is not None for each in packets)
    kept = [_keep(step, each) for each in packets] if whole else []
    return {"second": kept, "second_model": model}


def _settings(step: StepRun, work: kinds.AttemptData) -> ReviewSettings:
    """What reviews of the change are held to, as its base says."""
    return settings_of(commit_at(step.services.root, work["base"])).review


def _contexts(step: StepRun, work: kinds.AttemptData, opinion: Opinion) -> Contexts:
    services, run = step.services, step.run
    return Contexts(
        services.root,
        graph_at(services.root, work["base"]),
        _pressure(run, work),
        services.book.brief(run.plan, run.task),
        earlier=earlier(run),
        asked=asked_of(step, work).prompt or "",
        refute=opinion is Opinion.REFUTE,
    )


def _packets(
    step: StepRun, work: kinds.AttemptData, opinion: Opinion, model: str
) -> tuple[Packet, list[Packet]]:
    """The packet of the change, and those that are sent: it alone, or its passes."""
    contexts = _contexts(step, work, opinion)
    packet = contexts.for_change(f"{work['base']}..{work['commit']}", model)
    return packet, packet.parts()


def _plant(step: StepRun, work: kinds.AttemptData, context: Data) -> None:
    """Plant a violation for each opinion, if the change is one whose reviewers are tried."""
    if not is_due(work["base"], work["tree"], _settings(step, work).canary):
        return
    models = {Opinion.REVIEW: context["model"]}
    if context.get("second"):
        models[Opinion.REFUTE] = context["second_model"]
    for opinion, model in models.items():
        plant(step, _contexts(step, work, opinion), opinion, {**context, "model": model})


def _keep(step: StepRun, packet: Packet) -> dict[str, object]:
    """Keep a packet's prompt and receipt; what an event says of them."""
    context = packet.context
    step.services.keep(step.run, "inputs", f"{context.sha256}.md", context.text or "")
    return packet_data(step.services, step.run.plan, packet)


def reviewing_model(services: LoopServices, *others: str) -> str:
    """The model that reviews: another than those of others, where so many are configured."""
    registry = services.settings.registry()
    able = [name for name in registry.capabilities["reviewing"] if name in registry.endpoints]
    for taken in (others, others[:1]):
        found = next((name for name in able if name not in taken), None)
        if found is not None:
            return found
    return endpoint(services.settings, None)[0]


def _pressure(run: RunState, work: kinds.AttemptData) -> Pressure:
    gates = run.newest(kinds.GATED)
    results = kinds.gates(gates)["gates"] if gates is not None else ()
    window = work["window"] or 1
    return Pressure(
        utilisation_percent=min(100, _most_at_once(work) * 100 // window),
        steps=spent(run.events).steps,
        attempts=run.attempt,
        gate_warnings=tuple(kinds.gates(gates).get("warnings") or ()) if gates is not None else (),
        gates=tuple((str(each["name"]), str(each["status"])) for each in results),
    )


def _most_at_once(work: kinds.AttemptData) -> int:
    """How many tokens stood in the developer's window: its prompt, or a step of what it read.

    Agents that do not tell their steps are taken to have read all at once, which is the most.
    """
    usage = work["usage"]
    return max(work["tokens"], usage["input_tokens"] // max(1, usage.get("steps", 0)))


def earlier(run: RunState) -> str:
    """What reviewers said of the task before, and what of it is open."""
    rejections = run.rejections()
    if not rejections:
        return ""
    lines = ["", "Earlier reviews of this task said:", ""]
    for place, checked in enumerate(rejections, 1):
        kind = checked["rejection_type"] or checked["outcome"]
        feedback = checked.get("feedback", "").strip() or "nothing"
        lines.append(f"{place}. {kind}: " + feedback.replace("\n", "\n   "))
    findings = run.open_findings()
    if findings:
        lines += ["", "These findings were open; say of each whether it is mended:", ""]
        lines += [f"- {each.get('unit') or each['sop_id']}: {each['message']}" for each in findings]
    return "\n".join([*lines, ""])


# The review


@dataclass(frozen=True, slots=True)
class _Papers:
    """What a reviewer was given and answered for one opinion: the newest answer to each packet."""

    opinion: Opinion
    packets: Sequence[Data]
    answers: Sequence[Data]
    tree: str

    @property
    def agent(self) -> str:
        """Who answered."""
        return str(self.answers[0]["agent"])


def review(step: StepRun) -> Result | Pending:
    """Ask a reviewer with exactly the packet; each call is a step, each packet is asked for.

    Where the base asks for two opinions, the second is asked for once the first approves.
    """
    context = step.run.newest(kinds.ASSEMBLED)
    if context is None or not context.data.get("packets"):
        return Erred("there is no packet to review.")
    begun, given = len(step.run.of(REVIEW)), list[_Papers]()
    for opinion in Opinion:
        if not packets_of(context.data, opinion):
            break
        if len(step.run.of(REVIEW)) > begun:
            return Pending(StepKind.CONTINUED, "a second opinion is asked for")
        papers = _opinion(step, context, opinion, given)
        if not isinstance(papers, _Papers):
            return papers
        given.append(papers)
        step = replace(step, run=step.services.run(step.run.id))
        judgement = _judged(step, given)
        asks = 1 + len(reasked_in(step, opinion))
        if judgement.outcome is Ruling.INVALID and asks <= step.services.settings.engine.reask:
            note_reasked(step, opinion, asks, judgement.problems)
            return Pending(StepKind.CONTINUED, "the reviewer is asked again")
        if {each.code for each in judgement.problems} != {"no_second_opinion"}:
            break
    return Succeeded(_output(given, judgement))


def packets_of(context: Data, opinion: Opinion) -> Sequence[Data]:
    """The packets of an opinion; none where it is not asked for."""
    packets: Sequence[Data] = context.get(_PACKETS[opinion]) or ()
    return packets


_PACKETS = {Opinion.REVIEW: "packets", Opinion.REFUTE: "second"}
_MODELS = {Opinion.REVIEW: "model", Opinion.REFUTE: "second_model"}


def _opinion(
    step: StepRun, context: Event, opinion: Opinion, given: Sequence[_Papers]
) -> _Papers | Result | Pending:
    """What a reviewer says to the packets of an opinion; or what comes before that is known."""
    packets = packets_of(context.data, opinion)
    asks = 1 + len(reasked_in(step, opinion))
    answers = [step.noted(f"{opinion}-{place}-{asks}") for place in range(len(packets))]
    if None in answers:
        worker = _reviewer(step, context, opinion, given)
        if worker is None:
            # Nobody is left to ask: that is told with what was missed when the review is checked.
            return Succeeded(_NO_REVIEW)
        if isinstance(worker, Pending | Erred):
            return worker
        place = answers.index(None)
        unanswered = _ask(step, worker, context.data, opinion, place)
        last = place == len(packets) - 1
        if unanswered is not None or not last:
            said = f"pass {place + 1} of {len(packets)} is reviewed"
            return unanswered or Pending(StepKind.CONTINUED, said)
        run = step.services.run(step.run.id)
        return _opinion(replace(step, run=run), context, opinion, given)
    known = [each for each in answers if each is not None]
    papers = _Papers(opinion, packets, known, str(context.data["tree"]))
    _keep_answers(step, papers, asks)
    failed = next((each["error"] for each in known if each.get("error")), None)
    return Erred(str(failed)) if failed else papers


def _reviewer(
    step: StepRun, context: Event, opinion: Opinion, given: Sequence[_Papers]
) -> Agent | Pending | Erred | None:
    """Who is asked for an opinion, tried before where the change has something planted."""
    reviewers = step.services.staff.reviewers(step.run.agent)
    if not reviewers:
        return Erred("no agent is configured for the role reviewer: name one with --agent.")
    tried = tried_since(step.run.events, context.seq)
    missed = {each["agent"] for each in tried if not each["found"]}
    taken = {papers.agent for papers in given} if len(reviewers) > 1 else set()
    worker = next((each for each in reviewers if each.name not in missed | taken), None)
    planted = planted_since(step.run.events, context.seq).get(opinion)
    if worker is None or planted is None or worker.name in {each["agent"] for each in tried}:
        return worker
    return try_reviewer(step, worker, opinion, planted, context.data)


def _ask(
    step: StepRun, worker: Agent, context: Data, opinion: Opinion, place: int
) -> Pending | None:
    """Ask a reviewer about one packet and note the answer; why there is none, if so."""
    run, packet = step.run, packets_of(context, opinion)[place]
    reasked = reasked_in(step, opinion)
    ask = 1 + len(reasked)
    inputs = step.services.task_folder(run) / "artifacts" / "inputs"
    call = ReviewerCall(
        worker,
        f"{opinion}-{place}-{ask}",
        str(context["head"]),
        str(context[_MODELS[opinion]]),
        kept_prompt(inputs / f"{packet['prompt_sha256']}.md", packet),
        packet["asked"],
        reasked[-1]["problems"] if reasked else (),
    )
    answer = call_reviewer(step, call)
    if answer.retry_after is not None:
        return wait(step, answer)
    data = {
        "agent": worker.name,
        "prompt_sha256": packet["prompt_sha256"],
        "receipt_sha256": packet["receipt_sha256"],
        "tokens": packet["tokens"],
        "window": packet["window"],
        "usage": asdict(answer.usage),
        "task": run.task,
        "tree": context["tree"],
        "ask": ask,
        "packet": place,
        "answer": answer.text,
        "error": answer.error or answer.escalation,
        "exit_code": answer.exit_code,
        "log": answer.log,
        "model": call.model,
        **({} if opinion is Opinion.REVIEW else {"opinion": opinion}),
    }
    step.note(REVIEW, f"{opinion}-{place}-{ask}", data, by=agent(worker.name))
    return None


def _keep_answers(step: StepRun, papers: _Papers, asks: int) -> None:
    """Keep for people what reviewers answered; from what is noted, so that a kill loses nothing."""
    role = "reviewer" if papers.opinion is Opinion.REVIEW else "refuter"
    for place, answer in enumerate(papers.answers):
        name = f"{step.place}-{role}-{place}-{asks}.json"
        step.services.keep(step.run, "outputs", name, str(answer["answer"]))


def _judged(step: StepRun, given: Sequence[_Papers], confidence: float = 0.0) -> Judgement:
    """What follows from the reviews and the gates; everything else is recomputed from git."""
    gates = step.run.newest(kinds.GATED)
    return check_reviews(
        step.services.root,
        _printed(given),
        _receipts(step.services, given),
        report_of(gates.data) if gates is not None else None,
        today=date.fromisoformat(step.services.clock()[:10]),
        bound=True,
        chained=True,
        confidence=confidence,
    )


def _printed(given: Sequence[_Papers]) -> list[PrintedReview]:
    return [
        PrintedReview(
            review_name(each["agent"], papers.opinion, place), str(each["answer"]).encode()
        )
        for papers in given
        for place, each in enumerate(papers.answers, 1)
    ]


def _receipts(services: LoopServices, given: Sequence[_Papers]) -> list[dict[str, object]]:
    return [kept_receipt(services, packet) for papers in given for packet in papers.packets]


_NO_REVIEW: Mapping[str, Json] = {
    "verdict": "",
    "rejection_type": None,
    "sop_review": [],
    "confidence": 0.0,
    "feedback": "",
    "patterns": [],
}


def _output(given: Sequence[_Papers], judgement: Judgement) -> dict[str, Json]:
    """The review as the workflow sees it; the verdict is the derived one."""
    reviews = [read_review(printed.data).review for printed in _printed(given)]
    found = [each for each in reviews if each is not None]
    verdict = judgement.outcome.value if judgement.outcome in _DECIDED else _common_verdict(found)
    kind = judgement.rejection_type or next((e.rejection_type for e in found), None)
    return {
        "verdict": verdict,
        "rejection_type": None if kind is None else kind.value,
        "sop_review": [
            {"sop_id": entry.sop_id, "status": entry.status.value, "evidence": entry.evidence}
            for each in found
            for entry in each.entries
        ],
        "confidence": min((each.confidence or 0.0 for each in found), default=0.0),
        "feedback": judgement.feedback,
        "patterns": [asdict(each) for each in judgement.patterns],
    }


_DECIDED = frozenset({Ruling.APPROVED, Ruling.REJECTED})


def _common_verdict(reviews: Sequence[object]) -> str:
    """What reviewers said where nothing follows from it; nothing if it cannot be read."""
    verdicts = {str(getattr(each, "verdict", "")) for each in reviews}
    return next(iter(verdicts)) if len(verdicts) == 1 else ""


# The check


def validate(step: StepRun) -> Result:
    """Whether the review is accepted: the outcome is derived, and kept as a record."""
    run = step.run
    context = run.newest(kinds.ASSEMBLED)
    if context is None:
        return Erred("there is no review to check.")
    given = _given(run, context)
    tried = tried_since(run.events, context.seq)
    if not given and all(each["found"] for each in tried):
        return Erred("there is no review to check.")
    data = step.noted("checked")
    if data is None:
        facts = _checked(step, given) if given else _nobody_left(tried)
        data = step.note(kinds.CHECKED, "checked", {**facts, **_with_lost(facts, tried)})
    if data["outcome"] in {Ruling.APPROVED, Ruling.REJECTED}:
        return Succeeded({"reason": "", "details": []})
    details = list(data["problems"])
    said = [each["message"] for each in details] or list(data.get("explanation") or ())
    return Refused({"reason": "; ".join(said) or str(data["outcome"]), "details": details})


def _given(run: RunState, context: Event) -> list[_Papers]:
    """The newest answers to the packets of each opinion, as they were asked for since."""
    found = []
    for opinion in Opinion:
        events = [
            event.data
            for event in run.of(REVIEW)
            if event.seq > context.seq and event.data.get("opinion", Opinion.REVIEW) == opinion
        ]
        if events:
            ask = events[-1]["ask"]
            newest = {each["packet"]: each for each in events if each["ask"] == ask}
            answers = [newest[place] for place in sorted(newest)]
            packets = packets_of(context.data, opinion)
            found.append(_Papers(opinion, packets, answers, str(context.data["tree"])))
    return found


def _nobody_left(tried: Sequence[kinds.CanaryData]) -> dict[str, object]:
    """What is known of a change that nobody is left to review: a person has to."""
    return {
        "outcome": Ruling.ESCALATE,
        "rejection_type": None,
        "route": Route.HUMAN,
        "tree": tried[-1]["tree"],
        "problems": [],
        "findings": [],
        "explanation": ["nobody is left to review the change"],
        "feedback": "",
        "record": tried[-1]["record"],
        "record_sha256": tried[-1]["record_sha256"],
        "warnings": [],
    }


def _with_lost(facts: Mapping[str, Any], tried: Sequence[kinds.CanaryData]) -> dict[str, object]:
    """What is told of reviewers who are not believed; for a person also as problems."""
    missed = lost(tried)
    names = ", ".join(dict.fromkeys(each["agent"] for each in tried if not each["found"]))
    if not missed:
        return {}
    said = [*facts["explanation"], f"{names} missed what was planted, and is not believed here"]
    decided = facts["outcome"] in {Ruling.APPROVED, Ruling.REJECTED}
    problems = facts["problems"] if decided else [*facts["problems"], *missed]
    return {"explanation": said, "problems": problems}


def _checked(step: StepRun, given: Sequence[_Papers]) -> dict[str, object]:
    services, run = step.services, step.run
    judgement = _judged(step, given, confidence_asked(step))
    gates = run.newest(kinds.GATED)
    judged = JudgedReview(
        judgement,
        _printed(given),
        _receipts(services, given),
        report_of(gates.data) if gates is not None else None,
    )
    number = len(run.of(kinds.CHECKED, kinds.CANARY)) + 1
    at = datetime.fromisoformat(services.clock())
    occasion = Occasion(at, run.id, f"plan.{run.plan}", run.task, number)
    path = record_review(services.places, judged, occasion)
    services.exchange.put(run.plan, path)
    return _facts(judgement, given, path)


def _facts(judgement: Judgement, given: Sequence[_Papers], path: Path) -> dict[str, object]:
    read = [read_review(printed.data).review for printed in _printed(given)]
    found = [each for each in read if each is not None]
    kind = judgement.rejection_type or next((each.rejection_type for each in found), None)
    return {
        "verdict": _common_verdict(found),
        "outcome": judgement.outcome,
        "rejection_type": kind,
        "route": judgement.route,
        "tree": given[0].tree,
        "problems": [asdict(each) for each in judgement.problems],
        "findings": [asdict(each) for each in judgement.findings],
        "explanation": list(judgement.explanation),
        "feedback": judgement.feedback,
        "record": f"review.{path.stem}",
        "record_sha256": json.loads(path.read_bytes())[RECORD],
        "warnings": [asdict(each) for each in judgement.warnings],
    }
