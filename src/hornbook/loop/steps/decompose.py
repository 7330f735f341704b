"""The steps of a decomposition: read a task, split it, judge the children, make them."""

from collections.abc import Sequence
from pathlib import Path

from hornbook.context.prompt import Outcome
from hornbook.context.review_packet import Contexts
from hornbook.context.sizing import size_task
from hornbook.graph.commit_graph import graph_at
from hornbook.loop.decomposition import Child, as_tasks, child_of, split, uncovered
from hornbook.loop.steps.services import StepRun
from hornbook.loop.workflow.interpreter import Refused, Result, Succeeded
from hornbook.plans import run_kinds as kinds
from hornbook.plans.events import Data
from hornbook.plans.tasks import Ledger


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
    data = step.known("decomposed") or step.choose(
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
            self._step.services.settings,
            self._snapshot,
            child.files,
            description="\n".join(filter(None, (child.title, child.description))),
            criteria=child.criteria,
        )
        return [f"{child.title}: {reason.message}" for reason in sizing.reasons]

    def refused(self, child: Child) -> list[str]:
        """Why a review of a child's files could not be assembled."""
        contexts = Contexts(self._step.services.root, self._snapshot)
        context = contexts.at_commit(self._base, child.files).context
        if context.outcome is Outcome.COMPLETE:
            return []
        return [f"{child.title}: {reason.message}" for reason in context.reasons]
