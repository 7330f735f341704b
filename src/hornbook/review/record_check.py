"""Whether recorded reviews are as they were written, and as the events of their runs tell."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hornbook.plans.events import Event
from hornbook.plans.run_kinds import CHECKED
from hornbook.rules.records import RECORD, broken_seals
from hornbook.settings.layout import Places

Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A recorded review that cannot be believed: where it lies, and why."""

    id: str
    path: str
    message: str


def read_records(places: Places) -> dict[str, Record | None]:
    """The recorded reviews by id; none for a file that is no record."""
    paths = sorted((places.records / "reviews").glob("*.json"))
    return {f"review.{path.stem}": read_record(path) for path in paths}


def read_record(path: Path) -> Record | None:
    """What a record says; none if the file is none."""
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def of_runs(records: Mapping[str, Record | None]) -> bool:
    """Whether a record says that it is of a run, so that events may tell of it."""
    return any(record is not None and record.get("run") for record in records.values())


def bad_records(
    records: Mapping[str, Record | None], events: Iterable[Event] = ()
) -> list[BadRecord]:
    """The records that are not as they were written, and why.

    `events` are those of the runs that are known here. A record of a run that is not among them
    is only held against its own hashes.
    """
    known = list(events)
    runs = {event.data.get("run") for event in known}
    told = {str(e.data.get("record")): e.data.get(RECORD) for e in known if e.kind == CHECKED}
    return [
        BadRecord(name, f".hornbook/records/reviews/{name.removeprefix('review.')}.json", said)
        for name, record in records.items()
        for said in ["; ".join(_wrong(name, record, runs, told))]
        if said
    ]


def _wrong(
    name: str, record: Record | None, runs: set[object], told: Mapping[str, object]
) -> Iterator[str]:
    if record is None:
        yield "it is not JSON as Hornbook writes it"
        return
    if record.get("id") != name:
        yield f"it is the record of {record.get('id')}"
    yield from broken_seals(record)
    if record.get("run") in runs and record.get("run") is not None and name not in told:
        yield f"no event of run {record['run']} tells of it"
    if told.get(name) is not None and told[name] != record.get(RECORD):
        yield "it is not what the event of its run has the hash of"
