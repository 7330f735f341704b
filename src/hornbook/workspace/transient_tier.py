"""The transient tier: what just happened in this work tree, and nothing older."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from hornbook.assemble.packet import fenced
from hornbook.git.work_tree import fingerprint, patches
from hornbook.ingest.reading import is_rule_file
from hornbook.model.context import Unit
from hornbook.model.gates import GateStatus
from hornbook.workspace.places import Places

MOST_ENTRIES = 20
COMPACTED = frozenset({"pre_compact", "post_compact"})

# Both files hold JSON that a hook or a gate run wrote: mypy has no finite type for it.
Line = dict[str, Any]


def recent_units(root: Path) -> tuple[Unit, ...]:
    """What gates said to these very files, the newest session's work log, and the diff to HEAD."""
    places = Places(root)
    return (*_gate_output(places), *_work_log(places), *_diff(root))


def _gate_output(places: Places) -> Iterator[Unit]:
    """The output of the gates that failed, if they ran on the files as they are."""
    last = _json(places.gate_logs / "last.json")
    seen = last.get("fingerprint")
    if not isinstance(seen, str) or seen != fingerprint(places.root):
        return
    stopped = {GateStatus.FAILED, GateStatus.REFUSED, GateStatus.WARNED}
    for gate in last.get("gates", []):
        if gate.get("status") in stopped:
            said = "\n".join(filter(None, (gate.get("message"), gate.get("output"))))
            yield _unit(f"gate.{gate.get('name')}", f"## {gate.get('name')}\n\n{fenced(said, '')}")


def _work_log(places: Places) -> Iterator[Unit]:
    """What the newest session did since its conversation was compacted."""
    folder = places.state / "logs" / "sessions"
    logs = {path.stem: _lines(path) for path in sorted(folder.glob("*.jsonl"))}
    newest = max(logs, key=lambda name: _times(logs[name])[-1:], default=None)
    if newest is None:
        return
    spool = _lines(places.state / "spool" / f"{newest}.jsonl")
    since = max(_times([each for each in spool if each.get("kind") in COMPACTED]), default="")
    entries = [each for each in logs[newest] if str(each.get("at", "")) > since]
    denied = [each for each in spool if each.get("kind") == "guard_denied"]
    entries += [each for each in denied if str(each.get("at", "")) > since]
    entries.sort(key=lambda each: str(each.get("at", "")))
    told = [_told(each) for each in entries[-MOST_ENTRIES:]]
    if told:
        yield _unit(f"work_log.{newest}", "## Work log\n\n" + "\n".join(told) + "\n")


def _diff(root: Path) -> Iterator[Unit]:
    """What differs from HEAD, file by file; rules stay with the reviewer."""
    for path, patch in patches(root).items():
        if not is_rule_file(path):
            yield _unit(f"diff.{path}", fenced(patch, "diff"))


def _told(entry: Line) -> str:
    if entry.get("kind") == "guard_denied":
        return f"- {entry.get('at')} {entry.get('tool')} {entry.get('path')}: denied"
    target = f" {entry['target']}" if entry.get("target") else ""
    return f"- {entry.get('at')} {entry.get('tool')}{target}: {entry.get('outcome')}"


def _unit(name: str, text: str) -> Unit:
    return Unit(name, sha256(text.encode()).hexdigest()[:12], text)


def _times(entries: list[Line]) -> list[str]:
    return sorted(str(each.get("at", "")) for each in entries)


def _lines(path: Path) -> list[Line]:
    """The objects of a file of lines; a line that was cut off is no entry yet."""
    if not path.is_file():
        return []
    found = []
    for line in path.read_bytes().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found


def _json(path: Path) -> Line:
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}  # no gate ran, or one is just being kept: the stop hook tells a damaged one
    return found if isinstance(found, dict) else {}
