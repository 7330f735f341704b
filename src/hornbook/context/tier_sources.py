"""What each tier put into a context, and when the tiers that grow are due for a checkpoint."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from hornbook.commits import git
from hornbook.commits.seal import fingerprint, patches
from hornbook.context.prompt import LeftOut, Part, Section, Unit, fenced
from hornbook.context.tiers import CORE_FILES, LOADED_BY_HOST, TIER_OF, Contribution, Tier
from hornbook.rules.reading import is_rule_file
from hornbook.settings.layout import Places

_STOPPED = frozenset({"failed", "refused", "warned"})
GROWING = ("plan", "task", "decisions", "risks", "feedback", "recent")
"""The sections of task and transient tier that grow with the work."""


def in_order(parts: Iterable[Part]) -> list[Part]:
    """The parts of a context, tier by tier; within a tier as they were given."""
    tiers = list(Tier)
    return sorted(parts, key=lambda part: tiers.index(TIER_OF[part.name]))


def contributions(
    sections: Sequence[Section], left_out: Mapping[Tier, Sequence[LeftOut]] | None = None
) -> tuple[Contribution, ...]:
    """What each tier contributed, every tier included, in their order."""
    return tuple(_one(tier, sections, (left_out or {}).get(tier, ())) for tier in Tier)


def with_left_out(
    tiers: Sequence[Contribution], tier: Tier, left_out: Sequence[LeftOut]
) -> tuple[Contribution, ...]:
    """The contributions with more that one of the tiers left out."""
    more = tuple(each.id for each in left_out)
    return tuple(
        replace(each, left_out=(*each.left_out, *more)) if each.tier is tier else each
        for each in tiers
    )


def is_due(sections: Sequence[Section], budget: int, percent: int) -> bool:
    """Whether the sections that grow take more than a share of the room that they have together."""
    used = sum(each.tokens for each in sections if each.name in GROWING)
    return used * 100 > budget * percent


def _one(tier: Tier, sections: Sequence[Section], left_out: Sequence[LeftOut]) -> Contribution:
    held = [each for each in sections if TIER_OF[each.name] is tier]
    return Contribution(
        tier=tier,
        tokens=sum(each.tokens for each in held),
        budget=sum(each.budget for each in held),
        sections=tuple(each.name for each in held),
        items=tuple(item.id for each in held for item in each.items),
        left_out=tuple(each.id for each in left_out),
    )


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
