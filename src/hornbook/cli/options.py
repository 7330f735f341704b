"""What the commands share: options, arguments, and the workspace that they open."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from hornbook.workspace import Workspace


class FileName(click.types.StringParamType):
    """A text that a shell completes with the names of files; nothing is checked.

    `click.Path` would check what it is given, and files to ask about need not exist.
    """

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        """Leave it to the shell to look for files."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


FILE_NAME = FileName()
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
root_of = click.pass_obj
slug_argument = click.argument("slug", metavar="[SLUG]", required=False)


def opened(root: str | None) -> "Workspace":
    """The workspace, to be closed by the caller."""
    from hornbook.workspace import Workspace

    return Workspace.open(root)
