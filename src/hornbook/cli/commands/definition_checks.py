"""Commands that load a definition and say what is wrong with it: template check, workflow check."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, json_option
from hornbook.cli.output import coloured, columns, print_json, write
from hornbook.errors import UsageError

if TYPE_CHECKING:
    from hornbook.context.templates.template import LoadedTemplate, TaskTemplate
    from hornbook.loop.workflow.definition import Step
    from hornbook.loop.workflow.load import LoadedWorkflow


TASK_HEADS = (
    "task",
    "operator",
    "inherit_context",
    "accumulate_data",
    "accumulation_format",
    "fresh_context",
)
STEP_HEADS = ("step", "does", "if", "on_success", "on_fail", "timeout")


@click.group()
def template() -> None:
    """Check a task template."""


@template.command("check")
@click.argument("file", metavar="FILE.xml", type=FILE_NAME)
@json_option
def check_template(file: str, *, as_json: bool) -> None:
    """Load a template and show its settings.

    A file named after a step (loop, developer, gates, reviewer, decomposition) is
    checked as the template of that step.
    Everything that is wrong is listed at once. Exit 1 if the template is refused.
    FILE may be - for standard input.
    """
    from hornbook.context.templates.roles import load_step_template
    from hornbook.located import MAX_BYTES

    loaded = load_step_template(Path(file).stem, _start_of(file, MAX_BYTES))
    root = loaded.template
    tasks = [("task", root), *root.descendants()] if root else []
    if as_json:
        print_json(
            {
                "operator": loaded.operator,
                "effective": asdict(root.settings) if root else None,
                "children": {path: asdict(child.settings) for path, child in tasks[1:]},
                **_problems(loaded),
            }
        )
    else:
        rows = [_task_row(*each) for each in tasks]
        title = f"{file}: {loaded.operator or 'no operator'}"
        _print(title, loaded, rows, heads=TASK_HEADS, place="task")
    sys.exit(0 if root else 1)


@click.group()
def workflow() -> None:
    """Check a workflow definition."""


@workflow.command("check")
@click.argument("file", metavar="FILE.json", type=FILE_NAME)
@json_option
def check_workflow(file: str, *, as_json: bool) -> None:
    """Load a workflow and show its steps.

    Everything that is wrong is listed at once. Exit 1 if the workflow is refused.
    FILE may be - for standard input.
    """
    from hornbook.located import MAX_BYTES
    from hornbook.loop.workflow.load import load_workflow

    loaded = load_workflow(_start_of(file, MAX_BYTES))
    if as_json:
        print_json({"id": loaded.id, "steps": loaded.steps, **_problems(loaded)})
    else:
        steps = loaded.workflow.steps if loaded.workflow else ()
        rows = [_step_row(each) for each in steps]
        _print(f"{file}: {loaded.id or 'no id'}", loaded, rows, heads=STEP_HEADS, place="value")
    sys.exit(0 if loaded.workflow else 1)


def _start_of(file: str, most: int) -> bytes:
    """As much of a file as shows that it is too large, if it is."""
    if file == "-":
        return sys.stdin.buffer.read(most + 1)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(most + 1)
    except OSError as problem:
        raise UsageError(
            f"{file} cannot be read ({problem.strerror}): check the path."
        ) from problem
    except ValueError as problem:
        raise UsageError(f"{file!r} cannot be a path ({problem}): check it.") from problem


def _problems(loaded: "LoadedTemplate | LoadedWorkflow") -> dict[str, object]:
    return {
        "errors": [asdict(error) for error in loaded.errors],
        "warnings": [asdict(warning) for warning in loaded.warnings],
    }


def _print(
    title: str,
    loaded: "LoadedTemplate | LoadedWorkflow",
    rows: Sequence[tuple[str, ...]],
    *,
    heads: Sequence[str],
    place: str,
) -> None:
    """Whether a definition is valid, its parts in a table, and what is wrong with it."""
    verdict = f"refused, errors: {len(loaded.errors)}" if loaded.errors else "valid"
    write(f"{title}, {verdict}\n")
    if rows:
        columns(rows, heads=heads, whole=1)
    told = [("error", each) for each in loaded.errors]
    told += [("warning", each) for each in loaded.warnings]
    if told:
        columns(
            [
                (coloured(level), each.code, str(each.line), each.path or "file", each.message)
                for level, each in told
            ],
            heads=("level", "code", "line", place, "problem"),
        )


def _task_row(path: str, task: "TaskTemplate") -> tuple[str, ...]:
    settings = task.settings
    return (
        path,
        task.operator,
        settings.inherit_context,
        str(settings.accumulate_data).lower(),
        settings.accumulation_format or "none",
        settings.fresh_context,
    )


def _step_row(step: "Step") -> tuple[str, ...]:
    return (
        step.name,
        step.action.subject,
        step.condition.written if step.condition else "",
        step.on_success or "ends",
        step.on_fail or "escalates",
        f"{step.timeout}s" if step.timeout else "",
    )


COMMANDS = (template, workflow)
