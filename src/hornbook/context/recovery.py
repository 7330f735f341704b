"""Recovery: projects a plan's log again and compares it with what lies on disk.

Events are the only truth. `read_log` takes them from the table, or from the export where that knows
more or the table is damaged; a last line that was cut off in the export is dropped, and any other
damage of it is an error unless the table is whole. Where both are whole and contradict each other,
nothing is recovered: a person has to say which is right. From the events every file of the plan
follows byte for byte (`compact`), and so does what the newest checkpoint should say of its own
moment. `recover` only compares and reports: same, missing, damaged, or edited by a person. `repair`
writes anew what differs, after it put a copy of what was there into quarantine, so that nothing is
lost by a repair that was wrong. Artifacts are no projection and can only be reported.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from hornbook.context.tiers import CORE_FILES
from hornbook.disk import sweep_drafts
from hornbook.errors import DatabaseAway, DatabaseFailed, EventLogError, NotFound, UsageError
from hornbook.plans.checkpoint import (
    Checkpoint,
    Compaction,
    checkpoint_path,
    compact,
    digest_of,
    quarantine_of,
    read_checkpoint,
    write_durably,
)
from hornbook.plans.events import SCHEMA, Event, read_event, read_lines, verify
from hornbook.plans.files import PLAN_FILE
from hornbook.plans.log import EXPORT, EventLog
from hornbook.plans.state import PlanState, PlanStatus, project
from hornbook.plans.text import parse


@dataclass(frozen=True, slots=True)
class ExportReading:
    """The events of an export; `torn` is how many bytes of a line that was cut off were dropped."""

    events: tuple[Event, ...]
    torn: int = 0


@dataclass(frozen=True, slots=True)
class LogReading:
    """The events that a plan is recovered from, where they stood, and what else was found.

    `database_fault` says why the table cannot be used.
    """

    events: tuple[Event, ...]
    source: str
    notes: tuple[str, ...] = ()
    database_fault: str | None = None

    @property
    def text(self) -> str:
        """The export as it should be."""
        return "".join(event.line for event in self.events)


def read_export(data: bytes, plan: str, path: str) -> ExportReading:
    """The events of an export, without a last line that was cut off.

    Raises:
        EventLogError: Another line is not what it should be; the message has its number.
        UsageError: A newer Hornbook wrote it.
    """
    _refuse_newer(data, path)
    rest = data.rpartition(b"\n")[2]
    body = data[: len(data) - len(rest)]
    events, fault = read_lines(_decoded(body, path))
    fault = fault or verify(events)
    if fault is not None:
        raise EventLogError(f"{path}, line {fault.line}: {fault.message}: restore it from git.")
    last = len(events) + 1
    if rest and _is_torn(rest):
        return ExportReading(_of(plan, events, path), len(rest))
    if rest:
        try:
            events.append(read_event(rest.decode()))
        except (ValueError, UsageError) as problem:
            raise EventLogError(f"{path}, line {last}: {problem}.") from problem
        fault = verify(events)
        if fault is not None:
            raise EventLogError(f"{path}, line {fault.line}: {fault.message}.")
    return ExportReading(_of(plan, events, path))


def read_log(state: Path, plan: str, log: EventLog | str) -> LogReading:
    """The events of a plan from the table if that is whole, else from the export.

    `log` is the table, or in words why there is none. Nothing is written.

    Raises:
        NotFound: Neither has an event.
        EventLogError: Neither is whole, or they contradict each other.
        UsageError: A newer Hornbook wrote the export.
    """
    path = state / "plans" / plan / EXPORT
    name = f".hornbook/plans/{plan}/{EXPORT}"
    stored, fault = _stored(log, plan)
    try:
        export = read_export(path.read_bytes() if path.exists() else b"", plan, name)
    except EventLogError as problem:
        if not stored:
            raise
        return LogReading(stored, "database", (f"{problem} The database is whole.",))
    if not stored and not export.events:
        why = f" ({fault})" if fault else ""
        raise NotFound(f"there is no event of plan {plan!r} in the database{why} nor in {name}.")
    _refuse_contradiction(plan, stored, export.events, name)
    ahead = len(export.events) > len(stored)
    notes = tuple(_log_notes(export, stored, fault, name))
    if ahead:
        return LogReading(export.events, "export", notes, fault)
    return LogReading(stored, "database", notes, fault)


def _log_notes(
    export: ExportReading, stored: Sequence[Event], fault: str | None, name: str
) -> Iterator[str]:
    if export.torn:
        place = len(export.events) + 1
        yield f"{name}, line {place}: it was cut off, {export.torn} bytes were dropped."
    if fault is not None:
        yield f"The database cannot be used: {fault}."
    more = len(export.events) - len(stored)
    if stored and more:
        yield f"The {'database' if more > 0 else 'export'} lacks {abs(more)} events."


def _stored(log: EventLog | str, plan: str) -> tuple[tuple[Event, ...], str | None]:
    if isinstance(log, str):
        return (), log
    try:
        return tuple(log.events(plan)), None
    except DatabaseAway as problem:
        raise EventLogError(f"the database is busy or away ({problem}): try again.") from problem
    except (EventLogError, DatabaseFailed) as problem:
        return (), str(problem).rstrip(".")


def _refuse_contradiction(
    plan: str, stored: tuple[Event, ...], exported: tuple[Event, ...], name: str
) -> None:
    for one, other in zip(stored, exported, strict=False):
        if one.hash != other.hash:
            raise EventLogError(
                f"{name}, line {other.seq} and event {one.seq} of plan {plan} in the database "
                "differ and both are whole: restore the file from git; or, if the file is right, "
                "delete the database."
            )


def _is_torn(rest: bytes) -> bool:
    """Whether the last line was cut off: a whole one is JSON."""
    try:
        json.loads(rest)
    except ValueError:
        return True
    return False


def _refuse_newer(data: bytes, path: str) -> None:
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            facts = json.loads(line)
        except (ValueError, RecursionError):
            continue  # what is no JSON has no schema: it is told as what it is
        schema = facts.get("schema") if isinstance(facts, dict) else None
        if isinstance(schema, int) and schema > SCHEMA:
            raise UsageError(
                f"{path}, line {number}: it has schema {schema}, this Hornbook knows {SCHEMA}: "
                "update Hornbook."
            )


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        message = f"{path}, line {line}: it is not UTF-8: restore it from git."
        raise EventLogError(message) from problem


def _of(plan: str, events: list[Event], path: str) -> tuple[Event, ...]:
    if events and events[0].plan != plan:
        raise EventLogError(f"{path}, line 1: it is the log of the plan {events[0].plan!r}.")
    return tuple(events)


class FileState(StrEnum):
    """How a file stands to what it should be."""

    SAME = "same"
    DAMAGED = "damaged"
    MISSING = "missing"
    EDITED = "edited"
    REPAIRED = "repaired"


@dataclass(frozen=True, slots=True)
class FileFound:
    """A file with the hash that it should have and the one that it has."""

    path: str
    expected: str
    found: str | None
    state: FileState


@dataclass(frozen=True, slots=True)
class CoreFound:
    """A file of the core tier; None if it is not there."""

    path: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class CheckpointFound:
    """The checkpoint on disk; `matches` is whether the log gives the very files that it names."""

    seq: int
    event_hash: str
    matches: bool


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a plan was recovered to, and how what lies on disk stands to that.

    `restored` has the texts of the plan's own files, by path, as the log gives them.
    """

    plan: str
    source: str
    seq: int
    event_hash: str
    core: tuple[CoreFound, ...]
    checkpoint: CheckpointFound | None
    artifacts: tuple[FileFound, ...]
    files: tuple[FileFound, ...]
    notes: tuple[str, ...]
    restored: dict[str, str]

    @property
    def passed(self) -> bool:
        """Whether everything is as it should be."""
        fine = {FileState.SAME, FileState.REPAIRED}
        whole = all(each.state in fine for each in (*self.files, *self.artifacts))
        return whole and (self.checkpoint is None or self.checkpoint.matches)

    @property
    def differing(self) -> tuple[FileFound, ...]:
        """The files that are not as they should be."""
        return tuple(
            each for each in (*self.files, *self.artifacts) if each.state is not FileState.SAME
        )


def _compared_files(root: Path, slug: str, now: Compaction, reading: LogReading) -> list[FileFound]:
    files = [_compared_file(root, *each, reading.events) for each in sorted(now.files.items())]
    return [*files, _compared_file(root, _export_path(slug), reading.text, ())]


def recover(state: Path, slug: str, log: EventLog | str) -> tuple[Recovery, LogReading]:
    """What the log of a plan gives, compared with what is there. Nothing is written.

    Core, plan, checkpoint and artifacts are read in that order. `log` is the table, or in words
    why there is none.

    Raises:
        NotFound: There is no event of this plan.
        EventLogError: Neither table nor export is whole, or the checkpoint is of another log.
        UsageError: A newer Hornbook wrote the checkpoint.
    """
    root = state.parent
    core = tuple(CoreFound(path, _hash(root / path)) for path in CORE_FILES)
    reading = read_log(state, slug, log)
    now = compact(reading.events)
    kept, fault = _checkpoint(root, slug)
    notes = [*reading.notes, *_checkpoint_notes(slug, kept, fault)]
    found = _compared(kept, reading.events, notes) if kept is not None else None
    files = _compared_files(root, slug, now, reading)
    if fault or (found and not found.matches):
        files.append(_compared_file(root, now.path, now.text, ()))
    artifacts = kept.artifacts if kept is not None else now.artifacts
    notes += [f"{each}; it changed nothing." for each in now.set_aside]
    return (
        Recovery(
            plan=slug,
            source=reading.source,
            seq=now.seq,
            event_hash=now.event_hash,
            core=core,
            checkpoint=found,
            artifacts=tuple(_artifact(root, *each) for each in sorted(artifacts.items())),
            files=tuple(files),
            notes=tuple(notes),
            restored={path: text for path, text in now.files.items() if path.endswith(".md")},
        ),
        reading,
    )


def repair(state: Path, found: Recovery, reading: LogReading) -> Recovery:
    """Write anew what differs; what was there goes into quarantine. Artifacts cannot be rebuilt."""
    root = state.parent
    now = compact(reading.events)
    texts = {**now.files, now.path: now.text, _export_path(found.plan): reading.text}
    done = []
    for each in found.files:
        if each.state is FileState.SAME:
            done.append(each)
            continue
        put_aside(state, found.plan, root / each.path)
        write_durably(root / each.path, texts[each.path])
        done.append(replace(each, state=FileState.REPAIRED))
    for folder in (state / "plans" / found.plan, state / "records"):
        sweep_drafts(folder)
    checkpoint = found.checkpoint
    if checkpoint is not None and not checkpoint.matches:
        checkpoint = CheckpointFound(now.seq, now.event_hash, matches=True)
    return replace(found, files=tuple(done), checkpoint=checkpoint)


def put_aside(state: Path, slug: str, path: Path) -> None:
    """Keep a copy of a file, named by its content, before it is written anew."""
    if not path.is_file():
        return
    data = path.read_bytes()
    folder = quarantine_of(state, slug)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{path.name}.{digest_of(data)[:12]}").write_bytes(data)


def _checkpoint(root: Path, slug: str) -> tuple[Checkpoint | None, str | None]:
    path = checkpoint_path(slug)
    try:
        data = (root / path).read_bytes()
    except FileNotFoundError:
        return None, None
    try:
        kept = read_checkpoint(data, path)
    except (ValueError, RecursionError) as problem:
        return None, f"{path} cannot be read: {problem}."
    if kept.plan != slug:
        return None, f"{path} is the checkpoint of the plan {kept.plan!r}."
    return kept, None


def _checkpoint_notes(slug: str, kept: Checkpoint | None, fault: str | None) -> list[str]:
    if kept is None and fault is None:
        return [f"There is no checkpoint of plan {slug} yet."]
    return [] if fault is None else [fault]


def _compared(kept: Checkpoint, events: Sequence[Event], notes: list[str]) -> CheckpointFound:
    """Whether the log still gives what was checkpointed."""
    if not 0 < kept.seq <= len(events):
        notes.append(
            f"The checkpoint is of event {kept.seq}, the log ends at {len(events)}: events are "
            "lost."
        )
        return CheckpointFound(kept.seq, kept.event_hash, matches=False)
    anchor = events[kept.seq - 1]
    if anchor.hash != kept.event_hash:
        raise EventLogError(
            f"event {kept.seq} of plan {kept.plan} has the hash {anchor.hash}, its checkpoint "
            f"says {kept.event_hash}: the log was replaced; restore it or the checkpoint from git."
        )
    then = compact(events[: kept.seq]).hashes
    notes.extend(
        f"{path} was checkpointed as {kept.files.get(path)}, the log gives {then.get(path)}."
        for path in sorted({*then, *kept.files})
        if then.get(path) != kept.files.get(path)
    )
    return CheckpointFound(kept.seq, kept.event_hash, matches=then == dict(kept.files))


def _compared_file(root: Path, path: str, text: str, events: Sequence[Event]) -> FileFound:
    expected = digest_of(text.encode())
    found = _hash(root / path)
    state = FileState.SAME
    if found is None:
        state = FileState.MISSING
    elif found != expected:
        state = FileState.DAMAGED
        current = project(events) if path.endswith(f"/{PLAN_FILE}") else None
        if current is not None and _is_edit(root / path, current):
            state = FileState.EDITED
    return FileFound(path, expected, found, state)


def _is_edit(path: Path, current: PlanState) -> bool:
    """Whether the file of an exploration reads as a plan: the next command would take it up."""
    read = parse(path.read_bytes().decode("utf-8", "replace"))
    return current.status is PlanStatus.EXPLORING and not read.problems


def _export_path(slug: str) -> str:
    return f".hornbook/plans/{slug}/{EXPORT}"


def _artifact(root: Path, path: str, expected: str) -> FileFound:
    found = _hash(root / path)
    state = FileState.SAME if found == expected else FileState.DAMAGED
    return FileFound(path, expected, found, FileState.MISSING if found is None else state)


def _hash(path: Path) -> str | None:
    return digest_of(path.read_bytes()) if path.is_file() else None
