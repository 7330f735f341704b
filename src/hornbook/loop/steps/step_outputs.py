"""What the steps of a run left behind, for the steps after them: told from the run's events."""

from collections.abc import Callable, Iterator

from hornbook.context.step_parts import StepOutput
from hornbook.loop.runs.state import RunState, gate_feedback
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.run_kinds import DEVELOP


def step_outputs(
    run: RunState, filtered: Callable[[str], str], *, blind: bool
) -> tuple[StepOutput, ...]:
    """What each step of a run left, oldest first; `filtered` takes out what may not be read.

    Who is `blind` is not told by which rules a reviewer judged.
    """
    return tuple(_outputs(run, filtered, blind=blind))


def _outputs(run: RunState, filtered: Callable[[str], str], *, blind: bool) -> Iterator[StepOutput]:
    attempts = 0
    files: tuple[str, ...] = ()
    for event in run.of(DEVELOP, kinds.GATED, kinds.CHECKED):
        if event.kind == DEVELOP:
            attempts, files = attempts + 1, tuple(kinds.attempt(event)["files"])
        status, whole = _told(event, blind=blind)
        said = filtered(whole).strip()
        name = {DEVELOP: "developer", kinds.GATED: "gates"}.get(event.kind, "reviewer")
        line = next((each.strip() for each in said.splitlines() if each.strip()), "")
        yield StepOutput(f"{name} {attempts}", status, files, line, said)


def _told(event: Event, *, blind: bool) -> tuple[str, str]:
    """How a step ended, and all that it wrote."""
    if event.kind == DEVELOP:
        data = kinds.attempt(event)
        error = event.data.get("error") or event.data.get("escalation")
        return ("failed", str(error)) if error else ("done", str(data["result"]))
    if event.kind == kinds.GATED:
        report = kinds.gates(event)
        lines = [f"{each['name']} {each['status']}" for each in report["gates"]]
        if report["passed"]:
            return "passed", "; ".join(lines)
        return "failed", "\n\n".join(filter(None, (gate_feedback(report), "; ".join(lines))))
    checked = kinds.checked(event)
    status = ", ".join(filter(None, (checked["outcome"], checked["rejection_type"])))
    whole = checked.get("feedback", "")
    if not blind:
        found = [
            f"- {each.get('unit') or each['sop_id']}: {each['status']}: {each['message']}"
            for each in checked["findings"]
        ]
        whole = "\n\n".join(filter(None, (whole, "\n".join(found))))
    return status, whole
