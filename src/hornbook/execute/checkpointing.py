"""Writes checkpoints: a plan's files, then the file that anchors them in the log."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from hornbook.errors import EventLogError, UsageError
from hornbook.execute.checkpoint import Compaction, compacted
from hornbook.execute.event_log import EventLog
from hornbook.execute.event_schema import Violation
from hornbook.execute.events import Event
from hornbook.execute.plan_files import write_if_changed
from hornbook.execute.plan_holding import holding
from hornbook.execute.plan_store import PlanStore

QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """What a checkpoint did: `written` are the files that changed, `left` those that somebody
    else changed and that were not touched, `quarantined` where faulty events were put aside.
    """

    plan: str
    seq: int
    event_hash: str
    path: str
    files: dict[str, str]
    artifacts: dict[str, str]
    written: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()


def write_checkpoint(
    state: Path, log: EventLog, slug: str, *, at: str, automatic: bool = False
) -> CheckpointReport:
    """Write a plan's files from its events, and the checkpoint that holds their hashes.

    An automatic one never stands in the way: events that violate the schema are put into
    quarantine, and files that somebody edited are left and told. By hand both are refused.

    Raises:
        NotFound: There is no such plan.
        EventLogError: An event violates the schema; names it and the field.
        UsageError: A file does not say what the events say.
        PlanHeld: Another process works on the plan.
    """
    with holding(state, slug, "checkpoint", at=at), log.alone():
        before = _bytes_below(state, slug)
        view = PlanStore(state, log).view(slug)
        made = compacted(view.state)
        left = tuple(sorted({each.path for each in view.problems if each.path in made.files}))
        if not automatic:
            _refuse(made, left)
        quarantined = _quarantine(state, log.events(slug), made.set_aside)
        write_durably(state.parent / made.path, made.text)
        after = _bytes_below(state, slug)
    return CheckpointReport(
        plan=slug,
        seq=made.seq,
        event_hash=made.event_hash,
        path=made.path,
        files=made.hashes,
        artifacts=dict(made.artifacts),
        written=tuple(sorted(path for path in after if after[path] != before.get(path))),
        left=left,
        quarantined=quarantined,
        violations=made.set_aside,
    )


def write_durably(path: Path, text: str) -> None:
    """Write a file in one go and have the disk keep it, unless it says the same already."""
    write_if_changed(path, text)
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def quarantine_of(state: Path, slug: str) -> Path:
    """Where that which is put aside for a plan lies."""
    return state / QUARANTINE / slug


def _refuse(made: Compaction, left: tuple[str, ...]) -> None:
    if made.set_aside:
        told = "; ".join(map(str, made.set_aside))
        raise EventLogError(
            f"plan {made.plan} cannot be compacted: {told}. Find out who wrote it; "
            "`hornbook checkpoint --automatic` puts such events into quarantine."
        )
    if left:
        raise UsageError(
            f"{', '.join(left)} does not say what the events of plan {made.plan} say: restore it, "
            "or have `hornbook recover --repair` write it anew."
        )


def _quarantine(state: Path, events: list[Event], found: tuple[Violation, ...]) -> tuple[str, ...]:
    """Put a copy of each faulty event aside, with what is wrong with it."""
    by_seq = {event.seq: event for event in events}
    paths = []
    for seq in sorted({each.seq for each in found}):
        event = by_seq[seq]
        wrong = [
            {"field": each.field, "message": each.message} for each in found if each.seq == seq
        ]
        text = json.dumps(
            {"violations": wrong, "event": json.loads(event.line)}, ensure_ascii=False, indent=2
        )
        path = quarantine_of(state, event.plan) / f"event-{seq}.json"
        write_if_changed(path, text + "\n")
        paths.append(path.relative_to(state.parent).as_posix())
    return tuple(paths)


def _bytes_below(state: Path, slug: str) -> dict[str, bytes]:
    """What the files of a plan's folder hold, the log aside, by their path from the root."""
    folder = state / "plans" / slug
    return {
        path.relative_to(state.parent).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "events.jsonl" and "artifacts" not in path.parts
    }
