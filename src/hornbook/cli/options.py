"""What the commands share: options, arguments, and the workspace that they open."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hornbook.workspace import Workspace

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
root_of = click.pass_obj
slug_argument = click.argument("slug", metavar="[SLUG]", required=False)


def opened(root: str | None) -> "Workspace":
    """The workspace, to be closed by the caller."""
    from hornbook.workspace import Workspace

    return Workspace.open(root)
