"""Finds runs in the event log, and tells how each stands."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath

from hornbook.commits.commit import Commit, commit_at
from hornbook.context.templates.roles import TEMPLATES
from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.loop.runs.state import RunState, project_run, with_attempts
from hornbook.loop.workflow.definition import SHIPPED, Workflow, Workflows
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.log import EventLog
from hornbook.plans.run_kinds import TRIGGER
from hornbook.plans.run_records import question_text
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

FOLDER = ".hornbook/workflows"


def find_run(log: EventLog, run_id: str, workflows: Mapping[str, Workflow]) -> RunState | None:
    """A run by its id, whichever plan it belongs to."""
    plan = log.plan_with(event_keys.run_started(run_id))
    return None if plan is None else project_run(log.events(plan), run_id, workflows)


def spawned_by(run: RunState) -> tuple[str, ...]:
    """Every run that a run started, in order; whoever drives the loop has to know them all."""
    found: list[str] = []
    for event in run.events:
        if event.kind.startswith(TRIGGER):
            found += event.data["runs"]
    return tuple(dict.fromkeys(found))


def outcome_of(run: RunState) -> StepOutcome:
    """How a run stands, as the one who drives it needs to know."""
    if run.ended is not None:
        reason = kinds.ended(run.ended)["reason"]
        return _outcome(run, StepKind.ENDED, run.status, reason)
    if run.is_asking and run.asked is not None:
        said = question_text(run.asked)
        asking = _outcome(run, StepKind.ASKING, "asking", said)
        return replace(asking, question=run.asked.seq)
    return _outcome(run, StepKind.CONTINUED, run.status, run.step)


def _outcome(run: RunState, kind: StepKind, status: str, message: str) -> StepOutcome:
    spawned = spawned_by(run)
    return StepOutcome(kind, run.id, status=status, message=message, spawned=spawned)


def workflows_of(places: Places, settings: Settings) -> Workflows:
    """The workflows of a workspace, with its number of attempts.

    Raises:
        ConfigError: One of its own files is wrong.
    """
    folder = places.state / "workflows"
    own = {path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))}
    attempts = settings.engine.attempts
    return RepositoryWorkflows(places.root, attempts, _with_own(own, attempts))


def _with_own(own: Mapping[str, bytes], attempts: int) -> Mapping[str, Workflow]:
    """The shipped workflows with that number of attempts, and a repository's own."""
    shipped = ShippedWorkflows(attempts)
    if not own:
        return shipped
    from hornbook.loop.workflow.load import load_workflows, shipped_workflows  # noqa: PLC0415  # start-up

    loaded = load_workflows(shipped_workflows(), own)
    theirs = {workflow.id for workflow in loaded.values() if workflow not in shipped_workflows()}
    return {name: flow if name in theirs else shipped[name] for name, flow in loaded.items()}


@dataclass(frozen=True, slots=True)
class RepositoryWorkflows(Workflows):
    """The workflows of a repository: as the work tree has them, and as any commit does."""

    root: Path
    attempts: int
    here: Mapping[str, Workflow]

    def __getitem__(self, workflow_id: str) -> Workflow:
        return self.here[workflow_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.here)

    def __len__(self) -> int:
        return len(self.here)

    def at(self, commit: str) -> Mapping[str, Workflow]:
        """The workflows as a commit has them.

        Raises:
            ConfigError: One of the files there is wrong.
        """
        held = commit_at(self.root, commit)

        def read() -> Mapping[str, Workflow]:
            own = {
                PurePosixPath(path).name: held.text(path) or b""
                for path in held.modes
                if path.endswith(".json") and PurePosixPath(path).parent.as_posix() == FOLDER
            }
            return _with_own(own, self.attempts)

        return held.memo(("workflows", self.attempts), read)


def uncommitted(root: Path, head: Commit | None = None) -> list[str]:
    """The templates and workflows of the work tree that HEAD has otherwise, or not at all."""
    head = head or commit_at(root, "HEAD")
    folders = (PurePosixPath(FOLDER), PurePosixPath(TEMPLATES))
    here = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for folder in folders
        for path in (root / folder).glob("*")
        if path.suffix in {".json", ".xml"}
    }
    there = {path for path in head.modes if PurePosixPath(path).parent in folders}
    return sorted(path for path in here.keys() | there if here.get(path) != head.text(path))


@dataclass(frozen=True, slots=True)
class ShippedWorkflows(Mapping[str, Workflow]):
    """The shipped workflows with a number of attempts; each is read when it is asked for."""

    attempts: int

    def __getitem__(self, workflow_id: str) -> Workflow:
        return _shipped(workflow_id, self.attempts)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(SHIPPED))

    def __len__(self) -> int:
        return len(SHIPPED)


@cache
def _shipped(workflow_id: str, attempts: int) -> Workflow:
    from hornbook.loop.workflow.load import shipped_workflow  # noqa: PLC0415  # start-up

    if workflow_id not in SHIPPED:
        raise KeyError(workflow_id)
    return with_attempts(shipped_workflow(workflow_id), attempts)
