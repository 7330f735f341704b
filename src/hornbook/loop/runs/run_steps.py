"""The steps of a run as its events tell them: who worked, when, and what came of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hornbook.gates.gate import GateResult, GateStatus
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.run_kinds import DEVELOP, PLAN, REVIEW

ROLES = {DEVELOP: "developer", REVIEW: "reviewer", PLAN: "planner"}


@dataclass(frozen=True, slots=True)
class RunStep:
    """One step of a run; `ended_at` and `result` are None while it goes on or was cut off.

    `tokens` are those that agents say they read and wrote, `receipts` the ids of what reviewers
    were handed, `review` the id of the record that was kept of their answer.
    """

    run: str
    step: str
    role: str
    round: int
    number: int
    attempt: int
    started_at: str
    ended_at: str | None = None
    result: str | None = None
    error: str | None = None
    tokens: int = 0
    receipts: tuple[str, ...] = ()
    gates: tuple[GateResult, ...] = ()
    review: str | None = None


def run_steps(events: Iterable[Event]) -> tuple[RunStep, ...]:
    """The steps that some events of one run tell of, in the order in which they were begun.

    A step that was begun again is told once, from its first beginning on.
    """
    found: dict[tuple[object, object], RunStep] = {}
    attempt = 1
    for event in events:
        place = (event.data.get("round"), event.data.get("number"))
        if event.kind == kinds.STEP_STARTED and place not in found:
            found[place] = _begun(event, attempt)
        if event.kind == DEVELOP:
            attempt = kinds.attempt(event)["attempt"]
        if place in found:
            found[place] = _with(found[place], event)
    return tuple(found.values())


def _begun(event: Event, attempt: int) -> RunStep:
    data = event.data
    return RunStep(
        run=str(data["run"]),
        step=str(data["step"]),
        role=ROLES.get(str(data["subject"]), str(data["step"])),
        round=int(data["round"]),
        number=int(data["number"]),
        attempt=attempt,
        started_at=event.at,
    )


def _with(step: RunStep, event: Event) -> RunStep:
    """The step with what an event at its place adds."""
    usage = event.data.get("usage")
    if isinstance(usage, Mapping):
        step = replace(step, tokens=step.tokens + usage["input_tokens"] + usage["output_tokens"])
    if event.kind == DEVELOP:
        return replace(step, attempt=kinds.attempt(event)["attempt"])
    if event.kind == REVIEW:
        receipt = f"receipt.{kinds.review_answer(event)['receipt_sha256'][:16]}"
        return replace(step, receipts=tuple(dict.fromkeys((*step.receipts, receipt))))
    if event.kind == kinds.GATED:
        return replace(step, gates=tuple(map(gate_result, kinds.gates(event)["gates"])))
    if event.kind == kinds.CHECKED:
        return replace(step, review=kinds.checked(event)["record"])
    if event.kind == kinds.STEP_FINISHED:
        done = kinds.step_result(event)
        return replace(step, ended_at=event.at, result=done["result"], error=done.get("error"))
    return step


def gate_result(told: Mapping[str, object]) -> GateResult:
    """A gate's result as an event or a record tells it; older ones tell less."""
    code, seconds, log = told.get("exit_code"), told.get("seconds"), told.get("log")
    failing = told.get("failing")
    return GateResult(
        name=str(told["name"]),
        required=told.get("required") is True,
        status=GateStatus(str(told["status"])),
        exit_code=code if isinstance(code, int) else None,
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        output=str(told.get("output") or ""),
        message=str(told.get("message") or ""),
        log=log if isinstance(log, str) else None,
        failing=tuple(map(str, failing)) if isinstance(failing, list | tuple) else (),
        known_red=told.get("known_red") is True,
    )
