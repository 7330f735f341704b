"""The command that serves the graph over HTTP."""

from typing import Annotated

import typer

from hornbook.cli.output import note
from hornbook.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(serve)


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", help="A loopback address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 takes a free one.")] = 8765,
) -> None:
    """Serve GraphQL and a status page on loopback."""
    import uvicorn

    from hornbook.serve.app import LOOPBACK, create_app
    from hornbook.workspace.workspace import Workspace

    if host not in LOOPBACK:
        raise UsageError(f"{host} is not a loopback address: use one of {', '.join(LOOPBACK)}.")
    with Workspace.open(context.obj) as work:
        root = str(work.root)
    note(f"serving {root} on http://{host}:{port}")
    uvicorn.run(create_app(root), host=host, port=port, log_level="warning")
