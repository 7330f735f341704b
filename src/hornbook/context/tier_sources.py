"""Reads what the core and transient tiers of a context are made of: files, logs and the diff."""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from hornbook.commits import git
from hornbook.commits.git_tampering import fingerprint, patches
from hornbook.context.prompt import LeftOut, Unit, fenced
from hornbook.context.tiers import CORE_FILES, LOADED_BY_HOST
from hornbook.rules.document_reader import is_rule_file
from hornbook.settings.places import Places

_STOPPED = frozenset({"failed", "refused", "warned"})


@dataclass(frozen=True, slots=True)
class CoreTier:
    """The core files that a step is given, and those that it has from elsewhere."""

    units: tuple[Unit, ...]
    left_out: tuple[LeftOut, ...]


def core_tier(root: Path, *, at: str | None = None, rules: Collection[str] = ()) -> CoreTier:
    """The core tier of the files here, or of a commit; `rules` are paths that are given as rules.

    Nothing is given twice: what is among the rules, or is loaded by the host, is left out.
    """
    read = _reader(root, at)
    units, left_out = [], []
    for path in CORE_FILES:
        data = read(path)
        if data is None:
            continue
        if path in rules:
            left_out.append(LeftOut(path, "it is among the rules"))
        elif path in LOADED_BY_HOST:
            left_out.append(LeftOut(path, "the agent's host loads it itself"))
        else:
            text = data.decode("utf-8-sig", "replace")
            units.append(Unit(path, sha256(data).hexdigest()[:12], text))
    return CoreTier(tuple(units), tuple(left_out))


def _reader(root: Path, at: str | None) -> Callable[[str], bytes | None]:
    if at is None:
        return lambda path: (root / path).read_bytes() if (root / path).is_file() else None
    held = git.files_at(root, at)
    blobs = git.blobs(root, [held[path] for path in CORE_FILES if path in held])
    return lambda path: blobs[held[path]] if path in held else None


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
    for gate in last.get("gates", []):
        if gate.get("status") in _STOPPED:
            said = "\n".join(filter(None, (gate.get("message"), gate.get("output"))))
            yield Unit.hashed(
                f"gate.{gate.get('name')}", f"## {gate.get('name')}\n\n{fenced(said, '')}"
            )


def _since_compaction(log: list[Line], spool: list[Line]) -> list[Line]:
    compacted = (_time(each) for each in spool if each.get("kind") in COMPACTED)
    since = max(compacted, default="")
    entries = log + [each for each in spool if each.get("kind") == "guard_denied"]
    return sorted((each for each in entries if _time(each) > since), key=_time)


def _work_log(places: Places) -> Iterator[Unit]:
    """What the newest session did since its conversation was compacted."""
    folder = places.state / "logs" / "sessions"
    logs = {path.stem: _lines(path) for path in sorted(folder.glob("*.jsonl"))}
    newest = max(logs, key=lambda name: max(map(_time, logs[name]), default=""), default=None)
    if newest is None:
        return
    recent = _since_compaction(logs[newest], _lines(places.state / "spool" / f"{newest}.jsonl"))
    if recent:
        lines = map(_log_line, recent[-MOST_ENTRIES:])
        yield Unit.hashed(f"work_log.{newest}", "## Work log\n\n" + "\n".join(lines) + "\n")


def _diff(root: Path) -> Iterator[Unit]:
    """What differs from HEAD, file by file; rules stay with the reviewer."""
    for path, patch in patches(root).items():
        if not is_rule_file(path):
            yield Unit.hashed(f"diff.{path}", fenced(patch, "diff"))


def _log_line(entry: Line) -> str:
    if entry.get("kind") == "guard_denied":
        return f"- {entry.get('at')} {entry.get('tool')} {entry.get('path')}: denied"
    target = f" {entry['target']}" if entry.get("target") else ""
    return f"- {entry.get('at')} {entry.get('tool')}{target}: {entry.get('outcome')}"


def _time(entry: Line) -> str:
    return str(entry.get("at", ""))


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
