"""Commands about workflows: workflow check."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, json_option
from hornbook.cli.output import coloured, columns, print_json, write
from hornbook.errors import UsageError

if TYPE_CHECKING:
    from hornbook.loop.workflow.definition import Step
    from hornbook.loop.workflow.load import LoadedWorkflow


@click.group()
def workflow() -> None:
    """Check a workflow definition."""


@workflow.command()
@click.argument("file", metavar="FILE.json", type=FILE_NAME)
@json_option
def check(file: str, *, as_json: bool) -> None:
    """Load a workflow and show its steps.

    Everything that is wrong is listed at once. Exit 1 if the workflow is refused.
    FILE may be - for standard input.
    """
    from hornbook.loop.workflow.load import load_workflow

    loaded = load_workflow(_start_of(file))
    if as_json:
        print_json(_answer(loaded))
    else:
        _print(file, loaded)
    if loaded.workflow is None:
        sys.exit(1)


def _start_of(file: str) -> bytes:
    """As much of a file as shows that it is too large, if it is."""
    from hornbook.loop.workflow.json_nodes import MAX_BYTES

    if file == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as problem:
        raise UsageError(
            f"{file} cannot be read ({problem.strerror}): check the path."
        ) from problem
    except ValueError as problem:
        raise UsageError(f"{file!r} cannot be a path ({problem}): check it.") from problem


def _answer(loaded: "LoadedWorkflow") -> dict[str, object]:
    return {
        "id": loaded.id,
        "steps": loaded.steps,
        "errors": [asdict(error) for error in loaded.errors],
        "warnings": [asdict(warning) for warning in loaded.warnings],
    }


def _print(file: str, loaded: "LoadedWorkflow") -> None:
    verdict = f"refused, errors: {len(loaded.errors)}" if loaded.errors else "valid"
    write(f"{file}: {loaded.id or 'no id'}, {verdict}\n")
    if loaded.workflow is not None:
        columns(
            [_row(step) for step in loaded.workflow.steps],
            heads=("step", "does", "if", "on_success", "on_fail", "timeout"),
        )
    told = [("error", each) for each in loaded.errors]
    told += [("warning", each) for each in loaded.warnings]
    if told:
        columns(
            [
                (coloured(level), each.code, str(each.line), each.path or "file", each.message)
                for level, each in told
            ],
            heads=("level", "code", "line", "value", "problem"),
        )


def _row(step: "Step") -> tuple[str, ...]:
    return (
        step.name,
        step.action.subject,
        step.condition.written if step.condition else "",
        step.on_success or "ends",
        step.on_fail or "escalates",
        f"{step.timeout}s" if step.timeout else "",
    )


COMMANDS = (workflow,)
