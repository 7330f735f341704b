"""What the commands share: options, arguments, and the workspace that they open."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hornbook.errors import UsageError
from hornbook.settings.places import relative_to_root

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
reserve_option = click.option(
    "--reserve", metavar="N|N%", help="The room for rules for once: tokens, or a share."
)
root_of = click.pass_obj
slug_argument = click.argument("slug", metavar="[SLUG]", required=False)


def opened(root: str | None) -> "Workspace":
    """The workspace, to be closed by the caller."""
    from hornbook.cli.output import note
    from hornbook.workspace import Workspace

    work = Workspace.open(root)
    work.tell = note
    return work


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def inside(root: Path, typed: Iterable[str]) -> list[str]:
    """Typed paths relative to the root; they need not exist.

    They are relative to the current folder, or to the root where that folder lies outside it.

    Raises:
        UsageError: A path leads out of the root.
    """
    here = Path.cwd()
    start = here if here.is_relative_to(root) else root
    found = []
    for text in typed:
        if not _is_text(text):
            raise UsageError(f"{text!r} is not UTF-8: rename the file.")
        found.append(relative_to_root(root, text, start))
    return found
