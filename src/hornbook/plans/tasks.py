"""The tasks of a plan, read from its execution section: numbered or checklist items.

```text
1. Count the requests (`src/limit.py`)
   - Files: src/limit.py (new), tests/test_limit.py
   - Criteria: the hundred and first request gets 429 (gate: test)
   - Depends on: 2
   - Type: write_tests
```
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Event
from hornbook.plans.plan import PlanTask, TaskType
from hornbook.plans.state import project
from hornbook.plans.text import outside_fences
from hornbook.rules.document import Problem, Problems
from hornbook.text.plan_syntax import (
    NEW,
    QUOTED,
    entity_ids,
    is_path,
    quoted_paths,
    split_globs,
)

_ITEM = re.compile(
    r" {0,3}(?:(?P<number>\d{1,6})[.)][ \t]+(?:\[[ xX]\][ \t]+)?|[-*+][ \t]+\[[ xX]\][ \t]+)"
    r"(?P<text>\S.*)"
)
_NESTED = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,6}[.)])[ \t]+(?P<text>\S.*)")
_FIELD = re.compile(
    r"\**(?P<name>files?|criteria|criterion|acceptance(?: criteria)?|depends(?:[ -]on)?"
    r"|dependencies|type|finding)\**[ \t]*:\**[ \t]*(?P<value>.*)",
    re.IGNORECASE,
)
_DEPENDENCY = re.compile(
    r"(?:tasks?[ \t]*|#|task\.[a-z0-9-]+\.)?(?P<number>\d{1,6})", re.IGNORECASE
)
_NONE = frozenset({"none", "nothing", "-", "–"})
_LIKE_FIELD = re.compile(
    r"(?P<bullet>[-*+][ \t]+)?\**(?P<name>[a-z][a-z -]{2,19})\**[ \t]*:\**[ \t]*\S.*", re.IGNORECASE
)
_FIELD_NAMES = {
    **dict.fromkeys(("file", "files"), "files"),
    **dict.fromkeys(("criteria", "criterion", "acceptance", "acceptance criteria"), "criteria"),
    **dict.fromkeys(("depends on", "depends-on", "depends", "dependencies"), "depends_on"),
    "type": "type",
    "finding": "finding",
}
_WRITTEN = ("Files", "Criteria", "Depends on", "Type", "Finding")
_ONCE = frozenset({"type", "finding"})


@dataclass(frozen=True, slots=True)
class Mention:
    """A path in backticks; `new` if it is marked as to be created."""

    path: str
    new: bool
    line: int


@dataclass(frozen=True, slots=True)
class TaskList:
    """The tasks of an execution section, and what is wrong with them; lines count within it."""

    tasks: tuple[PlanTask, ...]
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class _Draft:
    title: str
    line: int
    number: int | None
    described: list[str] = field(default_factory=list)
    files: dict[str, bool] = field(default_factory=dict)
    criteria: list[str] = field(default_factory=list)
    depends_on: list[int] = field(default_factory=list)
    type: TaskType = TaskType.IMPLEMENT_FEATURE
    finding: str = ""
    open_field: str = ""
    stated: set[str] = field(default_factory=set)


def mentions(text: str) -> Iterator[Mention]:
    """Every path in backticks outside of code blocks, with its line in the text."""
    lines = text.split("\n")
    for number, (line, outside) in enumerate(zip(lines, outside_fences(lines), strict=True), 1):
        for path, new in quoted_paths(line) if outside else ():
            yield Mention(path, new, number)


def named_entities(text: str) -> Iterator[tuple[str, int]]:
    """Every id of an entity outside of code blocks, with its line in the text."""
    lines = text.split("\n")
    for number, (line, outside) in enumerate(zip(lines, outside_fences(lines), strict=True), 1):
        yield from ((name, number) for name in (entity_ids(line) if outside else ()))


def read_tasks(execution: str, path: str = "plan.md") -> TaskList:
    """The tasks that an execution section lists, in its order, and every problem."""
    problems = Problems(path)
    drafts = _drafts(execution, problems)
    tasks = []
    for place, draft in enumerate(drafts, 1):
        if draft.number is not None and draft.number != place:
            message = f"The item numbered {draft.number} counts as task {place}: number it so."
            problems.warning(draft.line, "task_number", message)
        tasks.append(_task(place, draft, len(drafts), problems))
    if not tasks:
        message = (
            "The section lists no task: write numbered or checklist items (`1. …`, `- [ ] …`)."
        )
        problems.error(1, "no_tasks", message)
    cycle = find_cycle(tasks)
    if cycle:
        shown = " → ".join(map(str, cycle))
        message = f"The tasks wait for each other: {shown}: remove one of these dependencies."
        line = next(task.line for task in tasks if task.number == cycle[0])
        problems.error(line, "task_cycle", message)
    return TaskList(tuple(tasks), problems.told())


def find_cycle(tasks: Iterable[PlanTask]) -> list[int]:
    """The numbers of tasks that wait for each other, the first of them again at the end."""
    waits = {task.number: task.depends_on for task in tasks}
    done: set[int] = set()
    for start in waits:
        cycle = _cycle_from(start, waits, done)
        if cycle:
            return cycle
    return []


def _cycle_from(start: int, waits: Mapping[int, Sequence[int]], done: set[int]) -> list[int]:
    """A cycle that can be reached from a task; what is on none is added to `done`.

    Depth first, without recursion: `trail` is the way to the task that is looked at, and each on
    it has its dependencies that were not followed yet in `unfollowed`.
    """
    trail = [start]
    unfollowed = [iter(waits[start])]
    while trail:
        following = next((e for e in unfollowed[-1] if e not in done and e in waits), None)
        if following is None:
            done.add(trail.pop())
            unfollowed.pop()
        elif following in trail:
            return [*trail[trail.index(following) :], following]
        else:
            trail.append(following)
            unfollowed.append(iter(waits[following]))
    return []


def in_order(tasks: Sequence[PlanTask]) -> list[PlanTask]:
    """The tasks of a DAG, each behind those that it depends on, otherwise by number."""
    by_number = {task.number: task for task in tasks}
    ordered: dict[int, PlanTask] = {}
    while len(ordered) < len(by_number):
        ready = [
            task
            for number, task in sorted(by_number.items())
            if number not in ordered and all(each in ordered for each in task.depends_on)
        ]
        if not ready:
            raise ValueError(f"the tasks form no DAG: {find_cycle(tasks)}")
        ordered[ready[0].number] = ready[0]
    return list(ordered.values())


def _drafts(execution: str, problems: Problems) -> list[_Draft]:
    lines = execution.split("\n")
    drafts: list[_Draft] = []
    for number, (line, outside) in enumerate(zip(lines, outside_fences(lines), strict=True), 1):
        item = _ITEM.fullmatch(line.rstrip("\r")) if outside else None
        if item is not None:
            written = int(item["number"]) if item["number"] else None
            drafts.append(_Draft(NEW.sub("", item["text"].strip()), number, written))
            _mentioned(drafts[-1], item["text"])
        elif drafts and (not line.strip() or line[0] in " \t"):
            _continue(drafts[-1], line.rstrip("\r"), number, problems, outside=outside)
        elif drafts and outside and line.strip():
            drafts[-1].open_field = "closed"
            _tell_unread(line, number, problems)
    return drafts


def _continue(draft: _Draft, line: str, number: int, problems: Problems, *, outside: bool) -> None:
    """Take a line below a task's item: a field, an item of the field above, or description."""
    if draft.open_field == "closed":
        if outside:
            _tell_unread(line, number, problems)
        return
    nested = _NESTED.fullmatch(line) if outside else None
    stated = _FIELD.fullmatch(nested["text"].strip()) if nested else None
    if stated is not None:
        name = stated["name"].lower()
        draft.open_field = _FIELD_NAMES[name]
        if draft.open_field in _ONCE and draft.open_field in draft.stated:
            message = f"`{stated['name']}:` stands twice in a task: keep one."
            problems.error(number, "bad_task_field", message)
        draft.stated.add(draft.open_field)
        _give(draft, stated["value"], number, problems)
    elif nested is not None and draft.open_field == "criteria" and len(nested["indent"]) > 3:
        draft.criteria.append(nested["text"].strip())
    elif nested is not None and draft.open_field == "files" and len(nested["indent"]) > 3:
        _give(draft, nested["text"], number, problems)
    else:
        draft.open_field = draft.open_field if not line.strip() else ""
        draft.described.append(line.strip() if outside else line)
        if outside:
            _mentioned(draft, line)
            _tell_unread(line, number, problems)


def _tell_unread(line: str, number: int, problems: Problems) -> None:
    """Tell of a line that reads like a field of a task, misspelt or in a place where it is none."""
    found = _LIKE_FIELD.fullmatch(line.strip())
    name = found["name"].strip().lower() if found else ""
    cutoff = 0.75 if found and found["bullet"] else 1.0
    near = get_close_matches(name, _FIELD_NAMES, n=1, cutoff=cutoff)
    if near:
        wanted = next(
            each for each in _WRITTEN if _FIELD_NAMES[each.lower()] == _FIELD_NAMES[near[0]]
        )
        message = (
            f"`{name}:` is read as no field here: write `- {wanted}: …` in the lines right below "
            "the task's item, indented."
        )
        problems.error(number, "bad_task_field", message)


def _give(draft: _Draft, value: str, line: int, problems: Problems) -> None:
    if draft.open_field == "criteria":
        draft.criteria += [value.strip()] if value.strip() else []
    elif draft.open_field == "files":
        for item in split_globs(value):
            path = NEW.sub("", item)
            draft.files[path.strip("`")] = path != item
    elif draft.open_field == "type":
        _set_type(draft, value.strip().strip("`"), line, problems)
    elif draft.open_field == "finding":
        draft.finding = value.strip().strip("`")
    else:
        _depend(draft, value, line, problems)


def _set_type(draft: _Draft, value: str, line: int, problems: Problems) -> None:
    named = value.lower().replace("-", "_").replace(" ", "_")
    if named in set(TaskType):
        draft.type = TaskType(named)
        return
    near = get_close_matches(named, list(TaskType), n=1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    message = f"`{value}` is no type of a task: {hint}Use one of {', '.join(TaskType)}."
    problems.error(line, "bad_task_type", message)


def _depend(draft: _Draft, value: str, line: int, problems: Problems) -> None:
    for item in split_globs(value.replace(" and ", ",")):
        found = _DEPENDENCY.fullmatch(item.rstrip("."))
        if found is not None:
            draft.depends_on.append(int(found["number"]))
        elif item.lower().rstrip(".") not in _NONE:
            message = f"`{item}` names no task: write numbers, such as `Depends on: 1, 2`."
            problems.error(line, "bad_dependency", message)


def _mentioned(draft: _Draft, text: str) -> None:
    for found in QUOTED.finditer(text):
        if is_path(found["path"]) and ("/" in found["path"] or found["new"]):
            draft.files.setdefault(found["path"], found["new"] is not None)


def _task(number: int, draft: _Draft, count: int, problems: Problems) -> PlanTask:
    wanted = tuple(dict.fromkeys(draft.depends_on))
    for each in wanted:
        if not 1 <= each <= count:
            message = f"Task {number} depends on {each}, but there are {count} tasks."
            problems.error(draft.line, "bad_dependency", message)
    if draft.finding and draft.type is not TaskType.FIX_VIOLATION:
        message = f"Task {number} has a finding to mend: write `- Type: fix_violation` too."
        problems.error(draft.line, "bad_task_field", message)
    return PlanTask(
        number=number,
        title=draft.title,
        description="\n".join(draft.described).strip(),
        files=tuple(draft.files),
        creates=tuple(path for path, new in draft.files.items() if new),
        criteria=tuple(draft.criteria),
        depends_on=tuple(each for each in wanted if 1 <= each <= count),
        line=draft.line,
        type=draft.type,
        finding=draft.finding,
    )


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
        found: list[str] = []
        for child in self.children[number]:
            part = self.commits(child)
            if part is None:
                return None
            found += part
        return tuple(dict.fromkeys(found))

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
        """Which of some tasks may start: nobody works on them, nor began to since an event.

        It is noted which children a task is split into before those are made: what is not there
        yet waits.
        """
        there = {task.number for task in self.tasks}
        return [
            number
            for number in wanted
            if number in there
            and not self.done(number)
            and number not in self.children
            and not self.waits_for(self.task(number))
            and not self.live(number)
            and all(event.seq < since for event in self.runs.get(number, ()))
        ]

    def is_continuation(self, task_id: str) -> bool:
        """Whether a developer asked for the task in the middle of another one."""
        return any(self.number(task_id) in children for children in self.continued.values())

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
    return ledger_after(Ledger(plan), state.tasks if state is not None else (), events)


def ledger_after(before: Ledger, tasks: tuple[PlanTask, ...], events: Iterable[Event]) -> Ledger:
    """The ledger after some more events; `tasks` are those that the plan then has."""
    ledger = Ledger(
        before.plan,
        tasks,
        dict(before.approved),
        dict(before.children),
        dict(before.continued),
        dict(before.runs),
    )
    ended = set(before.ended)
    for event in events:
        if event.kind == kinds.APPROVED:
            ledger.approved[ledger.number(event.data["task"])] = event.data["commit"]
        elif event.kind == kinds.DECOMPOSED:
            ledger.children[ledger.number(event.data["task"])] = tuple(event.data["children"])
        elif event.kind == kinds.CONTINUED:
            number = ledger.number(event.data["task"])
            ledger.continued[number] = (*ledger.continued.get(number, ()), event.data["child"])
        elif event.kind == kinds.STARTED and (task := kinds.started(event).get("task")):
            number = ledger.number(task)
            ledger.runs[number] = (*ledger.runs.get(number, ()), event)
        elif event.kind == kinds.ENDED:
            ended.add(kinds.ended(event)["run"])
    return replace(ledger, ended=frozenset(ended))
