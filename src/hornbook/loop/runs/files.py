"""What people find on disk about a task: projections of its runs' events."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hornbook.commits.change import ABSENT, Touched, touched
from hornbook.commits.content import SUBMODULE
from hornbook.commits.git import blob_sizes, blobs
from hornbook.disk import write_whole
from hornbook.errors import EventLogError, UsageError
from hornbook.loop.runs.state import HOLDS, RunState, advance_run, base_told, by_run, project_run
from hornbook.loop.workflow.definition import Workflow
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event, canonical
from hornbook.plans.files import write_if_changed, yaml_text
from hornbook.plans.log import LogMemory
from hornbook.plans.run_kinds import DEVELOP, REVIEW
from hornbook.plans.run_records import spent
from hornbook.plans.state import PlanState
from hornbook.plans.tasks import Ledger, ledger_after
from hornbook.plans.working_memory import action_item, text_item, working_memory

if TYPE_CHECKING:
    from hornbook.plans.run_costs import CostBook

RECENT = 3


def write_task_files(folder: Path, states: Sequence[RunState]) -> None:
    """Bring `state.yaml`, `actions.jsonl` and `working_memory.yaml` of a task up to date.

    `states` are the runs about the task, oldest first.
    """
    if not states:
        return
    actions = [line for state in states for line in actions_of(state)]
    write_if_changed(folder / "state.yaml", yaml_text(state_facts(states[-1])))
    write_if_changed(
        folder / "actions.jsonl", "".join(canonical(action) + "\n" for action in actions)
    )
    write_if_changed(folder / "working_memory.yaml", yaml_text(memory_facts(states[-1], actions)))


def state_facts(state: RunState) -> dict[str, object]:
    """How the newest run of a task stands."""
    newest = state.newest(kinds.APPROVED) or state.newest(DEVELOP)
    return {
        "task": state.task,
        "run": state.id,
        "workflow": state.workflow,
        "status": state.status,
        "next_step": state.step or None,
        "round": state.round,
        "attempt": state.attempt,
        "verification": _verification(state),
        "commit": newest.data["commit"] if newest is not None else None,
        "spent": spent(state.events).facts(),
        "feedback": state.feedback() or None,
        "updated_at": state.events[-1].at,
    }


def _verification(state: RunState) -> dict[str, object]:
    """What gates and reviewers said last."""
    gated, checked = state.newest(kinds.GATED), state.newest(kinds.CHECKED)
    return {
        "gates_passed": None if gated is None else kinds.gates(gated)["passed"],
        "tree": None if gated is None else kinds.gates(gated)["tree"],
        "review": None if checked is None else kinds.checked(checked)["outcome"],
        "ready_for_completion": state.newest(kinds.APPROVED) is not None,
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
    at = state.events[-1].at
    items = [
        action_item(
            each["step"],
            action=each["action"],
            result=each["result"],
            summary=each["summary"],
            at=each["at"],
        )
        for each in actions[-RECENT:]
    ]
    if state.feedback():
        items.append(text_item("feedback", state.feedback(), at=at))
    findings = [
        f"{each.get('unit') or each['sop_id']}: {each['message']}" for each in state.open_findings()
    ]
    if findings:
        items.append(text_item("findings", "\n".join(findings), at=at))
    return working_memory(items)


def _summary(event: Event, state: RunState) -> str:
    number = event.data["number"]
    facts = [
        each
        for each in state.events
        if (each.data.get("round"), each.data.get("number")) == (event.data["round"], number)
    ]
    return next((line for line in map(event_summary, reversed(facts)) if line), "")


def event_summary(event: Event) -> str:
    """What an event says, in a line; empty for one that says nothing by itself."""
    summarise = _SUMMARIES.get(event.kind)
    return "" if summarise is None else summarise(event)


def _attempt_summary(event: Event) -> str:
    work = kinds.attempt(event)
    files = ", ".join(work["files"]) or "nothing"
    failure = _failure(work.get("error"))
    return f"{work['agent']}, attempt {work['attempt']}: changed {files}{failure}"


def _review_summary(event: Event) -> str:
    answer = kinds.review_answer(event)
    return f"{answer['agent']} reviewed tree {answer['tree'][:12]}{_failure(answer.get('error'))}"


def _failure(error: str | None) -> str:
    return f"; failed: {error}" if error else ""


def _gates_summary(event: Event) -> str:
    report = kinds.gates(event)
    stopped = [
        gate["name"]
        for gate in report["gates"]
        if gate["required"] and gate["status"] in {"failed", "refused", "skipped"}
    ]
    result = f"failed: {', '.join(stopped)}" if stopped else "all required gates passed"
    return f"{result} on tree {report['tree'][:12]}{_confinement(report.get('confined_by'))}"


def _confinement(means: str | None) -> str:
    if means is None:
        return ", not confined"
    return ", confined by nothing on this machine" if means == "nothing" else f", {means}"


def _context_summary(event: Event) -> str:
    made = kinds.context(event)
    return f"{made['role']}'s context {made['outcome']}: {made['tokens']} of {made['window']}"


def _blindness_summary(event: Event) -> str:
    if event.data["prompt"]:
        return f"not sent: the prompt quotes {', '.join(_rules(event.data['prompt']))}"
    if event.data["leaks"]:
        return f"files quote {', '.join(_rules(event.data['leaks']))}"
    if event.data.get("network") in kinds.UNSEEN:
        return f"the developer is blind, but for its network ({event.data['network']})"
    return "the developer is blind"


def _rules(leaks: Sequence[Data]) -> list[str]:
    return sorted({each["rule"] for each in leaks})


def _checkpoint_summary(event: Event) -> str:
    return f"{event.data['path']} anchors event {event.data['seq']}"


def _check_summary(event: Event) -> str:
    checked = kinds.checked(event)
    kind = f" ({checked['rejection_type']})" if checked["rejection_type"] else ""
    return f"review {checked['outcome']}{kind}"


def _merged_summary(event: Event) -> str:
    merged = kinds.merged(event)
    place = f"on top of {merged['base'][:12]}, which came first"
    if merged["conflicts"]:
        return f"{place}: both change {', '.join(merged['conflicts'])}, so the developer goes on"
    held = {HOLDS: "its review holds, the gates are run again"}
    return f"{place}: {held.get(merged['review'], 'it is gated and reviewed again')}"


def _returned_summary(event: Event) -> str:
    return f"back to the developer: {str(event.data['reason']).splitlines()[0]}"


def _planted_summary(event: Event) -> str:
    if event.data["canary"] is None:
        return (
            f"nothing is planted: {event.data['eligible']} of {event.data['units']} rules would do"
        )
    return "a violation is planted for the reviewer to find"


def _canary_summary(event: Event) -> str:
    tried = kinds.canary(event)
    found = "found what was planted" if tried["found"] else "missed what was planted: not believed"
    return f"{tried['agent']} {found}"


def _agent_summary(event: Event) -> str:
    """What an agent reported while it worked."""
    report: Data = event.data["told"]
    if "summary" in report:
        named = " ".join(str(report.get(key) or "") for key in ("action", "target")).strip()
        return f"step {report['step']}, {named}: {report['summary']}"
    if report.get("action") == "answer":
        return _answer_summary(report)
    if "reason" in report:
        return f"{report['ignored']} was left out: {report['reason']}"
    return " ".join(str(report[key]) for key in ("kind", "role", "note") if key in report)


def _answer_summary(report: Data) -> str:
    """What a model's answer cost, and whether it was held to a schema."""
    limit = f", cut at {report['output_limit']}" if report["cut"] else ""
    schema = "held to the schema" if report["constrained"] else "not held to a schema"
    cost = f"{report['input_tokens']} tokens in, {report['output_tokens']} out{limit}"
    return "; ".join((f"{report['model']} answered: {cost}", schema, *report["notes"]))


_SUMMARIES: Mapping[str, Callable[[Event], str]] = {
    DEVELOP: _attempt_summary,
    REVIEW: _review_summary,
    kinds.GATED: _gates_summary,
    kinds.BASE_GATED: lambda event: base_told(kinds.base_gates(event)),
    kinds.ASSEMBLED: _context_summary,
    kinds.SIGHTED: _blindness_summary,
    kinds.CHECKPOINTED: _checkpoint_summary,
    kinds.CHECKED: _check_summary,
    kinds.MERGED: _merged_summary,
    kinds.RETURNED: _returned_summary,
    kinds.PLANTED: _planted_summary,
    kinds.CANARY: _canary_summary,
    kinds.TOLD: _agent_summary,
}


LARGEST = 1024 * 1024
"""Bytes above which the text of a file is not kept, only its name and its hash."""
MOST_FILES = 200
"""How many files of an attempt are kept; of the others the names are."""


@dataclass(frozen=True, slots=True)
class Side:
    """A file before or after an edit: git's mode and object; none where there was no file."""

    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class RecordedEdit:
    """One changed file."""

    path: str
    before: Side | None
    after: Side | None
    renamed_from: str | None = None


def write_snapshots(root: Path, folder: Path, states: Sequence[RunState]) -> None:
    """Bring a task's folder of snapshots up to date; `states` are the runs about the task.

    What lies there already is not written again; what is missing is, as far as git still has it.
    """
    for state in states:
        for place, start, event in _attempts(state):
            _write_attempt(root, folder / place, start, kinds.attempt(event)["commit"])
        for place, event in _steps(state):
            report = event.data["told"]
            edit = RecordedEdit(
                report["changed"], _side(report.get("before")), _side(report.get("after"))
            )
            here = folder / place / f"step-{report['step']:04}"
            if not (here / "edit.json").is_file():
                _write(root, {here: edit})


def _attempts(state: RunState) -> Iterator[tuple[str, str, Event]]:
    """Each attempt, the folder of its snapshots, and the commit that it went on from."""
    last: kinds.AttemptData | None = None
    calls: dict[str, int] = {}
    for work, event in state.works():
        before, last = last, work
        if event.kind != DEVELOP:
            continue
        start = work["base"]
        if before is not None and before["base"] == start:
            start = before["commit"]
        place = f"{state.id}-{work['round']}-{work['number']}"
        calls[place] = calls.get(place, 0) + 1
        more = "" if calls[place] == 1 else f"-{calls[place]}"
        yield f"{place}{more}", start, event


def _steps(state: RunState) -> Iterator[tuple[str, Event]]:
    """What an agent told of its own edits while it worked."""
    for event in state.of(kinds.TOLD):
        if event.data["told"].get("changed") and event.data["told"].get("after"):
            yield f"{state.id}-{event.data['round']}-{event.data['number']}", event


def _write_attempt(root: Path, place: Path, start: str, commit: str) -> None:
    listed = place / "edits.json"
    if listed.is_file():
        return
    try:
        files = touched(root, start, commit)
    except UsageError:
        return  # git has removed an attempt that nobody needs any more
    edits = [_edit_of(each) for each in files]
    folders = {place / f"{number:04}": edit for number, edit in enumerate(edits[:MOST_FILES], 1)}
    if not _write(root, folders):
        return
    facts = {
        "start": start,
        "commit": commit,
        "edits": len(edits),
        "left_out": [each.path for each in edits[MOST_FILES:]],
    }
    _put(listed, _json(facts))


def _edit_of(file: Touched) -> RecordedEdit:
    before = None if file.old_mode == ABSENT else Side(file.old_mode, file.old_blob)
    after = None if file.mode == ABSENT else Side(file.mode, file.blob)
    return RecordedEdit(file.path, before, after, file.before)


def _write(root: Path, edits: Mapping[Path, RecordedEdit]) -> bool:
    """Write the folder of each edit; False if git has not everything any more."""
    sides = [side for each in edits.values() for side in (each.before, each.after)]
    wanted = {side.blob for side in sides if side is not None and side.mode != SUBMODULE}
    try:
        sizes = blob_sizes(root, wanted)
        texts = blobs(root, sorted(name for name in wanted if sizes[name] <= LARGEST))
    except UsageError:
        return False
    for folder, edit in edits.items():
        _write_edit(folder, edit, texts, sizes)
    return True


def _write_edit(
    folder: Path, edit: RecordedEdit, texts: Mapping[str, bytes], sizes: Mapping[str, int]
) -> None:
    """Write both sides of an edit as far as they are kept, and then what it was."""
    for name, side in (("before", edit.before), ("after", edit.after)):
        if side is not None and side.blob in texts:
            _put(folder / name, texts[side.blob])
    facts = {
        "path": edit.path,
        "renamed_from": edit.renamed_from,
        "before": _facts(edit.before, sizes),
        "after": _facts(edit.after, sizes),
    }
    _put(folder / "edit.json", _json(facts))


def _facts(side: Side | None, sizes: Mapping[str, int]) -> dict[str, object] | None:
    if side is None:
        return None
    size = sizes.get(side.blob)
    kept = size is not None and size <= LARGEST
    return {"mode": side.mode, "object": side.blob, "bytes": size, "kept": kept}


def _side(blob: object) -> Side | None:
    return Side("100644", blob) if isinstance(blob, str) else None


def _json(facts: Mapping[str, object]) -> bytes:
    return (json.dumps(facts, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogatepass")


def _put(path: Path, data: bytes) -> None:
    write_whole(path, data, durable=False)


class Projections:
    """The plans, ledgers and runs of one loop, which several threads may ask for.

    `log` is handed to every event log that the loop opens: what one verified, no other does again.
    """

    def __init__(self) -> None:
        self.log = LogMemory()
        self.alive: set[tuple[str, int, int]] = set()
        """Steps that this process began and that wait for others: run, round and number."""
        self.founded: set[tuple[str, int]] = set()
        """Runs, each with its round, before whose work the gates said their word on the base."""
        self._workflows: Mapping[str, Workflow] = {}
        self._ledgers: dict[str, tuple[Event, Ledger]] = {}
        self._runs: dict[str, RunState] = {}
        self._lock = threading.RLock()

    @cached_property
    def costs(self) -> "CostBook":
        """What agents of all plans cost."""
        from hornbook.plans.run_costs import CostBook  # noqa: PLC0415  # only where it is limited

        return CostBook()

    def use(self, workflows: Mapping[str, Workflow]) -> None:
        """Project runs by these workflows; by others none stands where it stood."""
        with self._lock:
            if workflows != self._workflows:
                self._workflows = workflows
                self._runs.clear()

    def plan(self, plan: str, events: Sequence[Event]) -> PlanState | None:
        """A plan as its events leave it."""
        with self._lock:
            return self.log.state(plan, events)

    def ledger(self, plan: str, events: Sequence[Event]) -> Ledger:
        """How far a plan's tasks are."""
        with self._lock:
            state = self.plan(plan, events)
            last, ledger = self._ledgers.get(plan, (None, Ledger(plan)))
            if last is not None and not _has(events, last):
                last, ledger = None, Ledger(plan)
            fresh = events[last.seq :] if last is not None else events
            ledger = ledger_after(ledger, state.tasks if state is not None else (), fresh)
            if events:
                self._ledgers[plan] = (events[-1], ledger)
            return ledger

    def run(self, events: Sequence[Event], run_id: str) -> RunState | None:
        """A run as its plan's events leave it; None if it was never begun.

        Raises:
            EventLogError: Its workflow is not there any more, or is another one by now.
        """
        with self._lock:
            before = self._runs.get(run_id)
            if before is None or not _has(events, before.events[-1]):
                found = project_run(events, run_id, self._workflows)
            else:
                found = self._advanced(before, events)
            if found is not None:
                self._runs[run_id] = found
            return found

    def runs(self, events: Sequence[Event]) -> list[RunState]:
        """All runs in a plan's log, oldest first.

        Raises:
            EventLogError: As `run` does.
        """
        found = (self.run(events, run_id) for run_id in by_run(events))
        return [state for state in found if state is not None]

    def _advanced(self, before: RunState, events: Sequence[Event]) -> RunState | None:
        behind = events[before.events[-1].seq :]
        fresh = [event for event in behind if event.data.get("run") == before.id]
        if not fresh:
            return before
        try:
            return advance_run(before, fresh, self._workflows)
        except EventLogError:  # its end may tell it without its workflow
            return project_run(events, before.id, self._workflows)


def _has(events: Sequence[Event], event: Event) -> bool:
    return len(events) >= event.seq and events[event.seq - 1].hash == event.hash
