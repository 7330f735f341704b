"""The steps of a decomposition: read a task, split it, judge the children, make them."""

from collections.abc import Sequence
from pathlib import Path

from hornbook.context.assembly import Contexts
from hornbook.context.sizing import size_task
from hornbook.context.values import Outcome
from hornbook.graph.commit_graph import graph_at
from hornbook.loop.decomposition import Child, as_tasks, child_of, split, uncovered
from hornbook.loop.steps.services import Scene
from hornbook.loop.workflow.interpreter import Refused, Result, Succeeded
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data
from hornbook.plans.tasks import Ledger


def read_task(scene: Scene) -> Result:
    """A task as a splitter needs to know it."""
    ground, run = scene.ground, scene.run
    task = ground.task_of(run)
    described = "\n\n".join(filter(None, (task.title, task.description)))
    return Succeeded(
        {
            "depth": ground.ledger(run.plan).depth(task.number),
            "description": described,
            "files": [*_files(scene)],
            "criteria": [*task.criteria],
        }
    )


def propose(scene: Scene) -> Result:
    """Children that each fit, found without a model."""
    task = scene.ground.task_of(scene.run)
    measure = _Measure(scene)

    def fits(files: Sequence[str]) -> bool:
        child = Child(task.title, tuple(files), task.criteria, task.description)
        return not measure.too_large(child) and not measure.refused(child)

    children = split(task, _files(scene), fits)
    if children:
        return Succeeded({"children": [each.data for each in children], "feedback": ""})
    said = f"no split was found: of {', '.join(_files(scene)) or 'no file'} no two groups fit."
    return Refused({"children": [], "feedback": said})


def check_cover(scene: Scene) -> Result:
    """Whether children cover the task exactly once."""
    task = scene.ground.task_of(scene.run)
    try:
        children = _children(scene)
    except ValueError as problem:
        return Refused({"feedback": str(problem)})
    return _judged(list(uncovered(_files(scene), task.criteria, children)))


def check_sizes(scene: Scene) -> Result:
    """Whether each child fits a model's window."""
    measure = _Measure(scene)
    return _judged([said for child in _children(scene) for said in measure.too_large(child)])


def check_contexts(scene: Scene) -> Result:
    """Whether the review of each child's files could be assembled."""
    measure = _Measure(scene)
    return _judged([said for child in _children(scene) for said in measure.refused(child)])


def create(scene: Scene) -> Result:
    """Make the children tasks of the plan; first it is noted which, then they are made."""
    ground, run = scene.ground, scene.run
    data = scene.known("decomposed") or scene.choose(
        kinds.DECOMPOSED, "decomposed", lambda ledger: _numbered(scene, ledger)
    )
    children = [child_of(each) for each in data["parts"]]
    made = as_tasks(ground.task_of(run), children, data["children"][0])
    ground.store.add_tasks(run.plan, made)
    return Succeeded({"tasks": [task.id_in(run.plan) for task in made]})


def _numbered(scene: Scene, ledger: Ledger) -> Data:
    """The children with numbers that nobody else has or was promised."""
    parts = [child.data for child in _children(scene)]
    first = ledger.next_number
    return {
        "task": scene.run.task,
        "children": list(range(first, first + len(parts))),
        "parts": parts,
    }


def _files(scene: Scene) -> list[str]:
    ground, run = scene.ground, scene.run
    return ground.paths_of(ground.plan(run.plan), ground.task_of(run), ground.base_of(run))


def _children(scene: Scene) -> list[Child]:
    listed = scene.do.action.payload["children"]
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

    def __init__(self, scene: Scene) -> None:
        ground, run = scene.ground, scene.run
        self._scene = scene
        self._base = ground.base_of(run)
        self._folder = Path(ground.worktrees.ensure(run.plan, str(run.task), self._base))
        self._snapshot = graph_at(ground.root, self._base)

    def too_large(self, child: Child) -> list[str]:
        """Why a child does not fit a developer's window."""
        sizing = size_task(
            self._folder,
            self._scene.ground.settings,
            self._snapshot,
            child.files,
            description="\n".join(filter(None, (child.title, child.description))),
            criteria=child.criteria,
        )
        return [f"{child.title}: {reason.message}" for reason in sizing.reasons]

    def refused(self, child: Child) -> list[str]:
        """Why a review of a child's files could not be assembled."""
        contexts = Contexts(self._scene.ground.root, self._snapshot)
        context = contexts.at_commit(self._base, child.files).context
        if context.outcome is Outcome.COMPLETE:
            return []
        return [f"{child.title}: {reason.message}" for reason in context.reasons]
