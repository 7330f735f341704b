"""What each edit of a task changed, before and after: made from events and git's objects."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbook.commits.change import ABSENT, SUBMODULE, touched
from hornbook.commits.git import blob_sizes, blobs
from hornbook.disk import write_whole
from hornbook.errors import UsageError
from hornbook.loop.runs.state import RunState
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.run_kinds import DEVELOP

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
            told = event.data["told"]
            edit = RecordedEdit(
                told["changed"], _side(told.get("before")), _side(told.get("after"))
            )
            here = folder / place / f"step-{told['step']:04}"
            if not (here / "edit.json").is_file():
                _write(root, {here: edit})


def _attempts(state: RunState) -> Iterator[tuple[str, str, Event]]:
    """Each attempt, the folder of its snapshots, and the commit that it went on from."""
    last: Event | None = None
    asked: dict[str, int] = {}
    for event in state.of(DEVELOP):
        work = kinds.attempt(event)
        start = work["base"]
        if last is not None and kinds.attempt(last)["base"] == start:
            start = kinds.attempt(last)["commit"]
        place = f"{state.id}-{work['round']}-{work['number']}"
        asked[place] = asked.get(place, 0) + 1
        more = "" if asked[place] == 1 else f"-{asked[place]}"
        yield f"{place}{more}", start, event
        last = event


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
    edits = [
        RecordedEdit(
            each.path,
            None if each.old_mode == ABSENT else Side(each.old_mode, each.old_blob),
            None if each.mode == ABSENT else Side(each.mode, each.blob),
            each.before,
        )
        for each in files
    ]
    kept = edits[:MOST_FILES]
    names = {place / f"{number:04}": edit for number, edit in enumerate(kept, 1)}
    if not _write(root, names):
        return
    facts = {
        "start": start,
        "commit": commit,
        "edits": len(edits),
        "left_out": [each.path for each in edits[MOST_FILES:]],
    }
    _put(listed, _json(facts))


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
    return True


def _facts(side: Side | None, sizes: Mapping[str, int]) -> dict[str, object] | None:
    if side is None:
        return None
    size = sizes.get(side.blob)
    kept = size is not None and size <= LARGEST
    return {"mode": side.mode, "object": side.blob, "bytes": size, "kept": kept}


def _side(told: object) -> Side | None:
    return Side("100644", told) if isinstance(told, str) else None


def _json(facts: Mapping[str, object]) -> bytes:
    return (json.dumps(facts, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogatepass")


def _put(path: Path, data: bytes) -> None:
    write_whole(path, data, durable=False)
