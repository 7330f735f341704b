"""The `hornbook` command. Each command imports what it needs when it runs."""

import sys
from typing import Annotated

import typer

from hornbook import __version__
from hornbook.cli import ask, read, serving, setup
from hornbook.cli.output import note
from hornbook.errors import ConfigError, HornbookError, UsageError

app = typer.Typer(
    name="hornbook",
    help="The referee for coding agents: which rules bind a change, whole, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell(asked: bool) -> None:
    if asked:
        print(f"hornbook {__version__}")  # noqa: T201  # this is the result
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    root: Annotated[
        str | None,
        typer.Option(
            "--root",
            metavar="DIR",
            help="The repository; else HORNBOOK_ROOT, else the nearest parent with .hornbook or .git.",
        ),
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_tell)
    ] = False,
) -> None:
    """The referee for coding agents: which rules bind a change, whole, and why."""
    context.obj = root


for module in (setup, read, ask, serving):
    module.register(app)


def main() -> None:
    """Run the command line; 0 done, 1 found something or refused, 2 usage or configuration."""
    try:
        app()
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


if __name__ == "__main__":
    main()
