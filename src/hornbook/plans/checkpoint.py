"""Compaction: what a plan's events add up to, as files with their hashes.

The same events give the same bytes, whoever computes them and when.
"""

import fcntl
import json
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from hornbook.disk import settle
from hornbook.errors import EventLogError, PlanHeld, UsageError
from hornbook.plans.events import Event, SchemaViolation
from hornbook.plans.files import notes_of, records_of, tasks_of, write_if_changed
from hornbook.plans.log import EventLog
from hornbook.plans.state import PlanState, project
from hornbook.plans.store import PlanStore

HOLDERS = Path("logs", "holders")


@contextmanager
def holding(state: Path, plan: str, doing: str, *, at: str) -> Iterator[None]:
    """Hold a plan for what is being done; within one process it may be nested.

    This keeps two commands on one machine from writing the files of a plan at once: a checkpoint
    and a repair. It is the kernel's lock on a file, which ends with the process however that ends;
    what stands in the file only tells others who holds it, and is not what decides. Who may work
    on the tasks of a plan is another question, which the engine's roster answers for all machines
    of a database: one living worker has the plan's row there.

    Raises:
        PlanHeld: Another process holds it.
    """
    path = state / HOLDERS / f"{plan}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _refuse_second_holder(plan, _read(handle))
            yield
            return
        ours = {"pid": os.getpid(), "host": socket.gethostname(), "doing": doing, "since": at}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(ours).encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _read(handle: int) -> dict[str, object]:
    try:
        found = json.loads(os.pread(handle, 4096, 0))
    except ValueError:
        return {}  # it has just been taken, or let go
    return found if isinstance(found, dict) else {}


def _refuse_second_holder(plan: str, holder: dict[str, object]) -> None:
    """Tell who holds the plan, unless that is this process."""
    if (holder.get("pid"), holder.get("host")) == (os.getpid(), socket.gethostname()):
        return
    who = "another process"
    if holder:
        who = (
            f"process {holder.get('pid')} on {holder.get('host')} "
            f"({holder.get('doing')}, since {holder.get('since')})"
        )
    raise PlanHeld(f"plan {plan} is held by {who}: wait until it is done, or end it.")


SCHEMA = 1
CHECKPOINT = "checkpoint.json"
_KINDS = {"plan": str, "seq": int, "event_hash": str, "files": dict, "artifacts": dict}
KEYS = ("schema", *_KINDS)


@dataclass(frozen=True, slots=True)
class Compaction:
    """A plan's files by their path from the root, made from its events up to number `seq`.

    `artifacts` are the paths and hashes of what the newest step left; `set_aside` is what is
    wrong with events that violate the schema and so changed nothing.
    """

    plan: str
    seq: int
    event_hash: str
    files: Mapping[str, str]
    artifacts: Mapping[str, str]
    set_aside: tuple[SchemaViolation, ...] = ()

    @property
    def path(self) -> str:
        """Where the checkpoint lies."""
        return checkpoint_path(self.plan)

    @property
    def hashes(self) -> dict[str, str]:
        """The hash of each file."""
        return {path: digest_of(text.encode()) for path, text in sorted(self.files.items())}

    @property
    def text(self) -> str:
        """The checkpoint's own file."""
        facts = (
            SCHEMA,
            self.plan,
            self.seq,
            self.event_hash,
            self.hashes,
            dict(sorted(self.artifacts.items())),
        )
        return json.dumps(dict(zip(KEYS, facts, strict=True)), ensure_ascii=False, indent=2) + "\n"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What the file of a checkpoint says."""

    plan: str
    seq: int
    event_hash: str
    files: Mapping[str, str]
    artifacts: Mapping[str, str]


def checkpoint_path(slug: str) -> str:
    """Where the checkpoint of a plan lies, from the root."""
    return f".hornbook/plans/{slug}/{CHECKPOINT}"


def compact(events: Iterable[Event]) -> Compaction:
    """The files that a plan's events add up to.

    Raises:
        EventLogError: There is no event.
    """
    state = project(events)
    if state is None:
        raise EventLogError("there is no event to compact.")
    return compacted(state)


def compacted(state: PlanState) -> Compaction:
    """The files of a plan as its events left it."""
    made = {**notes_of(state), **records_of(state), **tasks_of(state)}
    return Compaction(
        plan=state.plan.slug,
        seq=state.seq,
        event_hash=state.head,
        files={f".hornbook/{path}": text for path, text in made.items()},
        artifacts=dict(state.artifacts),
        set_aside=state.set_aside,
    )


def digest_of(data: bytes) -> str:
    """The sha256 of a file."""
    return sha256(data).hexdigest()


def _checkpoint_facts(data: bytes, path: str) -> dict[str, Any]:  # JSON, not looked at yet
    facts = json.loads(data)
    if not isinstance(facts, dict) or type(facts.get("schema")) is not int:
        raise ValueError("it is no checkpoint")
    if facts["schema"] > SCHEMA:
        raise UsageError(
            f"{path} has schema {facts['schema']}, this Hornbook knows {SCHEMA}: update Hornbook."
        )
    return facts


def read_checkpoint(data: bytes, path: str) -> Checkpoint:
    """The checkpoint in a file.

    Raises:
        UsageError: A newer Hornbook wrote it.
        ValueError: It is none; the message says why.
    """
    facts = _checkpoint_facts(data, path)
    missing = [key for key in KEYS if key not in facts]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    for key, kind in _KINDS.items():
        if type(facts[key]) is not kind:
            raise ValueError(f"`{key}` is {facts[key]!r}, which is no {kind.__name__}")
    return Checkpoint(**{key: facts[key] for key in _KINDS})


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
    violations: tuple[SchemaViolation, ...] = ()


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
    settle(path)


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


def _quarantine(
    state: Path, events: list[Event], found: tuple[SchemaViolation, ...]
) -> tuple[str, ...]:
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
