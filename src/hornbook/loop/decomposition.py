"""Splits a task into children that cover it: every file and every criterion exactly once."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hornbook.context.bin_packing import fewest_groups
from hornbook.located import Json
from hornbook.plans.events import Data
from hornbook.plans.plan import PlanTask

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
    ordered = sorted(set(files))
    groups = list(fewest_groups(ordered, fits) or ())
    if len(groups) == 1 and len(ordered) > 1:
        middle = (len(ordered) + 1) // 2
        groups = [tuple(ordered[:middle]), tuple(ordered[middle:])]
    if len(groups) < 2:
        return []
    groups.sort()
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
        counted, due = Counter(given), Counter(wanted)
        for each in dict.fromkeys((*wanted, *given)):
            if counted[each] < due[each]:
                yield f"The {what} {each!r} belongs to no child: give it to one."
            elif not due[each]:
                yield f"The {what} {each!r} is none of the task's: leave it out."
            elif counted[each] > due[each]:
                yield f"The {what} {each!r} belongs to {counted[each]} children: give it to one."


def as_tasks(
    parent: PlanTask, children: Sequence[Child], first: int, *, chained: bool = True
) -> list[PlanTask]:
    """The children as tasks numbered from `first`: each builds on the one before it.

    So no two of them contradict each other, and the last one sees all that was done.
    """
    tasks = []
    for place, child in enumerate(children):
        before = (first + place - 1,) if chained and place else parent.depends_on
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
            )
        )
    return tasks
