"""The commands of `hornbook` in one group. Each imports what it needs when it runs."""

import io
import sys

import click

from hornbook.cli import (
    context,
    deprecated,
    execute,
    gates,
    graph,
    hook,
    mcp_command,
    memory,
    plans,
    reviews,
    rules,
    runs,
    serve,
    setup,
    templates,
    workflows,
)
from hornbook.cli.output import note
from hornbook.errors import ConfigError, HornbookError, UsageError
from hornbook.version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--root",
    metavar="DIR",
    help="The repository; else HORNBOOK_ROOT, else the nearest parent with .hornbook or .git.",
)
@click.version_option(__version__, prog_name="hornbook", message="%(prog)s %(version)s")
@click.pass_context
def app(here: click.Context, root: str | None) -> None:
    """The referee for coding agents: which rules bind a change, whole, and why."""
    here.obj = root


for command in (
    *setup.COMMANDS,
    *rules.COMMANDS,
    *context.COMMANDS,
    *reviews.COMMANDS,
    *gates.COMMANDS,
    *plans.COMMANDS,
    *memory.COMMANDS,
    *execute.COMMANDS,
    *runs.COMMANDS,
    *templates.COMMANDS,
    *workflows.COMMANDS,
    *graph.COMMANDS,
    *serve.COMMANDS,
    *mcp_command.COMMANDS,
    *hook.COMMANDS,
    *deprecated.COMMANDS,
):
    app.add_command(command)


def run() -> None:
    """Run the command line; 0 done, 1 found something or refused, 2 usage or configuration."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app(prog_name="hornbook")
    except ConfigError as error:
        for problem in error.problems:
            note(f"error: {problem}")
        sys.exit(2)
    except HornbookError as error:
        note(f"error: {error}")
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        note(f"error: {where}{error.strerror or error}: check the path, its rights and the disk.")
        sys.exit(1)
