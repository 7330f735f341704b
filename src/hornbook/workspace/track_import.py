"""Takes over the tracks of another layout: each becomes a plan, every file is accounted for."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from hornbook.errors import NotFound, UsageError
from hornbook.execute.event_log import EventLog
from hornbook.execute.events import digest
from hornbook.execute.plan_state import plan_data
from hornbook.execute.plan_store import PlanStore
from hornbook.execute.tracks import (
    Notes,
    Specification,
    read_approach,
    read_decisions,
    read_risks,
    read_specification,
)
from hornbook.ingest.identity import slug as slug_of
from hornbook.model.plan import Plan
from hornbook.model.tiers import CORE_FILES
from hornbook.workspace.memory import Memory
from hornbook.workspace.places import Places
from hornbook.workspace.plan_pointer import POINTER
from hornbook.workspace.plans import PlanBook

TRACKS = "docs/tracks"
ACTIVE = f"{TRACKS}/ACTIVE_TRACK"
SESSIONS = "artifacts/sessions"
CHECKPOINTS = "artifacts/checkpoints"
TRACK_FILES = ("SPEC.md", "PLAN.md", "DECISIONS.md", "RISKS.md")
PARTS = {"SPEC.md": "situation and mission", "PLAN.md": "execution and constraints"}
ACTOR = "import"


@dataclass(frozen=True, slots=True)
class Accounted:
    """What became of a file: imported, kept where it is, or left, and why."""

    path: str
    outcome: str
    message: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The plans that an import made or completed, and every file that it met."""

    plans: tuple[str, ...]
    active: str | None
    files: tuple[Accounted, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Ledger:
    """What is known so far of each file."""

    entries: dict[str, Accounted] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def put(self, path: str, outcome: str, message: str) -> None:
        self.entries[path] = Accounted(path, outcome, message)


def import_tracks(memory: Memory, book: PlanBook, root: Path, folder: Path) -> ImportReport:
    """Make a plan of each track below a folder; a second time changes nothing.

    Plans are explorations: a person looks at them and promotes them. The folder's own files stay
    as they are.

    Raises:
        NotFound: The folder has no `docs/tracks` with a track in it.
        UsageError: Two tracks have the same slug, or a file is no UTF-8.
    """
    tracks = _tracks(folder)
    ledger = _Ledger()
    slugs = []
    for name in tracks:
        slugs.append(slug_of(name))
        _import_track(memory, root, folder, name, ledger)
    active = _point(book, root, folder, tracks, ledger)
    _account_for_the_rest(root, folder, ledger)
    files = tuple(ledger.entries[path] for path in sorted(ledger.entries))
    return ImportReport(tuple(slugs), active, files, tuple(ledger.notes))


def _tracks(folder: Path) -> list[str]:
    base = folder / TRACKS
    found = sorted(each.name for each in base.iterdir() if each.is_dir()) if base.is_dir() else []
    if not found:
        raise NotFound(f"{base} has no track: name the folder that has {TRACKS}/<id>/ below it.")
    by_slug: dict[str, str] = {}
    for name in found:
        other = by_slug.setdefault(slug_of(name), name)
        if other != name:
            raise UsageError(f"the tracks {other} and {name} have the same slug: rename one.")
    return found


def _import_track(memory: Memory, root: Path, folder: Path, name: str, ledger: _Ledger) -> None:
    slug = slug_of(name)
    texts = {
        file: _text(folder / TRACKS / name / file)
        for file in TRACK_FILES
        if (folder / TRACKS / name / file).is_file()
    }
    hashes = {
        f"{TRACKS}/{name}/{file}": sha256(text.encode()).hexdigest() for file, text in texts.items()
    }
    if not texts:
        ledger.notes.append(f"{TRACKS}/{name} has none of {', '.join(TRACK_FILES)}")
    artifacts = _artifacts(root, folder, name, slug, ledger)
    data: dict[str, object] = {"origin": f"{TRACKS}/{name}", "files": hashes}
    if artifacts:
        data["artifacts"] = artifacts
    with memory.log() as log:
        store = PlanStore(Places(root).state, log)
        if slug in store.slugs() and not _is_ours(log, slug, name):
            ledger.notes.append(f"the plan {slug} is there already and was not made from a track")
            for path in hashes:
                ledger.put(path, "left", f"the plan {slug} is another one: rename the track")
            return
        begun = plan_data(_plan(name, texts))
        log.append(slug, "plan.explored", begun, key="plan.explored", actor=ACTOR)
        log.append(slug, "plan.imported", data, key=f"imported:{digest(data)}", actor=ACTOR)
        _record(log, slug, texts, name, ledger)
        store.view(slug)
        first = next(event for event in log.events(slug) if event.kind == "plan.imported")
    for file, part in PARTS.items():
        path = f"{TRACKS}/{name}/{file}"
        if file in texts and first.data["files"].get(path) == hashes[path]:
            ledger.put(path, "imported", f"plan {slug}: {part}")
        elif file in texts:
            ledger.put(path, "left", f"it changed since plan {slug} was made: edit its plan.md")


def _is_ours(log: EventLog, slug: str, name: str) -> bool:
    """Whether a plan was made from this very track."""
    return any(
        event.kind == "plan.imported" and event.data.get("origin") == f"{TRACKS}/{name}"
        for event in log.events(slug)
    )


def _plan(name: str, texts: Mapping[str, str]) -> Plan:
    said = read_specification(texts["SPEC.md"]) if "SPEC.md" in texts else Specification("", "", "")
    plan = Plan(slug_of(name), " ".join(said.title.split()) or name)
    if "PLAN.md" in texts:
        how = read_approach(texts["PLAN.md"])
        plan = replace(
            plan,
            execution=how.execution,
            constraints=how.constraints,
            coordination=how.coordination,
        )
    return replace(plan, situation=said.situation, mission=said.mission)


def _record(log: EventLog, slug: str, texts: Mapping[str, str], name: str, ledger: _Ledger) -> None:
    """The decisions and risks of a track as events, with the times that they state."""
    if "DECISIONS.md" in texts:
        notes = read_decisions(texts["DECISIONS.md"])
        for entry in notes.entries:
            data = {key: entry[key] for key in ("decision", "reason", "impact")}
            _append(log, slug, "decision.recorded", data, entry)
        _tell(f"{TRACKS}/{name}/DECISIONS.md", slug, notes, "decision", ledger)
    if "RISKS.md" in texts:
        notes = read_risks(texts["RISKS.md"])
        for entry in notes.entries:
            words = entry["risk"]
            if entry.get("mitigation"):
                words += f"\nMitigation: {entry['mitigation']}"
            data = {"id": entry["id"], "severity": entry["severity"], "text": words}
            _append(log, slug, "risk.recorded", data, entry)
        _tell(f"{TRACKS}/{name}/RISKS.md", slug, notes, "risk", ledger)


def _append(
    log: EventLog, slug: str, kind: str, data: dict[str, str], entry: Mapping[str, str]
) -> None:
    if entry.get("at", "").strip():
        data = {**data, "at": entry["at"].strip()}
    log.append(slug, kind, data, key=f"{kind}:{digest(data)}", actor=ACTOR)


def _tell(path: str, slug: str, notes: Notes, what: str, ledger: _Ledger) -> None:
    ledger.put(path, "imported", f"plan {slug}: {len(notes.entries)} of kind {what}")
    ledger.notes += [f"{path}: {each}" for each in notes.assumed]
    ledger.notes += [f"{path}, line {line}: not imported: {text}" for line, text in notes.strays]


def _artifacts(
    root: Path, folder: Path, name: str, slug: str, ledger: _Ledger
) -> list[dict[str, str]]:
    """Copies of what the track's newest checkpoint refers to; older history is left."""
    path = f"{CHECKPOINTS}/{name}/latest.json"
    if not (folder / path).is_file():
        return []
    try:
        referred = sorted(set(_paths(json.loads((folder / path).read_bytes()))))
    except ValueError as problem:
        ledger.put(path, "left", f"it is no JSON ({problem})")
        return []
    found = []
    for each in referred:
        source = folder / each
        if not each.startswith("artifacts/") or ".." in Path(each).parts or not source.is_file():
            continue
        target = f".hornbook/plans/{slug}/artifacts/inputs/{each.removeprefix('artifacts/')}"
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, root / target)
        found.append({"path": target, "sha256": sha256(source.read_bytes()).hexdigest()})
        ledger.put(each, "imported", target)
    ledger.put(path, "imported", f"plan {slug}: {len(found)} artifacts that it refers to")
    return found


def _paths(value: object) -> Iterator[str]:
    """Every text in a JSON value, keys included: any of them may be a path."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _paths(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _paths(key)
            yield from _paths(each)


def _point(
    book: PlanBook, root: Path, folder: Path, tracks: list[str], ledger: _Ledger
) -> str | None:
    """Make the active track the active plan, unless there is one already."""
    if not (folder / ACTIVE).is_file():
        return None
    lines = _text(folder / ACTIVE).split()
    named = lines[0] if len(lines) == 1 else ""
    slug = slug_of(named) if named in tracks else None
    if slug is None:
        ledger.put(ACTIVE, "left", f"it names no track: {', '.join(lines) or 'it is empty'}")
    elif (root / ".hornbook" / POINTER).exists() and book.active() != slug:
        ledger.put(ACTIVE, "left", f"{book.active()} is active: `hornbook plans use {slug}`")
    else:
        book.use(slug)
        ledger.put(ACTIVE, "imported", f".hornbook/{POINTER}")
        return slug
    return None


def _account_for_the_rest(root: Path, folder: Path, ledger: _Ledger) -> None:
    same = folder.resolve() == root.resolve()
    for path in CORE_FILES:
        if (folder / path).is_file():
            kept = ("kept", "the core tier reads it") if same else ("left", "copy it by hand")
            ledger.put(path, *kept)
    for base in (TRACKS, "docs/context", "artifacts"):
        for each in sorted((folder / base).rglob("*")):
            path = each.relative_to(folder).as_posix()
            if each.is_file() and path not in ledger.entries:
                ledger.put(path, "left", _why_left(path))


def _why_left(path: str) -> str:
    if path.startswith(SESSIONS):
        return "older transient history: no checkpoint refers to it"
    if path.startswith(CHECKPOINTS):
        return "an older checkpoint, or one of no track"
    if path.startswith("docs/context/"):
        return "no file of the core tier"
    return "no file of a track that is known"


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path} is not UTF-8 ({problem}): save it as UTF-8.") from problem
