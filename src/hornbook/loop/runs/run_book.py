"""The runs of a workspace for people: what happened, where each stands, and what it asks."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from hornbook.disk import now
from hornbook.errors import EventLogError, NotFound
from hornbook.gates.gate import COPIED
from hornbook.loop.runs.log import Followed, LazyEventLog
from hornbook.loop.runs.lookup import find_run, spawned_by, workflows_of
from hornbook.loop.runs.overview import GivenAnswer, RunLine, StoppedRun
from hornbook.loop.runs.state import HOLDS, RunState, base_told, by_run, gate_feedback, project_run
from hornbook.plans import event_keys
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data, Event
from hornbook.plans.log import Clock, EventLog
from hornbook.plans.principal import Principal, at_command_line, require_human
from hornbook.plans.run_kinds import DEVELOP, REVIEW
from hornbook.plans.run_records import Spent, question_text, spent, write_run_records
from hornbook.settings.places import Places
from hornbook.settings.settings import Settings

if TYPE_CHECKING:
    from hornbook.loop.runs.overview import RunRow
    from hornbook.loop.runs.question import RunQuestion
    from hornbook.loop.steps.answer import Word


@dataclass(slots=True)
class _Seen:
    """What a run showed since the developer last changed something."""

    passed: str | None = None
    approved: str | None = None
    together: str | None = None


def breaches(events: Iterable[Event]) -> list[str]:
    """Every event of a log that should not be there, with the reason; none in an honest log.

    A reviewer is asked only about a tree that all required gates passed since it was made. A task
    is approved only for the tree of an accepted review, or by the word of a person; and only if
    all required gates passed for it together with what came onto the plan's branch first.
    """
    seen: dict[str, _Seen] = {}
    return [
        f"event {event.seq} ({event.kind}): {reason}"
        for event in events
        for reason in _breaches_of(event, seen.setdefault(str(event.data.get("run")), _Seen()))
    ]


def _breaches_of(event: Event, seen: _Seen) -> Iterator[str]:
    if event.kind in {DEVELOP, kinds.MERGED}:
        _begin_anew(event, seen)
    elif event.kind == kinds.GATED:
        yield from _breaches_of_gates(kinds.gates(event), seen)
    elif event.kind == kinds.CHECKED:
        checked = kinds.checked(event)
        seen.approved = checked["tree"] if checked["outcome"] == "approved" else None
    elif event.kind == REVIEW:
        tree = kinds.review_answer(event)["tree"]
        if seen.passed != tree:
            yield f"the gates have not passed for the tree {tree[:12]} that it is about"
    elif event.kind == kinds.ANSWERED:
        yield from _breaches_of_word(event, seen)
    elif event.kind == kinds.APPROVED:
        yield from _breaches_of_approval(event.data, seen)


def _begin_anew(event: Event, seen: _Seen) -> None:
    """What was shown does not count for other work, but for a review that holds for it."""
    seen.passed = seen.together = None
    if event.kind == kinds.MERGED and kinds.merged(event)["review"] == HOLDS:
        seen.together = kinds.merged(event)["tree"]
    else:
        seen.approved = None


def _breaches_of_word(event: Event, seen: _Seen) -> Iterator[str]:
    """A word that approves is a person's; those from before words had actions approve nothing."""
    said = kinds.answer(event)
    if "tree" not in said:
        return
    if not event.principal.is_human:
        yield f"{event.principal.id} is no person and decided over work"
    elif said.get("action") == "overrule" or said.get("verdict") == "approved":
        seen.approved = said["tree"]


def _breaches_of_gates(report: kinds.GatesData, seen: _Seen) -> Iterator[str]:
    honest = _all_passed(report)
    seen.passed = report["tree"] if report["passed"] and honest else None
    if report["passed"] and not honest:
        yield "it says passed, but a required gate did not pass, or there was none"


def _breaches_of_approval(approved: Data, seen: _Seen) -> Iterator[str]:
    """Nothing where the task was approved in the plan that this one took the place of."""
    if seen.approved != approved["tree"] and not approved.get("carried_from"):
        yield f"no accepted review approved the tree {approved['tree'][:12]}"
    if seen.together not in {None, seen.passed} and "answer" not in approved:
        yield "the gates have not passed for it together with what came onto the branch first"


def _all_passed(report: kinds.GatesData) -> bool:
    required = [gate for gate in report["gates"] if gate["required"]]
    return bool(required) and all(gate["status"] in {"passed", "warned"} for gate in required)


_PLAN = "plan."


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a developer, and what gates and reviewers said to it.

    `tokens` are those of its prompt, `used` all that the agent says it read and wrote.
    """

    number: int
    agent: str
    files: tuple[str, ...]
    tokens: int
    window: int
    used: int
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
    answers: tuple[str, ...]
    spawned: tuple[str, ...]
    breaches: tuple[str, ...]
    warnings: tuple[str, ...] = ()


class RunBook:
    """Every run of one workspace; it may be asked from several threads, and is to be closed.

    `by` is who answers, by default whoever runs this process.
    """

    def __init__(
        self,
        places: Places,
        settings: Settings,
        clock: Clock = now,
        *,
        by: Principal | None = None,
    ) -> None:
        self._principal = by
        self._settings = settings
        self._places = places
        self._workflows = workflows_of(places, settings)
        self._log = LazyEventLog(places, settings, kinds.kinds_for(self._workflows), clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._log.close()

    def lines(self, plan: str | None = None) -> list[RunLine]:
        """All runs, the newest first; those of one plan if it is named, by slug or id."""
        log = self._log.synced()
        if log is None:
            return []
        wanted = plan.removeprefix(_PLAN) if plan is not None else None
        found = [
            line
            for each in log.plans()
            if wanted in {None, each}
            for line in self._lines(log.events(each))
        ]
        return sorted(found, key=lambda line: (line.started_at, line.id), reverse=True)

    def rows(self, plan: str | None = None) -> "list[RunRow]":
        """The same runs at a glance, each with what its events add up to."""
        from hornbook.loop.runs.overview import run_row  # noqa: PLC0415  # start-up

        log = self._log.synced()
        if log is None:
            return []
        wanted = plan.removeprefix(_PLAN) if plan is not None else None
        moment, found = now(), []
        for each in log.plans():
            if wanted not in {None, each}:
                continue
            events = log.events(each)
            mine = by_run(events)
            found += [run_row(line, mine.get(line.id, []), moment) for line in self._lines(events)]
        return sorted(found, key=lambda row: (row.started_at, row.id), reverse=True)

    def line(self, run_id: str) -> RunLine:
        """One run in a line.

        Raises:
            NotFound: There is none with this id.
        """
        log, run = self._run_of(run_id)
        return next(line for line in self._lines(log.events(run.plan)) if line.id == run.id)

    def row(self, run_id: str) -> "RunRow":
        """One run at a glance.

        Raises:
            NotFound: There is none with this id.
        """
        line = self.line(run_id)
        return next(row for row in self.rows(line.plan) if row.id == line.id)

    def begun_by(self, run_id: str) -> "list[RunRow]":
        """The runs that a run began, and these, at a glance, the youngest first.

        Raises:
            NotFound: There is none with this id.
        """
        log, run = self._run_of(run_id)
        family = frozenset(_family(run.id, log.events(run.plan))) - {run.id}
        return [row for row in self.rows(run.plan) if row.id in family]

    def report(self, run_id: str) -> RunReport:
        """One run, with everything that a person wants to know of it.

        Raises:
            NotFound: There is none with this id.
        """
        _, run = self._run_of(run_id)
        approved = run.newest(kinds.APPROVED)
        asked = run.asked if run.is_asking else None
        return RunReport(
            line=_line(run),
            attempts=tuple(_attempts(run)),
            spent=spent(run.events),
            commit=None if approved is None else str(approved.data["commit"]),
            asks=None if asked is None else _asked_in_full(asked),
            record=None if asked is None else kinds.signal(asked)["record"],
            answers=() if asked is None else _answers(run, asked),
            spawned=spawned_by(run),
            breaches=tuple(breaches(run.events)),
            warnings=warnings_in(run),
        )

    def events(self, run_id: str) -> list[Event]:
        """The audit trail of a run: its events in order.

        Raises:
            NotFound: There is none with this id.
        """
        return list(self._run_of(run_id)[1].events)

    def question(self, run_id: str) -> "RunQuestion | None":
        """What a run asks a person, with the evidence at hand; None if it asks nothing.

        Raises:
            NotFound: There is none with this id.
        """
        from hornbook.loop.runs.question import question_of  # noqa: PLC0415  # start-up: the steps

        return question_of(self._run_of(run_id)[1])

    def all_events(self) -> list[Event]:
        """Every event of every plan that has runs, each plan's in order.

        Raises:
            EventLogError: The chain of a plan's events is broken.
        """
        log = self._log.synced()
        if log is None:
            return []
        plans = sorted({event.plan for event in log.of_kind(kinds.STARTED)})
        return [event for plan in plans for event in log.events(plan)]

    def overruled(self) -> frozenset[str]:
        """The ids of the recorded reviews that a person decided against."""
        log = self._log.synced()
        answers = map(kinds.answer, log.of_kind(kinds.ANSWERED) if log is not None else ())
        against = (each.get("review") for each in answers if each.get("action") == "overrule")
        return frozenset(each for each in against if each is not None)

    def answer(self, run_id: str, said: "Word") -> GivenAnswer:
        """Tell a run that asks what a person says; whoever drives it goes on.

        Raises:
            NotFound: There is none with this id.
            NotAPerson: Whoever says so is none.
            UsageError: It asks nothing, or the action does not fit.
        """
        from hornbook.loop.steps.answer import answer_run  # noqa: PLC0415  # start-up: loads the steps

        log, run = self._run_of(run_id)
        by = self._principal or at_command_line(self._places.state)
        via = self._settings.answer.via
        require_human(by, "answer a run", self._places.state, via)
        outcome = answer_run(log, run, said, self._workflows, by=by, amend=self._amend)
        write_run_records(self._places.state, self._run_of(run_id)[1].events)
        return GivenAnswer(outcome.run_id, outcome.status, outcome.message, said.action, by)

    def stop(self, run_id: str, reason: str) -> StoppedRun:
        """End a run and those that it began, as far as they are not over.

        The agent or the gates of a step that is under way are ended within seconds, wherever they
        run, and nothing follows them.

        Raises:
            NotFound: There is none with this id.
        """
        from hornbook.loop.engine.engine_runs import wake  # noqa: PLC0415  # start-up: SQLAlchemy

        log, run = self._run_of(run_id)
        by = self._principal or at_command_line(self._places.state)
        live = {line.id for line in self._lines(log.events(run.plan)) if not _is_over(line)}
        family = [each for each in _family(run.id, log.events(run.plan)) if each in live]
        for each in family:
            data = {
                "run": each,
                "status": "stopped",
                "reason": f"{by.id} stopped it: {reason}" if reason else f"{by.id} stopped it",
                "spawned": [],
            }
            log.append(run.plan, kinds.ENDED, data, key=event_keys.run_ended(each), by=by)
            wake(self._places, self._settings, each)
        return StoppedRun(run.id, self.line(run.id).status, tuple(family))

    def _amend(self, plan: str, said: "Word") -> None:
        """Change sections of a plan; the tasks that were fixed stay as they are."""
        from hornbook.hooks.compiler import guarded  # noqa: PLC0415  # only this needs it
        from hornbook.plans.store import PlanStore  # noqa: PLC0415  # the same

        log = self._log.opened()
        if log is not None:
            store = PlanStore(self._places.state, log)
            view = store.amend(plan, said.text, reason=said.reason, by=self._principal)
            guarded(self._places.root, self._settings, view)

    def follow(self, name: str) -> Followed:
        """What an id names: a run, or a plan as `plan.<slug>`.

        Raises:
            NotFound: It names neither.
        """
        slug = name.removeprefix(_PLAN)
        log = self._log.synced()
        if log is not None and name.startswith(_PLAN) and slug in log.plans():
            return Followed(slug)
        _, run = self._run_of(name)
        return Followed(run.plan, run.id, None if run.ended is None else run.ended.seq)

    def later(self, followed: Followed, seq: int) -> list[Event]:
        """The events of what is followed behind a number in its plan's log."""
        log = self._log.opened()
        events = log.later(followed.plan, seq) if log is not None else []
        return [event for event in events if followed.concerns(event)]

    def heads(self) -> dict[str, int]:
        """The number of the newest event of each plan, for whoever waits for the next."""
        log = self._log.opened()
        return {} if log is None else log.heads()

    def printed(self, plan: str) -> dict[str, int]:
        """How much the agents of each run of a plan have printed that is not over, in bytes."""
        from hornbook.loop.runs.overview import log_files  # noqa: PLC0415  # start-up

        log = self._log.opened()
        events = [] if log is None else log.events(plan)
        mine = by_run(events)
        over = {str(event.data["run"]) for event in events if event.kind == kinds.ENDED}
        return {
            run: sum(_size(file.path) for file in log_files(mine[run]))
            for run in mine
            if run not in over
        }

    def _lines(self, events: list[Event]) -> list[RunLine]:
        """The runs of a plan; one that cannot be gone on with keeps no others from being listed."""
        unreadable: list[RunLine] = []
        every: list[RunState] = []
        for run_id, mine in by_run(events).items():
            try:
                run = project_run(mine, run_id, self._workflows)
            except EventLogError as problem:
                unreadable.append(_unreadable(run_id, mine, str(problem)))
            else:
                every += [run] if run is not None else []
        return [*unreadable, *_side_by_side(every)]

    def _run_of(self, run_id: str) -> tuple[EventLog, RunState]:
        log = self._log.synced()
        wanted = run_id.removeprefix("run.")
        run = find_run(log, wanted, self._workflows) if log is not None else None
        if log is None or run is None:
            raise NotFound(f"there is no run {run_id!r}: `hornbook runs` lists them.")
        return log, run


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _is_over(line: RunLine) -> bool:
    return line.status not in {"running", "waiting", "asking", "unreadable"}


def _family(run_id: str, events: Iterable[Event]) -> list[str]:
    """A run and all that it began, and these, the youngest first."""
    family = [run_id]
    for event in events:
        if event.kind == kinds.STARTED and kinds.started(event).get("parent") in family:
            family.append(str(event.data["run"]))
    return family[::-1]


def _asked_in_full(asked: Event) -> str:
    """What a person is asked, and what the gates printed that are asked about."""
    red = kinds.signal(asked)["payload"].get("red") or {}
    return "\n\n".join([question_text(asked), *(f"{name}: {said}" for name, said in red.items())])


def _answers(run: RunState, asked: Event) -> tuple[str, ...]:
    from hornbook.loop.steps.answer import how_to_answer  # noqa: PLC0415  # start-up: loads the steps

    return tuple(how_to_answer(run, asked.kind, kinds.signal(asked)["payload"]))


def _side_by_side(runs: Sequence[RunState]) -> list[RunLine]:
    """The runs of a plan in a line each; that of the plan itself asks when all others do."""
    lines = [_line(run) for run in runs]
    live = [run for run in runs if run.ended is None and run.machine is not None]
    if not live or not all(run.is_asking for run in live):
        return lines
    message = f"a person has to answer {', '.join(run.id for run in live)}"
    return [
        replace(line, status="asking", message=message) if _is_running_plan(run) else line
        for run, line in zip(runs, lines, strict=True)
    ]


def _is_running_plan(run: RunState) -> bool:
    return run.machine is None and run.status == "running"


def _line(run: RunState) -> RunLine:
    message = kinds.ended(run.ended)["reason"] if run.ended is not None else ""
    if run.is_asking and run.asked is not None:
        message = question_text(run.asked)
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


def _unreadable(run_id: str, events: list[Event], why: str) -> RunLine:
    """A run whose workflow is another one by now, so that nobody knows where it stands."""
    begun, started = events[0], kinds.started(events[0])
    return RunLine(
        id=run_id,
        plan=begun.plan,
        task=started.get("task"),
        workflow=started["workflow"],
        status="unreadable",
        step="",
        attempt=0,
        message=why,
        started_at=begun.at,
        updated_at=events[-1].at,
    )


def warnings_in(run: RunState) -> tuple[str, ...]:
    """What could not be held in a run, each once: blindness, confinement, files of its plan."""
    found = (
        warning for event in run.of(*_WARNINGS) for warning in _WARNINGS[event.kind](event.data)
    )
    return tuple(dict.fromkeys(found))


def blindness_warnings(found: Data) -> list[str]:
    """What a person should know of a search for rules that a blind developer can read."""
    warnings = [f"a blind developer can read {e['rule']} in {e['where']}" for e in found["leaks"]]
    if found["host_files"]:
        files = ", ".join(found["host_files"])
        warnings.append(f"rule files that coding agents load by themselves stay: {files}")
    if found["unread"]:
        files = ", ".join(found["unread"])
        warnings.append(f"too large, or not readable, to look for rules in: {files}")
    if found["left_out"]:
        rules = ", ".join(found["left_out"])
        warnings.append(f"feedback quoted rules, which were left out: {rules}")
    if found.get("network") in kinds.UNSEEN:
        warnings.append(kinds.UNSEEN[found["network"]])
    return warnings


def gate_warnings(data: Data) -> list[str]:
    """What did not hold the gates of a run back."""
    means = data.get("confined_by")
    if means is None:
        return ["gates were not confined, as the settings say"]
    return [f"gates: {note}" for note in data.get("notes") or () if not note.startswith(COPIED)]


def _base_warnings(data: Data) -> list[str]:
    """That a run began on a base that is not green."""
    return [] if data["passed"] else [base_told(cast("kinds.BaseGatesData", data))]


def _agent_warnings(data: Data) -> list[str]:
    report = data["told"]
    return [f"{report.get('agent')}: {each}" for each in report.get("warnings") or ()]


def _checkpoint_warnings(data: Data) -> list[str]:
    return [
        *(f"{each} was changed by hand and was left" for each in data.get("left") or ()),
        *(f"an event violates the schema: {each}" for each in data.get("quarantined") or ()),
    ]


_WARNINGS: Mapping[str, Callable[[Data], list[str]]] = {
    kinds.SIGHTED: blindness_warnings,
    kinds.BASE_GATED: _base_warnings,
    kinds.GATED: gate_warnings,
    kinds.TOLD: _agent_warnings,
    kinds.CHECKPOINTED: _checkpoint_warnings,
}


def _attempts(run: RunState) -> Iterator[Attempt]:
    """Each attempt with what came of it before the next."""
    steps = run.of(DEVELOP, kinds.GATED, kinds.CHECKED)
    starts = [place for place, event in enumerate(steps) if event.kind == DEVELOP]
    for place, end in itertools.pairwise([*starts, len(steps)]):
        yield _attempt(kinds.attempt(steps[place]), steps[place + 1 : end])


def _attempt(work: kinds.AttemptData, after: Sequence[Event]) -> Attempt:
    """An attempt with the last that gates and reviewers said to it."""
    from hornbook.loop.runs.files import event_summary  # noqa: PLC0415  # start-up: it reads git

    last = {event.kind: event for event in after}
    gated, checked = last.get(kinds.GATED), last.get(kinds.CHECKED)
    failed = gate_feedback(kinds.gates(gated)) if gated else ""
    rejected = kinds.checked(checked).get("feedback", "") if checked else ""
    return Attempt(
        number=work["attempt"],
        agent=work["agent"],
        files=tuple(work["files"]),
        tokens=work["tokens"],
        window=work["window"],
        used=work["usage"]["input_tokens"] + work["usage"]["output_tokens"],
        error=work.get("error"),
        gates=event_summary(gated) if gated else "",
        review=event_summary(checked) if checked else "",
        feedback=failed or rejected,
    )
