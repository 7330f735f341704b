"""Compaction: what a plan's events add up to, as files with their hashes.

The same events give the same bytes, whoever computes them and when.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from hornbook.errors import EventLogError, UsageError
from hornbook.execute.event_schema import Violation
from hornbook.execute.events import Event
from hornbook.execute.plan_files import notes_of, records_of, tasks_of
from hornbook.execute.plan_state import PlanState, project

SCHEMA = 1
CHECKPOINT = "checkpoint.json"
KEYS = ("schema", "plan", "seq", "event_hash", "files", "artifacts")


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
    set_aside: tuple[Violation, ...] = ()

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


def read_checkpoint(data: bytes, path: str) -> Checkpoint:
    """The checkpoint in a file.

    Raises:
        UsageError: A newer Hornbook wrote it.
        ValueError: It is none; the message says why.
    """
    facts = json.loads(data)
    if not isinstance(facts, dict) or type(facts.get("schema")) is not int:
        raise ValueError("it is no checkpoint")
    if facts["schema"] > SCHEMA:
        raise UsageError(
            f"{path} has schema {facts['schema']}, this Hornbook knows {SCHEMA}: update Hornbook."
        )
    missing = [key for key in KEYS if key not in facts]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    kinds = {"plan": str, "seq": int, "event_hash": str, "files": dict, "artifacts": dict}
    for key, kind in kinds.items():
        if type(facts[key]) is not kind:
            raise ValueError(f"`{key}` is {facts[key]!r}, which is no {kind.__name__}")
    return Checkpoint(**{key: facts[key] for key in kinds})
