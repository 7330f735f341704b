"""The command that serves the graph over HTTP."""

import socket

import click

from hornbook.cli.output import note
from hornbook.cli.read import root_of
from hornbook.errors import UsageError


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option(
    "--port",
    default=8765,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="The port to listen on.",
)
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
    _refuse_taken(host, port)
    shown = f"[{host}]" if ":" in host else host
    note(f"serving {place} on http://{shown}:{port}")
    uvicorn.run(create_app(place), host=host, port=port, log_level="warning")


def _refuse_taken(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            raise UsageError(
                f"{host}:{port}: {problem.strerror}: choose another --port."
            ) from problem


COMMANDS = (serve,)
