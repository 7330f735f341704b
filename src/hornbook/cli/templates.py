"""Commands about task templates: template check."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.cli.options import FILE_NAME, json_option
from hornbook.cli.output import coloured, columns, print_json, write
from hornbook.errors import UsageError

if TYPE_CHECKING:
    from hornbook.context.templates.template import LoadedTemplate, TaskTemplate


@click.group()
def template() -> None:
    """Check a task template."""


@template.command()
@click.argument("file", metavar="FILE.xml", type=FILE_NAME)
@json_option
def check(file: str, *, as_json: bool) -> None:
    """Load a template and show its settings.

    Everything that is wrong is listed at once. Exit 1 if the template is refused.
    FILE may be - for standard input.
    """
    from hornbook.context.templates.template import load_template

    loaded = load_template(_start_of(file))
    if as_json:
        print_json(_answer(loaded))
    else:
        _print(file, loaded)
    if loaded.template is None:
        sys.exit(1)


def _start_of(file: str) -> bytes:
    """As much of a file as shows that it is too large, if it is."""
    from hornbook.context.templates.xml import MAX_BYTES

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


def _answer(loaded: "LoadedTemplate") -> dict[str, object]:
    root = loaded.template
    return {
        "operator": loaded.operator,
        "effective": asdict(root.settings) if root else None,
        "children": {
            path: asdict(child.settings) for path, child in (root.descendants() if root else ())
        },
        "errors": [asdict(error) for error in loaded.errors],
        "warnings": [asdict(warning) for warning in loaded.warnings],
    }


def _print(file: str, loaded: "LoadedTemplate") -> None:
    verdict = f"refused, errors: {len(loaded.errors)}" if loaded.errors else "valid"
    write(f"{file}: {loaded.operator or 'no operator'}, {verdict}\n")
    if loaded.template is not None:
        tasks = [("task", loaded.template), *loaded.template.descendants()]
        columns(
            [_row(path, task) for path, task in tasks],
            heads=(
                "task",
                "operator",
                "inherit_context",
                "accumulate_data",
                "accumulation_format",
                "fresh_context",
            ),
        )
    told = [("error", each) for each in loaded.errors]
    told += [("warning", each) for each in loaded.warnings]
    if told:
        columns(
            [
                (coloured(level), each.code, str(each.line), each.path or "file", each.message)
                for level, each in told
            ],
            heads=("level", "code", "line", "task", "problem"),
        )


def _row(path: str, task: "TaskTemplate") -> tuple[str, ...]:
    settings = task.settings
    return (
        path,
        task.operator,
        settings.inherit_context,
        str(settings.accumulate_data).lower(),
        settings.accumulation_format or "none",
        settings.fresh_context,
    )


COMMANDS = (template,)
