"""Finds runs in the event log, and tells how each stands."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from hornbook.loop.protocol import StepKind, StepOutcome
from hornbook.loop.runs.state import RunState, project_run, with_attempts
from hornbook.loop.workflow.definition import SHIPPED, Workflow
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.log import EventLog
from hornbook.plans.run_kinds import TRIGGER
from hornbook.plans.run_records import question_text
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings


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
        return _outcome(run, StepKind.ASKING, "asking", said)
    return _outcome(run, StepKind.CONTINUED, run.status, run.step)


def _outcome(run: RunState, kind: StepKind, status: str, message: str) -> StepOutcome:
    spawned = spawned_by(run)
    return StepOutcome(kind, run.id, status=status, message=message, spawned=spawned)


def workflows_of(places: Places, settings: Settings) -> Mapping[str, Workflow]:
    """The workflows of a workspace, with its number of attempts.

    Raises:
        ConfigError: One of its own files is wrong.
    """
    folder = places.state / "workflows"
    own = {path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))}
    shipped = ShippedWorkflows(settings.engine.attempts)
    if not own:
        return shipped
    from hornbook.loop.workflow.load import load_workflows, shipped_workflows  # noqa: PLC0415  # start-up

    loaded = load_workflows(shipped_workflows(), own)
    theirs = {workflow.id for workflow in loaded.values() if workflow not in shipped_workflows()}
    return {name: flow if name in theirs else shipped[name] for name, flow in loaded.items()}


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
