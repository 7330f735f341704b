"""The workflows that ship with Hornbook, and those that a repository puts in their place."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files

from hornbook.assemble.settings import remedy
from hornbook.errors import ConfigError
from hornbook.execute.workflow.definition import Workflow
from hornbook.execute.workflow.loading import require_workflow
from hornbook.execute.workflow.subjects import TRIGGER

SHIPPED = ("plan-and-execute", "plan-refinement", "design-refinement", "task-decomposition")


@cache
def shipped_workflow(workflow_id: str) -> Workflow:
    """One of the `SHIPPED` workflows.

    Raises:
        FileNotFoundError: None has that id.
    """
    file = files("hornbook.execute.workflow") / "workflows" / f"{workflow_id}.json"
    return require_workflow(file.read_bytes(), f"{workflow_id}.json")


def shipped_workflows() -> tuple[Workflow, ...]:
    """All of them."""
    return tuple(map(shipped_workflow, SHIPPED))


def load_workflows(shipped: Iterable[Workflow], own: Mapping[str, bytes]) -> Mapping[str, Workflow]:
    """Every workflow by its id; one of a repository's `own` files wins over a shipped one.

    `own` are the texts by the name of their file.

    Raises:
        ConfigError: A file has errors, two have one id, or a workflow hands on to none that there
            is; carries all of that.
    """
    problems: list[str] = []
    origins: dict[str, str] = {}
    found = {workflow.id: workflow for workflow in shipped}
    for name, data in sorted(own.items()):
        try:
            workflow = require_workflow(data, name)
        except ConfigError as error:
            problems += error.problems
            continue
        if workflow.id in origins:
            problems.append(
                f"{name}: `{workflow.id}` is the id of {origins[workflow.id]} too: change one."
            )
        origins[workflow.id] = name
        found[workflow.id] = workflow
    if not problems:
        problems = [
            f"{origins.get(workflow.id, 'shipped')}: {problem}"
            for workflow in found.values()
            for problem in _handed_to_none(workflow, found)
        ]
    if problems:
        raise ConfigError(problems)
    return dict(sorted(found.items()))


def _handed_to_none(workflow: Workflow, known: Mapping[str, Workflow]) -> Iterator[str]:
    for step in workflow.steps:
        if not step.action.subject.startswith(TRIGGER):
            continue
        target = step.action.subject.removeprefix(TRIGGER)
        if target not in known:
            yield (
                f"`{step.name}` of `{workflow.id}` hands on to `{target}`, which is no workflow: "
                f"{remedy(target, known)}"
            )
        elif workflow.enabled and not known[target].enabled:
            yield (
                f"`{step.name}` of `{workflow.id}` hands on to `{target}`, which is not enabled: "
                f"enable it or disable `{workflow.id}`."
            )
