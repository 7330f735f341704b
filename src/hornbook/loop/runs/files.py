"""What people find on disk about a task: projections of its runs' events."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hornbook.loop.runs.state import RunState
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event, canonical
from hornbook.plans.files import write_if_changed
from hornbook.plans.run_kinds import DEVELOP, REVIEW
from hornbook.plans.run_records import spent

MEMORY = 5
RECENT = 3


def write_task_files(folder: Path, states: Sequence[RunState]) -> None:
    """Bring `state.yaml`, `actions.jsonl` and `working_memory.yaml` of a task up to date.

    `states` are the runs about the task, oldest first.
    """
    if not states:
        return
    actions = [line for state in states for line in actions_of(state)]
    write_if_changed(folder / "state.yaml", _yaml(state_facts(states[-1])))
    write_if_changed(
        folder / "actions.jsonl", "".join(canonical(action) + "\n" for action in actions)
    )
    write_if_changed(folder / "working_memory.yaml", _yaml(memory_facts(states[-1], actions)))


def state_facts(state: RunState) -> dict[str, object]:
    """How the newest run of a task stands."""
    cost = spent(state.events)
    gates = state.newest(kinds.GATED)
    review = state.newest(kinds.CHECKED)
    work = state.newest(DEVELOP)
    approved = state.newest(kinds.APPROVED)
    newest = approved or work
    passed = gates is not None and gates.data["passed"]
    return {
        "task": state.task,
        "run": state.id,
        "workflow": state.workflow,
        "status": state.status,
        "next_step": state.step or None,
        "round": state.round,
        "attempt": state.attempt,
        "verification": {
            "gates_passed": passed if gates is not None else None,
            "tree": gates.data["tree"] if gates is not None else None,
            "review": review.data["outcome"] if review is not None else None,
            "ready_for_completion": approved is not None,
        },
        "commit": newest.data["commit"] if newest is not None else None,
        "spent": {
            "steps": cost.steps,
            "tokens": cost.tokens,
            "seconds": round(cost.seconds, 3),
            "cost": cost.cost,
        },
        "feedback": state.feedback() or None,
        "updated_at": state.events[-1].at,
    }


def actions_of(state: RunState) -> Iterator[dict[str, object]]:
    """Every step of a run that was done, as one line each."""
    for event in state.of(kinds.STEP_FINISHED):
        data = kinds.step_result(event)
        yield {
            "run": state.id,
            "round": data["round"],
            "step": data["number"],
            "action": data["step"],
            "target": data["subject"],
            "result": data["result"],
            "summary": _summary(event, state),
            "error": data.get("error"),
            "at": event.at,
        }


def memory_facts(state: RunState, actions: Sequence[dict[str, object]]) -> dict[str, object]:
    """The little that the next attempt should know: the last actions, and what is open."""
    items: list[dict[str, object]] = [
        {"kind": "action", **{k: each[k] for k in ("step", "action", "result", "summary")}}
        for each in actions[-RECENT:]
    ]
    if state.feedback():
        items.append({"kind": "feedback", "pinned": True, "text": state.feedback()})
    findings = [f"{each['sop_id']}: {each['message']}" for each in state.open_findings()]
    if findings:
        items.append({"kind": "findings", "pinned": True, "text": "\n".join(findings)})
    return {"most_items": MEMORY, "items": items}


def _summary(event: Event, state: RunState) -> str:
    number = event.data["number"]
    facts = [
        each
        for each in state.events
        if (each.data.get("round"), each.data.get("number")) == (event.data["round"], number)
    ]
    return next((said for said in map(told, reversed(facts)) if said), "")


def told(event: Event) -> str:
    """What an event says, in a line; empty for one that says nothing by itself."""
    data = event.data
    if event.kind == DEVELOP:
        files = ", ".join(data["files"]) or "nothing"
        return f"{data['agent']}, attempt {data['attempt']}: changed {files}" + _failed(data)
    if event.kind == REVIEW:
        return f"{data['agent']} reviewed tree {data['tree'][:12]}" + _failed(data)
    if event.kind == kinds.GATED:
        stopped = [
            gate["name"]
            for gate in data["gates"]
            if gate["required"] and gate["status"] in {"failed", "refused", "skipped"}
        ]
        said = f"failed: {', '.join(stopped)}" if stopped else "all required gates passed"
        return f"{said} on tree {data['tree'][:12]}{_confined(data)}"
    if event.kind == kinds.ASSEMBLED:
        return f"{data['role']}'s context {data['outcome']}: {data['tokens']} of {data['window']}"
    if event.kind == kinds.SIGHTED:
        return _sighted(data)
    if event.kind == kinds.CHECKPOINTED:
        return f"{data['path']} anchors event {data['seq']}"
    if event.kind == kinds.CHECKED:
        kind = f" ({data['rejection_type']})" if data["rejection_type"] else ""
        return f"review {data['outcome']}{kind}"
    return _of_agent(data["told"]) if event.kind == kinds.TOLD else ""


def _of_agent(said: Data) -> str:
    """What an agent told while it worked, in a line."""
    if "summary" in said:
        named = " ".join(str(said.get(key) or "") for key in ("action", "target")).strip()
        return f"step {said['step']}, {named}: {said['summary']}"
    if said.get("action") == "answer":
        limit = f", cut at {said['output_limit']}" if said["cut"] else ""
        held = "held to the schema" if said["constrained"] else "not held to a schema"
        spent = f"{said['input_tokens']} tokens in, {said['output_tokens']} out{limit}"
        return "; ".join((f"{said['model']} answered: {spent}", held, *said["notes"]))
    if "reason" in said:
        return f"{said['ignored']} was left out: {said['reason']}"
    return " ".join(str(said[key]) for key in ("kind", "role", "note") if key in said)


def _confined(data: Data) -> str:
    means = data.get("confined_by")
    if means is None:
        return ", not confined"
    return ", confined by nothing on this machine" if means == "nothing" else f", {means}"


def _sighted(data: Data) -> str:
    if data["prompt"]:
        return f"not sent: the prompt quotes {', '.join(_rules(data['prompt']))}"
    if data["leaks"]:
        return f"files quote {', '.join(_rules(data['leaks']))}"
    return "the developer is blind"


def _rules(leaks: Sequence[Data]) -> list[str]:
    return sorted({each["rule"] for each in leaks})


def _failed(data: Data) -> str:
    error = data.get("error")
    return f"; failed: {error}" if error else ""


def _yaml(facts: dict[str, object]) -> str:
    import yaml  # noqa: PLC0415  # start-up: runs are listed without their files

    text: str = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=100)
    return text
