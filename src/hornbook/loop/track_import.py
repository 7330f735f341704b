"""Takes over the tracks of another layout: each becomes a plan, every file is accounted for."""

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from hornbook.context.tiers import CORE_FILES
from hornbook.errors import NotFound, UsageError
from hornbook.loop.memory import Memory
from hornbook.loop.plan_book import PlanBook
from hornbook.plans import event_keys
from hornbook.plans.active import POINTER
from hornbook.plans.log import EventLog
from hornbook.plans.plan import RISK_SEVERITIES, Constraints, Plan
from hornbook.plans.state import plan_data
from hornbook.plans.store import PlanStore
from hornbook.plans.text import outside_fences
from hornbook.rules.ids import slug as slug_of
from hornbook.settings.places import Places
from hornbook.text.plan_syntax import KINDS, read_bullet

NOT_STATED = "not stated"

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FIELD = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?\**(?P<name>[A-Za-z][A-Za-z ]{0,20}?)\**[ \t]*:\**[ \t]*(?P<value>.*)"
)
_TAGGED = re.compile(
    r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\**(?P<id>[A-Za-z]+-?\d+)\**[ \t:.-]*)?"
    r"(?:[\[(]\**(?P<severity>low|medium|high|critical)\**[\])][ \t]*:?[ \t]*)?(?P<text>\S.*)",
    re.IGNORECASE,
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")

SITUATION = frozenset({"situation", "background", "context", "problem", "current state"})
MISSION = frozenset({"mission", "goal", "goals", "objective", "objectives", "intent"})
CRITERIA = frozenset({"criteria", "success criteria", "acceptance criteria", "acceptance"})
COORDINATION = frozenset({"coordination", "dependencies", "risks/dependencies"})


@dataclass(frozen=True, slots=True)
class Specification:
    """What a SPEC.md says: its title, the situation, and the mission with its criteria."""

    title: str
    situation: str
    mission: str


@dataclass(frozen=True, slots=True)
class Approach:
    """What a PLAN.md says: how it is done, how far it reaches, what it depends on."""

    execution: str
    constraints: Constraints
    coordination: str


@dataclass(frozen=True, slots=True)
class Notes:
    """The entries of a record, and the lines that belong to none."""

    entries: tuple[Mapping[str, str], ...]
    strays: tuple[tuple[int, str], ...] = ()
    assumed: tuple[str, ...] = ()
    """What an entry did not say and was filled in."""


def read_specification(text: str) -> Specification:
    """Situation, mission and criteria of a SPEC.md; other sections are part of the situation."""
    title, sections = _sections(text)
    found: dict[str, list[str]] = {"situation": [], "mission": [], "criteria": []}
    for heading, body in sections:
        name = heading.lower().rstrip(":")
        if name in CRITERIA:
            found["criteria"].append(_items(body))
        elif name in MISSION:
            found["mission"].append(body)
        elif name in SITUATION or not heading:
            found["situation"].append(body)
        else:
            found["situation"].append(f"### {heading}\n\n{body}".strip())
    mission = found["mission"]
    if found["criteria"]:
        mission = [*mission, "Success criteria:\n\n" + "\n".join(found["criteria"])]
    return Specification(title, _joined(found["situation"]), _joined(mission))


def read_approach(text: str) -> Approach:
    """The steps of a PLAN.md, with the constraints and dependencies that it names."""
    _, sections = _sections(text)
    execution: list[str] = []
    coordination: list[str] = []
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for heading, body in sections:
        name = heading.lower().rstrip(":")
        if name == "constraints":
            rest = _taken(body, found)
            execution += [f"### {heading}\n\n{rest}"] if rest else []
        elif name in COORDINATION:
            coordination.append(body)
        elif not heading or name in {"execution", "plan", "steps", "tasks"}:
            execution.append(body)
        else:
            execution.append(f"### {heading}\n\n{body}".strip())
    constraints = Constraints(*(tuple(found[kind]) for kind in KINDS))
    return Approach(_joined(execution), constraints, _joined(coordination))


def read_decisions(text: str) -> Notes:
    """The decisions of a record, each with decision, reason and impact, and its time if stated."""
    return _notes(text, "decision", {"reason", "impact"}, {"at", "date", "time", "id"})


def read_risks(text: str) -> Notes:
    """The risks of a record: entries of fields, or bullets such as `- R1 [high]: text`."""
    fields = _notes(text, "risk", set(), {"severity", "id", "at", "date", "mitigation"})
    entries: list[Mapping[str, str]] = list(fields.entries)
    strays, assumed = [], list(fields.assumed)
    for line, words in fields.strays:
        found = _TAGGED.fullmatch(words)
        if found is None:
            strays.append((line, words))
            continue
        severity = {"severity": found["severity"].lower()} if found["severity"] else {}
        name = {"id": found["id"]} if found["id"] else {}
        entries.append({"risk": found["text"], **severity, **name})
    made = []
    for number, entry in enumerate(entries, 1):
        said = dict(entry)
        if said.get("severity", "").lower() not in RISK_SEVERITIES:
            assumed.append(f"risk {number} has no severity that is known: medium is assumed")
            said["severity"] = "medium"
        said["severity"] = said["severity"].lower()
        said.setdefault("id", f"R{number}")
        made.append(said)
    return Notes(tuple(made), tuple(strays), tuple(assumed))


def _notes(text: str, first: str, required: set[str], optional: set[str]) -> Notes:
    entries: list[dict[str, str]] = []
    strays: list[tuple[int, str]] = []
    dated = ""
    last = ""
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            when = _TIME.search(heading[2])
            dated, last = (when[0] if when else dated), ""
            strays += [] if when or number == 1 else [(number, line)]
            continue
        field = _FIELD.fullmatch(line)
        name = field["name"].lower() if field is not None else ""
        if field is not None and name == first:
            entries.append({first: field["value"], **({"at": dated} if dated else {})})
            last = first
        elif field is not None and entries and last and name in required | optional:
            last = "at" if name in {"date", "time"} else name
            entries[-1][last] = field["value"]
        elif line.strip() and last and line[0] in " \t":
            entries[-1][last] += f"\n{line.strip()}"
        elif line.strip():
            strays.append((number, line))
            last = ""
    return _completed(entries, strays, first, required)


def _completed(
    entries: Sequence[dict[str, str]],
    strays: Sequence[tuple[int, str]],
    first: str,
    required: Iterable[str],
) -> Notes:
    assumed = []
    for number, entry in enumerate(entries, 1):
        for name in (first, *sorted(required)):
            if not entry.get(name, "").strip():
                entry[name] = NOT_STATED
                assumed.append(f"{first} {number} does not state its {name}")
    return Notes(tuple(entries), tuple(strays), tuple(assumed))


def _sections(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The title of a text, and its sections by their headings; the first has none."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    title = ""
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line, outside in zip(lines, outside_fences(lines), strict=True):
        heading = _HEADING.fullmatch(line) if outside else None
        if heading is not None and len(heading[1]) == 1 and not title:
            title = heading[2]
        elif heading is not None and len(heading[1]) <= 2:
            sections.append((heading[2], []))
        else:
            sections[-1][1].append(line)
    found = [(name, "\n".join(body).strip()) for name, body in sections]
    return title, [(name, body) for name, body in found if name or body]


def _items(body: str) -> str:
    """Criteria as items that the check of a plan reads."""
    lines = [line for line in body.split("\n") if line.strip()]
    listed = any(re.match(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]", line) for line in lines)
    return "\n".join(lines if listed else [f"- {line.strip()}" for line in lines])


def _taken(body: str, found: dict[str, list[str]]) -> str:
    """What of a text is no constraint; the constraints are added to `found`."""
    rest = []
    for line in body.split("\n"):
        bullet = read_bullet(line)
        if bullet is None:
            rest.append(line)
        else:
            found[bullet[0]] += bullet[1]
    return "\n".join(rest).strip()


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())


TRACKS = "docs/tracks"
ACTIVE = f"{TRACKS}/ACTIVE_TRACK"
SESSIONS = "artifacts/sessions"
CHECKPOINTS = "artifacts/checkpoints"
TRACK_FILES = ("SPEC.md", "PLAN.md", "DECISIONS.md", "RISKS.md")
PARTS = {"SPEC.md": "situation and mission", "PLAN.md": "execution and constraints"}


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


def _track_texts(folder: Path) -> dict[str, str]:
    """The files of a track that are there, by their names."""
    paths = {file: folder / file for file in TRACK_FILES}
    return {file: _text(path) for file, path in paths.items() if path.is_file()}


def _import_track(memory: Memory, root: Path, folder: Path, name: str, ledger: _Ledger) -> None:
    slug = slug_of(name)
    texts = _track_texts(folder / TRACKS / name)
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
        log.append(slug, "plan.explored", begun, key="plan.explored")
        log.append(slug, "plan.imported", data, key=event_keys.imported("imported", data))
        _record(log, slug, texts, name, ledger)
        store.view(slug)
        first = next(event for event in log.events(slug) if event.kind == "plan.imported")
    for file, part in PARTS.items():
        if file not in texts:
            continue
        path = f"{TRACKS}/{name}/{file}"
        if first.data["files"].get(path) == hashes[path]:
            ledger.put(path, "imported", f"plan {slug}: {part}")
        else:
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
    log.append(slug, kind, data, key=event_keys.imported(kind, data))


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
