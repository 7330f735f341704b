"""The command that answers agents over MCP on stdin and stdout."""

import click

from hornbook.cli.options import root_of
from hornbook.cli.output import note


@click.command()
@click.option("--ingest", is_flag=True, help="Read what changed into the graph first.")
@root_of
def mcp(root: str | None, *, ingest: bool) -> None:
    """Answer an agent over MCP on stdin and stdout.

    It ends when stdin ends.
    """
    from hornbook.serve.mcp.stdio import serve_stdio
    from hornbook.workspace import Workspace

    with Workspace.open(root) as work:
        place = str(work.root)

    def prepare() -> None:
        with Workspace.open(place) as work:
            report = work.ingest()
        note(f"{report.documents} documents, {len(report.problems)} problems")

    serve_stdio(place, prepare if ingest else None)


COMMANDS = (mcp,)
