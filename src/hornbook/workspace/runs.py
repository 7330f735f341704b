"""The runs of a workspace for people: what happened, where each stands, and what it asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hornbook.errors import NotFound
from hornbook.execute import run_kinds as kinds
from hornbook.execute.event_log import EventLog
from hornbook.execute.events import Event
from hornbook.execute.run_audit import breaches
from hornbook.execute.run_files import told
from hornbook.execute.run_records import asked_words, write_run_records
from hornbook.execute.run_state import RunState, Spent, gate_feedback, spent
from hornbook.execute.stepping import StepOutcome
from hornbook.execute.workflow.subjects import DEVELOP
from hornbook.workspace.loop_answering import answer_run
from hornbook.workspace.loop_ground import (
    Clock,
    find_run,
    runs_in,
    spawned_by,
    workflows_of,
)
from hornbook.workspace.memory import now
from hornbook.workspace.places import Places
from hornbook.workspace.settings import Settings


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in a line: what it is about, and how it stands."""

    id: str
    plan: str
    task: str | None
    workflow: str
    status: str
    step: str
    attempt: int
    message: str
    started_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a developer, and what gates and reviewers said to it."""

    number: int
    agent: str
    files: tuple[str, ...]
    tokens: int
    window: int
    error: str | None
    gates: str = ""
    review: str = ""
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run with its attempts, its end, and what is wrong with its log."""

    line: RunLine
    attempts: tuple[Attempt, ...]
    spent: Spent
    commit: str | None
    asks: str | None
    record: str | None
    spawned: tuple[str, ...]
    breaches: tuple[str, ...]


class RunBook:
    """Every run of one workspace."""

    def __init__(self, places: Places, settings: Settings, clock: Clock = now) -> None:
        self._places = places
        self._settings = settings
        self._clock = clock
        self._workflows = workflows_of(places, settings)

    def lines(self) -> list[RunLine]:
        """All runs, the newest first."""
        with self._log() as log:
            if log is None:
                return []
            found = [
                _line(run)
                for plan in log.plans()
                for run in runs_in(log.events(plan), self._workflows)
            ]
        return sorted(found, key=lambda line: (line.started_at, line.id), reverse=True)

    def report(self, run_id: str) -> RunReport:
        """One run, with everything that a person wants to know of it.

        Raises:
            NotFound: There is none with this id.
        """
        with self._log() as log:
            run = self._found(log, run_id)
            approved = run.newest(kinds.APPROVED)
            asked = run.asked if run.is_asking else None
            return RunReport(
                line=_line(run),
                attempts=tuple(_attempts(run)),
                spent=spent(run.events),
                commit=None if approved is None else str(approved.data["commit"]),
                asks=None if asked is None else asked_words(asked),
                record=None if asked is None else str(asked.data["record"]),
                spawned=spawned_by(run),
                breaches=tuple(breaches(run.events)),
            )

    def events(self, run_id: str) -> list[Event]:
        """The audit trail of a run: its events in order.

        Raises:
            NotFound: There is none with this id.
        """
        with self._log() as log:
            return list(self._found(log, run_id).events)

    def answer(self, run_id: str, text: str) -> StepOutcome:
        """Tell a run that asks what a person says; whoever drives it goes on.

        Raises:
            NotFound: There is none with this id.
            UsageError: It asks nothing.
        """
        with self._log() as log:
            run = self._found(log, run_id)
            if log is None:
                raise NotFound(f"there is no run {run_id!r}: `hornbook runs` lists them.")
            outcome = answer_run(log, run, text, self._workflows)
            write_run_records(self._places.state, self._found(log, run_id).events)
            return outcome

    def _found(self, log: EventLog | None, run_id: str) -> RunState:
        wanted = run_id.removeprefix("run.")
        run = find_run(log, wanted, self._workflows) if log is not None else None
        if run is None:
            raise NotFound(f"there is no run {run_id!r}: `hornbook runs` lists them.")
        return run

    @contextmanager
    def _log(self) -> Iterator[EventLog | None]:
        """The log; None where there was never a plan."""
        state = self._places.state
        local = not self._settings.engine.database
        if local and not (state / "events.db").exists() and not (state / "plans").is_dir():
            yield None
            return
        known = kinds.kinds_for(self._workflows)
        log = EventLog(state, self._clock, database=self._settings.engine.database, kinds=known)
        try:
            for plan in log.plans():
                log.sync(plan)
            yield log
        finally:
            log.close()


def _line(run: RunState) -> RunLine:
    message = run.ended.data["reason"] if run.ended is not None else ""
    if run.is_asking and run.asked is not None:
        message = asked_words(run.asked)
    return RunLine(
        id=run.id,
        plan=run.plan,
        task=run.task,
        workflow=run.workflow or "plan",
        status=run.status,
        step=run.step,
        attempt=run.attempt,
        message=message,
        started_at=run.begun.at,
        updated_at=run.events[-1].at,
    )


def _attempts(run: RunState) -> Iterator[Attempt]:
    """Each attempt with what came of it before the next."""
    steps = run.of(DEVELOP, kinds.GATED, kinds.CHECKED)
    starts = [place for place, event in enumerate(steps) if event.kind == DEVELOP]
    for place, end in zip(starts, [*starts[1:], len(steps)], strict=True):
        work, after = steps[place].data, steps[place + 1 : end]
        gates = [event for event in after if event.kind == kinds.GATED]
        checks = [event for event in after if event.kind == kinds.CHECKED]
        failed = gate_feedback(gates[-1].data) if gates else ""
        said = str(checks[-1].data.get("feedback", "")) if checks else ""
        yield Attempt(
            number=work["attempt"],
            agent=work["agent"],
            files=tuple(work["files"]),
            tokens=work["tokens"],
            window=work["window"],
            error=work.get("error"),
            gates=told(gates[-1]) if gates else "",
            review=told(checks[-1]) if checks else "",
            feedback=failed or said,
        )
