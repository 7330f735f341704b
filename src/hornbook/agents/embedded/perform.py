"""Does what a model asked for, and says what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hornbook.agents.embedded.actions import Misread, StepAction, load_item
from hornbook.agents.embedded.checks import Verification, obstacles, verified
from hornbook.agents.embedded.fitting import one_line
from hornbook.agents.embedded.loaded import LoadedFiles
from hornbook.agents.embedded.memory import has_room, loaded
from hornbook.agents.embedded.records import Result, StepRecord
from hornbook.agents.embedded.stuck import changed_paths
from hornbook.agents.embedded.task import StepTask
from hornbook.agents.embedded.workbench import EditRefused, WorkbenchEdit
from hornbook.errors import BadGlob
from hornbook.gates.values import GateReport, GateStatus

Check = Callable[[Sequence[str]], GateReport]
"""Runs the gates of these names over the worktree, all of them when none is named."""

MOST_OUTPUT: Final = 20_000


@dataclass(frozen=True, slots=True)
class StepSituation:
    """Where an action is done: the task, what was done so far, and the means.

    `keep` is told of an edit before it is made, so that it can be undone.
    """

    task: StepTask
    records: tuple[StepRecord, ...]
    shelf: LoadedFiles
    check: Check
    keep: Callable[[WorkbenchEdit], None]


def perform(action: StepAction, at: StepSituation, step: int) -> StepRecord:
    """What the action did; what cannot be done is an error that the model sees."""
    record = StepRecord(step, action.name, action.parameters, target=_target(action))
    try:
        return _DOERS[action.name](record, at)
    except (EditRefused, Misread, BadGlob) as problem:
        return replace(
            record, result=Result.ERROR, error=str(problem), summary=one_line(str(problem))
        )


def baseline(check: Check) -> StepRecord:
    """The record of step 0: what the gates say before anything is done."""
    record = StepRecord(0, "run_check", target="all", summary="before the first step")
    return _judged(record, check(()))


def _target(action: StepAction) -> str:
    given = action.given
    names = ("path", "pattern", "name", "item")
    found = next((given[name] for name in names if name in given), "")
    return one_line(found or ("all" if action.name in {"run_check", "clear_context"} else ""))


def _judged(record: StepRecord, report: GateReport, said: str = "") -> StepRecord:
    """The record with the results of gates, and what they come to."""
    gates = tuple(replace(gate, output=gate.output[-MOST_OUTPUT:]) for gate in report.gates)
    now = Verification(gates)
    told = f"{now.passing} of {len(gates)} checks passing" if gates else "no checks are configured"
    failing = ", ".join(gate.name for gate in now.failing)
    summary = f"{said}{told}{f' (failing: {failing})' if failing else ''}"
    result = Result.FAILING if now.failing or not gates else Result.SUCCESS
    return replace(record, gates=gates, result=result, summary=one_line(summary))


def _look(record: StepRecord, at: StepSituation) -> StepRecord:
    """Reads, searches and loads: what is found stands in the next context under a key."""
    key = _key(record)
    content = at.shelf.content(record, at.records)
    if not has_room(loaded(at.records, record.step), key):
        raise EditRefused("every slot for loaded items is pinned: clear_context one of them.")
    lines = content.count("\n") + 1
    return replace(record, loads=key, summary=f"{lines} lines, shown as {one_line(key, 100)}")


def _key(record: StepRecord) -> str:
    given = record.given
    if record.action == "load_context":
        return ":".join(part for part in load_item(given["item"]) if part)
    if record.action == "read_file":
        span = (
            f":{given.get('start', '1')}-{given.get('end', '')}"
            if {"start", "end"} & given.keys()
            else ""
        )
        return f"read_file:{given['path']}{span}"
    return f"search:{given['pattern']}" + (f" in {given['paths']}" if "paths" in given else "")


def _edit(record: StepRecord, at: StepSituation) -> StepRecord:
    given = {key: value for key, value in record.parameters if key != "path"}
    edit = at.shelf.bench.edit(record.given["path"], given)
    at.keep(edit)
    at.shelf.bench.apply(edit)
    verb = "created" if edit.before is None else "changed"
    said = f"{verb} {edit.path} ({_size(edit)}), "
    return _judged(replace(record, change=edit.change), at.check(()), said)


def _size(edit: WorkbenchEdit) -> str:
    grown = edit.after.count(b"\n") - (edit.before or b"").count(b"\n")
    return f"{grown:+d} lines"


def _run(record: StepRecord, at: StepSituation) -> StepRecord:
    name = record.given.get("name", "all").strip()
    report = at.check(() if name == "all" else (name,))
    if name != "all" and not any(gate.name == name for gate in report.gates):
        known = ", ".join(gate.name for gate in verified(at.records).gates)
        raise EditRefused(f"no check {name!r}; there are: {known or 'none'}.")
    judged = _judged(record, report)
    stopped = [gate for gate in report.gates if gate.status is GateStatus.REFUSED]
    return replace(judged, error=stopped[0].message or None) if stopped else judged


def _clear(record: StepRecord, at: StepSituation) -> StepRecord:
    items = loaded(at.records, record.step)
    wanted = record.given.get("item")
    if wanted is not None and wanted not in {item.key for item in items}:
        keys = ", ".join(item.key for item in items)
        raise EditRefused(f"no loaded item {wanted!r}; there are: {keys or 'none'}.")
    dropped = len(items) if wanted is None else 1
    return replace(record, summary=f"{dropped} loaded items dropped")


def _complete(record: StepRecord, at: StepSituation) -> StepRecord:
    reasons = obstacles(at.task, verified(at.records), changed_paths(at.records))
    if reasons:
        raise EditRefused(f"not complete: {'; '.join(reasons)}.")
    return replace(record, summary=one_line(record.given["summary"]))


def _escalate(record: StepRecord, at: StepSituation) -> StepRecord:
    del at
    return replace(record, summary=one_line(record.given["reason"]))


_DOERS: Final[dict[str, Callable[[StepRecord, StepSituation], StepRecord]]] = {
    "read_file": _look,
    "search": _look,
    "load_context": _look,
    "edit_file": _edit,
    "run_check": _run,
    "clear_context": _clear,
    "complete": _complete,
    "escalate": _escalate,
}
