"""What is told of runs: a line or a row of each, what people said to them, who works on them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.principal import Principal
from hornbook.plans.run_costs import CostSum, RunCost, paid_costs

_GOES_ON = frozenset({"running", "waiting"})


@dataclass(frozen=True, slots=True)
class FleetMachine:
    """A process that works on runs: where, with which version, seen when, and at which runs."""

    id: str
    host: str
    place: str
    repository: str
    version: str
    seen_at: str
    alive: bool
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FleetWait:
    """A run that nobody works on at the moment, why, and since when."""

    run: str
    repository: str
    plan: str
    phase: str
    reason: str
    since: str


@dataclass(frozen=True, slots=True)
class UntoldQuestion:
    """A question to a person that did not arrive at `notify.url`: why, and how often it was tried.

    `failed` is whether it is not tried any more.
    """

    run: str
    repository: str
    question: int
    attempts: int
    failed: bool
    problem: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """Who works on the runs of a database, what waits, and how much gets done.

    `per_minute` are runs of tasks that ended, over the last ten minutes; `cost` is what agents told
    of this repository's runs in the last day, None where `costs` are in several currencies.
    """

    machines: tuple[FleetMachine, ...] = ()
    waiting: tuple[FleetWait, ...] = ()
    per_minute: float = 0.0
    cost: float | None = 0.0
    currency: str | None = None
    costs: tuple[RunCost, ...] = ()
    untold: tuple[UntoldQuestion, ...] = ()


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
class GivenAnswer:
    """What a person said to a run, and how the run stands since."""

    run: str
    status: str
    message: str
    action: str
    principal: Principal


@dataclass(frozen=True, slots=True)
class StoppedRun:
    """How a run stands that was to be stopped; `ended` are the runs that this ended, if any."""

    run: str
    status: str
    ended: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a row.

    `cost` is None where no agent told one and no price is known, and where `costs` are in several
    currencies.
    """

    id: str
    plan: str
    task: str | None
    workflow: str
    status: str
    step: str
    attempt: int
    agent: str | None
    elapsed_seconds: int
    tokens: int
    cost: float | None
    currency: str | None
    costs: tuple[RunCost, ...]
    last_action: str
    needs_person: bool
    message: str

    @property
    def spent(self) -> CostSum:
        """What agents told that it cost."""
        return CostSum(self.costs, told=bool(self.costs) or self.cost is not None)

    started_at: str
    updated_at: str


def run_row(line: RunLine, events: Sequence[Event], now: str) -> RunRow:
    """A run's line with what its own events add; one that goes on takes time until now."""
    from hornbook.loop.runs.log import last_action  # noqa: PLC0415  # start-up of `query`
    from hornbook.plans.run_records import open_question  # noqa: PLC0415  # the same

    until = now if line.status in _GOES_ON else line.updated_at
    took = datetime.fromisoformat(until) - datetime.fromisoformat(line.started_at)
    usages = [
        event.data["usage"] for event in events if isinstance(event.data.get("usage"), Mapping)
    ]
    cost = paid_costs(events).spent()
    told = [event.data.get("told") or event.data for event in events]
    named = [str(each["agent"]) for each in told if each.get("agent")]
    # the run of a plan asks when all of its tasks do: they are answered, unless it asks itself
    own = line.workflow != "plan" or open_question(events) is not None
    person = line.status == "asking" and own
    return RunRow(
        id=line.id,
        plan=line.plan,
        task=line.task,
        workflow=line.workflow,
        status=line.status,
        step=line.step,
        attempt=line.attempt,
        agent=named[-1] if named else None,
        elapsed_seconds=max(0, int(took.total_seconds())),
        tokens=sum(each["input_tokens"] + each["output_tokens"] for each in usages),
        cost=cost.amount,
        currency=cost.currency,
        costs=cost.amounts,
        last_action=last_action(events),
        needs_person=person,
        message=line.message,
        started_at=line.started_at,
        updated_at=line.updated_at,
    )


def people_first(rows: Iterable[RunRow]) -> list[RunRow]:
    """Rows by plan; plans and runs that need a person come first, then those that go on."""
    listed = list(rows)
    urgent = {row.plan for row in listed if row.needs_person}
    live = {row.plan for row in listed if row.status in _GOES_ON}

    def place(row: RunRow) -> tuple[object, ...]:
        own = (not row.needs_person, row.status not in _GOES_ON, row.started_at, row.id)
        return (row.plan not in urgent, row.plan not in live, row.plan, *own)

    return sorted(listed, key=place)


def news(before: Mapping[str, RunRow], rows: Iterable[RunRow]) -> list[RunRow]:
    """The rows that are new or tell something new; time that passes alone is none."""
    return [row for row in rows if _told(before.get(row.id)) != _told(row)]


def _told(row: RunRow | None) -> tuple[object, ...] | None:
    if row is None:
        return None
    return (row.status, row.step, row.attempt, row.tokens, row.costs, row.last_action, row.message)


# What agents print


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line that an agent printed; `at` is when its call began, or when the line was seen."""

    at: str
    step: str
    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file that an agent prints into, and which step of which call it is of."""

    path: Path
    at: str
    step: str
    stream: str


def log_files(events: Sequence[Event]) -> Iterator[LogFile]:
    """The files of a run's calls in order, stdout and stderr each."""
    steps: dict[tuple[object, object], str] = {}
    seen: set[str] = set()
    for event in events:
        place = (event.data.get("round"), event.data.get("number"))
        if event.data.get("step"):
            steps[place] = str(event.data["step"])
        told = event.data.get("told")
        log = told.get("log") if isinstance(told, Mapping) else None
        if event.kind == kinds.TOLD and isinstance(log, str) and log not in seen:
            seen.add(log)
            path, step = Path(log), steps.get(place, "")
            yield LogFile(path, event.at, step, "stdout")
            yield LogFile(path.with_suffix(".err"), event.at, step, "stderr")


def read_lines(file: LogFile, start: int, at: str | None = None) -> tuple[list[LogLine], int]:
    """The whole lines of a file behind an offset, and the offset behind them."""
    if not file.path.is_file():
        return [], start
    with file.path.open("rb") as opened:
        opened.seek(start)
        data = opened.read()
    whole, newline, _ = data.rpartition(b"\n")
    if not newline:
        return [], start
    lines = whole.decode("utf-8", "replace").split("\n")
    return [LogLine(at or file.at, file.step, file.stream, line) for line in lines], start + len(
        whole
    ) + 1
