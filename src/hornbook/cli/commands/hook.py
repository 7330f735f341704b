"""The command that agent hosts call: hook."""

import sys

import click

from hornbook.cli.main import answer_hook
from hornbook.cli.options import root_of
from hornbook.hooks.entry import EVENTS


@click.command(
    help=f"Answer a hook of an agent host.\n\nIts payload is on stdin. Events: {', '.join(EVENTS)}."
)
@click.argument("event", metavar="EVENT", type=click.Choice(EVENTS))
@root_of
def hook(root: str | None, event: str) -> None:
    """Answer a hook of an agent host."""
    sys.exit(answer_hook(event, root))


COMMANDS = (hook,)
