"""The reviewer's steps: the packet, whole or refused; the review; and what follows from it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from hashlib import sha256
from pathlib import Path

from hornbook.agents.assignment import Role
from hornbook.agents.review_assignment import review_assignment
from hornbook.context.budget import endpoint
from hornbook.context.prompt import Outcome, Pressure
from hornbook.context.receipt import receipt
from hornbook.context.review_packet import Contexts, Packet
from hornbook.errors import UsageError
from hornbook.graph.commit_graph import graph_at
from hornbook.located import Json
from hornbook.loop.protocol import StepKind
from hornbook.loop.runs.state import RunState
from hornbook.loop.steps.develop import limits_of, telling, wait
from hornbook.loop.steps.gates import report_of
from hornbook.loop.steps.services import HandedOver, LoopServices, Pending, StepRun
from hornbook.loop.workflow.interpreter import Erred, Refused, Result, Succeeded
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data
from hornbook.plans.files import write_if_changed
from hornbook.plans.run_kinds import DEVELOP, REVIEW
from hornbook.plans.run_records import spent
from hornbook.review.check import check_reviews
from hornbook.review.judgement import Judgement, Ruling
from hornbook.review.printed_review import PrintedReview, read_review
from hornbook.review.review_record import JudgedReview, Occasion, record_review
from hornbook.rules.own_files.records import RECORD

OVERFLOW = frozenset({Outcome.TOO_BIG})


# The packet


def assemble(step: StepRun) -> Result | HandedOver:
    """The reviewer's packet for exactly the tree that the gates passed, whole or refused."""
    work = step.run.newest(DEVELOP)
    if work is None:
        return Erred("there is nothing to review: no developer has worked yet.")
    data = step.noted("context") or _assembled(step, kinds.attempt(work))
    if data["outcome"] in OVERFLOW:
        return HandedOver(
            "task-decomposition", "The change does not fit: " + " ".join(data["reasons"])
        )
    if not data["packets"]:
        return Erred(f"{data['outcome']}: " + " ".join(data["reasons"]))
    where = "in the packet of the review, whole"
    return Succeeded({"sops": where, "sop_ids": list(data["sop_ids"]), "conventions": where})


def _assembled(step: StepRun, work: kinds.AttemptData) -> Data:
    services, run = step.services, step.run
    model = reviewing_model(services, work.get("model") or "")
    contexts = Contexts(
        services.root,
        graph_at(services.root, work["base"]),
        _pressure(run, work),
        services.book.brief(run.plan, run.task),
        earlier=earlier(run),
    )
    packet = contexts.for_change(f"{work['base']}..{work['commit']}", model)
    packets = packet.parts()
    whole = all(each.context.text is not None for each in packets)
    kept = [_keep(step, each) for each in packets] if whole else []
    return step.note(
        kinds.ASSEMBLED,
        "context",
        {
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
            "packets": kept,
            "model": model,
        },
    )


def _keep(step: StepRun, packet: Packet) -> dict[str, object]:
    """Keep a packet's prompt and receipt; what an event says of them."""
    context, text = packet.context, packet.context.text or ""
    facts = receipt(context, packet.made_for)
    name = str(facts["receipt_sha256"])
    step.services.keep(step.run, "inputs", f"{context.sha256}.md", text)
    record = step.services.places.records / "receipts" / f"{name[:16]}.json"
    write_if_changed(record, json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    return {
        "prompt_sha256": context.sha256,
        "receipt_sha256": name,
        "sop_ids": list(context.sop_ids),
        "asked": list(context.answer_ids),
        "tokens": context.tokens,
        "window": context.window,
    }


def reviewing_model(services: LoopServices, developer: str) -> str:
    """The model that reviews: another than the developer's, where two are configured."""
    registry = services.settings.registry()
    able = [name for name in registry.capabilities["reviewing"] if name in registry.endpoints]
    return next((name for name in able if name != developer), endpoint(services.settings, None)[0])


def _pressure(run: RunState, work: kinds.AttemptData) -> Pressure:
    gates = run.newest(kinds.GATED)
    window = work["window"] or 1
    return Pressure(
        utilisation_percent=work["tokens"] * 100 // window,
        steps=spent(run.events).steps,
        attempts=run.attempt,
        gate_warnings=tuple(kinds.gates(gates).get("warnings") or ()) if gates is not None else (),
    )


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
    """What reviewers were given and answered: the newest answer to each packet."""

    packets: Sequence[Data]
    answers: Sequence[Data]
    tree: str


def review(step: StepRun) -> Result | Pending:
    """Ask a reviewer with exactly the packet; each call is a step, each packet is asked for."""
    context = step.run.newest(kinds.ASSEMBLED)
    if context is None or not context.data.get("packets"):
        return Erred("there is no packet to review.")
    packets = context.data["packets"]
    asks = 1 + len(_reasked(step))
    for place in range(len(packets)):
        if step.noted(f"review-{place}-{asks}") is None:
            unanswered = _ask(step, context.data, place, asks)
            if unanswered is not None:
                return unanswered
            if place < len(packets) - 1:
                return Pending(
                    StepKind.CONTINUED, f"pass {place + 1} of {len(packets)} is reviewed"
                )
            step = replace(step, run=step.services.run(step.run.id))
    papers = _papers(step, context.data, asks)
    _keep_answers(step, papers, asks)
    failed = next((each["error"] for each in papers.answers if each.get("error")), None)
    if failed:
        return Erred(str(failed))
    judgement = _judged(step, papers)
    if judgement.outcome is Ruling.INVALID and asks <= step.services.settings.engine.reask:
        problems = [asdict(each) for each in judgement.problems]
        step.note(kinds.REASKED, f"reask-{asks}", {"ask": asks, "problems": problems})
        return Pending(StepKind.CONTINUED, "the reviewer is asked again")
    return Succeeded(_output(papers, judgement))


def _reasked(step: StepRun) -> list[Data]:
    place = (step.run.round, step.number)
    return [
        event.data
        for event in step.run.of(kinds.REASKED)
        if (event.data["round"], event.data["number"]) == place
    ]


def _ask(step: StepRun, context: Data, place: int, ask: int) -> Pending | Erred | None:
    """Ask a reviewer about one packet and note the answer; why there is none, if so."""
    services, run = step.services, step.run
    worker = services.staff.worker(Role.REVIEWER, run.agent)
    if worker is None:
        return Erred("no agent is configured for the role reviewer: name one with --agent.")
    packet = context["packets"][place]
    folder = services.worktrees.ensure(run.plan, str(run.task), str(context["head"]))
    reasked = _reasked(step)
    assignment = review_assignment(
        key=run.key(step.number, f"review-{place}-{ask}"),
        task_id=str(run.task),
        attempt=run.attempt,
        folder=folder,
        prompt=_prompt(step, packet),
        asked=packet["asked"],
        model=str(context["model"]),
        limits=limits_of(step),
        problems=reasked[-1]["problems"] if reasked else (),
    )
    answer = worker.work(assignment, telling(step))
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
        "model": assignment.model,
    }
    step.note(REVIEW, f"review-{place}-{ask}", data, actor=worker.name)
    return None


def _prompt(step: StepRun, packet: Data) -> str:
    """The text of a packet, as it was assembled.

    Raises:
        UsageError: It is not there any more, or is another one.
    """
    wanted = packet["prompt_sha256"]
    path = step.services.task_folder(step.run) / "artifacts" / "inputs" / f"{wanted}.md"
    if not path.is_file():
        raise UsageError(f"{path}: the packet of the review is gone: answer, to begin anew.")
    data = path.read_bytes()
    if sha256(data).hexdigest() != wanted:
        raise UsageError(f"{path}: the packet of the review was edited: answer, to begin anew.")
    return data.decode()


def _papers(step: StepRun, context: Data, asks: int) -> _Papers:
    packets = context["packets"]
    known = [step.noted(f"review-{place}-{asks}") for place in range(len(packets))]
    return _Papers(packets, [each for each in known if each is not None], str(context["tree"]))


def _keep_answers(step: StepRun, papers: _Papers, asks: int) -> None:
    """Keep for people what reviewers answered; from what is noted, so that a kill loses nothing."""
    for place, answer in enumerate(papers.answers):
        name = f"{step.place}-reviewer-{place}-{asks}.json"
        step.services.keep(step.run, "outputs", name, str(answer["answer"]))


def _judged(step: StepRun, papers: _Papers) -> Judgement:
    """What follows from the reviews and the gates; everything else is recomputed from git."""
    gates = step.run.newest(kinds.GATED)
    return check_reviews(
        step.services.root,
        _printed(papers),
        [_receipt(step.services, packet) for packet in papers.packets],
        report_of(gates.data) if gates is not None else None,
        today=date.fromisoformat(step.services.clock()[:10]),
        bound=True,
        chained=True,
    )


def _printed(papers: _Papers) -> list[PrintedReview]:
    return [
        PrintedReview(f"{each['agent']}-{place}", str(each["answer"]).encode())
        for place, each in enumerate(papers.answers, 1)
    ]


def _receipt(services: LoopServices, packet: Data) -> dict[str, object]:
    """The receipt of a packet, as its event has it.

    Raises:
        UsageError: The record is another one.
    """
    path = services.places.records / "receipts" / f"{str(packet['receipt_sha256'])[:16]}.json"
    facts: dict[str, object] = json.loads(path.read_bytes())
    if facts.get("receipt_sha256") != packet["receipt_sha256"]:
        raise UsageError(f"{path}: it is not the receipt of the packet: answer, to begin anew.")
    return facts


def _output(papers: _Papers, judgement: Judgement) -> dict[str, Json]:
    """The review as the workflow sees it; the verdict is the derived one."""
    reviews = [read_review(printed.data).review for printed in _printed(papers)]
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
    answered = run.newest(REVIEW)
    if context is None or answered is None:
        return Erred("there is no review to check.")
    data = step.noted("checked") or _checked(step, context.data, answered.data)
    if data["outcome"] in {Ruling.APPROVED, Ruling.REJECTED}:
        return Succeeded({"reason": "", "details": []})
    details = list(data["problems"])
    said = [each["message"] for each in details] or list(data.get("explanation") or ())
    return Refused({"reason": "; ".join(said) or str(data["outcome"]), "details": details})


def _checked(step: StepRun, context: Data, answered: Data) -> Data:
    services, run = step.services, step.run
    newest = {
        event.data["packet"]: event.data
        for event in run.of(REVIEW)
        if (event.data["round"], event.data["number"]) == (answered["round"], answered["number"])
        and event.data["ask"] == answered["ask"]
    }
    papers = _Papers(context["packets"], [newest[p] for p in sorted(newest)], context["tree"])
    judgement = _judged(step, papers)
    gates = run.newest(kinds.GATED)
    judged = JudgedReview(
        judgement,
        _printed(papers),
        [_receipt(services, packet) for packet in papers.packets],
        report_of(gates.data) if gates is not None else None,
    )
    number = len(run.of(kinds.CHECKED)) + 1
    at = datetime.fromisoformat(services.clock())
    occasion = Occasion(at, run.id, f"plan.{run.plan}", run.task, number)
    path = record_review(services.places, judged, occasion)
    return step.note(kinds.CHECKED, "checked", _facts(judgement, papers.tree, path))


def _facts(judgement: Judgement, tree: str, path: Path) -> dict[str, object]:
    return {
        "outcome": judgement.outcome,
        "rejection_type": judgement.rejection_type,
        "route": judgement.route,
        "tree": tree,
        "problems": [asdict(each) for each in judgement.problems],
        "findings": [asdict(each) for each in judgement.findings],
        "explanation": list(judgement.explanation),
        "feedback": judgement.feedback,
        "record": f"review.{path.stem}",
        "record_sha256": json.loads(path.read_bytes())[RECORD],
        "warnings": [asdict(each) for each in judgement.warnings],
    }
