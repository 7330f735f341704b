"""The command that serves the graph over HTTP."""

import click

from hornbook.cli.output import note
from hornbook.cli.read import root_of
from hornbook.errors import UsageError


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--port", default=8765, show_default=True, help="The port to listen on.")
@root_of
def serve(root: str | None, host: str, port: int) -> None:
    """Serve GraphQL and a status page on loopback."""
    import uvicorn

    from hornbook.serve.app import LOOPBACK, create_app
    from hornbook.workspace.workspace import Workspace

    if host not in LOOPBACK:
        raise UsageError(f"{host} is not a loopback address: use one of {', '.join(LOOPBACK)}.")
    with Workspace.open(root) as work:
        place = str(work.root)
    note(f"serving {place} on http://{host}:{port}")
    uvicorn.run(create_app(place), host=host, port=port, log_level="warning")


COMMANDS = (serve,)
