"""How far the tasks of a plan are: approved, split, at work, and which may start."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hornbook.execute import run_kinds as kinds
from hornbook.execute.events import Event
from hornbook.execute.plan_state import project
from hornbook.model.plan import PlanTask

MOST_LEVELS = 2
"""How many decompositions, and how many subtasks of subtasks, may lie above a task."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The tasks of a plan by number: the commits of approved ones, and what became of others."""

    plan: str
    tasks: tuple[PlanTask, ...] = ()
    approved: dict[int, str] = field(default_factory=dict)
    children: dict[int, tuple[int, ...]] = field(default_factory=dict)
    continued: dict[int, tuple[int, ...]] = field(default_factory=dict)
    runs: dict[int, tuple[Event, ...]] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()

    def task(self, number: int) -> PlanTask:
        """The task of that number."""
        return next(task for task in self.tasks if task.number == number)

    @property
    def next_number(self) -> int:
        """A number that no task has, and that none was promised."""
        promised = (*self.children.values(), *self.continued.values())
        taken = [task.number for task in self.tasks]
        return 1 + max((*taken, *(number for each in promised for number in each)), default=0)

    def number(self, task_id: str) -> int:
        """The number of a task by its id."""
        return int(task_id.removeprefix(f"task.{self.plan}."))

    def commits(self, number: int) -> tuple[str, ...] | None:
        """The commits that hold a task's work, None while it is not done."""
        if number in self.approved:
            return (self.approved[number],)
        if number not in self.children:
            return None
        parts = [self.commits(child) for child in self.children[number]]
        if any(part is None for part in parts):
            return None
        return tuple(dict.fromkeys(commit for part in parts for commit in part or ()))

    def done(self, number: int) -> bool:
        """Whether a task, or all that it was split into, is approved."""
        return self.commits(number) is not None

    def waits_for(self, task: PlanTask) -> list[int]:
        """The tasks that must be done before this one and are not."""
        return [number for number in task.depends_on if not self.done(number)]

    def built_on(self, task: PlanTask) -> list[str]:
        """The commits of what a task depends on."""
        found = (self.commits(number) or () for number in task.depends_on)
        return list(dict.fromkeys(commit for each in found for commit in each))

    def live(self, number: int) -> list[str]:
        """The runs about a task that have not ended."""
        ids = (event.data["run"] for event in self.runs.get(number, ()))
        return [run for run in ids if run not in self.ended]

    def next_run(self, number: int) -> str:
        """The id of the next run of a task."""
        return f"{self.plan}-t{number}-{len(self.runs.get(number, ())) + 1}"

    def ready(self, wanted: Iterable[int], since: int) -> list[int]:
        """Which of some tasks may start: nobody works on them, nor began to since an event."""
        return [
            number
            for number in wanted
            if not self.done(number)
            and number not in self.children
            and not self.waits_for(self.task(number))
            and not self.live(number)
            and all(event.seq < since for event in self.runs.get(number, ()))
        ]

    def depth(self, number: int) -> int:
        """How many tasks lie above one: those that it is a part or a subtask of."""
        above = [
            parent
            for parent, parts in (*self.children.items(), *self.continued.items())
            if number in parts
        ]
        return 1 + self.depth(above[0]) if above else 0


def ledger_of(plan: str, events: Sequence[Event]) -> Ledger:
    """The ledger that a plan's events add up to."""
    state = project(events)
    ledger = Ledger(plan, state.tasks if state is not None else ())
    ended = set()
    for event in events:
        if event.kind == kinds.APPROVED:
            ledger.approved[ledger.number(event.data["task"])] = event.data["commit"]
        elif event.kind == kinds.DECOMPOSED:
            ledger.children[ledger.number(event.data["task"])] = tuple(event.data["children"])
        elif event.kind == kinds.CONTINUED:
            number = ledger.number(event.data["task"])
            ledger.continued[number] = (*ledger.continued.get(number, ()), event.data["child"])
        elif event.kind == kinds.STARTED and event.data.get("task"):
            number = ledger.number(event.data["task"])
            ledger.runs[number] = (*ledger.runs.get(number, ()), event)
        elif event.kind == kinds.ENDED:
            ended.add(event.data["run"])
    return Ledger(
        plan,
        ledger.tasks,
        ledger.approved,
        ledger.children,
        ledger.continued,
        ledger.runs,
        frozenset(ended),
    )
