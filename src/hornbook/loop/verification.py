"""Whether everything below `.hornbook/` is as it was written, and says the same.

Each room vouches for its own files: the graph for index, journal and texts, plans for their logs.
What two rooms have to agree on is looked at here. Events are the truth of plans and runs: what is
projected from them is projected once more, into a folder aside, and compared byte for byte; what
they cite by its hash is looked up. A file that a person writes (settings, rules, templates,
workflows) has nothing that vouches for it but git, and is only read.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hornbook.commits.change import change
from hornbook.commits.history import deleted, missing_commits
from hornbook.context.receipt import own_hash
from hornbook.context.recovery import FileState, recover
from hornbook.disk import FileFault, now, temporary_folder
from hornbook.errors import EventLogError, HornbookError, NotFound, UsageError
from hornbook.graph.verification import IndexCheck
from hornbook.loop.runs.files import Projections, write_snapshots, write_task_files
from hornbook.loop.runs.lookup import workflows_of
from hornbook.loop.runs.state import RunState
from hornbook.plans import run_kinds as kinds
from hornbook.plans.active import active_plan
from hornbook.plans.audit.dropped_claims import refuted_by_git
from hornbook.plans.audit.dropped_logs import DROPPED, read_dropped
from hornbook.plans.events import Event
from hornbook.plans.files import write_if_changed
from hornbook.plans.log import EventLog
from hornbook.plans.run_records import write_run_records
from hornbook.plans.verification import VerifiedLog, database_faults, rows_of, verified_log
from hornbook.plans.workspace_log import open_log
from hornbook.rules.own_files.records import RECORD, unsealed
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

AGAIN = "run `hornbook recover {plan} --repair`, which writes it anew from the events."
RESTORE = "restore it from git or from a backup."
CHOOSE = "run `hornbook plans use SLUG`, or delete it."
MADE_ANEW = {
    "events.db": "`hornbook plans` makes it anew from the exports",
    "engine.db": "the next `hornbook execute` makes it anew from the events",
}


@dataclass(frozen=True, slots=True)
class Verification:
    """How many files were looked at, and those that are not as they were written."""

    checked: int
    problems: tuple[FileFault, ...]

    @property
    def ok(self) -> bool:
        """Whether everything is as it was written."""
        return not self.problems


def verify_state(places: Places, settings: Settings) -> Verification:
    """Look at every file below `.hornbook/`. Nothing is written.

    Raises:
        ConfigError: A workflow of the repository is wrong.
    """
    index = IndexCheck(places, settings)
    found = list(index.faults())
    state = StateCheck(places, settings)
    found += state.faults()
    each_once = {(fault.code, fault.path, fault.message): fault for fault in found}
    ordered = sorted(each_once.values(), key=lambda each: (each.path, each.code, each.message))
    return Verification(index.checked + state.checked, tuple(ordered))


class StateCheck:
    """Looks at plans, runs, records and what the engine has; `checked` counts the files."""

    def __init__(self, places: Places, settings: Settings) -> None:
        self._places = places
        self._settings = settings
        self._shared = settings.engine.database
        self.checked = 0

    def faults(self) -> Iterator[FileFault]:
        """Everything that is not as it was written."""
        state = self._places.state
        useless = False
        for name in () if self._shared else ("events.db", "engine.db"):
            self.checked += 1
            faults = list(database_faults(state / name, f".hornbook/{name}", MADE_ANEW[name]))
            useless = useless or bool(faults and name == "events.db")
            yield from faults
        logs: list[VerifiedLog] = []
        with ExitStack() as stack:
            log = None
            if self._shared or (state / "events.db").exists():
                try:
                    log = open_log(self._places, self._settings, now)
                    stack.callback(log.close)
                except EventLogError as problem:
                    remedy = "see whether the database can be reached, then try again."
                    told = str(problem)
                    if not useless:
                        yield FileFault("database_unusable", self._shown_log(), told, remedy)
            for plan in self._plans(log):
                logs.append(verified_log(state, plan, log))
                self.checked += 1
                yield from logs[-1].faults
            for each in logs:
                yield from self._plan_files(each, log)
        yield from self._marks(logs)
        yield from self._pointer(logs)
        yield from self._records()
        yield from self._cited(logs)
        yield from self._engine(logs)
        yield from self._quarantined()
        yield from self._missing(logs)

    def _missing(self, logs: Sequence[VerifiedLog]) -> Iterator[FileFault]:
        """Files that git has; those of plans whose logs were dropped are gone for good.

        That they were is what a line says: it excuses nothing if git's own version refutes it.
        """
        dropped, fault = read_dropped(self._places.state)
        if fault is not None:
            told = f"line {fault.line}: {fault.message}"
            yield FileFault("dropped_damaged", f".hornbook/{DROPPED}", told, RESTORE)
        here = {each.plan for each in logs}
        listed = [each for each in dropped if each.plan not in here]
        untrue = {each.plan for each in refuted_by_git(self._places.root, listed)}
        gone = {each.plan for each in listed} - untrue
        below = tuple(f".hornbook/plans/{plan}/" for plan in gone)
        for path in deleted(self._places.root, ".hornbook"):
            if path.startswith(below):
                continue
            told = "is in git, and is not there any more"
            yield FileFault("committed_file_missing", path, told, f"run `git restore {path}`.")

    def _shown_log(self) -> str:
        return "engine.database" if self._shared else ".hornbook/events.db"

    def _plans(self, log: EventLog | None) -> list[str]:
        if log is not None:
            return log.plans()
        exports = (self._places.state / "plans").glob("*/events.jsonl")
        return sorted(path.parent.name for path in exports)

    def _plan_files(self, found: VerifiedLog, log: EventLog | None) -> Iterator[FileFault]:
        """What is projected from a plan's events, and what a checkpoint vouches for."""
        remedy = AGAIN.format(plan=found.plan)
        try:
            recovery, _ = recover(self._places.state, found.plan, log or "it cannot be used")
        except (EventLogError, NotFound, UsageError) as problem:
            if not found.faults:
                path = f".hornbook/plans/{found.plan}"
                yield FileFault("plan_unreadable", path, str(problem), remedy)
            return
        self.checked += len(recovery.files) + len(recovery.artifacts)
        for each in (*recovery.files, *recovery.artifacts):
            if each.state is not FileState.SAME and not each.path.endswith("/events.jsonl"):
                told = f"is {each.state}: not what the plan's events say"
                yield FileFault(f"plan_file_{each.state}", each.path, told, remedy)
        kept = recovery.checkpoint
        if kept is not None and not kept.matches:
            path = f".hornbook/plans/{found.plan}/checkpoint.json"
            told = "is not what the events up to its own number give"
            yield FileFault("checkpoint_changed", path, told, remedy)
        yield from self._projected(found)
        yield from self._artifacts(found)

    def _projected(self, found: VerifiedLog) -> Iterator[FileFault]:
        """Projections of a plan's runs, made anew aside and compared byte for byte."""
        with temporary_folder("verify") as aside:
            self._project(found, aside)
            for path in sorted(each for each in aside.rglob("*") if each.is_file()):
                self.checked += 1
                shown = f".hornbook/{path.relative_to(aside)}"
                real = self._places.state / path.relative_to(aside)
                remedy = AGAIN.format(plan=found.plan)
                if not real.is_file():
                    told = "is not there, although the events of its run say what it holds"
                    yield FileFault("projection_missing", shown, told, remedy)
                elif real.read_bytes() != path.read_bytes():
                    told = "is not what the events of its run say"
                    yield FileFault("projection_changed", shown, told, remedy)

    def _project(self, found: VerifiedLog, state: Path) -> None:
        """Write what follows from a plan's events into a folder in the place of `.hornbook/`."""
        projections = Projections()
        projections.use(workflows_of(self._places, self._settings))
        write_run_records(state, found.events)
        for number, states in self._by_task(found, projections).items():
            folder = state / "plans" / found.plan / "tasks" / number
            write_task_files(folder, states)
            write_snapshots(self._places.root, folder / "artifacts" / "snapshots", states)

    def differing(self, plan: str) -> list[Path]:
        """The projections of a plan's runs that are there and are not what its events say."""
        found = verified_log(self._places.state, plan, None)
        paths = [self._places.root / fault.path for fault in self._projected(found)]
        return [path for path in paths if path.is_file()]

    def project_again(self, plan: str | None = None) -> None:
        """Write anew what follows from events: a copy may be of a moment before or after them.

        Of all plans, or of one.
        """
        state = self._places.state
        for found in self._logs():
            if plan not in {None, found.plan}:
                continue
            self._project(found, state)
            for name, text in _said_by_steps(found.events).items():
                write_if_changed(state / "plans" / found.plan / name, text)
            for shown, (base, commit) in _patches_kept(found).items():
                patches = change(self._places.root, f"{base}..{commit}").patches
                write_if_changed(self._places.root / shown, "".join(patches.values()))

    def ended_runs(self) -> list[str]:
        """The runs that ended, by the events."""
        return sorted(
            str(event.data["run"])
            for each in self._logs()
            for event in each.events
            if event.kind == kinds.ENDED
        )

    def _logs(self) -> list[VerifiedLog]:
        """The log of each plan, by its export alone, which a command has brought level."""
        state = self._places.state
        return [verified_log(state, plan, None) for plan in self._plans(None)]

    def _by_task(
        self, found: VerifiedLog, projections: Projections
    ) -> Mapping[str, Sequence[RunState]]:
        """The runs about each task, oldest first; where its workflow is gone, none."""
        try:
            runs = projections.runs(found.events)
        except EventLogError:
            return {}
        by_task: dict[str, list[RunState]] = {}
        for run in runs:
            if run.task is not None:
                by_task.setdefault(run.task.rpartition(".")[2], []).append(run)
        return by_task

    def _artifacts(self, found: VerifiedLog) -> Iterator[FileFault]:
        """What steps saw and said, which the events have by its hash or whole."""
        for name, expected in sorted(_kept_by_steps(found.events).items()):
            self.checked += 1
            shown = f".hornbook/plans/{found.plan}/{name}"
            path = self._places.root / shown
            if not path.is_file():
                told = "is not there, although an event says what it held"
                yield FileFault("artifact_missing", shown, told, RESTORE)
            elif sha256(path.read_bytes()).hexdigest() != expected:
                told = "is not what its event says"
                yield FileFault("artifact_changed", shown, told, RESTORE)
        yield from self._answers(found)
        yield from self._patches(found)

    def _answers(self, found: VerifiedLog) -> Iterator[FileFault]:
        """What reviewers answered: each file is an answer of its step, and each answer a file."""
        for place, said in sorted(_answered(found.events).items()):
            folder = self._places.state / "plans" / found.plan / place
            kept = {}
            for path in sorted(folder.parent.glob(f"{folder.name}-re[vf]*.json")):
                self.checked += 1
                kept[sha256(path.read_bytes()).hexdigest()] = path
            for digest in sorted(kept.keys() - said):
                shown = str(kept[digest].relative_to(self._places.root))
                told = "is not what its event says"
                yield FileFault("artifact_changed", shown, told, RESTORE)
            if said - kept.keys() and not kept.keys() - said:
                shown = str(folder.relative_to(self._places.root)) + "-reviewer-0-1.json"
                told = "is not there, although an event has the answer"
                yield FileFault("artifact_missing", shown, told, RESTORE)

    def _patches(self, found: VerifiedLog) -> Iterator[FileFault]:
        for shown, (base, commit) in sorted(_patches_kept(found).items()):
            self.checked += 1
            try:
                patches = change(self._places.root, f"{base}..{commit}").patches
            except (HornbookError, OSError):
                continue  # the commit is missing, which is told of it
            path = self._places.root / shown
            expected = "".join(patches.values()).encode("utf-8", "surrogateescape")
            if not path.is_file():
                yield FileFault("artifact_missing", shown, "is not there", RESTORE)
            elif path.read_bytes() != expected:
                told = "is not the change of its attempt's commit"
                yield FileFault("artifact_changed", shown, told, RESTORE)

    def _marks(self, logs: Sequence[VerifiedLog]) -> Iterator[FileFault]:
        """Up to which event files were written: never further than there are events."""
        path, shown = self._places.state / "events.db-written", ".hornbook/events.db-written"
        remedy = "delete it: the next command about a plan writes its files anew."
        if not path.exists():
            if logs and (self._places.state / "events.db").exists():
                yield FileFault("marks_damaged", shown, "is not there", remedy)
            return
        self.checked += 1
        try:
            marks = json.loads(path.read_bytes())
            pairs = dict(marks).items()
        except (ValueError, TypeError) as problem:
            yield FileFault("marks_damaged", shown, f"cannot be read: {problem}", remedy)
            return
        lengths = {each.plan: each.events for each in read_dropped(self._places.state)[0]}
        lengths |= {each.plan: len(each.events) for each in logs}
        wrong = [
            plan for plan, seq in pairs if not isinstance(seq, int) or seq > lengths.get(plan, 0)
        ]
        for plan in sorted(map(str, wrong)):
            told = f"says that files of plan {plan} have events that there are not"
            yield FileFault("marks_damaged", shown, told, remedy)

    def _pointer(self, logs: Sequence[VerifiedLog]) -> Iterator[FileFault]:
        shown = ".hornbook/ACTIVE_PLAN"
        try:
            slug = active_plan(self._places.state)
        except UsageError as problem:
            told = str(problem).removeprefix(f"{shown} ").rpartition(": ")[0]
            yield FileFault("pointer_damaged", shown, told, CHOOSE)
            return
        if slug is not None and slug not in {each.plan for each in logs}:
            told = f"names the plan {slug!r}, of which there is no event"
            yield FileFault("pointer_damaged", shown, told, CHOOSE)

    def _records(self) -> Iterator[FileFault]:
        """Receipts, reviews, conventions: each holds its own hash, and a receipt is named by it."""
        for path in sorted(self._places.records.glob("*/*.json")):
            family = path.parent.name
            if family not in {"receipts", "reviews", "conventions"}:
                continue
            self.checked += 1
            told = _record_fault(path, family)
            if told:
                shown = str(path.relative_to(self._places.root))
                yield FileFault("record_changed", shown, told, RESTORE)

    def _cited(self, logs: Sequence[VerifiedLog]) -> Iterator[FileFault]:
        """Records and commits that events cite are there, and are those that they cite."""
        commits: dict[str, str] = {}
        for event in (event for each in logs for event in each.events):
            for name in ("base", "commit", "head"):
                if isinstance(event.data.get(name), str):
                    commits.setdefault(event.data[name], event.plan)
            yield from self._receipts_of(event)
            if event.kind == kinds.CHECKED and event.data.get("record"):
                yield from self._review_of(event)
        for missing in missing_commits(self._places.root, sorted(commits)):
            told = f"the commit {missing} is missing, which the plan {commits[missing]} cites"
            yield FileFault("commit_missing", ".git", told, "fetch it from another clone.")

    def _receipts_of(self, event: Event) -> Iterator[FileFault]:
        for packet in event.data.get("packets", ()) if event.kind == kinds.ASSEMBLED else ():
            name = str(packet["receipt_sha256"])
            path = self._places.records / "receipts" / f"{name[:16]}.json"
            if not path.is_file():
                shown = str(path.relative_to(self._places.root))
                told = f"is not there, although event {event.seq} of plan {event.plan} cites it"
                yield FileFault("record_missing", shown, told, RESTORE)

    def _review_of(self, event: Event) -> Iterator[FileFault]:
        name = str(event.data["record"]).removeprefix("review.")
        path = self._places.records / "reviews" / f"{name}.json"
        shown = str(path.relative_to(self._places.root))
        told = f"event {event.seq} of plan {event.plan}"
        if not path.is_file():
            yield FileFault(
                "record_missing", shown, f"is not there, although {told} cites it", RESTORE
            )
            return
        try:
            sealed = json.loads(path.read_bytes()).get(RECORD)
        except (ValueError, AttributeError):
            return  # told as what it is
        if sealed != event.data.get("record_sha256"):
            yield FileFault("record_changed", shown, f"is not the one that {told} cites", RESTORE)

    def _engine(self, logs: Sequence[VerifiedLog]) -> Iterator[FileFault]:
        """Whether the engine knows of the ends that events tell of runs that it has, or had."""
        path = self._places.state / "engine.db"
        if self._shared or not path.exists():
            return
        ended = {
            str(event.data["run"]): event.plan
            for each in logs
            for event in each.events
            if event.kind == kinds.ENDED
        }
        known: dict[str, str] = dict(rows_of(path, "SELECT run, phase FROM hornbook_runs"))
        for run in sorted(ended):
            if run in known and known[run] != "ended":
                told = f"has the run {run} as {known[run]}, which ended: it is an older one"
                remedy = f"run `hornbook execute {ended[run]}`, which reads the events again."
                yield FileFault("engine_behind", ".hornbook/engine.db", told, remedy)

    def _quarantined(self) -> Iterator[FileFault]:
        """What was put aside is named by its hash."""
        for path in sorted((self._places.state / "quarantine").rglob("*")):
            digest = path.name.rpartition(".")[2]
            if path.is_file() and len(digest) == _SHORT:
                self.checked += 1
                if not sha256(path.read_bytes()).hexdigest().startswith(digest):
                    shown = str(path.relative_to(self._places.root))
                    yield FileFault("quarantine_changed", shown, "has another hash", RESTORE)


_SHORT = 12


def _record_fault(path: Path, family: str) -> str:
    try:
        facts = json.loads(path.read_bytes())
    except ValueError as problem:
        return f"cannot be read: {problem}"
    if not isinstance(facts, dict):
        return "is no object"
    if family != "receipts":
        return unsealed(facts)
    if own_hash(facts) != facts.get("receipt_sha256"):
        return "was edited: its receipt_sha256 is another one"
    return "" if str(facts["receipt_sha256"])[:16] == path.stem else "is another receipt"


def _folders(events: Sequence[Event]) -> dict[str, str]:
    """For each run the folder of what its steps keep, below the plan's."""
    return {
        str(event.data["run"]): (
            f"tasks/{str(event.data.get('task') or '.plan').rpartition('.')[2]}/artifacts"
        )
        for event in events
        if event.kind == kinds.STARTED
    }


def _place(event: Event) -> str:
    """The step that an event is of, as names of files have it."""
    return f"{event.data['run']}-{event.data['round']}-{event.data['number']}"


def _kept_by_steps(events: Sequence[Event]) -> dict[str, str]:
    """For each file that steps kept, the hash that it has; the newest counts."""
    found: dict[str, str] = {}
    folders = _folders(events)
    for event in events:
        folder = folders.get(str(event.data.get("run")), "")
        if event.kind == kinds.ASSEMBLED:
            for packet in event.data.get("packets", ()):
                digest = str(packet["prompt_sha256"])
                found[f"{folder}/inputs/{digest}.md"] = digest
        elif event.kind == kinds.DEVELOP:
            name = f"{_place(event)}-developer.md"
            found[f"{folder}/inputs/{name}"] = str(event.data["prompt_sha256"])
            found[f"{folder}/outputs/{name}"] = _hash(str(event.data["result"]))
    return found


def _said_by_steps(events: Sequence[Event]) -> dict[str, str]:
    """For each file that holds what an agent said, the text that its event has."""
    folders, found = _folders(events), {}
    for event in events:
        folder = f"{folders.get(str(event.data.get('run')), '')}/outputs"
        if event.kind == kinds.DEVELOP:
            found[f"{folder}/{_place(event)}-developer.md"] = str(event.data["result"])
        elif event.kind == kinds.REVIEW:
            name = f"{_place(event)}-reviewer-{event.data['packet']}-{event.data['ask']}.json"
            found[f"{folder}/{name}"] = str(event.data["answer"])
    return found


def _answered(events: Sequence[Event]) -> dict[str, set[str]]:
    """For each step of a reviewer, where its answers lie, and their hashes."""
    found: dict[str, set[str]] = {}
    folders = _folders(events)
    for event in events:
        if event.kind == kinds.REVIEW:
            place = f"{folders.get(str(event.data['run']), '')}/outputs/{_place(event)}"
            found.setdefault(place, set()).add(_hash(str(event.data["answer"])))
    return found


def _patches_kept(found: VerifiedLog) -> dict[str, tuple[str, str]]:
    """For each patch of an attempt, the commits between which it lies."""
    folders = _folders(found.events)
    return {
        f".hornbook/plans/{found.plan}/{folders.get(str(event.data['run']), '')}"
        f"/snapshots/{_place(event)}.patch": (str(event.data["base"]), str(event.data["commit"]))
        for event in found.events
        if event.kind == kinds.DEVELOP
    }


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
