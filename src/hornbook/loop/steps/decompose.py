"""The steps of a decomposition: read a task, split it, judge the children, make them."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hornbook.context.bin_packing import fewest_groups
from hornbook.context.budget import RoomAsked
from hornbook.context.prompt import Outcome
from hornbook.context.review_packet import Contexts
from hornbook.context.sizing import size_task
from hornbook.context.task_route import route_of
from hornbook.graph.commit_graph import graph_at, settings_of_base
from hornbook.located import Json
from hornbook.loop.steps.services import StepRun
from hornbook.loop.workflow.interpreter import Refused, Result, Succeeded
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data
from hornbook.plans.plan import PlanTask, TaskType
from hornbook.plans.tasks import Ledger

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(?P<text>.*?)\n```", re.DOTALL)
CHILDREN_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "children": {
                "type": "array",
                "minItems": 2,
                "items": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string"},
                        "description": {"type": "string"},
                        "files": {"type": "array", "items": {"type": "string"}},
                        "criteria": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["title", "description", "files", "criteria"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["children"],
        "additionalProperties": False,
    }
)


@dataclass(frozen=True, slots=True)
class Child:
    """A part of a task."""

    title: str
    files: tuple[str, ...]
    criteria: tuple[str, ...] = ()
    description: str = ""

    @property
    def data(self) -> dict[str, Json]:
        """The child as an event carries it."""
        return {
            "title": self.title,
            "description": self.description,
            "files": list(self.files),
            "criteria": list(self.criteria),
        }


def child_of(data: Data) -> Child:
    """The child that plain values tell of.

    Raises:
        ValueError: They are none; the message says why.
    """
    lists = {name: data.get(name, []) for name in ("files", "criteria")}
    for name, listed in lists.items():
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise ValueError(f"`{name}` of a child is no list of texts")
    title = data.get("title")
    if not isinstance(title, str) or not title.strip():
        raise ValueError("a child has no `title`")
    described = data.get("description", "")
    return Child(
        title.strip(), tuple(lists["files"]), tuple(lists["criteria"]), str(described).strip()
    )


def children_in(text: str) -> list[Json]:
    """The children that a planner wrote as JSON, bare or in a fenced block; none if there are none.

    Raises:
        ValueError: There is JSON, but not of children.
    """
    fenced = _FENCED.search(text)
    try:
        found = json.loads(fenced["text"] if fenced else text)
    except ValueError:
        return []
    listed = found.get("children") if isinstance(found, dict) else found
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise ValueError('the answer is no JSON of the form {"children": [{"title": …}]}')
    return [child_of(each).data for each in listed]


def split(
    task: PlanTask, files: Sequence[str], fits: Callable[[Sequence[str]], bool]
) -> list[Child]:
    """Children with groups of the files that each fit, at least two; none if there is no split.

    A criterion goes to the child whose file it names, any other to the last one, which is done
    when all the others are.
    """
    groups = sorted(_file_groups(sorted(set(files)), fits))
    if len(groups) < 2:
        return []
    homes = [_home(criterion, groups) for criterion in task.criteria]
    return [
        Child(
            title=f"{task.title} ({place} of {len(groups)})",
            files=group,
            criteria=tuple(
                criterion
                for criterion, home in zip(task.criteria, homes, strict=True)
                if home == place
            ),
            description=_described(task, group),
        )
        for place, group in enumerate(groups, 1)
    ]


def _home(criterion: str, groups: Sequence[Sequence[str]]) -> int:
    for place, group in enumerate(groups, 1):
        if any(path in criterion for path in group):
            return place
    return len(groups)


def _described(task: PlanTask, group: Sequence[str]) -> str:
    only = f"This part of the task changes only: {', '.join(group)}."
    return "\n\n".join(filter(None, (task.description, only)))


def _file_groups(files: list[str], fits: Callable[[Sequence[str]], bool]) -> list[tuple[str, ...]]:
    """The fewest groups that each fit; halves where all fit together."""
    groups = list(fewest_groups(files, fits) or ())
    if len(groups) == 1 and len(files) > 1:
        middle = (len(files) + 1) // 2
        return [tuple(files[:middle]), tuple(files[middle:])]
    return groups


def uncovered(
    files: Sequence[str], criteria: Sequence[str], children: Sequence[Child]
) -> Iterator[str]:
    """Why children do not cover a task exactly once; nothing if they do."""
    if len(children) < 2:
        yield f"{len(children)} children split nothing: at least two are needed."
    pairs = (
        ("file", files, [path for child in children for path in child.files]),
        ("criterion", criteria, [text for child in children for text in child.criteria]),
    )
    for what, wanted, given in pairs:
        yield from _not_once(what, wanted, given)


def _not_once(what: str, wanted: Sequence[str], given: Sequence[str]) -> Iterator[str]:
    counted, due = Counter(given), Counter(wanted)
    for each in dict.fromkeys((*wanted, *given)):
        if counted[each] < due[each]:
            yield f"The {what} {each!r} belongs to no child: give it to one."
        elif not due[each]:
            yield f"The {what} {each!r} is none of the task's: leave it out."
        elif counted[each] > due[each]:
            yield f"The {what} {each!r} belongs to {counted[each]} children: give it to one."


def as_tasks(
    parent: PlanTask, children: Sequence[Child], first: int, kind: TaskType | None = None
) -> list[PlanTask]:
    """The children as tasks numbered from `first`: each builds on the one before it.

    So no two of them contradict each other, and the last one sees all that was done. Parts of a
    task are of its type, unless they are to be of another.
    """
    tasks = []
    for place, child in enumerate(children):
        before = (first + place - 1,) if place else parent.depends_on
        tasks.append(
            PlanTask(
                number=first + place,
                title=child.title,
                description=child.description,
                files=child.files,
                creates=tuple(path for path in child.files if path in parent.creates),
                criteria=child.criteria,
                depends_on=before,
                line=parent.line,
                type=kind or parent.type,
                finding=parent.finding if kind is None else "",
            )
        )
    return tasks


def read_task(step: StepRun) -> Result:
    """A task as a splitter needs to know it."""
    services, run = step.services, step.run
    task = services.task_of(run)
    described = "\n\n".join(filter(None, (task.title, task.description)))
    return Succeeded(
        {
            "depth": services.ledger(run.plan).depth(task.number),
            "description": described,
            "files": [*_files(step)],
            "criteria": [*task.criteria],
        }
    )


def propose(step: StepRun) -> Result:
    """Children that each fit, found without a model."""
    task = step.services.task_of(step.run)
    measure = _Measure(step)

    def fits(files: Sequence[str]) -> bool:
        child = Child(task.title, tuple(files), task.criteria, task.description)
        return not measure.too_large(child) and not measure.refused(child)

    children = split(task, _files(step), fits)
    if children:
        return Succeeded({"children": [each.data for each in children], "feedback": ""})
    said = f"no split was found: of {', '.join(_files(step)) or 'no file'} no two groups fit."
    return Refused({"children": [], "feedback": said})


def check_cover(step: StepRun) -> Result:
    """Whether children cover the task exactly once."""
    task = step.services.task_of(step.run)
    try:
        children = _children(step)
    except ValueError as problem:
        return Refused({"feedback": str(problem)})
    return _judged(list(uncovered(_files(step), task.criteria, children)))


def check_sizes(step: StepRun) -> Result:
    """Whether each child fits a model's window."""
    measure = _Measure(step)
    return _judged([said for child in _children(step) for said in measure.too_large(child)])


def check_contexts(step: StepRun) -> Result:
    """Whether the review of each child's files could be assembled."""
    measure = _Measure(step)
    return _judged([said for child in _children(step) for said in measure.refused(child)])


def create(step: StepRun) -> Result:
    """Make the children tasks of the plan; first it is noted which, then they are made."""
    services, run = step.services, step.run
    data = step.noted("decomposed") or step.choose(
        kinds.DECOMPOSED, "decomposed", lambda ledger: _numbered(step, ledger)
    )
    children = [child_of(each) for each in data["parts"]]
    made = as_tasks(services.task_of(run), children, data["children"][0])
    services.store.add_tasks(run.plan, made)
    return Succeeded({"tasks": [task.id_in(run.plan) for task in made]})


def _numbered(step: StepRun, ledger: Ledger) -> Data:
    """The children with numbers that nobody else has or was promised."""
    parts = [child.data for child in _children(step)]
    first = ledger.next_number
    return {
        "task": step.run.task,
        "children": list(range(first, first + len(parts))),
        "parts": parts,
    }


def _files(step: StepRun) -> list[str]:
    services, run = step.services, step.run
    return services.paths_of(services.plan(run.plan), services.task_of(run), services.base_of(run))


def _children(step: StepRun) -> list[Child]:
    listed = step.do.action.payload["children"]
    found: list[Data] = (
        [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    )
    return [child_of(each) for each in found]


def _judged(objections: Sequence[str]) -> Result:
    if objections:
        return Refused({"feedback": "\n".join(objections)})
    return Succeeded({"feedback": ""})


class _Measure:
    """How large a child is, by the rules and files of the commit that its parent builds on."""

    def __init__(self, step: StepRun) -> None:
        services, run = step.services, step.run
        self._step = step
        self._base = services.base_of(run)
        self._folder = Path(services.worktrees.ensure(run.plan, str(run.task), self._base))
        self._snapshot = graph_at(services.root, self._base)

    def too_large(self, child: Child) -> list[str]:
        """Why a child does not fit a developer's window."""
        sizing = size_task(
            self._folder,
            self._snapshot,
            child.files,
            description="\n".join(filter(None, (child.title, child.description))),
            criteria=child.criteria,
            room=RoomAsked(base=settings_of_base(self._step.services.root, self._base)),
        )
        route = route_of(sizing, self._snapshot)
        return [] if route.starts else [f"{child.title}: {reason}" for reason in route.reasons]

    def refused(self, child: Child) -> list[str]:
        """Why a review of a child's files could not be assembled."""
        contexts = Contexts(self._step.services.root, self._snapshot)
        context = contexts.at_commit(self._base, child.files).context
        in_passes = context.outcome is Outcome.SOP_OVERFLOW and context.passes
        if context.outcome is Outcome.COMPLETE or in_passes:
            return []
        return [f"{child.title}: {reason.message}" for reason in context.reasons]
