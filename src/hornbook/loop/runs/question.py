"""What a run asks a person, with the evidence at hand and the words that fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hornbook.loop.runs.state import RunState
from hornbook.loop.steps.answer import REASONED, AnswerAction, judged, meaning, offered
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data
from hornbook.plans.run_records import question_text


@dataclass(frozen=True, slots=True)
class FittingAnswer:
    """A word that fits: what it does, and whether it is told by a text, by a reason, or by both."""

    action: str
    meaning: str
    needs_text: bool
    needs_reason: bool


@dataclass(frozen=True, slots=True)
class FailedGate:
    """A gate that did not pass, with what it printed."""

    name: str
    status: str
    message: str
    output: str


@dataclass(frozen=True, slots=True)
class RunQuestion:
    """What a run asks; `seq` is the event that asks it, which no other question has."""

    run: str
    seq: int
    at: str
    text: str
    answers: tuple[FittingAnswer, ...]
    files: tuple[str, ...]
    commit: str
    base: str
    outcome: str
    verdict: str
    explanation: tuple[str, ...]
    problems: tuple[Mapping[str, object], ...]
    findings: tuple[kinds.FindingData, ...]
    gates: tuple[FailedGate, ...]
    record: str


def question_of(run: RunState) -> RunQuestion | None:
    """What a run asks; None if it asks nothing."""
    if not run.is_asking or run.asked is None:
        return None
    work, said = run.work(), judged(run)
    checked = None if said is None else said.checked
    return RunQuestion(
        run=run.id,
        seq=run.asked.seq,
        at=run.asked.at,
        text=question_text(run.asked),
        answers=tuple(_fitting(run, kinds.signal(run.asked)["payload"])),
        files=() if work is None else tuple(work["files"]),
        commit="" if work is None else work["commit"],
        base="" if work is None else work["base"],
        outcome="" if checked is None else checked["outcome"],
        verdict="" if checked is None else checked.get("verdict") or "",
        explanation=() if checked is None else tuple(checked.get("explanation") or ()),
        problems=() if checked is None else tuple(checked["problems"]),
        findings=() if checked is None else tuple(checked["findings"]),
        gates=tuple(_failed(_gated(run))),
        record=kinds.signal(run.asked)["record"],
    )


def _fitting(run: RunState, payload: Data) -> list[FittingAnswer]:
    wordless = {AnswerAction.ACCEPT, AnswerAction.STOP}
    return [
        FittingAnswer(each, meaning(run, each, payload), each not in wordless, each in REASONED)
        for each in offered(run)
    ]


def _gated(run: RunState) -> list[kinds.GateResultData]:
    """What the gates last said to the work, or before there is any to what it begins with."""
    gated, base = run.newest(kinds.GATED), run.newest(kinds.BASE_GATED)
    if gated is not None:
        return kinds.gates(gated)["gates"]
    return [] if base is None else kinds.base_gates(base)["gates"]


def _failed(results: Sequence[kinds.GateResultData]) -> list[FailedGate]:
    return [
        FailedGate(gate["name"], gate["status"], gate["message"], gate["output"])
        for gate in results
        if gate["status"] in {"failed", "refused"}
    ]
